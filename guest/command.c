/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
	char **word;
	size_t used, room;
	bool failed;
};

static void put_owned(struct command *c, char *text)
{
	if (text && c->used + 1 >= c->room) {
		size_t room = c->room ? c->room * 2 : 64;
		char **more = realloc(c->word, room * sizeof(*more));

		if (more) {
			c->word = more;
			c->room = room;
		} else {
			free(text);
			text = NULL;
		}
	}
	if (!text) {
		c->failed = true;
		return;
	}
	c->word[c->used++] = text;
	c->word[c->used] = NULL;
}

static void put(struct command *c, const char *word)
{
	put_owned(c, strdup(word));
}

/* Append an option and its value. */
static void __attribute__((format(printf, 3, 4)))
put_option(struct command *c, const char *option, const char *fmt, ...)
{
	char *value;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&value, fmt, ap) < 0)
		value = NULL;
	va_end(ap);
	put(c, option);
	put_owned(c, value);
}

/*
 * Return TEXT, one of several values of an option, with each comma doubled: QEMU reads two commas
 * as one. The caller frees it.
 */
static char *double_commas(const char *text)
{
	char *out = malloc(2 * strlen(text) + 1), *to = out;

	while (out && *text) {
		if (*text == ',')
			*to++ = ',';
		*to++ = *text++;
	}
	if (out)
		*to = '\0';
	return out;
}

static void put_processor(struct command *c, const struct guest_plan *plan)
{
	/* SeaBIOS and what boots from it use the serial console if there is no graphics */
	put_option(c, "-machine",
		   "q35,usb=off,vmport=off,hpet=off,graphics=off,dump-guest-core=off");
	if (plan->emulated) {
		put_option(c, "-accel", "tcg,thread=multi");
		put_option(c, "-cpu", "max");
		return;
	}
	if (plan->kvm_fd >= 0) {
		put_option(c, "-add-fd", "fd=%d,set=1", plan->kvm_fd);
		put_option(c, "-accel", "kvm,device=/dev/fdset/1");
	} else {
		put_option(c, "-accel", "kvm");
	}
	if (!plan->alone) { /* QEMU's threads need the CPUs that an idle guest leaves */
		put_option(c, "-cpu", "host");
		return;
	}
	put_option(c, "-cpu", "host,kvm-hint-dedicated=on");
	/* an idle CPU of the guest sleeps as the host's would, without leaving the guest */
	put_option(c, "-overcommit", "cpu-pm=on");
}

static uint64_t total_bytes(const struct guest_shape *shape)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < shape->nodes; i++)
		bytes += shape->node[i].bytes;
	return bytes;
}

static void put_memory(struct command *c, const struct guest_plan *plan, unsigned i)
{
	const struct guest_node *node = &plan->shape->node[i];
	char backing[80] = "memory-backend-memfd", pages[64] = "", where[64] = "";

	/* shared, because virtiofsd needs the memory, too */
	if (i < plan->memories)
		snprintf(backing, sizeof(backing), "memory-backend-file,mem-path=/proc/self/fd/%d",
			 plan->memory_fd[i]);
	else if (plan->page)
		snprintf(pages, sizeof(pages), ",hugetlb=on,hugetlbsize=%" PRIu64, plan->page);
	if (plan->binds && i >= plan->memories)
		snprintf(where, sizeof(where), ",host-nodes=%u,policy=bind", node->host);
	put_option(c, "-object", "%s,id=mem%u,size=%" PRIu64 ",share=on,prealloc=on%s%s", backing,
		   i, node->bytes, pages, where);
}

static void put_nodes(struct command *c, const struct guest_plan *plan)
{
	const struct guest_shape *shape = plan->shape;

	for (unsigned i = 0; i < shape->nodes; i++) {
		if (!shape->node[i].bytes) {
			put_option(c, "-numa", "node,nodeid=%u", i);
			continue;
		}
		put_memory(c, plan, i);
		put_option(c, "-numa", "node,nodeid=%u,memdev=mem%u", i, i);
	}
	for (unsigned i = 0; i < shape->cpus; i++) {
		const struct guest_cpu *cpu = &shape->cpu[i];
		/* QEMU has no die-id if each socket has one die */
		char die[24] = "";

		if (shape->dies > 1)
			snprintf(die, sizeof(die), "die-id=%u,", cpu->die_id);
		put_option(c, "-numa", "cpu,node-id=%u,socket-id=%u,%score-id=%u,thread-id=%u",
			   cpu->node, cpu->socket_id, die, cpu->core_id, cpu->thread_id);
	}
	for (unsigned i = 0; shape->distances && i < shape->nodes; i++)
		for (unsigned k = 0; k < shape->nodes; k++)
			if (i != k)
				put_option(c, "-numa", "dist,src=%u,dst=%u,val=%u", i, k,
					   shape->distance[i][k]);
}

/* Append the host's files and the agent's ports, for a guest that runs programs. */
static void put_inside(struct command *c, const struct guest_plan *plan)
{
	if (plan->files_fd >= 0) {
		put_option(c, "-chardev", "socket,id=files,fd=%d", plan->files_fd);
		put_option(c, "-device", "vhost-user-fs-pci,chardev=files,tag=root");
	}
	if (plan->agents) /* boots a kernel only, in a tenth of SeaBIOS's time */
		put_option(c, "-bios", "qboot.rom");
	if (plan->agents) /* port 0 is for a console */
		put_option(c, "-device", "virtio-serial-pci,max_ports=%u", plan->agents + 1);
	for (unsigned i = 0; i < plan->agents; i++) {
		put_option(c, "-chardev", "socket,id=agent%u,fd=%d", i, plan->agent_fd[i]);
		put_option(c, "-device", "virtserialport,chardev=agent%u,name=" AGENT_PORT ".%u.%u",
			   i, i, plan->agents);
	}
	if (plan->network) {
		put_option(c, "-netdev", "user,id=net,ipv6=off");
		put_option(c, "-device", "virtio-net-pci,netdev=net,romfile=");
	}
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static void put_block(struct command *c, const char *id, const char *format, const char *file,
		      bool read_only)
{
	char *name = double_commas(file);

	if (!name) {
		c->failed = true;
		return;
	}
	/* the format is given; otherwise a guest could choose one by what it writes to the disk */
	put_option(c, "-blockdev",
		   "driver=%s,node-name=%s,read-only=%s,file.driver=file,file.filename=%s", format,
		   id, read_only ? "on" : "off", name);
	free(name);
}

static void put_image(struct command *c, const struct guest_image *image)
{
	if (image->kernel)
		put_option(c, "-kernel", "%s", image->kernel);
	if (image->initrd)
		put_option(c, "-initrd", "%s", image->initrd);
	if (image->append)
		put_option(c, "-append", "%s", image->append);
	if (image->disk) {
		put_block(c, "disk", ends_in(image->disk, ".qcow2") ? "qcow2" : "raw", image->disk,
			  false);
		put_option(c, "-device", "virtio-blk-pci,drive=disk,bootindex=2");
	}
	if (image->iso) {
		put_block(c, "iso", "raw", image->iso, true);
		put_option(c, "-device", "ide-cd,drive=iso,bootindex=1");
	}
}

char **guest_command(const struct guest_plan *plan, struct errbuf *err)
{
	const struct guest_shape *shape = plan->shape;
	struct command c = { 0 };

	put(&c, plan->qemu);
	put_option(&c, "-name", "guest=%s,debug-threads=on", plan->name);
	put(&c, "-nodefaults");
	put(&c, "-no-user-config");
	put(&c, "-S");
	put(&c, "-no-reboot");
	put_option(&c, "-display", "none");
	put_option(&c, "-sandbox",
		   "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
	put_processor(&c, plan);
	put_option(&c, "-smp", "%u,sockets=%u,dies=%u,cores=%u,threads=%u", shape->cpus,
		   shape->sockets, shape->dies, shape->cores, shape->threads);
	put_option(&c, "-m", "%" PRIu64 "M", total_bytes(shape) >> 20);
	put_nodes(&c, plan);
	put_option(&c, "-chardev", "socket,id=qmp,fd=%d", plan->qmp_fd);
	put_option(&c, "-mon", "chardev=qmp,mode=control");
	put_option(&c, "-chardev", "socket,id=console,fd=%d", plan->console_fd);
	put_option(&c, "-serial", "chardev:console");
	put_option(&c, "-device", "pvpanic");
	put_inside(&c, plan);
	put_image(&c, plan->image);
	if (plan->incoming)
		put_option(&c, "-incoming", "fd:%d", plan->incoming_fd);
	if (!c.failed)
		return c.word;
	guest_command_free(c.word);
	errprintf(err, "out of memory");
	return NULL;
}

void guest_command_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}
