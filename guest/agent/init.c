/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-guest-init: the first process of a guest of nodeos-guest. Mounts the host's files, runs
 * the program that it gets through its port with the user's ids, forwards standard input, output
 * and error and signals, and sends the program's end. Static, without other libraries.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/agent/frames.h"
#include "guest/agent/mounts.h"

#define PORTS "/sys/class/virtio-ports"
#define PORT_SECONDS 30
#define POWER_OFF_SECONDS 10

struct agent {
	int port;
	pid_t program;
	int in, out, error; /* the program's, our ends; -1: closed */
	uint8_t *received;
	size_t used;
	uint8_t input[FRAME_INPUT_MAX]; /* for the program */
	size_t waiting;
	bool input_ends;
	int children; /* signalfd of SIGCHLD */
};

static struct agent agent = { .port = -1, .in = -1, .out = -1, .error = -1 };

/* nodeos-guest ends the machine once it has the last frame; if it does not, the power goes off. */
static void __attribute__((noreturn)) end_machine(void)
{
	sync();
	sleep(POWER_OFF_SECONDS);
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void write_port(const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		ssize_t done = write(agent.port, at, n);

		if (done < 0 && errno != EINTR && errno != EAGAIN)
			end_machine();
		if (done > 0) {
			at += done;
			n -= (size_t)done;
		}
	}
}

static void send_frame(uint32_t type, const void *data, uint32_t n)
{
	uint8_t head[FRAME_HEAD];

	frame_head(head, type, n);
	write_port(head, sizeof(head));
	write_port(data, n);
}

static void send_number(uint32_t type, uint32_t number)
{
	uint8_t data[4];

	frame_put_number(data, number);
	send_frame(type, data, sizeof(data));
}

static void __attribute__((noreturn)) report_failure(const char *what)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

	send_frame(FRAME_FAILED, text, n < (int)sizeof(text) ? (uint32_t)n : sizeof(text) - 1);
	end_machine();
}

/* Open the port of our name. */
static int open_port_once(void)
{
	DIR *dir = opendir(PORTS);
	struct dirent *entry;
	char path[512], name[64];
	int port = -1;

	while (dir && port < 0 && (entry = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), PORTS "/%s/name", entry->d_name);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f) &&
		    strncmp(name, AGENT_PORT, sizeof(AGENT_PORT) - 1) == 0) {
			snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
			port = open(path, O_RDWR | O_CLOEXEC);
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return port;
}

static void open_port(void)
{
	for (unsigned i = 0; i < PORT_SECONDS * 100 && agent.port < 0; i++) {
		agent.port = open_port_once();
		if (agent.port < 0)
			usleep(10000);
	}
	if (agent.port >= 0)
		return;
	puts("nodeos-guest-init: no port " AGENT_PORT);
	fflush(stdout);
	reboot(RB_AUTOBOOT); /* a failure for nodeos-guest */
}

/* Append what the port has. The room is that of a whole FRAME_START. */
static void read_port(void)
{
	ssize_t n;

	if (!agent.received)
		agent.received = malloc(FRAME_HEAD + FRAME_START_MAX);
	if (!agent.received)
		report_failure("memory");
	n = read(agent.port, agent.received + agent.used,
		 FRAME_HEAD + FRAME_START_MAX - agent.used);
	if (n > 0)
		agent.used += (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		usleep(10000); /* the host's side is closed: the machine ends soon */
}

static void drop_received(size_t n)
{
	agent.used -= n;
	memmove(agent.received, agent.received + n, agent.used);
}

static void wait_for_start(struct agent_start *start)
{
	struct frame frame;
	long n;

	while ((n = agent.used ? frame_take(&frame, agent.received, agent.used, FRAME_START_MAX)
			       : 0) == 0)
		read_port();
	errno = EPROTO;
	if (n < 0 || frame.type != FRAME_START)
		report_failure("the first frame");
	/* its texts stay in use, so they get memory of their own */
	uint8_t *copy = malloc(frame.length ? frame.length : 1);

	if (copy)
		memcpy(copy, frame.data, frame.length);
	if (!copy || agent_start_unpack(start, copy, frame.length) < 0)
		report_failure("the first frame");
	drop_received((size_t)n);
}

static void raise_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCGIFFLAGS, &lo) == 0) {
		lo.ifr_flags |= IFF_UP;
		ioctl(fd, SIOCSIFFLAGS, &lo);
	}
	close(fd);
}

/* The program's process, up to its exec. Returns what failed. */
static const char *begin_program(const struct agent_start *s, int in, int out, int error)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0)
		return "standard input, output and error";
	if (setgroups(s->groups, s->group) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
	    setresuid(s->uid, s->uid, s->uid) < 0)
		return "the user's ids";
	umask((mode_t)s->umask & 0777);
	if (chdir(s->directory) < 0)
		return s->directory;
	execvpe(s->argv[0], s->argv, s->env);
	return s->argv[0];
}

static void set_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			putenv(*env); /* execvpe() searches that of this process */
}

static void start_program(const struct agent_start *s)
{
	int in[2], out[2], error[2], failed[2];
	char text[256] = "";

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0 ||
	    pipe2(failed, O_CLOEXEC) < 0)
		report_failure("pipes");
	set_path(s->env);
	agent.program = fork();
	if (agent.program == 0) {
		const char *what = begin_program(s, in[0], out[1], error[1]);
		int n = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

		if (write(failed[1], text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text)) < 0)
			_exit(126);
		_exit(127);
	}
	if (agent.program < 0)
		report_failure("fork");
	close(in[0]);
	close(out[1]);
	close(error[1]);
	close(failed[1]);
	ssize_t n = read(failed[0], text, sizeof(text));

	if (n > 0) {
		send_frame(FRAME_FAILED, text, (uint32_t)n);
		end_machine();
	}
	close(failed[0]);
	agent.in = in[1];
	agent.out = out[0];
	agent.error = error[0];
	fcntl(agent.in, F_SETFL, O_NONBLOCK);
	fcntl(agent.out, F_SETFL, O_NONBLOCK);
	fcntl(agent.error, F_SETFL, O_NONBLOCK);
}

static void feed_program(void)
{
	ssize_t n = 0;

	if (agent.in < 0) {
		/* the program has closed it */
		n = (ssize_t)agent.waiting;
	} else if (agent.waiting) {
		n = write(agent.in, agent.input, agent.waiting);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			close(agent.in);
			agent.in = -1;
		}
	}
	if (n > 0) {
		agent.waiting -= (size_t)n;
		memmove(agent.input, agent.input + n, agent.waiting);
		send_number(FRAME_TAKEN, (uint32_t)n);
	}
	if (!agent.waiting && agent.input_ends && agent.in >= 0) {
		close(agent.in);
		agent.in = -1;
	}
}

static void take_frame(const struct frame *f)
{
	uint32_t number = frame_number(f);

	if (f->type == FRAME_SIGNAL && number > 0 && number < NSIG) {
		kill(agent.program, (int)number);
	} else if (f->type == FRAME_INPUT && f->length == 0) {
		agent.input_ends = true;
	} else if (f->type == FRAME_INPUT && f->length <= FRAME_INPUT_MAX - agent.waiting) {
		memcpy(agent.input + agent.waiting, f->data, f->length);
		agent.waiting += f->length;
	}
}

static void take_frames(void)
{
	struct frame frame;
	long n;

	while ((n = frame_take(&frame, agent.received, agent.used, FRAME_START_MAX)) > 0) {
		take_frame(&frame);
		drop_received((size_t)n);
	}
	if (n < 0) {
		errno = EPROTO;
		report_failure("a frame");
	}
}

/* Forward what the program has written. Returns whether there was something. */
static bool forward_output(int *fd, uint32_t type)
{
	static uint8_t data[FRAME_DATA_MAX];
	ssize_t n = *fd < 0 ? -1 : read(*fd, data, sizeof(data));

	if (n > 0)
		send_frame(type, data, (uint32_t)n);
	if (*fd >= 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))) {
		close(*fd);
		*fd = -1;
	}
	return n > 0;
}

/* Reap all that have ended; the end of the program is that of the machine. */
static void reap_children(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(agent.children, &info, sizeof(info)) < 0 && errno != EAGAIN)
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != agent.program)
			continue;
		while (forward_output(&agent.out, FRAME_OUTPUT) ||
		       forward_output(&agent.error, FRAME_ERROR))
			;
		sync();
		send_number(FRAME_EXIT, (uint32_t)status);
		end_machine();
	}
}

static void serve_program(void)
{
	for (;;) {
		struct pollfd polls[5] = {
			{ .fd = agent.port, .events = POLLIN },
			{ .fd = agent.out, .events = POLLIN },
			{ .fd = agent.error, .events = POLLIN },
			{ .fd = agent.waiting ? agent.in : -1, .events = POLLOUT },
			{ .fd = agent.children, .events = POLLIN },
		};

		if (poll(polls, 5, -1) < 0)
			continue;
		if (polls[1].revents)
			forward_output(&agent.out, FRAME_OUTPUT);
		if (polls[2].revents)
			forward_output(&agent.error, FRAME_ERROR);
		if (polls[0].revents)
			read_port();
		take_frames();
		feed_program();
		if (polls[4].revents)
			reap_children();
	}
}

int main(void)
{
	struct agent_start start;
	const char *failed;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	agent.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	agent_mount_kernel();
	open_port();
	wait_for_start(&start);
	failed = agent_mount_root(start.directory);
	if (failed)
		report_failure(failed);
	sethostname(start.host, strlen(start.host));
	raise_loopback();
	start_program(&start);
	serve_program();
}
