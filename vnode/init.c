/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * nodeos-vnode-init is the first process of a vnode. It uses libc only, to have little memory that
 * a move must copy.
 */
#include "vnode/init.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUNGE_DIR "/run/munge"
#define MUNGE_SOCKET MUNGE_DIR "/munge.socket.2"
#define MUNGE_POLLS 200 /* of 100 ms */

static void complain(const char *what)
{
	fprintf(stderr, "nodeos-vnode-init: %s: %s\n", what, strerror(errno));
}

static void __attribute__((noreturn)) become_program(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	execvp(argv[0], argv);
	complain(argv[0]);
	_exit(127);
}

/* Start munged with the uid of the owner of its key and directory. Returns its pid, or -1. */
static pid_t start_munged(char *key)
{
	char name[] = "munged", front[] = "--foreground", force[] = "--force";
	char socket[] = "--socket=" MUNGE_SOCKET, pidfile[] = "--pid-file=" MUNGE_DIR "/munged.pid";
	char log[] = "--log-file=" MUNGE_DIR "/munged.log",
	     seed[] = "--seed-file=" MUNGE_DIR "/seed";
	char option[256];
	char *argv[] = { name, front, force, option, socket, pidfile, log, seed, NULL };
	struct stat st;
	pid_t pid;

	snprintf(option, sizeof(option), "--key-file=%s", key);
	if (stat(key, &st) < 0 || chown(MUNGE_DIR, st.st_uid, st.st_gid) < 0) {
		complain(key);
		return -1;
	}
	pid = fork();
	if (pid != 0)
		return pid;
	if (setgroups(0, NULL) < 0 || setgid(st.st_gid) < 0 || setuid(st.st_uid) < 0) {
		complain("munged's user");
		_exit(127);
	}
	become_program(argv);
}

static pid_t start_slurmd(char *node, char *conf)
{
	char name[] = "slurmd", front[] = "-D", n[] = "-N", f[] = "-f", l[] = "-L";
	char log[] = "/run/slurmd.log";
	char *argv[] = { name, front, n, node, f, conf, l, log, NULL };
	pid_t pid = fork();

	if (pid == 0)
		become_program(argv);
	return pid;
}

static void pause_milliseconds(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Wait until munged has made its socket. Returns false if it does not. */
static bool wait_for_munged(void)
{
	for (unsigned i = 0; i < MUNGE_POLLS; i++) {
		if (access(MUNGE_SOCKET, F_OK) == 0)
			return true;
		pause_milliseconds(100);
	}
	fprintf(stderr, "nodeos-vnode-init: munged did not create " MUNGE_SOCKET " in time\n");
	return false;
}

/* End slurmd, then its jobs. When this process ends, the kernel kills what is left. */
static void end_all(pid_t slurmd, unsigned seconds)
{
	kill(slurmd, SIGTERM);
	for (unsigned i = 0; i < 10 * seconds; i++) {
		if (waitpid(slurmd, NULL, WNOHANG) != 0)
			break;
		pause_milliseconds(100);
	}
	kill(-1, SIGTERM);
	pause_milliseconds(500);
}

/* Collect the processes that have ended. Returns whether SLURMD is one of them. */
static bool collect_ended(pid_t slurmd, pid_t *munged, char *key)
{
	bool found = false;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		found |= pid == slurmd;
		if (pid == *munged) {
			pause_milliseconds(1000);
			*munged = start_munged(key);
		}
	}
	return found;
}

int main(int argc, char **argv)
{
	pid_t munged, slurmd;
	sigset_t set;
	int signal = 0;

	if (argc != 5)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	munged = start_munged(argv[2]);
	if (munged < 0 || !wait_for_munged())
		return 1;
	slurmd = start_slurmd(argv[1], argv[3]);
	if (slurmd < 0)
		return 1;
	while (signal != SIGTERM && signal != SIGINT) {
		signal = sigwaitinfo(&set, NULL);
		if (signal == SIGCHLD && collect_ended(slurmd, &munged, argv[2])) {
			fprintf(stderr, "nodeos-vnode-init: slurmd has ended\n");
			return 1;
		}
	}
	end_all(slurmd, (unsigned)atoi(argv[4]));
	return 0;
}
