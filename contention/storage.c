/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"
#include "contention/process.h"

#define STORAGE_WORKERS 32 /* the most workers that wait, each for another process */
#define STORAGE_PASSES 64 /* the most passes in which a slow process is skipped */

/*
 * A slot for one process, in memory that caller, reader and workers share. Each member has one
 * writer.
 */
struct storage_slot {
	/* written by the caller: */
	pid_t pid; /* 0: the slot is free */
	uint64_t start; /* see struct process_seen */
	/* number of the process that has the slot; no two processes get the same number */
	uint32_t turn;
	/* written by a worker: */
	uint32_t answered; /* READ and WRITTEN are of the process with this TURN; 0: of none */
	uint64_t read, written; /* bytes */
	/* written by the reader: */
	uint32_t slow; /* TURN of the last slow process; 0: none */
	/* passes in which the slow process is still to be skipped; UINT32_MAX: all */
	uint32_t skip;
	uint32_t penalty; /* passes in which it was skipped the last time */
};

struct storage_page {
	uint32_t n; /* number of slots up to and including the last one ever used */
	/*
	 * written by a worker: AT, the slot that it reads, and SINCE, when it began (monotonic
	 * milliseconds)
	 */
	uint32_t at;
	int64_t since;
	struct storage_slot slot[STORAGE_SLOTS];
};

struct storage {
	struct process_source source;
	unsigned limit; /* milliseconds that a worker may wait for a process */
	pid_t reader; /* 0: none */
	uint32_t turn; /* TURN of the last process that was added */
	struct storage_page *page;
};

/* A worker that still waits, and the process for which it waits. */
struct storage_waiting {
	pid_t worker; /* 0: none */
	uint32_t slot, turn;
};

/* The data that only the reader has. */
struct storage_reader {
	struct storage_page *page;
	struct process_source source;
	unsigned limit;
	struct storage_waiting waiting[STORAGE_WORKERS];
	unsigned n_waiting;
};

#define STORAGE_SET(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#define STORAGE_GET(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)

int storage_open(struct storage **out, int proc_fd, unsigned limit, struct errbuf *err)
{
	struct storage *s = calloc(1, sizeof(*s));

	if (!s)
		return errprintf(err, "out of memory");
	process_source_open(&s->source, proc_fd);
	s->limit = limit ? limit : STORAGE_LIMIT_MS;
	s->page = mmap(NULL, sizeof(*s->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (s->page == MAP_FAILED) {
		free(s);
		return errprintf(err, "out of memory");
	}
	*out = s;
	return 0;
}

static void storage_end_reader(struct storage *s)
{
	if (s->reader > 0) {
		kill(s->reader, SIGKILL);
		/* returns soon: SIGKILL ends whatever the reader waits for */
		waitpid(s->reader, NULL, 0);
	}
	s->reader = 0;
}

void storage_close(struct storage *s)
{
	if (!s)
		return;
	storage_end_reader(s);
	munmap(s->page, sizeof(*s->page));
	free(s);
}

int storage_add(struct storage *s, pid_t pid, uint64_t start)
{
	for (uint32_t i = 0; i < STORAGE_SLOTS; i++) {
		struct storage_slot *slot = &s->page->slot[i];

		if (slot->pid)
			continue;
		slot->start = start;
		STORAGE_SET(slot->turn, ++s->turn);
		STORAGE_SET(slot->pid, pid);
		if (i >= s->page->n)
			STORAGE_SET(s->page->n, i + 1);
		return (int)i;
	}
	return -1;
}

void storage_remove(struct storage *s, int slot)
{
	STORAGE_SET(s->page->slot[slot].pid, 0);
}

int storage_get(const struct storage *s, int slot, uint64_t *read, uint64_t *written)
{
	struct storage_slot *from = &s->page->slot[slot];

	if (STORAGE_GET(from->answered) != from->turn)
		return -1;
	*read = STORAGE_GET(from->read);
	*written = STORAGE_GET(from->written);
	return 0;
}

static uint64_t storage_number(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* ------------------------------------------------------------------------------ a worker */

/*
 * Read the numbers of a slot's process. Its directory stays open, so that "io" belongs to the
 * process whose start is compared.
 */
static void storage_read_slot(const struct storage_reader *r, struct storage_slot *slot)
{
	uint32_t turn = STORAGE_GET(slot->turn);
	pid_t pid = STORAGE_GET(slot->pid);
	char name[24], text[PROCESS_TEXT_MAX];
	struct errbuf ignored;
	int dir;

	snprintf(name, sizeof(name), "%d", (int)pid);
	dir = openat(r->source.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	if (process_start(&r->source, pid) == slot->start &&
	    file_read(dir, "io", text, sizeof(text), &ignored) > 0 &&
	    STORAGE_GET(slot->turn) == turn) {
		STORAGE_SET(slot->read, storage_number(text, "\nread_bytes: "));
		STORAGE_SET(slot->written, storage_number(text, "\nwrite_bytes: "));
		STORAGE_SET(slot->answered, turn);
	}
	close(dir);
}

/* Return whether a worker waits for the present process of SLOT. */
static bool storage_is_waited(const struct storage_reader *r, uint32_t slot)
{
	for (unsigned i = 0; i < STORAGE_WORKERS; i++)
		if (r->waiting[i].worker && r->waiting[i].slot == slot &&
		    r->waiting[i].turn == STORAGE_GET(r->page->slot[slot].turn))
			return true;
	return false;
}

/* Return whether the process of SLOT is skipped in this pass because it was slow. */
static bool storage_is_spared(const struct storage_slot *slot)
{
	return slot->skip && slot->slow == STORAGE_GET(slot->turn);
}

/* Run a worker: read the slots from FROM on. */
static void __attribute__((noreturn))
storage_run_worker(const struct storage_reader *r, uint32_t from, pid_t parent)
{
	struct storage_page *page = r->page;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (uint32_t i = from; i < STORAGE_GET(page->n); i++) {
		if (!STORAGE_GET(page->slot[i].pid) || storage_is_spared(&page->slot[i]) ||
		    storage_is_waited(r, i))
			continue;
		STORAGE_SET(page->since, (int64_t)monotonic_ms());
		STORAGE_SET(page->at, i);
		storage_read_slot(r, &page->slot[i]);
		if (getppid() != parent || STORAGE_GET(page->at) != i)
			_exit(0); /* another worker has continued with the next slot */
	}
	_exit(0);
}

/* ---------------------------------------------------------------------------- the reader */

/* Remove workers that have ended, and kill workers whose process has lost its slot. */
static void storage_reap(struct storage_reader *r)
{
	for (unsigned i = 0; i < STORAGE_WORKERS; i++) {
		struct storage_waiting *w = &r->waiting[i];
		const struct storage_slot *slot = &r->page->slot[w->slot];

		if (w->worker && (!STORAGE_GET(slot->pid) || STORAGE_GET(slot->turn) != w->turn))
			kill(w->worker, SIGKILL);
		if (w->worker && waitpid(w->worker, NULL, WNOHANG) != 0) {
			w->worker = 0;
			r->n_waiting--;
		}
	}
}

/*
 * Handle WORKER, which waits too long for the process of slot AT. Let it wait, so that a process
 * that is only slow is read in the end. But if too many workers wait already, kill it and never
 * read its process again.
 */
static void storage_leave(struct storage_reader *r, pid_t worker, uint32_t at)
{
	struct storage_slot *slot = &r->page->slot[at];
	uint32_t turn = STORAGE_GET(slot->turn);
	unsigned i = 0;

	slot->penalty = slot->slow == turn ? 2 * slot->penalty : 1;
	if (slot->penalty > STORAGE_PASSES)
		slot->penalty = STORAGE_PASSES;
	slot->slow = turn;
	slot->skip = slot->penalty;
	if (r->n_waiting == STORAGE_WORKERS) {
		slot->skip = UINT32_MAX;
		kill(worker, SIGKILL);
		waitpid(worker, NULL, 0); /* returns soon: SIGKILL ends the worker's wait */
		return;
	}
	while (r->waiting[i].worker)
		i++;
	r->waiting[i] = (struct storage_waiting){ worker, at, turn };
	r->n_waiting++;
}

/*
 * Wait until WORKER has ended, or has waited for a process for longer than the limit. Returns
 * UINT32_MAX if it has ended, otherwise the slot at which the next worker begins.
 */
static uint32_t storage_attend(struct storage_reader *r, pid_t worker)
{
	const struct timespec pause = { 0, 20000000 };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		uint32_t at = STORAGE_GET(r->page->at);
		int64_t since = STORAGE_GET(r->page->since);

		if (waitpid(worker, NULL, WNOHANG) != 0)
			return UINT32_MAX;
		if (monotonic_ms() - since > r->limit && STORAGE_GET(r->page->at) == at &&
		    STORAGE_GET(r->page->since) == since) {
			storage_leave(r, worker, at);
			return at + 1;
		}
		sigtimedwait(&child, NULL, &pause);
	}
}

static void storage_pass(struct storage_reader *r)
{
	pid_t self = getpid(), worker;

	for (uint32_t from = 0; from < STORAGE_GET(r->page->n);) {
		STORAGE_SET(r->page->at, from);
		STORAGE_SET(r->page->since, (int64_t)monotonic_ms());
		worker = fork();
		if (worker == 0)
			storage_run_worker(r, from, self);
		if (worker < 0)
			return;
		from = storage_attend(r, worker);
	}
	for (uint32_t i = 0; i < STORAGE_GET(r->page->n); i++) {
		struct storage_slot *slot = &r->page->slot[i];

		if (slot->skip && slot->skip != UINT32_MAX && !storage_is_waited(r, i))
			slot->skip--;
	}
}

/* Run the reader, which closes all descriptors except that of /proc, and ends with its parent. */
static void __attribute__((noreturn)) storage_run_reader(const struct storage *s, pid_t parent)
{
	struct storage_reader r = { .page = s->page, .source = s->source, .limit = s->limit };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "nodeos-io");
	if (getppid() != parent || dup2(s->source.fd, 0) < 0 ||
	    syscall(SYS_close_range, 1, ~0U, 0) < 0)
		_exit(1); /* an inherited descriptor would keep a rank's counters open */
	r.source.fd = 0;
	for (;;) {
		storage_reap(&r);
		storage_pass(&r);
		sleep(STORAGE_INTERVAL);
	}
}

void storage_tend(struct storage *s)
{
	pid_t parent = getpid();

	if (s->reader > 0 && waitpid(s->reader, NULL, WNOHANG) == s->reader)
		s->reader = 0;
	if (s->reader > 0 || !s->page->n)
		return;
	s->reader = fork();
	if (s->reader == 0)
		storage_run_reader(s, parent);
}
