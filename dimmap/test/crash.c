// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests the contents of a file after a power cut. The device below the file is dm-log-writes. Its
 * log has all writes, and all flushes of the device's cache, in order. After a power cut, each
 * sector that was written since the last flush may be present or missing. The kernel describes the
 * log in Documentation/admin-guide/device-mapper/log-writes.rst.
 *
 * crash write FILE PAGES THREADS WRITES SEED RECORD DEVICE: each thread makes WRITES writes to the
 *	file's first PAGES, by a mapping and by write(), with syncs of all kinds meanwhile. After
 *	each sync RECORD gets the epoch of each page that the sync made safe, and the log of the dm
 *	device gets a mark. The last entry of RECORD has all writes; the caller sets its mark after
 *	umount.
 * crash check LOG RECORD DEVICE SEED POINTS [forgetful]: checks DEVICE (of zeros, at first) at each
 *	flush, at each mark, and at POINTS points between, with some unflushed writes. "forgetful"
 *	drops some flushed writes, too: the check must then fail.
 * crash cut LOG RECORD DEVICE SEED: writes to DEVICE its contents at one such point after the first
 *	mark; prints the number of the last mark before it.
 * crash look FILE RECORD MARK: checks a file against the record up to MARK.
 * Prints "crash: ..." and exits with 1 at the first error.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / 8)
#define SECTOR 512
#define LOG_MAGIC 0x6a736677736872ull

enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8 };

static void fail(const char *what)
{
	printf("crash: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

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

static void *all_of(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	char *at;

	if (fd < 0)
		fail(path);
	*size = (size_t)lseek(fd, 0, SEEK_END);
	at = malloc(*size);
	for (size_t n = 0; n < *size;) {
		ssize_t k = pread(fd, at + n, *size - n, (off_t)n);

		if (k <= 0)
			fail(path);
		n += (size_t)k;
	}
	close(fd);
	return at;
}

/*
 * Each word of a page encodes its place, its epoch (1, 2, 3, ...: the number of the write of its
 * page), and whether it was written by a mapping. A word of epoch 0 is zero: not written yet.
 */
static uint64_t stamp(uint32_t page, uint32_t word, uint32_t epoch, uint32_t mapped)
{
	uint32_t low = epoch << 1 | mapped;

	return epoch ? mix((uint64_t)low << 32 | (page * WORDS + word)) << 32 | low : 0;
}

static uint32_t epoch_of(uint64_t word)
{
	return (uint32_t)word >> 1;
}

/* ---- writing ---- */

static int file, record, control;
static const char *device;
static uint32_t pages, threads, writes, marks;
static uint64_t seed;
static uint64_t *mapping;
/* epoch of the last complete write of each page; a page belongs to one thread */
static _Atomic uint32_t *complete;
/*
 * Allows one sync at a time, since dm-log-writes may log overlapping flushes in reverse order.
 * Other threads write meanwhile.
 */
static pthread_mutex_t sync_lock = PTHREAD_MUTEX_INITIALIZER;

static void log_mark(uint32_t number)
{
	static struct {
		struct dm_ioctl head;
		struct dm_target_msg message;
		char text[32];
	} arg;

	memset(&arg, 0, sizeof(arg));
	arg.head.version[0] = DM_VERSION_MAJOR;
	arg.head.data_size = sizeof(arg);
	arg.head.data_start = offsetof(typeof(arg), message);
	strncpy(arg.head.name, device, sizeof(arg.head.name) - 1);
	snprintf(arg.message.message, sizeof(arg.text), "mark %u", number);
	if (ioctl(control, DM_TARGET_MSG, &arg))
		fail("mark");
}

static void tell(const uint32_t *safe)
{
	if (write(record, safe, pages * sizeof(*safe)) != (ssize_t)(pages * sizeof(*safe)))
		fail("record");
}

/*
 * Write the next epoch of a page. By a mapping, words are written one by one, so that write-back
 * may see an incomplete page. By write(), the page is changed as a whole.
 */
static void write_page(uint32_t page, int mapped, int flags)
{
	volatile uint64_t *at = mapping + (size_t)page * WORDS;
	uint32_t epoch = complete[page] + 1;
	uint64_t whole[WORDS];
	struct iovec io = { whole, PAGE };

	for (uint32_t w = 0; w < WORDS; w++) {
		if (mapped)
			at[w] = stamp(page, w, epoch, 1);
		else
			whole[w] = stamp(page, w, epoch, 0);
	}
	if (!mapped && pwritev2(file, &io, 1, (off_t)page * PAGE, flags) != PAGE)
		fail("write");
	complete[page] = epoch;
}

/*
 * Sync a part of the file. Writes to its pages that were complete before the sync are safe after
 * it.
 */
static void sync_one(uint64_t random, uint32_t mine)
{
	uint32_t first = 0, last = pages - 1, *safe = calloc(pages, sizeof(*safe));
	int kind = (int)(random % 6), rc = 0;

	pthread_mutex_lock(&sync_lock);
	if (kind == 3) {
		first = (uint32_t)(random >> 8) % pages;
		last = first + (uint32_t)(random >> 32) % (pages - first);
	} else if (kind == 5) {
		first = last = mine;
	}
	for (uint32_t p = first; p <= last; p++)
		safe[p] = complete[p];
	switch (kind) {
	case 0:
		rc = fsync(file);
		break;
	case 1:
		rc = fdatasync(file);
		break;
	case 2:
	case 3:
		rc = msync(mapping + (size_t)first * WORDS, (size_t)(last - first + 1) * PAGE,
			   MS_SYNC);
		break;
	case 4:
		rc = syncfs(file);
		break;
	case 5:
		write_page(mine, 0, RWF_DSYNC);
		safe[mine] = complete[mine];
	}
	if (rc)
		fail("sync");
	tell(safe);
	log_mark(++marks);
	pthread_mutex_unlock(&sync_lock);
	free(safe);
}

static void *write_some(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	uint64_t random = mix(seed * 1000 + me);

	for (uint32_t n = 0; n < writes; n++) {
		uint64_t r = draw(&random);
		uint32_t page = (uint32_t)(r >> 16) % (pages / threads) * threads + me;

		write_page(page, r % 4 != 0, 0);
		if ((r >> 4) % 16 == 0)
			sync_one(draw(&random), page);
	}
	return NULL;
}

static int do_write(char **argv)
{
	pthread_t thread[64];

	file = open(argv[0], O_RDWR);
	pages = (uint32_t)atoi(argv[1]);
	threads = (uint32_t)atoi(argv[2]);
	writes = (uint32_t)atoi(argv[3]);
	seed = strtoull(argv[4], NULL, 10);
	record = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	device = argv[6];
	control = open("/dev/mapper/control", O_RDWR);
	if (file < 0 || record < 0 || control < 0 || threads > 64)
		fail("write");
	mapping = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (mapping == MAP_FAILED)
		fail("mmap");
	if (write(record, &pages, sizeof(pages)) != sizeof(pages))
		fail("record");
	complete = calloc(pages, sizeof(*complete));
	for (uint32_t i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, write_some, (void *)(uintptr_t)i))
			fail("pthread_create");
	for (uint32_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	tell((uint32_t *)complete);
	printf("crash: marks %u\n", marks);
	return 0;
}

/* ---- judging ---- */

/* The record has the number of pages, and for each mark the safe epoch of each page. */
static uint32_t *told;
static size_t told_marks;
static uint32_t torn; /* number of pages that had words of several epochs */

static void read_told(const char *path)
{
	size_t size;
	uint32_t *at = all_of(path, &size);

	pages = at[0];
	told = at + 1;
	told_marks = (size / 4 - 1) / pages;
}

/* Fill SAFE with the epochs that are safe by the marks up to NUMBER. */
static void safe_at(uint32_t number, uint32_t *safe)
{
	memset(safe, 0, pages * sizeof(*safe));
	for (uint32_t m = 0; m < number && m < told_marks; m++)
		for (uint32_t p = 0; p < pages; p++)
			if (safe[p] < told[m * pages + p])
				safe[p] = told[m * pages + p];
}

/*
 * Check that the words existed at one moment. Either all words are of one epoch, or the first words
 * are of one epoch and the rest are of the preceding epoch, since a mapping is written from the
 * first word to the last. Returns the fault, or NULL.
 */
static const char *one_moment(const uint64_t *at, uint32_t page, uint32_t word, uint32_t words)
{
	uint32_t newest = epoch_of(at[0]), before = newest;

	for (uint32_t w = 0; w < words; w++) {
		uint32_t epoch = epoch_of(at[w]), mapped = (uint32_t)at[w] & 1;

		if (at[w] != stamp(page, word + w, epoch, mapped))
			return "a word that no thread has written";
		if (epoch > before || epoch + 1 < newest)
			return "words that did not exist at the same time";
		if (epoch != newest && !(at[0] & 1))
			return "only a part of what write() has written";
		before = epoch;
	}
	return NULL;
}

/*
 * Check a page after a crash: each sector existed at one moment, and no word is older than the safe
 * epoch. Returns the fault, or NULL.
 */
static const char *after_crash(const uint64_t *at, uint32_t page, uint32_t safe)
{
	const char *wrong;

	for (uint32_t w = 0; w < WORDS; w += SECTOR / 8) {
		wrong = one_moment(at + w, page, w, SECTOR / 8);
		if (wrong)
			return wrong;
		/* the last word of a sector is the oldest */
		if (epoch_of(at[w + SECTOR / 8 - 1]) < safe)
			return "lost";
	}
	torn += epoch_of(at[0]) != epoch_of(at[WORDS - 1]);
	return NULL;
}

static void judge(const void *image, uint32_t number, const char *where, size_t point)
{
	static uint32_t *safe, last = ~0u;

	if (!safe)
		safe = calloc(pages, sizeof(*safe));
	if (number != last)
		safe_at(number, safe);
	last = number;
	for (uint32_t p = 0; p < pages; p++) {
		const uint64_t *at = (const uint64_t *)image + (size_t)p * WORDS;
		const char *wrong = after_crash(at, p, safe[p]);

		if (!wrong)
			continue;
		printf("crash: wrong: %s %zu: page %u: %s; safe by mark %u is epoch %u, words of "
		       "sectors have",
		       where, point, p, wrong, number, safe[p]);
		for (uint32_t w = 0; w < WORDS; w += SECTOR / 8)
			printf(" %u", epoch_of(at[w]));
		printf("\n");
		fflush(stdout);
		_exit(1);
	}
}

/* ---- the log ---- */

struct entry {
	uint64_t sector, sectors, flags;
	uint32_t number; /* number of the mark; 0: not a mark */
	const char *data;
};

static struct entry *entry;
static size_t entries;

/* The log has a header sector, and then for each entry a sector and its data. */
static void read_log(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t size = fd < 0 ? 0 : (size_t)lseek(fd, 0, SEEK_END), at = SECTOR;
	const uint64_t *head;
	const char *log;

	/* map the log: most of its device is empty */
	log = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED)
		fail(path);
	head = (const void *)log;
	if (le64toh(head[0]) != LOG_MAGIC || le64toh(head[1]) != 1 ||
	    le32toh(*(const uint32_t *)(head + 3)) != SECTOR) {
		printf("crash: %s is not a log of dm-log-writes\n", path);
		exit(1);
	}
	entries = le64toh(head[2]);
	entry = calloc(entries, sizeof(*entry));
	for (size_t i = 0; i < entries; i++) {
		const uint64_t *e = (const void *)(log + at);

		if (at + SECTOR > size) {
			printf("crash: the log is incomplete\n");
			exit(1);
		}
		entry[i] = (struct entry){ le64toh(e[0]), le64toh(e[1]), le64toh(e[2]), 0,
					   log + at + SECTOR };
		if (entry[i].flags & MARK)
			entry[i].number = (uint32_t)strtoul((const char *)(e + 4), NULL, 10);
		at += SECTOR + (entry[i].flags & DISCARD ? 0 : entry[i].sectors * SECTOR);
	}
	if (!entries || at > size || !(entry[entries - 1].flags & MARK)) {
		printf("crash: the log has no end\n");
		exit(1);
	}
}

static int is_write(const struct entry *e)
{
	return e->sectors && !(e->flags & DISCARD);
}

/* Apply a write to IMAGE, each of its sectors with a probability of PERCENT. */
static void apply(char *image, size_t size, const struct entry *e, uint64_t *random,
		  uint32_t percent)
{
	if (!is_write(e))
		return;
	for (uint64_t i = 0; i < e->sectors; i++)
		if ((e->sector + i + 1) * SECTOR <= size &&
		    (percent == 100 || draw(random) % 100 < percent))
			memcpy(image + (e->sector + i) * SECTOR, e->data + i * SECTOR, SECTOR);
}

/*
 * Of the writes since the last flush, apply some sectors by chance, and all writes with FUA, which
 * need no flush.
 */
static void apply_rest(char *image, size_t size, size_t first, size_t point, uint64_t *random)
{
	static const uint32_t chance[] = { 5, 50, 95 };
	uint32_t percent = chance[draw(random) % 3];

	for (size_t i = first; i <= point; i++)
		apply(image, size, &entry[i], random, entry[i].flags & FUA ? 100 : percent);
}

/*
 * Return the last entry up to POINT that makes its predecessors safe, or -1. A write with a flush
 * flag flushes before it writes.
 */
static ssize_t last_flush(size_t point)
{
	ssize_t i = (ssize_t)point;

	while (i >= 0 && !(entry[i].flags & FLUSH))
		i--;
	return i;
}

static uint32_t last_mark(size_t point)
{
	for (ssize_t i = (ssize_t)point; i >= 0; i--)
		if (entry[i].number)
			return entry[i].number;
	return 0;
}

/*
 * Check the log: each write of a page has the page's contents at one moment, and no write is older
 * than the previous write of its page.
 */
static void judge_writes(void)
{
	uint32_t *first = calloc(pages, sizeof(*first)), *last = calloc(pages, sizeof(*last));

	for (size_t i = 0; i < entries; i++) {
		const struct entry *e = &entry[i];

		for (uint64_t s = e->sector;
		     is_write(e) && s < e->sector + e->sectors && s / 8 < pages; s += 8) {
			const uint64_t *at = (const void *)(e->data + (s - e->sector) * SECTOR);
			uint32_t p = (uint32_t)(s / 8);
			const char *wrong = one_moment(at, p, 0, WORDS);

			if (e->sector % 8 || e->sectors % 8)
				wrong = "only a part of the page";
			else if (!wrong &&
				 (epoch_of(at[0]) < first[p] || epoch_of(at[WORDS - 1]) < last[p]))
				wrong = "contents older than the previous write";
			if (wrong) {
				printf("crash: wrong: entry %zu writes page %u: %s\n", i, p, wrong);
				exit(1);
			}
			first[p] = epoch_of(at[0]);
			last[p] = epoch_of(at[WORDS - 1]);
		}
	}
}

static int do_check(int argc, char **argv)
{
	uint64_t random = mix(strtoull(argv[3], NULL, 10));
	size_t points = strtoull(argv[4], NULL, 10), size, n[3] = { 0 }, flushed = 0, *count;
	char *now = all_of(argv[2], &size), *image, *copy;
	int forgetful = argc > 5;

	read_log(argv[0]);
	read_told(argv[1]);
	if (!forgetful)
		judge_writes();
	image = calloc(1, size);
	copy = malloc(size);
	count = calloc(entries, sizeof(*count));
	for (size_t i = 0; i < points; i++)
		count[draw(&random) % entries]++;
	/* IMAGE has the safe writes: those before the last flush, and those with FUA */
	for (size_t i = 0; i < entries; i++) {
		const struct entry *e = &entry[i];

		if (e->flags & FLUSH)
			for (; flushed < i; flushed++)
				apply(image, size, &entry[flushed], &random, forgetful ? 98 : 100);
		if (e->flags & FUA)
			apply(image, size, e, &random, 100);
		n[0] += is_write(e);
		n[1] += !!(e->flags & FLUSH);
		n[2] += !!(e->flags & MARK);
		if (e->flags & (FLUSH | FUA | MARK))
			judge(image, last_mark(i), "at entry", i);
		for (; count[i]; count[i]--) {
			memcpy(copy, image, (size_t)pages * PAGE);
			apply_rest(copy, (size_t)pages * PAGE, flushed, i, &random);
			judge(copy, last_mark(i), "after entry", i);
		}
	}
	/*
	 * check the test itself: all writes of the log together must give the contents of the
	 * device
	 */
	for (size_t i = 0; i < entries; i++)
		apply(image, size, &entry[i], &random, 100);
	if (!forgetful && memcmp(image, now, size)) {
		printf("crash: wrong: the log differs from the device\n");
		return 1;
	}
	printf("crash: good: %zu writes, %zu flushes, %zu marks, %zu points, %u torn pages\n", n[0],
	       n[1], n[2], points, torn);
	return 0;
}

static int do_cut(char **argv)
{
	uint64_t random = mix(strtoull(argv[3], NULL, 10));
	size_t size, from = 0, point;
	int fd = open(argv[2], O_WRONLY);
	ssize_t flush;
	char *image;

	read_log(argv[0]);
	read_told(argv[1]);
	if (fd < 0)
		fail(argv[2]);
	size = (size_t)lseek(fd, 0, SEEK_END);
	image = calloc(1, size);
	while (from < entries && !entry[from].number)
		from++;
	point = from + draw(&random) % (entries - from);
	flush = last_flush(point);
	for (ssize_t i = 0; i < flush; i++)
		apply(image, size, &entry[i], &random, 100);
	apply_rest(image, size, flush < 0 ? 0 : (size_t)flush, point, &random);
	if (pwrite(fd, image, size, 0) != (ssize_t)size || fsync(fd))
		fail(argv[2]);
	printf("%u\n", last_mark(point));
	return 0;
}

static int do_look(char **argv)
{
	size_t size;
	void *at = all_of(argv[0], &size);

	read_told(argv[1]);
	if (size < (size_t)pages * PAGE) {
		printf("crash: wrong: the file %s has %zu bytes\n", argv[0], size);
		return 1;
	}
	judge(at, (uint32_t)atoi(argv[2]), argv[0], 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 9 && !strcmp(what, "write"))
		return do_write(argv + 2);
	if ((argc == 7 || argc == 8) && !strcmp(what, "check"))
		return do_check(argc - 2, argv + 2);
	if (argc == 6 && !strcmp(what, "cut"))
		return do_cut(argv + 2);
	if (argc == 5 && !strcmp(what, "look"))
		return do_look(argv + 2);
	printf("usage: crash write|check|cut|look ...\n");
	return 2;
}
