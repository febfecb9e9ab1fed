/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/trace.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"

#define RECORDS 4096

struct turn {
	uint64_t record[RECORDS];
	size_t n;
	uint64_t last; /* the page that the thread touched last, plus 1 */
};

struct trace {
	int fd, error;
	bool merge;
	unsigned threads;
	char *path;
	pthread_mutex_t lock; /* protects the file */
	struct turn turn[];
};

static void write_turn(struct trace *t, struct turn *turn)
{
	pthread_mutex_lock(&t->lock);
	/* write nothing after a failed write, so that the trace has no hole */
	if (!t->error && write_all(t->fd, turn->record, turn->n * sizeof(turn->record[0])) < 0)
		t->error = errno;
	pthread_mutex_unlock(&t->lock);
	turn->n = 0;
}

static int write_head(struct trace *t, uint64_t pages)
{
	struct {
		char magic[8];
		uint32_t version, page;
		uint64_t pages;
		uint32_t threads, merge;
	} head = { .version = htole32(TRACE_VERSION),
		   .page = htole32(TRACE_PAGE),
		   .pages = htole64(pages),
		   .threads = htole32(t->threads),
		   .merge = htole32(t->merge) };

	_Static_assert(sizeof(head) == TRACE_HEAD, "the header of a trace has no padding");
	memcpy(head.magic, TRACE_MAGIC, sizeof(head.magic));
	return write_all(t->fd, &head, sizeof(head)) < 0 ? errno : 0;
}

struct trace *trace_create(const char *path, uint64_t pages, unsigned threads, bool merge,
			   struct errbuf *err)
{
	struct trace *t;

	if (pages > TRACE_PAGES_MAX || threads > TRACE_THREADS_MAX) {
		errprintf(err, "%s: a trace can have at most %u threads and 2^40 pages", path,
			  TRACE_THREADS_MAX);
		return NULL;
	}
	t = calloc(1, sizeof(*t) + threads * sizeof(t->turn[0]));
	if (!t || !(t->path = strdup(path))) {
		errprintf(err, "%s: %s", path, strerror(ENOMEM));
		free(t);
		return NULL;
	}
	t->merge = merge;
	t->threads = threads;
	pthread_mutex_init(&t->lock, NULL);
	t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	t->error = t->fd < 0 ? errno : write_head(t, pages);
	if (t->error) {
		trace_close(t, err);
		return NULL;
	}
	return t;
}

void trace_touch(struct trace *t, unsigned thread, uint64_t offset, size_t len, bool write)
{
	struct turn *turn = &t->turn[thread];
	uint64_t end = (offset + len - 1) / TRACE_PAGE;

	for (uint64_t page = offset / TRACE_PAGE; page <= end; page++) {
		if (t->merge && turn->last == page + 1)
			continue;
		turn->last = page + 1;
		turn->record[turn->n++] =
			htole64(page | (uint64_t)thread << 40 | (uint64_t)write << 63);
		if (turn->n == RECORDS)
			write_turn(t, turn);
	}
}

int trace_close(struct trace *t, struct errbuf *err)
{
	int result = 0;

	if (!t)
		return 0;
	for (unsigned i = 0; i < t->threads; i++)
		if (t->turn[i].n)
			write_turn(t, &t->turn[i]);
	if (t->fd >= 0 && close(t->fd) < 0 && !t->error)
		t->error = errno;
	if (t->error)
		result = errprintf(err, "%s: %s", t->path, strerror(t->error));
	pthread_mutex_destroy(&t->lock);
	free(t->path);
	free(t);
	return result;
}
