/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/textfile.h"
#include "container/container_json.h"
#include "host/affinity.h"
#include "hugepages/rank_report.h"
#include "launch/report_path.h"
#include "launch/step_impl.h"

static void put_rank(struct json_out *j, const struct step_rank *r, const struct step_part *p)
{
	jout_open(j, NULL, '{');
	jout_number(j, "rank", r->global_rank);
	jout_number(j, "pid", (unsigned)r->pid);
	jout_string(j, "container", *p->container ? p->container : NULL);
	jout_set(j, "slurm_cpus", &r->bound);
	jout_set(j, "cpus", &r->chosen);
	if (p->given.lwk.memory)
		rank_report_json(j, &p->given.extents, &p->given.mems, &r->extent, &r->counted);
	if (p->given.guest.ranks)
		guest_report_json(j, &p->given.extents, p->given.guest.extents, &p->given.mems,
				  p->given.guest.ranks);
	if (r->entered) {
		jout_open(j, "kernel", '{');
		jout_set(j, "cpus", &r->kernel_cpus);
		jout_set(j, "mems", &r->kernel_mems);
		jout_string(j, "policy", policy_by_number(r->kernel_policy));
		jout_number(j, "priority", (unsigned)r->kernel_priority);
		outcome_hpc_json(j,
				 r->kernel_policy == NODEOS_SCHED_HPC ? POLICY_HPC : POLICY_OTHER,
				 (unsigned)r->kernel_priority, r->kernel_quantum);
		jout_string(j, "mempolicy", membind_name(r->kernel_mempolicy));
		jout_set(j, "mempolicy_nodes", &r->kernel_membind);
		jout_close(j, '}');
	}
	jout_close(j, '}');
}

static void put_waits(struct json_out *j, const struct step_waits *w)
{
	if (!w->measured || !w->known)
		return;
	jout_open(j, "waits", '{');
	jout_number(j, "waited_us", w->waited_us);
	jout_number(j, "ran_us", w->ran_us);
	jout_close(j, '}');
}

/* Does the part differ from the request for a reason outside of its container's isolators? */
static bool differs_from_request(const struct step_part *p)
{
	return p->shares_all || p->shares_ranks || p->fewer_cpus || p->takes_turns ||
	       *p->given.no_partition || *p->given.unlimited;
}

/* Outcomes are ordered from good to bad. */
static enum outcome part_outcome(const struct step_part *p)
{
	return differs_from_request(p) && p->outcome < OUTCOME_MODIFIED ? OUTCOME_MODIFIED
									: p->outcome;
}

/* Return the outcome of a part's ranks as a word. */
static const char *part_word(const struct step_part *p)
{
	if (p->kind == STEP_NONE)
		return "unconstrained";
	if (p->shares_all || (differs_from_request(p) && p->outcome < OUTCOME_MODIFIED))
		return outcome_name(OUTCOME_MODIFIED);
	return p->kind == STEP_NAMED ? outcome_name(p->outcome) : "rest";
}

static const char *part_reason(const struct step *s, const struct step_part *p, char *buf,
			       size_t size)
{
	if (p->shares_all)
		return "the containers have every CPU of the job: this step, which selects no "
		       "container, runs on all of them";
	if (*p->given.no_partition)
		return p->given.no_partition;
	if (*p->given.unlimited)
		return p->given.unlimited;
	if (!p->shares_ranks && p->fewer_cpus)
		snprintf(buf, size, "-c %u does not fit%s%s: a rank has %u CPUs",
			 s->in.cpus_per_task, *p->container ? " in container " : "", p->container,
			 p->fewer_cpus);
	if (!p->shares_ranks && !p->fewer_cpus && p->takes_turns &&
	    p->outcome <= OUTCOME_MODIFIED) {
		snprintf(buf, size,
			 "%u ranks with policy \"hpc\" have fewer CPUs%s%s: ", p->n_ranks,
			 *p->container ? " in container " : "", p->container);
		if (p->given.quantum)
			snprintf(buf + strlen(buf), size - strlen(buf),
				 "they take turns of %u ms (the quantum)", p->given.quantum);
		else
			snprintf(buf + strlen(buf), size - strlen(buf),
				 "with quantum:0 each waits until another blocks or yields");
		if (*p->why)
			snprintf(buf + strlen(buf), size - strlen(buf), "; %s", p->why);
		return buf;
	}
	if (!p->shares_ranks)
		return p->fewer_cpus ? buf : *p->why ? p->why : NULL;
	snprintf(buf, size,
		 "ranks of step %u use the same CPUs%s%s: give each step its own container",
		 p->shares_with, *p->container ? " of container " : "", p->container);
	return buf;
}

/* Return the part with the worst outcome; the first of several. */
static const struct step_part *worst_part(const struct step_shared *sh)
{
	const struct step_part *worst = &sh->part[0];

	for (unsigned i = 1; i < sh->n_parts; i++)
		if (part_outcome(&sh->part[i]) > part_outcome(worst))
			worst = &sh->part[i];
	return worst;
}

static void put_step(FILE *f, const struct step *s)
{
	const struct step_shared *sh = s->shared;
	struct json_out j = { .f = f };
	const struct step_part *worst = worst_part(sh);
	bool failed = atomic_load(&sh->failed);
	const char *container = sh->n_parts == 1 && *worst->container ? worst->container : NULL;
	char reason[256];
	char id[16];

	step_id_format(s->in.step_id, id);
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", REPORT_SCHEMA);
	jout_string(&j, "kind", "step");
	jout_string(&j, "node", s->node);
	jout_number(&j, "job", s->in.job_id);
	jout_string(&j, "step", id);
	jout_number(&j, "uid", s->in.uid);
	jout_string(&j, "outcome", failed ? "failed" : part_word(worst));
	jout_string(&j, "error", failed ? sh->error : NULL);
	jout_string(&j, "reason", failed ? NULL : part_reason(s, worst, reason, sizeof(reason)));
	jout_string(&j, "container", container);
	jout_open(&j, "ranks", '[');
	for (unsigned i = 0; i < s->in.n_ranks; i++)
		put_rank(&j, &sh->rank[i], &sh->part[sh->rank[i].part]);
	jout_close(&j, ']');
	put_waits(&j, &sh->waits);
	jout_raw_members(&j, sh->plan_json);
	jout_close(&j, '}');
}

/* Write the report to FD, the open file of PATH, and close FD. */
static int write_report(const struct step *s, int fd, const char *path, struct errbuf *err)
{
	FILE *f = fdopen(fd, "w");
	struct stat emptied;

	if (!f) {
		errprintf(err, "--nodeos-report: %s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	put_step(f, s);
	if (textfile_close(f, &emptied) == 0)
		return 0;
	errprintf(err, "--nodeos-report: %s: %s", path, strerror(errno));
	/* a partial report is removed from the file: readers would fail on truncated JSON */
	if (emptied.st_mode)
		errappend(err, " (left empty)");
	return -1;
}

/*
 * If the report is a regular file, keep its absolute path: slurmstepd, which has another working
 * directory, writes it again.
 */
static void note_report(struct step_report_file *out, const char *path, const struct stat *st)
{
	char here[STEP_REPORT_PATH_MAX];
	int n;

	if (!S_ISREG(st->st_mode) || (*path != '/' && !getcwd(here, sizeof(here))))
		return;
	n = snprintf(out->path, sizeof(out->path), "%s%s%s", *path == '/' ? "" : here,
		     *path == '/' ? "" : "/", path);
	if (n < 0 || (size_t)n >= sizeof(out->path))
		return;
	out->device = st->st_dev;
	out->inode = st->st_ino;
}

int step_report(const struct step *s, struct errbuf *err)
{
	const struct report_names names = { s->in.job_id, s->in.step_id, s->node };
	char path[STEP_REPORT_PATH_MAX];
	struct stat st;
	int fd;

	if (report_path(path, sizeof(path), s->in.report, &names, err) < 0)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd < 0)
		return errprintf(err, "--nodeos-report: %s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0)
		note_report(&s->shared->report, path, &st);
	return write_report(s, fd, path, err);
}

int step_report_again(const struct step *s, struct errbuf *err)
{
	const struct step_report_file *to = &s->shared->report;
	int fd = open(to->path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	/* in another mount namespace, or after another step's report, the path is another file */
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != to->device || st.st_ino != to->inode ||
	    ftruncate(fd, 0) < 0) {
		if (fd >= 0)
			close(fd);
		return errprintf(err, "%s is not the report of this step", to->path);
	}
	return write_report(s, fd, to->path, err);
}
