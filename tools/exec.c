/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeosctl exec: run srun with the options for the job, node and container. slurmstepd starts the
 * process: so the process is in the job's cgroups and accounting, and is placed before it runs the
 * user's program. A running process cannot be moved safely (cgroup_write_mems() in host/cgroup.h).
 * The process has the environment and limits of the caller's shell.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostname.h"
#include "tools/ask_args.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl exec [OPTION]... CONTAINER [--] COMMAND [ARGUMENT]...\n"
	"Run COMMAND in a container of your own job, as a debugger or a monitor beside its ranks: "
	"srun\n"
	"starts it as a step of one task, on this node if this is a node of the job.\n"
	"\n"
	"      --job=ID   the container of that job (needed when several jobs have one of that "
	"name);\n"
	"                 on a host without nodeosd, such as a login node: on the job's first "
	"node\n"
	"      --step=ID  the container of that step's ranks; ID is N, or JOB.N\n"
	"      --pty      COMMAND has a terminal of its own, for a shell or a debugger\n"
	"  -n, --dry-run  print the srun command, run nothing\n"
	"  -h, --help     print this\n"
	"\n"
	"Exit status: srun's, which is COMMAND's; 127 when srun is missing, 1 when the container "
	"is not\n"
	"found or cannot be joined, 2 wrong usage.\n";

#define STATUS_NOT_FOUND 127 /* the exit status of env(1) */

#define WORDS 12 /* limit of srun's arguments before COMMAND */

struct options {
	bool pty, dry;
};

/* Find the line "WORD VALUE" in nodeosd's answer. Returns VALUE in BUF, or "" without that line. */
static const char *exec_value_of(const char *answer, const char *word, char *buf, size_t size)
{
	size_t len = strlen(word);

	*buf = '\0';
	for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, word, len) == 0 && line[len] == ' ')
			snprintf(buf, size, "%.*s", (int)strcspn(line + len + 1, "\n"),
				 line + len + 1);
	return buf;
}

/*
 * Check the request A where nodeosd does not run, such as on a login node: it must name a job, and
 * cannot name a step.
 */
static int without_nodeosd(const struct ask *a, struct errbuf *err)
{
	if (a->step_given)
		return errprintf(
			err,
			"nodeosd does not listen on this host (" ASK_SOCKET
			"), and only nodeosd on the step's node knows the step's container: run "
			"this command on that node, or name only the job (--job=ID)");
	if (!a->job)
		return errprintf(err, "nodeosd does not listen on this host (" ASK_SOCKET
				      "): name the job with --job=ID (squeue --me lists your "
				      "jobs), or run this command on a node of the job; if this is "
				      "a node of the job, an administrator can start nodeosd: "
				      "systemctl enable --now nodeosd.socket");
	return 0;
}

/* Find the JOB and the NODE of A's container; NODE "" is any node of the job. */
static int exec_find(const struct ask *a, char job[24], char node[NODE_NAME_MAX],
		     struct errbuf *err)
{
	char *answer = NULL;
	size_t len = 0;
	FILE *f;
	int rc;

	*node = '\0';
	snprintf(job, 24, "%u", a->job);
	if (access(ASK_SOCKET, F_OK) < 0)
		return without_nodeosd(a, err);
	f = open_memstream(&answer, &len);
	if (!f)
		return errprintf(err, "out of memory");
	rc = ask_node(a, ASK_SOCKET, f, err);
	if (fclose(f) != 0)
		rc = errprintf(err, "out of memory");
	if (rc == 0 && (!*exec_value_of(answer, "job", job, 24) ||
			!*exec_value_of(answer, "node", node, NODE_NAME_MAX)))
		rc = errprintf(
			err,
			"nodeosd's answer has no job and node: is nodeosd of another version?");
	free(answer);
	return rc;
}

/* Print ARGV, quoted for a shell. */
static void print(char *const *argv)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";

	for (char *const *word = argv; *word; word++) {
		if (**word && !(*word)[strspn(*word, plain)]) {
			fputs(*word, stdout);
		} else {
			putchar('\'');
			for (const char *c = *word; *c; c++)
				fputs(*c == '\'' ? "'\\''" : (char[]){ *c, '\0' }, stdout);
			putchar('\'');
		}
		putchar(word[1] ? ' ' : '\n');
	}
}

/*
 * Remove variables in which sbatch, salloc and srun describe the size of their own programs. srun
 * refuses some of them with --overlap, and takes others as requests that one task on one node
 * cannot meet.
 */
static void clear_inputs(void)
{
	static const char *const name[] = {
		"SLURM_CPUS_PER_GPU",
		"SLURM_CPUS_PER_TASK",
		"SRUN_CPUS_PER_TASK",
		"SLURM_CPU_BIND",
		"SLURM_DISTRIBUTION",
		"SLURM_EXACT",
		"SLURM_EXCLUSIVE",
		"SLURM_GPUS",
		"SLURM_GPUS_PER_NODE",
		"SLURM_GPUS_PER_SOCKET",
		"SLURM_GPUS_PER_TASK",
		"SLURM_GPU_BIND",
		"SLURM_GRES",
		"SLURM_HINT",
		"SLURM_HOSTFILE",
		"SLURM_JOB_NODELIST",
		"SLURM_JOB_NUM_NODES",
		"SLURM_MEM_BIND",
		"SLURM_MEM_PER_GPU",
		"SLURM_NCORES_PER_SOCKET",
		"SLURM_NPROCS",
		"SLURM_NSOCKETS_PER_NODE",
		"SLURM_NTASKS",
		"SLURM_NTASKS_PER_CORE",
		"SLURM_NTASKS_PER_GPU",
		"SLURM_NTASKS_PER_NODE",
		"SLURM_NTASKS_PER_TRES",
		"SLURM_SRUN_MULTI",
		"SLURM_THREADS_PER_CORE",
		"SLURM_TRES_BIND",
		"SLURM_TRES_PER_TASK",
	};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		unsetenv(name[i]);
}

static int run_srun(const struct options *o, const struct ask *a, const char *job, const char *node,
		    char **command)
{
	char jobid[40], container[sizeof(a->container) + 24], nodelist[NODE_NAME_MAX + 16];
	unsigned n = 0, words = 0;
	char **argv;

	while (command[words])
		words++;
	argv = calloc(WORDS + words + 1, sizeof(*argv));
	if (!argv)
		return tool_error(1, "exec: out of memory");
	snprintf(jobid, sizeof(jobid), "--jobid=%s", job);
	snprintf(container, sizeof(container), "--nodeos-container=%s", a->container);
	snprintf(nodelist, sizeof(nodelist), "--nodelist=%s", node);
	argv[n++] = (char *)"srun";
	argv[n++] = jobid;
	argv[n++] = (char *)"--overlap";
	argv[n++] = (char *)"--nodes=1";
	argv[n++] = (char *)"--ntasks=1";
	if (*node)
		argv[n++] = nodelist;
	argv[n++] = container;
	/* COMMAND is not a rank of an MPI program */
	argv[n++] = (char *)"--mpi=none";
	if (o->pty)
		argv[n++] = (char *)"--pty";
	argv[n++] = (char *)"--";
	memcpy(argv + n, command, words * sizeof(*argv));
	if (o->dry) {
		print(argv);
		free(argv);
		return 0;
	}
	clear_inputs();
	execvp(argv[0], argv);
	free(argv);
	return tool_error(errno == ENOENT ? STATUS_NOT_FOUND : 1, "exec: srun: %s",
			  strerror(errno));
}

int tool_exec(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "job", required_argument, NULL, 'J' }, { "step", required_argument, NULL, 'S' },
		{ "pty", no_argument, NULL, 'p' },	 { "dry-run", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },	 { 0 },
	};
	struct ask a = { .operation = ASK_FIND };
	struct options o = { .pty = false };
	char job[24], node[NODE_NAME_MAX];
	struct errbuf err = { 0 };
	int c;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "+nh", longs)) != -1) {
		switch (c) {
		case 'J':
		case 'S':
			if ((c == 'J' ? tool_ask_job : tool_ask_step)(&a, argv[0], optarg) != 0)
				return 2;
			break;
		case 'p':
			o.pty = true;
			break;
		case 'n':
			o.dry = true;
			break;
		default:
			return tool_help(c, argv[0], usage_text);
		}
	}
	c = optind + 1;
	if (c < argc && strcmp(argv[c], "--") == 0)
		c++;
	if (c >= argc)
		return tool_wrong(argv[0],
				  optind == argc ? "no CONTAINER to run in" : "no COMMAND to run");
	if (tool_ask_container(&a, argv[0], argv[optind]) != 0)
		return 2;
	if (exec_find(&a, job, node, &err) < 0)
		return tool_error(1, "exec: %s", err.text);
	return run_srun(&o, &a, job, node, argv + c);
}
