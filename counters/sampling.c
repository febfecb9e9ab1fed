/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/sampling.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/call_limit.h"
#include "base/fileio.h"

#define OPEN_MS 50 /* milliseconds that opening the events of a rank may take */
#define PRECISE 2 /* precise_ip; with less, samples of Intel have no address */

struct sampling {
	struct call_limit limit;
	struct perf_event_attr attr;
};

struct sampled_thread {
	int fd;
	struct perf_event_mmap_page *ring; /* followed by SAMPLING_RING bytes */
};

struct sampled {
	unsigned n;
	struct sampled_thread thread[SAMPLING_THREADS];
};

static size_t ring_length(void)
{
	return (size_t)sysconf(_SC_PAGESIZE) + SAMPLING_RING;
}

static void close_ring(struct sampled_thread *t)
{
	munmap(t->ring, ring_length());
	close(t->fd);
}

/* Open the event for thread TID (0: the caller). Returns 0, or -1 with errno. */
static int open_ring(struct sampled_thread *t, const struct sampling *s, pid_t tid)
{
	struct perf_event_attr attr = s->attr;
	int error;

	t->fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (t->fd < 0)
		return -1;
	t->ring = mmap(NULL, ring_length(), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->ring != MAP_FAILED)
		return 0;
	error = errno;
	close(t->fd);
	errno = error;
	return -1;
}

/* Append the misses of T to LIST. */
static void take_ring(const struct sampled_thread *t, struct miss_list *list)
{
	uint64_t head = __atomic_load_n(&t->ring->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)t->ring + sysconf(_SC_PAGESIZE);

	/* the event is off, so the ring does not change; invalid records give no misses */
	miss_ring_read(list, data, SAMPLING_RING, t->ring->data_tail, head, NULL);
}

/* ------------------------------------------------------------------ host */

/* Find the number of the PMU. Returns 0, or -1 with the reason. */
static int find_pmu(uint32_t *type, const char *root, const char *pmu, struct errbuf *err)
{
	char path[PATH_MAX], text[32], *end;
	unsigned long number;

	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices/%s/type", root, pmu);
	if (file_read_line(path, text, sizeof(text)) < 0)
		return errprintf(err, "this host has no PMU %s", pmu);
	number = strtoul(text, &end, 10);
	if (end == text || *end || number > INT32_MAX)
		return errprintf(err, "%s: expected the number of a PMU", path);
	*type = (uint32_t)number;
	return 0;
}

/* Try to sample the caller, if need be with the kernel's misses. Returns 0, or -1 with errno. */
static int try_ring(struct sampling *s)
{
	struct sampled_thread t;
	int rc = open_ring(&t, s, 0);

	if (rc < 0 && (errno == EINVAL || errno == EOPNOTSUPP)) {
		s->attr.exclude_kernel = 0; /* IBS cannot leave out the kernel */
		rc = open_ring(&t, s, 0);
	}
	if (rc == 0)
		close_ring(&t);
	return rc;
}

static int fill_attr(struct perf_event_attr *attr, const struct events_row *row, const char *root,
		     struct errbuf *err)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_RAW,
		.size = sizeof(*attr),
		.config = row->sample.config,
		.config1 = row->sample.config1,
		/* a frequency would need the tick on all CPUs, even on those of nohz_full= */
		.sample_period = SAMPLING_PERIOD,
		.sample_type = MISS_SAMPLE,
		.exclude_kernel = 1,
		.precise_ip = PRECISE,
	};
	if (!*row->sample_pmu)
		return 0;
	attr->precise_ip = 0;
	return find_pmu(&attr->type, root, row->sample_pmu, err);
}

int sampling_open(struct sampling **out, const struct events_row *row, const char *root,
		  struct errbuf *err)
{
	struct sampling *s;

	if (!row || !row->n_sample)
		return errprintf(err, "row %s: no event gives addresses of misses",
				 row ? row->name : "none");
	s = calloc(1, sizeof(*s));
	if (!s)
		return errprintf(err, "out of memory");
	if (fill_attr(&s->attr, row, root, err) == 0) {
		if (try_ring(s) < 0)
			errprintf(err, "cannot sample misses: %s", strerror(errno));
		else if (call_limit_open(&s->limit, err) == 0) {
			*out = s;
			return 0;
		}
	}
	free(s);
	return errwrap(err, "row %s", row->name);
}

void sampling_close(struct sampling *s)
{
	if (!s)
		return;
	call_limit_close(&s->limit);
	free(s);
}

/* ------------------------------------------------------------------ ranks */

int sampled_begin(struct sampled **out, struct sampling *s, const pid_t *tid, unsigned n,
		  struct errbuf *err)
{
	unsigned wanted = n < SAMPLING_THREADS ? n : SAMPLING_THREADS;
	struct sampled *r = calloc(1, sizeof(*r));
	int error = ESRCH;

	if (!r)
		return errprintf(err, "out of memory");
	call_limit_begin(&s->limit, OPEN_MS);
	for (unsigned i = 0; i < wanted; i++) {
		pid_t next = tid[(uint64_t)i * n / wanted];

		if (open_ring(&r->thread[r->n], s, next) == 0)
			r->n++;
		else if (errno != ESRCH)
			error = errno;
	}
	call_limit_end(&s->limit);
	if (r->n) {
		*out = r;
		return 0;
	}
	free(r);
	return errprintf(err, "cannot sample misses: %s", strerror(error));
}

void sampled_end(struct sampled *r, struct miss_list *list)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n; i++)
		ioctl(r->thread[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned i = 0; i < r->n; i++) {
		if (list)
			take_ring(&r->thread[i], list);
		close_ring(&r->thread[i]);
	}
	free(r);
}
