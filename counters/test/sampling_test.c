/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sample page faults in place of misses: on any machine the kernel gives samples of page faults
 * with addresses. The guests of simllc sample misses.
 */
#include "counters/sampling.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"

#define BYTES ((size_t)16 << 20)
#define PASSES 16 /* of 4,096 faults each */

static const struct events_row faults = { .name = "soft",
					  .n_sample = 1,
					  .sample = { .config = 2 }, /* PERF_COUNT_SW_PAGE_FAULTS */
					  .sample_pmu = "software" };

static char *memory;

/* Wait for a byte, make the faults, and wait to be killed. */
static void fault_pages(int go, int done)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	for (unsigned pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < BYTES; i += 4096)
			((volatile char *)memory)[i] = 1;
		madvise(memory, BYTES, MADV_DONTNEED);
	}
	if (write(done, &byte, 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static void test_addresses(struct sampling *s)
{
	struct miss found[512];
	struct miss_list list = { .miss = found, .max = 512 };
	int go[2], done[2], inside = 0;
	struct sampled *r = NULL;
	struct errbuf err = { 0 };
	pid_t tid[2];
	char byte = 0;

	if (pipe(go) < 0 || pipe(done) < 0)
		bail("pipe");
	tid[0] = 0x3fffffff; /* above any thread's number */
	tid[1] = fork();
	if (tid[1] == 0)
		fault_pages(go[0], done[1]);
	ok(sampled_begin(&r, s, tid, 2, &err) == 0,
	   "sampled_begin: accepts a thread that has ended beside a live one: %s", err.text);
	if (write(go[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
		bail("the child has ended");
	sampled_end(r, &list);
	for (unsigned i = 0; i < list.n; i++)
		inside += found[i].pid == tid[1] && found[i].address >= (uintptr_t)memory &&
			  found[i].address < (uintptr_t)memory + BYTES;
	/* 65,536 faults are six or seven periods of 10,000 */
	ok(list.n >= 6 && list.n <= 7 && (unsigned)inside == list.n && !list.lost,
	   "sampled_end: gives 6 or 7 samples (%u), all of the memory that faults (%d)", list.n,
	   inside);
	kill(tid[1], SIGKILL);
	waitpid(tid[1], NULL, 0);
	ok(sampled_begin(&r, s, tid, 2, &err) < 0 && strstr(err.text, "No such process"),
	   "sampled_begin: fails if all threads have ended: %s", err.text);
	ok(sampled_begin(&r, s, tid, 0, &err) < 0, "sampled_begin: fails without a thread: %s",
	   err.text);
	sampled_end(NULL, &list);
}

int main(void)
{
	struct events_row row = faults;
	struct sampling *s = NULL;
	struct errbuf err = { 0 };

	ok(sampling_open(&s, NULL, "", &err) < 0, "sampling_open: fails without a row: %s",
	   err.text);
	row.n_sample = 0;
	ok(sampling_open(&s, &row, "", &err) < 0,
	   "sampling_open: fails for a row without an event of samples: %s", err.text);
	row.n_sample = 1;
	strcpy(row.sample_pmu, "no_such_pmu");
	ok(sampling_open(&s, &row, "", &err) < 0 && strstr(err.text, "no PMU no_such_pmu"),
	   "sampling_open: fails for a PMU that does not exist: %s", err.text);
	strcpy(row.sample_pmu, "software");
	row.sample.config = 0xffff;
	ok(sampling_open(&s, &row, "", &err) < 0,
	   "sampling_open: fails for an event that does not exist: %s", err.text);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, BYTES, MADV_NOHUGEPAGE) < 0)
		bail("mmap");
	if (sampling_open(&s, &faults, "", &err) < 0)
		skip(4, "%s", err.text);
	else
		test_addresses(s);
	sampling_close(s);
	return tap_done();
}
