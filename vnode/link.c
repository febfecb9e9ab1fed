/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/link.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/program.h"
#include "base/subprocess.h"

#define IP_SECONDS 10
#define BATCH_MAX 512
/* with 1, the kernel sends an ARP when the link comes up: bridges learn where the vnode is */
#define ANNOUNCE "/proc/sys/net/ipv4/conf/" VNODE_LINK_INSIDE "/arp_notify"

/* Run ip(8) with the commands that FMT gives, one a line. ip stops at the first that fails. */
static int __attribute__((format(printf, 2, 3))) run_ip(struct errbuf *err, const char *fmt, ...)
{
	char program[PROGRAM_PATH_MAX], batch[BATCH_MAX], *text = NULL;
	const char *argv[] = { program, "-batch", "-", NULL };
	struct subprocess p = { .argv = argv,
				.uid = (uid_t)-1,
				.input = batch,
				.extra_fd = -1,
				.join_stderr = true,
				.timeout = IP_SECONDS,
				.output_max = 4096 };
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vsnprintf(batch, sizeof(batch), fmt, ap);
	va_end(ap);
	if (rc >= (int)sizeof(batch))
		return errprintf(err, "the commands for ip(8) have more than %d bytes",
				 BATCH_MAX - 1);
	if (!program_find("ip", program))
		return errprintf(err, "%s is missing (package iproute2)", program);
	rc = subprocess_run(&p, &text, err);
	if (rc > 0)
		errprintf(err, "ip: %.*s", text ? (int)strcspn(text, "\n") : 6,
			  text ? text : "failed");
	free(text);
	return rc == 0 ? 0 : -1;
}

void vnode_link_name(char link[VNODE_LINK_MAX], const char *name)
{
	snprintf(link, VNODE_LINK_MAX, "vn-%.12s", name);
}

int vnode_link_check_bridge(const char *name, struct errbuf *err)
{
	/* /sys is no use here: it shows the network namespace in which it was mounted */
	return if_nametoindex(name) ? 0
				    : errprintf(err, "bridge: this host has no link %.15s", name);
}

int vnode_link_add(const struct vnode_conf *c, const char *link, pid_t pid, struct errbuf *err)
{
	char mtu[24] = "";

	if (c->mtu)
		snprintf(mtu, sizeof(mtu), "mtu %u", c->mtu);
	return run_ip(err,
		      "link add name %s %s type veth peer name " VNODE_LINK_INSIDE
		      " address %s %s netns %d\n"
		      "link set dev %s master %s\n"
		      "link set dev %s up\n",
		      link, mtu, c->mac, mtu, (int)pid, link, c->bridge, link);
}

int vnode_link_remove(const char *link, struct errbuf *err)
{
	if (!*link || if_nametoindex(link) == 0 || run_ip(err, "link delete dev %s\n", link) == 0)
		return 0;
	/* the kernel may have removed LINK meanwhile, when the vnode's last process ended */
	return if_nametoindex(link) == 0 ? 0 : -1;
}

static void announce(void)
{
	FILE *f = fopen(ANNOUNCE, "we");

	if (!f)
		return;
	fputs("1\n", f);
	fclose(f);
}

int vnode_link_configure(const struct vnode_conf *c, struct errbuf *err)
{
	char route[VNODE_WORD_MAX + 40] = "";

	announce();
	if (*c->gateway)
		snprintf(route, sizeof(route), "route add default via %s\n", c->gateway);
	return run_ip(err,
		      "link set dev lo up\n"
		      "address add %s dev " VNODE_LINK_INSIDE "\n"
		      "link set dev " VNODE_LINK_INSIDE " up\n%s",
		      c->address, route);
}
