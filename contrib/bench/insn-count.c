/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A QEMU plugin that counts the guest's instructions, per virtual CPU, while all of
 * them run in parallel (MTTCG): each block of translated code adds its length to
 * counters that only its own CPU writes. When a program in the guest executes a marker
 * (mark.c), one line is appended to the plugin's out=FILE:
 *
 *	ID NANOSECONDS USER KERNEL REPEATED CPU0 CPU1 ...
 *
 * NANOSECONDS is the host's monotonic clock; USER and KERNEL are instructions in the
 * lower and the upper half of the address space, since the guest was switched on;
 * CPUn are USER + KERNEL of one CPU. A repeated string instruction ("rep movsb") counts
 * once, as on a processor; the further rounds that QEMU makes of it are in REPEATED.
 *
 * What is not exact: a block that is left in its middle, by a page fault for example,
 * counts whole, and again when it is resumed. The other CPUs' counters are read while they count.
 *
 * Needs qemu-plugin.h of the very QEMU that will load it (bench-launch gets it).
 */
#include <qemu-plugin.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define CPUS_MAX 256

/* One cache line each: no CPU waits for another one's counter. */
struct counter {
	_Alignas(64) uint64_t insns[2]; /* user, kernel */
	uint64_t repeated;
	uint64_t last_rep;
};

struct block {
	uint64_t rep; /* address of the string instruction that ends it; 0: none */
	uint32_t insns;
	uint8_t kernel;
	uint8_t is_rep; /* nothing but that instruction */
};

static struct counter counter[CPUS_MAX];
static unsigned n_cpus = 1;
static FILE *out;

static void add(uint64_t *to, uint64_t n)
{
	/* one writer: no locked instruction needed, but no torn value either */
	__atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static void block_runs(unsigned cpu, void *arg)
{
	const struct block *b = arg;
	struct counter *c = &counter[cpu < CPUS_MAX ? cpu : CPUS_MAX - 1];

	if (b->is_rep && c->last_rep == b->rep) {
		add(&c->repeated, 1);
		return;
	}
	c->last_rep = b->rep;
	add(&c->insns[b->kernel], b->insns);
}

static void marker_runs(unsigned cpu, void *arg)
{
	uint64_t user = 0, kernel = 0, repeated = 0;
	struct timespec now;
	char text[CPUS_MAX * 21 + 120];
	int used;

	(void)cpu;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (unsigned i = 0; i < n_cpus; i++) {
		user += get(&counter[i].insns[0]);
		kernel += get(&counter[i].insns[1]);
		repeated += get(&counter[i].repeated);
	}
	used = sprintf(text, "%u %lld %llu %llu %llu", (unsigned)(uintptr_t)arg,
		       (long long)now.tv_sec * 1000000000 + now.tv_nsec, (unsigned long long)user,
		       (unsigned long long)kernel, (unsigned long long)repeated);
	for (unsigned i = 0; i < n_cpus; i++)
		used += sprintf(text + used, " %llu",
				(unsigned long long)(get(&counter[i].insns[0]) + get(&counter[i].insns[1])));
	fprintf(out, "%s\n", text); /* one call: stdio's lock keeps lines whole */
	fflush(out);
}

static size_t insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *to, size_t max)
{
	size_t len = qemu_plugin_insn_size(insn);

	if (len > max)
		len = max;
#if QEMU_PLUGIN_VERSION >= 3
	return qemu_plugin_insn_data(insn, to, len);
#else
	memcpy(to, qemu_plugin_insn_data(insn), len);
	return len;
#endif
}

/* "nopl 0x4e4f00ID(%rax,%rax,1)": no compiler writes it. */
static int marker_id(const uint8_t *code, size_t len)
{
	static const uint8_t start[] = { 0x0f, 0x1f, 0x84, 0x00 }, end[] = { 0x00, 0x4f, 0x4e };

	if (len != 8 || memcmp(code, start, 4) != 0 || memcmp(code + 5, end, 3) != 0)
		return -1;
	return code[4];
}

/* ins, movs, cmps, outs, stos, lods, scas behind a rep prefix */
static int is_rep_string(const uint8_t *code, size_t len)
{
	int rep = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t b = code[i];

		if (b == 0xf2 || b == 0xf3)
			rep = 1;
		else if (b != 0x66 && b != 0x67 && (b & 0xf0) != 0x40)
			return rep && i + 1 == len &&
			       ((b >= 0x6c && b <= 0x6f) || (b >= 0xa4 && b <= 0xa7) || (b >= 0xaa && b <= 0xaf));
	}
	return 0;
}

static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	struct block *b = calloc(1, sizeof(*b)); /* QEMU does not tell when it drops a block */
	uint8_t code[16];

	(void)id;
	if (!b)
		abort();
	b->insns = (uint32_t)n;
	b->kernel = address >> 63 != 0;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t len = insn_bytes(insn, code, sizeof(code));
		int mark = b->kernel ? -1 : marker_id(code, len);

		if (mark >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marker_runs, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)mark);
		if (i + 1 == n && is_rep_string(code, len)) {
			b->rep = qemu_plugin_insn_vaddr(insn);
			b->is_rep = n == 1;
		}
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_runs, QEMU_PLUGIN_CB_NO_REGS, b);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0 && !out)
			out = fopen(argv[i] + 4, "ae");
		else
			fprintf(stderr, "insn-count: unknown argument \"%s\"\n", argv[i]);
	}
	if (!out || !info->system_emulation) {
		fprintf(stderr, "insn-count: needs out=FILE, writable, and a whole machine to emulate\n");
		return -1;
	}
	n_cpus = (unsigned)info->system.smp_vcpus;
	if (n_cpus > CPUS_MAX)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	return 0;
}
