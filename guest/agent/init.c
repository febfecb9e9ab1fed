/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-guest-init: the first process of a guest of nodeos-guest. It mounts the host's files, and
 * runs the programs that it gets through its ports with the user's ids. It forwards standard input,
 * output and error and signals, and sends the status of each program that ends. It is static and
 * needs libc only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/agent/mounts.h"
#include "guest/agent/network.h"
#include "guest/agent/programs.h"

#define MODULE_INIT_COMPRESSED_FILE 4 /* linux/module.h, from Linux 5.17 on */
#define PORTS "/sys/class/virtio-ports"
#define PORT_SECONDS 30
#define POWER_OFF_SECONDS 10

struct agent {
	struct program *program;
	unsigned programs;
	bool mounted; /* the host's files are mounted */
	const char *unmounted; /* the part that could not be mounted; ERROR: its errno */
	int error;
	int children; /* signalfd of SIGCHLD */
};

static struct agent agent;

/* nodeos-guest ends the machine after the last frame. If it does not, switch the power off. */
static void __attribute__((noreturn)) end_machine(void)
{
	sync();
	sleep(POWER_OFF_SECONDS);
	reboot(RB_POWER_OFF);
	_exit(1);
}

/* End as a failure for nodeos-guest, with WHAT as the last line of the console. */
static void __attribute__((noreturn)) fail_machine(const char *what)
{
	printf("nodeos-guest-init: %s\n", what);
	fflush(stdout);
	reboot(RB_AUTOBOOT);
	_exit(1);
}

/* Load the drivers in the initrd: those that the kernel has as modules. */
static void load_drivers(void)
{
	char path[64];

	for (unsigned i = 0;; i++) {
		int fd;

		snprintf(path, sizeof(path), "/modules/%02u", i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		/* first without decompression, then with the kernel's own decompression */
		if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST &&
		    syscall(SYS_finit_module, fd, "", MODULE_INIT_COMPRESSED_FILE) < 0)
			printf("nodeos-guest-init: module %u: %s\n", i, strerror(errno));
		close(fd);
	}
}

/*
 * Set *NUMBER to the number of the program whose port is NAME. Returns the number of programs, or
 * -1.
 */
static int parse_port(const char *name, unsigned *number)
{
	unsigned programs;
	char end;

	if (sscanf(name, AGENT_PORT ".%u.%u%c", number, &programs, &end) != 3 || end != '\n' ||
	    programs > AGENT_PROGRAMS_MAX || *number >= programs)
		return -1;
	return (int)programs;
}

static void open_program(const char *port, const char *name)
{
	unsigned number;
	int programs = parse_port(name, &number), fd;
	char path[512];

	if (programs < 0)
		return;
	if (!agent.program)
		agent.program = calloc((size_t)programs, sizeof(*agent.program));
	if (!agent.program)
		fail_machine("no memory");
	if (!agent.programs) {
		agent.programs = (unsigned)programs;
		for (unsigned i = 0; i < agent.programs; i++)
			agent.program[i].port = -1;
	}
	if (number >= agent.programs || agent.program[number].port >= 0)
		return;
	snprintf(path, sizeof(path), "/dev/%s", port);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && program_connect(&agent.program[number], fd) < 0)
		fail_machine("no memory");
}

/* Open the ports that exist. Returns whether these are all. */
static bool open_ports_once(void)
{
	DIR *dir = opendir(PORTS);
	struct dirent *entry;
	char path[512], name[64];

	while (dir && (entry = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), PORTS "/%s/name", entry->d_name);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f))
			open_program(entry->d_name, name);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	for (unsigned i = 0; i < agent.programs; i++)
		if (agent.program[i].port < 0)
			return false;
	return agent.programs > 0;
}

static void open_ports(void)
{
	for (unsigned i = 0; i < PORT_SECONDS * 100; i++) {
		if (open_ports_once())
			return;
		usleep(10000);
	}
	fail_machine("no port " AGENT_PORT);
}

/* Mount the host's files when the first program begins; its working directory can be written. */
static void prepare_machine(const struct agent_start *start)
{
	if (agent.mounted || agent.unmounted)
		return;
	agent.unmounted = agent_mount_root(start->directory);
	agent.error = errno;
	agent.mounted = !agent.unmounted;
	sethostname(start->host, strlen(start->host));
	agent_network_start(start->env);
}

static void start_programs(void)
{
	for (unsigned i = 0; i < agent.programs; i++) {
		struct program *p = &agent.program[i];
		struct agent_start start;

		if (!program_take_start(p, &start))
			continue;
		prepare_machine(&start);
		errno = agent.error;
		if (agent.mounted)
			program_start(p, &start);
		else
			program_fail(p, agent.unmounted);
	}
}

/* Reap all processes that have ended. When the last program has ended, end the machine. */
static void reap_children(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(agent.children, &info, sizeof(info)) < 0 && errno != EAGAIN)
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < agent.programs; i++)
			if (agent.program[i].pid == pid)
				program_end(&agent.program[i], status);
}

static bool all_have_ended(void)
{
	for (unsigned i = 0; i < agent.programs; i++)
		if (!agent.program[i].ended)
			return false;
	return true;
}

static void serve_programs(void)
{
	struct pollfd *polls = calloc(1 + PROGRAM_POLLS * (size_t)agent.programs, sizeof(*polls));

	if (!polls)
		fail_machine("no memory");
	while (!all_have_ended()) {
		polls[0] = (struct pollfd){ .fd = agent.children, .events = POLLIN };
		for (unsigned i = 0; i < agent.programs; i++)
			program_wants(&agent.program[i], polls + 1 + PROGRAM_POLLS * i);
		if (poll(polls, 1 + PROGRAM_POLLS * agent.programs, -1) < 0)
			continue;
		for (unsigned i = 0; i < agent.programs; i++)
			program_serve(&agent.program[i], polls + 1 + PROGRAM_POLLS * i);
		start_programs();
		if (polls[0].revents)
			reap_children();
	}
}

int main(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	agent.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	agent_mount_kernel();
	load_drivers();
	open_ports();
	serve_programs();
	end_machine();
}
