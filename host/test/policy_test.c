/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/policy.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"

static void names(void)
{
	static const struct {
		const char *word;
		enum sched_policy policy;
	} table[] = {
		{ "other", POLICY_OTHER },
		{ "batch", POLICY_BATCH },
		{ "idle", POLICY_IDLE },
		{ "fifo", POLICY_FIFO },
		{ "rr", POLICY_RR },
		{ "hpc", POLICY_HPC },
		{ "SCHED_OTHER", POLICY_OTHER },
		{ "SCHED_BATCH", POLICY_BATCH },
		{ "SCHED_IDLE", POLICY_IDLE },
		{ "SCHED_FIFO", POLICY_FIFO },
		{ "SCHED_RR", POLICY_RR },
		{ "SCHED_HPC", POLICY_HPC },
		{ "sched_hpc", POLICY_HPC },
		{ "Sched_Rr", POLICY_RR },
		{ "HPC", POLICY_UNSET },
		{ "Other", POLICY_UNSET },
		{ "", POLICY_UNSET },
		{ "unset", POLICY_UNSET },
		{ "SCHED_", POLICY_UNSET },
		{ "SCHED_HPC ", POLICY_UNSET },
		{ " hpc", POLICY_UNSET },
		{ "normal", POLICY_UNSET },
		{ "deadline", POLICY_UNSET },
		{ "48", POLICY_UNSET },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		is_int(policy_by_name(table[i].word), table[i].policy, "policy_by_name(\"%s\")",
		       table[i].word);
	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++) {
		is_int(policy_by_name(policy_name(p)), p, "the name of \"%s\" is a name",
		       policy_name(p));
		ok(strstr(policy_names(), policy_name(p)) != NULL, "\"%s\" is in the list",
		   policy_name(p));
	}
	is(policy_name(POLICY_UNSET), "unset", "POLICY_UNSET");
	is(policy_name((enum sched_policy)99), "unset", "a number out of the enumeration");
}

static void numbers(void)
{
	/* sched.h's numbers, and the one of our kernel series */
	is(policy_by_number(0), "other", "0");
	is(policy_by_number(1), "fifo", "1");
	is(policy_by_number(2), "rr", "2");
	is(policy_by_number(3), "batch", "3");
	is(policy_by_number(5), "idle", "5");
	is(policy_by_number(48), "hpc", "48");
	is(policy_by_number(6), "?", "6, SCHED_DEADLINE");
	is(policy_by_number(-1), "?", "-1");
	is(policy_by_number(1 | 0x40000000), "fifo", "with SCHED_RESET_ON_FORK");
}

static void priorities(void)
{
	static const struct {
		enum sched_policy policy;
		unsigned min, max;
	} table[] = {
		{ POLICY_UNSET, 0, 0 }, { POLICY_OTHER, 0, 0 }, { POLICY_BATCH, 0, 0 },
		{ POLICY_IDLE, 0, 0 },	{ POLICY_FIFO, 1, 99 }, { POLICY_RR, 1, 99 },
		{ POLICY_HPC, 0, 2 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		unsigned min, max;

		policy_priority_range(table[i].policy, &min, &max);
		ok(min == table[i].min && max == table[i].max, "priorities of \"%s\"",
		   policy_name(table[i].policy));
	}
	ok(policy_is_realtime(POLICY_FIFO) && policy_is_realtime(POLICY_RR),
	   "fifo and rr are real-time");
	ok(!policy_is_realtime(POLICY_HPC) && !policy_is_realtime(POLICY_UNSET), "hpc is not");
}

/* In a child: idle is a one-way street for a process without rights. */
static void apply_idle(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct errbuf err;

		int now = nice(7);

		_exit(now > 0 && policy_apply(0, POLICY_BATCH, 0, 0, &err) == 0 &&
				      sched_getscheduler(0) == SCHED_BATCH &&
				      getpriority(PRIO_PROCESS, 0) == now &&
				      policy_apply(getpid(), POLICY_IDLE, 0, 0, &err) == 0 &&
				      sched_getscheduler(0) == SCHED_IDLE &&
				      getpriority(PRIO_PROCESS, 0) == now
			      ? 0
			      : 1);
	}
	ok(child > 0 && waitpid(child, &status, 0) == child && status == 0,
	   "batch, then idle, applied, and nice stays");
	is_int(sched_getscheduler(0), SCHED_OTHER, "the parent keeps its policy");
	child = fork();
	if (child == 0) {
		struct errbuf err;

		int now = nice(7);

		if (now <= 0 || policy_apply(0, POLICY_FIFO, 1, 0, &err) < 0)
			_exit(2);
		_exit(!(policy_apply(0, POLICY_OTHER, 0, 0, &err) == 0 &&
			getpriority(PRIO_PROCESS, 0) == now));
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		ok(true, "nice stays over real time # SKIP needs CAP_SYS_NICE");
	else
		is_int(status, 0, "nice stays over real time");
}

static void apply(void)
{
	struct errbuf err;

	ok(policy_supported(POLICY_OTHER) && policy_supported(POLICY_FIFO),
	   "every kernel has other and fifo");
	ok(!policy_supported(POLICY_UNSET), "no kernel has unset");
	apply_idle();
	is_int(policy_apply(0, POLICY_UNSET, 0, 0, &err), -1, "unset is refused");
	is_int(policy_apply(0, POLICY_OTHER, 1, 0, &err), -1, "a priority of other is refused");
	is(err.text, "priority 1 is not one of policy \"other\" (allowed: 0 to 0)",
	   "and the reason");
	is_int(policy_apply(0, POLICY_FIFO, 100, 0, &err), -1, "fifo 100 is refused");
	is_int(policy_apply(0, POLICY_HPC, 3, 0, &err), -1, "hpc 3 is refused");
	is(err.text, "priority 3 is not one of policy \"hpc\" (allowed: 0 to 2)", "and the reason");
	if (!policy_supported(POLICY_HPC)) {
		is_int(policy_apply(0, POLICY_HPC, 0, 0, &err), -1, "hpc on a kernel without it");
		is(err.text,
		   "SCHED_HPC is not in this kernel: boot a kernel with the NodeOS patches and "
		   "CONFIG_SCHED_CLASS_HPC=y, or ask for \"other\"",
		   "and the reason");
	}
	is_int(policy_apply(0, POLICY_OTHER, 0, 10, &err), -1, "a quantum of other is refused");
	is(err.text, "quantum 10 with policy \"other\" (allowed: 0 to 10000, with hpc)",
	   "and the reason");
	is_int(policy_apply(0, POLICY_HPC, 0, 10001, &err), -1, "a quantum too long");
	is_int(policy_quantum(0), 0, "this process has none");
	is_int(hpc_placement_by_name("topo"), HPC_TOPO, "topo");
	is_int(hpc_placement_by_name("rr"), 1, "rr is priority 1");
	is_int(hpc_placement_by_name("user"), 0, "user is priority 0");
	is_int(hpc_placement_by_name("tree"), -1, "no placement");
	is(hpc_placement_name(2), "topo", "priority 2 is topo");
	is(hpc_placement_name(3), "?", "3 is none");
	is_int(policy_apply(0, POLICY_HPC, 3, 0, NULL), -1, "no error buffer");
	is_int(sched_getscheduler(0), SCHED_OTHER, "failures change nothing");
}

int main(void)
{
	names();
	numbers();
	priorities();
	apply();
	return tap_done();
}
