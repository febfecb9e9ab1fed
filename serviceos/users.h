/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_USERS_H
#define NODEOS_SERVICEOS_USERS_H

#include <stdbool.h>

#include "serviceos/item.h"

#define SERVICE_WHO_MAX 300

/*
 * Return whether a process of a user is in the cgroup PATH ("/a/b") or below; PATH NULL: in any
 * cgroup that belongs to the ServiceOS. The memory nodes of such a process are not changed, because
 * its user could keep the kernel waiting (cgroup_write_mems()). WHO gets the description of the
 * process.
 *
 * These are not users: root and the system's accounts, up to SYS_UID_MAX of login.defs(5); uids
 * from 61184 to 65519 that systemd has given to a service (DynamicUser=) or that /etc/passwd has;
 * uid 65534; and the accounts that slurmctld and slurmdbd run as. A directory service may give a
 * person any other uid.
 */
bool service_user_in(const struct service_items *in, const char *path, char who[SERVICE_WHO_MAX]);

#endif
