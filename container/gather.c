/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/gather.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/helper_run.h"
#include "container/parcel.h"
#include "container/program.h"
#include "container/slurm_node.h"

#define SECONDS 180 /* until a node has not answered */
#define PARCELS_MAX (512u << 20)

/* What a job is, as far as srun has to know. */
struct asked_job {
	uint32_t id;
	char state[32];
	uint32_t uid, gid;
	char *nodes; /* a name a line */
	unsigned n_nodes;
};

/* What squeue says of job ID in FORMAT, on its line of an array or of several components; malloc'ed, or NULL. */
static char *ask_queue(uint32_t id, const char *format, struct errbuf *err)
{
	char program[PROGRAM_PATH_MAX], jobs[32], form[64];
	const char *argv[] = { program, "--noheader", "--states=all", jobs, form, NULL };
	struct helper_run h = { .argv = argv, .uid = (uid_t)-1, .extra_fd = -1, .timeout = 30, .output_max = 16u << 20 };
	char *text = NULL, *line = NULL;
	size_t len;

	snprintf(jobs, sizeof(jobs), "--jobs=%" PRIu32, id);
	snprintf(form, sizeof(form), "--format=%s", format);
	if (!program_find("squeue", program) || helper_run(&h, &text, err) != 0) {
		free(text);
		if (!*err->text)
			errprintf(err, "%s does not know it: is slurmctld up, and the job's number right?", program);
		return NULL;
	}
	len = (size_t)snprintf(form, sizeof(form), "%" PRIu32 " ", id);
	for (char *at = text; *at && !line; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, form, len) == 0)
			line = strndup(at + len, strcspn(at + len, "\n"));
	free(text);
	if (!line)
		errprintf(err, "%s does not know it", program);
	return line;
}

/*
 * By squeue, in fields that are Slurm's own words. What scontrol shows of a job has its name, command and comment in it, which its
 * user chooses: "x UserId=root(0)".
 */
static int look_at_job(struct asked_job *j, struct errbuf *err)
{
	char *text = ask_queue(j->id, "%A %T %U %G %N", err), *list;
	int n = -1;

	if (text)
		sscanf(text, "%31s %" SCNu32 " %" SCNu32 " %n", j->state, &j->uid, &j->gid, &n);
	if (text && n < 0)
		errprintf(err, "squeue has answered what this version does not know: %.60s", text);
	if (n < 0) {
		free(text);
		return errwrap(err, "job %" PRIu32, j->id);
	}
	list = text + n;
	if (strcmp(j->state, "RUNNING") != 0 || !*list || *list == '(' || *list == '-') {
		free(text);
		return errprintf(err, "job %" PRIu32 " is %s: only a running job's nodes can be asked (--merge takes reports that were kept, as by --nodeos-report)", j->id, j->state);
	}
	j->nodes = slurm_show("hostnames", list, err);
	free(text);
	for (const char *at = j->nodes; at && *at; at += strspn(at, "\n")) {
		j->n_nodes++;
		at += strcspn(at, "\n");
	}
	return j->nodes ? 0 : -1;
}

static bool begins_with_any(const char *text, const char *const *word)
{
	while (*word && strncmp(text, *word, strlen(*word)) != 0)
		word++;
	return *word;
}

/*
 * srun reads what it is told in SLURM_* variables, too: of the step or job that we are in. Its configuration stays. To OTHERS
 * goes nothing else of ours: whoever srun runs as reads its environment, and that of its tasks.
 */
static void forget(bool others)
{
	static const char *const slurm[] = { "SLURM_", "SLURMD_", "SRUN_", "SQUEUE_", NULL };
	static const char *const kept[] = { "SLURM_CONF=", "SLURM_JWT=", "SLURM_CLUSTERS=", "SLURM_CLUSTER_NAME=", NULL };
	static const char *const told[] = { "PATH=", "SLURM_CONF=", "LANG=", "LC_", "TZ=", "LD_LIBRARY_PATH=", NULL };

	char **to = environ;

	for (char **e = environ; *e; e++)
		if (others ? begins_with_any(*e, told) : begins_with_any(*e, kept) || !begins_with_any(*e, slurm))
			*to++ = *e;
	*to = NULL;
}

struct progress {
	unsigned all, seen;
};

static void heard(const char *text, size_t len, void *arg)
{
	struct progress *p = arg;
	unsigned n = parcel_count(text, len);

	if (n == p->seen)
		return;
	p->seen = n;
	fprintf(stderr, "\rnodeosctl: %u of %u nodes have answered%s", n, p->all, n < p->all ? "" : "\n");
}

/* Add what has come of each node. */
static int unpack(struct merged *out, const struct asked_job *j, const char *parcels, const char *reason, struct errbuf *err)
{
	char node[MERGED_NAME_MAX];
	struct errbuf why;

	for (const char *at = j->nodes; *at; at += strspn(at, "\n")) {
		char *text;
		int rc;

		snprintf(node, sizeof(node), "%.*s", (int)strcspn(at, "\n"), at);
		at += strcspn(at, "\n");
		text = parcels ? parcel_read(parcels, strlen(parcels), node) : NULL;
		if (!text)
			rc = merged_add_missing(out, node, reason);
		else if (merged_add(out, node, text, strlen(text), &why) < 0)
			rc = merged_add_missing(out, node, why.text);
		else
			rc = 0;
		free(text);
		if (rc < 0)
			return errprintf(err, "out of memory");
	}
	return 0;
}

int gather_job(struct merged *out, uint32_t job, struct errbuf *err)
{
	struct asked_job j = { .id = job };
	struct progress progress = { 0, 0 };
	struct errbuf why = { "" };
	char srun[PROGRAM_PATH_MAX], setpriv[PROGRAM_PATH_MAX], id[32], nodes[32], tasks[32], number[32], uid[40], gid[40];
	const char *argv[32], *reason;
	char *parcels = NULL;
	unsigned n = 0;
	bool others;
	int rc;

	if (!program_find("srun", srun))
		return errprintf(err, "srun is not in PATH");
	forget(false);
	if (look_at_job(&j, err) < 0)
		return -1;
	/* slurmctld lets nobody start steps in another's job, root neither */
	others = geteuid() == 0 && j.uid != 0;
	if (others) {
		program_find("setpriv", setpriv);
		snprintf(uid, sizeof(uid), "--reuid=%" PRIu32, j.uid);
		snprintf(gid, sizeof(gid), "--regid=%" PRIu32, j.gid);
		argv[n++] = setpriv;
		argv[n++] = uid;
		argv[n++] = gid;
		argv[n++] = "--init-groups";
		argv[n++] = "--";
	}
	snprintf(id, sizeof(id), "--jobid=%" PRIu32, job);
	snprintf(nodes, sizeof(nodes), "--nodes=%u", j.n_nodes);
	snprintf(tasks, sizeof(tasks), "--ntasks=%u", j.n_nodes);
	snprintf(number, sizeof(number), "--job=%" PRIu32, job);
	argv[n++] = srun;
	argv[n++] = id;
	argv[n++] = nodes;
	argv[n++] = tasks;
	argv[n++] = "--ntasks-per-node=1";
	argv[n++] = "--cpus-per-task=1";
	argv[n++] = "--overlap";
	argv[n++] = "--nodeos=off"; /* this step knows nothing of the request that the job has, and belongs into none of its containers */
	argv[n++] = "--mpi=none";
	argv[n++] = "--input=none";
	argv[n++] = "--chdir=/";
	argv[n++] = "--kill-on-bad-exit=0"; /* a node without nodeosd does not silence the others */
	argv[n++] = NODEOS_BINDIR "/nodeosctl";
	argv[n++] = "show";
	argv[n++] = "--parcel";
	argv[n++] = number;
	argv[n] = NULL;
	if (others)
		forget(true);
	progress.all = j.n_nodes;
	rc = helper_run(&(struct helper_run){ .argv = argv, .uid = (uid_t)-1, .extra_fd = -1, .keep_stderr = !others, .apart = others, .timeout = SECONDS, .output_max = PARCELS_MAX,
					      .keep_partial = true, .heard = isatty(STDERR_FILENO) ? heard : NULL, .arg = &progress },
			&parcels, &why);
	if (progress.seen && progress.seen < progress.all)
		putc('\n', stderr);
	reason = rc < 0 ? why.text : rc > 0 ? "no answer: srun, or nodeosctl show there, has failed" : "no answer";
	rc = unpack(out, &j, parcels, reason, err);
	free(parcels);
	free(j.nodes);
	return rc;
}
