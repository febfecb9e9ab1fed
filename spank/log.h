/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_LOG_H
#define NODEOS_SPANK_LOG_H

/*
 * The plugin's way to Slurm's log and, from a step, to its user's terminal. A message may hold a
 * user's bytes, so each becomes one line of at most PRINTABLE_LOG_MAX bytes (base/printable.h).
 */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* slurm_spank_log(): for the user, without the word "error". */
void log_user(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
