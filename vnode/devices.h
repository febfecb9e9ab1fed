/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_DEVICES_H
#define NODEOS_VNODE_DEVICES_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "vnode/conf.h"

/* The devices that a vnode may use. A BPF program on the vnode's cgroup refuses all others. */
#define VNODE_DEVICES_MAX 64
#define VNODE_DEVICE_ANY (~0u) /* in place of a minor number: all of them */

struct vnode_device {
	char path[DIR_PATH_MAX]; /* below /dev; "": no file is made for it */
	unsigned major, minor;
	bool block;
};

/*
 * List the devices of C in OUT: null, zero, full, random, urandom, tty, ptmx, pseudo-terminals, and
 * those that the vnode's file names, with their device numbers on this host. Returns how many there
 * are, or -1 with the reason.
 */
int vnode_devices(struct vnode_device out[VNODE_DEVICES_MAX], const struct vnode_conf *c,
		  struct errbuf *err);

/* the largest number of instructions for N devices */
#define VNODE_DEVICES_INSNS(n) (6 + 5 * (n))

/*
 * Write the BPF program that allows the N devices D, and no others, to INSN, which has room for
 * VNODE_DEVICES_INSNS(N) instructions. Returns the number of instructions.
 */
unsigned vnode_devices_program(struct bpf_insn *insn, const struct vnode_device *d, unsigned n);

/*
 * Attach the program for the N devices D to the cgroup whose directory is open as CGROUP. The
 * kernel removes the program together with the cgroup. Returns 0, or -1 with the reason.
 */
int vnode_devices_attach(int cgroup, const struct vnode_device *d, unsigned n, struct errbuf *err);

#endif
