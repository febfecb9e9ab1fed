/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/setup.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "config.h"
#include "guest/host_cpus.h"
#include "guest/inside.h"

#define UNIT (UINT64_C(8) << 20) /* a node's memory is a multiple of this */

/* Set *OUT to the CPUs that this process may use. */
static int own_cpus(struct idset *out, struct errbuf *err)
{
	size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
	cpu_set_t *set = CPU_ALLOC(IDSET_MAX);

	idset_zero(out);
	if (!set || sched_getaffinity(0, size, set) < 0) {
		CPU_FREE(set);
		return errprintf(err, "sched_getaffinity: %s", strerror(errno));
	}
	for (unsigned i = 0; i < IDSET_MAX; i++)
		if (CPU_ISSET_S(i, size, set))
			idset_add(out, i);
	CPU_FREE(set);
	return 0;
}

/*
 * Choose the CPUs of the guest, and those of QEMU's other threads (REST). If no CPU is left for
 * REST, it is the guest's CPUs.
 */
static int divide_cpus(const struct guest_options *o, struct idset *guest, struct idset *rest,
		       struct errbuf *err)
{
	char brief[128];

	if (own_cpus(rest, err) < 0)
		return -1;
	*guest = o->has_cpus ? o->cpus : *rest;
	if (!idset_subset(guest, rest)) {
		struct idset outside = *guest;

		idset_andnot(&outside, rest);
		return errprintf(err, "--cpus: this process may not use CPUs %s",
				 idset_brief(brief, &outside));
	}
	idset_andnot(rest, guest);
	if (idset_empty(rest))
		*rest = *guest;
	return 0;
}

static int fit_shape(struct guest_shape *shape, const struct guest_options *o,
		     const struct idset *cpus, const struct machine *m, struct errbuf *err)
{
	const struct idset *mems = o->has_mems ? &o->mems : machine_ordinary(m);
	uint64_t unit = o->page > UNIT ? o->page : UNIT;
	char brief[128];
	unsigned memory;

	if (!idset_subset(mems, machine_mems(m))) {
		struct idset outside = *mems;

		idset_andnot(&outside, machine_mems(m));
		return errprintf(err, "--mems: this process may not use memory nodes %s",
				 idset_brief(brief, &outside));
	}
	if (guest_host_shape(shape, &memory, m, cpus, mems, err) < 0 ||
	    guest_shape_divide(shape, o->memory, unit, memory, err) < 0)
		return -1;
	return guest_shape_fit(shape, err);
}

/*
 * Load this host's topology without hwloc's plugins (GPUs, X11), which take long. The environment
 * stays.
 */
static int load_machine(struct machine **m, struct errbuf *err)
{
	const char *plugins = getenv("HWLOC_PLUGINS_PATH");
	int rc;

	if (!plugins)
		setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
	rc = machine_load_this(m, err);
	if (!plugins)
		unsetenv("HWLOC_PLUGINS_PATH");
	return rc;
}

static int make_run(struct guest_run *run, struct guest_shape *shape, const struct guest_options *o,
		    struct errbuf *err)
{
	static char path[PROGRAM_PATH_MAX];
	struct machine *m;
	struct idset cpus;
	int rc;

	run->plan.qemu = o->qemu ? o->qemu : program_find("qemu-system-x86_64", path);
	if (!run->plan.qemu)
		return errprintf(err, "there is no qemu-system-x86_64 here (Debian's package "
				      "qemu-system-x86)");
	if (divide_cpus(o, &cpus, &run->rest, err) < 0 || load_machine(&m, err) < 0)
		return -1;
	run->plan.alone = !idset_intersects(&cpus, &run->rest);
	rc = fit_shape(shape, o, &cpus, m, err);
	/* on a host with one node there is no choice */
	run->plan.binds = idset_count(machine_mems(m)) > 1;
	machine_free(m);
	return rc;
}

/* Refuse early, with a reason: KVM is the default, and a guest without it is many times slower. */
static int check_kvm_here(const struct guest_options *o, struct errbuf *err)
{
	if (o->emulated || o->dry_run || o->kvm_fd >= 0 || access("/dev/kvm", R_OK | W_OK) == 0)
		return 0;
	return errprintf(err,
			 "/dev/kvm: %s (--emulate runs the guest without KVM, many times "
			 "slower)",
			 strerror(errno));
}

/* Load what the guest boots: the image, or the host's kernel for programs. */
static int load_image(struct guest_setup *s, const struct guest_options *o, struct errbuf *err)
{
	const struct guest_program program = {
		.kernel = o->kernel,
		.ticks = o->emulated,
		.modules = o->modules,
		.agent = o->agent ? o->agent : NODEOS_LIBEXECDIR "/nodeos-guest-init",
	};

	if (o->image)
		return guest_image_read(&s->image, o->image, err);
	s->run.virtiofsd = o->virtiofsd;
	s->run.plan.network = o->network;
	return guest_program_image(&s->image, &s->run.plan.initrd_fd, &program, &s->shape, err);
}

/* Set the image, the memory and the kind of processor from a saved guest. */
static int open_saved(struct guest_setup *s, struct guest_options *own, struct errbuf *err)
{
	s->run.restore = guest_saved_open(&s->saved, own->restore, err);
	if (s->run.restore < 0)
		return -1;
	s->image = s->saved.image;
	own->memory = s->saved.memory;
	own->emulated = s->saved.emulated;
	return 0;
}

/* Begin the description of this guest for a save. */
static void describe_guest(struct guest_setup *s, const struct guest_options *own)
{
	s->saved.image = s->image;
	s->saved.memory = own->memory;
	s->saved.emulated = own->emulated;
	s->run.saved = &s->saved;
}

static int make_setup(struct guest_setup *s, const struct guest_options *own, struct errbuf *err)
{
	s->run.plan.emulated = own->emulated;
	if (check_kvm_here(own, err) < 0 || make_run(&s->run, &s->shape, own, err) < 0 ||
	    (!own->restore && load_image(s, own, err) < 0))
		return -1;
	if (own->image || own->restore)
		describe_guest(s, own);
	return 0;
}

int guest_setup_make(struct guest_setup *s, const struct guest_options *o, struct errbuf *err)
{
	struct guest_options own = *o;

	memset(s, 0, sizeof(*s));
	s->run = (struct guest_run){
		.plan = {
			.name = "nodeos",
			.shape = &s->shape,
			.page = o->page,
			.memories = o->memories,
			.kvm_fd = o->kvm_fd,
			.files_fd = -1,
			.initrd_fd = -1,
			.image = &s->image,
		},
		.grace = o->grace,
		.restore = -1,
		.says = stderr,
	};
	memcpy(s->run.plan.memory_fd, o->memory_fd, sizeof(o->memory_fd));
	if (o->restore && open_saved(s, &own, err) < 0)
		return -1;
	return make_setup(s, &own, err);
}

void guest_setup_free(struct guest_setup *s)
{
	if (s->run.plan.initrd_fd >= 0)
		close(s->run.plan.initrd_fd);
	if (s->run.restore >= 0)
		close(s->run.restore);
	if (s->image.kernel || s->image.disk || s->image.iso) /* the image owns these texts */
		memset(&s->saved.image, 0, sizeof(s->saved.image));
	guest_saved_free(&s->saved);
	guest_image_free(&s->image);
}
