/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/kvm_probe.h"

#ifdef __x86_64__
#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_AT 0x1000
#define RESULT 45
#define TSS_AT 0xfffbd000UL /* three pages that some processors of Intel need */

/* Add 5 and 37, increment the sum three times, and write it to a port. */
static const unsigned char code[] = {
	0xba, 0xf8, 0x03, /* mov $0x3f8, %dx */
	0xb8, 0x05, 0x00, /* mov $5, %ax */
	0xbb, 0x25, 0x00, /* mov $37, %bx */
	0x01, 0xd8, /* add %bx, %ax */
	0xb9, 0x03, 0x00, /* mov $3, %cx */
	0x40, /* inc %ax */
	0x49, /* dec %cx */
	0x75, 0xfc, /* jnz: back to inc */
	0xee, /* out %al, (%dx) */
	0xf4, /* hlt */
};

/* Set the registers of a vCPU to begin with CODE in real mode. */
static int set_start(int vcpu)
{
	const struct kvm_regs regs = { .rip = CODE_AT, .rflags = 2 };
	struct kvm_sregs s;

	if (ioctl(vcpu, KVM_GET_SREGS, &s) < 0)
		return -1;
	s.cs.base = 0;
	s.cs.selector = 0;
	return ioctl(vcpu, KVM_SET_SREGS, &s) < 0 ? -1 : ioctl(vcpu, KVM_SET_REGS, &regs);
}

static int run_vcpu(int vcpu, size_t size, struct errbuf *err)
{
	struct kvm_run *run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	int rc = -1;

	if (run == MAP_FAILED)
		return errprintf(err, "mmap: %s", strerror(errno));
	if (set_start(vcpu) < 0 || ioctl(vcpu, KVM_RUN, 0) < 0)
		errprintf(err, "KVM_RUN: %s", strerror(errno));
	else if (run->exit_reason != KVM_EXIT_IO || run->io.data_offset >= size ||
		 *((unsigned char *)run + run->io.data_offset) != RESULT)
		errprintf(err, "the machine ends with exit reason %u of KVM", run->exit_reason);
	else
		rc = 0;
	munmap(run, size);
	return rc;
}

static int run_machine(int vm, void *page, size_t size, struct errbuf *err)
{
	const struct kvm_userspace_memory_region memory = { .guest_phys_addr = CODE_AT,
							    .memory_size = 4096,
							    .userspace_addr = (__u64)page };
	int vcpu, rc = -1;

	ioctl(vm, KVM_SET_TSS_ADDR, TSS_AT);
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &memory) < 0)
		return errprintf(err, "KVM_SET_USER_MEMORY_REGION: %s", strerror(errno));
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (vcpu < 0)
		return errprintf(err, "KVM_CREATE_VCPU: %s", strerror(errno));
	rc = run_vcpu(vcpu, size, err);
	close(vcpu);
	return rc;
}

int kvm_probe(int kvm, struct errbuf *err)
{
	int vm = ioctl(kvm, KVM_CREATE_VM, 0), size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), rc;
	void *page;

	if (vm < 0 || size < (int)sizeof(struct kvm_run)) {
		rc = errprintf(err, "KVM_CREATE_VM: %s", strerror(errno));
		if (vm >= 0)
			close(vm);
		return rc;
	}
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		rc = errprintf(err, "mmap: %s", strerror(errno));
	} else {
		memcpy(page, code, sizeof(code));
		rc = run_machine(vm, page, (size_t)size, err);
		munmap(page, 4096);
	}
	close(vm);
	return rc;
}
#else
int kvm_probe(int kvm, struct errbuf *err)
{
	(void)kvm;
	return errprintf(err, "nodeos-lwk is for x86-64");
}
#endif
