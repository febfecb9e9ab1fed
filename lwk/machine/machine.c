/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/machine/machine.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lwk/machine/host.h"
#include "lwk/machine/stub.h"

#define PRESENT 1UL
#define WRITE 2UL
#define LARGE 0x80UL
#define LARGE_SIZE (2UL << 20)
#define FIXED_TABLES (16UL << 20) /* bytes of page tables for windows (window.h) */
#define PAGE 4096UL
#define TABLE_SHARE 512 /* bytes of an extent for each byte of its page tables */
#define LEAST_SHARE 16 /* the machine takes at most 1/16 of the extent */
#define CPUID_ENTRIES 256
#define DESCRIPTORS (LWK_VCPUS + 8) /* maximum number of descriptors of the machine */

#define SPARE_SLOT 16384 /* above the slots of the windows */
#define REST_SLOT 16385 /* second part of the kernel half; the first is slot 0 */
#define SPARE_ADDRESS (2UL << 30) /* between the kernel half and the windows */

#define CR3_PWT 8UL
#define CR0_ON 0x80050033UL /* bits PG, AM, WP, NE, ET, MP and PE of CR0 */
#define TSS_LIMIT 103
#define CR4_ON 0x620UL /* PAE, OSFXSR, OSXMMEXCPT */
#define CR4_FSGSBASE (1UL << 16)
#define CR4_OSXSAVE (1UL << 18)
#define EFER_ON 0xd01UL /* SCE, LME, LMA, NXE */
#define FLAGS_CLEARED 0x47700UL
#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_FMASK 0xc0000084

struct machine machine = { .vm = -1 };
/* The machine's descriptors: KVM, the machine, its vCPUs, and those of smartmap. */
static int descriptor[DESCRIPTORS];
static unsigned descriptors;
static long first_descriptor; /* where the search for a free number begins */
static uint32_t area_of[LWK_VCPUS]; /* offsets of the areas of vCPUs; 0: none has been taken */
static struct kvm_segment user_cs, user_ss;
static uint64_t cr4;

/* Raise the soft limit of open files to the hard one; *OLD gets the limits to restore. */
static void raise_file_limit(struct rlimit *old)
{
	struct rlimit more;

	host_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)old);
	more = (struct rlimit){ old->rlim_max, old->rlim_max };
	host_call(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&more, 0);
}

static void restore_file_limit(const struct rlimit *old)
{
	host_call(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)old, 0);
}

bool machine_owns(long fd)
{
	unsigned n = __atomic_load_n(&descriptors, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n; i++)
		if (descriptor[i] == fd)
			return true;
	return false;
}

long machine_next_descriptor(long fd)
{
	unsigned n = __atomic_load_n(&descriptors, __ATOMIC_ACQUIRE);
	long next = LONG_MAX;

	for (unsigned i = 0; i < n; i++)
		if (descriptor[i] >= fd && descriptor[i] < next)
			next = descriptor[i];
	return next;
}

/*
 * Return the number for the first descriptor: above the soft limit if the hard limit allows that,
 * else below it.
 */
static long choose_place(const struct rlimit *limit)
{
	if (limit->rlim_max - limit->rlim_cur >= DESCRIPTORS)
		return (long)limit->rlim_cur;
	return (long)(limit->rlim_max > 2 * DESCRIPTORS ? limit->rlim_max - DESCRIPTORS
							: limit->rlim_max / 2);
}

int machine_hide_descriptor(long fd)
{
	struct rlimit old;
	unsigned n;
	long at;

	if (fd < 0)
		return (int)fd;
	raise_file_limit(&old);
	if (!first_descriptor)
		first_descriptor = choose_place(&old);
	at = host_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, first_descriptor);
	restore_file_limit(&old);
	if (at < 0) /* the program has lowered its hard limit: keep the number FD */
		at = fd;
	else
		host_call(SYS_close, fd);
	n = descriptors;
	if (n == DESCRIPTORS) {
		host_call(SYS_close, at);
		return -EMFILE;
	}
	descriptor[n] = (int)at;
	__atomic_store_n(&descriptors, n + 1, __ATOMIC_RELEASE);
	return (int)at;
}

static struct kvm_cpuid_entry2 *cpuid_entry(uint32_t function, uint32_t index)
{
	for (unsigned i = 0; i < machine.cpuid->nent; i++) {
		struct kvm_cpuid_entry2 *e = &machine.cpuid->entries[i];

		if (e->function == function && e->index == index)
			return e;
	}
	return NULL;
}

/* Make the CPUID that the program sees: that of this processor, without features whose state the
 * machine cannot save in a signal's frame. */
static void trim_cpuid(void)
{
	struct kvm_cpuid2 *all = machine.cpuid;
	struct kvm_cpuid_entry2 *e;
	unsigned n = 0;

	for (unsigned i = 0; i < all->nent; i++) /* leave out the leaves of a hypervisor */
		if (all->entries[i].function >> 28 != 4)
			all->entries[n++] = all->entries[i];
	all->nent = n;
	e = cpuid_entry(1, 0);
	if (e)
		e->ecx &= ~(1U << 31 | 1U << 24); /* hypervisor; TSC deadline timer */
	e = cpuid_entry(7, 0);
	if (e)
		e->edx &= ~(1U << 22 | 1U << 24 | 1U << 25); /* AMX */
}

static void find_features(void)
{
	unsigned a, b, c, d;
	struct kvm_cpuid_entry2 *e = cpuid_entry(0x80000008, 0);

	machine.address_bits = e && (e->eax & 0xff) ? e->eax & 0xff : 36;
	e = cpuid_entry(0x80000001, 0);
	machine.gib_pages = e && e->edx >> 26 & 1;
	__cpuid(1, a, b, c, d);
	if (c >> 27 & 1) {
		unsigned low, high;

		e = cpuid_entry(0xd, 0);
		__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
		machine.xcr0 = low;
		machine.xcr0 &= e ? e->eax : 7;
		machine.xcr0 &= ~(1UL << 17 | 1UL << 18); /* AMX */
	}
	cr4 = CR4_ON | (machine.xcr0 ? CR4_OSXSAVE : 0);
	e = cpuid_entry(7, 0);
	if (e && e->ebx & 1)
		cr4 |= CR4_FSGSBASE;
}

/* Set machine.xsave_size to the bytes of the state in xcr0, by the offsets and sizes in CPUID. */
static void find_xsave_size(void)
{
	machine.xsave_size = machine.xcr0 ? 576 : 512;
	for (unsigned bit = 2; bit < 32; bit++) {
		unsigned size, offset, c, d;

		if (!(machine.xcr0 >> bit & 1))
			continue;
		__cpuid_count(0xd, bit, size, offset, c, d);
		if (offset + size > machine.xsave_size)
			machine.xsave_size = offset + size;
	}
}

static void set_gate(unsigned vector)
{
	uint64_t *gate = machine_table(LWK_IDT) + 2 * vector;
	uint64_t at = LWK_KERNEL + LWK_TRAPS + vector * LWK_TRAP_ENTRY;
	uint64_t user = vector == 3 || vector == 4 ? 0x60 : 0; /* INT3, INTO */

	gate[0] = (at & 0xffff) | (uint64_t)LWK_KERNEL_CS << 16 | (0x8e | user) << 40 |
		  (at >> 16 & 0xffff) << 48;
	gate[1] = at >> 32;
}

/* Fill the kernel half: tables of the processor, code, and its own page tables. */
static void fill_kernel(void)
{
	uint64_t *gdt = machine_table(LWK_GDT);

	gdt[LWK_KERNEL_CS / 8] = 0x00af9b000000ffff;
	gdt[LWK_KERNEL_SS / 8] = 0x00cf93000000ffff;
	gdt[LWK_USER_SS / 8] = 0x00cff3000000ffff;
	gdt[LWK_USER_CS / 8] = 0x00affb000000ffff;
	memcpy(machine_at(LWK_TRAPS), lwk_traps, (size_t)(lwk_traps_end - lwk_traps));
	for (unsigned vector = 0; vector < LWK_TRAP_COUNT; vector++)
		set_gate(vector);
	machine_table(LWK_LEVEL4)[256] = LWK_KERNEL_LEVEL3 | PRESENT | WRITE;
	machine_table(LWK_KERNEL_LEVEL3)[0] = LWK_KERNEL_LEVEL2 | PRESENT | WRITE;
	for (uint64_t at = 0; at < machine.kernel_size; at += LARGE_SIZE)
		machine_table(LWK_KERNEL_LEVEL2)[at / LARGE_SIZE] = at | PRESENT | WRITE | LARGE;
}

static void fill_segments(void)
{
	user_cs = (struct kvm_segment){ .limit = ~0U,
					.selector = LWK_USER_CS,
					.present = 1,
					.type = 11,
					.dpl = 3,
					.s = 1,
					.l = 1,
					.g = 1 };
	user_ss = (struct kvm_segment){ .limit = ~0U,
					.selector = LWK_USER_SS,
					.present = 1,
					.type = 3,
					.dpl = 3,
					.s = 1,
					.db = 1,
					.g = 1 };
}

/*
 * Make an ioctl() that gives a descriptor, whatever limit of open files the program has set. Repeat
 * it when a SIGSTOP or the freezer of cgroups interrupts it: Linux does not repeat KVM_CREATE_VM.
 */
static int make_descriptor(int on, unsigned long request, long argument)
{
	struct rlimit old;
	long fd;

	raise_file_limit(&old);
	do
		fd = host_call(SYS_ioctl, on, (long)request, argument);
	while (fd == -EINTR);
	restore_file_limit(&old);
	return machine_hide_descriptor(fd);
}

/* Make the virtual machine with the kernel half as its memory at 0; returns 0 or -errno. */
static int create_vm(void)
{
	const struct kvm_userspace_memory_region part[] = {
		{ .memory_size = machine.first_size, .userspace_addr = (uint64_t)machine.first },
		{ .slot = REST_SLOT,
		  .guest_phys_addr = machine.first_size,
		  .memory_size = machine.kernel_size - machine.first_size,
		  .userspace_addr = (uint64_t)machine.rest },
	};
	long rc = 0;

	machine.vm = make_descriptor(machine.kvm, KVM_CREATE_VM, 0);
	if (machine.vm < 0)
		return machine.vm;
	machine.vcpus = 0;
	for (unsigned i = 0; i < 2 && rc == 0; i++)
		rc = host_call(SYS_ioctl, machine.vm, KVM_SET_USER_MEMORY_REGION, (long)&part[i]);
	return (int)rc;
}

static int say_no_kvm(int error, struct errbuf *err)
{
	if (error == ENOENT || error == ENODEV || error == ENXIO)
		return errprintf(err,
				 "/dev/kvm: %s: this kernel has no KVM, or its module (kvm_amd,"
				 " kvm_intel) is not loaded, or the processor does not offer"
				 " virtualization",
				 strerror(error));
	return errprintf(err, "/dev/kvm: %s: ask your administrator for access (group kvm)",
			 strerror(error));
}

/* Find out whether KVM uses nested paging of the hardware, or copies page tables. */
static void check_paging(void)
{
	static const char *const file[] = { "/sys/module/kvm_amd/parameters/npt",
					    "/sys/module/kvm_intel/parameters/ept" };

	for (unsigned i = 0; i < 2; i++) {
		FILE *f = fopen(file[i], "re");
		int c = f ? fgetc(f) : 'Y';

		if (f)
			fclose(f);
		if (c == 'N' || c == '0')
			machine.copies_tables = true;
	}
}

static int read_cpuid(int kvm, struct errbuf *err)
{
	machine.cpuid =
		calloc(1, sizeof(*machine.cpuid) + CPUID_ENTRIES * sizeof(struct kvm_cpuid_entry2));
	if (!machine.cpuid)
		return errprintf(err, "out of memory");
	machine.cpuid->nent = CPUID_ENTRIES;
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, machine.cpuid) < 0)
		return errprintf(err, "KVM_GET_SUPPORTED_CPUID: %s", strerror(errno));
	if (ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS) <= 0 ||
	    ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_IMMEDIATE_EXIT) <= 0 ||
	    ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_VCPU_ATTRIBUTES) <= 0)
		return errprintf(err, "this kernel's KVM is too old: Linux 5.16 is needed");
	machine.run_size = (size_t)ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	trim_cpuid();
	find_features();
	find_xsave_size();
	return 0;
}

int machine_open(int kvm, struct errbuf *err)
{
	if (kvm < 0)
		kvm = (int)host_call(SYS_openat, AT_FDCWD, (long)"/dev/kvm", O_RDWR | O_CLOEXEC);
	machine.kvm = machine_hide_descriptor(kvm);
	if (machine.kvm < 0)
		return say_no_kvm(-machine.kvm, err);
	check_paging();
	return read_cpuid(machine.kvm, err);
}

uint64_t machine_share(uint64_t extent_size)
{
	uint64_t want = LARGE_SIZE + extent_size / TABLE_SHARE / LARGE_SIZE * LARGE_SIZE;
	uint64_t most = extent_size / LEAST_SHARE / PAGE * PAGE;

	return want < most ? want : most;
}

int machine_begin(void *first, uint64_t extent_size, struct errbuf *err)
{
	uint64_t size = LWK_TAKEN + (uint64_t)LWK_VCPUS * LWK_AREA_SIZE + FIXED_TABLES +
			extent_size / TABLE_SHARE + extent_size / 262144;
	int rc;

	machine.first = first;
	machine.first_size = machine_share(extent_size);
	machine.kernel_size = (size + LARGE_SIZE - 1) / LARGE_SIZE * LARGE_SIZE;
	if (machine.kernel_size > 1UL << 30)
		return errprintf(err, "--memory: at most 400 GiB are possible");
	size = machine.kernel_size - machine.first_size;
	machine.rest = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (machine.rest == MAP_FAILED)
		return errprintf(err, "no memory for page tables: %s", strerror(errno));
	madvise(machine.rest, size, MADV_NOHUGEPAGE); /* little of it is used */
	machine.taken = LWK_TAKEN;
	fill_kernel();
	fill_segments();
	rc = create_vm();
	if (rc < 0)
		return errprintf(err, "KVM cannot make a machine: %s", strerror(-rc));
	return 0;
}

int machine_open_again(void)
{
	while (descriptors > 1) /* the first descriptor is /dev/kvm, which stays */
		host_call(SYS_close, descriptor[--descriptors]);
	return create_vm();
}

/* Take BYTES, whole pages, in one of the parts. Returns their offset; 0: no room is left. */
static uint64_t take_bytes(uint64_t bytes)
{
	uint64_t next = __atomic_load_n(&machine.taken, __ATOMIC_RELAXED), at;

	do {
		at = next < machine.first_size && next + bytes > machine.first_size
			     ? machine.first_size
			     : next;
		if (at + bytes > machine.kernel_size)
			return 0;
	} while (!__atomic_compare_exchange_n(&machine.taken, &next, at + bytes, 0,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return at;
}

uint64_t machine_take_table(void)
{
	return take_bytes(PAGE);
}

uint64_t machine_first_used(void)
{
	uint64_t taken = __atomic_load_n(&machine.taken, __ATOMIC_RELAXED);

	return taken < machine.first_size ? taken : machine.first_size;
}

int machine_reset_vcpu(const struct vcpu *v)
{
	uint64_t area = LWK_KERNEL + v->area;
	struct kvm_sregs s;
	long rc = host_call(SYS_ioctl, v->fd, KVM_GET_SREGS, (long)&s);

	if (rc < 0)
		return (int)rc;
	s.cr0 = CR0_ON;
	s.cr3 = LWK_LEVEL4;
	s.cr4 = cr4;
	s.efer = EFER_ON;
	s.cs = user_cs;
	s.ss = s.ds = s.es = s.fs = s.gs = user_ss;
	s.gdt = (struct kvm_dtable){ .base = LWK_KERNEL + LWK_GDT, .limit = 63 };
	s.idt = (struct kvm_dtable){ .base = LWK_KERNEL + LWK_IDT,
				     .limit = LWK_TRAP_COUNT * 16 - 1 };
	s.tr = (struct kvm_segment){ .base = area + LWK_TSS,
				     .limit = TSS_LIMIT,
				     .selector = LWK_TR,
				     .type = 11,
				     .present = 1 };
	return (int)host_call(SYS_ioctl, v->fd, KVM_SET_SREGS, (long)&s);
}

int machine_set_table(const struct vcpu *v, uint64_t table)
{
	struct kvm_sregs s;
	long rc = host_call(SYS_ioctl, v->fd, KVM_GET_SREGS, (long)&s);

	if (rc < 0)
		return (int)rc;
	/* KVM flushes the TLB when CR3 changes: toggle its bit PWT, which has no meaning here */
	s.cr3 = table | ((s.cr3 & CR3_PWT) ^ CR3_PWT);
	return (int)host_call(SYS_ioctl, v->fd, KVM_SET_SREGS, (long)&s);
}

void machine_drop_tables(void)
{
	struct kvm_userspace_memory_region r = { .slot = SPARE_SLOT,
						 .guest_phys_addr = SPARE_ADDRESS,
						 .memory_size = 4096,
						 .userspace_addr = (uint64_t)machine.first };

	/* KVM drops its nested page tables when a slot is removed */
	host_call(SYS_ioctl, machine.vm, KVM_SET_USER_MEMORY_REGION, (long)&r);
	r.memory_size = 0;
	host_call(SYS_ioctl, machine.vm, KVM_SET_USER_MEMORY_REGION, (long)&r);
}

int machine_forget_tables(const struct vcpu *v)
{
	return machine_set_table(v, LWK_LEVEL4);
}

static int set_msrs(const struct vcpu *v)
{
	uint64_t area = LWK_KERNEL + v->area;
	union {
		struct kvm_msrs list;
		char room[sizeof(struct kvm_msrs) + 3 * sizeof(struct kvm_msr_entry)];
	} m = { .list.nmsrs = 3 };
	struct kvm_msr_entry *entry = m.list.entries;
	long rc;

	entry[0] = (struct kvm_msr_entry){ .index = MSR_STAR };
	entry[0].data = (uint64_t)LWK_KERNEL_CS << 32 | (LWK_USER_CS - 16UL) << 48;
	entry[1] = (struct kvm_msr_entry){ .index = MSR_LSTAR, .data = area };
	entry[2] = (struct kvm_msr_entry){ .index = MSR_FMASK, .data = FLAGS_CLEARED };
	rc = host_call(SYS_ioctl, v->fd, KVM_SET_MSRS, (long)&m);
	return rc < 0 ? (int)rc : rc == 3 ? 0 : -EIO;
}

/* Set the vCPU's TSC offset to 0: the program's clock is the host's, so that the vDSO gives the
 * right time (doc/lwk.md). */
static int set_clock(const struct vcpu *v)
{
	uint64_t zero = 0;
	struct kvm_device_attr offset = { .group = KVM_VCPU_TSC_CTRL,
					  .attr = KVM_VCPU_TSC_OFFSET,
					  .addr = (uint64_t)&zero };

	return (int)host_call(SYS_ioctl, v->fd, KVM_SET_DEVICE_ATTR, (long)&offset);
}

static void fill_area(const struct vcpu *v)
{
	uint8_t *area = machine_area(v);
	uint64_t top = LWK_KERNEL + v->area + LWK_STACK_TOP;
	/* the I/O bitmap is behind the segment, so ring 3 may use no ports */
	uint16_t ports = TSS_LIMIT + 1;

	memcpy(area, lwk_stub, (size_t)(lwk_stub_end - lwk_stub));
	memcpy(area + LWK_TSS + 4, &top, sizeof(top)); /* RSP of ring 0 */
	memcpy(area + LWK_TSS + 102, &ports, sizeof(ports)); /* offset of the I/O bitmap */
}

int machine_new_vcpu(struct vcpu *v)
{
	struct kvm_xcrs x = { .nr_xcrs = 1 };
	long rc;

	if (machine.vcpus >= LWK_VCPUS)
		return -EAGAIN;
	v->number = machine.vcpus;
	if (!area_of[v->number]) /* the copy of a process uses its parent's areas again */
		area_of[v->number] = (uint32_t)take_bytes(LWK_AREA_SIZE);
	v->area = area_of[v->number];
	if (!v->area)
		return -ENOMEM;
	v->fd = make_descriptor(machine.vm, KVM_CREATE_VCPU, (long)machine.vcpus);
	if (v->fd < 0)
		return v->fd;
	machine.vcpus++;
	rc = host_call(SYS_mmap, 0, (long)machine.run_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       v->fd, 0);
	if (rc < 0 && rc > -4096)
		return (int)rc;
	v->run = (struct kvm_run *)rc;
	fill_area(v);
	x.xcrs[0].value = machine.xcr0;
	rc = host_call(SYS_ioctl, v->fd, KVM_SET_CPUID2, (long)machine.cpuid);
	if (rc == 0)
		rc = machine_reset_vcpu(v);
	if (rc == 0)
		rc = set_msrs(v);
	if (rc == 0 && machine.xcr0)
		rc = host_call(SYS_ioctl, v->fd, KVM_SET_XCRS, (long)&x);
	if (rc == 0)
		rc = set_clock(v);
	v->run->kvm_valid_regs = KVM_SYNC_X86_REGS;
	return (int)rc;
}
