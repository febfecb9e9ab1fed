/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lwk/balancing.h"
#include "lwk/load.h"
#include "lwk/machine/host.h"

#define SELF "/proc/self/exe"
#define SELF_COMM "--comm=exe" /* the name that Linux gives a program executed by SELF */
#define NAME_OPTION "--name="
#define ARGUMENTS_MAX 1000000L
#define PAGE 4096UL

static struct options options;
static const char *own_path;
static struct lock check_lock;

void exec_start(const struct options *o, const char *path)
{
	options = *o;
	own_path = path;
}

void exec_set_child(void)
{
	options.child = true;
	check_lock = (struct lock){ 0 }; /* the copy may lack the thread that holds the lock */
}

/* Write WORDS, which a null pointer ends, and a newline to stderr, without libc's streams. */
static void say_words(const char *const *words)
{
	for (; *words; words++)
		(void)!write(STDERR_FILENO, *words, strlen(*words));
	(void)!write(STDERR_FILENO, "\n", 1);
}

const char *exec_own_path(const struct thread *t, uint64_t address)
{
	char path[40], own[40] = "/proc/";

	if (program_text(path, sizeof(path), address) < 0)
		return NULL;
	host_append_number(own, (unsigned)t->pid);
	strcat(own, "/exe");
	return strcmp(path, SELF) == 0 || strcmp(path, own) == 0 ? own_path : NULL;
}

/*
 * Check whether execve() of the program would succeed. FILE is as in struct options. Returns 0 or
 * -errno.
 */
static long check_program(const char *path, int file)
{
	static struct program p;
	char interpreter[PATH_MAX];
	struct errbuf err;
	long rc = 0;

	lock_take(&check_lock);
	if (program_open(&p, path, &err) < 0) {
		if (p.refused)
			say_words((const char *const[]){ "nodeos-lwk: ", path, ": ", err.text,
							 NULL });
		rc = -p.error;
	} else {
		program_close(&p);
		/* the interpreter could not open the script */
		if (p.elf.kind == ELF_SCRIPT && file >= 0)
			rc = -ENOENT;
		memcpy(interpreter, p.elf.interpreter, sizeof(interpreter));
		if (rc == 0 && *interpreter && program_open(&p, interpreter, &err) < 0)
			rc = -p.error;
		program_close(&p);
	}
	lock_release(&check_lock);
	return rc;
}

/* Length of the null-terminated array of pointers at ADDRESS, or -errno. */
static long count_pointers(uint64_t address)
{
	uint64_t word[64];
	long n = 0;

	if (!address)
		return 0;
	while (n < ARGUMENTS_MAX) {
		uint64_t at = address + (uint64_t)n * 8;
		size_t some = (PAGE - at % PAGE) / 8; /* the next page may be missing */

		if (some == 0)
			some = 1;
		if (some > 64)
			some = 64;
		if (program_copy(word, (void *)at, some * 8) < 0)
			return -EFAULT;
		for (size_t i = 0; i < some; i++)
			if (!word[i])
				return n + (long)i;
		n += (long)some;
	}
	return -E2BIG;
}

/* Get memory for the new command line. The child of vfork() leaves it for its parent to free. */
static void *take_scratch(struct thread *t, size_t size)
{
	long at = host_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at < 0 && at > -4096)
		return NULL;
	t->scratch = (void *)at;
	t->scratch_size = size;
	return t->scratch;
}

static void give_scratch(struct thread *t)
{
	host_call(SYS_munmap, (long)t->scratch, (long)t->scratch_size);
	t->scratch = NULL;
}

/* The execve() that the program asks for. */
struct request {
	const char *path;
	uint64_t argv, envp;
	int file; /* as in struct options */
};

/*
 * Set the flags of the descriptors that the next nodeos-lwk inherits: of KVM, because its user may
 * not be allowed to open it, and of the extent and the counts, unless this process is a copy
 * (fork).
 */
static void set_kept(const struct options *o, long flags)
{
	const int fd[] = { o->kvm, o->child ? -1 : o->extent, o->child ? -1 : o->record };

	for (unsigned i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (fd[i] >= 0)
			host_call(SYS_fcntl, fd[i], F_SETFD, flags);
}

/* Execute nodeos-lwk with the program of R and its COUNT arguments. Returns -errno. */
static long execute_inside(struct thread *t, const struct request *r, long count)
{
	size_t room = ((size_t)count + OPTIONS_WORDS + 5) * sizeof(char *);
	size_t name_at = room + OPTIONS_TEXT;
	struct options o = options;
	const char **words = take_scratch(t, name_at + 2 * PATH_MAX);
	uint64_t first = 0;
	unsigned n;
	long rc = 0;
	char *name;

	if (!words)
		return -ENOMEM;
	name = (char *)words + name_at;
	o.child |= t->borrowed;
	o.file = r->file;
	n = options_words(&o, words, (char *)words + room);
	strcpy(name, NAME_OPTION);
	if (count)
		program_copy(&first, (void *)r->argv, sizeof(first));
	if (first)
		rc = program_text(name + strlen(NAME_OPTION), PATH_MAX, first);
	if (rc >= 0) {
		words[n++] = name;
		if (r->path == own_path)
			words[n++] = SELF_COMM;
		words[n++] = "--";
		words[n++] = r->path;
		if (count > 1)
			rc = program_copy(words + n, (void *)(r->argv + 8),
					  (size_t)(count - 1) * 8);
	}
	if (rc >= 0) {
		set_kept(&o, 0);
		rc = host_gate(SYS_execve,
			       (const long[6]){ (long)SELF, (long)words, (long)r->envp },
			       &t->pending);
		set_kept(&o, FD_CLOEXEC);
	}
	give_scratch(t);
	return rc;
}

static long execute(struct thread *t, const struct request *r)
{
	long count = count_pointers(r->argv), rc;

	if (count < 0)
		return count;
	if (options.loose) {
		say_words((const char *const[]){ "nodeos-lwk: ", r->path, " runs outside (--loose)",
						 NULL });
		balancing_allow();
		rc = host_gate(SYS_execve,
			       (const long[6]){ (long)r->path, (long)r->argv, (long)r->envp },
			       &t->pending);
		balancing_stop();
		return rc;
	}
	rc = check_program(r->path, r->file);
	return rc < 0 ? rc : execute_inside(t, r, count);
}

/*
 * Execute the program of R, whose file has the descriptor FD. The next nodeos-lwk opens it by a
 * path that names FD, so FD must stay open until then. If FD is close-on-exec, the next nodeos-lwk
 * closes it.
 */
static long execute_descriptor(struct thread *t, struct request *r, long fd)
{
	long flags = host_call(SYS_fcntl, fd, F_GETFD), rc;

	if (flags < 0)
		return flags;
	if (!(flags & FD_CLOEXEC) || options.loose)
		return execute(t, r);
	r->file = (int)fd;
	host_call(SYS_fcntl, fd, F_SETFD, 0);
	rc = execute(t, r);
	host_call(SYS_fcntl, fd, F_SETFD, flags);
	return rc;
}

/*
 * Put "./" before a name without a slash, a file in the present directory: nodeos-lwk must not
 * search for it in PATH.
 */
static void add_slash(char path[PATH_MAX + 2])
{
	if (!strchr(path, '/')) {
		memmove(path + 2, path, strlen(path) + 1);
		memcpy(path, "./", 2);
	}
}

long execute_program(struct thread *t, const long arg[6])
{
	char path[PATH_MAX + 2];
	const char *own = exec_own_path(t, (uint64_t)arg[0]);
	long n = program_text(path, PATH_MAX, (uint64_t)arg[0]);

	if (n < 0)
		return n;
	if (n == 0)
		return -ENOENT;
	if (!own)
		add_slash(path);
	return execute(t, &(struct request){ own ? own : path, (uint64_t)arg[1], (uint64_t)arg[2],
					     -1 });
}

long execute_program_at(struct thread *t, const long arg[6])
{
	char name[PATH_MAX], path[PATH_MAX + 2] = "/proc/self/fd/";
	struct request r = { path, (uint64_t)arg[2], (uint64_t)arg[3], -1 };
	long n = program_text(name, sizeof(name), (uint64_t)arg[1]);

	if (n < 0)
		return n;
	if (name[0] == '/' || (int)arg[0] == AT_FDCWD)
		return execute_program(t, (const long[6]){ arg[1], arg[2], arg[3] });
	if (n == 0 && !(arg[4] & AT_EMPTY_PATH))
		return -ENOENT;
	if ((size_t)n > sizeof(path) - 40)
		return -ENAMETOOLONG;
	host_append_number(path, (unsigned)arg[0]);
	if (!n)
		return execute_descriptor(t, &r, (int)arg[0]);
	strcat(path, "/");
	strcat(path, name);
	return execute(t, &r);
}
