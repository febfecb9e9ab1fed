/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the resources that ranks use, mostly from files that stay open. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contention/ranks_impl.h"

#define SAMPLE_TEXT_MAX 4096 /* bytes of cpu.stat */

/* Read an open file from its start. Returns the number of bytes, or -1. */
static ssize_t sample_read(int fd, char text[SAMPLE_TEXT_MAX])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, SAMPLE_TEXT_MAX - 1, 0);

	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* Return the CPU time of a task's directory in microseconds, or OBSERVED_UNKNOWN. */
static uint64_t sample_usage(int fd)
{
	static const char word[] = "usage_usec ";
	char text[SAMPLE_TEXT_MAX];

	if (sample_read(fd, text) <= 0 || strncmp(text, word, sizeof(word) - 1) != 0)
		return OBSERVED_UNKNOWN;
	return strtoull(text + sizeof(word) - 1, NULL, 10);
}

static uint64_t sample_memory(int fd)
{
	char text[SAMPLE_TEXT_MAX];

	return sample_read(fd, text) <= 0 ? OBSERVED_UNKNOWN : strtoull(text, NULL, 10);
}

/* Set the rank's share of a CPU; NOW is its CPU time in microseconds. */
static void sample_cpu(struct rank_own *own, struct observed_rank *rank, uint64_t now,
		       unsigned milliseconds)
{
	bool known = own->sampled && now != OBSERVED_UNKNOWN && now >= own->cpu && milliseconds;

	rank->cpu = known ? (now - own->cpu) / milliseconds : OBSERVED_UNKNOWN;
	own->sampled = now != OBSERVED_UNKNOWN;
	own->cpu = now;
}

/* Set the numbers of a rank of kind OBSERVED_TASK from its directory. */
static void sample_task(struct ranks *r, const struct rank_task *t, struct rank_own *own,
			struct observed_rank *rank, unsigned milliseconds)
{
	uint64_t read, written;

	sample_cpu(own, rank, sample_usage(t->cpu_stat), milliseconds);
	if (t->slot >= 0)
		traffic_read(r->traffic, t->slot, &rank->sent, &rank->received);
	if (t->io >= 0 && ranks_read_io(t->io, &read, &written) == 0) {
		/* the sums may have become smaller: removed disks leave them */
		rank->read = read > t->read ? read - t->read : 0;
		rank->written = written > t->written ? written - t->written : 0;
	}
}

/* Set the numbers of a rank that is one process. */
static void sample_process(struct ranks *r, const struct process_seen *p, struct rank_own *own,
			   struct observed_rank *rank, unsigned milliseconds)
{
	sample_cpu(own, rank, p->ticks * (1000000 / r->ticks), milliseconds);
	rank->memory = p->memory;
	rank->threads = p->threads;
	rank->sent = rank->received = OBSERVED_UNKNOWN;
}

/*
 * Set the bytes of storage of a rank that is one process: of kind OBSERVED_CHILD or OBSERVED_BUSY,
 * or of a task that never had a second process. The bytes are totals since the process began, and
 * are read every few seconds.
 */
static void sample_storage(struct ranks *r, struct rank_own *own, struct observed_rank *rank)
{
	uint64_t read, written;

	if (own->slot < 0)
		own->slot = storage_add(r->storage, rank->pid, rank->start);
	if (own->slot < 0 || storage_get(r->storage, own->slot, &read, &written) < 0)
		return;
	rank->read = read;
	rank->written = written;
}

static int sample_again(const struct ranks *r, const struct observed_rank *rank,
			const struct rank_own *own, struct process_seen *out)
{
	return process_seen_again(out, &r->source, rank->pid, rank->start, own->status);
}

/*
 * Set the numbers of a rank. A rank that has ended keeps its numbers for the step's last document.
 */
static void sample_rank(struct ranks *r, struct rank_step *s, unsigned i,
			struct observed_rank *rank, unsigned milliseconds)
{
	struct rank_task *t = rank->kind == OBSERVED_TASK ? ranks_task_find(s, s->own[i].task)
							  : NULL;
	struct process_seen p;

	if (rank->kind != OBSERVED_TASK || (t && t->io < 0 && t->alone))
		sample_storage(r, &s->own[i], rank);
	else if (t && t->io < 0)
		rank->read = rank->written = OBSERVED_UNKNOWN;
	if (t && t->cpu_stat >= 0) {
		sample_task(r, t, &s->own[i], rank, milliseconds);
		if (s->own[i].remembered == r->scan)
			return; /* memory changes slowly, so it is read once after each scan */
		s->own[i].remembered = r->scan;
		rank->memory = sample_memory(t->memory);
		if (rank->memory == OBSERVED_UNKNOWN && sample_again(r, rank, &s->own[i], &p) == 0)
			rank->memory = p.memory;
	} else if (sample_again(r, rank, &s->own[i], &p) == 0) {
		sample_process(r, &p, &s->own[i], rank, milliseconds);
	}
}

void ranks_sample(struct ranks *r, struct observed_node *node, unsigned milliseconds)
{
	for (unsigned i = 0; i < node->n_steps; i++) {
		struct observed_step *o = &node->step[i];
		struct rank_step *s = o->ended ? NULL : ranks_step_find(r, o->inode);

		for (unsigned k = 0; s && k < o->n && k < s->n; k++)
			sample_rank(r, s, k, &o->rank[k], milliseconds);
	}
}
