/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_TRAFFIC_H
#define NODEOS_CONTENTION_TRAFFIC_H

#include <stdint.h>

#include "base/errbuf.h"

/*
 * The bytes of IP packets that the sockets of a cgroup send and receive, including the loopback
 * device. Two BPF programs for each cgroup add the length of each packet to a number in a map. They
 * change and drop no packet, and replace no programs of the site, because BPF links attach beside
 * others. A link ends with its descriptor, so no program stays when the daemon dies; the next
 * daemon counts from 0.
 *
 * A program has six instructions, written by hand, so it can be loaded without a library, a
 * compiler or type information of the kernel. The map is mapped into memory, so that reading needs
 * no system call. Linux 5.7, CAP_BPF and CAP_NET_ADMIN are needed.
 */
struct traffic;
struct bpf_insn;

#define TRAFFIC_SLOTS 4096u /* cgroups at a time */
#define TRAFFIC_PROGRAM_LENGTH 6u /* instructions */

/*
 * Write the TRAFFIC_PROGRAM_LENGTH instructions of a program to OUT. The program adds the length of
 * each packet to the 64-bit number at byte OFFSET of the first element of map MAP_FD, and lets the
 * packet pass.
 */
void traffic_program(struct bpf_insn *out, int map_fd, unsigned offset);

/* Returns 0, or -1 with the reason if the kernel lacks BPF maps or the caller may not use them. */
int traffic_open(struct traffic **out, struct errbuf *err);
void traffic_close(struct traffic *t); /* NULL does nothing */

/*
 * Start to count for the cgroup (v2) directory CGROUP_FD. Returns its slot, or -1 with the reason
 * if a program of the site allows no other program, or no slot is free.
 */
int traffic_attach(struct traffic *t, int cgroup_fd, struct errbuf *err);
void traffic_detach(struct traffic *t, int slot);
void traffic_read(const struct traffic *t, int slot, uint64_t *sent, uint64_t *received);

#endif
