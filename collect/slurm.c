/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "base/subprocess.h"

#define SECONDS 100 /* time limit of a program; the program itself may wait for MessageTimeout */
#define ANSWER_MAX (64u << 20) /* limit of a program's output, bytes */
#define ID_WIDTH 12 /* columns of a job's number; no number has so many digits */
#define ARGUMENT_MAX (SLURM_EXTRA_MAX + 64)

/*
 * Copy the last line of TEXT that has a byte other than blank, "-" and "=": a program of Slurm that
 * fails prints the reason there.
 */
static void copy_last_line(char buf[256], const char *text)
{
	buf[0] = '\0';
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		int len = (int)strcspn(at, "\n");

		if (len > 0 && at[strspn(at, " \t-=")] != '\n')
			snprintf(buf, 256, "%.*s", len < 255 ? len : 255, at + strspn(at, " \t"));
	}
	buf[strcspn(buf, "\n")] = '\0';
}

/*
 * Run ARGV after a search for its program in PATH. FOR_MESSAGE: the output is only for messages,
 * and includes the program's standard error. Returns the output, which the caller frees, or NULL
 * with the reason.
 */
static char *read_program(const char **argv, bool for_message, struct errbuf *err)
{
	char program[PROGRAM_PATH_MAX], why[256] = "";
	const char *name = argv[0];
	struct subprocess h = {
		.argv = argv,
		.uid = (uid_t)-1,
		.extra_fd = -1,
		.join_stderr = for_message,
		.keep_stderr = !for_message,
		.timeout = SECONDS,
		.output_max = ANSWER_MAX,
	};
	char *text = NULL;
	int rc;

	argv[0] = program_find(name, program);
	if (!argv[0]) {
		argv[0] = name;
		errprintf(err, "program %s is not in PATH; install Slurm's client programs", name);
		return NULL;
	}
	rc = subprocess_run(&h, &text, err);
	argv[0] = name;
	if (rc == 0)
		return text;
	if (rc > 0) {
		copy_last_line(why, text);
		errprintf(err, "%s failed%s%s", name, *why ? ": " : "", why);
	}
	free(text);
	return NULL;
}

/* Run a program that changes something; discard its output. */
static int run_change(const char **argv, struct errbuf *err)
{
	char *text = read_program(argv, true, err);

	free(text);
	return text ? 0 : -1;
}

void slurm_clean_environment(void)
{
	static const char *const prefix[] = {
		"SQUEUE_", "SINFO_", "SACCT_", "SCONTROL_", "SLURM_CLUSTERS=", "SLURM_TIME_FORMAT="
	};
	char name[256];

	for (char **e = environ; *e;) {
		bool own = false;

		for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
			own |= strncmp(*e, prefix[i], strlen(prefix[i])) == 0;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (own && unsetenv(name) == 0)
			e = environ;
		else
			e++;
	}
	setenv("SLURM_TIME_FORMAT", "%s", 1);
}

/*
 * Copy the field at *LINE, which ends at '|' or at the end of the line, to BUF, and move *LINE past
 * it.
 */
static void next_field(char *buf, size_t size, const char **line)
{
	size_t len = strcspn(*line, "|\n");

	snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), *line);
	*line += len;
	*line += **line == '|';
}

static int64_t time_field(const char **line)
{
	char text[32], *end;
	long long t;

	next_field(text, sizeof(text), line);
	t = strtoll(text, &end, 10);
	return *text && !*end && t > 0 ? t : 0;
}

/*
 * Return the kind of STATE, a short name of a job's state in squeue or a long name in sacct
 * ("CANCELLED by 1000").
 */
static enum slurm_job_kind kind_of(const char *state)
{
	static const struct {
		const char *brief, *name;
		enum slurm_job_kind kind;
	} states[] = {
		{ "R", "RUNNING", SLURM_JOB_RUNNING },
		{ "S", "SUSPENDED", SLURM_JOB_RUNNING },
		{ "ST", "STOPPED", SLURM_JOB_RUNNING },
		{ "SI", "SIGNALING", SLURM_JOB_RUNNING },
		{ "RS", "RESIZING", SLURM_JOB_RUNNING },
		{ "CD", "COMPLETED", SLURM_JOB_ENDED },
		{ "CA", "CANCELLED", SLURM_JOB_ENDED },
		{ "F", "FAILED", SLURM_JOB_ENDED },
		{ "TO", "TIMEOUT", SLURM_JOB_ENDED },
		{ "NF", "NODE_FAIL", SLURM_JOB_ENDED },
		{ "PR", "PREEMPTED", SLURM_JOB_ENDED },
		{ "BF", "BOOT_FAIL", SLURM_JOB_ENDED },
		{ "DL", "DEADLINE", SLURM_JOB_ENDED },
		{ "OOM", "OUT_OF_MEMORY", SLURM_JOB_ENDED },
		{ "RV", "REVOKED", SLURM_JOB_ENDED },
	};
	size_t len = strcspn(state, " ");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if ((strlen(states[i].brief) == len && strncmp(states[i].brief, state, len) == 0) ||
		    (strlen(states[i].name) == len && strncmp(states[i].name, state, len) == 0))
			return states[i].kind;
	return SLURM_JOB_WAITING;
}

/* Parse "JOB|NUMBER|STATE|START|END", and move *LINE past it. Returns 0, or -1. */
static int job_line(struct slurm_job *job, const char **line)
{
	char text[64], *end;
	unsigned long n;

	next_field(text, sizeof(text), line);
	n = strtoul(text, &end, 10);
	if (!*text || *end || n == 0 || n > UINT32_MAX)
		return -1;
	job->job = (uint32_t)n;
	next_field(job->number, sizeof(job->number), line);
	next_field(text, sizeof(text), line);
	job->kind = kind_of(text);
	job->start = time_field(line);
	job->end = time_field(line);
	return 0;
}

static int compare_jobs(const void *a, const void *b)
{
	uint32_t x = ((const struct slurm_job *)a)->job, y = ((const struct slurm_job *)b)->job;

	return (x > y) - (x < y);
}

/*
 * Run a program of Slurm. Returns its output, or NULL with the reason. *OUT gets an array with SIZE
 * bytes for each line of the output. The caller frees both.
 */
static char *read_rows(void **out, size_t size, const char *argv[], struct errbuf *err)
{
	char *text = read_program(argv, false, err), path[PROGRAM_PATH_MAX];
	size_t capacity = 1;

	if (!text) {
		if (program_find(argv[0], path))
			errappend(err, " (is slurmctld up?)");
		return NULL;
	}
	for (const char *at = text; *at; at++)
		capacity += *at == '\n';
	*out = calloc(capacity, size);
	if (*out)
		return text;
	free(text);
	errprintf(err, "out of memory");
	return NULL;
}

long slurm_jobs_load(struct slurm_job **out, struct errbuf *err)
{
	/* users cannot choose the text of any of these fields */
	const char *argv[] = {
		"squeue",
		"--noheader",
		/* --local: in a federation, only the jobs of this cluster */
		"--all",
		"--local",
		"--states=all",
		"--format=%A|%i|%t|%S|%e|%P",
		NULL,
	};
	char *text = read_rows((void **)out, sizeof(**out), argv, err);
	long n = 0;

	if (!text)
		return -1;
	for (const char *at = text; *at;) {
		const char *next = at + strcspn(at, "\n");

		if (job_line(*out + n, &at) == 0) {
			next_field((*out)[n].partition, sizeof((*out)->partition), &at);
			n++;
		}
		at = next + (*next == '\n');
	}
	free(text);
	qsort(*out, (size_t)n, sizeof(**out), compare_jobs);
	return n;
}

const struct slurm_job *slurm_jobs_find(const struct slurm_job *jobs, long n, uint32_t job)
{
	struct slurm_job key = { .job = job };

	return bsearch(&key, jobs, (size_t)n, sizeof(*jobs), compare_jobs);
}

uint64_t slurm_partition_set(const struct slurm_partitions *p, const char *name)
{
	if (!*name)
		return UINT64_MAX;
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->name[i], name) == 0)
			return UINT64_C(1) << i;
	return 0;
}

/*
 * Set whether the node is powered and open, from STATE and the marks that sinfo appends to it:
 * "idle~" is powered down.
 */
static void node_state(struct slurm_node *node, const char *state)
{
	size_t len = strcspn(state, "*~#!%$@^+-");
	const char *marks = state + len;

	node->powered = !strpbrk(marks, "~%");
	node->open = (len == 4 && strncmp(state, "idle", 4) == 0) ||
		     (len == 3 && strncmp(state, "mix", 3) == 0) ||
		     (len == 5 && strncmp(state, "alloc", 5) == 0);
	node->open &= !*marks || strcmp(marks, "~") == 0;
}

/* Parse "NAME|PARTITION|A/I/O/T|STATE", and move *LINE past it. Returns 0, or -1. */
static int node_line(struct slurm_node *node, struct slurm_partitions *p, const char **line)
{
	char cpus[64], state[32], partition[SLURM_NAME_MAX];
	unsigned idle, other;

	*node = (struct slurm_node){ 0 };
	next_field(node->name, sizeof(node->name), line);
	next_field(partition, sizeof(partition), line);
	next_field(cpus, sizeof(cpus), line);
	next_field(state, sizeof(state), line);
	if (!*node->name ||
	    sscanf(cpus, "%9u/%9u/%9u/%9u", &node->allocated, &idle, &other, &node->cpus) != 4)
		return -1;
	if (*partition && !slurm_partition_set(p, partition) && p->n < SLURM_PARTITIONS_MAX)
		strcpy(p->name[p->n++], partition);
	node->partitions = slurm_partition_set(p, partition);
	node_state(node, state);
	return 0;
}

static int compare_node_names(const void *a, const void *b)
{
	return strcmp(((const struct slurm_node *)a)->name, ((const struct slurm_node *)b)->name);
}

/*
 * Merge the elements of one node: sinfo prints a line for each partition of a node. Returns the
 * number of nodes.
 */
static long merge_nodes(struct slurm_node *node, long n)
{
	long kept = 0;

	qsort(node, (size_t)n, sizeof(*node), compare_node_names);
	for (long i = 0; i < n; i++)
		if (kept && strcmp(node[kept - 1].name, node[i].name) == 0)
			node[kept - 1].partitions |= node[i].partitions;
		else
			node[kept++] = node[i];
	return kept;
}

long slurm_nodes_load(struct slurm_node **out, struct slurm_partitions *partitions,
		      struct errbuf *err)
{
	const char *argv[] = { "sinfo",	 "--noheader",		 "--all", "--local",
			       "--Node", "--format=%N|%R|%C|%t", NULL };
	char *text = read_rows((void **)out, sizeof(**out), argv, err);
	long n = 0;

	partitions->n = 0;
	if (!text)
		return -1;
	for (const char *at = text; *at;) {
		const char *next = at + strcspn(at, "\n");

		n += node_line(*out + n, partitions, &at) == 0;
		at = next + (*next == '\n');
	}
	free(text);
	return merge_nodes(*out, n);
}

long slurm_nodes_index(const struct slurm_node *nodes, long n, const char *name)
{
	struct slurm_node key = { .name = "" };
	const struct slurm_node *found;

	if (snprintf(key.name, sizeof(key.name), "%s", name) >= (int)sizeof(key.name))
		return -1;
	found = bsearch(&key, nodes, (size_t)n, sizeof(*nodes), compare_node_names);
	return found ? found - nodes : -1;
}

/* Copy the LEN bytes at TEXT without surrounding blanks; Slurm's words for "none" become "". */
static void copy_value(char *buf, size_t size, const char *text, size_t len)
{
	while (len > 0 && (text[0] == ' ' || text[0] == '\n')) {
		text++;
		len--;
	}
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\n'))
		len--;
	snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), text);
	if (strcmp(buf, "(null)") == 0 || strcmp(buf, "N/A") == 0 || strcmp(buf, "n/a") == 0)
		buf[0] = '\0';
}

int slurm_comment_read(char buf[SLURM_COMMENT_MAX], const struct slurm_job *job, struct errbuf *err)
{
	char id[16], width[64];
	const char *argv[] = { "squeue", "--noheader", "--all", "--local", "--states=all",
			       "--jobs", id,	       width,	NULL };
	const size_t size = SLURM_COMMENT_MAX - 1;
	char *text, *end;

	/*
	 * the last task of an array has the array's number, and for this number squeue prints all
	 * tasks
	 */
	snprintf(id, sizeof(id), "%u", (unsigned)job->job);
	snprintf(width, sizeof(width), "--Format=JobID:%d,admin_comment:%zu", ID_WIDTH, size);
	buf[0] = '\0';
	text = read_program(argv, false, err);
	if (!text)
		return -1;
	/* a comment may contain newlines: find the first line that begins with the job's number */
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strtoul(at, &end, 10) != job->job || end - at > ID_WIDTH || *end != ' ')
			continue;
		/*
		 * a squeue that does not know admin_comment prints nothing for it, and exits with 0
		 */
		if (strlen(at) < ID_WIDTH + size)
			break;
		copy_value(buf, SLURM_COMMENT_MAX, at + ID_WIDTH, size);
		free(text);
		return 0;
	}
	free(text);
	return errprintf(err, "squeue does not show the AdminComment of job %s", job->number);
}

int slurm_comment_write(const struct slurm_job *job, const char *text, struct errbuf *err)
{
	char id[SLURM_NUMBER_MAX + 8], value[ARGUMENT_MAX];
	const char *argv[] = { "scontrol", "update", id, value, NULL };

	snprintf(id, sizeof(id), "jobid=%s", job->number);
	snprintf(value, sizeof(value), "admincomment=%s", text);
	return run_change(argv, err);
}

int slurm_accounts(struct errbuf *err)
{
	const char *argv[] = { "scontrol", "show", "config", NULL };
	char *text = read_program(argv, false, err);
	const char *at;
	bool has;

	if (!text)
		return -1;
	at = strstr(text, "\nAccountingStorageType");
	has = at &&
	      strncmp(at + 1 + strcspn(at + 1, "=\n"), "= accounting_storage/slurmdbd", 29) == 0;
	free(text);
	return has;
}

int slurm_account_read(struct slurm_account *out, uint32_t job, struct errbuf *err)
{
	char id[16];
	/* the comment is the last field: it may contain any bytes */
	const char *argv[] = { "sacct",
			       "--noheader",
			       "--local",
			       "--parsable2",
			       "--allocations",
			       "--jobs",
			       id,
			       "--format=JobIDRaw,JobID,State,Start,End,SystemComment",
			       NULL };
	char *text;

	*out = (struct slurm_account){ 0 };
	snprintf(id, sizeof(id), "%u", (unsigned)job);
	text = read_program(argv, false, err);
	if (!text)
		return errappend(err, " (is slurmdbd up?)");
	for (const char *at = text; *at && !out->found;) {
		const char *next = at + strcspn(at, "\n");

		out->found = job_line(&out->job, &at) == 0 && out->job.job == job;
		if (out->found)
			copy_value(out->comment, sizeof(out->comment), at, (size_t)(next - at));
		at = next + (*next == '\n');
	}
	free(text);
	return 0;
}

int slurm_account_write(const struct slurm_account *account, const char *text, struct errbuf *err)
{
	char id[SLURM_NUMBER_MAX + 8], value[ARGUMENT_MAX];
	const char *argv[] = { "sacctmgr", "--immediate", "modify", "job", "where",
			       id,	   "set",	  value,    NULL };

	/*
	 * Use NUMBER, not JOB: the last task of an array has the array's job ID, and the first
	 * component of a heterogeneous job has the leader's. With this ID alone, sacctmgr changes
	 * all tasks or components.
	 */
	snprintf(id, sizeof(id), "jobid=%s", account->job.number);
	snprintf(value, sizeof(value), "SystemComment=%s", text);
	return run_change(argv, err);
}

int slurm_extra_read(char buf[SLURM_EXTRA_MAX], const char *node, struct errbuf *err)
{
	char width[64];
	const char *argv[] = { "sinfo",	  "--noheader", "--all", "--local", "--Node",
			       "--nodes", node,		width,	 NULL };
	char *text;

	snprintf(width, sizeof(width), "--Format=Extra:%d", SLURM_EXTRA_MAX);
	text = read_program(argv, false, err);
	if (!text)
		return -1;
	if (!*text) {
		free(text);
		errprintf(err, "sinfo knows no node %s", node);
		return 1;
	}
	/* sinfo prints a line for each partition */
	copy_value(buf, SLURM_EXTRA_MAX, text, strcspn(text, "\n"));
	free(text);
	if (strlen(buf) >= SLURM_EXTRA_MAX - 1)
		return errprintf(err, "its Extra has more than %d bytes", SLURM_EXTRA_MAX - 2);
	return 0;
}

int slurm_extra_write(const char *node, const char *text, struct errbuf *err)
{
	char name[320], value[ARGUMENT_MAX];
	const char *argv[] = { "scontrol", "update", name, value, NULL };

	snprintf(name, sizeof(name), "nodename=%s", node);
	snprintf(value, sizeof(value), "extra=%s", text);
	return run_change(argv, err);
}
