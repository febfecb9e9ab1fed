/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COUNTERS_SAMPLING_H
#define NODEOS_COUNTERS_SAMPLING_H

#include "counters/events.h"
#include "counters/miss_ring.h"

/*
 * Samples of a rank's misses, with their addresses, for a short time: one ring buffer for each of
 * its threads, by the event "sample" of the processor's row. The caller is root. No function waits
 * more than 50 ms for a user's process.
 */
struct sampling; /* how this host samples */
struct sampled; /* the open events of one rank */

#define SAMPLING_PERIOD 10000 /* misses for one sample; IBS: micro-operations, a multiple of 16 */
#define SAMPLING_THREADS 64 /* threads of a rank that are sampled at the same time */
#define SAMPLING_RING 16384 /* bytes of a thread's ring, for 512 samples */

/*
 * Find out whether this host can sample by ROW (NULL: no row). ROOT is the directory with sys, "":
 * this host's. Returns 0, or -1 with the reason.
 */
int sampling_open(struct sampling **out, const struct events_row *row, const char *root,
		  struct errbuf *err);
void sampling_close(struct sampling *s); /* NULL does nothing */

/*
 * Begin to sample the N threads TID. If N is more than SAMPLING_THREADS, sample that many threads,
 * spread over the list. Threads that have ended or begin later are left out. Returns 0, or -1 with
 * the reason if no thread is sampled.
 */
int sampled_begin(struct sampled **out, struct sampling *s, const pid_t *tid, unsigned n,
		  struct errbuf *err);

/* End sampling, append the misses to LIST (NULL: drop them), and free R. NULL does nothing. */
void sampled_end(struct sampled *r, struct miss_list *list);

#endif
