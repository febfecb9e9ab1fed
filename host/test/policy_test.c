/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/policy.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"

static void test_policy_names(void)
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
		is_int(policy_by_name(table[i].word), table[i].policy,
		       "policy_by_name: gives the right result for \"%s\"", table[i].word);
	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++) {
		is_int(policy_by_name(policy_name(p)), p, "policy_by_name: finds the name \"%s\"",
		       policy_name(p));
		ok(strstr(policy_names(), policy_name(p)) != NULL, "policy_names: has \"%s\"",
		   policy_name(p));
	}
	is(policy_name(POLICY_UNSET), "unset", "policy_name: \"unset\" for POLICY_UNSET");
	is(policy_name((enum sched_policy)99), "unset",
	   "policy_name: \"unset\" for a number outside the enumeration");
}

static void test_policy_numbers(void)
{
	/* the numbers of sched.h; 48 is SCHED_HPC of the NodeOS kernel patches */
	is(policy_by_number(0), "other", "policy_by_number: 0 is other");
	is(policy_by_number(1), "fifo", "policy_by_number: 1 is fifo");
	is(policy_by_number(2), "rr", "policy_by_number: 2 is rr");
	is(policy_by_number(3), "batch", "policy_by_number: 3 is batch");
	is(policy_by_number(5), "idle", "policy_by_number: 5 is idle");
	is(policy_by_number(48), "hpc", "policy_by_number: 48 is hpc");
	is(policy_by_number(6), "?", "policy_by_number: \"?\" for 6, SCHED_DEADLINE");
	is(policy_by_number(-1), "?", "policy_by_number: \"?\" for -1");
	is(policy_by_number(1 | 0x40000000), "fifo",
	   "policy_by_number: ignores SCHED_RESET_ON_FORK");
}

static void test_priorities(void)
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
		ok(min == table[i].min && max == table[i].max,
		   "policy_priority_range: gives the priorities of \"%s\"",
		   policy_name(table[i].policy));
	}
	ok(policy_is_realtime(POLICY_FIFO) && policy_is_realtime(POLICY_RR),
	   "policy_is_realtime: true for fifo and rr");
	ok(!policy_is_realtime(POLICY_HPC) && !policy_is_realtime(POLICY_UNSET),
	   "policy_is_realtime: false for hpc and unset");
}

/* Runs in a child: a process without rights cannot leave the policy "idle". */
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
	   "policy_apply: batch and then idle keep the nice value");
	is_int(sched_getscheduler(0), SCHED_OTHER, "policy_apply: the parent keeps its policy");
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
		ok(true, "policy_apply: real time keeps the nice value # SKIP needs CAP_SYS_NICE");
	else
		is_int(status, 0, "policy_apply: real time keeps the nice value");
}

static void test_apply(void)
{
	struct errbuf err;

	ok(policy_supported(POLICY_OTHER) && policy_supported(POLICY_FIFO),
	   "policy_supported: every kernel has other and fifo");
	ok(!policy_supported(POLICY_UNSET), "policy_supported: no kernel has unset");
	apply_idle();
	is_int(policy_apply(0, POLICY_UNSET, 0, 0, &err), -1, "policy_apply: refuses unset");
	is_int(policy_apply(0, POLICY_OTHER, 1, 0, &err), -1,
	       "policy_apply: refuses a priority with other");
	is(err.text, "priority 1 is out of range for policy \"other\" (allowed: 0 to 0)",
	   "policy_apply: the message gives the allowed priority of other");
	is_int(policy_apply(0, POLICY_FIFO, 100, 0, &err), -1,
	       "policy_apply: refuses fifo with priority 100");
	is_int(policy_apply(0, POLICY_HPC, 3, 0, &err), -1,
	       "policy_apply: refuses hpc with priority 3");
	is(err.text, "priority 3 is out of range for policy \"hpc\" (allowed: 0 to 2)",
	   "policy_apply: the message gives the allowed priorities of hpc");
	if (!policy_supported(POLICY_HPC)) {
		is_int(policy_apply(0, POLICY_HPC, 0, 0, &err), -1,
		       "policy_apply: refuses hpc on a kernel without it");
		is(err.text,
		   "SCHED_HPC is not in this kernel: boot a kernel with the NodeOS patches and "
		   "CONFIG_SCHED_CLASS_HPC=y, or ask for \"other\"",
		   "policy_apply: the message names the remedy for a kernel without hpc");
	}
	is_int(policy_apply(0, POLICY_OTHER, 0, 10, &err), -1,
	       "policy_apply: refuses a quantum with other");
	is(err.text,
	   "quantum 10 is not allowed with policy \"other\" (allowed: 0 to 10000, only with hpc)",
	   "policy_apply: the message says that only hpc has a quantum");
	is_int(policy_apply(0, POLICY_HPC, 0, 10001, &err), -1,
	       "policy_apply: refuses a quantum above the limit");
	is_int(policy_quantum(0), 0, "policy_quantum: 0 for a process with policy other");
	is_int(hpc_placement_by_name("topo"), HPC_TOPO,
	       "hpc_placement_by_name: topo is priority 2");
	is_int(hpc_placement_by_name("rr"), 1, "hpc_placement_by_name: rr is priority 1");
	is_int(hpc_placement_by_name("user"), 0, "hpc_placement_by_name: user is priority 0");
	is_int(hpc_placement_by_name("tree"), -1, "hpc_placement_by_name: -1 for an unknown word");
	is(hpc_placement_name(2), "topo", "hpc_placement_name: priority 2 is topo");
	is(hpc_placement_name(3), "?", "hpc_placement_name: \"?\" for priority 3");
	is_int(policy_apply(0, POLICY_HPC, 3, 0, NULL), -1,
	       "policy_apply: returns -1 without a buffer for the message");
	is_int(sched_getscheduler(0), SCHED_OTHER, "policy_apply: a failure keeps the policy");
}

int main(void)
{
	test_policy_names();
	test_policy_numbers();
	test_priorities();
	test_apply();
	return tap_done();
}
