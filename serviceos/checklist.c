/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/checklist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/printable.h"
#include "serviceos/item.h"
#include "serviceos/state.h"

#define TEXT_MAX 200
/* microseconds: a slower wake-up from an idle state delays a barrier measurably */
#define DEEP_US 50

/* A line of the checklist while it is made. */
struct look {
	const struct checklist *in;
	struct idset jobs; /* CPUs that jobs can have */
	enum checklist_verdict verdict;
	char found[TEXT_MAX], wanted[TEXT_MAX];
};

static bool read_text(const struct look *l, const char *path, char *buf, size_t size)
{
	struct errbuf ignored;

	if (file_read(l->in->root, path, buf, size, &ignored) < 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

/* ------------------------------------------------------------- one file each */

enum wish { IS, AT_LEAST };

struct file_row {
	const char *check, *path, *value;
	enum wish wish;
	const char *how;
};

static const struct file_row file_row[] = {
	{ "numa-balancing", "proc/sys/kernel/numa_balancing", "0", IS,
	  "sysctl kernel.numa_balancing=0: balancing unmaps pages of ranks to see which CPUs use "
	  "them" },
	{ "compaction", "proc/sys/vm/compaction_proactiveness", "0", IS,
	  "sysctl vm.compaction_proactiveness=0" },
	{ "same-page-merging", "sys/kernel/mm/ksm/run", "0", IS, "echo 0 >/sys/kernel/mm/ksm/run" },
	{ "memory-statistics", "proc/sys/vm/stat_interval", "10", AT_LEAST,
	  "sysctl vm.stat_interval=10, or a ServiceOS: serviceos in nodeos.conf" },
	{ "timers", "proc/sys/kernel/timer_migration", "1", IS,
	  "sysctl kernel.timer_migration=1, or a ServiceOS" },
	{ "hard-lockup-detector", "proc/sys/kernel/nmi_watchdog", "0", IS,
	  "sysctl kernel.nmi_watchdog=0: the detector interrupts each CPU, and takes a counter" },
	{ "machine-checks", "sys/devices/system/machinecheck/machinecheck0/check_interval", "0", IS,
	  "mce=ignore_ce at boot, or write 0 to this file: then corrected errors are no longer "
	  "polled" },
};

static void look_at_file(struct look *l, const struct file_row *row)
{
	char *end;

	snprintf(l->wanted, sizeof(l->wanted), "%s%s", row->value,
		 row->wish == AT_LEAST ? " or more" : "");
	if (!read_text(l, row->path, l->found, sizeof(l->found)))
		return;
	if (row->wish == IS)
		l->verdict = strcmp(l->found, row->value) == 0 ? CHECKLIST_GOOD : CHECKLIST_NOISE;
	else
		l->verdict = strtoul(l->found, &end, 10) >= strtoul(row->value, NULL, 10) &&
					     end != l->found
				     ? CHECKLIST_GOOD
				     : CHECKLIST_NOISE;
}

/* ------------------------------------------------------------ sets of CPUs */

static void judge_missing(struct look *l, const struct idset *have, const char *what)
{
	struct idset missing = l->jobs;
	char list[128];

	idset_andnot(&missing, have);
	l->verdict = idset_empty(&missing) ? CHECKLIST_GOOD : CHECKLIST_NOISE;
	if (idset_empty(have))
		snprintf(l->found, sizeof(l->found), "%s on no CPU", what);
	else
		snprintf(l->found, sizeof(l->found), "%s on %s", what, idset_brief(list, have));
	snprintf(l->wanted, sizeof(l->wanted), "on CPUs of jobs: %s", idset_brief(list, &l->jobs));
}

static void read_no_tick(const struct look *l, struct idset *out)
{
	char text[IDSET_LIST_MAX + 2];
	struct errbuf ignored;

	idset_zero(out);
	/* without the boot parameter the file contains "(null)" */
	if (read_text(l, "sys/devices/system/cpu/nohz_full", text, sizeof(text)))
		idset_parse(out, text + strspn(text, " "), &ignored);
}

static void look_at_ticks(struct look *l)
{
	struct idset no_tick;

	read_no_tick(l, &no_tick);
	judge_missing(l, &no_tick, "nohz_full");
}

/* Look at rcu_nocbs=. The kernel offloads the callbacks of nohz_full= CPUs, too. */
static void look_at_rcu(struct look *l)
{
	char text[4096], *at, *end;
	struct idset offloaded, more;
	struct errbuf ignored;

	read_no_tick(l, &offloaded);
	if (!read_text(l, "proc/cmdline", text, sizeof(text)))
		return;
	at = strstr(text, "rcu_nocbs=");
	if (at && (at == text || at[-1] == ' ')) {
		at += strlen("rcu_nocbs=");
		end = at + strcspn(at, " ");
		*end = '\0';
		if (strcmp(at, "all") == 0)
			offloaded = l->jobs;
		else if (idset_parse(&more, at, &ignored) == 0)
			idset_or(&offloaded, &more);
	}
	judge_missing(l, &offloaded, "rcu_nocbs");
}

/* The soft-lockup detector wakes a thread of highest priority on each CPU. */
static void look_at_watchdog(struct look *l)
{
	char on[16], mask[IDSET_LIST_MAX + 2], list[128];
	struct errbuf ignored;
	struct idset cpus;

	snprintf(l->wanted, sizeof(l->wanted), "off, or not on CPUs of jobs");
	if (!read_text(l, "proc/sys/kernel/soft_watchdog", on, sizeof(on)) ||
	    !read_text(l, "proc/sys/kernel/watchdog_cpumask", mask, sizeof(mask)) ||
	    idset_parse(&cpus, mask, &ignored) < 0)
		return;
	if (strcmp(on, "0") == 0) {
		snprintf(l->found, sizeof(l->found), "off");
		l->verdict = CHECKLIST_GOOD;
		return;
	}
	snprintf(l->found, sizeof(l->found), "on CPUs %s", idset_brief(list, &cpus));
	l->verdict = idset_intersects(&cpus, &l->jobs) ? CHECKLIST_NOISE : CHECKLIST_GOOD;
}

/* --------------------------------------------------------------- processors */

static void look_at_clock(struct look *l)
{
	char all[TEXT_MAX];

	if (!read_text(l, "sys/devices/system/clocksource/clocksource0/current_clocksource",
		       l->found, sizeof(l->found)) ||
	    !read_text(l, "sys/devices/system/clocksource/clocksource0/available_clocksource", all,
		       sizeof(all))) {
		l->found[0] = '\0';
		return;
	}
	snprintf(l->wanted, sizeof(l->wanted), "tsc, or what the processor has instead");
	l->verdict = strcmp(l->found, "hpet") == 0 || strcmp(l->found, "acpi_pm") == 0 ||
				     strcmp(l->found, "jiffies") == 0
			     ? CHECKLIST_NOISE
			     : CHECKLIST_GOOD;
}

static void look_at_frequency(struct look *l)
{
	struct idset other;
	char path[128], governor[64], list[128];
	unsigned known = 0;

	idset_zero(&other);
	snprintf(l->wanted, sizeof(l->wanted), "performance");
	for (int cpu = -1; (cpu = idset_next(&l->jobs, cpu)) >= 0;) {
		snprintf(path, sizeof(path),
			 "sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
		if (!read_text(l, path, governor, sizeof(governor)))
			continue;
		known++;
		if (strcmp(governor, "performance") == 0)
			continue;
		idset_add(&other, (unsigned)cpu);
		snprintf(l->found, sizeof(l->found), "%.30s on CPUs %s", governor,
			 idset_brief(list, &other));
	}
	if (!known)
		return;
	l->verdict = idset_empty(&other) ? CHECKLIST_GOOD : CHECKLIST_NOISE;
	if (idset_empty(&other))
		strcpy(l->found, "performance");
}

/* Return the exit latency, in microseconds, of the deepest idle state that CPU may enter, or -1. */
static long deepest_idle(const struct look *l, int cpu)
{
	char path[128], text[32];
	long deepest = -1, limit = 0;

	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us",
		 cpu);
	/* "n/a": no latency at all; 0: no limit (Documentation/ABI/testing/sysfs-devices-power) */
	if (read_text(l, path, text, sizeof(text)))
		limit = strcmp(text, "n/a") == 0 ? -1 : strtol(text, NULL, 10);
	for (unsigned state = 0; state < 16; state++) {
		long latency;

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle/state%u/latency",
			 cpu, state);
		if (!read_text(l, path, text, sizeof(text)))
			break;
		latency = strtol(text, NULL, 10);
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpuidle/state%u/disable",
			 cpu, state);
		if (read_text(l, path, text, sizeof(text)) && strcmp(text, "0") != 0)
			continue;
		if (latency > deepest && (limit == 0 || latency <= (limit < 0 ? 0 : limit)))
			deepest = latency;
	}
	return deepest;
}

static void look_at_idle(struct look *l)
{
	long worst = -1;

	for (int cpu = -1; (cpu = idset_next(&l->jobs, cpu)) >= 0;) {
		long latency = deepest_idle(l, cpu);

		worst = latency > worst ? latency : worst;
	}
	snprintf(l->wanted, sizeof(l->wanted), "%d us or less, for ranks that block", DEEP_US);
	if (worst < 0)
		return;
	snprintf(l->found, sizeof(l->found), "a CPU wakes up in %ld us", worst);
	l->verdict = worst <= DEEP_US ? CHECKLIST_GOOD : CHECKLIST_NOISE;
}

struct look_row {
	const char *check;
	void (*look)(struct look *l);
	const char *how;
};

static const struct look_row look_row[] = {
	{ "ticks", look_at_ticks, "nohz_full=CPUS at boot, for CPUs with one thread each" },
	{ "rcu-callbacks", look_at_rcu, "rcu_nocbs=CPUS at boot; nohz_full= includes it" },
	{ "soft-lockup-detector", look_at_watchdog,
	  "a ServiceOS: serviceos in nodeos.conf, nodeosctl provision" },
	{ "clock", look_at_clock, "clocksource=tsc at boot, if the processor's tsc is constant" },
	{ "frequency", look_at_frequency, "cpupower frequency-set -g performance" },
	{ "idle-states", look_at_idle,
	  "PM QoS: /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us" },
};

/* --------------------------------------------- what a ServiceOS would confine */

enum group { IRQS, WORKQUEUES, KTHREADS, DAEMONS, PACKETS, GROUPS };

static const char *const group_name[GROUPS] = {
	[IRQS] = "interrupts",		[WORKQUEUES] = "workqueues", [KTHREADS] = "kernel-threads",
	[DAEMONS] = "system-processes", [PACKETS] = "packets",
};

struct count {
	unsigned all[GROUPS], loose[GROUPS], fixed[GROUPS];
};

static enum group group_of(const struct service_item *it)
{
	if (it->kind == ITEM_THREAD)
		return it->process ? DAEMONS : KTHREADS;
	if (strncmp(it->name, "proc/irq/", 9) == 0)
		return IRQS;
	if (strncmp(it->name, "sys/devices/virtual/workqueue", 29) == 0)
		return WORKQUEUES;
	return strncmp(it->name, "sys/class/net/", 14) == 0 ? PACKETS : GROUPS;
}

static int count_item(const struct service_item *it, void *arg)
{
	struct count *c = arg;
	enum group g = group_of(it);

	/* a kernel thread of one CPU does that CPU's own work; per-CPU workers are such threads */
	if (g == GROUPS || (g == KTHREADS && it->fixed))
		return 0;
	c->all[g]++;
	if (!it->ok)
		it->fixed ? c->fixed[g]++ : c->loose[g]++;
	return 0;
}

static void look_at_group(struct look *l, const struct count *c, enum group g)
{
	char fixed[64] = "", list[128];

	snprintf(l->wanted, sizeof(l->wanted), "none%s%s",
		 idset_empty(&l->in->service->cpus) ? "" : ": all on CPUs ",
		 idset_empty(&l->in->service->cpus) ? ""
						    : idset_brief(list, &l->in->service->cpus));
	if (!c->all[g])
		return;
	if (c->fixed[g])
		snprintf(fixed, sizeof(fixed), "; %u that this kernel does not move", c->fixed[g]);
	snprintf(l->found, sizeof(l->found), "%u of %u may use CPUs of jobs%s", c->loose[g],
		 c->all[g], fixed);
	l->verdict = c->loose[g] ? CHECKLIST_NOISE : CHECKLIST_GOOD;
}

/* -------------------------------------------------------------------- lists */

struct giver {
	struct look look;
	void (*fn)(const struct checklist_line *line, void *arg);
	void *arg;
};

static void begin_line(struct giver *g)
{
	g->look.verdict = CHECKLIST_UNKNOWN;
	g->look.found[0] = g->look.wanted[0] = '\0';
}

static void end_line(struct giver *g, const char *check, const char *how)
{
	const struct checklist_line line = { check, g->look.verdict, g->look.found, g->look.wanted,
					     how };

	g->fn(&line, g->arg);
}

/* Without a ServiceOS, the first CPU is left to the system, as for nohz_full=. */
static void find_jobs(struct look *l)
{
	char text[IDSET_LIST_MAX + 2];
	struct errbuf ignored;

	idset_zero(&l->jobs);
	if (read_text(l, "sys/devices/system/cpu/online", text, sizeof(text)))
		idset_parse(&l->jobs, text, &ignored);
	idset_andnot(&l->jobs, &l->in->service->cpus);
	if (idset_empty(&l->in->service->cpus) && idset_count(&l->jobs) > 1)
		idset_del(&l->jobs, (unsigned)idset_next(&l->jobs, -1));
}

int checklist_each(const struct checklist *in,
		   void (*fn)(const struct checklist_line *line, void *arg), void *arg,
		   struct errbuf *err)
{
	const struct service_items items = { in->root, in->service, in->conf };
	struct giver g = { .look.in = in, .fn = fn, .arg = arg };
	struct count count = { 0 };

	if (service_each_item(&items, count_item, &count, err) < 0)
		return -1;
	find_jobs(&g.look);
	for (size_t i = 0; i < sizeof(look_row) / sizeof(look_row[0]); i++) {
		begin_line(&g);
		look_row[i].look(&g.look);
		end_line(&g, look_row[i].check, look_row[i].how);
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		begin_line(&g);
		look_at_group(&g.look, &count, i);
		end_line(&g, group_name[i],
			 "a ServiceOS: serviceos in nodeos.conf, nodeosctl provision");
	}
	for (size_t i = 0; i < sizeof(file_row) / sizeof(file_row[0]); i++) {
		begin_line(&g);
		look_at_file(&g.look, &file_row[i]);
		end_line(&g, file_row[i].check, file_row[i].how);
	}
	return 0;
}

static void print_checklist_line(const struct checklist_line *line, void *arg)
{
	static const char *const word[] = { "good", "noise", "unknown" };
	struct json_out *j = arg;
	char found[TEXT_MAX];

	printable(found, sizeof(found), line->found);
	if (j) {
		jout_open(j, NULL, '{');
		jout_string(j, "check", line->check);
		jout_string(j, "verdict", word[line->verdict]);
		jout_string(j, "found", line->verdict == CHECKLIST_UNKNOWN ? NULL : line->found);
		jout_string(j, "wanted", line->wanted);
		jout_string(j, "how", line->how);
		jout_close(j, '}');
		return;
	}
	printf("%-20s %-7s %s\n", line->check, word[line->verdict],
	       line->verdict == CHECKLIST_UNKNOWN ? "this node does not have it" : found);
	if (line->verdict == CHECKLIST_NOISE)
		printf("%20s wanted: %s\n%20s how: %s\n", "", line->wanted, "", line->how);
}

int checklist_print(struct json_out *j, const char *conf_path, struct errbuf *err)
{
	struct service_set service;
	struct conf conf;
	struct checklist in = { .conf = &conf, .service = &service };
	int rc;

	if (conf_load(&conf, conf_path, 0, err) < 0 ||
	    service_state_load(&service, conf.state_dir, err) < 0)
		return -1;
	in.root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in.root < 0)
		return errprintf(err, "/: %s", strerror(errno));
	if (j)
		jout_open(j, "noise", '[');
	rc = checklist_each(&in, print_checklist_line, j, err);
	if (j)
		jout_close(j, ']');
	close(in.root);
	return rc;
}
