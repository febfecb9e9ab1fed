/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int move_link_set(const char *name, bool up, struct errbuf *err)
{
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return errprintf(err, "link %s: %s", name, strerror(errno));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &r) < 0) {
		rc = errprintf(err, "link %s: %s", name, strerror(errno));
	} else {
		r.ifr_flags = (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
		if (ioctl(fd, SIOCSIFFLAGS, &r) < 0)
			rc = errprintf(err, "link %s: %s", name, strerror(errno));
	}
	close(fd);
	return rc;
}

struct arp_packet {
	struct ethhdr ethernet;
	struct arphdr arp;
	unsigned char sender[ETH_ALEN], sender_ip[4], target[ETH_ALEN], target_ip[4];
} __attribute__((packed));

/* Announce the address of eth0. Runs in the vnode's network namespace. */
static void send_arp(void)
{
	struct ifreq mac = { .ifr_name = "eth0" }, ip = { .ifr_name = "eth0" },
		     index = { .ifr_name = "eth0" };
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	struct sockaddr_in address;
	struct arp_packet p = { .ethernet = { .h_proto = htons(ETH_P_ARP) },
				.arp = { htons(ARPHRD_ETHER), htons(ETH_P_IP), ETH_ALEN, 4,
					 htons(ARPOP_REQUEST) } };
	int inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int packet = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (inet < 0 || packet < 0 || ioctl(inet, SIOCGIFHWADDR, &mac) < 0 ||
	    ioctl(inet, SIOCGIFADDR, &ip) < 0 || ioctl(inet, SIOCGIFINDEX, &index) < 0)
		return;
	memcpy(&address, &ip.ifr_addr, sizeof(address));
	memset(p.ethernet.h_dest, 0xff, ETH_ALEN);
	memcpy(p.ethernet.h_source, mac.ifr_hwaddr.sa_data, ETH_ALEN);
	memcpy(p.sender, mac.ifr_hwaddr.sa_data, ETH_ALEN);
	memcpy(p.sender_ip, &address.sin_addr, 4);
	memcpy(p.target_ip, &address.sin_addr, 4);
	to.sll_ifindex = index.ifr_ifindex;
	to.sll_halen = ETH_ALEN;
	memset(to.sll_addr, 0xff, ETH_ALEN);
	for (unsigned i = 0; i < 3; i++)
		(void)sendto(packet, &p, sizeof(p), 0, (struct sockaddr *)&to, sizeof(to));
}

void move_link_announce(pid_t pid)
{
	char path[64];
	pid_t child = fork();

	if (child == 0) {
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && setns(fd, CLONE_NEWNET) == 0)
			send_arp();
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}
