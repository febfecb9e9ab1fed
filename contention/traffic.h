/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_TRAFFIC_H
#define NODEOS_CONTENTION_TRAFFIC_H

#include <stdint.h>

#include "base/errbuf.h"

/*
 * Bytes of IP packets that the sockets of a cgroup send and receive, those on the loopback device
 * among them: two BPF programs for each cgroup add the length of a packet to a number in a map. No
 * packet is changed or dropped, and programs of the site stay (BPF links always attach beside
 * others). A link ends with its descriptor, so nothing is left behind when the daemon dies; the
 * next one counts from 0.
 *
 * The programs are six instructions by hand: no library, compiler or type information of the kernel
 * is needed to load them. The map's page is mapped, so that reading costs no system call. Needs
 * Linux 5.7, CAP_BPF and CAP_NET_ADMIN.
 */
struct traffic;
struct bpf_insn;

#define TRAFFIC_SLOTS 4096u /* cgroups at a time */
#define TRAFFIC_PROGRAM_LENGTH 6u

/*
 * The program that adds the length of each packet to the 64-bit number at byte OFFSET of the first
 * element of map MAP_FD, and lets the packet pass: TRAFFIC_PROGRAM_LENGTH instructions.
 */
void traffic_program(struct bpf_insn *out, int map_fd, unsigned offset);

/* Returns 0, or -1 with the reason: this kernel or this process may not. */
int traffic_open(struct traffic **out, struct errbuf *err);
void traffic_close(struct traffic *t); /* NULL does nothing */

/* Begin to count for the cgroup (v2) directory CGROUP_FD. Returns its slot, or -1 with the reason:
 * a program of the site's allows no other, or no slot is free. */
int traffic_attach(struct traffic *t, int cgroup_fd, struct errbuf *err);
void traffic_detach(struct traffic *t, int slot);
void traffic_read(const struct traffic *t, int slot, uint64_t *sent, uint64_t *received);

#endif
