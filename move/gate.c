/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-vnode-gate: CRIU's action script (move/gate.h). */
#include "move/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "inventory/apply.h"
#include "inventory/local.h"
#include "inventory/record.h"
#include "inventory/scan.h"
#include "move/flow.h"
#include "move/freeze.h"
#include "move/image_fix.h"
#include "move/link.h"

#define SHARED_MAX 64 /* mount points */
#define HOME_SECONDS 20 /* longest wait for moves of pages, while the tree is held */
#define NAMES_MAX 16 /* executables of root's processes whose O_PATH descriptors are changed */

struct gate {
	int state, images; /* directories */
	char journal[GATE_FILE_MAX];
	const char *name, *token, *peer, *link, *group;
	char shared_text[4096];
	const char *shared[SHARED_MAX];
	struct move_scan scan;
};

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static int open_gate(struct gate *g, struct errbuf *err)
{
	char *save = NULL;

	memset(g, 0, sizeof(*g));
	g->name = variable(GATE_NAME);
	g->token = variable(GATE_TOKEN);
	g->peer = variable(GATE_PEER);
	g->link = variable(GATE_LINK);
	g->group = variable(GATE_GROUP);
	move_journal_name(g->journal, g->name);
	g->state = open(variable(GATE_STATE_DIR), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g->images = open(variable(GATE_IMAGES), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->state < 0 || g->images < 0 || !move_token_valid(g->token))
		return errprintf(err, "gate: a variable NODEOS_MOVE_* is missing or invalid");
	snprintf(g->shared_text, sizeof(g->shared_text), "%s", variable(GATE_SHARED));
	for (char *w = strtok_r(g->shared_text, " ", &save); w && g->scan.n < SHARED_MAX;
	     w = strtok_r(NULL, " ", &save))
		g->shared[g->scan.n++] = w;
	g->scan.shared = g->shared;
	g->scan.init = (pid_t)strtol(variable("CRTOOLS_INIT_PID"), NULL, 10);
	if (g->scan.init <= 0)
		return errprintf(err, "gate: CRIU names no process");
	return 0;
}

/* Write TEXT to FILE in the image's directory, whole or not at all. */
static int put_note(struct gate *g, const char *file, const char *text, struct errbuf *err)
{
	return file_replace(g->images, file, text, 0600, err);
}

/* Return the state of this gate's move; MOVE_STATES: it cannot be read now. */
static enum move_state read_move_state(struct gate *g)
{
	struct move_entry e;

	return move_journal_find(&e, g->state, g->journal, g->token, NULL) < 0 ? MOVE_STATES
									       : e.state;
}

static int step_state(struct gate *g, enum move_state from, enum move_state to, struct errbuf *err)
{
	struct move_entry e = { .state = to };

	snprintf(e.token, sizeof(e.token), "%s", g->token);
	snprintf(e.peer, sizeof(e.peer), "%s", g->peer);
	return move_journal_step(g->state, g->journal, from, &e, err);
}

/* List the executables of root's processes that all users may read: slurmd and slurmstepd. */
static unsigned list_root_programs(const struct move_record *r, const char *name[NAMES_MAX])
{
	unsigned n = 0;

	for (size_t i = 0; i < r->files && n < NAMES_MAX; i++) {
		const struct move_file *f = &r->file[i];
		bool root = false, known = false;

		for (size_t t = 0; t < r->threads && !root; t++)
			root = r->thread[t].pid == f->pid && r->thread[t].uid == 0;
		for (unsigned k = 0; k < n; k++)
			known |= strcmp(name[k], f->path) == 0;
		if (f->what == MOVE_EXE && f->place == MOVE_HOST && f->uid == 0 &&
		    f->mode & S_IROTH && root && !known)
			name[n++] = f->path;
	}
	return n;
}

/*
 * Record the frozen tree, check the record, and put it beside the image; fix O_PATH in the image;
 * set the link down. Freeze the cgroup, too, so that nothing runs if CRIU or this program is
 * killed.
 */
static int hold_source(struct gate *g, struct errbuf *err)
{
	const char *name[NAMES_MAX];
	struct move_record r;
	unsigned fixed;
	char *text = NULL, pid[16];
	size_t len;
	int rc;

	if (move_scan_tree(&r, &g->scan, err) < 0)
		return -1;
	rc = move_record_check(&r, err);
	if (rc == 0)
		rc = move_image_fix_file(g->images, name, list_root_programs(&r, name), &fixed,
					 err);
	if (rc == 0)
		rc = move_record_print(&r, &text, &len, err);
	if (rc == 0)
		rc = put_note(g, GATE_RECORD, text, err);
	free(text);
	move_record_free(&r);
	if (rc == 0 && *g->link)
		rc = move_link_set(g->link, false, err);
	if (rc == 0)
		rc = move_group_freeze(g->group, true, err);
	snprintf(pid, sizeof(pid), "%d\n", g->scan.init);
	return rc < 0 ? -1 : put_note(g, GATE_HELD, pid, err);
}

/* Wait until the journal decides. Returns the order for CRIU (gate.h). */
static int wait_at_source(struct gate *g)
{
	for (;;) {
		/*
		 * check first whether the mover lives: then the state is the last one that it has
		 * written
		 */
		bool mover = move_lock_held(g->state, g->name);
		enum move_state state = read_move_state(g);

		switch (state == MOVE_STATES ? MOVE_GATE_WAIT : move_gate_decide(state, mover)) {
		case MOVE_GATE_KILL:
			return 0;
		case MOVE_GATE_RESUME:
			if (!move_state_final(state) && step_state(g, state, MOVE_BACK, NULL) < 0 &&
			    read_move_state(g) != MOVE_BACK)
				break; /* the state has changed meanwhile: read it again */
			if (*g->link)
				(void)move_link_set(g->link, true, NULL);
			(void)move_group_freeze(g->group, false, NULL);
			return 1;
		case MOVE_GATE_WAIT:
			break;
		}
		usleep(GATE_TURN_MS * 1000);
	}
}

/* Compare the restored tree with the record; give its threads their CPUs. */
static int hold_restored(struct gate *g, struct errbuf *err)
{
	struct move_record before, after;
	char text[32];
	unsigned changed;
	int rc;

	if (move_record_load(&before, g->images, GATE_RECORD, err) < 0)
		return -1;
	rc = move_scan_tree(&after, &g->scan, err);
	if (rc == 0) {
		rc = move_record_compare(&before, &after, err);
		move_record_free(&after);
	}
	if (rc == 0)
		rc = move_apply_cpus(&before, g->scan.init, &changed, err);
	if (rc == 0)
		move_pages_home(&before, g->scan.init, HOME_SECONDS);
	move_record_free(&before);
	if (rc == 0)
		rc = put_note(g, GATE_WAITS, "", err);
	snprintf(text, sizeof(text), "%d\n", g->scan.init);
	return rc < 0 ? -1 : put_note(g, GATE_HELD, text, err);
}

/* Wait until the receiver allows the tree to run, or ends. Returns the order for CRIU (gate.h). */
static int wait_at_dest(struct gate *g)
{
	for (;;) {
		bool receiver = move_lock_held(g->state, g->name);
		enum move_state state = read_move_state(g);

		if (faccessat(g->images, GATE_GO, F_OK, 0) == 0)
			break;
		if (!receiver || state == MOVE_ABORTED)
			return 1;
		usleep(GATE_TURN_MS * 1000);
	}
	/* from this step on, the tree is on this host, and on no other */
	if (step_state(g, MOVE_RESTORED, MOVE_LIVE, NULL) < 0)
		return 1;
	if (*g->link) {
		(void)move_link_set(g->link, true, NULL);
		move_link_announce(g->scan.init);
	}
	return 0;
}

int main(void)
{
	const char *action = variable("CRTOOLS_SCRIPT_ACTION");
	bool dump = strcmp(action, "post-dump") == 0;
	struct errbuf err = { 0 };
	struct gate g;

	if (strcmp(action, "pre-resume") == 0) /* only a restore has this action */
		return open_gate(&g, &err) < 0 || unlinkat(g.images, GATE_WAITS, 0) < 0;
	if (!dump && strcmp(action, "post-restore") != 0)
		return 0;
	if (open_gate(&g, &err) < 0)
		return 2;
	if ((dump ? hold_source(&g, &err) : hold_restored(&g, &err)) < 0) {
		(void)put_note(&g, GATE_REASON, err.text, NULL);
		if (dump && *g.link)
			(void)move_link_set(g.link, true, NULL);
		if (dump)
			(void)move_group_freeze(g.group, false, NULL);
		return 2;
	}
	return dump ? wait_at_source(&g) : wait_at_dest(&g);
}
