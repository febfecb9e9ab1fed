/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/gather.h"

#include <inttypes.h>
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
#define NODE_LIST_MAX (256u << 10)

void gather_value(const char *text, const char *name, char *buf, size_t size)
{
	char wanted[64];
	const char *at = text;

	buf[0] = '\0';
	snprintf(wanted, sizeof(wanted), "%s=", name);
	while ((at = strstr(at, wanted)) != NULL) {
		/* "NodeList=" is in "ReqNodeList=", too */
		if (at == text || at[-1] == ' ' || at[-1] == '\n') {
			at += strlen(wanted);
			snprintf(buf, size, "%.*s", (int)strcspn(at, " \n"), at);
			return;
		}
		at++;
	}
}

/* What a job is, as far as srun has to know. */
struct asked_job {
	uint32_t id;
	char state[32];
	char user[128], uid[24], gid[24]; /* "alice", "1000", "1000" */
	char *nodes; /* a name a line */
	unsigned n_nodes;
};

/* "alice(1000)" */
static void split_user(const char *text, char *name, size_t size, char *number, size_t number_size)
{
	const char *open = strchr(text, '(');

	if (name)
		snprintf(name, size, "%.*s", (int)strcspn(text, "("), text);
	snprintf(number, number_size, "%.*s", open ? (int)strcspn(open + 1, ")") : 0, open ? open + 1 : "");
}

static int look_at_job(struct asked_job *j, struct errbuf *err)
{
	char number[16], user[192], group[192], *list = malloc(NODE_LIST_MAX), *text;

	snprintf(number, sizeof(number), "%" PRIu32, j->id);
	text = list ? slurm_show("job", number, err) : NULL;
	if (!text) {
		free(list);
		return *err->text ? errwrap(err, "job %s", number) : errprintf(err, "out of memory");
	}
	gather_value(text, "JobState", j->state, sizeof(j->state));
	gather_value(text, "UserId", user, sizeof(user));
	gather_value(text, "GroupId", group, sizeof(group));
	gather_value(text, "NodeList", list, NODE_LIST_MAX);
	free(text);
	split_user(user, j->user, sizeof(j->user), j->uid, sizeof(j->uid));
	split_user(group, NULL, 0, j->gid, sizeof(j->gid));
	if (strcmp(j->state, "RUNNING") != 0 || !*list || strcmp(list, "(null)") == 0) {
		free(list);
		return errprintf(err, "job %s is %s: only a running job's nodes can be asked (--merge takes reports that were kept, as by --nodeos-report)", number,
				 *j->state ? j->state : "not known");
	}
	j->nodes = slurm_show("hostnames", list, err);
	free(list);
	for (const char *at = j->nodes; at && *at; at += strspn(at, "\n")) {
		j->n_nodes++;
		at += strcspn(at, "\n");
	}
	return j->nodes ? 0 : -1;
}

/* srun reads what it is told in SLURM_* variables, too: of the step or job that we are in. Its configuration stays. */
static void forget_step(void)
{
	static const char *const kept[] = { "SLURM_CONF=", "SLURM_JWT=", "SLURM_CLUSTERS=", "SLURM_CLUSTER_NAME=" };

	for (char **e = environ; *e;) {
		char name[256];
		bool keep = strncmp(*e, "SLURM_", 6) != 0 && strncmp(*e, "SRUN_", 5) != 0 && strncmp(*e, "SLURMD_", 7) != 0;

		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			keep |= strncmp(*e, kept[i], strlen(kept[i])) == 0;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (keep || unsetenv(name) < 0 || getenv(name))
			e++;
	}
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
	int rc;

	if (!program_find("srun", srun))
		return errprintf(err, "srun is not in PATH");
	if (look_at_job(&j, err) < 0)
		return -1;
	/* slurmctld lets nobody start steps in another's job, root neither */
	if (geteuid() == 0 && strcmp(j.uid, "0") != 0) {
		program_find("setpriv", setpriv);
		snprintf(uid, sizeof(uid), "--reuid=%s", j.uid);
		snprintf(gid, sizeof(gid), "--regid=%s", j.gid);
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
	forget_step();
	progress.all = j.n_nodes;
	rc = helper_run(&(struct helper_run){ .argv = argv, .uid = (uid_t)-1, .extra_fd = -1, .keep_stderr = true, .timeout = SECONDS, .output_max = PARCELS_MAX,
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
