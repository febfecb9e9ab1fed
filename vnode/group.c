/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "serviceos/state.h"
#include "topology/machine.h"
#include "vnode/devices.h"
#include "vnode/shares.h"
#include "vnode/state.h"

#define LEAF "vnode"
#define SUPERVISOR "supervisor"
#define KILL_POLLS 300 /* of 100 ms */

int vnode_group_path(char path[CGROUP_PATH_MAX], struct errbuf *err)
{
	char unit[CGROUP_PATH_MAX];
	size_t len, tail = strlen("/" SUPERVISOR);

	if (process_cgroup_of(unit, sizeof(unit), getpid()) < 0)
		return errprintf(err, "this process has no cgroup (v2)");
	len = strlen(unit);
	/* the caller may already be in UNIT/supervisor */
	if (len > tail && strcmp(unit + len - tail, "/" SUPERVISOR) == 0)
		unit[len - tail] = '\0';
	/* the root cgroup can have no limits; a '#' would begin a comment in the state file */
	if (!*unit || strchr(unit, '#') ||
	    (size_t)snprintf(path, CGROUP_PATH_MAX, "%s/" LEAF, unit) >= CGROUP_PATH_MAX)
		return errprintf(err,
				 "cgroup /%.200s cannot hold a vnode: it is the root, has a '#', "
				 "or is too long",
				 unit);
	return 0;
}

static int make_group(int root, const char *path, struct errbuf *err)
{
	if (mkdirat(root, path, 0755) == 0 || errno == EEXIST)
		return 0;
	return errprintf(err, "cgroup %.300s: %s", path, strerror(errno));
}

/* Move this process to UNIT/supervisor. Its address space is root's, so the move cannot hang. */
static int move_supervisor(int root, const char *unit, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + sizeof(SUPERVISOR)];

	snprintf(path, sizeof(path), "%s/" SUPERVISOR, unit);
	if (make_group(root, path, err) < 0)
		return -1;
	return cgroup_write(root, path, "cgroup.procs", "0", err);
}

static int attach_devices(int root, const char *path, const struct vnode_conf *c,
			  struct errbuf *err)
{
	struct vnode_device device[VNODE_DEVICES_MAX];
	int n = vnode_devices(device, c, err);
	int dir, rc;

	if (n < 0)
		return -1;
	dir = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errprintf(err, "cgroup %.300s: %s", path, strerror(errno));
	rc = vnode_devices_attach(dir, device, (unsigned)n, err);
	close(dir);
	return rc;
}

int vnode_group_make(int root, const char *path, const struct vnode_conf *c, struct errbuf *err)
{
	char unit[CGROUP_PATH_MAX], limit[32];
	struct idset mems;

	snprintf(unit, sizeof(unit), "%s", path);
	*strrchr(unit, '/') = '\0';
	if (move_supervisor(root, unit, err) < 0 ||
	    cgroup_write(root, unit, "cgroup.subtree_control", "+cpuset +memory +pids", err) < 0 ||
	    make_group(root, path, err) < 0 ||
	    cgroup_read_set(root, path, "cpuset.mems.effective", &mems, err) < 0)
		return -1;
	snprintf(limit, sizeof(limit), "%uM", c->memory);
	if (cgroup_write_mems(root, path, &mems, err) < 0 ||
	    cgroup_write(root, path, "memory.max", limit, err) < 0)
		return -1;
	return attach_devices(root, path, c, err);
}

int vnode_group_remove(int root, const char *path, struct errbuf *err)
{
	if (!*path || cgroup_inode(root, path) == 0)
		return 0;
	if (cgroup_write(root, path, "cgroup.kill", "1", err) < 0)
		return -1;
	for (unsigned i = 0; i < KILL_POLLS && !cgroup_is_empty(root, path); i++)
		usleep(100 * 1000);
	if (unlinkat(root, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return errprintf(err, "cgroup %.300s: %s", path, strerror(errno));
	return 0;
}

/* Read the CPUs that vnodes share: all of the host except those that the ServiceOS reserves. */
static int read_vnode_cpus(struct idset *out, const char *state_dir, struct errbuf *err)
{
	struct service_set service;

	if (cgroup_node_cpus(out, err) < 0 || service_state_load(&service, state_dir, err) < 0)
		return -1;
	idset_andnot(out, &service.cpus);
	return 0;
}

struct share_view {
	int root, run;
	const char *leaving; /* a vnode that gets no share any more; NULL: none */
};

static bool has_share(const struct vnode_state *s)
{
	return *s->cgroup && (s->phase == VNODE_STARTING || s->phase == VNODE_RUNNING ||
			      s->phase == VNODE_MOVING);
}

/* Write the cgroups of those vnodes that get a share to PATH. Returns their number, or -1. */
static int choose_sharers(char (*path)[CGROUP_PATH_MAX], char (*names)[VNODE_NAME_MAX], unsigned n,
			  const struct share_view *v, struct errbuf *err)
{
	struct vnode_state s;
	int kept = 0;

	for (unsigned i = 0; i < n; i++) {
		if (v->leaving && strcmp(names[i], v->leaving) == 0)
			continue;
		if (vnode_state_read(&s, v->run, names[i], err) < 0)
			return -1;
		if (has_share(&s) && cgroup_inode(v->root, s.cgroup) != 0)
			memcpy(path[kept++], s.cgroup, sizeof(s.cgroup));
	}
	return kept;
}

static int write_shares(char (*path)[CGROUP_PATH_MAX], unsigned n, int root, const char *state_dir,
			struct errbuf *err)
{
	struct idset cpus, *share = calloc(n, sizeof(*share));
	struct machine *m = NULL;
	int rc = -1;

	if (!share)
		errprintf(err, "out of memory");
	else if (machine_load_whole(&m, err) == 0 && read_vnode_cpus(&cpus, state_dir, err) == 0)
		rc = vnode_shares(share, n, m, &cpus, err);
	for (unsigned i = 0; rc == 0 && i < n; i++)
		rc = cgroup_write_set(root, path[i], "cpuset.cpus", &share[i], err);
	if (m)
		machine_free(m);
	free(share);
	return rc;
}

int vnode_group_share(int root, int run, const char *state_dir, const char *leaving,
		      struct errbuf *err)
{
	const struct share_view view = { .root = root, .run = run, .leaving = leaving };
	char(*names)[VNODE_NAME_MAX], (*path)[CGROUP_PATH_MAX];
	unsigned n;
	int kept;

	if (vnode_state_list(&names, &n, run, err) < 0)
		return -1;
	path = calloc(n ? n : 1, sizeof(*path));
	kept = path ? choose_sharers(path, names, n, &view, err) : errprintf(err, "out of memory");
	if (kept > 0)
		kept = write_shares(path, (unsigned)kept, root, state_dir, err);
	free(path);
	free(names);
	return kept < 0 ? -1 : 0;
}
