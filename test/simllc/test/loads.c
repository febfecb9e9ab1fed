// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run the loads of kinds.h, and print their counts. Counters are opened with perf_event_open() and
 * read as the providers in counters/ do. Runs in the small guests of ../boot.py.
 *
 * loads COMMANDS: each line of the file COMMANDS is one of these commands:
 *	insmod FILE [PARAMETER=VALUE]...	rmmod NAME
 *	open NAME EVENT				prints the error of perf_event_open(), or 0
  *    count NAME EVENTS LOAD...        runs the loads at the same time, and prints their counts
 * EVENT is TYPE/CONFIG/CONFIG1/FLAGS: TYPE is hardware, cache, raw or the name of a PMU; FLAGS are
 * u (user code only), k (kernel code only), s (requests samples), f (requests samples by
 * frequency). EVENTS are separated by commas, or by + if the second one is in the group of the
 * first. LOAD is KIND/BYTES/PASSES/CPU, then optionally /NODE for its memory, then /NODE to which
 * its pages are moved before the count. With + in front, a child of the counted process runs it.
 * All loads end when the first one has made its passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"

enum { LOADS = 4, EVENTS = 8 };

struct load {
	char kind[16];
	size_t bytes;
	long passes;
	int cpu, node, move_to, in_child;
};

struct event {
	char text[64];
	struct perf_event_attr attr;
	int grouped;
};

/* Memory that the processes of the loads share with the program. */
struct shared {
	int stop;
	long passes[LOADS];
	int64_t ns[LOADS];
};

static struct shared *shared;

static void die(const char *what)
{
	printf("loads: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* Make a pass in which the kernel writes the lines. */
static void run_kernel(char *at, size_t bytes)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY);
	if (read(fd, at, bytes) != (ssize_t)bytes)
		die("/dev/zero");
}

static void run_pass(const struct load *l, char *at)
{
	if (!strcmp(l->kind, "kernel"))
		run_kernel(at, l->bytes);
	else if (run_kind(l->kind, at, l->bytes) < 0)
		die(l->kind);
}

static void bind_memory(int node)
{
	unsigned long mask = 1ul << node;

	if (node >= 0 && syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &mask, 64) < 0)
		die("set_mempolicy");
}

static char *make_memory(const struct load *l)
{
	size_t bytes = 3 * l->bytes;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long from = 1ul << l->node, to = 1ul << l->move_to;

	if (at == MAP_FAILED)
		die("mmap");
	memset(at, 0, bytes);
	if (!strcmp(l->kind, "chase") && make_cycle(at, l->bytes / LINE) < 0)
		die("malloc");
	if (l->move_to >= 0) {
		bind_memory(l->move_to);
		if (syscall(SYS_migrate_pages, 0, 64, &from, &to) < 0)
			die("migrate_pages");
	}
	return at;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static void make_passes(const struct load *l, int i, char *at)
{
	int64_t start = now_ns();

	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		run_pass(l, at);
		if (++shared->passes[i] == l->passes)
			__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	}
	shared->ns[i] = now_ns() - start;
}

/* Run as the process of a load: write "r" when ready, and then wait for "g". */
static void be_load(const struct load *l, int i, int to, int from)
{
	cpu_set_t cpus;
	char *at, c;

	CPU_ZERO(&cpus);
	CPU_SET((unsigned)l->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		die("sched_setaffinity");
	bind_memory(l->node);
	at = make_memory(l);
	run_pass(l, at);
	if (write(to, "r", 1) != 1 || read(from, &c, 1) != 1)
		die("pipe");
	if (l->in_child) {
		pid_t pid = fork();

		if (pid == 0) {
			make_passes(l, i, at);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	} else {
		make_passes(l, i, at);
	}
	_exit(0);
}

static uint32_t type_of(const char *name)
{
	char path[128];
	unsigned type;
	FILE *f;

	if (!strcmp(name, "hardware"))
		return PERF_TYPE_HARDWARE;
	if (!strcmp(name, "cache"))
		return PERF_TYPE_HW_CACHE;
	if (!strcmp(name, "raw"))
		return PERF_TYPE_RAW;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	f = fopen(path, "r");
	if (!f)
		return UINT32_MAX;
	if (fscanf(f, "%u", &type) != 1)
		type = UINT32_MAX;
	fclose(f);
	return type;
}

static void parse_event(struct event *e, const char *text)
{
	char name[32], flags[8] = "";
	unsigned long long config, config1;

	*e = (struct event){ .attr = { .size = sizeof(e->attr), .inherit = 1 } };
	snprintf(e->text, sizeof(e->text), "%s", text);
	if (sscanf(text, "%31[^/]/%llx/%llx/%7s", name, &config, &config1, flags) < 3)
		die(text);
	e->attr.type = type_of(name);
	e->attr.config = config;
	e->attr.config1 = config1;
	e->attr.exclude_kernel = strchr(flags, 'u') != NULL;
	e->attr.exclude_user = strchr(flags, 'k') != NULL;
	e->attr.freq = strchr(flags, 'f') != NULL;
	e->attr.sample_period = strchr(flags, 's') || e->attr.freq ? 1000 : 0;
	e->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

static int open_event(struct event *e, pid_t pid, int group)
{
	return (int)syscall(SYS_perf_event_open, &e->attr, pid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static void parse_load(struct load *l, const char *text)
{
	*l = (struct load){ .node = -1, .move_to = -1, .in_child = *text == '+' };
	if (sscanf(text + l->in_child, "%15[^/]/%zi/%ld/%d/%d/%d", l->kind, &l->bytes, &l->passes,
		   &l->cpu, &l->node, &l->move_to) < 4)
		die(text);
}

static int parse_events(struct event *events, char *text)
{
	int n = 0, grouped = 0;

	while (*text && n < EVENTS) {
		size_t length = strcspn(text, ",+");
		char end = text[length];

		text[length] = '\0';
		parse_event(&events[n], text);
		events[n++].grouped = grouped;
		grouped = end == '+';
		text += length + (end != '\0');
	}
	return n;
}

struct child {
	pid_t pid;
	int ready[2], go[2], fd[EVENTS];
};

static void start_load(struct child *c, const struct load *l, int i)
{
	char ready;

	if (pipe(c->ready) < 0 || pipe(c->go) < 0)
		die("pipe");
	fflush(stdout);
	c->pid = fork();
	if (c->pid == 0)
		be_load(l, i, c->ready[1], c->go[0]);
	close(c->ready[1]);
	close(c->go[0]);
	if (c->pid < 0 || read(c->ready[0], &ready, 1) != 1)
		die("load");
}

static void show_load(const char *name, const struct child *c, int i, struct event *events, int n)
{
	uint64_t value[3];

	printf("passes %s %d %ld %lld\n", name, i, shared->passes[i], (long long)shared->ns[i]);
	for (int k = 0; k < n; k++) {
		if (read(c->fd[k], value, sizeof(value)) != sizeof(value))
			die("read");
		printf("count %s %d %s %llu %llu %llu\n", name, i, events[k].text,
		       (unsigned long long)value[0], (unsigned long long)value[1],
		       (unsigned long long)value[2]);
		close(c->fd[k]);
	}
}

static void count_loads(const char *name, char *event_text, char **words, int loads)
{
	struct event events[EVENTS];
	struct load load[LOADS];
	struct child child[LOADS];
	int n = parse_events(events, event_text);

	memset(shared, 0, sizeof(*shared));
	for (int i = 0; i < loads; i++) {
		parse_load(&load[i], words[i]);
		start_load(&child[i], &load[i], i);
	}
	for (int i = 0; i < loads; i++) {
		int leader = -1;

		for (int k = 0; k < n; k++) {
			int fd = open_event(&events[k], child[i].pid,
					    events[k].grouped ? leader : -1);

			if (fd < 0)
				die(events[k].text);
			child[i].fd[k] = fd;
			if (!events[k].grouped)
				leader = fd;
		}
	}
	for (int i = 0; i < loads; i++)
		if (write(child[i].go[1], "g", 1) != 1)
			die("pipe");
	for (int i = 0; i < loads; i++) {
		waitpid(child[i].pid, NULL, 0);
		close(child[i].ready[0]);
		close(child[i].go[1]);
	}
	for (int i = 0; i < loads; i++)
		show_load(name, &child[i], i, events, n);
	fflush(stdout);
}

static void load_module(const char *file, const char *parameters)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	long rc = fd < 0 ? -1 : syscall(SYS_finit_module, fd, parameters, 0);

	printf("insmod %s %s\n", parameters, rc < 0 ? strerror(errno) : "0");
	if (fd >= 0)
		close(fd);
}

static void do_line(char *line)
{
	char *words[16], *save;
	int n = 0;

	for (char *w = strtok_r(line, " \n", &save); w && n < 16; w = strtok_r(NULL, " \n", &save))
		words[n++] = w;
	if (!n)
		return;
	if (!strcmp(words[0], "insmod") && n >= 2) {
		char parameters[256] = "";

		for (int i = 2; i < n; i++)
			snprintf(parameters + strlen(parameters),
				 sizeof(parameters) - strlen(parameters), "%s%s", i > 2 ? " " : "",
				 words[i]);
		load_module(words[1], parameters);
	} else if (!strcmp(words[0], "rmmod") && n == 2) {
		long rc = syscall(SYS_delete_module, words[1], O_NONBLOCK);

		printf("rmmod %s\n", rc < 0 ? strerror(errno) : "0");
	} else if (!strcmp(words[0], "open") && n == 3) {
		struct event e;
		int fd;

		parse_event(&e, words[2]);
		fd = open_event(&e, 0, -1);
		printf("open %s %s\n", words[1], fd < 0 ? strerrorname_np(errno) : "0");
		if (fd >= 0)
			close(fd);
	} else if (!strcmp(words[0], "count") && n >= 4 && n <= 3 + LOADS) {
		count_loads(words[1], words[2], words + 3, n - 3);
	} else {
		die(words[0]);
	}
}

int main(int argc, char **argv)
{
	char line[1024];
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!f)
		die("loads FILE");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	while (fgets(line, sizeof(line), f))
		do_line(line);
	printf("loads: end\n");
	return 0;
}
