/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves of pages between two nodes of a guest (pages_boot.py). TAP, after "pages: begin". */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "migration/page_worker.h"
#include "migration/test/rank.h"

#define MIB ((uint64_t)1 << 20)
#define SIZE (64 * MIB)
#define TIB ((uint64_t)1 << 40)
#define LIMIT_MS 60000

/* constants of numaif.h, which may not be installed for a static program */
enum { MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE };

/* The settings of a rank, and its reports, in memory that it shares with the test. */
struct rank_report {
	char *memory;
	bool huge, share;
	int policy; /* set after the memory is on node 0 */
	unsigned long nodes;
	volatile pid_t holder;
	volatile bool held; /* the holder holds its address space */
};

static struct rank_report *told;
static struct pages_progress progress;

static char *map_on_node(uint64_t size, int huge)
{
	unsigned long node0 = 1;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || madvise(p, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 ||
	    syscall(SYS_mbind, p, size, MPOL_BIND, &node0, 64, 0) < 0)
		_exit(1);
	return p;
}

static void fill_node0(void *arg)
{
	struct rank_report *t = arg;

	t->memory = map_on_node(SIZE, t->huge);
	for (uint64_t i = 0; i < SIZE; i++)
		t->memory[i] = (char)(i >> 12);
	if (syscall(SYS_mbind, t->memory, SIZE, t->policy, t->nodes ? &t->nodes : NULL,
		    t->nodes ? 64 : 0, 0) < 0)
		_exit(1);
	if (t->share && fork() == 0)
		for (;;)
			pause();
}

static void fill_sparse(void *arg)
{
	struct rank_report *t = arg;
	char *p = map_on_node(TIB, 0);

	p[0] = p[TIB / 2] = p[TIB - 1] = 1;
	syscall(SYS_mbind, p, TIB, MPOL_DEFAULT, NULL, 0, 0);
	mprotect(p, TIB, PROT_NONE);
	fill_node0(t);
}

/* A child holds its own address space by a fault, and a writer waits for it (hold.c). */
static void fill_and_hold(void *arg)
{
	struct rank_report *t = arg;
	char line[64];
	int out[2];
	pid_t holder;
	FILE *f;

	fill_node0(t);
	if (pipe(out) < 0)
		_exit(1);
	holder = fork();
	if (holder == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execl("/hold", "/hold", "60", "exec", (char *)NULL);
		_exit(1);
	}
	t->holder = holder; /* not in the child, which shares this memory */
	close(out[1]);
	f = fdopen(out[0], "r");
	while (f && fgets(line, sizeof(line), f) && strncmp(line, "executes", 8) != 0)
		t->held = t->held || strcmp(line, "held\n") == 0;
	sleep(1);
}

/* MiB of a rank's memory on NODE, as the kernel reports it for each page. */
static uint64_t mib_on(const struct rank *r, int node)
{
	static void *address[SIZE / 4096];
	static int status[SIZE / 4096];
	uint64_t n = 0;

	for (unsigned i = 0; i < SIZE / 4096; i++)
		address[i] = told->memory + 4096ul * i;
	if (syscall(SYS_move_pages, r->pid, SIZE / 4096, address, NULL, status, 0) < 0)
		return 0;
	for (unsigned i = 0; i < SIZE / 4096; i++)
		n += status[i] == node;
	return n * 4096 / MIB;
}

static struct pages_plan plan_to_1(void)
{
	struct pages_plan plan = { .to = 1, .seconds = 60 };

	idset_parse(&plan.where.home, "1", NULL);
	idset_parse(&plan.where.container, "0-1", NULL);
	return plan;
}

static void start(struct rank *r, const char *name, void (*fn)(void *arg), struct rank_report with)
{
	*told = with;
	rank_start(r, name, 0, fn, told);
}

static void move(struct pages_result *out, const struct rank *r, const struct pages_plan *plan)
{
	struct errbuf err = { 0 };
	long begin = monotonic_ms();

	memset(&progress, 0, sizeof(progress));
	ok(pages_move(out, plan, rank_root, r->path, &progress, &err) == 0,
	   "%s: pages_move succeeds %s", r->name, err.text);
	diag("%s: %s after %ld ms, %u rounds, %u calls; MiB: moved %llu, home %llu -> %llu, "
	     "elsewhere %llu -> %llu; bound %llu, shared %llu, busy %llu",
	     r->name, pages_end_name(out->end), monotonic_ms() - begin, out->rounds, out->calls,
	     (unsigned long long)(out->moved / MIB), (unsigned long long)(out->before.home / MIB),
	     (unsigned long long)(out->after.home / MIB),
	     (unsigned long long)(out->before.elsewhere / MIB),
	     (unsigned long long)(out->after.elsewhere / MIB),
	     (unsigned long long)(out->bound / MIB), (unsigned long long)(out->shared / MIB),
	     (unsigned long long)(out->busy / MIB));
}

static void moves(const char *name, bool huge, bool stopped)
{
	struct pages_plan plan = plan_to_1();
	struct pages_result out;
	struct rank r = { .name = "" };
	char byte = 0;

	start(&r, name, fill_node0, (struct rank_report){ .huge = huge });
	if (stopped)
		kill(r.pid, SIGSTOP);
	is_int((long long)mib_on(&r, 0), 64, "%s: the memory is on node 0 before", name);
	move(&out, &r, &plan);
	ok(out.end == PAGES_ENOUGH && mib_on(&r, 1) >= 58, "%s: nine of ten pages are on node 1",
	   name);
	ok(out.moved >= 58 * MIB && out.moved <= 80 * MIB && progress.moved == out.moved,
	   "%s: the bytes of these pages are counted", name);
	ok(out.calls >= 1 && out.calls <= 4 && progress.calls == out.calls,
	   "%s: these pages need one call, and the rest of the process few", name);
	for (unsigned i = 0; i < SIZE / 4096 && byte == (char)(i ? i - 1 : 0); i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/mem", (int)r.pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (pread(fd, &byte, 1, (off_t)(uintptr_t)(told->memory + 4096ul * i)) != 1)
			byte = 0;
		close(fd);
	}
	is_int(byte, (char)(SIZE / 4096 - 1), "%s: the content is the same", name);
	rank_end(&r);
}

/* Of 64 MiB, the 8 MiB around a miss at 16 MiB, and the 4 MiB before one at the end. */
static void moves_around(const char *name, bool huge)
{
	static struct around only;
	struct pages_plan plan = plan_to_1();
	struct pages_result out;
	struct rank r = { 0 };
	struct miss miss[2];

	start(&r, name, fill_node0, (struct rank_report){ .huge = huge });
	miss[0] = (struct miss){ r.pid, (uintptr_t)told->memory + 16 * MIB + 100 };
	miss[1] = (struct miss){ r.pid, (uintptr_t)told->memory + SIZE - 1 };
	around_choose(&only, miss, 2, 8 * MIB, 4096);
	plan.only = &only;
	move(&out, &r, &plan);
	ok(out.end == PAGES_ENOUGH && out.calls == 1 && out.rounds == 1,
	   "%s: the pages around two misses are one call: %s, %u calls", name,
	   pages_end_name(out.end), out.calls);
	ok(mib_on(&r, 1) >= 12 && mib_on(&r, 1) <= (huge ? 18 : 12) &&
		   out.moved / MIB == mib_on(&r, 1),
	   "%s: about 12 of 64 MiB are moved, not %llu", name, (unsigned long long)mib_on(&r, 1));
	ok(!out.after.elsewhere && out.before.elsewhere == out.moved && out.all >= SIZE &&
		   out.all < SIZE + 16 * MIB,
	   "%s: only pages around the misses are counted", name);
	move(&out, &r, &plan);
	ok(out.end == PAGES_ENOUGH && !out.calls && !out.moved,
	   "%s: no call is made when all chosen pages are at home", name);
	only.n = 0;
	move(&out, &r, &plan);
	ok(out.end == PAGES_ENOUGH && !out.calls, "%s: no call is made when no page is chosen",
	   name);
	rank_end(&r);
}

static void keeps_rate(void)
{
	struct pages_plan plan = plan_to_1();
	struct pages_result out;
	long begin;
	struct rank r = { .name = "" };

	plan.rate = 16 * MIB;
	plan.call = 16 * MIB;
	start(&r, "rate", fill_node0, (struct rank_report){ .huge = false });
	begin = monotonic_ms();
	move(&out, &r, &plan);
	/* the rate delays the last call until 3 s after the start, when 48 MiB have moved */
	ok(monotonic_ms() - begin >= 2900 && out.calls >= 4 && mib_on(&r, 1) >= 58,
	   "rate: 64 MiB in calls of 16 MiB at 16 MiB/s take three seconds");
	plan = plan_to_1();
	rank_end(&r);
}

static void stays(const char *name, struct rank_report with)
{
	struct pages_plan plan = plan_to_1();
	struct pages_result out;
	struct rank r = { .name = "" };

	start(&r, name, fill_node0, with);
	move(&out, &r, &plan);
	is_int((long long)mib_on(&r, 0), 64, "%s: all pages stay where they were", name);
	ok(out.end == PAGES_NO_GAIN && (with.share ? out.shared : out.bound) >= SIZE,
	   "%s: the reason is counted", name);
	if (!with.share)
		is_int(out.calls, 0, "%s: no call is made", name);
	rank_end(&r);
}

static void is_sparse(void)
{
	struct pages_plan plan = plan_to_1();
	struct pages_result out;
	struct rank r = { .name = "" };
	long begin;

	start(&r, "sparse", fill_sparse, (struct rank_report){ .huge = false });
	begin = monotonic_ms();
	move(&out, &r, &plan);
	ok(monotonic_ms() - begin < 10000 && mib_on(&r, 1) >= 58,
	   "sparse: a mapping of a TiB with few pages does not slow the move");
	rank_end(&r);
}

static void *end_rank(void *arg)
{
	struct rank *r = arg;

	while (!progress.calls)
		usleep(1000);
	kill(r->pid, SIGKILL);
	return NULL;
}

static void exits(void)
{
	struct pages_plan plan = plan_to_1();
	struct pages_result out;
	pthread_t thread;
	struct rank r = { .name = "" };

	plan.call = MIB;
	start(&r, "exits", fill_node0, (struct rank_report){ .huge = false });
	progress.calls = 0;
	pthread_create(&thread, NULL, end_rank, &r);
	move(&out, &r, &plan);
	pthread_join(thread, NULL);
	ok(out.end == PAGES_GONE && out.calls < 64,
	   "exits: a rank that ends during the move stops it after %u calls: %s", out.calls,
	   pages_end_name(out.end));
	rank_end(&r);
}

static enum page_state await(struct page_workers *w, struct page_outcome *out, struct errbuf *err)
{
	long end = monotonic_ms() + LIMIT_MS;
	enum page_state state;

	while ((state = page_worker_check(w, out, err)) == PAGE_AT_WORK && monotonic_ms() < end)
		usleep(10000);
	return state;
}

/* Wait until no killed worker is left; returns whether that is so. */
static bool none_is_left(struct page_workers *w)
{
	long end = monotonic_ms() + LIMIT_MS;
	struct page_outcome ignored;

	while (page_workers_abandoned(w) && monotonic_ms() < end) {
		page_worker_check(w, &ignored, NULL);
		usleep(10000);
	}
	return page_workers_abandoned(w) == 0;
}

/* A rank that holds its own address space; then another rank of the user, whose pages move. */
static void is_held(void)
{
	struct page_request q = { .cgroup_fd = rank_root,
				  .step = 1,
				  .uid = RANK_UID,
				  .gid = RANK_UID,
				  .plan = plan_to_1(),
				  .foreign_cpus = 3 };
	struct page_workers *w = page_workers_new();
	struct page_outcome out;
	struct errbuf err = { 0 };
	struct rank r = { .name = "" }, next = { .name = "" };

	chmod("/dev/fuse", 0666);
	mkdir("/tmp", 0777);
	chmod("/tmp", 01777);
	page_workers_set_silence(w, 4000);
	*told = (struct rank_report){ .huge = false };
	rank_start(&r, "held", RANK_UID, fill_and_hold, told);
	ok(told->held, "held: a process holds its address space");
	snprintf(q.cgroup, sizeof(q.cgroup), "%s", r.path);
	ok(page_worker_start(w, &q, &err) == PAGE_STARTED, "held: a worker starts %s", err.text);
	ok(await(w, &out, &err) == PAGE_ABANDONED, "held: the worker is abandoned: %s", err.text);
	is_int(out.silent, told->holder,
	       "held: the outcome names the process that the worker waited for");
	ok(page_workers_silent(w, r.path) && page_worker_start(w, &q, &err) == PAGE_SILENT,
	   "held: the rank is not tried again");
	ok(out.calls == 0, "held: no call began");
	*told = (struct rank_report){ .huge = false };
	rank_start(&next, "next", RANK_UID, fill_node0, told);
	snprintf(q.cgroup, sizeof(q.cgroup), "%s", next.path);
	ok(page_worker_start(w, &q, &err) == PAGE_STARTED && await(w, &out, &err) == PAGE_DONE,
	   "next: the next rank's worker is done: %s", err.text);
	ok(mib_on(&next, 1) >= 58 && out.moved >= 58 * MIB && out.result.end == PAGES_ENOUGH &&
		   out.drains == 3ull * out.calls,
	   "next: the pages of the next rank are moved with its user's rights");
	ok(none_is_left(w), "the abandoned worker has ended");
	rank_end(&next);
	rank_end(&r);
	page_workers_free(w);
}

int main(void)
{
	int fd = open("/proc/sys/kernel/numa_balancing", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "0", 1) == 1)
		close(fd);
	printf("pages: begin\n");
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED || !rank_begin())
		bail("no cgroups");
	moves("small", false, false);
	moves("huge", true, false);
	moves("stopped", false, true);
	moves_around("around misses", false);
	moves_around("around misses, huge", true);
	keeps_rate();
	stays("bound", (struct rank_report){ .policy = MPOL_BIND, .nodes = 1 });
	stays("interleaved", (struct rank_report){ .policy = MPOL_INTERLEAVE, .nodes = 3 });
	stays("shared", (struct rank_report){ .share = true });
	is_sparse();
	exits();
	is_held();
	tap_done();
	printf("pages: end\n");
	return 0;
}
