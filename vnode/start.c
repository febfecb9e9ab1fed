/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "host/conf.h"
#include "vnode/group.h"
#include "vnode/link.h"

#define PLACE "root"

static void close_start(struct vnode_start *s)
{
	int *fd[] = { &s->group, &s->root, &s->run };

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
}

static int open_place(struct vnode_start *s, const struct vnode_site *site, struct errbuf *err)
{
	s->site = site;
	s->run = s->root = s->group = -1;
	snprintf(s->at, sizeof(s->at), "%.127s/%s/" PLACE, site->run_dir, s->conf.name);
	s->root = cgroup_open_root(NULL, err);
	if (s->root >= 0)
		s->run = vnode_run_open(site->run_dir, err);
	if (s->run >= 0 && vnode_state_read(&s->state, s->run, s->conf.name, err) == 0)
		return 0;
	close_start(s);
	return -1;
}

/* Divide the host's CPUs among its vnodes, except the vnode LEAVING. */
static int share_cpus(const struct vnode_start *s, const char *leaving, struct errbuf *err)
{
	struct conf *conf = malloc(sizeof(*conf));
	int rc = conf ? conf_load(conf, s->site->conf, 0, err) : errprintf(err, "out of memory");

	if (rc == 0)
		rc = vnode_group_share(s->root, s->run, conf->state_dir, leaving, err);
	free(conf);
	return rc;
}

/* Copy ERR to *FIRST if RC is a failure and *FIRST is still empty. Returns RC. */
static int note_failure(int rc, struct errbuf *first, const struct errbuf *err)
{
	if (rc < 0 && !*first->text)
		errcopy(first, err);
	return rc;
}

/* Remove all that S's state names, then the state. The caller holds the lock. */
static int remove_all(const struct vnode_start *s, struct errbuf *err)
{
	const char *name = s->conf.name;
	struct errbuf first = { 0 }, one = { 0 };
	int dir;

	note_failure(vnode_group_remove(s->root, s->state.cgroup, &one), &first, &one);
	note_failure(vnode_link_remove(s->state.link, &one), &first, &one);
	dir = vnode_dir_open(s->run, name, false, &one);
	if (dir >= 0) {
		if (unlinkat(dir, PLACE, AT_REMOVEDIR) < 0 && errno != ENOENT)
			note_failure(errprintf(&one, "%s: %s", s->at, strerror(errno)), &first,
				     &one);
		close(dir);
	}
	note_failure(share_cpus(s, name, &one), &first, &one);
	if (!*first.text && s->state.phase != VNODE_MOVING)
		note_failure(vnode_state_remove(s->run, name, &one), &first, &one);
	return *first.text ? errcopy(err, &first) : 0;
}

int vnode_undo(struct vnode_start *s, struct errbuf *err)
{
	int rc = 0;

	if (s->run < 0)
		s->run = vnode_run_open(s->site->run_dir, err);
	/* read the state again: a move may have changed the phase */
	if (s->run < 0 || vnode_state_read(&s->state, s->run, s->conf.name, err) < 0)
		rc = -1;
	else if (s->state.phase != VNODE_ABSENT)
		rc = remove_all(s, err);
	close_start(s);
	return rc;
}

int vnode_clear(const struct vnode_site *site, const char *name, struct errbuf *err)
{
	struct vnode_start *s;
	int rc;

	if (!vnode_is_name(name, strlen(name)))
		return errprintf(err, "not the name of a vnode");
	s = calloc(1, sizeof(*s));
	if (!s)
		return errprintf(err, "out of memory");
	snprintf(s->conf.name, sizeof(s->conf.name), "%s", name);
	rc = open_place(s, site, err);
	if (rc == 0 && s->state.phase != VNODE_ABSENT && s->state.supervisor != getpid() &&
	    vnode_process_lives(s->state.supervisor, s->state.supervisor_number)) {
		close_start(s);
		rc = errprintf(err, "vnode %s runs: stop it first (nodeosctl vnode stop %s)", name,
			       name);
	} else if (rc == 0) {
		rc = vnode_undo(s, err);
	}
	free(s);
	return rc;
}

/* Make the cgroup and the directory of a vnode, and its share. vnode_undo() removes them. */
static int make_place(struct vnode_start *s, struct errbuf *err)
{
	int dir, rc;

	if (vnode_group_make(s->root, s->state.cgroup, &s->conf, err) < 0)
		return -1;
	s->group = openat(s->root, s->state.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->group < 0)
		return errprintf(err, "cgroup %.300s: %s", s->state.cgroup, strerror(errno));
	dir = vnode_dir_open(s->run, s->conf.name, false, err);
	if (dir < 0)
		return -1;
	rc = mkdirat(dir, PLACE, 0700);
	if (rc < 0)
		errprintf(err, "%s: %s", s->at, strerror(errno));
	close(dir);
	return rc < 0 ? -1 : share_cpus(s, NULL, err);
}

int vnode_begin(struct vnode_start *out, const struct vnode_site *site,
		const struct vnode_conf *conf, struct errbuf *err)
{
	struct vnode_start *s = out;
	struct errbuf ignored;

	memset(s, 0, sizeof(*s));
	s->conf = *conf;
	if (open_place(s, site, err) < 0)
		return -1;
	if (s->state.phase != VNODE_ABSENT &&
	    vnode_process_lives(s->state.supervisor, s->state.supervisor_number)) {
		close_start(s);
		return errprintf(err, "vnode %s runs already", conf->name);
	}
	if (s->state.phase == VNODE_MOVING) {
		close_start(s);
		return errprintf(err,
				 "vnode %s is being moved; if the move was interrupted, run "
				 "nodeosctl vnode move --recover %s",
				 conf->name, conf->name);
	}
	if (s->state.phase > VNODE_CREATED && remove_all(s, err) < 0) {
		close_start(s);
		return -1;
	}
	memset(&s->state, 0, sizeof(s->state));
	s->state.phase = VNODE_STARTING;
	s->state.supervisor = getpid();
	s->state.supervisor_number = process_number(getpid());
	vnode_link_name(s->state.link, conf->name);
	if (vnode_group_path(s->state.cgroup, err) == 0 &&
	    vnode_state_write(&s->state, s->run, conf->name, err) == 0 && make_place(s, err) == 0)
		return 0;
	vnode_undo(s, &ignored);
	return -1;
}

void vnode_unlock(struct vnode_start *s)
{
	if (s->run >= 0)
		close(s->run);
	s->run = -1;
}

int vnode_started(struct vnode_start *s, pid_t pid, struct errbuf *err)
{
	if (s->run < 0)
		s->run = vnode_run_open(s->site->run_dir, err);
	if (s->run < 0)
		return -1;
	s->state.phase = VNODE_RUNNING;
	s->state.pid = pid;
	s->state.number = process_number(pid);
	if (vnode_state_write(&s->state, s->run, s->conf.name, err) < 0)
		return -1;
	vnode_unlock(s);
	return 0;
}
