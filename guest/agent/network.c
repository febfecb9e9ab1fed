/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/agent/network.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* addresses of QEMU's user network; HOST is the host's loopback */
#define OWN "10.0.2.15"
#define MASK "255.255.255.0"
#define HOST "10.0.2.2"
#define NAMES "10.0.2.3"

#define CARDS "/sys/class/net"
#define RESOLVER "/run/nodeos-guest.resolv.conf"
#define CARD_TRIES 200 /* of 10 ms */

static void set_address(struct sockaddr *to, const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &address.sin_addr);
	memcpy(to, &address, sizeof(address));
}

static int raise_card(int fd, const char *name)
{
	struct ifreq card = { 0 };

	snprintf(card.ifr_name, sizeof(card.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &card) < 0)
		return -1;
	card.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &card);
}

/* Find the name of the first card that is not loopback. */
static bool find_card(char name[IFNAMSIZ])
{
	DIR *dir = opendir(CARDS);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "lo") != 0 &&
		    strlen(entry->d_name) < IFNAMSIZ) {
			strcpy(name, entry->d_name);
			found = true;
		}
	if (dir)
		closedir(dir);
	return found;
}

/* Return whether the guest has a network card of virtio. */
static bool has_device(void)
{
	DIR *dir = opendir("/sys/bus/virtio/devices");
	struct dirent *entry;
	char path[512], text[32];
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/device", entry->d_name);
		f = fopen(path, "re");
		found = f && fgets(text, sizeof(text), f) && strtoul(text, NULL, 16) == 1;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Load the driver, which most kernels have as a module among the host's files. */
static void load_driver(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		if (null >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0) {
			execl("/sbin/modprobe", "modprobe", "virtio_net", (char *)NULL);
			execl("/usr/sbin/modprobe", "modprobe", "virtio_net", (char *)NULL);
		}
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void set_up_card(int fd, const char *name)
{
	struct ifreq card = { 0 };
	struct rtentry way = { .rt_flags = RTF_UP | RTF_GATEWAY };

	snprintf(card.ifr_name, sizeof(card.ifr_name), "%s", name);
	set_address(&card.ifr_addr, OWN);
	ioctl(fd, SIOCSIFADDR, &card);
	set_address(&card.ifr_netmask, MASK);
	ioctl(fd, SIOCSIFNETMASK, &card);
	raise_card(fd, name);
	set_address(&way.rt_dst, "0.0.0.0");
	set_address(&way.rt_genmask, "0.0.0.0");
	set_address(&way.rt_gateway, HOST);
	ioctl(fd, SIOCADDRT, &way);
}

/*
 * Use QEMU's name server: the host's may be on the host's loopback, or its file in /run, which the
 * guest covers.
 */
static void set_up_names(void)
{
	FILE *f = fopen(RESOLVER, "we");

	if (!f)
		return;
	fputs("nameserver " NAMES "\n", f);
	fchmod(fileno(f), 0644);
	fclose(f);
	mount(RESOLVER, "/etc/resolv.conf", NULL, MS_BIND, NULL);
}

/* Forward bytes from FROM to TO. Returns whether there may be more. */
static bool pump(int from, int to)
{
	char buf[16384];
	ssize_t n = read(from, buf, sizeof(buf));

	for (ssize_t at = 0; at < n;) {
		ssize_t done = write(to, buf + at, (size_t)(n - at));

		if (done < 0 && errno != EINTR)
			return false;
		at += done > 0 ? done : 0;
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

static void __attribute__((noreturn)) forward_connection(int near, const struct sockaddr_in *host)
{
	int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool more = far >= 0 && connect(far, (const struct sockaddr *)host, sizeof(*host)) == 0;

	while (more) {
		struct pollfd polls[2] = {
			{ .fd = near, .events = POLLIN },
			{ .fd = far, .events = POLLIN },
		};

		if (poll(polls, 2, -1) < 0)
			continue;
		if (polls[0].revents)
			more = pump(near, far);
		if (more && polls[1].revents)
			more = pump(far, near);
	}
	_exit(0);
}

/* Forward connections to PORT of loopback to the same port of the host's loopback. */
static void __attribute__((noreturn)) forward_port(int listener, uint16_t port)
{
	struct sockaddr_in host = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, HOST, &host.sin_addr);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int near = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (near >= 0 && fork() == 0)
			forward_connection(near, &host);
		if (near >= 0)
			close(near);
	}
}

static void start_forwarding(uint16_t port)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* bind() fails for a second variable with the same port */
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    fork() == 0)
		forward_port(fd, port);
	close(fd);
}

void agent_network_start(char *const *env)
{
	static const char tcp[] = "tcp4://127.0.0.1:";
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[IFNAMSIZ];
	bool found;

	if (fd < 0)
		return;
	raise_card(fd, "lo");
	found = find_card(name);
	if (!found && has_device()) {
		load_driver();
		for (unsigned i = 0; i < CARD_TRIES && !(found = find_card(name)); i++)
			usleep(10000);
	}
	if (found) {
		set_up_card(fd, name);
		set_up_names();
	}
	close(fd);
	for (; found && *env; env++) {
		const char *at = strncmp(*env, "PMIX_SERVER_URI", 15) == 0 ? strstr(*env, tcp)
									   : NULL;
		unsigned long port = at ? strtoul(at + sizeof(tcp) - 1, NULL, 10) : 0;

		if (port > 0 && port <= UINT16_MAX)
			start_forwarding((uint16_t)port);
	}
}
