/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/agent/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME_ROOM (FRAME_HEAD + FRAME_START_MAX)

/* The host no longer reads the port: nothing is left to do for this program. */
static void leave_program(struct program *p)
{
	if (p->pid > 0)
		kill(-p->pid, SIGKILL);
	p->ended = true;
	if (p->port >= 0)
		close(p->port);
	p->port = -1;
}

static void write_port(struct program *p, const void *data, size_t n)
{
	const char *at = data;

	while (n && p->port >= 0) {
		ssize_t done = write(p->port, at, n);

		if (done < 0 && errno != EINTR && errno != EAGAIN)
			leave_program(p);
		if (done > 0) {
			at += done;
			n -= (size_t)done;
		}
	}
}

static void send_frame(struct program *p, uint32_t type, const void *data, uint32_t n)
{
	uint8_t head[FRAME_HEAD];

	frame_head(head, type, n);
	write_port(p, head, sizeof(head));
	write_port(p, data, n);
}

static void send_number(struct program *p, uint32_t type, uint32_t number)
{
	uint8_t data[4];

	frame_put_number(data, number);
	send_frame(p, type, data, sizeof(data));
}

void program_fail(struct program *p, const char *what)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

	if (p->ended)
		return;
	send_frame(p, FRAME_FAILED, text, n < (int)sizeof(text) ? (uint32_t)n : sizeof(text) - 1);
	p->ended = true;
}

int program_connect(struct program *p, int port)
{
	*p = (struct program){ .port = port, .in = -1, .out = -1, .error = -1 };
	p->received = malloc(FRAME_ROOM);
	return p->received ? 0 : -1;
}

/* Append the bytes that the port has. There is room for a whole FRAME_START. */
static void read_port(struct program *p)
{
	ssize_t n = read(p->port, p->received + p->used, FRAME_ROOM - p->used);

	if (n > 0)
		p->used += (size_t)n;
	else if (!p->started && !p->used)
		usleep(10000); /* the host's side is not open yet, so poll() does not wait */
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		leave_program(p); /* the host's side is closed */
}

static void drop_received(struct program *p, size_t n)
{
	p->used -= n;
	memmove(p->received, p->received + n, p->used);
}

bool program_take_start(struct program *p, struct agent_start *start)
{
	struct frame frame;
	uint8_t *copy;
	long n;

	if (p->started || p->ended || !p->used)
		return false;
	n = frame_take(&frame, p->received, p->used, FRAME_START_MAX);
	if (n == 0)
		return false;
	p->started = true;
	errno = EPROTO;
	/* START's texts stay in use, so they get memory of their own */
	copy = n > 0 && frame.type == FRAME_START ? malloc(frame.length + 1) : NULL;
	if (copy)
		memcpy(copy, frame.data, frame.length);
	if (!copy || agent_start_unpack(start, copy, frame.length) < 0) {
		program_fail(p, "the first frame");
		return false;
	}
	drop_received(p, (size_t)n);
	return true;
}

static void set_own_cpus(const char *text)
{
	cpu_set_t set;
	char *end;

	CPU_ZERO(&set);
	for (unsigned long cpu = strtoul(text, &end, 10); end != text;
	     cpu = strtoul(text = end, &end, 10))
		if (cpu < CPU_SETSIZE)
			CPU_SET(cpu, &set);
	if (CPU_COUNT(&set))
		sched_setaffinity(0, sizeof(set), &set);
}

static void set_own_limits(const char *text)
{
	unsigned long long soft, hard;
	int number, n;

	for (; sscanf(text, "%d %llu %llu%n", &number, &soft, &hard, &n) == 3; text += n) {
		const struct rlimit limit = { soft, hard };

		setrlimit((__rlimit_resource_t)number, &limit);
	}
}

/* Run in the program's process up to its exec. Returns the name of what failed. */
static const char *begin_program(const struct agent_start *s, const int io[3])
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	for (int i = 0; i < 3; i++)
		if (dup2(io[i], i) < 0)
			return "standard input, output and error";
	set_own_cpus(s->cpus);
	set_own_limits(s->limits);
	if (setgroups(s->groups, s->group) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
	    setresuid(s->uid, s->uid, s->uid) < 0)
		return "the user's ids";
	umask((mode_t)s->umask & 0777);
	if (chdir(s->directory) < 0)
		return s->directory;
	for (char *const *env = s->env; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			putenv(*env); /* execvpe() searches the PATH of this process */
	execvpe(s->argv[0], s->argv, s->env);
	return s->argv[0];
}

static void close_pipe(const int pipe[2])
{
	close(pipe[0]);
	close(pipe[1]);
}

/*
 * Fork the program's process with its ends IO. The child writes to FAILED why it could not execute.
 */
static void fork_program(struct program *p, const struct agent_start *s, const int io[3],
			 const int failed[2])
{
	char text[256] = "";

	p->pid = fork();
	if (p->pid == 0) {
		const char *what = begin_program(s, io);
		int n = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

		if (write(failed[1], text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text)) < 0)
			_exit(126);
		_exit(127);
	}
}

static void take_failure(struct program *p, int failed)
{
	char text[256];
	ssize_t n = read(failed, text, sizeof(text));

	if (n <= 0)
		return;
	send_frame(p, FRAME_FAILED, text, (uint32_t)n);
	p->ended = true;
}

static void use_pipes(struct program *p, int in, int out, int error)
{
	p->in = in;
	p->out = out;
	p->error = error;
	fcntl(in, F_SETFL, O_NONBLOCK);
	fcntl(out, F_SETFL, O_NONBLOCK);
	fcntl(error, F_SETFL, O_NONBLOCK);
}

void program_start(struct program *p, const struct agent_start *start)
{
	int in[2], out[2], error[2], failed[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0 ||
	    pipe2(failed, O_CLOEXEC) < 0) {
		program_fail(p, "pipes");
		return;
	}
	fork_program(p, start, (const int[]){ in[0], out[1], error[1] }, failed);
	if (p->pid < 0) {
		close_pipe(in);
		close_pipe(out);
		close_pipe(error);
		close_pipe(failed);
		program_fail(p, "fork");
		return;
	}
	close(in[0]);
	close(out[1]);
	close(error[1]);
	close(failed[1]);
	take_failure(p, failed[0]);
	close(failed[0]);
	use_pipes(p, in[1], out[0], error[0]);
}

static void feed_program(struct program *p)
{
	ssize_t n = 0;

	if (p->in < 0) {
		/* the program has closed its standard input */
		n = (ssize_t)p->waiting;
	} else if (p->waiting) {
		n = write(p->in, p->input, p->waiting);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			close(p->in);
			p->in = -1;
		}
	}
	if (n > 0) {
		p->waiting -= (size_t)n;
		memmove(p->input, p->input + n, p->waiting);
		send_number(p, FRAME_TAKEN, (uint32_t)n);
	}
	if (!p->waiting && p->input_ends && p->in >= 0) {
		close(p->in);
		p->in = -1;
	}
}

static void take_frame(struct program *p, const struct frame *f)
{
	uint32_t number = frame_number(f);

	if (f->type == FRAME_SIGNAL && number > 0 && number < NSIG) {
		kill(p->pid, (int)number);
	} else if (f->type == FRAME_INPUT && f->length == 0) {
		p->input_ends = true;
	} else if (f->type == FRAME_INPUT && f->length <= FRAME_INPUT_MAX - p->waiting) {
		memcpy(p->input + p->waiting, f->data, f->length);
		p->waiting += f->length;
	}
}

static void take_frames(struct program *p)
{
	struct frame frame;
	long n;

	while ((n = frame_take(&frame, p->received, p->used, FRAME_START_MAX)) > 0) {
		take_frame(p, &frame);
		drop_received(p, (size_t)n);
	}
	if (n < 0)
		leave_program(p); /* nodeos-guest never sends such a frame */
}

/* Forward what the program has written. Returns whether it has written anything. */
static bool forward_output(struct program *p, int *fd, uint32_t type)
{
	static uint8_t data[FRAME_DATA_MAX];
	ssize_t n = *fd < 0 ? -1 : read(*fd, data, sizeof(data));

	if (n > 0)
		send_frame(p, type, data, (uint32_t)n);
	if (*fd >= 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))) {
		close(*fd);
		*fd = -1;
	}
	return n > 0;
}

void program_end(struct program *p, int status)
{
	p->pid = 0;
	if (p->ended)
		return;
	while (forward_output(p, &p->out, FRAME_OUTPUT) ||
	       forward_output(p, &p->error, FRAME_ERROR))
		;
	sync();
	send_number(p, FRAME_EXIT, (uint32_t)status);
	p->ended = true;
}

void program_wants(const struct program *p, struct pollfd polls[PROGRAM_POLLS])
{
	polls[0] = (struct pollfd){ .fd = p->port, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = p->ended ? -1 : p->out, .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = p->ended ? -1 : p->error, .events = POLLIN };
	polls[3] = (struct pollfd){ .fd = p->waiting ? p->in : -1, .events = POLLOUT };
}

void program_serve(struct program *p, const struct pollfd polls[PROGRAM_POLLS])
{
	if (polls[1].revents)
		forward_output(p, &p->out, FRAME_OUTPUT);
	if (polls[2].revents)
		forward_output(p, &p->error, FRAME_ERROR);
	if (polls[0].revents)
		read_port(p);
	if (p->pid <= 0 || p->ended)
		return;
	take_frames(p);
	feed_program(p);
}
