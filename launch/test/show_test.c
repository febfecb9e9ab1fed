/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks wait in step_show() for slurmstepd while it lives. */
#include "launch/step_impl.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"

#define PATIENCE_MS 10000

static const char *get_env(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return NULL;
}

static void set_env(void *arg, const char *name, const char *value)
{
	(void)arg;
	(void)name;
	(void)value;
}

static void unset_env(void *arg, const char *name)
{
	(void)arg;
	(void)name;
}

/* Return a step of a job with containers, so that its ranks wait. */
static struct step *new_step(void)
{
	static const uint32_t rank[] = { 0 };
	const struct step_input in = {
		.n_ranks = 1, .global_rank = rank, .planned = true, .stepd = getpid()
	};
	struct errbuf err = { 0 };
	struct step *s;

	if (step_new(&s, &in, &err) < 0)
		abort();
	return s;
}

/* Run the rank's hooks; TO receives the message of step_enter(). */
static void run_rank(struct step *s, int to)
{
	const struct step_env env = { NULL, get_env, set_env, unset_env };
	struct errbuf err = { 0 };

	step_show(s, 0);
	if (step_enter(s, 0, &env, &err) == 0)
		strcpy(err.text, "the rank continues");
	_exit(write(to, err.text, strlen(err.text)) < 0);
}

/*
 * Read into TEXT what the rank writes within PATIENCE_MS; "": nothing. The rank is a child of this
 * process, or becomes one.
 */
static void wait_for_rank(int from, pid_t rank, char *text, size_t size)
{
	struct pollfd p = { .fd = from, .events = POLLIN };
	ssize_t n = poll(&p, 1, PATIENCE_MS) > 0 ? read(from, text, size - 1) : 0;

	text[n > 0 ? n : 0] = '\0';
	kill(rank, SIGKILL);
	waitpid(rank, NULL, 0);
	close(from);
}

/*
 * End slurmstepd before its rank reaches step_show(); FAILING: while slurmstepd is in step_fail().
 * Returns the rank's message, or "" if the rank still waits.
 */
static const char *killed_before(bool failing)
{
	static char text[sizeof(((struct errbuf *)0)->text)];
	int gone[2], told[2], number[2];
	pid_t stepd, rank = -1;

	if (pipe(gone) < 0 || pipe(told) < 0 || pipe(number) < 0)
		abort();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	stepd = fork();
	if (stepd == 0) {
		struct step *s = new_step();

		atomic_store(&s->shared->failing, failing);
		rank = fork();
		if (rank == 0) {
			close(gone[1]);
			if (read(gone[0], text, 1) != 0)
				_exit(1);
			run_rank(s, told[1]);
		}
		_exit(write(number[1], &rank, sizeof(rank)) != sizeof(rank));
	}
	close(told[1]);
	waitpid(stepd, NULL, 0);
	if (read(number[0], &rank, sizeof(rank)) != sizeof(rank) || rank <= 0)
		abort();
	close(gone[1]); /* the rank's parent has ended, so another process is its parent now */
	wait_for_rank(told[0], rank, text, sizeof(text));
	return text;
}

/* The step fails while the rank waits and slurmstepd lives. */
static void test_failed_meanwhile(void)
{
	char text[sizeof(((struct errbuf *)0)->text)];
	static struct step *s;
	int told[2];
	pid_t rank;

	s = new_step();
	if (pipe(told) < 0)
		abort();
	rank = fork();
	if (rank == 0)
		run_rank(s, told[1]);
	close(told[1]);
	usleep(50000);
	step_fail(s, "no CPUs");
	wait_for_rank(told[0], rank, text, sizeof(text));
	ok(strstr(text, "no CPUs") != NULL && !strstr(text, "ended"),
	   "step_show: a rank waits while slurmstepd lives, and step_enter() reports the failure: "
	   "\"%s\"",
	   text);
}

int main(void)
{
	test_failed_meanwhile();
	ok(strstr(killed_before(false), "slurmstepd has ended") != NULL,
	   "step_show: a rank ends if slurmstepd ended before step_show()");
	ok(strstr(killed_before(true), "nodeos: ") != NULL,
	   "step_show: a rank ends if slurmstepd was killed in step_fail()");
	return tap_done();
}
