/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/miss_ring.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

/* The body of a PERF_RECORD_SAMPLE with MISS_SAMPLE. */
struct sample_body {
	uint32_t pid, tid;
	uint64_t address, source;
};

/* The beginning of the body of a PERF_RECORD_LOST. */
struct lost_body {
	uint64_t id, lost;
};

#define USER_END ((uint64_t)1 << 63)

static void copy_ring(void *to, const void *ring, size_t size, uint64_t at, size_t len)
{
	size_t from = at & (size - 1), first = len < size - from ? len : size - from;

	memcpy(to, (const char *)ring + from, first);
	memcpy((char *)to + first, ring, len - first);
}

static void add_lost(struct miss_list *out, uint64_t n)
{
	out->lost = out->lost + n < n ? UINT64_MAX : out->lost + n;
}

/* Did a cache have the line? An unknown source counts as memory. */
static bool source_is_cache(uint64_t source)
{
	const union perf_mem_data_src s = { .val = source };

	return s.mem_lvl & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_L2 | PERF_MEM_LVL_L3);
}

static void add_miss(struct miss_list *out, const struct sample_body *s)
{
	if (!s->pid || s->pid > INT32_MAX || !s->address || s->address >= USER_END ||
	    source_is_cache(s->source))
		return;
	if (out->n == out->max) {
		add_lost(out, 1);
		return;
	}
	out->miss[out->n++] = (struct miss){ .pid = (pid_t)s->pid, .address = s->address };
}

int miss_ring_read(struct miss_list *out, const void *ring, size_t size, uint64_t tail,
		   uint64_t head, struct errbuf *err)
{
	if (head - tail > size)
		return errprintf(err, "the ring has %zu bytes, its records %" PRIu64, size,
				 head - tail);
	while (tail != head) {
		struct perf_event_header h = { .size = 0 };
		struct sample_body sample;
		struct lost_body lost;

		if (head - tail >= sizeof(h))
			copy_ring(&h, ring, size, tail, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			return errprintf(err, "invalid record of %u bytes: %" PRIu64 " are left",
					 h.size, head - tail);
		if (h.type == PERF_RECORD_SAMPLE && h.size >= sizeof(h) + sizeof(sample)) {
			copy_ring(&sample, ring, size, tail + sizeof(h), sizeof(sample));
			add_miss(out, &sample);
		} else if (h.type == PERF_RECORD_LOST && h.size >= sizeof(h) + sizeof(lost)) {
			copy_ring(&lost, ring, size, tail + sizeof(h), sizeof(lost));
			add_lost(out, lost.lost);
		}
		tail += h.size;
	}
	return 0;
}
