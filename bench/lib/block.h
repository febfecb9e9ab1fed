/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What the QEMU plugins have in common: blocks of translated code, markers (mark.c, guest.h) and
 * repeated string instructions.
 */
#ifndef NODEOS_BENCH_BLOCK_H
#define NODEOS_BENCH_BLOCK_H

#include <qemu-plugin.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX 256

struct block {
	uint64_t address;
	/*
	 * address of the repeated string instruction at the end of the block; 0: the block ends
	 * with another instruction
	 */
	uint64_t rep;
	uint32_t insns;
	uint8_t kernel;
	uint8_t is_rep; /* the block has only the repeated string instruction */
};

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

/*
 * Return the ID if CODE is a marker, else -1. A marker is "nopl 0x4e4f00ID(%rax,%rax,1)", which no
 * compiler writes.
 */
static int marker_id(const uint8_t *code, size_t len)
{
	static const uint8_t start[] = { 0x0f, 0x1f, 0x84, 0x00 }, end[] = { 0x00, 0x4f, 0x4e };

	if (len != 8 || memcmp(code, start, 4) != 0 || memcmp(code + 5, end, 3) != 0)
		return -1;
	return code[4];
}

/* Return whether CODE is ins, movs, cmps, outs, stos, lods or scas with a rep prefix. */
static int is_rep_string(const uint8_t *code, size_t len)
{
	int rep = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t b = code[i];

		if (b == 0xf2 || b == 0xf3)
			rep = 1;
		else if (b != 0x66 && b != 0x67 && (b & 0xf0) != 0x40)
			return rep && i + 1 == len &&
			       ((b >= 0x6c && b <= 0x6f) || (b >= 0xa4 && b <= 0xa7) ||
				(b >= 0xaa && b <= 0xaf));
	}
	return 0;
}

/*
 * Make the struct block of TB. If MARKER is not NULL, let QEMU call it with the ID whenever a
 * program executes a marker in TB.
 */
static struct block *block_of(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t marker)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	/* never freed: QEMU does not report which blocks it drops */
	struct block *b = calloc(1, sizeof(*b));
	uint8_t code[16];

	if (!b)
		abort();
	b->address = qemu_plugin_tb_vaddr(tb);
	b->insns = (uint32_t)n;
	b->kernel = b->address >> 63 != 0;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t len = insn_bytes(insn, code, sizeof(code));
		int mark = b->kernel || !marker ? -1 : marker_id(code, len);

		if (mark >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marker, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)mark);
		if (i + 1 == n && is_rep_string(code, len)) {
			b->rep = qemu_plugin_insn_vaddr(insn);
			b->is_rep = n == 1;
		}
	}
	return b;
}

static qemu_plugin_vcpu_udata_cb_t on_block, on_marker;

static void block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
					     block_of(tb, on_marker));
}

/*
 * Let QEMU call BLOCK with the struct block whenever a block is executed, and MARKER as block_of()
 * says. Returns the number of CPUs, or -1 if there are too many.
 */
static inline int watch_blocks(qemu_plugin_id_t id, const qemu_info_t *info,
			       qemu_plugin_vcpu_udata_cb_t block,
			       qemu_plugin_vcpu_udata_cb_t marker)
{
	if (info->system.smp_vcpus > CPUS_MAX)
		return -1;
	on_block = block;
	on_marker = marker;
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	return info->system.smp_vcpus;
}

#endif
