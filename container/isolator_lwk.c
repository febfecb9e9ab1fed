/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The isolator lwk: each rank of a step of srun runs in a virtual machine of nodeos-lwk, in an
 * extent of huge pages that root has made for the rank. Before its exec, the rank replaces its
 * program by nodeos-lwk-start (spank/stepd.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fileio.h"
#include "container/isolator.h"
#include "container/step_id.h"
#include "host/apart.h"
#include "hugepages/extent_file.h"
#include "limits/extent_share.h"

#define KVM "/dev/kvm"
#define NOHZ_FULL "/sys/devices/system/cpu/nohz_full"
/* bytes that a rank needs outside of its extent: program files, shared memory, its machine */
#define OUTSIDE_MIN (UINT64_C(16) << 20)
#define KVM_SECONDS 10

/*
 * Descriptors of this process, which is a rank: its extent, /dev/kvm if root opened it, and the
 * counts; -1: not open. COUNTS_SLOT: index of the rank's record in the counts.
 */
static int extent_fd = -1, kvm_fd = -1, counts_fd = -1;
static unsigned counts_slot;

static int lwk_allowed(const struct requested_container *ask, const struct conf *conf,
		       const char *conf_path, struct errbuf *err)
{
	if (!ask->lwk.memory)
		return 0;
	if (conf->lwk == LWK_NO)
		return errprintf(err,
				 "container %s: lwk: machines are not allowed at this site (lwk in "
				 "%s)",
				 ask->name, conf_path);
	if (conf->lwk_max && ask->lwk.memory > conf->lwk_max)
		return errprintf(err,
				 "container %s: lwk: an extent of %" PRIu64
				 " MiB is above this site's limit, %" PRIu64 " MiB (lwk_max in %s)",
				 ask->name, ask->lwk.memory >> 20, conf->lwk_max >> 20, conf_path);
	return 0;
}

static int lwk_possible(const struct request *r, const struct isolator_node *n, struct errbuf *err)
{
	for (unsigned i = 0; i < r->n; i++)
		if (n->job_memory && r->container[i].lwk.memory >= n->job_memory)
			return errprintf(
				err,
				"container %s: lwk: an extent of %" PRIu64
				" MiB does not fit in the job's memory here, %" PRIu64
				" MiB: ask for more memory (--mem), or for a smaller extent",
				r->container[i].name, r->container[i].lwk.memory >> 20,
				n->job_memory >> 20);
	return 0;
}

static int lwk_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)err;
	if (s->step_id < STEP_ID_INTERACTIVE)
		p->given->lwk = p->ask->lwk;
	else if (p->ask->lwk.memory)
		isolator_note(p->given,
			      "lwk: only ranks of srun have machines: this process has none");
	return 0;
}

/*
 * Runs in a process of its own. Sets *RESULT to 0, or to errno if /dev/kvm cannot be opened. With
 * lwk = auto the user opens it, otherwise root.
 */
static void try_kvm(void *arg, void *result)
{
	const struct isolator_step *s = arg;
	int *error = result;

	if (s->conf->lwk == LWK_AUTO &&
	    (setgroups((size_t)s->n_groups, s->group) < 0 ||
	     setresgid(s->gid, s->gid, s->gid) < 0 || setresuid(s->uid, s->uid, s->uid) < 0 ||
	     prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		*error = errno;
	else if (open(KVM, O_RDWR | O_CLOEXEC) < 0)
		*error = errno;
}

/*
 * Returns 0 if the ranks can have machines, 1 if they have to run natively, or -1 with the reason
 * why the step fails.
 */
static int check_kvm(const struct isolator_step *s, struct errbuf *err)
{
	struct apart apart = {
		.work = try_kvm,
		.arg = (void *)s,
		.size = sizeof(int),
		.seconds = KVM_SECONDS,
		.keep_fd = -1,
	};
	int error = 0;

	if (apart_run(&apart, &error, err) != APART_DONE)
		return errwrap(err, KVM);
	if (!error)
		return 0;
	if (s->conf->lwk_native)
		return 1;
	return errprintf(err, KVM ": %s: %s (lwk_fallback = native in %s needs no KVM)",
			 strerror(error),
			 error == EACCES || error == EPERM
				 ? "this user may not open it"
				 : "this node has no KVM, or its module is not loaded",
			 s->conf_path);
}

static void note_ticks(struct rank_settings *g)
{
	char text[4096];
	struct errbuf ignored;
	struct idset quiet;

	g->ticks = file_read_line(NOHZ_FULL, text, sizeof(text)) < 0 ||
		   idset_parse(&quiet, text, &ignored) < 0 || !idset_subset(&g->cpus, &quiet);
	if (g->ticks) /* launch/step_waits.c adds their number */
		isolator_note(g, "lwk: ranks get ticks: Linux was booted without nohz_full=CPUS");
}

static int lower_memory(const struct isolator_step *s, const struct isolator_part *p,
			struct errbuf *err)
{
	return extent_share_lower(s->cgroup_fd, s->user, p->given->lwk.memory * p->ranks,
				  p->ranks * OUTSIDE_MIN, err);
}

static int reserve_part(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	struct rank_settings *g = p->given;
	struct errbuf ignored = { 0 };
	bool shares = g->lwk.memory == REQUEST_LWK_SHARE;
	struct reserve_ask ask = isolator_reserve_ask(s, g);

	ask.ranks = p->ranks;
	ask.bytes = shares ? 0 : g->lwk.memory;
	ask.most = extent_share_of_step(s->cgroup_fd, s->user, p->ranks * OUTSIDE_MIN,
					s->conf->lwk_max * p->ranks);
	ask.page = g->lwk.page == LWK_PAGE_2M ? RESERVE_2M : RESERVE_1G;
	if ((!shares && lower_memory(s, p, err) < 0) || reserve_pages(&g->extents, &ask, err) < 0)
		return errwrap(err, "container %s: lwk", p->name);
	g->lwk.memory = g->extents.bytes;
	if (shares && lower_memory(s, p, err) < 0)
		return errwrap(err, "container %s: lwk", p->name);
	if (g->lwk.page == LWK_PAGE_1G && g->extents.page != RESERVE_1G)
		isolator_note(g, "lwk: 2M pages in place of 1G pages");
	note_ticks(g);
	/* if this fails, the report has no counts */
	rank_counts_make(&g->counts, p->ranks, &ignored);
	g->opens_kvm = s->conf->lwk == LWK_YES;
	return 0;
}

static int lwk_step(const struct isolator_step *s, struct errbuf *err)
{
	bool checked = false, native = false;

	for (unsigned i = 0; i < s->n; i++) {
		struct isolator_part *p = &s->part[i];

		if (!p->given->lwk.memory)
			continue;
		if (!checked) {
			int rc = check_kvm(s, err);

			if (rc < 0)
				return errwrap(err, "container %s: lwk", p->name);
			native = rc > 0;
			checked = true;
		}
		if (native) {
			memset(&p->given->lwk, 0, sizeof(p->given->lwk));
			isolator_note(p->given, "lwk: no KVM here: the ranks run natively");
		} else if (reserve_part(s, p, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static int lwk_show(const struct rank_settings *g, const struct isolator_place *at,
		    struct errbuf *err)
{
	struct errbuf ignored = { 0 };

	if (!g->lwk.memory)
		return 0;
	extent_fd = reserve_take(&g->extents, at->nth, err);
	/* without this proof, the report shows how contiguous all extents together are */
	if (extent_fd >= 0 &&
	    extent_file_prove(at->extent, extent_fd, g->extents.page, &ignored) < 0)
		memset(at->extent, 0, sizeof(*at->extent));
	counts_fd = rank_counts_take(&g->counts, &ignored);
	counts_slot = at->nth;
	if (extent_fd >= 0 && g->opens_kvm) {
		kvm_fd = open(KVM, O_RDWR); /* stays open in execve() */
		if (kvm_fd < 0)
			errprintf(err, KVM ": %s", strerror(errno));
	}
	if (extent_fd >= 0 && (kvm_fd >= 0 || !g->opens_kvm))
		return 0;
	return errwrap(err, "container %s: lwk", at->container);
}

/* Check that the rank's extent is open in this process, with a sealed size. */
static int lwk_verify(const struct rank_settings *g, const struct isolator_rank *r,
		      struct errbuf *err)
{
	int seals = g->lwk.memory ? fcntl(extent_fd, F_GET_SEALS) : F_SEAL_GROW;

	if (seals >= 0 && (seals & F_SEAL_GROW))
		return 0;
	return errprintf(err, "rank %u: its extent (lwk) is not open in its process", r->number);
}

/* Give the options of nodeos-lwk, which nodeos-lwk-start takes from the environment. */
static void lwk_values(const struct rank_settings *g,
		       void (*fn)(const char *name, const char *value, void *arg), void *arg)
{
	char value[128] = "";

	if (g && g->lwk.memory)
		snprintf(value, sizeof(value),
			 "--given=%d,%d --record=%d,%u --memory=%" PRIu64 "M --page=%s%s",
			 extent_fd, kvm_fd, counts_fd, counts_slot, g->lwk.memory >> 20,
			 g->extents.page == RESERVE_1G ? "1G" : "2M",
			 g->lwk.loose ? " --loose" : "");
	fn("NODEOS_LWK", value, arg);
}

static void lwk_outcome(struct outcomes *o, const struct reported_container *j)
{
	if (!j->ask->lwk.memory)
		return;
	if (!j->node.policy_known)
		outcome_note(outcome_of(o, "lwk"), OUTCOME_ENFORCED,
			     "if the node has KVM and enough contiguous memory");
	else
		outcome_of(o, "lwk");
}

static void lwk_asked(struct json_out *j, const struct requested_container *ask)
{
	if (!ask->lwk.memory)
		return;
	jout_open(j, "lwk", '{');
	if (ask->lwk.memory != REQUEST_LWK_SHARE)
		jout_number(j, "memory_bytes", ask->lwk.memory);
	if (ask->lwk.page != LWK_PAGE_UNSET)
		jout_string(j, "page", lwk_page_name(ask->lwk.page));
	if (ask->lwk.loose)
		jout_string(j, "loose", "yes");
	jout_close(j, '}');
}

static void lwk_report(struct json_out *j, const struct reported_container *c)
{
	lwk_asked(j, c->ask);
}

static void lwk_text(FILE *f, const struct reported_container *c)
{
	if (c->ask->lwk.memory == REQUEST_LWK_SHARE)
		fputs(", each rank in a machine with its share of the memory in huge pages", f);
	else if (c->ask->lwk.memory)
		fprintf(f, ", each rank in a machine with %" PRIu64 " MiB of huge pages",
			c->ask->lwk.memory >> 20);
}

static int lwk_resize(const struct isolator_change *c, struct errbuf *err)
{
	if (!c->ask->lwk.memory || idset_subset(&c->before->mems, &c->next->mems))
		return 0;
	return errprintf(err,
			 "container %s has extents (lwk) in its memory nodes, so they cannot be "
			 "taken away",
			 c->next->name);
}

static void lwk_release(const char *state_dir, uint64_t inode, int index)
{
	struct errbuf ignored;
	int fd;

	/* extents belong to steps, not to containers of a job */
	if (index >= 0)
		return;
	fd = cgroup_open_root(NULL, &ignored);
	reserve_release(state_dir, fd, inode);
	if (fd >= 0)
		close(fd);
}

const struct isolator isolator_lwk = {
	.allowed = lwk_allowed,
	.possible = lwk_possible,
	.give = lwk_give,
	.step = lwk_step,
	.show = lwk_show,
	.verify = lwk_verify,
	.values = lwk_values,
	.outcome = lwk_outcome,
	.asked = lwk_asked,
	.report = lwk_report,
	.text = lwk_text,
	.resize = lwk_resize,
	.release = lwk_release,
};
