/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The expected command lines are written by hand from QEMU's manual. */
#include "guest/command.h"

#include "base/test/tap.h"

#define BEGIN                                                                                     \
	"/usr/bin/qemu-system-x86_64 -name guest=g,debug-threads=on -nodefaults -no-user-config " \
	"-S -no-reboot -display none -sandbox "                                                   \
	"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny -machine "       \
	"q35,usb=off,vmport=off,hpet=off,graphics=off,dump-guest-core=off "
#define SOCKETS                                                               \
	"-chardev socket,id=qmp,fd=5 -mon chardev=qmp,mode=control -chardev " \
	"socket,id=console,fd=6 -serial chardev:console -device pvpanic "

static struct guest_shape shape;
static struct guest_image image;
static struct guest_plan plan;

static const char *line(void)
{
	static char text[8192];
	struct errbuf err = { 0 };
	char **words = guest_command(&plan, &err);
	size_t n = 0;

	for (char **w = words; *w; w++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", *w);
	guest_command_free(words);
	return text;
}

static void begin(void)
{
	memset(&shape, 0, sizeof(shape));
	memset(&image, 0, sizeof(image));
	plan = (struct guest_plan){
		.qemu = "/usr/bin/qemu-system-x86_64",
		.name = "g",
		.shape = &shape,
		.image = &image,
		.kvm_fd = -1,
		.qmp_fd = 5,
		.console_fd = 6,
		.files_fd = -1,
		.initrd_fd = -1,
	};
	shape.cpus = shape.nodes = 1;
	shape.sockets = shape.dies = shape.cores = shape.threads = 1;
	shape.node[0].bytes = 256 << 20;
}

static void test_small(void)
{
	begin();
	plan.emulated = true;
	image.kernel = (char *)"/boot/k";
	image.initrd = (char *)"/boot/i";
	image.append = (char *)"console=ttyS0 a,b";
	is(line(),
	   BEGIN "-accel tcg,thread=multi -cpu max -smp 1,sockets=1,dies=1,cores=1,threads=1 -m "
		 "256M -object memory-backend-memfd,id=mem0,size=268435456,share=on,prealloc=on "
		 "-numa node,nodeid=0,memdev=mem0 -numa "
		 "cpu,node-id=0,socket-id=0,core-id=0,thread-id=0 " SOCKETS
		 "-kernel /boot/k -initrd /boot/i -append console=ttyS0 a,b",
	   "an emulated guest with one CPU boots a kernel");
}

/* Two nodes with a CPU and huge pages each, and one of CPUs only. */
static void test_nodes(void)
{
	begin();
	shape.cpus = 3;
	shape.sockets = 3;
	shape.nodes = 3;
	for (unsigned i = 0; i < 3; i++)
		shape.cpu[i].socket_id = shape.cpu[i].node = i;
	shape.node[0] = (struct guest_node){ .host = 4, .bytes = 1 << 30 };
	shape.node[1] = (struct guest_node){ .host = 6, .bytes = 1 << 30 };
	shape.distances = true;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 3; k++)
			shape.distance[i][k] = (uint8_t)(i == k ? 10 : 20 + i + k);
	plan.binds = plan.alone = true;
	plan.page = 2 << 20;
	image.disk = (char *)"/d,1/x.qcow2";
	image.iso = (char *)"/i.iso";
	is(line(),
	   BEGIN
	   "-accel kvm -cpu host,kvm-hint-dedicated=on -overcommit cpu-pm=on -smp "
	   "3,sockets=3,dies=1,cores=1,threads=1 -m 2048M -object "
	   "memory-backend-memfd,id=mem0,size=1073741824,share=on,prealloc=on,hugetlb=on,"
	   "hugetlbsize=2097152,host-nodes=4,policy=bind -numa node,nodeid=0,memdev=mem0 -object "
	   "memory-backend-memfd,id=mem1,size=1073741824,share=on,prealloc=on,hugetlb=on,"
	   "hugetlbsize=2097152,host-nodes=6,policy=bind -numa node,nodeid=1,memdev=mem1 -numa "
	   "node,nodeid=2 -numa cpu,node-id=0,socket-id=0,core-id=0,thread-id=0 -numa "
	   "cpu,node-id=1,socket-id=1,core-id=0,thread-id=0 -numa "
	   "cpu,node-id=2,socket-id=2,core-id=0,thread-id=0 -numa "
	   "dist,src=0,dst=1,val=21 -numa dist,src=0,dst=2,val=22 -numa dist,src=1,dst=0,val=21 "
	   "-numa dist,src=1,dst=2,val=23 -numa dist,src=2,dst=0,val=22 -numa "
	   "dist,src=2,dst=1,val=23 " SOCKETS "-blockdev "
	   "driver=qcow2,node-name=disk,read-only=off,file.driver=file,"
	   "file.filename=/d,,1/x.qcow2 -device virtio-blk-pci,drive=disk,bootindex=2 -blockdev "
	   "driver=raw,node-name=iso,read-only=on,file.driver=file,file.filename=/i.iso -device "
	   "ide-cd,drive=iso,bootindex=1",
	   "a guest with KVM has nodes, distances, huge pages, a disk and an ISO image");
}

/* Memory and KVM that root has opened. */
static void test_given(void)
{
	begin();
	shape.nodes = 2;
	shape.node[1].bytes = 128 << 20;
	plan.binds = true;
	plan.page = 2 << 20;
	plan.memory_fd[0] = 8;
	plan.memory_fd[1] = 10;
	plan.memories = 2;
	plan.kvm_fd = 9;
	image.disk = (char *)"d.img";
	is(line(),
	   BEGIN
	   "-add-fd fd=9,set=1 -accel kvm,device=/dev/fdset/1 -cpu host "
	   "-smp 1,sockets=1,dies=1,cores=1,threads=1 -m 384M -object "
	   "memory-backend-file,mem-path=/proc/self/fd/8,id=mem0,size=268435456,share=on,"
	   "prealloc=on -numa node,nodeid=0,memdev=mem0 -object "
	   "memory-backend-file,mem-path=/proc/self/fd/10,id=mem1,size=134217728,share=on,"
	   "prealloc=on -numa node,nodeid=1,memdev=mem1 -numa "
	   "cpu,node-id=0,socket-id=0,core-id=0,thread-id=0 " SOCKETS "-blockdev "
	   "driver=raw,node-name=disk,read-only=off,file.driver=file,file.filename=d.img -device "
	   "virtio-blk-pci,drive=disk,bootindex=2",
	   "memory and KVM that are given are taken by descriptor, and the disk is raw");
}

static void test_dies(void)
{
	begin();
	plan.emulated = true;
	shape.cpus = shape.dies = 2;
	shape.cpu[1].die_id = 1;
	image.iso = (char *)"i";
	ok(strstr(line(), " -smp 2,sockets=1,dies=2,cores=1,threads=1 ") &&
		   strstr(line(),
			  " -numa cpu,node-id=0,socket-id=0,die-id=1,core-id=0,thread-id=0 "),
	   "two last-level caches in a socket are two dies");
}

static void test_inside(void)
{
	begin();
	plan.emulated = true;
	plan.files_fd = 7;
	plan.agent_fd[0] = 8;
	plan.agent_fd[1] = 9;
	plan.agents = 2;
	plan.network = true;
	image.kernel = (char *)"/boot/k";
	is(strstr(line(), " -device pvpanic "),
	   " -device pvpanic -chardev socket,id=files,fd=7 -device "
	   "vhost-user-fs-pci,chardev=files,tag=root -bios qboot.rom -device "
	   "virtio-serial-pci,max_ports=3 -chardev socket,id=agent0,fd=8 -device "
	   "virtserialport,chardev=agent0,name=nodeos.agent.0.2 -chardev socket,id=agent1,fd=9 "
	   "-device virtserialport,chardev=agent1,name=nodeos.agent.1.2 -netdev "
	   "user,id=net,ipv6=off -device virtio-net-pci,netdev=net,romfile= -kernel /boot/k",
	   "a guest that runs two programs has the host's files, their ports and a network");
}

static void test_incoming(void)
{
	begin();
	plan.emulated = true;
	image.disk = (char *)"/d";
	plan.incoming = true;
	plan.incoming_fd = 9;
	ok(strstr(line(), " -incoming fd:9"), "a saved guest is read from the socket of PLAN");
	plan.incoming = false;
	ok(!strstr(line(), "-incoming"), "without a saved guest QEMU reads none");
}

int main(void)
{
	test_small();
	test_incoming();
	test_nodes();
	test_given();
	test_dies();
	test_inside();
	return tap_done();
}
