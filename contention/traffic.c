/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/traffic.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The bytes of one slot, to which the BPF programs add. */
struct traffic_total {
	uint64_t sent, received;
};

struct traffic_links {
	int egress, ingress; /* -1: this slot is free */
};

struct traffic {
	int map_fd;
	volatile struct traffic_total
		/* TRAFFIC_SLOTS elements, which are together the value of the map's only entry */
		*total;
	struct traffic_links links[TRAFFIC_SLOTS];
};

#define TRAFFIC_MAP_BYTES (TRAFFIC_SLOTS * sizeof(struct traffic_total))

static int traffic_call(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

void traffic_program(struct bpf_insn *out, int map_fd, unsigned offset)
{
	const struct bpf_insn program[TRAFFIC_PROGRAM_LENGTH] = {
		/* r2 = skb->len, the length of the IP packet; r1 is the context */
		{ .code = BPF_LDX | BPF_W | BPF_MEM,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_REG_1,
		  .off = offsetof(struct __sk_buff, len) },
		/* r1 = address of the map's element + offset, in two instructions */
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map_fd },
		{ .imm = (int)offset },
		/* *(u64 *)r1 += r2, atomically */
		{ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_2,
		  .imm = BPF_ADD },
		/* return 1: the packet passes */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	memcpy(out, program, sizeof(program));
}

/*
 * Load the program for OFFSET and attach it to CGROUP_FD. Returns the descriptor of the link, which
 * keeps the program loaded, or -1 with errno.
 */
static int traffic_link(const struct traffic *t, int cgroup_fd, enum bpf_attach_type type,
			size_t offset)
{
	struct bpf_insn program[TRAFFIC_PROGRAM_LENGTH];
	union bpf_attr load, link;
	int fd, made, saved;

	traffic_program(program, t->map_fd, (unsigned)offset);
	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_CGROUP_SKB;
	load.expected_attach_type = type;
	load.insns = (uintptr_t)program;
	load.insn_cnt = TRAFFIC_PROGRAM_LENGTH;
	load.license = (uintptr_t) "GPL";
	strcpy(load.prog_name, "nodeos_traffic");
	fd = traffic_call(BPF_PROG_LOAD, &load);
	if (fd < 0)
		return -1;
	memset(&link, 0, sizeof(link));
	link.link_create.prog_fd = (uint32_t)fd;
	link.link_create.target_fd = (uint32_t)cgroup_fd;
	link.link_create.attach_type = type;
	made = traffic_call(BPF_LINK_CREATE, &link);
	saved = errno;
	close(fd);
	errno = saved;
	return made;
}

int traffic_open(struct traffic **out, struct errbuf *err)
{
	struct traffic *t = malloc(sizeof(*t));
	union bpf_attr map;
	void *page;

	if (!t)
		return errprintf(err, "out of memory");
	memset(&map, 0, sizeof(map));
	map.map_type = BPF_MAP_TYPE_ARRAY;
	map.key_size = sizeof(uint32_t);
	map.value_size = TRAFFIC_MAP_BYTES;
	map.max_entries = 1;
	map.map_flags = BPF_F_MMAPABLE;
	strcpy(map.map_name, "nodeos_traffic");
	t->map_fd = traffic_call(BPF_MAP_CREATE, &map);
	if (t->map_fd < 0) {
		errprintf(err, "cannot make the BPF map that counts traffic: %s", strerror(errno));
		free(t);
		return -1;
	}
	page = mmap(NULL, TRAFFIC_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->map_fd, 0);
	if (page == MAP_FAILED) {
		errprintf(err, "cannot mmap the BPF map that counts traffic: %s", strerror(errno));
		close(t->map_fd);
		free(t);
		return -1;
	}
	t->total = page;
	for (unsigned i = 0; i < TRAFFIC_SLOTS; i++)
		t->links[i].egress = t->links[i].ingress = -1;
	*out = t;
	return 0;
}

void traffic_detach(struct traffic *t, int slot)
{
	struct traffic_links *l = &t->links[slot];

	if (l->egress >= 0)
		close(l->egress);
	if (l->ingress >= 0)
		close(l->ingress);
	l->egress = l->ingress = -1;
}

void traffic_close(struct traffic *t)
{
	if (!t)
		return;
	for (int i = 0; i < (int)TRAFFIC_SLOTS; i++)
		traffic_detach(t, i);
	munmap((void *)t->total, TRAFFIC_MAP_BYTES);
	close(t->map_fd);
	free(t);
}

int traffic_attach(struct traffic *t, int cgroup_fd, struct errbuf *err)
{
	unsigned slot = 0;
	size_t base;

	while (slot < TRAFFIC_SLOTS && t->links[slot].egress >= 0)
		slot++;
	if (slot == TRAFFIC_SLOTS)
		return errprintf(err, "traffic can be counted for at most %u ranks", TRAFFIC_SLOTS);
	t->total[slot].sent = t->total[slot].received = 0;
	base = slot * sizeof(struct traffic_total);
	t->links[slot].egress = traffic_link(t, cgroup_fd, BPF_CGROUP_INET_EGRESS,
					     base + offsetof(struct traffic_total, sent));
	if (t->links[slot].egress >= 0)
		t->links[slot].ingress =
			traffic_link(t, cgroup_fd, BPF_CGROUP_INET_INGRESS,
				     base + offsetof(struct traffic_total, received));
	if (t->links[slot].ingress < 0) {
		errprintf(err, "cannot attach the BPF program that counts a rank's traffic: %s",
			  strerror(errno));
		traffic_detach(t, (int)slot);
		return -1;
	}
	return (int)slot;
}

void traffic_read(const struct traffic *t, int slot, uint64_t *sent, uint64_t *received)
{
	*sent = t->total[slot].sent;
	*received = t->total[slot].received;
}
