/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/guest_given.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/proc.h"
#include "hugepages/borrow.h"

#define KVM "/dev/kvm"
#define MEMS_MAX 64 /* memory nodes of a guest, as in guest/shape.h */
#define UNIT (UINT64_C(8) << 20) /* the memory of each node is a multiple of it, guest/setup.c */

/* Descriptors of this process, which is a rank; -1: none. */
static struct {
	unsigned nth;
	int send, receive, kvm, memory[MEMS_MAX];
} taken = { .send = -1, .receive = -1, .kvm = -1 };

uint64_t guest_given_bytes(unsigned mib, unsigned mems)
{
	return mems ? (((uint64_t)mib << 20) / mems + UNIT - 1) / UNIT * UNIT : 0;
}

int guest_given_make(struct guest_given *g, struct reserve_given *memory,
		     const struct reserve_ask *ask, struct errbuf *err)
{
	int pair[2];

	if (g->ranks > GUEST_RANKS_MAX)
		return errprintf(err, "a guest has at most %d ranks, not %u", GUEST_RANKS_MAX,
				 g->ranks);
	if (!ask->ranks || ask->ranks > MEMS_MAX)
		return errprintf(err, "a guest has 1 to %d memory nodes, not %u", MEMS_MAX,
				 ask->ranks);
	if (reserve_pages(memory, ask, err) < 0)
		return -1;
	/* the sockets end with slurmstepd, which ends with the step */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	g->stepd = getpid();
	g->number = process_number(g->stepd);
	g->send = pair[0];
	g->receive = pair[1];
	g->extents = ask->ranks;
	return 0;
}

/* Get the descriptors that only the first rank needs, which starts QEMU. */
static int take_first(const struct guest_given *g, const struct reserve_given *memory,
		      struct errbuf *err)
{
	taken.receive = borrow_descriptor(g->stepd, g->number, g->receive, err);
	if (taken.receive < 0)
		return -1;
	for (unsigned i = 0; i < g->extents; i++) {
		taken.memory[i] = reserve_take(memory, i, err);
		if (taken.memory[i] < 0)
			return -1;
	}
	if (!g->kvm)
		return 0;
	taken.kvm = open(KVM, O_RDWR); /* stays open in execve() */
	return taken.kvm < 0 ? errprintf(err, KVM ": %s", strerror(errno)) : 0;
}

int guest_given_take(const struct guest_given *g, const struct reserve_given *memory, unsigned nth,
		     struct errbuf *err)
{
	taken.nth = nth;
	taken.send = borrow_descriptor(g->stepd, g->number, g->send, err);
	if (taken.send < 0)
		return -1;
	return nth == 0 ? take_first(g, memory, err) : 0;
}

void guest_given_options(char buf[GUEST_OPTIONS_MAX], const struct guest_given *g,
			 const struct reserve_given *memory, const struct idset *cpus,
			 const struct idset *mems)
{
	static char cpu_list[IDSET_LIST_MAX], mem_list[IDSET_LIST_MAX];
	size_t n = (size_t)snprintf(buf, GUEST_OPTIONS_MAX, "--rank=%u,%u,%d,%d", taken.nth,
				    g->ranks, taken.send, taken.receive);

	if (taken.nth > 0)
		return;
	idset_format(cpus, cpu_list, sizeof(cpu_list));
	idset_format(mems, mem_list, sizeof(mem_list));
	n += (size_t)snprintf(buf + n, GUEST_OPTIONS_MAX - n,
			      " --memory=%" PRIu64 "M --cpus=%s --mems=%s --given=%d",
			      memory->bytes * g->extents >> 20, cpu_list, mem_list, taken.kvm);
	for (unsigned i = 0; i < g->extents; i++)
		n += (size_t)snprintf(buf + n, GUEST_OPTIONS_MAX - n, ",%d", taken.memory[i]);
}
