/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/cgroup.h"

/*
 * Compare with bytes made by hand from the tables in Linux's
 * Documentation/bpf/standardization/instruction-set.rst.
 */
static void test_encode(void)
{
	static const uint8_t want[6][8] = {
		/* opcode, src << 4 | dst, offset (16), immediate (32) */
		{ 0x61, 0x12, 0, 0, 0, 0, 0, 0 }, /* LDX | W | MEM: r2 = *(u32 *)(r1 + 0) */
		{ 0x18, 0x21, 0, 0, 0x04, 0x03, 0x02,
		  0x01 }, /* LD | DW | IMM, src 2: map's value */
		{ 0x00, 0x00, 0, 0, 0xf8, 0xff, 0, 0 },
		{ 0xdb, 0x21, 0, 0, 0, 0, 0, 0 }, /* STX | DW | ATOMIC, imm 0: add */
		{ 0xb7, 0x00, 0, 0, 1, 0, 0, 0 }, /* ALU64 | MOV | K: r0 = 1 */
		{ 0x95, 0x00, 0, 0, 0, 0, 0, 0 }, /* JMP | EXIT */
	};
	struct bpf_insn got[TRAFFIC_PROGRAM_LENGTH];

	traffic_program(got, 0x01020304, 0xfff8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (unsigned i = 0; i < 6; i++)
		ok(memcmp(&got[i], want[i], 8) == 0,
		   "traffic_program: instruction %u is encoded as specified", i);
#else
	(void)want;
	skip(6, "the expected bytes are for little-endian machines");
#endif
	is_int(offsetof(struct __sk_buff, len), 0,
	       "traffic_program: the length of a packet is at offset 0");
}

/* Send BYTES of payload to this host over UDP, from a process in cgroup DIR. */
static void send_in(int dir, unsigned bytes)
{
	char payload[1000] = { 0 }, pid[24];
	int status, procs, s;
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	pid_t child = fork();

	if (child == 0) {
		procs = openat(dir, "cgroup.procs", O_WRONLY);
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
		if (write(procs, pid, strlen(pid)) < 0)
			_exit(1);
		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		s = socket(AF_INET, SOCK_DGRAM, 0);
		if (bind(s, (struct sockaddr *)&a, sizeof(a)) < 0 ||
		    getsockname(s, (struct sockaddr *)&a, &len) < 0 ||
		    sendto(s, payload, bytes, 0, (struct sockaddr *)&a, sizeof(a)) !=
			    (ssize_t)bytes ||
		    recv(s, payload, bytes, 0) != (ssize_t)bytes)
			_exit(2);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (status)
		diag("a datagram of %u bytes: status %d", bytes, status);
}

#define COUNT_CHECKS 6

static void count_datagrams(struct traffic *t, int dir)
{
	uint64_t sent, received;
	struct errbuf err;
	int slot = traffic_attach(t, dir, &err), second;

	if (slot < 0) {
		skip(COUNT_CHECKS, "%s", err.text);
		return;
	}
	traffic_read(t, slot, &sent, &received);
	ok(!sent && !received, "traffic_attach: the bytes of a new slot are 0");
	send_in(dir, 1000);
	send_in(dir, 72);
	traffic_read(t, slot, &sent, &received);
	/* headers of IPv4 and UDP have 20 and 8 bytes */
	is_int((long long)sent, 1000 + 72 + 2 * 28,
	       "traffic_read: counts bytes of IP packets sent");
	is_int((long long)received, 1000 + 72 + 2 * 28,
	       "traffic_read: counts bytes of IP packets received");
	second = traffic_attach(t, dir, &err);
	ok(second >= 0 && second != slot,
	   "traffic_attach: attaches to a cgroup that has another program already");
	send_in(dir, 100);
	traffic_detach(t, second);
	traffic_read(t, slot, &sent, &received);
	is_int((long long)sent, 1000 + 72 + 100 + 3 * 28,
	       "traffic_read: the first program still counts beside a second program");
	traffic_detach(t, slot);
	send_in(dir, 100);
	traffic_read(t, slot, &sent, &received);
	is_int((long long)sent, 1000 + 72 + 100 + 3 * 28,
	       "traffic_detach: a detached slot counts nothing");
}

int main(void)
{
	struct errbuf err = { 0 };
	struct traffic *t = NULL;
	char name[64];
	int root, dir = -1;

	test_encode();
	root = cgroup_open_root(NULL, &err);
	snprintf(name, sizeof(name), "nodeos-test-%d", (int)getpid());
	if (root < 0 || traffic_open(&t, &err) < 0) {
		skip(COUNT_CHECKS, "%s", err.text);
	} else if (mkdirat(root, name, 0700) < 0) {
		skip(COUNT_CHECKS, "cannot make a cgroup: %s", strerror(errno));
	} else {
		dir = openat(root, name, O_RDONLY | O_DIRECTORY);
		count_datagrams(t, dir);
		close(dir);
		unlinkat(root, name, AT_REMOVEDIR);
	}
	traffic_close(t);
	return tap_done();
}
