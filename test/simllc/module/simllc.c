// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A PMU for guests of QEMU's emulator. It shows the counts of a simulated last-level cache, which a
 * plugin of QEMU writes into BAR 2 of an ivshmem-plain device (abi.h).
 *
 * The PMU "simllc" has events with names. If the kernel has found no PMU of the processor, the
 * module also registers "cpu" (PERF_TYPE_RAW), for the generic events and for the raw events that
 * Linux's lists have for this processor. An event is a set of the plugin's counters, counted for a
 * task or a CPU, and for user code, kernel code or both. Events of misses can give samples with
 * addresses, after a fixed period. There is no interrupt for samples: while such an event counts, a
 * timer reads the plugin's rings.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/perf_event.h>

#include <asm/processor.h>

#include "abi.h"

#define ALL_COUNTERS (BIT(SIMLLC_COUNTERS) - 1)
#define MISS_COUNTERS (0x0fULL << SIMLLC_FILLS)
#define SAMPLERS 8 /* how many events of a CPU can sample at the same time */
#define SAMPLE_NS 10000000 /* time between two reads of the rings */

/* An event of a processor's list: attr.config and config1, and the counters that the event sums. */
struct simllc_raw {
	u64 config;
	u64 config1;
	u16 counters; /* as bits */
};

/* The processors of a list: models of a family, and their steppings as bits. */
struct simllc_processor {
	const char *name;
	const char *vendor;
	u8 family;
	u8 first_model;
	u8 last_model;
	u16 steppings;
	const struct simllc_raw *raw;
	size_t n;
};

#include "raw_events.h"

static char *processor;
module_param(processor, charp, 0444);
MODULE_PARM_DESC(processor, "Linux's list of raw events, such as amdzen4 (default: this CPU's)");

static unsigned int counters;
module_param(counters, uint, 0444);
MODULE_PARM_DESC(counters, "number of events that a CPU counts at once (default: no limit)");

static struct simllc_head *simllc_base;
static const struct simllc_processor *simllc_known;
/* how many events of "simllc" and of "cpu" count now */
static DEFINE_PER_CPU(unsigned int, simllc_active[2]);
/* events that sample now */
struct simllc_samplers {
	struct hrtimer timer;
	struct perf_event *event[SAMPLERS];
};

static DEFINE_PER_CPU(struct simllc_samplers, simllc_samplers);
static struct pmu simllc_pmu, simllc_cpu_pmu;
static bool simllc_has_cpu_pmu;

/* Return the counters of fills whose bits in MASK equal those of FILL. */
static u64 simllc_fills(unsigned int mask, unsigned int fill)
{
	u64 bits = 0;
	int i;

	for (i = 0; i < 8; i++)
		if ((i & mask) == fill)
			bits |= BIT(SIMLLC_FILLS + i);
	return bits;
}

static u64 simllc_generic(u64 config)
{
	switch (config) {
	case PERF_COUNT_HW_INSTRUCTIONS:
		return BIT(SIMLLC_INSTRUCTIONS);
	case PERF_COUNT_HW_CACHE_REFERENCES:
		return BIT(SIMLLC_REFERENCES);
	case PERF_COUNT_HW_CACHE_MISSES:
		return simllc_fills(SIMLLC_PREFETCH, 0);
	default:
		return 0;
	}
}

/* Return the counters of a generic event: LLC misses, or accesses to all or to remote nodes. */
static u64 simllc_generic_cache(u64 config)
{
	unsigned int op = config >> 8 & 0xff, result = config >> 16 & 0xff;
	unsigned int mask = SIMLLC_PREFETCH, fill = 0;

	if (config >> 24 || (result != PERF_COUNT_HW_CACHE_RESULT_ACCESS &&
			     result != PERF_COUNT_HW_CACHE_RESULT_MISS))
		return 0;
	if ((config & 0xff) == PERF_COUNT_HW_CACHE_LL) {
		if (result != PERF_COUNT_HW_CACHE_RESULT_MISS)
			return 0; /* references of loads and of stores are not counted separately */
	} else if ((config & 0xff) == PERF_COUNT_HW_CACHE_NODE) {
		if (result == PERF_COUNT_HW_CACHE_RESULT_MISS) {
			mask |= SIMLLC_REMOTE;
			fill |= SIMLLC_REMOTE;
		}
	} else {
		return 0;
	}
	switch (op) {
	case PERF_COUNT_HW_CACHE_OP_READ:
		return simllc_fills(mask | SIMLLC_WRITE, fill);
	case PERF_COUNT_HW_CACHE_OP_WRITE:
		return simllc_fills(mask | SIMLLC_WRITE, fill | SIMLLC_WRITE);
	case PERF_COUNT_HW_CACHE_OP_PREFETCH:
		return simllc_fills(mask, fill | SIMLLC_PREFETCH);
	default:
		return 0;
	}
}

/*
 * Set *BITS to the counters of an event. Returns -ENOENT if there is no such event. An event that
 * exists but is not simulated has no counters.
 */
static int simllc_decode(struct perf_event *event, u64 *bits)
{
	u64 config = event->attr.config;
	size_t i;

	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
		*bits = simllc_generic(config);
		return *bits ? 0 : -ENOENT;
	case PERF_TYPE_HW_CACHE:
		*bits = simllc_generic_cache(config);
		return *bits ? 0 : -ENOENT;
	case PERF_TYPE_RAW:
		for (i = 0; simllc_known && i < simllc_known->n; i++) {
			if (simllc_known->raw[i].config != config ||
			    simllc_known->raw[i].config1 != event->attr.config1)
				continue;
			*bits = simllc_known->raw[i].counters;
			return 0;
		}
		return -ENOENT;
	default:
		*bits = config;
		return config && !(config & ~ALL_COUNTERS) ? 0 : -EINVAL;
	}
}

static unsigned int *simllc_in_use(struct perf_event *event)
{
	return this_cpu_ptr(&simllc_active[event->pmu == &simllc_cpu_pmu]);
}

/* Return the sum of the event's counters on this CPU. */
static u64 simllc_sum(struct perf_event *event)
{
	const u64 *record = (void *)simllc_base + SIMLLC_HEAD +
			    smp_processor_id() * SIMLLC_RECORD;
	u64 sum = 0;
	int i;

	for (i = 0; i < SIMLLC_COUNTERS; i++) {
		if (!(event->hw.config & BIT(i)))
			continue;
		if (!event->attr.exclude_user)
			sum += READ_ONCE(record[2 * i]);
		if (!event->attr.exclude_kernel)
			sum += READ_ONCE(record[2 * i + 1]);
	}
	return sum;
}

static const struct simllc_ring *simllc_ring(void)
{
	return (void *)simllc_base + SIMLLC_RINGS +
	       smp_processor_id() * sizeof(struct simllc_ring);
}

static bool simllc_counts(const struct perf_event *event, u64 miss)
{
	if (miss & SIMLLC_KERNEL ? event->attr.exclude_kernel : event->attr.exclude_user)
		return false;
	return event->hw.config & BIT(SIMLLC_FILLS + (miss & 7));
}

/* Do the work of perf_event_overflow(), which modules cannot call, for an event without limits. */
static void simllc_give(struct perf_event *event, u64 miss)
{
	perf_overflow_handler_t output = READ_ONCE(event->overflow_handler);
	struct perf_sample_data data;

	perf_sample_data_init(&data, miss & ~(u64)(simllc_base->line - 1), event->hw.sample_period);
	data.data_src.val = miss & SIMLLC_WRITE ? PERF_MEM_S(OP, STORE) : PERF_MEM_S(OP, LOAD);
	data.data_src.val |= miss & SIMLLC_REMOTE ? PERF_MEM_S(LVL, REM_RAM1) :
						    PERF_MEM_S(LVL, LOC_RAM);
	data.sample_flags |= PERF_SAMPLE_DATA_SRC;
	output(event, &data, task_pt_regs(current));
}

/* Write samples of the misses on this CPU since the event was started or last read. */
static void simllc_sample(struct perf_event *event)
{
	const struct simllc_ring *ring = simllc_ring();
	s64 left = local64_read(&event->hw.period_left);
	u64 at = event->hw.event_base, end = READ_ONCE(ring->n);

	event->hw.event_base = end;
	if (end - at > SIMLLC_RING_MISSES)
		at = end - SIMLLC_RING_MISSES; /* older misses are lost */
	for (; at != end; at++) {
		u64 miss = READ_ONCE(ring->miss[at % SIMLLC_RING_MISSES]);

		if (!simllc_counts(event, miss))
			continue;
		left -= SIMLLC_EVERY << simllc_base->sample;
		if (left > 0)
			continue;
		left = max_t(s64, left + event->hw.sample_period, 1);
		simllc_give(event, miss);
	}
	local64_set(&event->hw.period_left, left);
}

static void simllc_read(struct perf_event *event)
{
	u64 now;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	now = simllc_sum(event);
	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
	if (is_sampling_event(event))
		simllc_sample(event);
}

static enum hrtimer_restart simllc_tick(struct hrtimer *timer)
{
	struct simllc_samplers *s = container_of(timer, struct simllc_samplers, timer);
	bool any = false;
	int i;

	for (i = 0; i < SAMPLERS; i++) {
		if (!s->event[i])
			continue;
		simllc_read(s->event[i]);
		any = true;
	}
	if (!any)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(SAMPLE_NS));
	return HRTIMER_RESTART;
}

/*
 * Let the timer read NEW instead of OLD; each may be NULL. Returns -EAGAIN if too many events
 * sample.
 */
static int simllc_sampler(struct perf_event *old, struct perf_event *new)
{
	struct simllc_samplers *s = this_cpu_ptr(&simllc_samplers);
	int i;

	for (i = 0; i < SAMPLERS; i++) {
		if (s->event[i] != old)
			continue;
		s->event[i] = new;
		if (new && !hrtimer_active(&s->timer))
			hrtimer_start(&s->timer, ns_to_ktime(SAMPLE_NS),
				      HRTIMER_MODE_REL_PINNED_HARD);
		return 0;
	}
	return -EAGAIN;
}

static void simllc_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	event->hw.event_base = READ_ONCE(simllc_ring()->n);
	local64_set(&event->hw.prev_count, simllc_sum(event));
}

static void simllc_stop(struct perf_event *event, int flags)
{
	simllc_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int simllc_add(struct perf_event *event, int flags)
{
	unsigned int *in_use = simllc_in_use(event);

	if (counters && *in_use >= counters)
		return -EAGAIN;
	if (is_sampling_event(event) && simllc_sampler(NULL, event))
		return -EAGAIN;
	(*in_use)++;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		simllc_start(event, flags);
	return 0;
}

static void simllc_del(struct perf_event *event, int flags)
{
	simllc_stop(event, flags);
	if (is_sampling_event(event))
		simllc_sampler(event, NULL);
	(*simllc_in_use(event))--;
}

static int simllc_event_init(struct perf_event *event)
{
	bool generic = event->attr.type == PERF_TYPE_HARDWARE ||
		       event->attr.type == PERF_TYPE_HW_CACHE;
	int err;

	if (event->attr.type != event->pmu->type &&
	    !(generic && event->pmu == &simllc_cpu_pmu))
		return -ENOENT;
	if (has_branch_stack(event))
		return -EOPNOTSUPP;
	err = simllc_decode(event, &event->hw.config);
	/* only misses for which a program waits have addresses; frequencies are not simulated */
	if (!err && is_sampling_event(event) &&
	    (event->attr.freq || !event->hw.config || event->hw.config & ~MISS_COUNTERS))
		return -EOPNOTSUPP;
	return err;
}

static ssize_t simllc_event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_attr *event = container_of(attr, struct perf_pmu_events_attr, attr);

	return sysfs_emit(page, "counters=%#llx\n", event->id);
}

/* _counters: a bit for each counter that the event sums, by enum simllc_counter */
#define SIMLLC_EVENT(_name, _counters)						\
	(&((struct perf_pmu_events_attr[]) {					\
		{								\
			.attr = {						\
				.attr = { .name = (_name), .mode = 0444 },	\
				.show = simllc_event_show,			\
			},							\
			.id = (_counters),					\
		}								\
	})[0].attr.attr)

static struct attribute *simllc_event_attrs[] = {
	SIMLLC_EVENT("instructions", BIT(SIMLLC_INSTRUCTIONS)),
	SIMLLC_EVENT("llc-references", BIT(SIMLLC_REFERENCES)),
	SIMLLC_EVENT("llc-misses", 0x0fULL << SIMLLC_FILLS),
	SIMLLC_EVENT("llc-misses-remote", 0x0aULL << SIMLLC_FILLS),
	SIMLLC_EVENT("llc-prefetches", 0xf0ULL << SIMLLC_FILLS),
	SIMLLC_EVENT("llc-fills", 0xffULL << SIMLLC_FILLS),
	SIMLLC_EVENT("llc-fills-remote", 0xaaULL << SIMLLC_FILLS),
	SIMLLC_EVENT("stall-ns", BIT(SIMLLC_STALL_NS)),
	NULL,
};

static const struct attribute_group simllc_events_group = {
	.name = "events",
	.attrs = simllc_event_attrs,
};

PMU_FORMAT_ATTR(counters, "config:0-10");
PMU_FORMAT_ATTR(event, "config:0-7,32-35");
PMU_FORMAT_ATTR(umask, "config:8-15");
PMU_FORMAT_ATTR(offcore_rsp, "config1:0-63");

static struct attribute *simllc_format_attrs[] = {
	&format_attr_counters.attr,
	NULL,
};

static const struct attribute_group simllc_format_group = {
	.name = "format",
	.attrs = simllc_format_attrs,
};

static struct attribute *simllc_cpu_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_umask.attr,
	&format_attr_offcore_rsp.attr,
	NULL,
};

static const struct attribute_group simllc_cpu_format_group = {
	.name = "format",
	.attrs = simllc_cpu_format_attrs,
};

static const struct attribute_group *simllc_groups[] = {
	&simllc_format_group,
	&simllc_events_group,
	NULL,
};

static const struct attribute_group *simllc_cpu_groups[] = {
	&simllc_cpu_format_group,
	NULL,
};

/* A hardware context, so that groups and multiplexing behave as with a processor's PMU. */
#define SIMLLC_PMU(groups) {						\
	.module = THIS_MODULE,						\
	.task_ctx_nr = perf_hw_context,					\
	.attr_groups = groups,						\
	.event_init = simllc_event_init,				\
	.add = simllc_add,						\
	.del = simllc_del,						\
	.start = simllc_start,						\
	.stop = simllc_stop,						\
	.read = simllc_read,						\
}

static struct pmu simllc_pmu = SIMLLC_PMU(simllc_groups);
static struct pmu simllc_cpu_pmu = SIMLLC_PMU(simllc_cpu_groups);

static bool simllc_is_this(const struct simllc_processor *p)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	if (processor)
		return strcmp(p->name, processor) == 0;
	return strcmp(p->vendor, c->x86_vendor_id) == 0 && c->x86 == p->family &&
	       c->x86_model >= p->first_model && c->x86_model <= p->last_model &&
	       p->steppings & BIT(c->x86_stepping);
}

static int simllc_find_processor(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(simllc_processors) && !simllc_known; i++)
		if (simllc_is_this(&simllc_processors[i]))
			simllc_known = &simllc_processors[i];
	if (processor && !simllc_known) {
		pr_err("processor=%s: Linux has no list of its events\n", processor);
		return -EINVAL;
	}
	return 0;
}

static int simllc_map(struct pci_dev *pdev)
{
	struct simllc_head *head;

	if (pci_resource_len(pdev, 2) < SIMLLC_BYTES)
		return -ENODEV; /* the shared memory is not the plugin's */
	head = devm_memremap(&pdev->dev, pci_resource_start(pdev, 2), SIMLLC_BYTES, MEMREMAP_WB);
	if (IS_ERR(head))
		return PTR_ERR(head);
	if (head->magic != SIMLLC_MAGIC)
		return -ENODEV;
	if (head->version != SIMLLC_VERSION || head->cpus < num_online_cpus() ||
	    nr_cpu_ids > SIMLLC_CPUS) {
		pci_err(pdev, "the plugin's version %u for %u CPUs does not fit this module\n",
			head->version, head->cpus);
		return -EINVAL;
	}
	pci_info(pdev, "simulated: %u CPUs, %u a cache, %llu sets of %u ways, 1 of %u lines\n",
		 head->cpus, head->cpus_per_cache, head->sets, head->ways, 1u << head->sample);
	simllc_base = head;
	return 0;
}

static int simllc_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int err;

	if (simllc_base)
		return -EBUSY;
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = simllc_map(pdev);
	if (err)
		return err;
	err = perf_pmu_register(&simllc_pmu, "simllc", -1);
	if (err) {
		simllc_base = NULL;
		return err;
	}
	/* this fails if the processor has a PMU */
	simllc_has_cpu_pmu = !perf_pmu_register(&simllc_cpu_pmu, "cpu", PERF_TYPE_RAW);
	WRITE_ONCE(simllc_base->has_time, 1);
	pci_info(pdev, "generic events: %s; raw events: %s\n", simllc_has_cpu_pmu ? "yes" : "no",
		 simllc_has_cpu_pmu && simllc_known ? simllc_known->name : "none");
	return 0;
}

static void simllc_remove(struct pci_dev *pdev)
{
	if (simllc_has_cpu_pmu)
		perf_pmu_unregister(&simllc_cpu_pmu);
	perf_pmu_unregister(&simllc_pmu);
	WRITE_ONCE(simllc_base->has_time, 0);
	simllc_base = NULL;
}

static const struct pci_device_id simllc_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) }, /* ivshmem */
	{ }
};
MODULE_DEVICE_TABLE(pci, simllc_ids);

static struct pci_driver simllc_driver = {
	.name = "simllc",
	.id_table = simllc_ids,
	.probe = simllc_probe,
	.remove = simllc_remove,
	/* forbid to unbind: events hold a reference to the module, but not to the device */
	.driver.suppress_bind_attrs = true,
};

static int __init simllc_init(void)
{
	int cpu, err = simllc_find_processor();

	for_each_possible_cpu(cpu) {
		struct hrtimer *timer = &per_cpu(simllc_samplers, cpu).timer;

		hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		timer->function = simllc_tick;
	}
	return err ? err : pci_register_driver(&simllc_driver);
}
module_init(simllc_init);

static void __exit simllc_exit(void)
{
	int cpu;

	pci_unregister_driver(&simllc_driver);
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(simllc_samplers, cpu).timer);
}
module_exit(simllc_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("PMU of a simulated last-level cache in QEMU");
