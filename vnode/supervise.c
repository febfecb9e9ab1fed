/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/notify.h"
#include "vnode/link.h"

/* in addition to stop_timeout, for the end of processes that slurmd has left */
#define MORE_SECONDS 10

static void fill_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

void vnode_block_signals(void)
{
	sigset_t set;

	fill_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Wait MILLISECONDS at most for the end of PIDFD's process. Returns whether it has ended. */
static bool wait_for_pidfd(int pidfd, int milliseconds)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, milliseconds) == 1;
}

/* Record VNODE_STOPPING in the state, and ask the vnode's first process to end. */
static void stop_vnode(struct vnode_start *s, int pidfd)
{
	struct errbuf ignored;
	int run = vnode_run_open(s->site->run_dir, &ignored);

	if (run >= 0 && vnode_state_read(&s->state, run, s->conf.name, &ignored) == 0 &&
	    s->state.phase == VNODE_RUNNING) {
		s->state.phase = VNODE_STOPPING;
		vnode_state_write(&s->state, run, s->conf.name, &ignored);
	}
	if (run >= 0)
		close(run);
	notify_manager("STOPPING=1");
	syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0);
	wait_for_pidfd(pidfd, (int)(1000 * (s->conf.stop_timeout + MORE_SECONDS)));
}

int vnode_wait(struct vnode_start *s, int pidfd, struct errbuf *err)
{
	struct pollfd p[2] = { { .fd = pidfd, .events = POLLIN }, { .events = POLLIN } };
	bool asked = false;
	sigset_t set;
	siginfo_t info;
	int rc;

	fill_signals(&set);
	p[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (!(p[0].revents & POLLIN)) {
		asked = true;
		stop_vnode(s, pidfd);
	}
	close(p[1].fd);
	waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
	close(pidfd);
	rc = vnode_undo(s, err);
	if (rc < 0 || asked || s->state.phase == VNODE_MOVING)
		return rc;
	return errprintf(err,
			 "vnode %s has ended although nothing stopped it: see its slurmd's log",
			 s->conf.name);
}

static int start_vnode(struct vnode_start *s, const struct vnode_site *site, const char *name,
		       struct vnode_child *child, struct errbuf *err)
{
	struct vnode_conf *conf = malloc(sizeof(*conf));
	struct errbuf ignored;
	int rc = conf ? vnode_check(conf, site, name, err) : errprintf(err, "out of memory");

	if (rc == 0)
		rc = vnode_begin(s, site, conf, err);
	free(conf);
	if (rc < 0)
		return -1;
	if (vnode_launch(child, &s->conf, s->at, s->group, err) < 0)
		goto undo;
	if (vnode_link_add(&s->conf, s->state.link, child->pid, err) < 0) {
		vnode_launch_kill(child);
		goto undo;
	}
	if (vnode_launch_continue(child, err) < 0)
		goto undo;
	if (vnode_started(s, child->pid, err) == 0)
		return 0;
	vnode_launch_kill(child);
undo:
	vnode_undo(s, &ignored);
	return -1;
}

int vnode_supervise(const struct vnode_site *site, const char *name, struct errbuf *err)
{
	struct vnode_start *s = calloc(1, sizeof(*s));
	struct vnode_child child;
	int rc = -1;

	if (!s)
		return errprintf(err, "out of memory");
	vnode_block_signals();
	if (start_vnode(s, site, name, &child, err) == 0) {
		notify_manager("READY=1");
		rc = vnode_wait(s, child.pidfd, err);
	}
	free(s);
	return rc;
}
