/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test steps with the same labels, and a directory of metrics whose owner, another service,
 * replaces the metrics again and again by a link to a file of root.
 */
#include "contend/metrics.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fileio.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "contend/test/example.h"

#define TIMES 5000

static _Noreturn void put_links(int dir)
{
	for (;;)
		if (symlinkat("secret", dir, "link") < 0 ||
		    renameat(dir, "link", dir, METRICS_FILE) < 0)
			unlinkat(dir, "link", 0);
}

/* Return how often WORD occurs in the metrics. */
static unsigned count_words(int dir, const char *word)
{
	static char text[65536];
	unsigned n = 0;
	int len = file_read(dir, METRICS_FILE, text, sizeof(text), NULL);

	for (const char *at = len > 0 ? strstr(text, word) : NULL; at; at = strstr(at + 1, word))
		n++;
	return n;
}

/* Of three live steps of one job, two have the number 0. */
static void test_namesakes(int dir)
{
	static const struct {
		uint32_t job, step;
	} id[] = { { 41, 0 }, { 41, 0 }, { 41, 1 } };
	struct observed_node node = { .host = "n1" };
	struct errbuf err = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		struct observed_step *s = observed_add_step(&node);
		struct observed_rank *r = s ? observed_add_rank(s) : NULL;

		if (!r)
			bail("out of memory");
		s->job = id[i].job;
		s->step = id[i].step;
		s->inode = 100 + i;
		r->rank = 0;
	}
	is_int(metrics_write(dir, &node, &err), 0,
	       "metrics of steps with the same labels are written");
	is_int(count_words(dir, "nodeos_rank_class{jobid=\"41\",step=\"0\",task=\"0\""), 1,
	       "only one of two steps with the same number has series");
	is_int(count_words(dir, "nodeos_rank_class{jobid=\"41\",step=\"1\""), 1,
	       "step 1 of the job has series, too");
	is_int(count_words(dir, "nodeos_ranks_left_out 1\n"), 1,
	       "the rank of the second step 0 is left out");
	node.step[0].ended = true;
	metrics_write(dir, &node, &err);
	is_int(count_words(dir, "nodeos_rank_class{jobid=\"41\",step=\"0\""), 1,
	       "the second step 0 has series after the first has ended");
	is_int(count_words(dir, "nodeos_ranks_left_out 0\n"), 1,
	       "no rank is left out after the first step 0 has ended");
	observed_free(&node);
}

int main(void)
{
	const struct observed_node node = { .host = "n1" };
	struct errbuf err = { 0 };
	struct stat st;
	int dir, rc = 0;
	pid_t pid;

	scratch_make();
	dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scratch_file("secret", "secret\n");
	if (dir < 0 || fchmodat(dir, "secret", 0600, 0) < 0)
		bail("%s", scratch);
	ok(metrics_write(dir, &node, &err) == 0 && fstatat(dir, METRICS_FILE, &st, 0) == 0 &&
		   (st.st_mode & 0777) == 0644,
	   "all users can read the metrics: %s", err.text);
	test_namesakes(dir);
	pid = fork();
	if (pid == 0)
		put_links(dir);
	for (int i = 0; i < TIMES && rc == 0; i++) {
		metrics_write(dir, &node, &err);
		rc = fstatat(dir, "secret", &st, 0) < 0 || (st.st_mode & 0777) != 0600;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(rc == 0, "a link in place of the metrics changes no file's mode");
	return tap_done();
}
