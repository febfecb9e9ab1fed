/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/disturb.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 4 /* that live at once */
#define CHILD_READS 64

struct disturber {
	struct worker *reader;
	struct disturbed *count;
	struct random random;
	pthread_t thread;
	atomic_bool stop;
	unsigned children;
	uint64_t page; /* of this machine */
	struct errbuf err;
};

/* A part of the mapping, in whole pages; at times all of it. */
struct part {
	char *at;
	uint64_t offset, len;
};

static struct part some_part(struct disturber *d)
{
	const struct target *t = d->reader->target;
	uint64_t pages = (t->size + d->page - 1) / d->page, first, n;

	if (random_below(&d->random, 8) == 0)
		return (struct part){ t->map, 0, t->size };
	first = random_below(&d->random, pages);
	n = 1 + random_below(&d->random, pages - first < 64 ? pages - first : 64);
	return (struct part){ t->map + first * d->page, first * d->page, n * d->page };
}

static void rest(struct disturber *d)
{
	struct timespec t = { .tv_nsec = (long)random_below(&d->random, 200000) };

	nanosleep(&t, NULL);
}

static int protect(struct disturber *d)
{
	struct part p = some_part(d);

	if (mprotect(p.at, p.len, PROT_READ) < 0)
		return errprintf(&d->err,
				 "mprotect(PROT_READ) of %" PRIu64 " bytes from %" PRIu64 " on: %s",
				 p.len, p.offset, strerror(errno));
	rest(d);
	if (mprotect(p.at, p.len, PROT_READ | PROT_WRITE) < 0)
		return errprintf(&d->err,
				 "mprotect(PROT_WRITE) of %" PRIu64 " bytes from %" PRIu64
				 " on: %s",
				 p.len, p.offset, strerror(errno));
	atomic_fetch_add(&d->count->protects, 1);
	return 0;
}

/*
 * Something else is mapped over the part, which takes the file's pages away as munmap() does, but
 * leaves no room into which another thread's mmap() would come.
 */
static int remap(struct disturber *d)
{
	const struct target *t = d->reader->target;
	struct part p = some_part(d);

	if (mmap(p.at, p.len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		return errprintf(&d->err,
				 "--remap: %" PRIu64 " bytes from %" PRIu64
				 " on cannot be taken away: %s",
				 p.len, p.offset, strerror(errno));
	rest(d);
	if (mmap(p.at, p.len, PROT_READ | (t->writes ? PROT_WRITE : 0), MAP_SHARED | MAP_FIXED,
		 t->fd, (off_t)p.offset) == MAP_FAILED ||
	    madvise(p.at, p.len, t->backend->advice) < 0)
		return errprintf(&d->err,
				 "--remap: %" PRIu64 " bytes from %" PRIu64
				 " on cannot be mapped again: %s",
				 p.len, p.offset, strerror(errno));
	atomic_fetch_add(&d->count->remaps, 1);
	return 0;
}

/* In the child: nothing here takes a lock, which some thread of the parent might have had. */
static void __attribute__((noreturn)) live_as_child(struct disturber *d)
{
	struct worker *w = d->reader;

	w->target->disturbed = false; /* nobody does anything to our mapping */
	for (unsigned i = 0; i < CHILD_READS; i++) {
		errors_add(w->errors,
			   worker_read(w, random_below(&d->random, w->target->size / w->o->block),
				       NULL));
		atomic_fetch_add(&d->count->read_by_children, 1);
	}
	_exit(0);
}

/* Those that have ended, or all. */
static void disturb_reap(struct disturber *d, bool all)
{
	int status;

	while (d->children && waitpid(-1, &status, all ? 0 : WNOHANG) > 0) {
		d->children--;
		if (status)
			atomic_fetch_add(&d->count->died, 1);
	}
}

static int fork_reader(struct disturber *d)
{
	pid_t pid;

	disturb_reap(d, d->children == CHILDREN);
	(void)random_next(&d->random); /* not what the last child has drawn */
	pid = fork();
	if (pid < 0)
		return errprintf(&d->err, "--fork: %s", strerror(errno));
	if (pid == 0)
		live_as_child(d);
	d->children++;
	atomic_fetch_add(&d->count->forks, 1);
	return 0;
}

static void *disturb_disturb(void *arg)
{
	int (*what[3])(struct disturber *);
	struct disturber *d = arg;
	const struct options *o = d->reader->o;
	unsigned n = 0;
	int result = 0;

	if (o->protect)
		what[n++] = protect;
	if (o->fork)
		what[n++] = fork_reader;
	if (o->remap)
		what[n++] = remap;
	while (result == 0 && !atomic_load(&d->stop)) {
		result = what[random_below(&d->random, n)](d);
		rest(d);
	}
	disturb_reap(d, true);
	/* others may wait forever for what is away */
	if (result < 0) {
		dprintf(STDERR_FILENO, "nodeos-lriot: %s: %s\n", o->file, d->err.text);
		_exit(1);
	}
	return NULL;
}

struct disturber *disturb_start(struct worker *reader, struct disturbed *count, struct errbuf *err)
{
	struct disturber *d = calloc(1, sizeof(*d));
	int error = d ? 0 : ENOMEM;

	if (d) {
		d->reader = reader;
		d->count = count;
		d->page = (uint64_t)sysconf(_SC_PAGESIZE);
		random_start(&d->random, reader->o->seed, THREADS_MAX + reader->number);
		error = pthread_create(&d->thread, NULL, disturb_disturb, d);
	}
	if (error) {
		errprintf(err, "cannot start a thread: %s", strerror(error));
		free(d);
		return NULL;
	}
	return d;
}

void disturb_end(struct disturber *d)
{
	atomic_store(&d->stop, true);
	pthread_join(d->thread, NULL);
	free(d);
}
