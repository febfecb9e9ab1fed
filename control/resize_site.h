/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_SITE_H
#define NODEOS_CONTROL_RESIZE_SITE_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/conf.h"
#include "manifest/request.h"

/*
 * Does CONF allow changes of memory nodes of live containers (resize_mems)? Returns 0, or -1 with a
 * text.
 */
int resize_check_mems(const struct conf *conf, const char *conf_path, struct errbuf *err);

/*
 * May a container of request ASK get other memory nodes if allow_mems lists accounts or partitions?
 * Only if it was launched with memory nodes of its own: then the launch has checked the list, which
 * nodeosd cannot do without slurmctld. Returns 0, or -1 with the key, the reason and the remedy in
 * ERR.
 */
int resize_check_launched(const struct conf *conf, const char *conf_path,
			  const struct requested_container *ask, struct errbuf *err);

/*
 * May a container of user UID get other CPUs (allow_cpus) or other memory nodes (allow_mems)?
 * Checks lists of users and "no". Lists of accounts and partitions were checked at the launch
 * (resize_check_launched()): a job's account and partition do not change while it runs. Returns 0,
 * or -1 with the key and the reason in ERR.
 */
int resize_check_user(const struct conf *conf, const char *conf_path, uid_t uid, bool cpus,
		      bool mems, struct errbuf *err);

#endif
