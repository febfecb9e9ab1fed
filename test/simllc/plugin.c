// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of QEMU's emulator (TCG) that simulates last-level caches with physical addresses, one
 * for each group of vCPUs; all vCPUs run in parallel. Counters of each vCPU are in a file (abi.h),
 * which the guest sees as BAR 2 of an ivshmem-plain device. README has the options and says what is
 * not simulated.
 *
 * Needs qemu-plugin.h of exactly the QEMU that will load the plugin; the script build gets it.
 */
#include "abi.h"
#include "bench/lib/block.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

enum {
	STALL_MIN_NS = 2000000, /* a shorter sleep would cost the host more time */
	STALL_MAX_NS = 50000000 /* after a longer sleep, the guest could report a stopped CPU */
};

/* State of a vCPU. Only one thread writes it, so it has cache lines of its own. */
struct vcpu {
	_Alignas(64) struct l1 l1;
	uint64_t last_rep;
	int64_t debt; /* nanoseconds for which the vCPU must still be stopped */
	unsigned unnoted; /* misses since the last one in its ring */
};

static struct vcpu vcpu[SIMLLC_CPUS];
static struct cache *cache[SIMLLC_CPUS];
static struct options options;
static struct simllc_head *head;

static void count(unsigned cpu, unsigned counter, unsigned kernel, uint64_t n)
{
	uint64_t *record = (uint64_t *)((char *)head + SIMLLC_HEAD + cpu * SIMLLC_RECORD);
	uint64_t *to = &record[2 * counter + kernel];

	/*
	 * Only one thread writes, so no locked instruction is needed. Readers must not see a part
	 * of a new value.
	 */
	__atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* Write one in SIMLLC_EVERY misses to the vCPU's ring. */
static void note_miss(unsigned cpu, uint64_t address, unsigned flags)
{
	struct simllc_ring *ring = (struct simllc_ring *)((char *)head + SIMLLC_RINGS) + cpu;
	uint64_t line = address & ~(uint64_t)(CACHE_LINE - 1);

	if (++vcpu[cpu].unnoted < SIMLLC_EVERY)
		return;
	vcpu[cpu].unnoted = 0;
	ring->miss[ring->n % SIMLLC_RING_MISSES] = line | flags;
	__atomic_store_n(&ring->n, ring->n + 1, __ATOMIC_RELEASE);
}

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Stop the vCPU for its debt if that is long enough for a sleep. */
static void stop_for_debt(unsigned cpu, unsigned kernel)
{
	struct vcpu *c = &vcpu[cpu];
	int64_t ns = c->debt > STALL_MAX_NS ? STALL_MAX_NS : c->debt;

	if (ns < STALL_MIN_NS)
		return;
	nanosleep(&(struct timespec){ 0, ns }, NULL);
	count(cpu, SIMLLC_STALL_NS, kernel, (uint64_t)ns);
	c->debt -= ns;
}

static enum memory_address address_kind(void)
{
	/*
	 * API 1 is the API of QEMU 4.2 to 8.2. There, qemu_plugin_hwaddr_phys_addr() adds a node's
	 * offset twice: its offset in all RAM and its offset in its container, which are equal.
	 */
	return QEMU_PLUGIN_VERSION == 1 ? MEMORY_DOUBLED : MEMORY_PHYSICAL;
}

static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *arg)
{
	unsigned kernel = (unsigned)(uintptr_t)arg, weight = 1u << options.shape.sample, fill = 0;
	struct vcpu *c = &vcpu[cpu];
	struct qemu_plugin_hwaddr *hw;
	unsigned result;
	uint64_t at;
	int node;

	if (l1_access(&c->l1, address / CACHE_LINE))
		return;
	hw = qemu_plugin_get_hwaddr(info, address);
	if (!hw || qemu_plugin_hwaddr_is_io(hw))
		return;
	at = qemu_plugin_hwaddr_phys_addr(hw);
	result = cache_access(cache[cpu / options.share], at / CACHE_LINE);
	if (!(result & CACHE_SAMPLED))
		return;
	count(cpu, SIMLLC_REFERENCES, kernel, weight);
	if (!(result & CACHE_MISS))
		return;
	node = memory_node(&options.memory, at, address_kind());
	if (memory_is_remote(&options.memory, node, cpu))
		fill |= SIMLLC_REMOTE;
	if (qemu_plugin_mem_is_store(info))
		fill |= SIMLLC_WRITE;
	count(cpu, SIMLLC_FILLS + fill, kernel, weight);
	note_miss(cpu, address, fill | (kernel ? SIMLLC_KERNEL : 0));
	if (result & CACHE_PREFETCHED)
		count(cpu, SIMLLC_FILLS + (fill | SIMLLC_PREFETCH), kernel, weight);
	/* without has_time, lines take no time: otherwise the boot would take minutes */
	if (!memory_has_time(&options.memory) ||
	    !__atomic_load_n(&head->has_time, __ATOMIC_RELAXED))
		return;
	/* no program waits for a prefetched line, but the controller is busy with it */
	c->debt = memory_charge(&options.memory, node, fill & SIMLLC_REMOTE, weight, clock_ns(),
				c->debt);
	if (result & CACHE_PREFETCHED)
		memory_enqueue(&options.memory, node, weight, clock_ns());
	stop_for_debt(cpu, kernel);
}

static void on_mapping(unsigned cpu, void *arg)
{
	(void)arg;
	l1_clear(&vcpu[cpu].l1);
}

static void on_run(unsigned cpu, void *arg)
{
	const struct block *b = arg;
	struct vcpu *c = &vcpu[cpu];

	/* count a repeated string instruction once, not each of its rounds */
	if (b->is_rep && c->last_rep == b->rep)
		return;
	c->last_rep = b->rep;
	count(cpu, SIMLLC_INSTRUCTIONS, b->kernel, b->insns);
}

/*
 * Return whether the instruction changes the mapping of virtual addresses: it writes cr3 or cr4, or
 * is invlpg or invpcid.
 */
static bool changes_mapping(const uint8_t *code, size_t length)
{
	size_t i = 0;

	while (i < length && (code[i] == 0x66 || (code[i] & 0xf0) == 0x40))
		i++;
	if (i + 2 >= length || code[i] != 0x0f)
		return false;
	switch (code[i + 1]) {
	case 0x22:
		return (code[i + 2] >> 3 & 7) == 3 || (code[i + 2] >> 3 & 7) == 4;
	case 0x01:
		return code[i + 2] >> 6 != 3 && (code[i + 2] >> 3 & 7) == 7;
	case 0x38:
		return code[i + 2] == 0x82;
	default:
		return false;
	}
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = block_of(tb, NULL);
	uint8_t code[16];

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_run, QEMU_PLUGIN_CB_NO_REGS, b);
	for (size_t i = 0; i < b->insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)b->kernel);
		if (b->kernel && changes_mapping(code, insn_bytes(insn, code, sizeof(code))))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mapping,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

/* Create the file of the counters, with the header and with all counters 0. */
static int make_counters(unsigned cpus)
{
	int fd = open(options.out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, SIMLLC_BYTES) < 0)
		return -1;
	at = mmap(NULL, SIMLLC_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return -1;
	head = at;
	*head = (struct simllc_head){
		.magic = SIMLLC_MAGIC,
		.version = SIMLLC_VERSION,
		.cpus = cpus,
		.cpus_per_cache = options.share,
		.line = CACHE_LINE,
		.ways = options.shape.ways,
		.sets = cache_sets(&options.shape),
		.sample = options.shape.sample,
		.prefetch = options.shape.prefetch,
	};
	return 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	unsigned cpus = info->system_emulation ? (unsigned)info->system.smp_vcpus : 0;
	char error[256];

	if (cpus < 1 || cpus > SIMLLC_CPUS) {
		fprintf(stderr, "simllc: needs system emulation with 1 to %d vCPUs\n", SIMLLC_CPUS);
		return -1;
	}
	if (options_parse(&options, argc, argv, cpus, error, sizeof(error)) < 0) {
		fprintf(stderr, "simllc: %s\n", error);
		return -1;
	}
	for (unsigned i = 0; i * options.share < cpus; i++) {
		cache[i] = cache_new(&options.shape);
		if (!cache[i]) {
			fprintf(stderr, "simllc: out of memory for a cache\n");
			return -1;
		}
	}
	if (make_counters(cpus) < 0) {
		fprintf(stderr, "simllc: out=%s: %s\n", options.out, strerror(errno));
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
