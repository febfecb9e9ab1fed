/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static unsigned timeout = 20; /* seconds; long enough on a busy machine */

static int run_program(const char *const *argv, const char *input, uid_t uid, char **out,
		       struct errbuf *err)
{
	struct subprocess h = {
		.argv = argv,
		.input = input,
		.uid = uid,
		.gid = uid,
		.extra_fd = -1,
		.timeout = timeout,
		.output_max = 100000,
	};

	*out = NULL;
	return subprocess_run(&h, out, err);
}

/* Fork a process that traces the program COMM as its user and never waits for it. */
static pid_t fork_tracer(const char *comm)
{
	pid_t pid = fork();
	char path[64], name[64];
	FILE *f;

	if (pid != 0)
		return pid;
	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		_exit(1);
	for (;;)
		for (pid_t other = getppid() + 1; other < getppid() + 2000; other++) {
			snprintf(path, sizeof(path), "/proc/%d/comm", other);
			f = fopen(path, "r");
			if (!f)
				continue;
			if (fgets(name, sizeof(name), f) && strcmp(name, comm) == 0 &&
			    ptrace(PTRACE_SEIZE, other, NULL, NULL) == 0)
				_exit((int)sleep(60));
			fclose(f);
		}
}

static unsigned times_heard;

static void count_output(const char *text, size_t len, void *arg)
{
	times_heard += len > 0 && strncmp(text, "one", len < 3 ? len : 3) == 0 &&
		       arg == &times_heard;
}

static void test_keep_partial(void)
{
	static const char *const slow[] = { "/bin/sh", "-c", "echo one; exec sleep 30", NULL };
	struct subprocess h = { .argv = slow,
				.uid = (uid_t)-1,
				.extra_fd = -1,
				.timeout = 2,
				.output_max = 1000,
				.keep_partial = true,
				.on_output = count_output,
				.arg = &times_heard };
	struct errbuf err = { 0 };
	char *out = NULL;

	is_int(subprocess_run(&h, &out, &err), -1,
	       "subprocess_run: kills a program with keep_partial at its time limit: %s", err.text);
	is(out, "one\n", "subprocess_run: keep_partial keeps the output so far");
	ok(times_heard == 1, "subprocess_run: on_output() is called while the program runs");
	free(out);
}

static void test_traced(void)
{
	static const char *const sleeper[] = { "/bin/sleep", "31", NULL };
	struct errbuf err = { 0 };
	time_t start = time(NULL);
	pid_t pid = fork_tracer("sleep\n");
	char *out;

	timeout = 1;
	is_int(run_program(sleeper, NULL, 65534, &out, &err), -1,
	       "subprocess_run: fails if a debugger keeps the program from ending: %s", err.text);
	ok(time(NULL) - start < 30, "subprocess_run: a debugger does not make the caller wait");
	timeout = 20;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const char *const cat[] = { "/bin/cat", NULL };
	static const char *const no[] = { "/nonexistent/program", NULL };
	static const char *const sleeper[] = { "/bin/sleep", "30", NULL };
	static const char *const loud[] = { "/bin/cat", "/dev/zero", NULL };
	static const char *const false_[] = { "/bin/false", NULL };
	static const char *const id[] = { "/usr/bin/id", "-u", NULL };
	static const char *const groups[] = { "/usr/bin/id", "-G", NULL };
	static const char *const env[] = { "/usr/bin/env", NULL };
	static const char *const oom[] = { "/bin/cat", "/proc/self/oom_score_adj", NULL };
	static const char *const fds[] = { "/bin/ls", "/proc/self/fd", NULL };
	static const char *const crasher[] = { "/bin/sh", "-c", "echo half; kill -SEGV $$", NULL };
	static const char *const closer[] = { "/bin/sh", "-c", "exec >&-; exec sleep 30", NULL };
	struct errbuf err = { 0 };
	time_t start = time(NULL);
	char big[60000], *out;
	int fd;

	is_int(run_program(cat, "hello\n", (uid_t)-1, &out, &err), 0,
	       "subprocess_run: the program succeeds with input");
	is(out, "hello\n", "subprocess_run: the program gets the input, and the caller the output");
	free(out);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	is_int(run_program(cat, big, (uid_t)-1, &out, &err), 0,
	       "subprocess_run: the program succeeds with more input than a pipe holds");
	ok(out && strcmp(out, big) == 0,
	   "subprocess_run: returns all of an output larger than a pipe");
	free(out);
	is_int(run_program(false_, NULL, (uid_t)-1, &out, &err), 1,
	       "subprocess_run: returns the program's exit status");
	free(out);
	is_int(run_program(no, NULL, (uid_t)-1, &out, &err), -1,
	       "subprocess_run: a missing program fails");
	ok(strstr(err.text, "not installed") != NULL,
	   "subprocess_run: the message names a missing program: %s", err.text);
	ok(run_program(crasher, NULL, (uid_t)-1, &out, &err) == -1 && !out,
	   "subprocess_run: fails if the program crashes");
	is(err.text, "/bin/sh: died of signal 11",
	   "subprocess_run: the message names the program and the signal");
	timeout = 1;
	is_int(run_program(sleeper, NULL, (uid_t)-1, &out, &err), -1,
	       "subprocess_run: fails if the program does not answer");
	timeout = 20;
	ok(strstr(err.text, "within 1 s") != NULL,
	   "subprocess_run: kills a program that does not answer: %s", err.text);
	is_int(run_program(loud, NULL, (uid_t)-1, &out, &err), -1,
	       "subprocess_run: fails if the program writes without end");
	ok(strstr(err.text, "longer than") != NULL,
	   "subprocess_run: kills a program that writes without end: %s", err.text);
	is_int(run_program(closer, NULL, (uid_t)-1, &out, &err), -1,
	       "subprocess_run: kills a program that closes its output and stays");
	ok(time(NULL) - start < 60,
	   "subprocess_run: does not wait for a program that closes its output and stays");
	if (geteuid() != 0) {
		ok(1, "# SKIP not root: rights cannot be dropped");
		test_keep_partial();
		return tap_done();
	}
	is_int(run_program(id, NULL, 65534, &out, &err), 0,
	       "subprocess_run: a program succeeds as another user");
	is(out, "65534\n", "subprocess_run: the program runs with the other user's uid");
	free(out);
	is_int(run_program(groups, NULL, 65534, &out, &err), 0,
	       "subprocess_run: id -G succeeds as another user");
	is(out, "65534\n", "subprocess_run: the program has no group of root");
	free(out);
	setenv("LD_PRELOAD", "", 1);
	is_int(run_program(env, NULL, 65534, &out, &err), 0,
	       "subprocess_run: env succeeds as another user");
	is(out, "LC_ALL=C\n", "subprocess_run: the program's environment is LC_ALL=C alone");
	free(out);
	fd = open("/proc/self/oom_score_adj", O_WRONLY);
	if (fd < 0 || write(fd, "-500", 4) != 4)
		diag("cannot lower our own OOM score");
	close(fd);
	/* opened without O_CLOEXEC: the program must not get this file all the same */
	open("/etc/passwd", O_RDONLY);
	is_int(run_program(fds, NULL, 65534, &out, &err), 0,
	       "subprocess_run: ls succeeds as another user");
	is(out, "0\n1\n2\n3\n",
	   "subprocess_run: the program gets no file of the caller (3 is ls's own)");
	free(out);
	test_traced();
	is_int(run_program(oom, NULL, 65534, &out, &err), 0,
	       "subprocess_run: cat succeeds as another user");
	is(out, "0\n", "subprocess_run: a negative OOM score becomes 0");
	free(out);
	fd = open("/proc/self/oom_score_adj", O_WRONLY);
	if (fd < 0 || write(fd, "300", 3) != 3)
		diag("cannot raise our own OOM score");
	close(fd);
	is_int(run_program(oom, NULL, 65534, &out, &err), 0,
	       "subprocess_run: cat succeeds with a positive OOM score");
	is(out, "300\n", "subprocess_run: a positive OOM score stays");
	free(out);
	return tap_done();
}
