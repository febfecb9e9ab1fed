/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_site.h"

int resize_check_mems(const struct conf *conf, const char *conf_path, struct errbuf *err)
{
	return conf->resize_mems
		       ? 0
		       : errprintf(err,
				   "the memory nodes of live containers cannot be changed at this "
				   "site (resize_mems in %s): change only CPUs, or ask for other "
				   "memory nodes in the next job's manifest",
				   conf_path);
}

int resize_check_launched(const struct conf *conf, const char *conf_path,
			  const struct requested_container *ask, struct errbuf *err)
{
	if (request_container_wants(ask, ISOLATOR_MEMS) || !conf_needs_job(conf, ISOLATOR_MEMS))
		return 0;
	return errprintf(
		err,
		"container %s was launched without memory nodes of its own, so the launch did not "
		"check whether its job may have them (allow_mems in %.128s lists "
		"accounts or partitions): ask for mems in the next job's manifest, or "
		"change only CPUs",
		ask->name, conf_path);
}

int resize_check_user(const struct conf *conf, const char *conf_path, uid_t uid, bool cpus,
		      bool mems, struct errbuf *err)
{
	const struct conf_user user = { .uid = uid };

	if (cpus && !conf_needs_job(conf, ISOLATOR_CPUS) &&
	    conf_check_isolator(conf, ISOLATOR_CPUS, &user, conf_path, err) < 0)
		return -1;
	if (mems && !conf_needs_job(conf, ISOLATOR_MEMS) &&
	    conf_check_isolator(conf, ISOLATOR_MEMS, &user, conf_path, err) < 0)
		return -1;
	return 0;
}
