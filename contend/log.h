/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LOG_H
#define NODEOS_CONTEND_LOG_H

/*
 * Print a message to standard error, which systemd passes on to the journal. A message may contain
 * bytes that a user chose, so it is printed as one printable line of at most PRINTABLE_LOG_MAX
 * bytes (base/printable.h).
 */
void contend_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Like contend_log(), for a fault that may last, such as a directory that cannot be written. TEXT
 * describes the fault, "" if there is none. The line is "WHAT: TEXT", and is printed only if TEXT
 * differs from the last call's, which LAST keeps. So each kind of fault needs its own LAST.
 */
struct contend_state {
	char last[512];
};
void contend_log_state(struct contend_state *last, const char *what, const char *text);

#endif
