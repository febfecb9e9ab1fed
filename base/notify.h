/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_NOTIFY_H
#define NODEOS_BASE_NOTIFY_H

/*
 * Send STATE ("READY=1", "WATCHDOG=1", ...) to the service manager that started this program, as
 * sd_notify(3) does. Does nothing if there is no manager or it does not listen. Written here
 * because one datagram is not worth a dependency on libsystemd.
 */
void notify_manager(const char *state);

#endif
