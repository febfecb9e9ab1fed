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
 * What the daemon knows of a host at one moment, as plain data: steps with their ranks, and domains
 * (the CPUs of one last-level cache). The daemon fills it; documents, metrics and records are made
 * of it. A number that cannot be read is OBSERVED_UNKNOWN, never 0.
 */
#define OBSERVED_UNKNOWN UINT64_MAX
#define OBSERVED_COMMAND_MAX 16 /* bytes of /proc/PID/comm with the final NUL */
#define OBSERVED_TASK_MAX 32 /* bytes of a name of a directory with the final NUL */
#define OBSERVED_SOURCE_MAX 64 /* bytes with the final NUL */
#define OBSERVED_WHY_MAX 128 /* bytes with the final NUL */
#define OBSERVED_NO_RANK (-1) /* a process that is no task of srun */
#define OBSERVED_NO_DOMAIN (-1) /* its CPUs are in several domains, or in none */

enum observed_kind {
	OBSERVED_TASK, /* of srun */
	OBSERVED_CHILD, /* of a launcher of MPI: prted, orted, hydra's proxies */
	OBSERVED_BUSY, /* any other process of a step with more than half a CPU */
};

/* "task", "child", "busy". */
const char *observed_kind_name(enum observed_kind kind);

/* How many misses a second a rank has, by its totals at two readings of its counters. */
struct observed_pace {
	bool begun;
	uint64_t misses; /* of TIME */
	double counted; /* of MISSES */
	double rate; /* misses a second before that */
};

struct observed_rank {
	enum observed_kind kind;
	int rank; /* in the step, by Slurm; OBSERVED_NO_RANK */
	pid_t pid;
	uint64_t start; /* in clock ticks since boot: with PID it names the process for ever */
	char command[OBSERVED_COMMAND_MAX]; /* as the user named it: hostile bytes */
	char container[REQUEST_NAME_MAX]; /* ""; the step's own is struct observed_step's */
	char task[OBSERVED_TASK_MAX]; /* its directory below the step's "user", "task_0" */
	struct idset cpus; /* that its threads may use */
	int domain; /* number in struct observed_node, or OBSERVED_NO_DOMAIN */
	bool quiet; /* its CPUs are read rarely: nohz_full, hpc, isolated */
	unsigned threads;

	/* since the last sample */
	uint64_t cpu; /* thousandths of a CPU */
	/* as of the last look */
	uint64_t ticks; /* clock ticks of CPU time of the process alone */
	/* bytes now */
	uint64_t memory;
	/* totals of bytes since the rank was first seen */
	/* by sockets: bytes of IP packets, also of those on the loopback device */
	uint64_t sent, received;
	/* by read(2), write(2) and the like that reached storage; where they are those of one
	 * process (no io.stat): since it began */
	uint64_t read, written;
	/* totals since its counters were opened; unknown without counters */
	uint64_t instructions, misses, remote;
	/* when they were last read, or opened: in seconds of a clock that no one sets */
	double counted;
	uint64_t interrupts; /* that our reads of its counters have sent to its CPUs */
	struct observed_pace pace; /* observed_count()'s own */

	struct rank_state state; /* class, mean, how long, how often changed */
	double since; /* Unix time since when the class is what it is */
	bool scaled; /* a sample of the ring was multiplexed */
	char why[OBSERVED_WHY_MAX]; /* why it was refused counters, or has lost them; "" */
};

struct observed_step {
	uint32_t job, step; /* step: also STEP_ID_BATCH and its like */
	uint32_t het_job; /* id of the heterogeneous job's leader; 0: none */
	uint64_t inode; /* of the step's cgroup directory */
	uid_t uid;
	gid_t gid;
	enum contention_policy policy; /* of --nodeos-contention; CONTENTION_UNSET: not given */
	bool contained; /* it has a container; else it is observed as nodeos.conf says */
	double started; /* Unix time when it was first seen */
	bool ended; /* the last document of it */
	unsigned n;
	struct observed_rank *rank; /* n of them, owned */
};

struct observed_domain {
	int id; /* of its cache, as /sys/devices/system/cpu has it */
	struct idset cpus, mems;
	unsigned turtles, semi_devils, devils, unknown; /* ranks by class */
	uint64_t rate; /* misses of its ranks a second; unknown if any rank's are */
	uint64_t peak; /* the same, at most: of a calibration, or the highest seen */
	bool calibrated;
};

struct observed_node {
	char host[64];
	double time; /* Unix time of this look or sample */
	unsigned interval; /* milliseconds between samples */
	char source[OBSERVED_SOURCE_MAX]; /* "perf", "replay", "none" */
	char row[EVENTS_NAME_MAX]; /* of events.d; "" */
	enum events_quality quality; /* of that row; EVENTS_X without one */
	bool has_remote; /* the row counts misses of other memory nodes */
	bool simulated; /* the counters are those of a simulated cache */
	char why[OBSERVED_WHY_MAX]; /* why nothing counts here; "" where something does */
	struct classify_conf bounds;
	unsigned n_domains;
	struct observed_domain *domain; /* owned */
	unsigned n_steps;
	struct observed_step *step; /* owned */
};

/* Free what NODE owns; it is then empty. */
void observed_free(struct observed_node *node);

/* A new step, all zero, at the end; NULL: out of memory. Moves the others. */
struct observed_step *observed_add_step(struct observed_node *node);
void observed_remove_step(struct observed_node *node, unsigned i);

/* A new rank of a step, without domain and with unknown numbers; NULL: out of memory. Moves the
 * others. */
struct observed_rank *observed_add_rank(struct observed_step *step);
void observed_remove_rank(struct observed_step *step, unsigned i);

/* Why RANK has no class, in BUF or of NODE or RANK; NULL: it has one. */
const char *observed_why(char buf[OBSERVED_WHY_MAX], const struct observed_node *node,
			 const struct observed_rank *rank);

/* A step as a whole, for its container's profile. */
struct observed_sum {
	enum rank_class class; /* of the worst; unknown where no rank's is known */
	unsigned turtles, semi_devils, devils, unknown;
	uint32_t mean; /* rate of all its known ranks, weighted by instructions */
	uint64_t cpu, memory, sent, received, read, written; /* unknown if any rank's is */
	uint64_t instructions, misses, remote;
};
/* CONTAINER: only its ranks; NULL: all. */
void observed_sum(struct observed_sum *out, const struct observed_step *step,
		  const char *container);

/*
 * Count classes and rates of domains from the ranks of all steps that have not ended, and raise the
 * peaks. A rank's rate is of the time between the last two readings of its counters, which are rare
 * for a quiet rank.
 */
void observed_count(struct observed_node *node);

#endif
