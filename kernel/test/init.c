/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The only program of a guest that boots in seconds: prints the kernel's files about nodes, runs
 * the actions that "do=" on the command line names, and ends the guest. kernel/test/boot.py reads
 * its output.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1UL << 20)

static char *slurp(const char *path)
{
	static char text[1 << 20];
	size_t n = 0;
	ssize_t k;
	int fd = open(path, O_RDONLY);

	while (fd >= 0 && (k = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)k;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	return text;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), rc;

	if (fd < 0)
		return -errno;
	rc = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static void show(const char *path)
{
	printf("=== %s\n%s", path, slurp(path));
}

static int exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/*
 * Print those names in DIRECTORY that begin with BEGIN, and the contents of FILE in each such
 * directory, unless FILE is "".
 */
static void list(const char *directory, const char *begin, const char *file)
{
	char path[512];
	struct dirent *e;
	DIR *d = opendir(directory);

	while (d && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, begin, strlen(begin)) != 0)
			continue;
		printf("%s", e->d_name);
		snprintf(path, sizeof(path), "%s/%s/%s", directory, e->d_name, file);
		if (*file)
			printf(" %s", slurp(path));
		else
			printf("\n");
	}
	if (d)
		closedir(d);
}

/* Print the kernel's warnings and errors. After the boot, the console does not show them. */
static void show_complaints(void)
{
	int size = klogctl(10 /* size of the buffer */, NULL, 0), n = 0;
	char *log = size > 0 ? malloc((size_t)size + 1) : NULL, *line, *end;

	if (log)
		n = klogctl(3 /* read all */, log, size);
	printf("=== complaints\n");
	if (!log || n <= 0) {
		printf("BUG: no log\n");
		return;
	}
	log[n] = '\0';
	for (line = log; *line; line = end + (*end != '\0')) {
		end = strchrnul(line, '\n');
		if (*line == '<' && (atoi(line + 1) & 7) <= 4)
			printf("%.*s\n", (int)(end - line), line);
	}
	free(log);
}

static void show_nodes(void)
{
	static const char *const file[] = { "physical_node", "cpulist", "distance", "meminfo" };
	static const char *const speed[] = { "read_bandwidth", "read_latency", "write_bandwidth",
					     "write_latency" };
	char path[256];

	for (int n = 0; n < 1024; n++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", n);
		if (!exists(path))
			continue;
		for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
			snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", n,
				 file[i]);
			show(path);
		}
		for (int access = 0; access < 2; access++) {
			snprintf(path, sizeof(path),
				 "/sys/devices/system/node/node%d/access%d/initiators", n, access);
			printf("=== %s\n", path);
			list(path, "node", "");
			for (size_t i = 0; i < sizeof(speed) / sizeof(speed[0]); i++) {
				snprintf(path, sizeof(path),
					 "/sys/devices/system/node/node%d/access%d/initiators/%s",
					 n, access, speed[i]);
				if (exists(path))
					show(path);
			}
		}
	}
}

/* Make cgroup NAME with memory nodes MEMS. */
static void make_group(const char *name, const char *mems)
{
	char path[128];

	snprintf(path, sizeof(path), "/cg/%s", name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "/cg/%s/cpuset.mems", name);
	if (put(path, mems) < 0)
		printf("%s: %s\n", path, strerror(errno));
}

static void enter_group(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/cg/%s/cgroup.procs", name);
	if (put(path, "0") < 0)
		printf("%s: %s\n", path, strerror(errno));
}

static void bind_to(unsigned node)
{
	unsigned long mask[16] = { 0 };

	mask[node / 64] = 1UL << node % 64;
	if (syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, mask, 1024) < 0)
		printf("set_mempolicy: %s\n", strerror(errno));
}

static char *touch(size_t size)
{
	char *p = mmap(NULL, size + 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	p = (char *)(((unsigned long)p + 2 * MIB - 1) & ~(2 * MIB - 1));
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return p;
}

/* Stay on the first CPU, which determines the local node. */
static void stay(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
}

/* Print how much of 64 MiB is in huge pages, for a task that may use only the nodes MEMS. */
static void huge_pages(const char *mems)
{
	pid_t pid = fork();

	if (pid == 0) {
		char *at;
		long kib = 0;

		stay();
		make_group("thp", mems);
		enter_group("thp");
		touch(64 * MIB);
		for (at = slurp("/proc/self/smaps"); (at = strstr(at, "AnonHugePages:")) != NULL;
		     at++)
			kib += strtol(at + 14, NULL, 10);
		printf("huge %s %ld\n", mems, kib);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/*
 * Fork a child that touches SIZE bytes and sleeps. It runs in the cgroup GROUP, and is bound to
 * BLOCK unless BLOCK is NULL. Returns its pid, or -1.
 */
static pid_t sleeper(const char *group, const char *block, size_t size)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		enter_group(group);
		if (block)
			bind_to((unsigned)atoi(block));
		touch(size);
		(void)!write(ready[1], "x", 1);
		pause();
	}
	(void)!read(ready[0], &c, 1);
	return pid;
}

/*
 * Fork a child that touches SIZE bytes, in the cgroup "job" and bound to BLOCK. Print whether the
 * child is killed, and under the name WHO whether the process SLEEPING is killed.
 */
static void ask_for(const char *block, size_t size, const char *who, pid_t sleeping)
{
	pid_t hungry = fork();
	int status;

	if (hungry == 0) {
		enter_group("job");
		bind_to((unsigned)atoi(block));
		touch(size);
		usleep(100000);
		/*
		 * this call waits for all readers of RCU; it hangs if the kernel has left an RCU
		 * read section open
		 */
		_exit(syscall(SYS_membarrier, 1 /* global */, 0) < 0);
	}
	waitpid(hungry, &status, 0);
	printf("hungry %s\n", WIFSIGNALED(status)   ? "killed"
			      : WEXITSTATUS(status) ? "fails"
						    : "lives");
	printf("%s %s\n", who, waitpid(sleeping, &status, WNOHANG) == 0 ? "lives" : "killed");
	kill(sleeping, SIGKILL);
	waitpid(sleeping, &status, 0);
}

/*
 * A task bound to BLOCK needs more memory than BLOCK has. Another task has SIZE MiB on the node
 * ELSEWHERE, which is more than the size of BLOCK. Print which task is killed.
 */
static void exhaust(const char *elsewhere, const char *block, unsigned long size)
{
	make_group("system", elsewhere);
	make_group("job", block);
	ask_for(block, 2048 * MIB, "large", sleeper("system", NULL, size * MIB));
}

/*
 * Two tasks are bound to BLOCK, which has SIZE MiB. One has 5/8 of SIZE and sleeps, the other needs
 * half of SIZE. Print which task is killed.
 */
static void starve(const char *block, unsigned long size)
{
	make_group("job", block);
	ask_for(block, size / 2 * MIB, "sleeping", sleeper("job", block, size * 5 / 8 * MIB));
}

static int node_of(void *page)
{
	int status = -1;

	if (syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status, 0) < 0)
		return -errno;
	return status;
}

/*
 * A task with a private page and a shared page moves from ELSEWHERE into a cpuset that has only
 * BLOCK. Print the nodes of both pages.
 */
static void drag(const char *elsewhere, const char *block)
{
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	make_group("from", elsewhere);
	make_group("to", block);
	pid = fork();
	if (pid == 0) {
		char *own;

		enter_group("from");
		shared[0] = 1;
		/* a second process that maps the shared page */
		pid = fork();
		if (pid == 0) {
			shared[0] = 2;
			pause();
		}
		while (*(volatile char *)shared != 2)
			usleep(1000);
		own = touch(4096);
		enter_group("to");
		usleep(300000);
		printf("dragged: own page on %d, shared page on %d\n", node_of(own),
		       node_of(shared));
		fflush(stdout);
		kill(pid, SIGKILL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Print the nodes of an unbound task's memory when the CPU's own node is full. */
static void spill(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int first = -1, node = -1;

		stay();
		for (unsigned i = 0; i < 16384; i++) {
			node = node_of(touch(2 * MIB));
			if (i == 0)
				first = node;
			if (node != first)
				break;
		}
		printf("spill from %d to %d\n", first, node);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Turn all CPUs except the first off or on. */
static void turn_cpus(const char *to)
{
	char path[128];

	for (int cpu = 1; cpu < 1024; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		if (exists(path) && strncmp(slurp(path), to, 1) != 0 && put(path, to) < 0)
			printf("%s: cannot be written\n", path);
	}
}

/* Print the CPUs of each node's kswapd and kcompactd. */
static void node_threads(void)
{
	static const char *const name[] = { "kswapd", "kcompactd" };
	char path[300], comm[64], *cpus;
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (!exists(path))
			continue;
		snprintf(comm, sizeof(comm), "%.*s", (int)strcspn(slurp(path), "\n"), slurp(path));
		for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
			if (strncmp(comm, name[i], strlen(name[i])) != 0)
				continue;
			snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
			cpus = strstr(slurp(path), "Cpus_allowed_list:\t");
			if (!cpus)
				continue;
			cpus += strlen("Cpus_allowed_list:\t");
			printf("thread %s %s %.*s\n", name[i], comm + strlen(name[i]),
			       (int)strcspn(cpus, "\n"), cpus);
		}
	}
	if (d)
		closedir(d);
}

/*
 * A task on the first CPU frees SIZE MiB of NODE. Then print the length of the longest list of free
 * pages of NODE that a CPU has.
 */
static void freed_lists(const char *node, unsigned long size)
{
	char zone[80], *at, *end;
	long longest = -1;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		stay();
		bind_to((unsigned)atoi(node));
		touch(size * MIB);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	snprintf(zone, sizeof(zone), "Node %s, ", node);
	at = slurp("/proc/zoneinfo");
	for (at = strstr(at, zone); at; at = end ? strstr(end, zone) : NULL) {
		end = strstr(at + 1, "\nNode ");
		while ((at = strstr(at, " count: ")) != NULL && (!end || at < end)) {
			long pages = strtol(at + 8, NULL, 10);

			longest = pages > longest ? pages : longest;
			at++;
		}
	}
	printf("list of node %s: %ld pages\n", node, longest);
}

/* Return the shortest time of a page fault, in ticks of the CPU's counter. */
static unsigned long fault_cost(void)
{
	const unsigned long faults = 256;
	char *p = touch(faults * 4096);
	unsigned long least = -1UL;

	for (int round = 0; round < 5; round++) {
		unsigned long from, took;

		madvise(p, faults * 4096, MADV_DONTNEED);
		from = __builtin_ia32_rdtsc();
		for (unsigned long i = 0; i < faults; i++)
			p[i * 4096] = 1;
		took = (__builtin_ia32_rdtsc() - from) / faults;
		least = took < least ? took : least;
	}
	munmap(p, faults * 4096);
	return least;
}

/*
 * Print the cost of a page fault in a cpuset that has only the node LAST. Then fill a cpuset of the
 * nodes FIRST to LAST until the task gets memory of LAST, and print the cost of a page fault again.
 * Then free the first 64 MiB, and print how many of 16 new MiB are on FIRST.
 */
static void fill_nodes(int first, int last)
{
	static char *mib[1 << 16];
	char mems[32];
	int n = 0, again = 0;
	pid_t pid = fork();

	if (pid == 0) {
		unsigned long alone, full;

		stay();
		snprintf(mems, sizeof(mems), "%d", last);
		make_group("fill", mems);
		enter_group("fill");
		alone = fault_cost();
		snprintf(mems, sizeof(mems), "%d-%d", first, last);
		make_group("fill", mems);
		do {
			mib[n] = touch(MIB);
		} while (node_of(mib[n++] + MIB - 4096) != last && n < 1 << 16);
		full = fault_cost();
		for (int i = 0; i < 64; i++)
			munmap(mib[i], MIB);
		usleep(1500000);
		for (int i = 0; i < 16; i++)
			again += node_of(touch(MIB) + MIB - 4096) == first;
		printf("fault: %lu in the last block, %lu when all others are full\n", alone, full);
		printf("freed: %d of 16 MiB in the first block\n", again);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Wait until boot.py adds memory to the machine, and put it online. */
static void wait_for_memory(void)
{
	char before[256];

	put("/sys/devices/system/memory/auto_online_blocks", "online");
	snprintf(before, sizeof(before), "%s", slurp("/sys/devices/system/node/has_memory"));
	printf("waiting for memory\n");
	fflush(stdout);
	for (int i = 0; i < 300; i++) {
		if (strcmp(before, slurp("/sys/devices/system/node/has_memory")) != 0)
			break;
		usleep(100000);
	}
	sleep(5); /* the memory is added piece by piece */
	printf("has_memory %s", slurp("/sys/devices/system/node/has_memory"));
}

/* Run WORDS, "PROGRAM:ARGUMENT:ARGUMENT", and print the exit status. */
static void run(char *words)
{
	char *argv[32], *save;
	int argc = 0, status;
	pid_t pid;

	for (char *w = strtok_r(words, ":", &save); w && argc < 31; w = strtok_r(NULL, ":", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	if (!argc)
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("%s: exit %d\n", argv[0], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Trigger a bug by the kernel's crash test module (LKDTM). */
static void make_mistake(const char *name)
{
	printf("mistake %s %d\n", name, put("/sys/kernel/debug/provoke-crash/DIRECT", name));
}

/*
 * Print whether a task may have a core scheduling cookie, which keeps other tasks off the sibling
 * thread.
 */
static void core_scheduling(void)
{
	printf("core scheduling %d\n",
	       prctl(62 /* PR_SCHED_CORE */, 1 /* create */, 0, 0, 0) < 0 ? -errno : 0);
}

/* Let the kernel compile a BPF program. It stays loaded until this program ends. */
static void attach_filter(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	struct sock_fprog program = { .len = 1, .filter = &all };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
		printf("filter: %s\n", strerror(errno));
}

/* Run the actions of "do=thp:2,oom:0:2:700,run:/fgmn". */
static void work(char *words)
{
	for (char *w = strtok(words, ","); w; w = strtok(NULL, ",")) {
		char a[64] = "", b[64] = "";
		unsigned long size;
		int first, last;

		fflush(stdout);
		if (sscanf(w, "thp:%63[0-9-]", a) == 1)
			huge_pages(a);
		else if (sscanf(w, "oom:%63[0-9-]:%63[0-9-]:%lu", a, b, &size) == 3)
			exhaust(a, b, size);
		else if (sscanf(w, "starve:%63[0-9]:%lu", a, &size) == 2)
			starve(a, size);
		else if (sscanf(w, "drag:%63[0-9-]:%63[0-9-]", a, b) == 2)
			drag(a, b);
		else if (strcmp(w, "spill") == 0)
			spill();
		else if (sscanf(w, "cpus:%63[01]", a) == 1)
			turn_cpus(a);
		else if (sscanf(w, "fill:%d-%d", &first, &last) == 2)
			fill_nodes(first, last);
		else if (strcmp(w, "threads") == 0)
			node_threads();
		else if (sscanf(w, "lists:%63[0-9]:%lu", a, &size) == 2)
			freed_lists(a, size);
		else if (strcmp(w, "memory") == 0)
			wait_for_memory();
		else if (strncmp(w, "run:", 4) == 0)
			run(w + 4);
		else if (sscanf(w, "pages:%63s", a) == 1)
			printf("nr_hugepages %d\n", put("/proc/sys/vm/nr_hugepages", a));
		else if (sscanf(w, "mistake:%63s", a) == 1)
			make_mistake(a);
		else if (sscanf(w, "show:%63s", a) == 1)
			show(a);
		else if (strcmp(w, "core") == 0)
			core_scheduling();
		else if (strcmp(w, "filter") == 0)
			attach_filter();
		else
			printf("%s?\n", w);
	}
}

int main(void)
{
	char *at, words[1024] = "";

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/cg", 0755);
	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	mount("cgroup2", "/cg", "cgroup2", 0, NULL);
	put("/cg/cgroup.subtree_control", "+cpuset +memory");
	put("/proc/sys/kernel/printk", "1"); /* keep kernel messages out of the lines that follow */
	show("/sys/kernel/mm/fgmn/enabled");
	show("/sys/kernel/mm/fgmn/spec");
	show("/sys/kernel/mm/fgmn/error");
	show("/proc/iomem");
	show("/proc/zoneinfo");
	show("/proc/sys/kernel/numa_balancing");
	printf("=== /sys/devices/virtual/memory_tiering\n");
	list("/sys/devices/virtual/memory_tiering", "memory_tier", "nodelist");
	show_nodes();
	at = strstr(slurp("/proc/cmdline"), "do=");
	if (at) {
		snprintf(words, sizeof(words), "%.*s", (int)strcspn(at + 3, " \n"), at + 3);
		printf("=== done\n");
		work(words);
		printf("=== after\n");
		show_nodes();
	}
	show_complaints();
	printf("=== end\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	pause();
}
