/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Make the directories above the last name of PATH; other users may read them. */
static int make_private_path(const char *path, struct errbuf *err)
{
	char part[MOVE_SITE_PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(part) || path[0] != '/')
		return errprintf(err, "%s: path too long, or not absolute", path);
	memcpy(part, path, n + 1);
	for (char *c = part + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			if (mkdir(part, 0755) < 0 && errno != EEXIST)
				return errprintf(err, "%s: %s", part, strerror(errno));
			*c = '/';
		}
	return 0;
}

static void list_shared(struct move_site *s)
{
	char *save = NULL;

	snprintf(s->shared, sizeof(s->shared), "%s%s%s", s->conf.mounts,
		 s->conf.mounts[0] && s->conf.mounts_ro[0] ? " " : "", s->conf.mounts_ro);
	snprintf(s->mount_text, sizeof(s->mount_text), "%s", s->shared);
	for (char *w = strtok_r(s->mount_text, " \t", &save);
	     w && s->mounts < sizeof(s->mount) / sizeof(*s->mount);
	     w = strtok_r(NULL, " \t", &save))
		s->mount[s->mounts++] = w;
}

void move_site_default(struct move_site *s)
{
	vnode_site_default(&s->places);
	s->state_dir = MOVE_STATE_DIR;
	s->run = s->state = s->lock = -1;
}

bool move_site_option(struct move_site *s, int c, const char *value)
{
	switch (c) {
	case MOVE_OPTION_RUN:
		s->places.run_dir = value;
		return true;
	case MOVE_OPTION_STATE:
		s->state_dir = value;
		return true;
	case MOVE_OPTION_CONF:
		s->places.conf_dir = value;
		return true;
	case MOVE_OPTION_NODEOS_CONF:
		s->places.conf = value;
		return true;
	case MOVE_OPTION_NO_SLURM:
		s->places.ask_slurm = false;
		return true;
	default:
		return false;
	}
}

int move_site_find(struct move_site *s, const char *name, struct errbuf *err)
{
	int run;

	s->run = s->state = s->lock = -1;
	s->mounts = 0;
	if (!vnode_is_name(name, strlen(name)))
		return errprintf(err, "not a valid name of a vnode");
	if (vnode_conf_load(&s->conf, s->places.conf_dir, name, 0, err) < 0)
		return -1;
	list_shared(s);
	move_journal_name(s->journal, name);
	snprintf(s->images, sizeof(s->images), "%s/%s/image", s->places.run_dir, name);
	snprintf(s->root, sizeof(s->root), "%s/%s/root", s->places.run_dir, name);
	if (make_private_path(s->state_dir, err) < 0)
		return -1;
	s->state = dir_open_private(s->state_dir, err);
	if (s->state < 0)
		return -1;
	run = vnode_run_open(s->places.run_dir, err);
	if (run >= 0) {
		s->run = vnode_dir_open(run, name, true, err);
		close(run);
	}
	if (s->run >= 0)
		return 0;
	move_site_close(s);
	return -1;
}

int move_site_open(struct move_site *s, const char *name, struct errbuf *err)
{
	if (move_site_find(s, name, err) < 0)
		return -1;
	s->lock = move_lock_take(s->state, name, err);
	if (s->lock >= 0)
		return 0;
	move_site_close(s);
	return -1;
}

void move_site_close(struct move_site *s)
{
	if (s->lock >= 0)
		close(s->lock);
	if (s->run >= 0)
		close(s->run);
	if (s->state >= 0)
		close(s->state);
	s->run = s->state = s->lock = -1;
}

void move_site_env(struct move_site *s, const char *token, const char *peer,
		   const struct vnode_state *v)
{
	static const char *const name[] = { GATE_STATE_DIR, GATE_NAME, GATE_TOKEN, GATE_PEER,
					    GATE_IMAGES,    GATE_LINK, GATE_GROUP };
	const char *value[] = { s->state_dir, s->conf.name, token,    peer,
				s->images,    v->link,	    v->cgroup };
	unsigned n = sizeof(name) / sizeof(*name);

	for (unsigned i = 0; i < n; i++) {
		snprintf(s->env_text[i], sizeof(s->env_text[i]), "%s=%.500s", name[i], value[i]);
		s->env[i] = s->env_text[i];
	}
	snprintf(s->env_shared, sizeof(s->env_shared), "%s=%s", GATE_SHARED, s->shared);
	s->env[n] = s->env_shared;
	s->env[n + 1] = NULL;
}

uint64_t move_image_size(uint64_t bytes)
{
	return bytes + bytes / 8 + MOVE_IMAGE_BESIDE;
}

unsigned move_step_seconds(uint64_t bytes)
{
	return MOVE_SECONDS + (unsigned)(bytes / MOVE_IMAGE_SLOW);
}

int move_site_read_state(struct move_site *s, struct vnode_state *out, struct errbuf *err)
{
	int run = vnode_run_open(s->places.run_dir, err), rc;

	if (run < 0)
		return -1;
	rc = vnode_state_read(out, run, s->conf.name, err);
	close(run);
	return rc;
}

int move_site_write_state(struct move_site *s, const struct vnode_state *state, struct errbuf *err)
{
	int run = vnode_run_open(s->places.run_dir, err), rc;

	if (run < 0)
		return -1;
	rc = state->phase == VNODE_ABSENT ? vnode_state_remove(run, s->conf.name, err)
					  : vnode_state_write(state, run, s->conf.name, err);
	close(run);
	return rc;
}
