/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dimmap/load/lriot/epochs.h"
#include "dimmap/load/lriot/lriot.h"

#define WORDS (LRIOT_BLOCK / 8)
#define SAMPLE 8 /* one in SAMPLE accesses is timed */

static void plain_read(const struct mapped *m, uint64_t *to, uint64_t offset, size_t bytes)
{
	const uint64_t *from = (const uint64_t *)(const void *)(m->data + offset);

	for (size_t i = 0; i < bytes / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static void plain_write(struct mapped *m, const uint64_t *from, uint64_t offset, size_t bytes)
{
	uint64_t *to = (uint64_t *)(void *)(m->data + offset);

	for (size_t i = 0; i < bytes / 8; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

const struct lriot_access lriot_plain = { plain_read, plain_write };

int lriot_fill(const struct lriot *o, struct errbuf *err)
{
	struct mapped m;

	if (mapped_create(&m, o->load.file, o->size, err) < 0)
		return -1;
	stamp_fill((uint64_t *)(void *)m.data, 0, o->size, 0, 0);
	return mapped_close(&m, err);
}

struct job {
	struct lriot *o;
	struct mapped m;
	struct epochs epochs; /* the epochs, if O's check is set */
	struct lriot_result *out;
	struct part {
		uint64_t reads, writes, checked;
		bool timed; /* the current access is timed */
		struct latency latency;
	} * part; /* of each thread */
};

/* --------------------------------------------------------------------------- sweeps */

/* Take the epoch of a block from WORD, the first word of the block, and return it. */
static uint32_t learn_epoch(struct epochs *e, uint64_t block, uint64_t word)
{
	uint32_t epoch;
	unsigned writer;

	if (!stamp_read(block * LRIOT_BLOCK, word, &epoch, &writer) || epoch > EPOCH_MAX)
		epoch = 0; /* WORD is not a stamp; the check of the block reports this */
	epochs_set(e, block, epoch);
	return epoch;
}

/* Check all blocks of the file. If LEARNS, take the epochs from the file. */
static uint64_t lriot_sweep(struct job *j, bool learns)
{
	uint64_t words[WORDS], block;
	struct finding wrong;

	for (block = 0; block < j->o->size / LRIOT_BLOCK; block++) {
		uint32_t epoch;

		plain_read(&j->m, words, block * LRIOT_BLOCK, LRIOT_BLOCK);
		epoch = learns ? learn_epoch(&j->epochs, block, words[0])
			       : epochs_low(&j->epochs, block);
		if (stamps_wrong(words, block * LRIOT_BLOCK, LRIOT_BLOCK, epoch, epoch, &wrong))
			findings_add(&j->out->found, &wrong);
	}
	return block;
}

/* -------------------------------------------------------------------------- threads */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note_time(struct part *p, uint64_t start)
{
	if (p->timed)
		latency_note(&p->latency, clock_ns() - start);
}

static void read_block(struct job *j, struct part *p, uint64_t block, size_t bytes)
{
	uint64_t words[WORDS], offset = block * LRIOT_BLOCK;
	bool check = j->o->load.check;
	uint32_t low = check ? epochs_low(&j->epochs, block) : 0;
	uint64_t start = p->timed ? clock_ns() : 0;
	struct finding wrong;

	j->o->access->read(&j->m, words, offset, bytes);
	note_time(p, start);
	p->reads++;
	if (!check)
		return;
	p->checked++;
	if (stamps_wrong(words, offset, bytes, low, epochs_high(&j->epochs, block), &wrong))
		findings_add(&j->out->found, &wrong);
}

static void write_block(struct job *j, struct part *p, unsigned thread, uint64_t block,
			size_t bytes)
{
	uint64_t words[WORDS], offset = block * LRIOT_BLOCK, start;
	bool check = j->o->load.check;

	stamp_fill(words, offset, bytes,
		   check ? epochs_begin(&j->epochs, block) : (uint32_t)p->writes, thread);
	start = p->timed ? clock_ns() : 0;
	j->o->access->write(&j->m, words, offset, bytes);
	note_time(p, start);
	if (check)
		epochs_end(&j->epochs, block);
	p->writes++;
}

static void lriot_thread(void *arg, unsigned thread)
{
	struct job *j = arg;
	const struct lriot *o = j->o;
	struct part *p = &j->part[thread];
	uint64_t length = (uint64_t)(o->seconds * 1e9), begin = clock_ns();
	size_t bytes = o->load.check ? LRIOT_BLOCK : 8;
	struct random random;
	struct walk walk;

	random_start(&random, o->load.seed, thread);
	walk_start(&walk, &o->pattern, o->size / LRIOT_BLOCK, o->load.seed, thread,
		   (unsigned)o->load.threads);
	for (uint64_t n = 0; length || n < o->ops; n++) {
		uint64_t block;
		bool write;

		p->timed = n % SAMPLE == 0;
		if (length && p->timed && clock_ns() - begin >= length)
			break;
		block = walk_next(&walk, &random);
		/*
		 * draw this number in any case, so that READ_PERCENT does not change later numbers
		 */
		write = random_below(&random, 100) >= o->read_percent;
		if (o->load.trace)
			trace_touch(o->load.trace, thread, block * LRIOT_BLOCK, bytes, write);
		if (write)
			write_block(j, p, thread, block, bytes);
		else
			read_block(j, p, block, bytes);
	}
}

/* ----------------------------------------------------------------------- the whole run */

static int lriot_threads(struct job *j, struct errbuf *err)
{
	struct lriot_result *out = j->out;
	struct load *l = &j->o->load;
	unsigned threads = (unsigned)l->threads;

	out->ran = true;
	if (load_open_trace(l, j->o->size, false, err) < 0 ||
	    load_run(l, lriot_thread, j, &out->time, err) < 0)
		return -1;
	for (unsigned i = 0; i < threads; i++) {
		out->reads += j->part[i].reads;
		out->writes += j->part[i].writes;
		out->checked += j->part[i].checked;
		latency_add(&out->latency, &j->part[i].latency);
	}
	return 0;
}

static int lriot_steps(struct job *j, struct errbuf *err)
{
	bool check = j->o->load.check;

	if (check) {
		if (epochs_make(&j->epochs, j->o->size / LRIOT_BLOCK, err) < 0)
			return -1;
		j->out->blocks_before = lriot_sweep(j, true);
	}
	if (atomic_load(&j->out->found.n))
		return 0;
	if (lriot_threads(j, err) < 0)
		return -1;
	if (check)
		j->out->blocks_after = lriot_sweep(j, false);
	return 0;
}

int lriot_work(struct lriot *o, struct lriot_result *out, struct errbuf *err)
{
	struct job j = { .o = o, .out = out };
	unsigned how = (o->load.random ? MAPPED_RANDOM : 0u) |
		       (o->read_percent < 100 ? MAPPED_WRITE : 0u);
	int result;

	memset(out, 0, sizeof(*out));
	if (mapped_open(&j.m, o->load.file, o->size, how, err) < 0)
		return -1;
	o->size = j.m.size - j.m.size % LRIOT_BLOCK;
	j.part = calloc(o->load.threads, sizeof(*j.part));
	if (!o->size)
		result = errprintf(err, "%s: smaller than one block of 4096 bytes", o->load.file);
	else if (!j.part)
		result = errprintf(err, "out of memory");
	else if (o->pattern.kind == PATTERN_STRIDE && o->pattern.stride > o->size / LRIOT_BLOCK)
		result = errprintf(err, "--pattern=%s: the file has only %" PRIu64 " blocks",
				   o->pattern_text, o->size / LRIOT_BLOCK);
	else
		result = lriot_steps(&j, err);
	if (mapped_close(&j.m, result == 0 ? err : NULL) < 0)
		result = -1;
	epochs_drop(&j.epochs);
	free(j.part);
	return result;
}
