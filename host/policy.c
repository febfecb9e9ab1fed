/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/policy.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct policy {
	const char *name;
	const char *appc; /* the word of AppC manifests and of sched(7) */
	int number;
	unsigned min, max;
};

/* POLICY_UNSET has no words: no text may mean "unset". */
static const struct policy table[POLICY_COUNT] = {
	[POLICY_UNSET] = { NULL, NULL, -1, 0, 0 },
	[POLICY_OTHER] = { "other", "SCHED_OTHER", SCHED_OTHER, 0, 0 },
	[POLICY_BATCH] = { "batch", "SCHED_BATCH", SCHED_BATCH, 0, 0 },
	[POLICY_IDLE] = { "idle", "SCHED_IDLE", SCHED_IDLE, 0, 0 },
	[POLICY_FIFO] = { "fifo", "SCHED_FIFO", SCHED_FIFO, 1, 99 },
	[POLICY_RR] = { "rr", "SCHED_RR", SCHED_RR, 1, 99 },
	[POLICY_HPC] = { "hpc", "SCHED_HPC", NODEOS_SCHED_HPC, 0, 2 },
};

static const char *const placement[HPC_PLACEMENTS] = {
	[HPC_USER] = "user",
	[HPC_RR] = "rr",
	[HPC_TOPO] = "topo",
};

/* struct sched_attr of Linux 4.x (sched_setattr(2)); C libraries and kernel headers disagree who defines that name. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime; /* of SCHED_HPC: the quantum in nanoseconds */
	uint64_t deadline;
	uint64_t period;
};
_Static_assert(sizeof(struct attributes) == 48, "SCHED_ATTR_SIZE_VER0");

#define NS_PER_MS UINT64_C(1000000)

static int is_policy(enum sched_policy p)
{
	return p > POLICY_UNSET && p < POLICY_COUNT;
}

/* strcasecmp() depends on the locale. */
static int same_word(const char *a, const char *upper)
{
	for (; *upper; a++, upper++)
		if ((*a >= 'a' && *a <= 'z' ? *a - 'a' + 'A' : *a) != *upper)
			return 0;
	return *a == '\0';
}

enum sched_policy policy_by_name(const char *name)
{
	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++)
		if (strcmp(name, table[p].name) == 0 || same_word(name, table[p].appc))
			return p;
	return POLICY_UNSET;
}

const char *policy_name(enum sched_policy p)
{
	return is_policy(p) ? table[p].name : "unset";
}

const char *policy_by_number(int kernel_policy)
{
	/* sched_getscheduler() reports this flag together with the number. */
	kernel_policy &= ~SCHED_RESET_ON_FORK;
	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++)
		if (table[p].number == kernel_policy)
			return table[p].name;
	return "?";
}

const char *policy_names(void)
{
	return "other, batch, idle, fifo, rr, hpc";
}

int policy_is_realtime(enum sched_policy p)
{
	return p == POLICY_FIFO || p == POLICY_RR;
}

void policy_priority_range(enum sched_policy p, unsigned *min, unsigned *max)
{
	*min = is_policy(p) ? table[p].min : 0;
	*max = is_policy(p) ? table[p].max : 0;
}

int hpc_placement_by_name(const char *word)
{
	for (int i = 0; i < HPC_PLACEMENTS; i++)
		if (strcmp(word, placement[i]) == 0)
			return i;
	return -1;
}

const char *hpc_placement_name(unsigned p)
{
	return p < HPC_PLACEMENTS ? placement[p] : "?";
}

int policy_supported(enum sched_policy p)
{
	/* The kernel answers EINVAL for a policy that it does not have, and changes nothing. */
	return is_policy(p) && sched_get_priority_max(table[p].number) >= 0;
}

/* Why did the kernel refuse? One line that names the guilty part and the remedy. */
static int diagnose(pid_t pid, enum sched_policy p, unsigned priority, int error,
		    struct errbuf *err)
{
	const char *word = table[p].appc;

	if (!policy_supported(p))
		return errprintf(
			err, "%s is not in this kernel%s", word,
			p == POLICY_HPC ?
				": boot a kernel with the NodeOS patches and CONFIG_SCHED_CLASS_HPC=y, or ask for \"other\"" :
				"");
	switch (error) {
	case EPERM:
		return errprintf(
			err, "%s priority %u for process %d: %s: needs CAP_SYS_NICE%s", word,
			priority, (int)pid, strerror(error),
			policy_is_realtime(p) ?
				" or a RLIMIT_RTPRIO of that priority, and real-time run time in its cgroup" :
			p == POLICY_HPC ? " or a RLIMIT_RTPRIO above 0" :
					  "");
	case ESRCH:
		return errprintf(err, "%s for process %d: the process has ended", word, (int)pid);
	default:
		return errprintf(err, "%s priority %u for process %d: %s", word, priority, (int)pid,
				 strerror(error));
	}
}

int policy_apply(pid_t pid, enum sched_policy p, unsigned priority, unsigned quantum, struct errbuf *err)
{
	struct attributes a = { .size = sizeof(a) };
	int was;

	if (!is_policy(p))
		return errprintf(err, "no scheduling policy given (allowed: %s)", policy_names());
	if (policy_is_realtime(p) && priority == 0)
		priority = 1;
	if (priority < table[p].min || priority > table[p].max)
		return errprintf(err, "priority %u is not one of policy \"%s\" (allowed: %u to %u)",
				 priority, table[p].name, table[p].min, table[p].max);
	if (quantum > HPC_QUANTUM_MAX || (quantum && p != POLICY_HPC))
		return errprintf(err, "quantum %u with policy \"%s\" (allowed: 0 to %d, with hpc)", quantum, table[p].name,
				 HPC_QUANTUM_MAX);
	/* it sets nice, too: that of before, which sched_getattr() tells of fair processes only; one that has ended is told of below */
	errno = 0;
	was = getpriority(PRIO_PROCESS, (id_t)pid);
	if (errno == 0)
		a.nice = was;
	a.policy = (uint32_t)table[p].number;
	a.priority = priority;
	a.runtime = quantum * NS_PER_MS;
	/* The raw call: C libraries may refuse numbers that they do not know (musl refuses all). */
	if (syscall(SYS_sched_setattr, pid, &a, 0) < 0)
		return diagnose(pid, p, priority, errno, err);
	return 0;
}

unsigned policy_quantum(pid_t pid)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, pid, &a, sizeof(a), 0) < 0 || a.policy != NODEOS_SCHED_HPC)
		return 0;
	return (unsigned)(a.runtime / NS_PER_MS);
}
