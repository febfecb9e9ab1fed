/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/devices.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* offsets of the fields of struct bpf_cgroup_dev_ctx, each of four bytes */
enum { CTX_ACCESS_TYPE = 0, CTX_MAJOR = 4, CTX_MINOR = 8 };
enum { R_RESULT = 0, R_CTX = 1, R_TYPE = 2, R_MAJOR = 3, R_MINOR = 4 };

static const struct vnode_device standard[] = {
	{ "/dev/null", 1, 3, false },
	{ "/dev/zero", 1, 5, false },
	{ "/dev/full", 1, 7, false },
	{ "/dev/random", 1, 8, false },
	{ "/dev/urandom", 1, 9, false },
	{ "/dev/tty", 5, 0, false },
	{ "", 5, 2, false }, /* ptmx, in devpts */
	{ "", 136, VNODE_DEVICE_ANY, false }, /* pts */
};
#define STANDARD (sizeof(standard) / sizeof(standard[0]))

int vnode_devices(struct vnode_device out[VNODE_DEVICES_MAX], const struct vnode_conf *c,
		  struct errbuf *err)
{
	const char *at = c->devices, *word;
	unsigned n = STANDARD;
	struct stat st;
	size_t len;

	memcpy(out, standard, sizeof(standard));
	while ((word = vnode_next_word(&at, &len))) {
		struct vnode_device *d = &out[n];

		if (n == VNODE_DEVICES_MAX || len >= sizeof(d->path))
			return errprintf(err, "devices: more than %d, or a path is too long",
					 VNODE_DEVICES_MAX);
		memset(d, 0, sizeof(*d));
		memcpy(d->path, word, len);
		if (stat(d->path, &st) < 0)
			return errprintf(err, "devices: %s: %s", d->path, strerror(errno));
		if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
			return errprintf(err, "devices: %s is not a device", d->path);
		d->block = S_ISBLK(st.st_mode);
		d->major = major(st.st_rdev);
		d->minor = minor(st.st_rdev);
		n++;
	}
	return (int)n;
}

static struct bpf_insn make_insn(uint8_t code, int dst, int src, int16_t off, int32_t imm)
{
	return (struct bpf_insn){ .code = code,
				  .dst_reg = (uint8_t)(dst & 15),
				  .src_reg = (uint8_t)(src & 15),
				  .off = off,
				  .imm = imm };
}

/* Write instructions that return 1 if the device in the registers is D, and else continue. */
static unsigned put_device(struct bpf_insn *insn, const struct vnode_device *d)
{
	bool any = d->minor == VNODE_DEVICE_ANY;
	int16_t left = any ? 4
			   : 5; /* instructions to skip when the type or the major number differs */
	unsigned n = 0;

	insn[n++] = make_insn(BPF_JMP | BPF_JNE | BPF_K, R_TYPE, 0, (int16_t)(left - 1),
			      d->block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
	insn[n++] = make_insn(BPF_JMP | BPF_JNE | BPF_K, R_MAJOR, 0, (int16_t)(left - 2),
			      (int32_t)d->major);
	if (!any)
		insn[n++] = make_insn(BPF_JMP | BPF_JNE | BPF_K, R_MINOR, 0, 2, (int32_t)d->minor);
	insn[n++] = make_insn(BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, 1);
	insn[n++] = make_insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return n;
}

unsigned vnode_devices_program(struct bpf_insn *insn, const struct vnode_device *d, unsigned n)
{
	unsigned at = 0;

	insn[at++] = make_insn(BPF_LDX | BPF_MEM | BPF_W, R_TYPE, R_CTX, CTX_ACCESS_TYPE, 0);
	insn[at++] = make_insn(BPF_ALU | BPF_AND | BPF_K, R_TYPE, 0, 0, 0xffff);
	insn[at++] = make_insn(BPF_LDX | BPF_MEM | BPF_W, R_MAJOR, R_CTX, CTX_MAJOR, 0);
	insn[at++] = make_insn(BPF_LDX | BPF_MEM | BPF_W, R_MINOR, R_CTX, CTX_MINOR, 0);
	for (unsigned i = 0; i < n; i++)
		at += put_device(insn + at, &d[i]);
	insn[at++] = make_insn(BPF_ALU64 | BPF_MOV | BPF_K, R_RESULT, 0, 0, 0);
	insn[at++] = make_insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return at;
}

static int call_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

int vnode_devices_attach(int cgroup, const struct vnode_device *d, unsigned n, struct errbuf *err)
{
	struct bpf_insn insn[VNODE_DEVICES_INSNS(VNODE_DEVICES_MAX)];
	union bpf_attr attr;
	int program, rc;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uint64_t)(uintptr_t)insn;
	attr.insn_cnt = vnode_devices_program(insn, d, n);
	attr.license = (uint64_t)(uintptr_t) "GPL";
	program = call_bpf(BPF_PROG_LOAD, &attr);
	if (program < 0)
		return errprintf(err,
				 "devices: the kernel does not load a BPF program for a cgroup: %s",
				 strerror(errno));
	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup;
	attr.attach_bpf_fd = (uint32_t)program;
	attr.attach_type = BPF_CGROUP_DEVICE;
	/* systemd may attach such programs to the cgroups above: all of them must allow a device */
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	rc = call_bpf(BPF_PROG_ATTACH, &attr);
	if (rc < 0)
		errprintf(err, "devices: the program cannot be attached: %s", strerror(errno));
	close(program);
	return rc < 0 ? -1 : 0;
}
