/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LOG_H
#define NODEOS_CONTEND_LOG_H

/*
 * The daemon's way to standard error, which systemd passes on to the journal. A message may hold
 * bytes of a user's, so each becomes one line of at most PRINTABLE_LOG_MAX bytes
 * (base/printable.h).
 */
void contend_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The same for what may be so for a while, as a directory that cannot be written: TEXT ("": it is
 * over) is logged only where it differs from the last one of its kind, which LAST keeps.
 */
struct contend_state {
	char last[512];
};
void contend_log_state(struct contend_state *last, const char *what, const char *text);

#endif
