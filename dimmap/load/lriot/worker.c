/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/worker.h"

#include <time.h>

#include "dimmap/load/lriot/stamp.h"

#define TRIES 100

uint64_t worker_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int worker_read(struct worker *w, uint64_t block, struct latency *timed)
{
	const struct options *o = w->o;
	uint64_t offset = block * o->block, start = timed ? worker_clock() : 0;
	struct finding wrong = { 0 };
	uint32_t low, high;
	int status;

	for (unsigned tries = 1;; tries++) {
		low = w->epochs ? epochs_low(w->epochs, block) : 0;
		status = o->backend->read(w->target, w->buffer, offset, o->touch);
		if (timed)
			latency_note(timed, worker_clock() - start);
		if (status || !w->epochs)
			return status;
		high = epochs_high(w->epochs, block);
		if (!stamps_wrong(w->buffer, offset, o->touch, low, high, &wrong))
			break;
		/* a system call may tear a word that is written meanwhile; but not each time */
		if (o->backend->maps || low == high || tries == TRIES) {
			findings_add(w->found, &wrong);
			break;
		}
		timed = NULL;
	}
	w->done->checked++;
	return 0;
}

static int write_block(struct worker *w, uint64_t block, struct latency *timed)
{
	const struct options *o = w->o;
	uint64_t offset = block * o->block, start;
	int status;

	if (w->epochs)
		stamp_fill(w->buffer, offset, o->touch, epochs_begin(w->epochs, block), w->number);
	else
		w->buffer[0] = stamp_make(offset, (uint32_t)w->done->writes, w->number);
	start = timed ? worker_clock() : 0;
	status = o->backend->write(w->target, w->buffer, offset, o->touch);
	if (timed)
		latency_note(timed, worker_clock() - start);
	if (w->epochs)
		epochs_end(w->epochs, block, status == 0);
	return status;
}

void worker_run(struct worker *w)
{
	const struct options *o = w->o;
	struct work_done *done = w->done;
	uint64_t length = (uint64_t)(o->seconds * 1e9);
	struct random random;
	struct walk walk;

	random_start(&random, o->seed, w->number);
	walk_start(&walk, &o->pattern, o->size / o->block, o->seed, w->number,
		   (unsigned)(o->processes * o->threads));
	done->start = worker_clock();
	for (uint64_t n = 0; length || n < o->ops; n++) {
		bool sampled = n % o->sample == 0, write;
		uint64_t block;

		if (length && sampled && worker_clock() - done->start >= length)
			break;
		block = walk_next(&walk, &random);
		/* drawn with each pattern: the same numbers with each share */
		write = random_below(&random, 100) >= o->read_percent;
		if (w->trace)
			trace_touch(w->trace, w->thread, block * o->block, o->touch, write);
		errors_add(w->errors, (write ? write_block : worker_read)(
					      w, block, sampled ? &done->latency : NULL));
		done->reads += !write;
		done->writes += write;
		if (write && o->sync && done->writes % o->sync == 0) {
			errors_add(w->errors, o->backend->sync(w->target));
			done->syncs++;
		}
	}
	done->end = worker_clock();
}
