/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-guest: runs a whole guest with QEMU on the CPUs and memory nodes that it may use. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/program.h"
#include "config.h"
#include "guest/host_cpus.h"
#include "guest/inside.h"
#include "guest/options.h"
#include "guest/watch.h"

#define UNIT (UINT64_C(8) << 20) /* a node's memory has a multiple of it */

static const char guest_usage[] =
	"Usage: nodeos-guest [OPTION]... PROGRAM [ARGUMENT]...\n"
	"       nodeos-guest [OPTION]... --image=FILE\n"
	"Run a whole guest with QEMU on the CPUs and memory nodes that this process may use: a "
	"program\n"
	"with the host's kernel and files, or an image, whose serial console is standard input "
	"and\n"
	"output.\n"
	"\n"
	"  -i, --image=FILE     what it boots: a JSON object with kernel, initrd, append, disk, "
	"iso\n"
	"  -m, --memory=SIZE    its memory, 512M or 4G for example (default 512M)\n"
	"  -p, --page=2M|1G     of huge pages\n"
	"  -c, --cpus=LIST      CPUs of the host, one for each of its own (default: all)\n"
	"  -M, --mems=LIST      memory nodes of the host (default: all)\n"
	"  -e, --emulate        emulate its processor; the default is KVM\n"
	"  -g, --grace=SECONDS  from SIGTERM until QEMU is killed (default 20)\n"
	"  -q, --qemu=FILE      QEMU's program (default: qemu-system-x86_64 in PATH)\n"
	"  -k, --kernel=FILE    a bzImage for a program (default: the host's)\n"
	"  -o, --modules=DIR    its directory (default: /lib/modules/RELEASE)\n"
	"  -a, --agent=FILE     the first process for a program (default: nodeos-guest-init)\n"
	"  -f, --virtiofsd=FILE the server of files (default: /usr/libexec/virtiofsd)\n"
	"  -G, --given=MEMORY,KVM\n"
	"                       open descriptors of its memory and of KVM, for programs\n"
	"  -n, --dry-run        print QEMU's command line, a word a line\n"
	"  -h, --help           print this\n"
	"  -V, --version        print the version\n";

static int print_error(const struct errbuf *err)
{
	char line[PRINTABLE_LOG_MAX];

	fprintf(stderr, "nodeos-guest: %s\n", printable(line, sizeof(line), err->text));
	return GUEST_EXIT_NEVER;
}

/* The CPUs that this process may use. */
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

/* Which CPUs the guest has, and which QEMU's other threads: all of it if none is left. */
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

/* This host, without hwloc's plugins (GPUs, X11), which take long. The environment stays. */
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
	rc = fit_shape(shape, o, &cpus, m, err);
	/* on a host with one node nothing is to be chosen */
	run->plan.binds = idset_count(machine_mems(m)) > 1;
	machine_free(m);
	return rc;
}

static int print_command(struct guest_run *run, struct errbuf *err)
{
	char **words;

	run->plan.qmp_fd = 3;
	run->plan.console_fd = 4;
	words = guest_command(&run->plan, err);
	if (!words)
		return -1;
	for (char **w = words; *w; w++)
		puts(*w);
	guest_command_free(words);
	return fflush(stdout) == 0 ? 0 : errprintf(err, "standard output: %s", strerror(errno));
}

/* KVM is the default, and a guest without it is many times slower: refuse early, with a reason. */
static int check_kvm_here(const struct guest_options *o, struct errbuf *err)
{
	if (o->emulated || o->dry_run || o->kvm_fd >= 0 || access("/dev/kvm", R_OK | W_OK) == 0)
		return 0;
	return errprintf(err,
			 "/dev/kvm: %s (--emulate runs the guest without KVM, many times "
			 "slower)",
			 strerror(errno));
}

/* What the guest boots: the image's, or the host's kernel for a program. */
static int load_image(struct guest_image *image, struct guest_run *run,
		      const struct guest_options *o, struct errbuf *err)
{
	const struct guest_program program = {
		.argv = o->argv,
		.kernel = o->kernel,
		.ticks = o->emulated,
		.modules = o->modules,
		.agent = o->agent ? o->agent : NODEOS_LIBEXECDIR "/nodeos-guest-init",
	};
	unsigned char *start;
	long len;

	if (o->image)
		return guest_image_read(image, o->image, err);
	if (guest_program_image(image, &run->plan.initrd_fd, &program, run->plan.shape, err) < 0)
		return -1;
	len = guest_program_start(&start, &program, err);
	run->start = start;
	run->start_len = len < 0 ? 0 : (size_t)len;
	run->virtiofsd = o->virtiofsd;
	return len < 0 ? -1 : 0;
}

static int run_guest(const struct guest_options *o, int *killed_by, struct errbuf *err)
{
	static struct guest_shape shape;
	struct guest_image image = { 0 };
	struct guest_run run = {
		.plan = {
			.name = "nodeos",
			.emulated = o->emulated,
			.shape = &shape,
			.page = o->page,
			.memory_fd = o->memory_fd,
			.kvm_fd = o->kvm_fd,
			.files_fd = -1,
			.agent_fd = -1,
			.initrd_fd = -1,
			.image = &image,
		},
		.grace = o->grace,
	};
	int rc = check_kvm_here(o, err);

	if (rc == 0)
		rc = make_run(&run, &shape, o, err);
	if (rc == 0)
		rc = load_image(&image, &run, o, err);
	if (rc == 0)
		rc = o->dry_run ? print_command(&run, err) : guest_watch(&run, err);
	if (run.plan.initrd_fd >= 0)
		close(run.plan.initrd_fd);
	free((void *)run.start);
	guest_image_free(&image);
	*killed_by = run.killed_by;
	return rc;
}

/* End as the program has: slurmstepd shall see the signal. */
static void end_by(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	setrlimit(RLIMIT_CORE, &none); /* the guest's program is not in this process */
	signal(number, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}

int main(int argc, char **argv)
{
	struct guest_options o;
	struct errbuf err = { 0 };
	int rc, killed_by = 0;

	if (guest_options_parse(&o, argc, argv, &err) < 0)
		return print_error(&err);
	if (o.help || o.version) {
		fputs(o.help ? guest_usage : "nodeos-guest (nodeos) " VERSION "\n", stdout);
		return 0;
	}
	rc = run_guest(&o, &killed_by, &err);
	if (rc >= 0 && killed_by)
		end_by(killed_by);
	return rc < 0 ? print_error(&err) : rc;
}
