/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/rank_samples.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "counters/sampling.h"
#include "host/cgroup.h"

#define TIDS_MAX 4096 /* threads of a rank among which the sampled ones are chosen */

struct rank_samples {
	int cgroup_fd;
	unsigned pages;
	struct sampling *sampling; /* NULL: the host cannot sample */
	struct events_row row; /* row of SAMPLING, or the row with which it could not be opened */
	bool tried; /* ROW is valid */
	struct sampled *running; /* NULL: no rank is sampled */
	long due; /* monotonic milliseconds */
	struct miss miss[AROUND_MISSES];
	struct around around;
};

struct tid_list {
	unsigned n;
	pid_t tid[TIDS_MAX];
};

struct rank_samples *rank_samples_new(int cgroup_fd)
{
	struct rank_samples *s = calloc(1, sizeof(*s));

	if (s)
		s->cgroup_fd = cgroup_fd;
	return s;
}

void rank_samples_free(struct rank_samples *s)
{
	if (!s)
		return;
	sampled_end(s->running, NULL);
	sampling_close(s->sampling);
	free(s);
}

int rank_samples_configure(struct rank_samples *s, unsigned pages, const struct events_row *row,
			   struct errbuf *why)
{
	static const struct events_row none;

	row = row ? row : &none;
	s->pages = pages;
	if (!pages || (s->tried && memcmp(&s->row, row, sizeof(*row)) == 0))
		return 0;
	sampled_end(s->running, NULL);
	s->running = NULL;
	sampling_close(s->sampling);
	s->sampling = NULL;
	s->row = *row;
	s->tried = true;
	return sampling_open(&s->sampling, row == &none ? NULL : row, "", why);
}

bool rank_samples_able(const struct rank_samples *s)
{
	return s->pages && s->sampling;
}

static void add_tid(pid_t tid, void *arg)
{
	struct tid_list *l = arg;

	if (tid > 0 && l->n < TIDS_MAX)
		l->tid[l->n++] = tid;
}

int rank_samples_begin(struct rank_samples *s, const char *cgroup, struct errbuf *err)
{
	struct tid_list *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return errprintf(err, "out of memory");
	rc = cgroup_each_thread(s->cgroup_fd, cgroup, add_tid, l, err);
	if (rc == 0)
		rc = sampled_begin(&s->running, s->sampling, l->tid, l->n, err);
	s->due = monotonic_ms() + RANK_SAMPLES_MS;
	free(l);
	return rc;
}

enum rank_samples_state rank_samples_check(const struct rank_samples *s)
{
	if (!s->running)
		return SAMPLES_NONE;
	return monotonic_ms() < s->due ? SAMPLES_RUNNING : SAMPLES_DUE;
}

const struct around *rank_samples_end(struct rank_samples *s)
{
	struct miss_list list = { .miss = s->miss, .max = AROUND_MISSES };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	sampled_end(s->running, &list);
	s->running = NULL;
	around_choose(&s->around, s->miss, list.n, s->pages * page, page);
	return list.n ? &s->around : NULL;
}
