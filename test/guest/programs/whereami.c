/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Print as JSON where this process runs and what it may use. The facts are from libnuma and /proc,
 * not from the code under test. If built with WITH_MPI, the ranks first add up their numbers by
 * MPI. Slurm may split lines of 1,024 bytes or more, so the text is printed in pieces, "@HOST.PID
 * PIECE", which cluster.py joins.
 *
 * whereami [SECONDS]: wait for SECONDS before the end.
 */
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

extern char **environ;

static FILE *out; /* the text, until it is printed */

static void put(const char *key, const char *value)
{
	fprintf(out, ",\"%s\":\"", key);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putc('\\', out);
		if (*value >= ' ')
			putc(*value, out);
	}
	putc('"', out);
}

/* Print as KEY the value of the line of FILE that begins with LINE_KEY. */
static void put_line(const char *file, const char *line_key, const char *key)
{
	char line[4096];
	FILE *f = fopen(file, "r");
	size_t len = strlen(line_key);

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, line_key, len) == 0) {
			line[strcspn(line, "\n")] = '\0';
			put(key, line + len + strspn(line + len, " \t"));
		}
	if (f)
		fclose(f);
}

static void put_mempolicy(void)
{
	struct bitmask *nodes = numa_allocate_nodemask();
	char list[1024] = "";
	int mode = -1;

	if (get_mempolicy(&mode, nodes->maskp, nodes->size + 1, NULL, 0) == 0)
		for (unsigned i = 0; i < nodes->size; i++)
			if (numa_bitmask_isbitset(nodes, i))
				snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u",
					 *list ? "," : "", i);
	numa_free_nodemask(nodes);
	fprintf(out, ",\"mempolicy\":%d", mode);
	put("mempolicy_nodes", list);
}

/* Print as KEY the contents of FILE in this process's cgroup. */
static void put_cgroup_file(const char *file, const char *key)
{
	char line[2048] = "", path[4096];
	FILE *f = fopen("/proc/self/cgroup", "r");
	char *at = f && fgets(line, sizeof(line), f) ? strstr(line, "::") : NULL;

	if (f)
		fclose(f);
	if (!at)
		return;
	at[strcspn(at, "\n")] = '\0';
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", at + 2, file);
	put_line(path, "", key);
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static void print_pieces(const char *host, const char *text)
{
	const size_t piece = 800;
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += piece)
		printf("@%s.%ld %.*s\n", host, (long)getpid(), (int)piece, text + at);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *text = NULL;
	size_t size = 0;
	struct sched_param param = { 0 };
	char host[256] = "";
	int sum = 0;
	int rank = atoi(env("SLURM_PROCID"));

#ifdef WITH_MPI
	int n_ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != n_ranks * (n_ranks - 1) / 2)
		MPI_Abort(MPI_COMM_WORLD, 3);
#endif
	gethostname(host, sizeof(host) - 1);
	out = open_memstream(&text, &size);
	if (!out)
		return 1;
	sched_getparam(0, &param);
	fprintf(out, "{\"rank\":%d,\"pid\":%ld", rank, (long)getpid());
	put("host", host);
	put("step", env("SLURM_STEP_ID"));
	put_line("/proc/self/status", "Cpus_allowed_list:", "cpus");
	put_line("/proc/self/status", "Mems_allowed_list:", "mems");
	put_line("/proc/self/cgroup", "0::", "cgroup");
	put_cgroup_file("cpuset.cpus", "cgroup_cpus");
	put_cgroup_file("cpuset.mems", "cgroup_mems");
	put_mempolicy();
	fprintf(out, ",\"policy\":%d,\"priority\":%d,\"sum\":%d,\"env\":{\"\":\"\"",
		sched_getscheduler(0), param.sched_priority, sum);
	for (char **e = environ; *e; e++) {
		char name[256];
		size_t len = strcspn(*e, "=");

		if (len < sizeof(name) &&
		    (strncmp(*e, "NODEOS_", 7) == 0 || strncmp(*e, "OMP_", 4) == 0 ||
		     strncmp(*e, "AC_", 3) == 0 || strncmp(*e, "SLURM_", 6) == 0)) {
			snprintf(name, sizeof(name), "%.*s", (int)len, *e);
			put(name, (*e)[len] ? *e + len + 1 : "");
		}
	}
	fprintf(out, "}}");
	fclose(out);
	print_pieces(host, text);
	if (argc > 1)
		sleep((unsigned)atoi(argv[1]));
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return 0;
}
