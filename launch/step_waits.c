/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * After the last rank of a step has ended, read how long the ranks waited for CPUs, and what their
 * machines (nodeos-lwk) counted, and add both to the step's report.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/apart.h"
#include "host/cgroup.h"
#include "hugepages/rank_counts.h"
#include "launch/step_impl.h"

#define REPORT_SECONDS 5 /* the report's file system may hang */

/* Read the number after the first KEY of FILE. */
static bool read_number_after(uint64_t *out, int root_fd, const char *path, const char *file,
			      const char *key)
{
	char text[4096], *at, *end;
	struct errbuf ignored;

	if (cgroup_read(root_fd, path, file, text, sizeof(text), &ignored) < 0)
		return false;
	at = strstr(text, key);
	if (!at)
		return false;
	at += strlen(key);
	*out = strtoull(at, &end, 10);
	return end != at;
}

void step_waits_read(struct step_waits *out, int root_fd, const char *path)
{
	*out = (struct step_waits){ .measured = true };
	/* the first line is "some": at least one task was waiting */
	out->known = read_number_after(&out->waited_us, root_fd, path, "cpu.pressure", "total=") &&
		     read_number_after(&out->ran_us, root_fd, path, "cpu.stat", "usage_usec ");
}

static void rewrite_report(void *arg, void *result)
{
	const struct step *s = arg;
	bool *written = result;
	struct errbuf ignored;

	*written = step_report_again(s, &ignored) == 0;
}

/* Write the report again, with the user's rights: the file and its directories are the user's. */
static bool report_waits(struct step *s, struct errbuf *err)
{
	const struct apart a = {
		.work = rewrite_report,
		.arg = s,
		.size = sizeof(bool),
		.seconds = REPORT_SECONDS,
		.keep_fd = -1,
		.as_user = true,
		.ends_with_caller = true,
		.uid = s->in.uid,
		.gid = s->in.gid,
	};
	bool written = false;

	return apart_run(&a, &written, err) == APART_DONE && written;
}

/*
 * If the CPUs of PART's ranks have ticks, add to its reason the mean number of interrupts a second
 * of their machines. The ranks have written these numbers, so each can have any value.
 */
static void note_ticks_counted(struct step *s, unsigned part)
{
	struct rank_settings *g = &s->shared->part[part].given;
	double sum = 0;
	unsigned known = 0;
	char text[64];

	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		const struct rank_counted *c = &s->shared->rank[i].counted;

		if (s->shared->rank[i].part != part || !c->run_ns)
			continue;
		sum += (double)c->interrupts * 1e9 / (double)c->run_ns;
		known++;
	}
	if (!g->ticks || !known)
		return;
	snprintf(text, sizeof(text), "%.0f interrupts a second", sum / known);
	isolator_note(g, text);
}

/* Read what the ranks' machines counted. Returns whether any rank has a machine. */
static bool read_counts(struct step *s)
{
	struct step_shared *sh = s->shared;
	bool any = false;

	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		const struct rank_settings *g = &sh->part[sh->rank[i].part].given;

		if (!g->lwk.memory)
			continue;
		rank_counts_read(&sh->rank[i].counted, &g->counts, step_nth_of_part(s, i));
		any = true;
	}
	for (unsigned i = 0; any && i < s->shared->n_parts; i++)
		note_ticks_counted(s, i);
	return any;
}

/* Read how long the ranks waited. Returns -1 if the cgroup mount cannot be opened. */
static int read_waits(struct step *s)
{
	struct errbuf ignored;
	int fd = cgroup_open_root(NULL, &ignored);

	if (fd < 0)
		return -1;
	step_waits_read(&s->shared->waits, fd, s->user);
	close(fd);
	return 0;
}

void step_rank_ended(struct step *s)
{
	const struct step_waits *w = &s->shared->waits;
	struct errbuf err = { 0 };
	bool written = false, counted;

	if (++s->ended != s->in.n_ranks || atomic_load(&s->shared->failed))
		return;
	counted = read_counts(s);
	if (!s->shared->part[0].given.for_hpc && !counted)
		return;
	if (s->shared->part[0].given.for_hpc && read_waits(s) < 0)
		return;
	if (s->shared->report.inode)
		written = report_waits(s, &err);
	STEP_LOG(s, "waits",
		 "ranks waited %" PRIu64 " ms for CPUs, and ran %" PRIu64 " ms%s; report: %s",
		 w->waited_us / 1000, w->ran_us / 1000, w->known ? "" : " (unknown)",
		 written ? "written again" : "not written again");
}
