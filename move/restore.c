/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/notify.h"
#include "base/proc.h"
#include "inventory/policy.h"
#include "inventory/record.h"
#include "move/images.h"
#include "vnode/supervise.h"

#define POLICY_SECONDS 10
/* systemd allows this time for the restore and the source's decision */
#define RESTORE_SECONDS 3600

/* Read the move that the receiver of this vnode works on. */
static int read_move(struct move_entry *out, struct move_site *s, struct errbuf *err)
{
	if (move_journal_read(out, s->state, s->journal, err) < 0)
		return -1;
	if (out->state == MOVE_RECEIVED && move_lock_held(s->state, s->conf.name))
		return 0;
	if (out->state == MOVE_LIVE) {
		/* the vnode ran here, until its supervisor was killed */
		(void)unlinkat(s->run, VNODE_INCOMING_FILE, 0);
		return errprintf(err,
				 "the vnode's processes have ended here: start the vnode anew");
	}
	return errprintf(err,
			 "a move from %s is at \"%s\" here: finish it there (nodeosctl vnode move "
			 "--recover %s)",
			 out->peer, move_state_word(out->state), s->conf.name);
}

/* Let CRIU restore the tree, and wait for the gate's decision. Returns 0: the tree runs. */
static int run_criu(struct move_site *s, const struct move_entry *move,
		    const struct vnode_state *vnode, int images, struct errbuf *err)
{
	struct criu_run run = { .images = s->images,
				.link = vnode->link,
				.bridge = s->conf.bridge,
				.root = s->root,
				.shared = s->shared,
				.cgroup = vnode->cgroup,
				.env = s->env };
	struct move_entry now;
	pid_t criu;
	int status;

	move_site_env(s, move->token, move->peer, vnode);
	run.hold = move_criu_lock_take(s->state, s->conf.name, err);
	if (run.hold < 0)
		return -1;
	criu = move_criu_restore(&run, err);
	close(run.hold);
	if (criu < 0)
		return -1;
	status = move_criu_wait_end(&criu, RESTORE_SECONDS, err);
	if (move_journal_find(&now, s->state, s->journal, move->token, err) < 0)
		return -1;
	if (status != 0)
		return move_criu_report(status, images, "restore.log", err);
	if (now.state != MOVE_LIVE)
		return errprintf(err, "the move is at \"%s\"", move_state_word(now.state));
	return 0;
}

/* Read the PID of the first process, which the gate has noted. */
static int read_first(pid_t *out, int images, struct errbuf *err)
{
	char text[32];

	if (file_read(images, GATE_HELD, text, sizeof(text), err) < 0)
		return -1;
	*out = (pid_t)strtol(text, NULL, 10);
	return *out > 0 ? 0 : errprintf(err, "the vnode's first process is not known");
}

/* Set memory policies again. A failure does not end the vnode. */
static void set_policies_again(pid_t first, int images, const char *name)
{
	struct move_record record;
	unsigned failed;

	if (move_record_load(&record, images, GATE_RECORD, NULL) < 0)
		return;
	failed = move_policies_apply(&record, first, POLICY_SECONDS);
	if (failed)
		fprintf(stderr,
			"nodeos-vnode-restore: %s: %u memory policies could not be set again\n",
			name, failed);
	move_record_free(&record);
}

static int restore_bare(struct move_site *s, const struct move_entry *move, int images,
			struct errbuf *err)
{
	struct vnode_state vnode = { .phase = VNODE_RUNNING };

	if (mkdir(s->root, 0700) < 0 && errno != EEXIST)
		return errprintf(err, "%s: %s", s->root, strerror(errno));
	if (run_criu(s, move, &vnode, images, err) < 0 || read_first(&vnode.pid, images, err) < 0)
		return -1;
	vnode.number = process_number(vnode.pid);
	return vnode.number == 0 ? errprintf(err, "the tree has ended")
				 : move_site_write_state(s, &vnode, err);
}

/*
 * Make the vnode's place, and restore it there. Returns a descriptor of the first process, or -1.
 */
static int restore_placed(struct vnode_start *v, struct move_site *s, const struct move_entry *move,
			  int images, struct errbuf *err)
{
	int pidfd = -1;
	pid_t first;

	if (vnode_begin(v, &s->places, &s->conf, err) < 0)
		return -1;
	vnode_unlock(v);
	if (run_criu(s, move, &v->state, images, err) == 0 &&
	    read_first(&first, images, err) == 0) {
		pidfd = (int)syscall(SYS_pidfd_open, first, 0);
		if (pidfd < 0)
			errprintf(err, "the vnode has ended: %s", strerror(errno));
		else if (vnode_started(v, first, err) == 0) {
			set_policies_again(first, images, s->conf.name);
			return pidfd;
		}
	}
	if (pidfd >= 0)
		close(pidfd);
	vnode_undo(v, &(struct errbuf){ 0 });
	return -1;
}

int restore_vnode(struct move_site *s, bool bare, bool *ran, struct errbuf *err)
{
	struct vnode_start *v = calloc(1, sizeof(*v));
	struct move_entry move;
	int images = -1, pidfd = -1, rc = -1;
	char seconds[64];

	*ran = false;
	snprintf(seconds, sizeof(seconds), "EXTEND_TIMEOUT_USEC=%d000000", RESTORE_SECONDS);
	notify_manager(seconds);
	if (!v)
		errprintf(err, "out of memory");
	else if (read_move(&move, s, err) == 0)
		images = move_images_open(s->images, err);
	if (images >= 0 && bare) {
		rc = restore_bare(s, &move, images, err);
	} else if (images >= 0) {
		pidfd = restore_placed(v, s, &move, images, err);
		rc = pidfd < 0 ? -1 : 0;
	}
	/* note the reason for the receiver, which reports it to the source */
	if (images >= 0 && rc < 0 && faccessat(images, GATE_REASON, F_OK, 0) < 0)
		(void)file_replace(images, GATE_REASON, err->text, 0600, NULL);
	if (images >= 0)
		close(images);
	if (rc == 0)
		(void)unlinkat(s->run, VNODE_INCOMING_FILE, 0);
	if (rc == 0 && !bare) {
		*ran = true;
		notify_manager("READY=1");
		rc = vnode_wait(v, pidfd, err);
	}
	free(v);
	return rc;
}
