/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_SERVICE_USERS_H
#define NODEOS_CONTAINER_SERVICE_USERS_H

#include <stdbool.h>

#include "container/service_item.h"

#define SERVICE_WHO_MAX 300

/*
 * Is a process of a user, not of root or a system account (UID_MIN and UID_MAX of login.defs(5); uids above 65535 are
 * users', too), in the cgroup PATH ("/a/b") or
 * below; PATH NULL: in any cgroup that belongs to the ServiceOS? The memory nodes of such a process are not changed, as
 * its user could keep the kernel waiting (cgroup_write_mems). Its description goes to WHO.
 */
bool service_user_in(const struct service_items *in, const char *path, char who[SERVICE_WHO_MAX]);

#endif
