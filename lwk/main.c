/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-lwk: run a program in a machine of its own without a kernel; see doc/lwk.md. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/errbuf.h"
#include "base/printable.h"
#include "lwk/balancing.h"
#include "lwk/call.h"
#include "lwk/count.h"
#include "lwk/exec.h"
#include "lwk/load.h"
#include "lwk/machine/host.h"
#include "lwk/machine/machine.h"
#include "lwk/memory.h"
#include "lwk/options.h"
#include "lwk/run.h"
#include "lwk/smartmap.h"
#include "lwk/stack.h"
#include "lwk/threads/clone.h"
#include "lwk/threads/signal.h"
#include "lwk/vdso.h"

enum { EXIT_OURS = 125, EXIT_CANNOT = 126, EXIT_NOT_FOUND = 127 };

#define SCRIPTS_MAX 4 /* maximum number of interpreters that are scripts themselves, as in Linux */
#define STACK_DEFAULT (8UL << 20)
#define GUARD (64UL << 10)
#define FLAGS_START 0x202UL
#define ARENA_NAME "MALLOC_ARENA_MAX"

/* The program to run, after interpreters of scripts have been found. */
struct start {
	char path[PATH_MAX]; /* of the file that is loaded */
	char name[PATH_MAX]; /* AT_EXECFN: the name as it was given */
	char *const *argv;
	struct program program;
	struct loaded loaded, linker;
	uint64_t entry, rsp;
};

struct stack {
	uint64_t bottom, size;
};

static void print_lwk_usage(void)
{
	puts("usage: nodeos-lwk [OPTION]... [--] PROGRAM [ARGUMENT]...\n\n"
	     "Run an unmodified program of x86-64 in a machine of KVM without a kernel: its "
	     "private\n"
	     "memory is one extent of huge pages, and this process makes its system calls.\n\n"
	     "  -m, --memory=SIZE   size of the extent: 16M to 256G [256M]\n"
	     "  -p, --page=2M|1G    size of the extent's huge pages [2M]\n"
	     "  -c, --counts        at the end, print to stderr the exits from the machine\n"
	     "  -s, --smartmap      let ranks of the same step map the extent, see "
	     "nodeos-smartmap.h\n"
	     "  -l, --loose         run programs that the program executes outside of machines\n"
	     "  -n, --name=NAME     set the program's argv[0]\n"
	     "  -t, --comm=NAME     set the program's name in /proc\n"
	     "  -k, --child         allow an extent of ordinary memory\n"
	     "  -f, --file=FD       close FD when the program is open\n"
	     "  -g, --given=FD,FD   use these open files: of the extent, and /dev/kvm; -1: none\n"
	     "  -r, --record=FD,N   count in record N of this open file\n"
	     "  -u, --used          the given extent has data of an earlier program\n"
	     "  -h, --help          print this\n"
	     "  -V, --version       print the version\n\n"
	     "Exit status: the program's; 125 for errors of the machine, 126 if the program "
	     "cannot\n"
	     "be executed, 127 if it is not found. See nodeos-lwk(1).");
}

static int fail(int status, const char *what, const struct errbuf *err)
{
	char line[1024], name[512];

	fprintf(stderr, "nodeos-lwk: %s%s%s\n", what ? printable(name, sizeof(name), what) : "",
		what ? ": " : "", printable(line, sizeof(line), err->text));
	return status;
}

/* Find the file of the program NAME as a shell would. BUF has PATH_MAX bytes for its path. */
static bool find_in_path(char *buf, const char *name)
{
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/')) {
		snprintf(buf, PATH_MAX, "%s", name);
		return true;
	}
	for (path = path ? path : "/usr/bin:/bin"; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(buf, PATH_MAX, "%.*s/%s", end > path ? (int)(end - path) : 1,
			 end > path ? path : ".", name);
		if (access(buf, X_OK) == 0)
			return true;
	}
	return false;
}

/* Replace a script at S->path by its interpreter, and make the script an argument of the
 * interpreter. */
static int add_interpreter(struct start *s, struct errbuf *err)
{
	const struct elf *e = &s->program.elf;
	size_t argc = 0, n = 0;
	char **argv;

	while (s->argv[argc])
		argc++;
	argv = calloc(argc + 4, sizeof(*argv));
	if (!argv)
		return errprintf(err, "out of memory");
	argv[n++] = strdup(e->interpreter);
	if (*e->argument)
		argv[n++] = strdup(e->argument);
	argv[n++] = strdup(s->path);
	for (size_t i = 1; i < argc; i++)
		argv[n++] = s->argv[i];
	s->argv = argv;
	memcpy(s->path, e->interpreter, sizeof(s->path));
	program_close(&s->program);
	return 0;
}

/* Open the program, or the interpreter of a script. Returns 0, or -1 with a reason. */
static int open_start(struct start *s, struct errbuf *err)
{
	for (int i = 0; i <= SCRIPTS_MAX; i++) {
		if (program_open(&s->program, s->path, err) < 0)
			return errwrap(err, "%s", s->path);
		if (s->program.elf.kind != ELF_SCRIPT)
			return 0;
		if (add_interpreter(s, err) < 0)
			return -1;
	}
	program_close(&s->program);
	s->program.error = ELOOP;
	return errprintf(err, "%s: too many interpreters", s->path);
}

static int load_linker(struct start *s, struct errbuf *err)
{
	struct program linker;
	int rc;

	if (!*s->program.elf.interpreter)
		return 0;
	if (program_open(&linker, s->program.elf.interpreter, err) < 0)
		return errwrap(err, "%s", s->program.elf.interpreter);
	rc = linker.elf.kind == ELF_PROGRAM ? program_load(&linker, &s->linker, err)
					    : errprintf(err, "the dynamic linker is a script");
	program_close(&linker);
	s->entry = s->linker.entry;
	return rc;
}

static char **make_environment(void)
{
	static char arenas[] = ARENA_NAME "=1";
	size_t n = 0;
	char **envp;

	while (environ[n])
		n++;
	envp = calloc(n + 2, sizeof(*envp));
	if (!envp)
		return environ;
	memcpy(envp, environ, n * sizeof(*envp));
	if (!getenv(ARENA_NAME)) /* each arena reserves address space outside of the extent */
		envp[n] = arenas;
	return envp;
}

/* Take the stack, at the top of the extent, with a guard below. */
static int take_stack(struct stack *k, uint64_t memory, int prot, struct errbuf *err)
{
	struct rlimit limit = { STACK_DEFAULT, STACK_DEFAULT };

	getrlimit(RLIMIT_STACK, &limit);
	k->size = limit.rlim_cur == RLIM_INFINITY ? STACK_DEFAULT : limit.rlim_cur;
	if (k->size > memory / 4)
		k->size = memory / 4;
	k->size = (k->size + 4095) & ~4095UL;
	k->bottom = memory_take(k->size, 4096, prot);
	if (!k->bottom || !memory_take(GUARD, 4096, PROT_NONE))
		return errprintf(err, "the extent is too small for the stack: raise --memory");
	memory_note_stack(k->bottom, k->size);
	return 0;
}

static int write_stack(struct start *s, const struct stack *k, struct errbuf *err)
{
	uint64_t vdso = vdso_prepare();
	uint8_t random[16];
	struct stack_input in = { .argv = s->argv, .name = s->name, .random = random };

	if (getrandom(random, sizeof(random), 0) < 0)
		return errprintf(err, "getrandom: %s", strerror(errno));
	const uint64_t aux[][2] = {
		{ vdso ? AT_SYSINFO_EHDR : AT_IGNORE, vdso },
		{ AT_HWCAP, getauxval(AT_HWCAP) },
		{ AT_PAGESZ, 4096 },
		{ AT_CLKTCK, getauxval(AT_CLKTCK) },
		{ AT_PHDR, s->loaded.headers },
		{ AT_PHENT, sizeof(Elf64_Phdr) },
		{ AT_PHNUM, s->loaded.header_count },
		{ AT_BASE, s->linker.base },
		{ AT_FLAGS, 0 },
		{ AT_ENTRY, s->loaded.entry },
		{ AT_UID, getuid() },
		{ AT_EUID, geteuid() },
		{ AT_GID, getgid() },
		{ AT_EGID, getegid() },
		{ AT_SECURE, 0 },
		{ AT_HWCAP2, getauxval(AT_HWCAP2) },
		{ AT_MINSIGSTKSZ, getauxval(AT_MINSIGSTKSZ) },
	};
	in.aux = aux;
	in.aux_count = sizeof(aux) / sizeof(aux[0]);
	in.envp = make_environment();
	s->rsp = stack_fill(k->bottom, k->bottom + k->size, &in, err);
	return s->rsp ? 0 : -1;
}

static int load_start(struct start *s, uint64_t memory, struct errbuf *err)
{
	int prot = PROT_READ | PROT_WRITE | (s->program.elf.executes_stack ? PROT_EXEC : 0);
	struct stack k;

	/*
	 * take the stack first, at the top of the extent: libc takes the end of its mapping for the
	 * end of the stack
	 */
	if (take_stack(&k, memory, prot, err) < 0 || program_load(&s->program, &s->loaded, err) < 0)
		return -1;
	s->entry = s->loaded.entry;
	program_close(&s->program);
	return load_linker(s, err) < 0 ? -1 : write_stack(s, &k, err);
}

/*
 * Keep the extent's file FD for the next program if the extent was given, else close it. smartmap
 * has a descriptor of its own.
 */
static int keep_extent(struct options *o, int fd, struct errbuf *err)
{
	if (o->smartmap && smartmap_start(dup(fd), err) < 0)
		return -1;
	if (o->extent < 0) {
		close(fd);
		return 0;
	}
	o->extent = machine_hide_descriptor(fd);
	return o->extent < 0 ? errprintf(err, "--given: %s", strerror(-o->extent)) : 0;
}

static int open_memory(struct options *o, struct errbuf *err)
{
	struct memory_file f = { o->extent, o->used };

	if (memory_open(o->memory, o->page, &f, err) == 0)
		return keep_extent(o, f.fd, err);
	return o->child ? memory_open_ordinary(o->memory, err) : -1;
}

/* Count in the given record, and keep its file for the next program. */
static int open_record(struct options *o, struct errbuf *err)
{
	if (o->record < 0)
		return 0;
	if (count_share(o->record, o->slot, err) < 0)
		return -1;
	o->record = machine_hide_descriptor(o->record);
	return o->record < 0 ? errprintf(err, "--record: %s", strerror(-o->record)) : 0;
}

/* Make the first thread and enter the machine with it. */
static int enter_program(const struct start *s, const char *comm, struct errbuf *err)
{
	long error;
	struct thread *t = thread_new(&error);
	uint64_t code = memory_take(4096, 4096, PROT_READ | PROT_EXEC);
	const char *slash = strrchr(s->name, '/');

	if (!t)
		return errprintf(err, "KVM cannot make a vCPU: %s", strerror((int)-error));
	if (!code)
		return errprintf(err, "the extent is too small: raise --memory");
	error = program_copy(&code, &code, sizeof(code));
	if (error < 0)
		return errprintf(err,
				 "process_vm_readv() fails: %s; nodeos-lwk needs it to read the "
				 "arguments of system calls, and a seccomp filter may forbid it",
				 strerror((int)-error));
	if (run_check_machine(t, code, err) < 0)
		return -1;
	*t->regs = (struct kvm_regs){ 0 };
	t->run = run_thread;
	t->regs->rip = s->entry;
	t->regs->rsp = s->rsp;
	t->regs->rflags = FLAGS_START;
	thread_join(t);
	signal_start(t);
	prctl(PR_SET_NAME, comm ? comm : slash ? slash + 1 : s->name);
	count_start();
	host_switch_stack(thread_stack_top(t), clone_begin, t);
}

static int run_program(struct options *o)
{
	static struct start s;
	static char own[PATH_MAX];
	struct errbuf err = { 0 };

	if (!find_in_path(s.path, o->argv[0])) {
		errprintf(&err, "not found in PATH");
		return fail(EXIT_NOT_FOUND, o->argv[0], &err);
	}
	memcpy(s.name, s.path, sizeof(s.name));
	s.argv = o->argv;
	if (o->name) {
		((char **)o->argv)[0] = (char *)o->name;
	}
	if (open_start(&s, &err) < 0)
		return fail(s.program.error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT, NULL, &err);
	if (!realpath(s.path, own))
		memcpy(own, s.path, sizeof(own));
	if (o->file >= 0)
		close(o->file);
	call_print_counts = o->counts;
	balancing_stop();
	if (machine_open(o->kvm, &err) < 0 || open_memory(o, &err) < 0 || open_record(o, &err) < 0)
		return fail(EXIT_OURS, NULL, &err);
	if (o->kvm >= 0)
		o->kvm = machine.kvm;
	exec_start(o, own);
	if (load_start(&s, o->memory, &err) < 0)
		return fail(EXIT_OURS, s.path, &err);
	enter_program(&s, o->comm, &err);
	return fail(EXIT_OURS, NULL, &err);
}

int main(int argc, char **argv)
{
	struct options o;
	struct errbuf err = { 0 };

	if (options_parse(&o, argc, argv, &err) < 0)
		return fail(EXIT_OURS, NULL, &err);
	if (o.help) {
		print_lwk_usage();
		return 0;
	}
	if (o.version) {
		puts("nodeos-lwk " VERSION);
		return 0;
	}
	return run_program(&o);
}
