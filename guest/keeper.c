/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/printable.h"
#include "guest/setup.h"

#define MEET_SECONDS 120 /* from the start of the first rank to that of the last one */
#define ERRORS_SHOWN 2000 /* bytes of the output of QEMU and virtiofsd */

static void send_control(const struct meet_rank *rank, uint32_t type, const void *data, size_t n)
{
	uint8_t head[FRAME_HEAD];

	if (rank->control < 0)
		return;
	frame_head(head, type, (uint32_t)n);
	/* the socket has room for both: nothing else was sent */
	if (send(rank->control, head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || n == 0)
		return;
	if (send(rank->control, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static void send_places(const struct guest_setup *s)
{
	uint8_t data[4 * GUEST_CPUS_MAX];

	for (unsigned i = 0; i < s->shape.cpus; i++)
		frame_put_number(data + 4 * i, s->shape.cpu[i].host);
	for (unsigned i = 0; i < s->run.ranks; i++)
		send_control(&s->run.rank[i], FRAME_PLACES, data, 4 * (size_t)s->shape.cpus);
}

/* Send the reason why there is no guest to the ranks that still wait. */
static void send_end(const struct meet_rank *rank, unsigned ranks, uint32_t type, const char *text)
{
	size_t n = strlen(text);

	for (unsigned i = 0; i < ranks; i++)
		send_control(&rank[i], type, text, n < FRAME_DATA_MAX ? n : FRAME_DATA_MAX);
}

static int run_for_ranks(struct guest_setup *s, struct meet_rank *rank,
			 const struct guest_options *o, struct errbuf *err)
{
	if (meet_receive(rank, o->ranks, o->meet_receive, MEET_SECONDS, err) < 0 ||
	    guest_setup_make(s, o, err) < 0)
		return -1;
	s->run.rank = rank;
	s->run.ranks = s->run.plan.agents = o->ranks;
	for (unsigned i = 0; i < o->ranks; i++)
		s->run.plan.agent_fd[i] = rank[i].agent;
	send_places(s);
	return 0;
}

/*
 * Leave the rank's input, output, errors and signals to the rank: they are its program's, and the
 * rank may end before this process. What QEMU and virtiofsd print goes to a file without a name.
 */
static void leave_rank(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int errors = memfd_create("nodeos-guest-errors", MFD_CLOEXEC);
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setpgid(0, 0);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || errors < 0 ||
	    fcntl(errors, F_SETFL, O_APPEND) < 0 || dup2(errors, 2) < 0)
		_exit(1);
}

/* Add CPUS to those on which this process may run, as far as its cpuset has them. */
static void widen_cpus(const struct idset *cpus)
{
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);

	if (set && sched_getaffinity(0, size, set) == 0) {
		for (int c = idset_next(cpus, -1); c >= 0; c = idset_next(cpus, c))
			CPU_SET_S((unsigned)c, size, set);
		sched_setaffinity(0, size, set);
	}
	CPU_FREE(set);
}

/* Write to SAYS the last bytes that QEMU and virtiofsd have printed. */
static void add_errors(FILE *says)
{
	char text[ERRORS_SHOWN + 1], shown[2 * sizeof(text)], *at = text, *line;
	off_t size = lseek(2, 0, SEEK_END);
	ssize_t n = pread(2, text, ERRORS_SHOWN, size > ERRORS_SHOWN ? size - ERRORS_SHOWN : 0);

	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&at, "\n")))
		if (*line)
			fprintf(says, "nodeos-guest: | %s\n",
				printable(shown, sizeof(shown), line));
}

static void __attribute__((noreturn)) keep_guest(const struct guest_options *o)
{
	static struct meet_rank rank[AGENT_PROGRAMS_MAX];
	static struct guest_setup setup = { .run = { .plan.initrd_fd = -1, .restore = -1 } };
	char line[PRINTABLE_LOG_MAX], *text = NULL;
	struct errbuf err = { 0 };
	bool begun = false;
	size_t size;
	FILE *says;

	leave_rank();
	if (o->has_cpus)
		/* the rank may be bound to fewer CPUs than the container has */
		widen_cpus(&o->cpus);
	for (unsigned i = 0; i < AGENT_PROGRAMS_MAX; i++)
		rank[i] = (struct meet_rank){ .agent = -1, .control = -1 };
	says = open_memstream(&text, &size);
	if (!says)
		_exit(1);
	if (run_for_ranks(&setup, rank, o, &err) == 0) {
		setup.run.says = says;
		begun = guest_watch(&setup.run, &err) >= 0;
	}
	if (!begun)
		fprintf(says, "nodeos-guest: %s\n", printable(line, sizeof(line), err.text));
	fflush(says);
	if (size)
		add_errors(says);
	fclose(says);
	send_end(rank, o->ranks, begun ? FRAME_ENDED : FRAME_NEVER, text);
	guest_setup_free(&setup);
	_exit(0);
}

pid_t keeper_start(const struct guest_options *o, struct errbuf *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		close(o->meet_send);
		keep_guest(o);
	}
	return pid < 0 ? errprintf(err, "fork: %s", strerror(errno)) : pid;
}
