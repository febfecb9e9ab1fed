/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep: leave a process behind that has a machine with a vCPU until SIGTERM; prints its PID.
 * KVM's first machine and its last change code of the kernel: static keys of the scheduler, among
 * them the one by which KVM learns that a thread has left its CPU, and of KVM. When one CPU changes
 * code that another runs, QEMU 7.2 can go on with what stood there meanwhile, or before: then the
 * kernel dies of a breakpoint, or KVM saves the state of one CPU as that of another. So the guests
 * of tests keep a machine, and have one CPU while it comes and goes.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Switch all CPUs but the first on ("1") or off ("0"). */
static void switch_cpus(const char *value)
{
	for (int cpu = 1, fd = 0; fd >= 0; cpu++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		fd = open(path, O_WRONLY);
		if (fd >= 0 && write(fd, value, 1) != 1)
			perror(path);
		close(fd);
	}
}

int main(void)
{
	int kvm, machine, vcpu, number;
	sigset_t end;

	if (fork() != 0)
		return 0;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	switch_cpus("0");
	kvm = open("/dev/kvm", O_RDWR);
	machine = ioctl(kvm, KVM_CREATE_VM, 0);
	vcpu = ioctl(machine, KVM_CREATE_VCPU, 0);
	switch_cpus("1");
	if (vcpu < 0) {
		perror("keep: /dev/kvm");
		return 1;
	}
	printf("%d\n", (int)getpid());
	fclose(stdout);
	sigwait(&end, &number);
	switch_cpus("0");
	close(vcpu);
	close(machine);
	switch_cpus("1");
	return 0;
}
