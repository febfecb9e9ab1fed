/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small interpreter runs the BPF program that allows or refuses devices. */
#include "vnode/devices.h"

#include <stdint.h>

#include "base/test/tap.h"

enum { BLOCK = 1, CHAR = 2, MKNOD = 1, READ = 2, WRITE = 4 };

/* Returns the program's result, or -1 for an unknown instruction or an endless loop. */
static int run_program(const struct bpf_insn *insn, unsigned n, const uint32_t ctx[3])
{
	uint64_t r[11] = { 0 };

	for (unsigned at = 0, steps = 0; at < n && steps < 10000; at++, steps++) {
		const struct bpf_insn *i = &insn[at];

		switch (i->code) {
		case 0x61: /* ldxw */
			r[i->dst_reg] = ctx[i->off / 4];
			break;
		case 0x54: /* and32 */
			r[i->dst_reg] = (uint32_t)r[i->dst_reg] & (uint32_t)i->imm;
			break;
		case 0x55: /* jne */
			if (r[i->dst_reg] != (uint64_t)(int64_t)i->imm)
				at += (unsigned)i->off;
			break;
		case 0xb7: /* mov */
			r[i->dst_reg] = (uint64_t)(int64_t)i->imm;
			break;
		case 0x95: /* exit */
			return (int)r[0];
		default:
			return -1;
		}
	}
	return -1;
}

static int decide(const struct vnode_device *d, unsigned n, int type, unsigned maj, unsigned min)
{
	struct bpf_insn insn[VNODE_DEVICES_INSNS(VNODE_DEVICES_MAX)];
	unsigned length = vnode_devices_program(insn, d, n);
	int first = -2;

	if (length > VNODE_DEVICES_INSNS(n))
		return -3;
	/* the answer must not depend on the kind of access */
	for (unsigned access = MKNOD; access <= (MKNOD | READ | WRITE); access++) {
		uint32_t ctx[3] = { access << 16 | (uint32_t)type, maj, min };
		int got = run_program(insn, length, ctx);

		if (first != -2 && got != first)
			return -4;
		first = got;
	}
	return first;
}

int main(void)
{
	struct vnode_device d[VNODE_DEVICES_MAX];
	struct vnode_conf c = { .devices = "/dev/full /dev/ptmx" };
	struct errbuf err = { 0 };
	int n = vnode_devices(d, &c, &err);

	is_int(n, 10, "a vnode has eight standard devices and the two that its file names: %s",
	       err.text);
	is_int(decide(d, (unsigned)n, CHAR, 1, 3), 1, "null is allowed");
	is_int(decide(d, (unsigned)n, CHAR, 1, 5), 1, "zero is allowed");
	is_int(decide(d, (unsigned)n, CHAR, 1, 9), 1, "urandom is allowed");
	is_int(decide(d, (unsigned)n, CHAR, 136, 0), 1, "the first pseudo-terminal is allowed");
	is_int(decide(d, (unsigned)n, CHAR, 136, 4711), 1, "every pseudo-terminal is allowed");
	is_int(decide(d, (unsigned)n, CHAR, 1, 1), 0, "mem is refused");
	is_int(decide(d, (unsigned)n, CHAR, 1, 11), 0, "kmsg is refused");
	is_int(decide(d, (unsigned)n, CHAR, 10, 229), 0, "fuse is refused");
	is_int(decide(d, (unsigned)n, CHAR, 5, 1), 0, "console is refused");
	is_int(decide(d, (unsigned)n, BLOCK, 1, 3), 0,
	       "the block device with null's number is refused");
	is_int(decide(d, (unsigned)n, BLOCK, 8, 0), 0, "a disk is refused");
	d[n++] = (struct vnode_device){ .path = "/dev/nvme0n1", .major = 259, .block = true };
	d[n++] = (struct vnode_device){ .path = "/dev/fuse", .major = 10, .minor = 229 };
	is_int(decide(d, (unsigned)n, BLOCK, 259, 0), 1, "a listed disk is allowed");
	is_int(decide(d, (unsigned)n, BLOCK, 259, 1), 0, "a partition of a listed disk is refused");
	is_int(decide(d, (unsigned)n, CHAR, 10, 229), 1, "a listed character device is allowed");
	is_int(decide(d, 0, CHAR, 1, 3), 0, "an empty list refuses null");
	strcpy(c.devices, "/dev/nodeos-none");
	ok(vnode_devices(d, &c, &err) < 0, "a missing device is refused: %s", err.text);
	strcpy(c.devices, "/dev/shm");
	ok(vnode_devices(d, &c, &err) < 0, "a directory is refused: %s", err.text);
	return tap_done();
}
