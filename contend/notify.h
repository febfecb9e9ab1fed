/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_NOTIFY_H
#define NODEOS_CONTEND_NOTIFY_H

/*
 * Send STATE ("READY=1", "WATCHDOG=1", ...) to the service manager that has started this program
 * (sd_notify(3)); nothing where none has, and no error where it does not listen. libsystemd is more
 * than this datagram.
 */
void notify_manager(const char *state);

#endif
