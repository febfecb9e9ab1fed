/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/saved.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fileio.h"
#include "move/flow.h"
#include "move/site.h"

int saved_open(struct saved *s, const char *path, const char *name, struct errbuf *err)
{
	s->images = s->lock = -1;
	s->name = name;
	move_journal_name(s->journal, name);
	snprintf(s->folder, sizeof(s->folder), "%s.image", name);
	s->dir = dir_open_private(path, err);
	if (s->dir < 0)
		return -1;
	s->lock = move_lock_take(s->dir, name, err);
	if (s->lock < 0) {
		saved_close(s);
		return -1;
	}
	s->images = openat(s->dir, s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return 0;
}

void saved_close(struct saved *s)
{
	int *fd[] = { &s->images, &s->lock, &s->dir };

	for (size_t i = 0; i < sizeof(fd) / sizeof(*fd); i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
}

void saved_drop_image(struct saved *s)
{
	struct dirent *e;
	DIR *d = s->images < 0 ? NULL : fdopendir(s->images);

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	s->images = -1;
	(void)unlinkat(s->dir, s->folder, AT_REMOVEDIR);
}

int saved_make_image(struct saved *s, uint64_t bytes, struct errbuf *err)
{
	struct statvfs fs;

	if (fstatvfs(s->dir, &fs) < 0)
		return errprintf(err, "%s", strerror(errno));
	if ((uint64_t)fs.f_bavail * fs.f_frsize < bytes)
		return errprintf(err,
				 "the image needs up to %" PRIu64 " MiB, but only %" PRIu64
				 " MiB are free in the directory",
				 bytes >> 20, ((uint64_t)fs.f_bavail * fs.f_frsize) >> 20);
	saved_drop_image(s);
	if (mkdirat(s->dir, s->folder, 0700) < 0)
		return errprintf(err, "%s: %s", s->folder, strerror(errno));
	s->images = openat(s->dir, s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return s->images < 0 ? errprintf(err, "%s: %s", s->folder, strerror(errno)) : 0;
}

struct restorer {
	struct saved *saved;
	struct peer *peer;
	struct move_source move;
	FILE *progress;
	uint64_t bytes;
};

/* Read the mover's offer of the saved vnode. Returns 0 or -1. */
static int read_saved_offer(struct restorer *r, char version[MOVE_VERSION_MAX], struct errbuf *err)
{
	char line[WIRE_LINE_MAX];

	if (file_read(r->saved->images, SAVED_OFFER, line, sizeof(line), err) < 0)
		return -1;
	if (sscanf(line, "hello 1 %*s %*s %*s %63s %" SCNu64, version, &r->bytes) != 2)
		return errprintf(err, SAVED_OFFER ": not an offer of this release");
	return 0;
}

/* Let the receiver check the record of the saved vnode's open files. */
static int offer_saved_record(struct restorer *r, struct errbuf *err)
{
	static char block[1 << 16];
	int fd = openat(r->saved->images, GATE_RECORD, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = errprintf(err, GATE_RECORD ": %s", strerror(errno));
	else
		rc = wire_say(&r->peer->wire, err, "check %lld", (long long)st.st_size);
	while (rc == 0 && (n = read(fd, block, sizeof(block))) > 0)
		rc = wire_put(&r->peer->wire, block, (size_t)n, err);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? -1 : peer_hear_ok(r->peer, MOVE_SECONDS, err);
}

static int restorer_offer(void *arg, struct errbuf *err)
{
	char version[MOVE_VERSION_MAX], flags[WIRE_LINE_MAX - 16];
	struct restorer *r = arg;
	int rc = read_saved_offer(r, version, err);

	if (rc == 0)
		rc = peer_connect(r->peer, err);
	if (rc == 0)
		rc = wire_say(&r->peer->wire, err, "hello 1 %s %s %s %s %" PRIu64, r->saved->name,
			      r->move.now.token, "saved", version, r->bytes);
	if (rc == 0)
		rc = peer_hear_ok(r->peer, MOVE_SECONDS, err);
	if (rc == 0 && file_read(r->saved->images, SAVED_FLAGS, flags, sizeof(flags), NULL) > 0) {
		rc = wire_say(&r->peer->wire, err, "%s", flags);
		if (rc == 0)
			rc = peer_hear_ok(r->peer, MOVE_SECONDS, err);
	}
	return rc == 0 ? offer_saved_record(r, err) : -1;
}

/* The image is complete: it was when the vnode was saved. */
static int restorer_freeze(void *arg, struct errbuf *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static int restorer_send(void *arg, struct errbuf *err)
{
	struct restorer *r = arg;

	if (wire_send_image(&r->peer->wire, r->saved->images, NULL, err) < 0)
		return -1;
	return peer_hear_ok(r->peer, move_step_seconds(r->bytes), err);
}

static int restorer_restore(void *arg, struct errbuf *err)
{
	struct restorer *r = arg;

	if (wire_say(&r->peer->wire, err, "restore") < 0)
		return -1;
	return peer_hear_ok(r->peer, move_step_seconds(r->bytes), err);
}

static int restorer_go(void *arg, struct errbuf *err)
{
	struct restorer *r = arg;

	if (wire_say(&r->peer->wire, err, "go %s", r->move.now.token) < 0)
		return -1;
	return peer_hear_ok(r->peer, move_step_seconds(r->bytes), err);
}

static enum move_state restorer_ask(void *arg, bool abort)
{
	struct restorer *r = arg;

	return peer_ask(r->peer, r->move.now.token, abort);
}

/* The image stands for the frozen tree. */
static enum move_tree restorer_tree(void *arg)
{
	struct restorer *r = arg;

	return r->saved->images < 0 ? MOVE_TREE_GONE : MOVE_TREE_FROZEN;
}

static void restorer_settle(void *arg, enum move_state state)
{
	struct restorer *r = arg;

	if (state != MOVE_BACK)
		saved_drop_image(r->saved);
}

static void restorer_progress(void *arg, enum move_state state)
{
	struct restorer *r = arg;

	if (r->progress)
		fprintf(r->progress, "%s\n", move_state_word(state));
}

static const struct move_source_ops restorer_ops = {
	restorer_offer, restorer_freeze, restorer_send,	  restorer_restore,  restorer_go,
	restorer_ask,	restorer_tree,	 restorer_settle, restorer_progress,
};

/* Return whether the vnode is saved: the journal is at the right STATE, and the image is there. */
static bool is_saved(const struct saved *s, enum move_state state)
{
	return s->images >= 0 && (state == MOVE_LIVE || state == MOVE_BACK);
}

static int run_restorer(struct restorer *r, struct errbuf *err)
{
	struct move_entry *now = &r->move.now;

	if (move_journal_read(now, r->move.dir, r->move.name, err) < 0)
		return -1;
	if (!move_state_final(now->state) || now->state == MOVE_BACK) {
		if (move_source_recover(&r->move, err) < 0)
			return -1;
		peer_close(r->peer);
	}
	if (now->state == MOVE_DONE) {
		saved_drop_image(r->saved);
		return errprintf(err, "the saved vnode was restored before");
	}
	if (!is_saved(r->saved, now->state))
		return errprintf(err, "no saved vnode %s is here", r->saved->name);
	snprintf(now->peer, sizeof(now->peer), "%s", r->peer->host);
	if (move_token_make(now->token, err) < 0)
		return -1;
	return move_source_run(&r->move, err);
}

int saved_restore(struct saved *s, struct peer *p, FILE *progress, enum move_state *end,
		  struct errbuf *err)
{
	struct restorer r = { .saved = s, .peer = p, .progress = progress };
	struct move_entry now = { 0 };
	int rc;

	r.move.dir = s->dir;
	r.move.name = s->journal;
	r.move.ops = &restorer_ops;
	r.move.arg = &r;
	rc = run_restorer(&r, err);
	peer_close(p);
	*end = move_journal_read(&now, s->dir, s->journal, NULL) < 0 ? MOVE_STATES : now.state;
	return rc;
}
