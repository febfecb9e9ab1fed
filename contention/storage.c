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

/* What the caller and the reader share, each number written by one of them. */
struct storage_slot {
	/* the caller's */
	pid_t pid; /* 0: free; -1: never again */
	uint64_t start;
	uint32_t turn; /* which process of this slot */
	/* the reader's */
	uint32_t answered; /* TURN of the numbers below; 0: none */
	uint64_t read, written;
};

struct storage_page {
	uint32_t at; /* slot that is being read, plus 1; 0: none */
	int64_t since; /* monotonic milliseconds */
	uint32_t n; /* slots behind the last one in use */
	struct storage_slot slot[STORAGE_SLOTS];
};

struct storage {
	int proc_fd;
	unsigned stuck; /* milliseconds */
	pid_t reader; /* 0: none */
	uint32_t turn; /* of the last process */
	struct storage_page *page;
};

#define STORAGE_SET(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#define STORAGE_GET(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)

int storage_open(struct storage **out, int proc_fd, unsigned stuck, struct errbuf *err)
{
	struct storage *s = calloc(1, sizeof(*s));

	if (!s)
		return errprintf(err, "out of memory");
	s->proc_fd = proc_fd;
	s->stuck = stuck ? stuck : STORAGE_STUCK * 1000;
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
		/* it dies at once: each wait of it can be killed */
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

/* Read of one process, the same one in both files as they are opened in one directory. */
static void storage_read_slot(int proc_fd, struct storage_slot *slot)
{
	uint32_t turn = STORAGE_GET(slot->turn);
	char name[24], text[PROCESS_STAT_MAX];
	struct process_seen p;
	struct errbuf ignored;
	int dir;

	snprintf(name, sizeof(name), "%d", (int)STORAGE_GET(slot->pid));
	dir = openat(proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	if (file_read(dir, "stat", text, sizeof(text), &ignored) > 0 &&
	    process_seen_parse(&p, text) == 0 && p.start == slot->start &&
	    file_read(dir, "io", text, sizeof(text), &ignored) > 0) {
		STORAGE_SET(slot->read, storage_number(text, "\nread_bytes: "));
		STORAGE_SET(slot->written, storage_number(text, "\nwrite_bytes: "));
		STORAGE_SET(slot->answered, turn);
	}
	close(dir);
}

/* The reader's life: it has nothing open but PROC_FD, and ends with its parent. */
static void __attribute__((noreturn))
storage_live(struct storage_page *page, int proc_fd, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "nodeos-io");
	if (getppid() != parent || dup2(proc_fd, 0) < 0 || syscall(SYS_close_range, 1, ~0U, 0) < 0)
		_exit(1); /* descriptors of counters must not live on here */
	for (;;) {
		for (uint32_t i = 0; i < STORAGE_GET(page->n); i++) {
			if (STORAGE_GET(page->slot[i].pid) <= 0)
				continue;
			STORAGE_SET(page->since, (int64_t)monotonic_ms());
			STORAGE_SET(page->at, i + 1);
			storage_read_slot(0, &page->slot[i]);
			STORAGE_SET(page->at, 0);
		}
		sleep(STORAGE_INTERVAL);
	}
}

void storage_tend(struct storage *s)
{
	uint32_t at = STORAGE_GET(s->page->at);
	pid_t parent = getpid();

	if (s->reader > 0 && waitpid(s->reader, NULL, WNOHANG) == s->reader)
		s->reader = 0;
	if (s->reader > 0 && at && monotonic_ms() - STORAGE_GET(s->page->since) > s->stuck) {
		storage_end_reader(s);
		/* never this process again: what it has said is of no use any more */
		STORAGE_SET(s->page->slot[at - 1].answered, 0);
		STORAGE_SET(s->page->slot[at - 1].pid, -1);
	}
	if (s->reader > 0 || !s->page->n)
		return;
	STORAGE_SET(s->page->at, 0);
	s->reader = fork();
	if (s->reader == 0)
		storage_live(s->page, s->proc_fd, parent);
}
