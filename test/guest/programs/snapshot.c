/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Append the properties of this process to DIR/RANK.HOST.PID, one per line, to compare two runs:
 * CPUs, memory nodes, policies, cgroup files of the task, step and job, limits, environment and
 * arguments.
 *
 * snapshot DIR [CODE]: afterwards exit with CODE; if CODE is -N, die of signal N.
 */
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static FILE *out;

static void put_status(void)
{
	static const char *const key[] = { "Cpus_allowed_list:",
					   "Mems_allowed_list:",
					   "Umask:",
					   "Groups:",
					   "Seccomp:",
					   "NoNewPrivs:",
					   "CapEff:",
					   "SigBlk:",
					   "SigIgn:" };
	char line[4096];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
			if (strncmp(line, key[i], strlen(key[i])) == 0)
				fprintf(out, "status %s", line);
	if (f)
		fclose(f);
}

static void put_policies(void)
{
	struct sched_param param = { 0 };
	struct bitmask *nodes = numa_allocate_nodemask();
	struct rlimit r;
	int mode = -1;

	get_mempolicy(&mode, nodes->maskp, nodes->size + 1, NULL, 0);
	fprintf(out, "mempolicy %d", mode);
	for (unsigned i = 0; i < nodes->size; i++)
		if (numa_bitmask_isbitset(nodes, i))
			fprintf(out, " %u", i);
	numa_free_nodemask(nodes);
	sched_getparam(0, &param);
	fprintf(out, "\nsched %d %d nice %d\n", sched_getscheduler(0), param.sched_priority,
		getpriority(PRIO_PROCESS, 0));
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (getrlimit((__rlimit_resource_t)i, &r) == 0)
			fprintf(out, "limit %d %llu %llu\n", i, (unsigned long long)r.rlim_cur,
				(unsigned long long)r.rlim_max);
}

/*
 * Print files of this process's cgroup and of its ancestors: Slurm's levels task, user, step, job.
 */
static void put_cgroup(void)
{
	static const char *const file[] = { "cpuset.cpus",
					    "cpuset.mems",
					    "cpuset.cpus.effective",
					    "cpuset.mems.effective",
					    "cpuset.cpus.partition",
					    "cpuset.cpus.exclusive",
					    "memory.max",
					    "memory.high",
					    "cpu.weight",
					    "cpu.max",
					    "cgroup.subtree_control" };
	char line[2048] = "", path[4096], value[4096];
	FILE *f = fopen("/proc/self/cgroup", "r");
	char *at = f && fgets(line, sizeof(line), f) ? strstr(line, "::") : NULL;

	if (f)
		fclose(f);
	if (!at)
		return;
	at += 2;
	at[strcspn(at, "\n")] = '\0';
	for (int level = 0; level < 4 && strrchr(at, '/'); level++, *strrchr(at, '/') = '\0') {
		fprintf(out, "level %d %s\n", level, strrchr(at, '/') + 1);
		for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", at, file[i]);
			f = fopen(path, "r");
			if (f && fgets(value, sizeof(value), f))
				fprintf(out, "cgroup %d %s %s", level, file[i], value);
			if (f)
				fclose(f);
		}
	}
}

static void put_strings(const char *word, char **list)
{
	for (; *list; list++) {
		fprintf(out, "%s ", word);
		for (const char *c = *list; *c; c++)
			putc(*c == '\n' ? ' ' : *c, out);
		putc('\n', out);
	}
}

static int append(const char *dir, const char *text, size_t len)
{
	const char *rank = getenv("SLURM_PROCID");
	char path[4096], host[256] = "";
	int fd;

	gethostname(host, sizeof(host) - 1);
	snprintf(path, sizeof(path), "%s/%s.%s.%ld", dir, rank ? rank : "x", host, (long)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return 9;
	return close(fd) == 0 ? 0 : 9;
}

int main(int argc, char **argv)
{
	char *text = NULL, cwd[4096] = "?";
	size_t size = 0;
	int code = argc > 2 ? atoi(argv[2]) : 0;

	out = open_memstream(&text, &size);
	if (!out || argc < 2)
		return 9;
	put_status();
	put_policies();
	put_cgroup();
	fprintf(out, "cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	for (int fd = 3; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fprintf(out, "open %d\n", fd);
	put_strings("arg", argv + 2);
	put_strings("env", environ);
	fclose(out);
	if (append(argv[1], text, size) != 0) {
		perror(argv[1]);
		return 9;
	}
	if (code < 0)
		raise(-code);
	return code;
}
