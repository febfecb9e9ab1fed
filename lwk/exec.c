/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lwk/host.h"
#include "lwk/load.h"

#define SELF "/proc/self/exe"
#define SELF_COMM "--comm=exe" /* Linux gives this name to a program executed by that path */
#define NAME_OPTION "--name="
#define ARGUMENTS_MAX 1000000L

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
	check_lock = (struct lock){ 0 }; /* the copy may lack the thread that holds it */
}

/* Write the words up to a null pointer and a line end to stderr, without libc's streams. */
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

/* Check first whether execve() of the program would succeed. Returns 0 or -errno. */
static long check_program(const char *path)
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
		memcpy(interpreter, p.elf.interpreter, sizeof(interpreter));
		if (*interpreter && program_open(&p, interpreter, &err) < 0)
			rc = -p.error;
		program_close(&p);
	}
	lock_release(&check_lock);
	return rc;
}

/* Length of the null-terminated array of pointers at ADDRESS, or -errno. */
static long count_pointers(uint64_t address)
{
	uint64_t word = 0;

	if (!address)
		return 0;
	for (long n = 0; n < ARGUMENTS_MAX; n++) {
		if (program_copy(&word, (void *)(address + (uint64_t)n * 8), 8) < 0)
			return -EFAULT;
		if (!word)
			return n;
	}
	return -E2BIG;
}

/* Memory for the new command line; vfork's child leaves it to its parent. */
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

/* Execute nodeos-lwk with PATH and the program's COUNT arguments at ARGV. Returns -errno. */
static long execute_inside(struct thread *t, const char *path, uint64_t argv, long count,
			   uint64_t envp)
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
	n = options_words(&o, words, (char *)words + room);
	strcpy(name, NAME_OPTION);
	if (count)
		program_copy(&first, (void *)argv, sizeof(first));
	if (first)
		rc = program_text(name + strlen(NAME_OPTION), PATH_MAX, first);
	if (rc >= 0) {
		words[n++] = name;
		if (path == own_path)
			words[n++] = SELF_COMM;
		words[n++] = "--";
		words[n++] = path;
		if (count > 1)
			rc = program_copy(words + n, (void *)(argv + 8), (size_t)(count - 1) * 8);
	}
	if (rc >= 0)
		rc = host_gate(SYS_execve, (const long[6]){ (long)SELF, (long)words, (long)envp },
			       &t->pending);
	give_scratch(t);
	return rc;
}

static long execute(struct thread *t, const char *path, uint64_t argv, uint64_t envp)
{
	long count = count_pointers(argv), rc;

	if (count < 0)
		return count;
	if (options.loose) {
		say_words((const char *const[]){ "nodeos-lwk: ", path, " runs outside (--loose)",
						 NULL });
		return host_gate(SYS_execve, (const long[6]){ (long)path, (long)argv, (long)envp },
				 &t->pending);
	}
	rc = check_program(path);
	if (rc < 0)
		return rc;
	return execute_inside(t, path, argv, count, envp);
}

/* A name without a slash is a file in the present directory: nodeos-lwk must not search it in
 * PATH. */
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
	if (own)
		return execute(t, own, (uint64_t)arg[1], (uint64_t)arg[2]);
	add_slash(path);
	return execute(t, path, (uint64_t)arg[1], (uint64_t)arg[2]);
}

long execute_program_at(struct thread *t, const long arg[6])
{
	char name[PATH_MAX], path[PATH_MAX + 2] = "/proc/self/fd/";
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
	if (n) {
		strcat(path, "/");
		strcat(path, name);
	}
	return execute(t, path, (uint64_t)arg[2], (uint64_t)arg[3]);
}
