/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_UNITS_H
#define NODEOS_SERVICEOS_UNITS_H

#include "serviceos/item.h"

/*
 * How systemd keeps its units to the ServiceOS: a drop-in for every service, scope, socket, mount
 * and swap (systemd.unit(5): TYPE.d), in /run, so that it ends with the boot. Slices stay open: up
 * to Slurm 25.05 all jobs live in system.slice. A drop-in of the same name for one unit replaces
 * it. So these stay outside: slurmstepd's scope, which holds the jobs; slurmd, which obeys
 * slurm.conf; the units of serviceos_except.
 *
 * For users' sessions user.slice has the lines, and the cpuset controller is off below each
 * user-UID.slice: a directory that a user owns must not have it.
 *
 * systemd applies the lines to units that it starts afterwards. Running processes get CPU
 * affinities: the cpuset of a cgroup with processes, once written, cannot be emptied again
 * (ENOSPC), and unprovision must do that. PID 1 is one of these processes, and its children inherit
 * its affinity: so a service that stays outside is given all CPUs again.
 */
#define UNITS_DIR "run/systemd/system"
#define UNITS_DROPIN "00-nodeos-serviceos.conf"

/* The slice of all users, and the drop-ins of this slice and of the slice of each user. */
#define UNITS_USERS "user.slice"
#define UNITS_USERS_DROPIN UNITS_DIR "/" UNITS_USERS ".d/" UNITS_DROPIN
#define UNITS_BAR_DROPIN UNITS_DIR "/user-.slice.d/" UNITS_DROPIN

/* Names of slurmstepd's scope on this node, which may contain systemd's HOSTNAME. */
#define UNITS_SCOPE "slurmstepd.scope"
#define UNITS_TIMER "nodeos-provision.timer"
/* slurmd confines itself at each start, as CpuSpecList and SlurmdOffSpec say */
#define UNITS_SLURMD "slurmd.service"

/* Call FN for each drop-in, with kind, name, label and wanted filled in. */
int service_each_unit(const struct service_items *in, int (*fn)(struct service_item *it, void *arg),
		      void *arg);

/* Call FN for the cpuset files of each unit, with kind, name and label filled in. */
int service_each_cgroup(const struct service_items *in,
			int (*fn)(struct service_item *it, void *arg), void *arg);

/*
 * Return the reason why a process in cgroup PATH (as in /proc/PID/cgroup) may run outside of the
 * ServiceOS, or NULL.
 */
const char *service_exempt(const char *path, const struct conf *conf);

/*
 * Return whether UNIT is active, and whether systemd knows a unit of that name (false if systemd
 * does not respond).
 */
bool service_unit_active(const char *unit);
bool service_unit_known(const char *unit);

/*
 * Make systemd, and irqbalance if it runs, read the files that were written and forget the removed
 * ones.
 */
int service_units_reload(struct errbuf *err);

#endif
