/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/follow.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.h"
#include "guest/inside.h"
#include "guest/relay.h"
#include "guest/shape.h"
#include "guest/watch.h"

#define CONTROL_MAX (FRAME_HEAD + FRAME_DATA_MAX)

struct following {
	struct follow *f;
	struct relay relay;
	bool begun; /* the program has been sent */
	bool over; /* the keeper has no more to say */
	int code; /* the exit code, if OVER */
	int signals; /* signalfd */
	uint8_t *received; /* from the keeper */
	size_t used;
};

static int open_program_signals(struct errbuf *err)
{
	static const int forwarded[] = { SIGTERM, SIGINT,  SIGHUP, SIGQUIT, SIGUSR1,
					 SIGUSR2, SIGALRM, SIGURG, SIGCONT };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return errprintf(err, "signalfd: %s", strerror(errno));
	return fd;
}

/*
 * Write to TEXT the CPUs of the guest to whose host CPUs this process is bound. PLACES has the
 * host's CPUs.
 */
static void find_own_cpus(char text[GUEST_CPUS_TEXT], const struct frame *places)
{
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX), used = 0;
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);

	*text = '\0';
	if (set && sched_getaffinity(0, size, set) == 0)
		for (unsigned i = 0; 4 * i < places->length && i < GUEST_CPUS_MAX; i++) {
			const struct frame one = { .length = 4, .data = places->data + 4 * i };
			unsigned host = frame_number(&one);

			if (host < IDSET_MAX && CPU_ISSET_S(host, size, set))
				used += (size_t)snprintf(text + used, GUEST_CPUS_TEXT - used, "%u ",
							 i);
		}
	CPU_FREE(set);
}

static int send_program(struct following *g, const struct frame *places, struct errbuf *err)
{
	char cpus[GUEST_CPUS_TEXT];
	unsigned char *start;
	long len;
	int rc;

	find_own_cpus(cpus, places);
	len = guest_program_start(&start, g->f->argv, cpus, err);
	if (len < 0)
		return -1;
	rc = relay_open(&g->relay, g->f->ends.agent, start, (size_t)len, err);
	free(start);
	g->begun = rc == 0;
	return rc;
}

/* Handle the keeper's last words, which may be several lines. */
static void end_by_keeper(struct following *g, const struct frame *f)
{
	g->over = true;
	g->code = f->type == FRAME_NEVER ? GUEST_EXIT_NEVER : GUEST_EXIT_FAILED;
	if (g->f->tells && !g->relay.ended)
		fprintf(stderr, "%.*s", (int)f->length, (const char *)f->data);
}

static int take_control_frames(struct following *g, struct errbuf *err)
{
	struct frame frame;
	int rc = 0;
	long n;

	while (rc == 0 && !g->over &&
	       (n = frame_take(&frame, g->received, g->used, FRAME_DATA_MAX)) > 0) {
		if (frame.type == FRAME_PLACES && !g->begun)
			rc = send_program(g, &frame, err);
		else if (frame.type == FRAME_ENDED || frame.type == FRAME_NEVER)
			end_by_keeper(g, &frame);
		g->used -= (size_t)n;
		memmove(g->received, g->received + n, g->used);
	}
	return rc;
}

static int read_control(struct following *g, struct errbuf *err)
{
	ssize_t n = recv(g->f->ends.control, g->received + g->used, CONTROL_MAX - g->used,
			 MSG_DONTWAIT);

	if (n > 0)
		g->used += (size_t)n;
	if (take_control_frames(g, err) < 0)
		return -1;
	if (!g->over && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))) {
		static const char lost[] = "nodeos-guest: the process that runs QEMU was killed\n";
		const struct frame f = {
			.type = FRAME_ENDED,
			.length = sizeof(lost) - 1,
			.data = (const uint8_t *)lost,
		};

		end_by_keeper(g, &f);
	}
	return 0;
}

static void take_program_signal(struct following *g)
{
	struct signalfd_siginfo info;

	if (read(g->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (g->begun) {
		relay_signal(&g->relay, (int)info.ssi_signo);
	} else if (info.ssi_signo != SIGCONT && info.ssi_signo != SIGURG) {
		/* there is no program to which the signal could go */
		g->f->killed_by = (int)info.ssi_signo;
		g->code = 128 + (int)info.ssi_signo;
		g->over = true;
	}
}

static int forward_program(struct following *g, struct errbuf *err)
{
	while (!g->over && !g->relay.ended) {
		struct pollfd polls[4] = {
			{ .fd = g->f->ends.control, .events = POLLIN },
			{ .fd = g->signals, .events = POLLIN },
			{ .fd = -1 },
			{ .fd = -1 },
		};

		if (g->begun)
			relay_wants(&g->relay, polls + 2);
		if (poll(polls, 4, -1) < 0)
			continue;
		if (g->begun)
			relay_forward(&g->relay, polls + 2);
		if (polls[1].revents)
			take_program_signal(g);
		if (polls[0].revents && read_control(g, err) < 0)
			return -1;
	}
	return 0;
}

/* Return the exit code of a program that has ended, or did not begin. */
static int judge_program(const struct following *g)
{
	char line[PRINTABLE_LOG_MAX];
	int status = g->relay.status;

	if (*g->relay.failure) {
		fprintf(stderr, "nodeos-guest: in the guest: %s\n",
			printable(line, sizeof(line), g->relay.failure));
		return GUEST_EXIT_NEVER;
	}
	if (WIFSIGNALED(status)) {
		g->f->killed_by = WTERMSIG(status);
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

int follow_program(struct follow *f, struct errbuf *err)
{
	struct following g = {
		.f = f,
		.relay = { .fd = -1 },
		.received = malloc(CONTROL_MAX),
	};
	int rc;

	if (!g.received)
		return errprintf(err, "out of memory");
	rc = g.signals = open_program_signals(err);
	if (rc >= 0)
		rc = forward_program(&g, err);
	if (rc == 0)
		rc = g.relay.ended ? judge_program(&g) : g.code;
	relay_close(&g.relay);
	free(g.received);
	if (g.signals >= 0)
		close(g.signals);
	return rc;
}
