// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads and writes a file at random in all ways that a program has, and compares the contents with
 * a model. Each thread of each process has words of its own in every page, and knows their last
 * values. The other words identify the page. At the end, all pages are checked by a new mapping.
 * model FILE PAGES PROCESSES THREADS ACCESSES SEED [LETTERS]: uses the file's first PAGES pages;
 * each thread makes ACCESSES accesses. LETTERS:
 *	w  writes, a third of the accesses
 *	p  mprotect back and forth
 *	u  munmap and mmap again
 *	f  fork of children that check
 *	s  msync and fsync
 *	r  also read() and write()
 * Prints "model: ..." and exits with 1 at the first wrong word.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / 8)
#define SLOTS 128
#define NAME_AT 500 /* the words from this index on identify the page */

static const char *path, *letters = "";
static long pages, accesses;
static int processes, threads;
static uint64_t seed;
/* the last value of each thread in each page; the processes share it */
static uint64_t *known;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t draw(uint64_t *state)
{
	return mix(*state += 0x632be59bd9b4e019ull);
}

static uint64_t name_of(long page, int word)
{
	return mix((uint64_t)page * WORDS + (uint64_t)word);
}

static void wrong(const char *how, int slot, long page, uint64_t got, uint64_t want)
{
	printf("model: wrong: %s: slot %d page %ld: %llx, not %llx\n", how, slot, page,
	       (unsigned long long)got, (unsigned long long)want);
	fflush(stdout);
	_exit(1);
}

static void fail(const char *what)
{
	printf("model: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static int has(char letter)
{
	return strchr(letters, letter) != NULL;
}

static void look(const char *how, const volatile uint64_t *page, long number, int slot,
		 uint64_t want)
{
	int word = NAME_AT + slot % (WORDS - NAME_AT);

	if (page[word] != name_of(number, word))
		wrong(how, -1, number, page[word], name_of(number, word));
	if (page[slot] != want)
		wrong(how, slot, number, page[slot], want);
}

static uint64_t *map(int fd)
{
	uint64_t *m = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (m == MAP_FAILED)
		fail("mmap");
	return m;
}

/* A child must see all writes that were made before its fork. */
static void look_from_child(const uint64_t *m, int slot, const uint64_t *mine, uint64_t *random)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 20; i++) {
			long p = (long)(draw(random) % (uint64_t)pages);

			look("child", m + p * WORDS, p, slot, mine[p]);
		}
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		printf("model: wrong: a child ended with the status %x\n", status);
		_exit(1);
	}
}

static void by_call(int fd, long page, int slot, uint64_t *mine, uint64_t value, int writes)
{
	uint64_t buffer[WORDS];

	if (writes) {
		if (pwrite(fd, &value, 8, page * PAGE + slot * 8) != 8)
			fail("pwrite");
		mine[page] = value;
	}
	if (pread(fd, buffer, PAGE, page * PAGE) != PAGE)
		fail("pread");
	look("read()", buffer, page, slot, mine[page]);
}

static void *run(void *arg)
{
	int slot = (int)(intptr_t)arg, fd = open(path, O_RDWR), writable = 1;
	uint64_t random = mix(seed * 1000 + (uint64_t)slot), *mine = known + (long)slot * pages;
	uint64_t *m;

	if (fd < 0)
		fail(path);
	m = map(fd);
	for (long n = 0; n < accesses; n++) {
		uint64_t r = draw(&random), value = draw(&random);
		long p = (long)(r % (uint64_t)pages);
		int writes = has('w') && (r >> 40) % 3 == 0, dice = (int)(r >> 50);

		if (has('u') && dice % 509 == 1) {
			munmap(m, (size_t)pages * PAGE);
			m = map(fd);
			writable = 1;
		}
		if (has('p') && (dice % 61 == 2 || (writes && !writable))) {
			writable = !writable;
			if (mprotect(m, (size_t)pages * PAGE,
				     PROT_READ | (writable ? PROT_WRITE : 0)))
				fail("mprotect");
			writes &= writable;
		}
		if (has('f') && dice % 1021 == 3)
			look_from_child(m, slot, mine, &random);
		if (has('s') && dice % 251 == 4 &&
		    (dice & 1 ? fsync(fd) : msync(m + p * WORDS, PAGE, MS_SYNC)))
			fail("sync");
		if (has('r') && dice % 7 == 5) {
			by_call(fd, p, slot, mine, value, writes);
			continue;
		}
		look("mapping", m + p * WORDS, p, slot, mine[p]);
		if (writes) {
			((volatile uint64_t *)m)[p * WORDS + slot] = value;
			mine[p] = value;
		}
	}
	munmap(m, (size_t)pages * PAGE);
	close(fd);
	return NULL;
}

static void one_process(int first)
{
	pthread_t thread[SLOTS];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)(intptr_t)(first + i)))
			fail("pthread_create");
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void initialize(int fd)
{
	uint64_t page[WORDS] = { 0 };

	for (long p = 0; p < pages; p++) {
		for (int w = NAME_AT; w < WORDS; w++)
			page[w] = name_of(p, w);
		if (pwrite(fd, page, PAGE, p * PAGE) != PAGE)
			fail("pwrite");
	}
}

int main(int argc, char **argv)
{
	int status, bad = 0, fd;
	uint64_t *m;

	if (argc < 7) {
		printf("usage: model FILE PAGES PROCESSES THREADS ACCESSES SEED [LETTERS]\n");
		return 2;
	}
	path = argv[1];
	pages = atol(argv[2]);
	processes = atoi(argv[3]);
	threads = atoi(argv[4]);
	accesses = atol(argv[5]);
	seed = strtoull(argv[6], NULL, 10);
	letters = argc > 7 ? argv[7] : "";
	fd = open(path, O_RDWR);
	if (fd < 0)
		fail(path);
	known = mmap(NULL, sizeof(*known) * SLOTS * (size_t)pages, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (known == MAP_FAILED || processes * threads > SLOTS)
		fail("known");
	initialize(fd);
	for (int i = 0; i < processes; i++) {
		fflush(stdout);
		if (fork() == 0) {
			one_process(i * threads);
			_exit(0);
		}
	}
	for (int i = 0; i < processes; i++)
		if (wait(&status) < 0 || status != 0)
			bad++;
	m = map(fd);
	for (long p = 0; !bad && p < pages; p++)
		for (int s = 0; s < processes * threads; s++)
			look("at the end", m + p * WORDS, p, s, known[(long)s * pages + p]);
	if (fsync(fd))
		fail("fsync");
	if (!bad)
		printf("model: good: %ld accesses of %d processes of %d threads\n",
		       accesses * processes * threads, processes, threads);
	return bad != 0;
}
