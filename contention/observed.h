/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_OBSERVED_H
#define NODEOS_CONTENTION_OBSERVED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/idset.h"
#include "counters/classify.h"
#include "counters/events.h"
#include "manifest/request.h"

/*
 * The state of a host at one moment, as plain data: steps with their ranks, and domains (the CPUs
 * of one last-level cache). The daemon fills in this state, and makes documents, metrics and
 * records from it. A number that cannot be read is OBSERVED_UNKNOWN, not 0.
 */
#define OBSERVED_UNKNOWN UINT64_MAX
#define OBSERVED_COMMAND_MAX 16 /* bytes of /proc/PID/comm with the final NUL */
#define OBSERVED_TASK_MAX 32 /* bytes of a directory's name with the final NUL */
#define OBSERVED_SOURCE_MAX 64 /* bytes with the final NUL */
#define OBSERVED_WHY_MAX 160 /* bytes with the final NUL */
#define OBSERVED_NO_RANK (-1) /* a process that is no task of srun */
#define OBSERVED_NO_DOMAIN (-1) /* the rank's CPUs are in several domains, or in none */

enum observed_kind {
	OBSERVED_TASK, /* a task of srun */
	OBSERVED_CHILD, /* a child of a launcher of MPI: prted, orted, hydra's proxies */
	OBSERVED_BUSY, /* any other process of a step that uses more than half a CPU */
};

/* "task", "child", "busy". */
const char *observed_kind_name(enum observed_kind kind);

/* A rank's misses per second, from its totals at two readings of its counters. */
struct observed_pace {
	bool begun; /* false: the members below are not valid yet */
	uint64_t misses; /* observed_rank.misses at the last reading */
	double counted; /* monotonic seconds of the last reading (observed_rank.counted) */
	double rate; /* misses per second between the last two readings */
};

struct observed_rank {
	enum observed_kind kind;
	int rank; /* Slurm's number of the rank in the step, or OBSERVED_NO_RANK */
	pid_t pid;
	/* start time, as in struct process_seen; PID and START identify the process */
	uint64_t start;
	char command[OBSERVED_COMMAND_MAX]; /* name of the process, any bytes that the user chose */
	char container[REQUEST_NAME_MAX]; /* "": none */
	/* directory of its task below the step's directory "user": "task_0" */
	char task[OBSERVED_TASK_MAX];
	struct idset cpus; /* CPUs that its threads may use */
	bool threads_differ; /* two of its threads may use different CPUs */
	int domain; /* index in struct observed_node, or OBSERVED_NO_DOMAIN */
	/*
	 * its counters are read rarely, because its CPUs are nohz_full or isolated, or its policy
	 * is hpc
	 */
	bool quiet;
	unsigned threads;

	/* since the last sample: */
	uint64_t cpu; /* thousandths of a CPU */
	/* at the last scan: */
	uint64_t ticks; /* CPU time of the process alone, in clock ticks */
	/* now: */
	uint64_t memory; /* bytes */
	/* the next two pairs are totals since the rank was first seen, in bytes */
	/* bytes of the IP packets of its sockets, including those on the loopback device */
	uint64_t sent, received;
	/*
	 * bytes that reached storage by read(2), write(2) and similar calls; without io.stat, those
	 * of one process since that process began
	 */
	uint64_t read, written;
	/*
	 * totals since its counters were opened: misses of the last-level cache, REMOTE: those that
	 * other memory nodes served; unknown without counters
	 */
	uint64_t instructions, misses, remote;
	/* monotonic seconds at which its counters were last read or opened */
	double counted;
	uint64_t interrupts; /* interrupts that reading its counters has sent to its CPUs */
	struct observed_pace pace; /* for observed_count() only */

	struct rank_state state; /* class, rates, number of changes of class */
	double since; /* Unix time at which the class last changed */
	/* the next five members are set by migration/mover.h: */
	unsigned moves; /* number of moves to other cores */
	double moved; /* monotonic seconds of the last move; 0: none */
	uint64_t pages; /* bytes of its memory that were moved after the rank */
	uint64_t pages_of; /* bytes of its memory at the last move of memory; 0: none so far */
	bool pages_sampled; /* true: only the memory around sampled misses was to move */
	bool scaled; /* a sample in the ring of STATE is scaled (counters/classify.h) */
	/* reason why it has no counters or has lost them; "": it has counters */
	char why[OBSERVED_WHY_MAX];
};

/* A container whose ranks the daemon places or will place. */
struct observed_placing {
	char container[REQUEST_NAME_MAX];
	enum contention_policy policy;
	/* reason of the last move of ranks, or reason why there was no move */
	char why[OBSERVED_WHY_MAX];
	char pages[OBSERVED_WHY_MAX]; /* result of the last move of pages; "": none so far */
	/*
	 * tasks with several processes, and whether the processes of a task move together; "": none
	 */
	char units[OBSERVED_WHY_MAX];
	unsigned moves; /* number of moves of this step's ranks in CONTAINER */
	/* the kernel's automatic NUMA balancing is on, so the kernel moves pages, too */
	bool numa_balancing;
	/* how often a move made a CPU outside of the container empty its LRU lists */
	uint64_t drains;
};

struct observed_step {
	uint32_t job, step; /* STEP may be STEP_ID_BATCH or a similar id */
	uint32_t het_job; /* id of the heterogeneous job's leader; 0: none */
	uint64_t inode; /* inode of the step's cgroup directory */
	uid_t uid;
	gid_t gid;
	/* from --nodeos-contention; CONTENTION_UNSET: option not given */
	enum contention_policy policy;
	/*
	 * the step has a container; nodeos.conf decides whether steps without a container are
	 * observed
	 */
	bool contained;
	double started; /* Unix time when it was first seen */
	bool ended; /* true: the step has ended, and its next document is the last one */
	unsigned n;
	struct observed_rank *rank; /* N elements, owned */
	unsigned n_placings;
	struct observed_placing *placing; /* owned */
};

struct observed_domain {
	int id; /* number of its cache or, if it has none, of its package or memory node */
	struct idset cpus, mems;
	unsigned turtles, semi_devils, devils, unknown; /* number of ranks of each class */
	/* misses of its ranks per second; unknown if the misses of one rank are unknown */
	uint64_t rate;
	uint64_t peak; /* the largest known RATE: from a calibration, or seen later */
	bool calibrated; /* PEAK is from a calibration */
};

struct observed_node {
	char host[64];
	double time; /* Unix time of this scan or sample */
	unsigned interval; /* milliseconds between samples */
	char source[OBSERVED_SOURCE_MAX]; /* "perf", "replay", "none" */
	char row[EVENTS_NAME_MAX]; /* name of the row of events.d; "": none */
	enum events_quality quality; /* quality of that row; EVENTS_X if there is none */
	bool has_remote; /* remote misses are counted */
	bool simulated; /* the counters are those of a simulated cache */
	bool user_only; /* the work of ranks inside the kernel is not counted */
	char why[OBSERVED_WHY_MAX]; /* reason why this host has no counters; "": it has counters */
	struct classify_conf bounds;
	unsigned n_domains;
	struct observed_domain *domain; /* owned */
	unsigned n_steps;
	struct observed_step *step; /* owned */
};

/* Free all memory of NODE, which is then empty. */
void observed_free(struct observed_node *node);

/*
 * Append a step whose members are all zero. Returns it, or NULL if out of memory. Pointers to other
 * steps become invalid.
 */
struct observed_step *observed_add_step(struct observed_node *node);
/* Return the step with this inode, or NULL. */
struct observed_step *observed_step_find(struct observed_node *node, uint64_t inode);
void observed_remove_step(struct observed_node *node, unsigned i);

/*
 * Append a rank without a domain and with unknown numbers. Returns it, or NULL if out of memory.
 * Pointers to other ranks of the step become invalid.
 */
struct observed_rank *observed_add_rank(struct observed_step *step);
void observed_remove_rank(struct observed_step *step, unsigned i);

/*
 * Return the entry for CONTAINER among the placings of STEP; add the entry if it is new. Returns
 * NULL if out of memory.
 */
struct observed_placing *observed_get_placing(struct observed_step *step, const char *container);

/* Return the reason why the class of RANK is unknown, in BUF, NODE or RANK; NULL if it is known. */
const char *observed_why(char buf[OBSERVED_WHY_MAX], const struct observed_node *node,
			 const struct observed_rank *rank);

/* Sums over the ranks of a step, or of one of its containers. */
struct observed_sum {
	enum rank_class class; /* class of the worst rank; unknown if no rank's class is known */
	unsigned turtles, semi_devils, devils, unknown;
	uint32_t mean; /* mean rate of the ranks with a known class, weighted by instructions */
	uint64_t cpu, memory, sent, received, read,
		written; /* unknown if the value of one rank is unknown */
	uint64_t instructions, misses, remote;
};
/* Set OUT to the sums over the ranks of CONTAINER, or over all ranks if CONTAINER is NULL. */
void observed_sum(struct observed_sum *out, const struct observed_step *step,
		  const char *container);

/*
 * Set the numbers of ranks of each class and the rate of each domain, from the ranks of all steps
 * that have not ended, and raise peaks that a rate exceeds. A rank's rate is the mean between the
 * last two readings of its counters, which are far apart for a quiet rank.
 */
void observed_count(struct observed_node *node);

#endif
