/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/checklist.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct conf conf;
static struct service_set service;

struct asked {
	const char *check;
	char line[512];
};

static void keep_line(const struct checklist_line *line, void *arg)
{
	static const char *const word[] = { "good", "noise", "unknown" };
	struct asked *a = arg;

	if (strcmp(line->check, a->check) == 0)
		snprintf(a->line, sizeof(a->line), "%s: %s (%s)", word[line->verdict], line->found,
			 line->wanted);
}

/* Return the line CHECK of the checklist as "VERDICT: FOUND (WANTED)". */
static const char *line_of(const char *check)
{
	static struct asked a;
	struct checklist in = { open(scratch, O_RDONLY | O_DIRECTORY), &conf, &service };
	struct errbuf err = { 0 };

	a = (struct asked){ .check = check };
	if (checklist_each(&in, keep_line, &a, &err) < 0)
		printf("Bail out! %s\n", err.text);
	close(in.root);
	return a.line;
}

static void test_boot(void)
{
	scratch_dir("sys/devices/system/cpu");
	scratch_dir("proc/sys/kernel");
	scratch_file("sys/devices/system/cpu/online", "0-7\n");
	scratch_file("sys/devices/system/cpu/nohz_full", "(null)\n");
	scratch_file("proc/cmdline", "root=/dev/vda\n");
	is(line_of("ticks"), "noise: nohz_full on no CPU (on CPUs of jobs: 1-7)",
	   "ticks: without a ServiceOS, all CPUs but the first are wanted");
	is(line_of("rcu-callbacks"), "noise: rcu_nocbs on no CPU (on CPUs of jobs: 1-7)",
	   "rcu-callbacks: without rcu_nocbs= and nohz_full=, no CPU is offloaded");
	service.cpus = set_of("0-1");
	scratch_file("sys/devices/system/cpu/nohz_full", "2-7\n");
	is(line_of("ticks"), "good: nohz_full on 2-7 (on CPUs of jobs: 2-7)",
	   "ticks: the CPUs of a ServiceOS need no nohz_full=");
	is(line_of("rcu-callbacks"), "good: rcu_nocbs on 2-7 (on CPUs of jobs: 2-7)",
	   "rcu-callbacks: CPUs of nohz_full= count as offloaded");
	scratch_file("sys/devices/system/cpu/nohz_full", "(null)\n");
	scratch_file("proc/cmdline", "root=/dev/vda rcu_nocbs=2-6 quiet\n");
	is(line_of("rcu-callbacks"), "noise: rcu_nocbs on 2-6 (on CPUs of jobs: 2-7)",
	   "rcu-callbacks: a CPU that rcu_nocbs= lacks is noise");
	scratch_file("proc/cmdline", "rcu_nocbs=all\n");
	ok(strncmp(line_of("rcu-callbacks"), "good", 4) == 0,
	   "rcu-callbacks: rcu_nocbs=all means every CPU");
}

static void test_files(void)
{
	is(line_of("numa-balancing"), "unknown:  (0)", "a file that this kernel lacks is unknown");
	scratch_file("proc/sys/kernel/numa_balancing", "1\n");
	is(line_of("numa-balancing"), "noise: 1 (0)", "numa-balancing: 1 is noise");
	scratch_file("proc/sys/kernel/numa_balancing", "0\n");
	is(line_of("numa-balancing"), "good: 0 (0)", "numa-balancing: 0 is good");
	scratch_dir("proc/sys/vm");
	scratch_file("proc/sys/vm/stat_interval", "9\n");
	is(line_of("memory-statistics"), "noise: 9 (10 or more)", "memory-statistics: 9 is noise");
	scratch_file("proc/sys/vm/stat_interval", "120\n");
	is(line_of("memory-statistics"), "good: 120 (10 or more)",
	   "memory-statistics: 120 is good, because numbers are compared, not texts");
	scratch_file("proc/sys/kernel/soft_watchdog", "1\n");
	scratch_file("proc/sys/kernel/watchdog_cpumask", "0-7\n");
	ok(strncmp(line_of("soft-lockup-detector"), "noise: on CPUs 0-7", 18) == 0,
	   "soft-lockup-detector: on CPUs of jobs is noise");
	scratch_file("proc/sys/kernel/watchdog_cpumask", "0-1\n");
	ok(strncmp(line_of("soft-lockup-detector"), "good", 4) == 0,
	   "soft-lockup-detector: on the ServiceOS's CPUs only is good");
}

static void test_processors(void)
{
	is(line_of("frequency"), "unknown:  (performance)", "frequency: unknown without cpufreq");
	scratch_dir("sys/devices/system/cpu/cpu2/cpufreq");
	scratch_dir("sys/devices/system/cpu/cpu3/cpufreq");
	scratch_file("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n");
	scratch_file("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
	is(line_of("frequency"), "noise: powersave on CPUs 3 (performance)",
	   "frequency: the CPUs with another governor are named");
	scratch_dir("sys/devices/system/cpu/cpu4/cpuidle/state0");
	scratch_dir("sys/devices/system/cpu/cpu4/cpuidle/state1");
	scratch_dir("sys/devices/system/cpu/cpu4/power");
	scratch_file("sys/devices/system/cpu/cpu4/cpuidle/state0/latency", "2\n");
	scratch_file("sys/devices/system/cpu/cpu4/cpuidle/state1/latency", "133\n");
	scratch_file("sys/devices/system/cpu/cpu4/cpuidle/state1/disable", "0\n");
	ok(strncmp(line_of("idle-states"), "noise: a CPU wakes up in 133 us", 31) == 0,
	   "idle-states: the deepest state is found");
	scratch_file("sys/devices/system/cpu/cpu4/power/pm_qos_resume_latency_us", "20\n");
	ok(strncmp(line_of("idle-states"), "good: a CPU wakes up in 2 us", 28) == 0,
	   "idle-states: PM QoS keeps the CPU out of deep states");
	scratch_file("sys/devices/system/cpu/cpu4/power/pm_qos_resume_latency_us", "0\n");
	scratch_file("sys/devices/system/cpu/cpu4/cpuidle/state1/disable", "1\n");
	ok(strncmp(line_of("idle-states"), "good: a CPU wakes up in 2 us", 28) == 0,
	   "idle-states: a disabled state does not count");
}

static void test_groups(void)
{
	is(line_of("interrupts"), "unknown:  (none: all on CPUs 0-1)",
	   "interrupts: unknown without /proc/irq");
	scratch_dir("proc/irq/24/eth0");
	scratch_dir("proc/irq/25/eth1");
	scratch_file("proc/irq/24/smp_affinity_list", "0-7\n");
	scratch_file("proc/irq/25/smp_affinity_list", "1\n");
	is(line_of("interrupts"), "noise: 1 of 2 may use CPUs of jobs (none: all on CPUs 0-1)",
	   "interrupts: those outside of the ServiceOS are counted");
	scratch_file("proc/irq/24/smp_affinity_list", "0-1\n");
	is(line_of("interrupts"), "good: 0 of 2 may use CPUs of jobs (none: all on CPUs 0-1)",
	   "interrupts: good if all are in the ServiceOS");
}

int main(void)
{
	scratch_make();
	conf_defaults(&conf);
	test_boot();
	test_files();
	test_processors();
	test_groups();
	return tap_done();
}
