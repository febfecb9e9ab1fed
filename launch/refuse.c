/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for refused steps. */
#include <stdlib.h>
#include <string.h>

#include "jobplan/planner_input.h"
#include "launch/prepare_impl.h"

/*
 * Set *OUT to the CPUs that Slurm gave although they belong to the ServiceOS. Returns whether there
 * are any: then CpuSpecList in slurm.conf lacks them.
 */
static bool wrongly_given(const struct step *s, const struct node_view *v, struct idset *out)
{
	*out = *prepare_slurm_cpus(s, v);
	idset_and(out, &s->service.cpus);
	return !idset_empty(out);
}

#define TELL_ADMIN                                                                               \
	"CPUs %s are reserved for the system but slurm.conf does not list them in CpuSpecList: " \
	"ask your administrator to run nodeosctl verify"

static int append_blocks(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct idset held = v->held.containers;
	char a[128];

	idset_or(&held, &v->held.shares);
	idset_and(&held, &s->blocks.nodes);
	if (!idset_empty(&v->dirty))
		errappend(err,
			  " (blocks %s are unassigned but still hold pages: look for leftover "
			  "files in /dev/shm)",
			  idset_brief(a, &v->dirty));
	if (idset_empty(&held))
		return errappend(
			err, " (this node has blocks %s: programs can use %llu MiB of them)",
			idset_brief(a, &s->blocks.nodes),
			(unsigned long long)(blocks_usable(&s->blocks, &s->blocks.nodes) >> 20));
	return errappend(err,
			 " (blocks %s belong to other jobs: with --gres=fgmn:N, if the site "
			 "offers it, a job waits for N blocks)",
			 idset_brief(a, &held));
}

int prepare_refuse_no_block(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	errprintf(err, "no block of memory is free");
	return append_blocks(s, v, err);
}

int prepare_append_available(const struct step *s, const struct node_view *v,
			     const struct plan_input *in, struct errbuf *err)
{
	struct idset wrong;
	char a[128], b[128];

	if (err->code == PLAN_NO_MEMS && s->blocks.on)
		return append_blocks(s, v, err);
	if (err->code == PLAN_NO_MEMS && s->service.own_mems)
		return errappend(err, " (memory nodes %s are kept for the ServiceOS)",
				 idset_brief(a, &s->service.mems));
	if (err->code != PLAN_NO_CPUS)
		return -1;
	if (wrongly_given(s, v, &wrong))
		return errappend(err, " (%s has CPUs %s; " TELL_ADMIN ")",
				 v->of_step ? "this step" : "this job",
				 idset_brief(a, prepare_slurm_cpus(s, v)), idset_brief(b, &wrong));
	if (v->alone && !idset_empty(&s->service.cpus))
		errappend(err, " (%u threads of this node, CPUs %s, are kept for the ServiceOS)",
			  idset_count(&s->service.cpus), idset_brief(a, &s->service.cpus));
	if (s->kept)
		errappend(err, " (%s)", s->kept);
	return errappend(err,
			 !v->of_step && v->alone
				 ? " (this job has CPUs %s, which are all that jobs can have here)"
			 : !v->of_step
				 ? " (this job has CPUs %s here; --exclusive or -c gives it more)"
			 : v->alone && idset_equal(&in->cpus, &v->job_cpus)
				 ? " (this step has CPUs %s, which are all that jobs can have here)"
				 : " (this step has CPUs %s free; srun -c gives it more)",
			 idset_brief(a, &in->cpus));
}

int prepare_refuse_no_cpu(const struct step *s, const struct node_view *v, struct errbuf *err)
{
	struct idset wrong;
	char a[128], b[128];

	if (wrongly_given(s, v, &wrong))
		return errprintf(err, "no CPU is free: %s has CPUs %s; " TELL_ADMIN,
				 v->of_step ? "this step" : "this job",
				 idset_brief(a, prepare_slurm_cpus(s, v)), idset_brief(b, &wrong));
	if (s->kept)
		return errprintf(err, "no CPU is free: %s", s->kept);
	return errprintf(
		err, "no CPU of this step is free: other step containers of the job have them all");
}
