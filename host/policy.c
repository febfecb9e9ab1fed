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

/*
 * struct sched_attr of Linux 4.x (sched_setattr(2)), under a name of its own: C libraries and
 * kernel headers define the original name in different files.
 */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime; /* of SCHED_HPC: quantum in nanoseconds */
	uint64_t deadline;
	uint64_t period;
};
_Static_assert(sizeof(struct attributes) == 48, "SCHED_ATTR_SIZE_VER0");

#define NS_PER_MS UINT64_C(1000000)

int policy_supported(enum sched_policy p)
{
	/* for an unknown policy the kernel returns EINVAL and changes nothing */
	return p != POLICY_UNSET && sched_get_priority_max(policy_number(p)) >= 0;
}

/* Set ERR to one line: why the kernel refused and, if there is one, the remedy. Returns -1. */
static int explain_refusal(pid_t pid, enum sched_policy p, unsigned priority, int error,
			   struct errbuf *err)
{
	const char *word = policy_appc_name(p);

	if (!policy_supported(p))
		return errprintf(err, "%s is not in this kernel%s", word,
				 p == POLICY_HPC ? ": boot a kernel with the NodeOS patches and "
						   "CONFIG_SCHED_CLASS_HPC=y, or ask for \"other\""
						 : "");
	switch (error) {
	case EPERM:
		return errprintf(err, "%s priority %u for process %d: %s: needs CAP_SYS_NICE%s",
				 word, priority, (int)pid, strerror(error),
				 policy_is_realtime(p) ? " or an RLIMIT_RTPRIO of that priority, "
							 "and real-time run time in its cgroup"
				 : p == POLICY_HPC     ? " or an RLIMIT_RTPRIO above 0"
						       : "");
	case ESRCH:
		return errprintf(err, "%s for process %d: the process has ended", word, (int)pid);
	default:
		return errprintf(err, "%s priority %u for process %d: %s", word, priority, (int)pid,
				 strerror(error));
	}
}

int policy_apply(pid_t pid, enum sched_policy p, unsigned priority, unsigned quantum,
		 struct errbuf *err)
{
	struct attributes a = { .size = sizeof(a) };
	unsigned min, max;
	int was;

	if (policy_number(p) < 0)
		return errprintf(err, "the scheduling policy is missing (allowed: %s)",
				 policy_names());
	if (policy_is_realtime(p) && priority == 0)
		priority = 1;
	policy_priority_range(p, &min, &max);
	if (priority < min || priority > max)
		return errprintf(
			err, "priority %u is out of range for policy \"%s\" (allowed: %u to %u)",
			priority, policy_name(p), min, max);
	if (quantum > HPC_QUANTUM_MAX || (quantum && p != POLICY_HPC))
		return errprintf(err,
				 "quantum %u is not allowed with policy \"%s\" (allowed: 0 to %d, "
				 "only with hpc)",
				 quantum, policy_name(p), HPC_QUANTUM_MAX);
	/*
	 * The call also sets the nice value: keep the present one, which sched_getattr() returns
	 * only for fair processes. A process that has ended is reported below.
	 */
	errno = 0;
	was = getpriority(PRIO_PROCESS, (id_t)pid);
	if (errno == 0)
		a.nice = was;
	a.policy = (uint32_t)policy_number(p);
	a.priority = priority;
	a.runtime = quantum * NS_PER_MS;
	/*
	 * a raw system call: C libraries may refuse policies that they do not know (musl refuses
	 * all)
	 */
	if (syscall(SYS_sched_setattr, pid, &a, 0) < 0)
		return explain_refusal(pid, p, priority, errno, err);
	return 0;
}

unsigned policy_quantum(pid_t pid)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, pid, &a, sizeof(a), 0) < 0 || a.policy != NODEOS_SCHED_HPC)
		return 0;
	return (unsigned)(a.runtime / NS_PER_MS);
}
