/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_SITE_H
#define NODEOS_CONTROL_RESIZE_SITE_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/conf.h"
#include "manifest/request.h"

/*
 * Check that CONF allows changes of memory nodes of live containers (resize_mems). Returns 0, or -1
 * with the reason.
 */
int resize_check_mems(const struct conf *conf, const char *conf_path, struct errbuf *err);

/*
 * Check that a container of request ASK may get other memory nodes if allow_mems lists accounts or
 * partitions. It may if it was launched with memory nodes of its own: the launch has checked the
 * list. Without slurmctld, nodeosd cannot check the list itself. Returns 0, or -1 with the key, the
 * reason and the remedy in ERR.
 */
int resize_check_launched(const struct conf *conf, const char *conf_path,
			  const struct requested_container *ask, struct errbuf *err);

/*
 * Check that a container of user UID may get other CPUs (allow_cpus) or other memory nodes
 * (allow_mems), by "no" and by lists of users. Lists of accounts and partitions were checked at the
 * launch (resize_check_launched()): a job's account and partition do not change while it runs.
 * Returns 0, or -1 with the key and the reason in ERR.
 */
int resize_check_user(const struct conf *conf, const char *conf_path, uid_t uid, bool cpus,
		      bool mems, struct errbuf *err);

#endif
