/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of metrics belongs to another service, which puts a link to a file of root's where
 * the metrics are, at each moment. */
#include "contend/metrics.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
	   "metrics are readable to all: %s", err.text);
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
