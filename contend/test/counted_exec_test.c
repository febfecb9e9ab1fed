/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel removes the counters of ranks that execute another program. The events are software
 * events.
 */
#include "contend/counted.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/monotonic.h"
#include "contend/sample.h"
#include "contention/process.h"
#include "counters/test/soft.h"

#define OTHER 65534 /* a user that may not read the program */

static int proc_fd;
static struct process_source source;
static struct observed_node node;
static struct counted_table table;

/* Copy this program to a file that may be executed but not read. */
static void copy_program(char path[128])
{
	static char piece[65536];
	int from = open("/proc/self/exe", O_RDONLY), to;
	ssize_t n;

	snprintf(path, 128, "%s/program", scratch);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700);
	while ((n = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)n) != n)
			bail("%s", path);
	if (from < 0 || to < 0 || n < 0 || fchmod(to, 0111) < 0 || chmod(scratch, 0711) < 0)
		bail("%s", path);
	close(from);
	close(to);
}

/* Fork a process that waits for a byte in *WORD, executes PATH, and computes until it is killed. */
static pid_t fork_program(const char *path, int *word)
{
	int go[2];
	char letter;
	pid_t pid;

	if (pipe(go) < 0)
		bail("pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &letter, 1) != 1 || (geteuid() == 0 && setuid(OTHER) < 0))
			_exit(1);
		execl(path, path, "compute", NULL);
		_exit(1);
	}
	close(go[0]);
	*word = go[1];
	return pid;
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Handle this rank as the daemon does at a tick. */
static void tick_daemon(struct observed_rank *rank)
{
	struct sample_pass pass = {
		.now = monotonic_ms(), .least = 1, .least_quiet = 1, .proc_fd = proc_fd
	};
	struct process_seen seen;
	struct errbuf err = { 0 };

	sample_ranks(&table, &node, &pass);
	if (process_seen_read(&seen, &source, rank->pid) == 0)
		rank->ticks = seen.ticks;
	is_int(counted_match(&table, &node, &err), 0, "counted_match: %s", err.text);
	counted_renew(&table, &node);
}

/* Let the rank run for 0.3 s of CPU time, however busy the machine is. Returns its instructions. */
static uint64_t counted_after(struct observed_rank *rank)
{
	uint64_t end = rank->ticks + (uint64_t)sysconf(_SC_CLK_TCK) * 3 / 10;
	struct process_seen seen = { .ticks = 0 };

	for (unsigned i = 0; i < 600 && seen.ticks < end; i++) {
		sleep_ms(100);
		if (process_seen_read(&seen, &source, rank->pid) < 0 || seen.ended)
			bail("the rank has ended");
	}
	tick_daemon(rank);
	return rank->instructions;
}

int main(int argc, char **argv)
{
	struct observed_rank *rank;
	char path[128];
	uint64_t before;
	int word;

	if (argc == 2 && strcmp(argv[1], "compute") == 0)
		for (;;)
			;
	(void)argv;
	scratch_make();
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY);
	process_source_open(&source, proc_fd);
	table.counters = open_soft(SOFT_ROW, false);
	node.bounds = classify_default;
	copy_program(path);
	rank = observed_add_rank(observed_add_step(&node));
	rank->pid = fork_program(path, &word);
	tick_daemon(rank);
	ok(table.n == 1 && table.rank[0].group, "a rank is counted before its exec");
	if (write(word, "g", 1) != 1)
		bail("the rank has ended");
	/*
	 * the first tick may come before the exec; two more ticks find that the counters are lost
	 */
	for (int i = 0; i < 3; i++)
		before = counted_after(rank);
	/* with these events, instructions are nanoseconds of CPU time */
	ok(counted_after(rank) > before + 100000000,
	   "counted_renew: a rank that has lost its counters is counted again");
	before = rank->instructions;
	ok(counted_after(rank) > before + 100000000,
	   "counted_renew: a rank that is counted again stays counted");
	ok(table.rank[0].group && rank->cpu > 0 && rank->cpu <= 1100,
	   "counted_renew: the CPU share of a rank that is counted again is known");
	kill(rank->pid, SIGKILL);
	waitpid(rank->pid, NULL, 0);
	counted_end(&table);
	counters_close(table.counters);
	observed_free(&node);
	return tap_done();
}
