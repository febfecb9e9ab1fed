/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/quiet.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/affinity.h"

#define IRQS (1u << QUIET_IRQS)
#define KTHREADS (1u << QUIET_KTHREADS)
#define MEMORY (1u << QUIET_MEMORY)
#define IDLE (1u << QUIET_IDLE)
#define LATENCY(cpu) "sys/devices/system/cpu/cpu" #cpu "/power/pm_qos_resume_latency_us"

static int root, dir;

static const char *text_of(const char *path)
{
	static char text[4][256];
	static unsigned next;
	struct errbuf err;

	next = (next + 1) % 4;
	if (file_read(root, path, text[next], sizeof(text[next]), &err) < 0)
		return "missing";
	text[next][strcspn(text[next], "\n")] = '\0';
	return text[next];
}

static void fresh_tree(void)
{
	scratch_dir("proc/irq/24/eth0");
	scratch_dir("proc/irq/25/eth1");
	scratch_dir("proc/sys/kernel");
	scratch_dir("proc/sys/vm");
	scratch_dir("sys/devices/system/cpu/cpu2/power");
	scratch_dir("sys/devices/system/cpu/cpu3/power");
	scratch_dir("state");
	scratch_file("sys/devices/system/cpu/online", "0-7\n");
	scratch_file("proc/irq/default_smp_affinity", "ff\n");
	scratch_file("proc/irq/24/smp_affinity_list", "0-7\n");
	scratch_file("proc/irq/25/smp_affinity_list", "3\n");
	scratch_file("proc/sys/kernel/numa_balancing", "1\n");
	scratch_file("proc/sys/vm/compaction_proactiveness", "20\n");
	scratch_file(LATENCY(2), "0\n");
	scratch_file(LATENCY(3), "n/a\n");
}

static void is_as_before(const char *what)
{
	is(text_of("proc/irq/default_smp_affinity"), "ff", "%s: new interrupts go anywhere", what);
	is(text_of("proc/irq/24/smp_affinity_list"), "0-7", "%s: an interrupt goes anywhere", what);
	is(text_of("proc/irq/25/smp_affinity_list"), "3",
	   "%s: an interrupt of one CPU is on that CPU", what);
	is(text_of("proc/sys/kernel/numa_balancing"), "1", "%s: numa_balancing is on", what);
	is(text_of("proc/sys/vm/compaction_proactiveness"), "20", "%s: proactive compaction is on",
	   what);
	is(text_of(LATENCY(2)), "0", "%s: CPU 2 may enter all idle states", what);
	is(text_of(LATENCY(3)), "n/a", "%s: CPU 3 may enter no idle state", what);
	is(text_of("state/" QUIET_FILE), "missing", "%s: no journal is left", what);
}

static void test_claim(void)
{
	struct idset two = set_of("2-3"), more = set_of("2-5"), later = set_of("4-5");
	struct idset none = set_of("");
	struct errbuf err = { 0 };

	is_int(quiet_claim(root, dir, 0, &two, &err), 0, "quiet_claim: succeeds without words");
	is_as_before("without words");
	is_int(quiet_claim(root, dir, IRQS | MEMORY | IDLE, &two, &err), 0,
	       "quiet_claim: succeeds for a first partition %s", err.text);
	is(text_of("proc/irq/default_smp_affinity"), "f3",
	   "quiet_claim: new interrupts stay off the partition's CPUs");
	is(text_of("proc/irq/24/smp_affinity_list"), "0-1,4-7",
	   "quiet_claim: an interrupt leaves the partition's CPUs");
	is(text_of("proc/irq/25/smp_affinity_list"), "0-1,4-7",
	   "quiet_claim: an interrupt of one CPU of the partition goes to all others");
	is(text_of("proc/sys/kernel/numa_balancing"), "0",
	   "quiet_claim: switches numa_balancing off");
	is(text_of("proc/sys/vm/compaction_proactiveness"), "0",
	   "quiet_claim: switches proactive compaction off");
	is(text_of(LATENCY(2)), "10",
	   "quiet_claim: limits the idle states of a CPU of the partition");
	is_int(quiet_claim(root, dir, IRQS | MEMORY | IDLE, &more, &err), 0,
	       "quiet_claim: succeeds for a second partition %s", err.text);
	is(text_of("proc/irq/24/smp_affinity_list"), "0-1,6-7",
	   "quiet_claim: the interrupt leaves the CPUs of both partitions");
	is_int(quiet_return(root, dir, &later, &err), 0,
	       "quiet_return: succeeds when the first partition ends %s", err.text);
	is(text_of("proc/irq/24/smp_affinity_list"), "0-3,6-7",
	   "quiet_return: the interrupt may use CPUs of the ended partition");
	is(text_of("proc/irq/25/smp_affinity_list"), "3",
	   "quiet_return: an interrupt of one CPU is back on it");
	is(text_of(LATENCY(3)), "n/a",
	   "quiet_return: restores the idle states of an ended partition's CPU");
	is(text_of("proc/sys/kernel/numa_balancing"), "0",
	   "quiet_return: the node's settings stay for the second partition");
	is_int(quiet_return(root, dir, &none, &err), 0,
	       "quiet_return: succeeds when the last partition ends %s", err.text);
	is_as_before("after the last partition");
	is_int(quiet_return(root, dir, &none, &err), 0,
	       "quiet_return: succeeds when called once more");
	is_as_before("after a second return");
}

/* A claim that is killed at any point leaves a journal from which quiet_return() restores all. */
static void test_killed(void)
{
	struct idset two = set_of("2-3"), none = set_of("");
	struct errbuf err = { 0 };

	quiet_claim(root, dir, IRQS | MEMORY | IDLE, &two, &err);
	/* another process claims the same again, as after a kill */
	quiet_claim(root, dir, IRQS | MEMORY | IDLE, &two, &err);
	is(text_of("proc/irq/24/smp_affinity_list"), "0-1,4-7", "a second claim changes nothing");
	is_int(quiet_return(root, dir, &none, &err), 0, "quiet_return: succeeds after two claims");
	is_as_before("after two claims");
}

static void test_words(void)
{
	struct idset two = set_of("2-3"), all = set_of("0-7"), none = set_of("");
	struct errbuf err = { 0 };

	quiet_claim(root, dir, IDLE, &two, &err);
	is(text_of("proc/irq/24/smp_affinity_list"), "0-7",
	   "idle alone: interrupts stay where they are");
	is(text_of("proc/sys/kernel/numa_balancing"), "1", "idle alone: numa_balancing stays");
	quiet_return(root, dir, &none, &err);
	quiet_claim(root, dir, IRQS | KTHREADS, &all, &err);
	is(text_of("proc/irq/24/smp_affinity_list"), "0-7",
	   "interrupts stay if all CPUs are in partitions");
	quiet_return(root, dir, &none, &err);
	is_as_before("after single words");
}

/* Bind our child PID to the CPUs LIST, and show it as a kernel thread in the tree's /proc. */
static void put_thread(pid_t pid, const char *list)
{
	struct errbuf err;
	struct idset cpus;
	char path[64], text[256];

	if (idset_parse(&cpus, list, &err) < 0 || affinity_set(pid, &cpus, &err) < 0)
		bail("%s", err.text);
	snprintf(path, sizeof(path), "proc/%d", (int)pid);
	scratch_dir(path);
	snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
	snprintf(text, sizeof(text),
		 "%d (kswapd0) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n", (int)pid);
	scratch_file(path, text);
	snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
	snprintf(text, sizeof(text),
		 "Name:\tkswapd0\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t2\n"
		 "Uid:\t0\t0\t0\t0\nThreads:\t1\nCpus_allowed_list:\t%s\n"
		 "Mems_allowed_list:\t0\n",
		 (int)pid, (int)pid, list);
	scratch_file(path, text);
}

/* Return the CPUs that PID may use. */
static const char *cpus_of(pid_t pid)
{
	static char list[128];
	struct errbuf err;
	struct idset cpus;

	if (affinity_get(pid, &cpus, &err) < 0)
		bail("%s", err.text);
	return idset_brief(list, &cpus);
}

/* Linux changes the CPUs of kernel threads when a partition begins, and when it ends. */
static void test_threads(void)
{
	const struct idset none = { 0 }, claimed = set_of("2-3");
	struct errbuf err = { 0 };
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		skip(6, "kernel threads get back their CPUs: one processor");
		return;
	}
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	put_thread(pid, "1");
	is_int(quiet_note(root, dir, IRQS, &err), 0, "quiet_note: succeeds: %s", err.text);
	is_int(faccessat(dir, QUIET_FILE, F_OK, 0), -1,
	       "quiet_note: without kthreads nothing is noted");
	is_int(quiet_note(root, dir, KTHREADS, &err), 0, "quiet_note: succeeds: %s", err.text);
	put_thread(pid, "0-1"); /* as Linux does */
	is_int(quiet_claim(root, dir, KTHREADS, &claimed, &err), 0,
	       "quiet_claim: succeeds after quiet_note(): %s", err.text);
	quiet_return(root, dir, &claimed, &err);
	is(cpus_of(pid), "1",
	   "quiet_return: beside a live partition a thread has those of its CPUs that are outside");
	put_thread(pid, "0-1");
	quiet_return(root, dir, &none, &err);
	is(cpus_of(pid), "1",
	   "quiet_return: a thread has the CPUs from before the partition, not Linux's later ones");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	scratch_make();
	fresh_tree();
	root = open(scratch, O_RDONLY | O_DIRECTORY);
	dir = openat(root, "state", O_RDONLY | O_DIRECTORY);
	test_claim();
	test_killed();
	test_words();
	test_threads();
	return tap_done();
}
