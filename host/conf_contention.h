/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONF_CONTENTION_H
#define NODEOS_HOST_CONF_CONTENTION_H

#include <stdbool.h>

#include "base/fileio.h"

#define CONF_EVENTS_MAX 1024 /* bytes of a row of events with the final NUL */
#define CONF_USER_MAX 64 /* bytes of a user's name with the final NUL */

/* Keys contention_NAME of nodeos.conf: who is observed, how, and who is told. */
struct conf_contention {
	bool observe; /* contention = observe: containers that do not say otherwise */
	bool all_steps; /* contention_steps = all: also steps without a container */
	char source[DIR_PATH_MAX + 8]; /* auto, perf, none, replay:FILE */
	char events[CONF_EVENTS_MAX]; /* a row in place of events.d's; "" */
	unsigned interval, interval_quiet; /* seconds: 1, 30 */
	unsigned turtle, devil, delta, window, majority; /* as struct classify_conf has them */
	char metrics_dir[DIR_PATH_MAX]; /* of node_exporter's textfile collector; "" */
	char report_dir[DIR_PATH_MAX]; /* files for nodeosctl contention collect; "" */
	char report_user[CONF_USER_MAX]; /* who writes them; "": root */
	unsigned report_interval; /* seconds: 60 */
	bool record; /* collect writes AdminComment and SystemComment */
	bool node_extra; /* collect writes Extra of nodes */
};

#endif
