/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep: leave a process behind that has a machine with a vCPU until it is killed; prints its PID.
 *
 * KVM changes code of the kernel when its first machine begins and when its last one ends (static
 * keys of the scheduler and of KVM). When one CPU changes code, another thread of QEMU 7.2 can go
 * on with the breakpoint that stood there meanwhile, and the kernel dies ("Oops: int3"). So the
 * guests of tests keep a machine.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(void)
{
	int kvm, machine;

	if (fork() != 0)
		return 0;
	kvm = open("/dev/kvm", O_RDWR);
	machine = ioctl(kvm, KVM_CREATE_VM, 0);
	if (ioctl(machine, KVM_CREATE_VCPU, 0) < 0) {
		perror("keep: /dev/kvm");
		return 1;
	}
	printf("%d\n", (int)getpid());
	fclose(stdout);
	for (;;)
		pause();
}
