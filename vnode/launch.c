/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/vnode_mark.h"
#include "vnode/init.h"
#include "vnode/link.h"
#include "vnode/root.h"

#define LAUNCH_MILLISECONDS 30000
#define NAMESPACES                                                                        \
	(0ULL | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWTIME)
#define INIT_PROGRAM NODEOS_LIBEXECDIR "/nodeos-vnode-init"

/*
 * Set standard input to /dev/null, and output to a file in the vnode, so that no descriptor leads
 * out of the vnode.
 */
static int redirect_output(struct errbuf *err)
{
	int null = open("/dev/null", O_RDWR);
	int log = open(VNODE_LOG, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		return errprintf(err, "%s: %s", VNODE_LOG, strerror(errno));
	close(null);
	close(log);
	return 0;
}

/*
 * Make the file VNODE_MARK: where it exists, the plugin refuses NodeOS's own containers
 * (launch/step.c).
 */
static int mark_inside(const char *name, struct errbuf *err)
{
	int fd = open(VNODE_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);

	if (fd < 0 || write_all(fd, name, strlen(name)) < 0)
		return errprintf(err, "%s: %s", VNODE_MARK, strerror(errno));
	close(fd);
	return 0;
}

/* Become nodeos-vnode-init. Returns only on failure. */
static int start_init(const struct vnode_conf *c, int answer, struct errbuf *err)
{
	char timeout[16], name[VNODE_NAME_MAX], key[DIR_PATH_MAX], conf[DIR_PATH_MAX];
	char program[] = INIT_PROGRAM, path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = { program, name, key, conf, timeout, NULL }, *env[] = { path, NULL };
	sigset_t none;

	snprintf(name, sizeof(name), "%s", c->name);
	snprintf(key, sizeof(key), "%s", c->munge_key);
	snprintf(conf, sizeof(conf), "%s", c->slurm_conf);
	snprintf(timeout, sizeof(timeout), "%u", c->stop_timeout);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	umask(022);
	/* close all descriptors but 0 to 2 and the pipe, which execve() closes */
	if (dup2(answer, 3) < 0 || fcntl(3, F_SETFD, FD_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, 4, ~0u, 0) < 0)
		return errprintf(err, "descriptors: %s", strerror(errno));
	execve(program, argv, env);
	return errprintf(err, "%s: %s", program, strerror(errno));
}

/*
 * Run as the vnode's first process until it executes nodeos-vnode-init. Writes an error to ANSWER.
 */
static void __attribute__((noreturn))
run_child(const struct vnode_conf *c, const char *at, int go, int answer)
{
	struct errbuf err = { 0 };
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	if (sethostname(c->name, strlen(c->name)) < 0)
		errprintf(&err, "host name: %s", strerror(errno));
	else if (vnode_link_configure(c, &err) == 0 && vnode_root_enter(c, at, &err) == 0 &&
		 mark_inside(c->name, &err) == 0 && redirect_output(&err) == 0)
		start_init(c, answer, &err);
	/* start_init() may have moved the pipe to descriptor 3 */
	if (write_all(fcntl(answer, F_GETFD) >= 0 ? answer : 3, err.text, strlen(err.text)) < 0)
		_exit(2);
	_exit(1);
}

static void close_child(struct vnode_child *child)
{
	if (child->go >= 0)
		close(child->go);
	if (child->answer >= 0)
		close(child->answer);
	child->go = child->answer = -1;
}

int vnode_launch(struct vnode_child *out, const struct vnode_conf *c, const char *at, int group,
		 struct errbuf *err)
{
	struct clone_args args = { .flags = NAMESPACES | CLONE_INTO_CGROUP | CLONE_PIDFD,
				   .exit_signal = SIGCHLD,
				   .cgroup = (unsigned)group };
	int go[2], answer[2], pidfd = -1;
	long pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	if (pipe2(answer, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return errprintf(err, "pipe: %s", strerror(errno));
	}
	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	fflush(NULL);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		close(go[1]);
		close(answer[0]);
		run_child(c, at, go[0], answer[1]);
	}
	close(go[0]);
	close(answer[1]);
	*out = (struct vnode_child){
		.pid = (pid_t)pid, .pidfd = pidfd, .go = go[1], .answer = answer[0]
	};
	if (pid > 0)
		return 0;
	errprintf(err, "namespaces of the vnode: %s", strerror(errno));
	close_child(out);
	return -1;
}

void vnode_launch_kill(struct vnode_child *child)
{
	close_child(child);
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (child->pidfd >= 0)
		close(child->pidfd);
	child->pidfd = -1;
}

int vnode_launch_continue(struct vnode_child *child, struct errbuf *err)
{
	struct pollfd p = { .fd = child->answer, .events = POLLIN };
	char text[sizeof(err->text)];
	ssize_t n = -1;

	/* the child may have ended: vnode_block_signals() has set SIGPIPE to be ignored */
	if (write(child->go, "g", 1) == 1 && poll(&p, 1, LAUNCH_MILLISECONDS) == 1)
		n = read(child->answer, text, sizeof(text) - 1);
	if (n == 0) {
		close_child(child);
		return 0;
	}
	vnode_launch_kill(child);
	if (n < 0)
		return errprintf(
			err,
			"the vnode's first process ended or did not start its program in time");
	text[n] = '\0';
	return errprintf(err, "in the vnode: %s", text);
}
