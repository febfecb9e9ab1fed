/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_samples.h with page faults for misses, which the kernel samples on any machine. */
#include "migration/rank_samples.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define BYTES ((size_t)64 << 20)
#define PAGES 16u

static const struct events_row faults = { .name = "soft",
					  .n_sample = 1,
					  .sample = { .config = 2 }, /* PERF_COUNT_SW_PAGE_FAULTS */
					  .sample_pmu = "software" };

static char *memory;

static void fault_pages(void)
{
	for (;;) {
		for (size_t i = 0; i < BYTES; i += 4096)
			((volatile char *)memory)[i] = 1;
		madvise(memory, BYTES, MADV_DONTNEED);
	}
}

static void test_rank(struct rank_samples *s, pid_t pid)
{
	const uint64_t low = (uintptr_t)memory - PAGES / 2 * 4096ul,
		       high = low + BYTES + PAGES * 4096ul;
	const struct around *a;
	struct errbuf err = { 0 };
	bool inside = true;
	char text[32];

	snprintf(text, sizeof(text), "%d\n%d\n", (int)pid, 0x3fffffff);
	scratch_dir("task_0");
	scratch_file("task_0/cgroup.threads", text);
	ok(rank_samples_begin(s, "task_1", &err) < 0 && *err.text,
	   "a cgroup that does not exist is refused: %s", err.text);
	ok(rank_samples_check(s) == SAMPLES_NONE, "no rank is sampled after a refusal");
	ok(rank_samples_begin(s, "task_0", &err) == 0, "sampling of a rank begins: %s", err.text);
	ok(rank_samples_check(s) == SAMPLES_RUNNING, "the samples are not due yet");
	usleep(RANK_SAMPLES_MS * 1000 + 50000);
	ok(rank_samples_check(s) == SAMPLES_DUE, "the samples are due after the time of sampling");
	a = rank_samples_end(s);
	ok(rank_samples_check(s) == SAMPLES_NONE, "no rank is sampled after the end");
	for (unsigned i = 0; a && i < a->n; i++)
		inside = inside && a->range[i].pid == pid && a->range[i].start >= low &&
			 a->range[i].end <= high &&
			 a->range[i].end - a->range[i].start >= PAGES * 4096ul;
	ok(a && a->n && inside, "%u ranges of 16 pages or more lie around the memory that faults",
	   a ? a->n : 0);
	kill(pid, SIGSTOP);
	ok(rank_samples_begin(s, "task_0", &err) == 0 && !rank_samples_end(s),
	   "a rank that does nothing has no samples");
}

int main(void)
{
	struct events_row without = faults;
	struct rank_samples *s;
	struct errbuf err = { 0 };
	pid_t pid;

	scratch_make();
	without.n_sample = 0;
	s = rank_samples_new(open(scratch, O_RDONLY | O_DIRECTORY));
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!s || memory == MAP_FAILED || madvise(memory, BYTES, MADV_NOHUGEPAGE) < 0)
		bail("out of memory");
	ok(rank_samples_configure(s, 0, &without, &err) == 0 && !rank_samples_able(s),
	   "0 pages: nothing is sampled, and no reason is given");
	ok(rank_samples_configure(s, PAGES, &without, &err) < 0 && !rank_samples_able(s),
	   "a row without the event is refused: %s", err.text);
	ok(rank_samples_configure(s, PAGES, &without, &err) == 0 && !rank_samples_able(s),
	   "the reason why the host cannot sample is given once");
	ok(rank_samples_configure(s, PAGES, NULL, &err) < 0 && !rank_samples_able(s),
	   "a missing row is refused: %s", err.text);
	if (rank_samples_configure(s, PAGES, &faults, &err) < 0) {
		skip(9, "%s", err.text);
	} else {
		ok(rank_samples_able(s), "the host can sample after another row was given");
		pid = fork();
		if (pid == 0)
			fault_pages();
		test_rank(s, pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	rank_samples_free(s);
	rank_samples_free(NULL);
	return tap_done();
}
