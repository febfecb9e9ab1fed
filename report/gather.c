/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/gather.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "base/subprocess.h"
#include "host/slurm_conf.h"
#include "report/parcel.h"

#define SECONDS 180 /* seconds for all nodes to answer */
#define PARCELS_MAX (512u << 20)

/* ------------------------------------------------------------- jobs and their nodes */

/*
 * A job record of Slurm, as far as srun needs it: a job, a task of an array, or a component of a
 * heterogeneous job.
 */
struct record {
	/* number of this job, and of the first component or the array */
	uint32_t id, leader;
	long part; /* number of the component, or of the task; -1: neither */
	bool component;
	char state[32], uid[24], gid[24];
	const char *nodes; /* as Slurm writes them; points into the text of the records */
};

struct records {
	char *text;
	unsigned n;
	struct record *r;
};

static void free_records(struct records *all)
{
	free(all->text);
	free(all->r);
}

static bool gather_is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")] && strlen(text) <= 10;
}

/* Parse LINE, which is modified: "7|7|RUNNING|1000|1000|n[0-2]", "8|7+1|...", "9|7_2|...",
 * "7|7_[3-5]|PENDING|...". false: LINE is in none of these forms. */
static bool read_record(struct record *out, char *line)
{
	char *field[6] = { line }, *end;

	for (int i = 1; i < 6; i++) {
		field[i] = strchr(field[i - 1], '|');
		if (!field[i])
			return false;
		*field[i]++ = '\0';
	}
	if (!gather_is_number(field[0]) || !gather_is_number(field[3]) ||
	    !gather_is_number(field[4]))
		return false;
	*out = (struct record){ .id = (uint32_t)strtoul(field[0], NULL, 10),
				.leader = (uint32_t)strtoul(field[1], &end, 10),
				.part = -1,
				.nodes = field[5] };
	out->component = *end == '+';
	if ((*end == '+' || *end == '_') && gather_is_number(end + 1))
		out->part = strtol(end + 1, NULL, 10);
	snprintf(out->state, sizeof(out->state), "%s", field[2]);
	snprintf(out->uid, sizeof(out->uid), "%s", field[3]);
	snprintf(out->gid, sizeof(out->gid), "%s", field[4]);
	return true;
}

/* Does J mean this record? */
static bool is_meant(const struct record *r, const struct gather_job *j)
{
	if (j->task >= 0)
		return !r->component && r->leader == j->id && r->part == j->task;
	/*
	 * an array's last task has the array's own job id; inside of that task, J means that task
	 * alone
	 */
	if (j->inside && !r->component)
		return r->id == j->id;
	return r->id == j->id || r->leader == j->id;
}

/* Keep the records of running jobs that J means. */
static int gather_choose(struct records *all, const struct gather_job *j, const char *name,
			 struct errbuf *err)
{
	char state[32] = "not known", tasks[128] = "";
	unsigned n = 0;

	for (unsigned i = 0; i < all->n; i++) {
		const struct record r = all->r[i];

		if (!is_meant(&r, j))
			continue;
		if (strcmp(r.state, "RUNNING") == 0 && *r.nodes)
			all->r[n++] = r;
		else if (!n)
			snprintf(state, sizeof(state), "%s", r.state);
	}
	all->n = n;
	if (n == 0)
		return errprintf(err,
				 "job %s is %s: only nodes of a running job can answer (--merge "
				 "takes saved reports, such as those of --nodeos-report)",
				 name, state);
	if (n == 1 || all->r[0].component)
		return 0;
	for (unsigned i = 0; i < n && strlen(tasks) < sizeof(tasks) - 16; i++)
		snprintf(tasks + strlen(tasks), sizeof(tasks) - strlen(tasks), " %ld",
			 all->r[i].part);
	return errprintf(err,
			 "job %s is an array of which %u tasks run: name one, such as --job=%s_%ld "
			 "(running:%s%s)",
			 name, n, name, all->r[0].part, tasks,
			 strlen(tasks) >= sizeof(tasks) - 16 ? "..." : "");
}

static int look_up(struct records *out, const struct gather_job *j, struct errbuf *err)
{
	char name[40], first[64], *save = NULL;

	memset(out, 0, sizeof(*out));
	snprintf(name, sizeof(name), j->task < 0 ? "%" PRIu32 : "%" PRIu32 "_%ld", j->id, j->task);
	out->text = slurm_job_records(name, err);
	if (!out->text)
		return errwrap(err, "job %s", name);
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(out->text, "\n"), out->text);
	for (char *line = strtok_r(out->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct record *more = reallocarray(out->r, out->n + 1u, sizeof(*more));

		if (!more)
			return errprintf(err, "out of memory");
		out->r = more;
		out->n += read_record(&more[out->n], line);
	}
	if (!out->n && *first)
		return errprintf(err,
				 "job %s: nodeosctl does not understand this line of squeue: %s",
				 name, first);
	return gather_choose(out, j, name, err);
}

/* -------------------------------------------------------------------------- queries */

static bool begins_with_any(const char *text, const char *const *word)
{
	while (*word && strncmp(text, *word, strlen(*word)) != 0)
		word++;
	return *word;
}

/*
 * Remove variables that srun and squeue read as options, whether the surrounding step or job or the
 * user has set them. Variables of Slurm's configuration stay. If OTHERS (the job is another
 * user's), remove all variables but a few: the job's user can read the environment of srun and its
 * tasks.
 */
static void forget_environment(bool others)
{
	static const char *const slurm[] = { "SLURM_", "SLURMD_", "SRUN_", "SQUEUE_", NULL };
	static const char *const kept[] = { "SLURM_CONF=", "SLURM_JWT=", "SLURM_CLUSTERS=",
					    "SLURM_CLUSTER_NAME=", NULL };
	static const char *const told[] = { "PATH=", "SLURM_CONF=",	 "LANG=", "LC_",
					    "TZ=",   "LD_LIBRARY_PATH=", NULL };

	char **to = environ;

	for (char **e = environ; *e; e++)
		if (others ? begins_with_any(*e, told)
			   : begins_with_any(*e, kept) || !begins_with_any(*e, slurm))
			*to++ = *e;
	*to = NULL;
}

struct progress {
	unsigned all, seen;
	size_t at; /* text before this offset is counted */
};

static void count_answers(const char *text, size_t len, void *arg)
{
	struct progress *p = arg;
	unsigned n = parcel_count(text, len, &p->at);

	if (!n)
		return;
	p->seen += n;
	fprintf(stderr, "\rnodeosctl: %u of %u nodes have answered%s", p->seen, p->all,
		p->seen < p->all ? "" : "\n");
}

/* Add the answer of each of NODES, one name a line. */
static int unpack_answers(struct merged *out, const char *nodes, const struct parcels *parcels,
			  const char *reason, struct errbuf *err)
{
	char node[MERGED_NAME_MAX];
	struct errbuf why;

	for (const char *at = nodes; *at; at += strspn(at, "\n")) {
		char *text;
		int rc;

		snprintf(node, sizeof(node), "%.*s", (int)strcspn(at, "\n"), at);
		at += strcspn(at, "\n");
		text = parcel_read(parcels, node);
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

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (const char *at = text; *at; at += strspn(at, "\n")) {
		n++;
		at += strcspn(at, "\n");
	}
	return n;
}

/* The command line of srun, or of setpriv that starts srun, and buffers for its words. */
struct call {
	const char *argv[32];
	char srun[PROGRAM_PATH_MAX], setpriv[PROGRAM_PATH_MAX], uid[40], gid[40], jobid[32],
		group[40], nodes[32], tasks[32], job[32];
};

static void make_call(struct call *c, const struct record *r, unsigned n_nodes)
{
	unsigned n = 0;

	/* slurmctld lets no user, not even root, start steps in another user's job */
	if (geteuid() == 0 && strcmp(r->uid, "0") != 0) {
		program_find("setpriv", c->setpriv);
		snprintf(c->uid, sizeof(c->uid), "--reuid=%s", r->uid);
		snprintf(c->gid, sizeof(c->gid), "--regid=%s", r->gid);
		c->argv[n++] = c->setpriv;
		c->argv[n++] = c->uid;
		c->argv[n++] = c->gid;
		c->argv[n++] = "--init-groups";
		c->argv[n++] = "--";
	}
	snprintf(c->jobid, sizeof(c->jobid), "--jobid=%" PRIu32, r->component ? r->leader : r->id);
	snprintf(c->nodes, sizeof(c->nodes), "--nodes=%u", n_nodes);
	snprintf(c->tasks, sizeof(c->tasks), "--ntasks=%u", n_nodes);
	snprintf(c->job, sizeof(c->job), "--job=%" PRIu32, r->id);
	c->argv[n++] = c->srun;
	c->argv[n++] = c->jobid;
	if (r->component) {
		snprintf(c->group, sizeof(c->group), "--het-group=%ld", r->part);
		c->argv[n++] = c->group;
	}
	c->argv[n++] = c->nodes;
	c->argv[n++] = c->tasks;
	c->argv[n++] = "--ntasks-per-node=1";
	c->argv[n++] = "--cpus-per-task=1";
	c->argv[n++] = "--overlap";
	/* without the job's request, this step is in none of the job's containers */
	c->argv[n++] = "--nodeos=off";
	c->argv[n++] = "--mpi=none";
	c->argv[n++] = "--input=none";
	c->argv[n++] = "--chdir=/";
	/* a node without nodeosd must not end the tasks on other nodes */
	c->argv[n++] = "--kill-on-bad-exit=0";
	c->argv[n++] = NODEOS_BINDIR "/nodeosctl";
	c->argv[n++] = "show";
	c->argv[n++] = "--parcel";
	c->argv[n++] = c->job;
	c->argv[n] = NULL;
}

static int ask_record(struct merged *out, const struct record *r, const char *srun,
		      struct errbuf *err)
{
	char *nodes = slurm_show("hostnames", r->nodes, err), *text = NULL;
	struct progress progress = { .all = nodes ? count_lines(nodes) : 0 };
	struct errbuf why = { 0 };
	struct parcels parcels;
	const char *reason;
	struct call c;
	bool others;
	int rc;

	if (!nodes)
		return -1;
	snprintf(c.srun, sizeof(c.srun), "%s", srun);
	make_call(&c, r, progress.all);
	others = c.argv[0] == c.setpriv;
	if (others)
		forget_environment(true);
	rc = subprocess_run(&(struct subprocess){ .argv = c.argv,
						  .uid = (uid_t)-1,
						  .extra_fd = -1,
						  .keep_stderr = !others,
						  .apart = others,
						  .timeout = SECONDS,
						  .output_max = PARCELS_MAX,
						  .keep_partial = true,
						  .on_output = isatty(STDERR_FILENO) ? count_answers
										     : NULL,
						  .arg = &progress },
			    &text, &why);
	if (progress.seen && progress.seen < progress.all)
		putc('\n', stderr);
	reason = rc < 0	  ? why.text
		 : rc > 0 ? "no answer: srun, or nodeosctl show on that node, has failed"
			  : "no answer";
	rc = parcels_index(&parcels, text ? text : "") < 0
		     ? errprintf(err, "out of memory")
		     : unpack_answers(out, nodes, &parcels, reason, err);
	parcels_free(&parcels);
	free(text);
	free(nodes);
	return rc;
}

int gather_job(struct merged *out, const struct gather_job *j, struct errbuf *err)
{
	char srun[PROGRAM_PATH_MAX];
	struct records all;
	int rc;

	if (!program_find("srun", srun))
		return errprintf(err, "srun is not in PATH");
	forget_environment(false);
	rc = look_up(&all, j, err);
	for (unsigned i = 0; rc == 0 && i < all.n; i++)
		rc = ask_record(out, &all.r[i], srun, err);
	free_records(&all);
	return rc;
}
