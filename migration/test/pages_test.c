/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages.h on a machine with one memory node; pages_guest.c moves pages between two nodes. */
#include "migration/pages.h"

#include "base/test/fixture.h"
#include "migration/process_memory.h"
#include "migration/test/rank.h"

#define MIB ((uint64_t)1 << 20)

static size_t mib = 64;
static struct node_home at_home, elsewhere;
static struct pages_progress progress;

static bool look(struct pages_result *out, const struct rank *r, const struct node_home *where)
{
	struct errbuf err = { 0 };

	memset(out, 0x5a, sizeof(*out));
	return ok(pages_look(out, where, rank_root, r->path, &err) == 0,
		  "pages_look: reads rank %s %s", r->name, err.text);
}

static bool move(struct pages_result *out, const struct rank *r, const struct pages_plan *plan)
{
	struct errbuf err = { 0 };

	memset(&progress, 0, sizeof(progress));
	return ok(pages_move(out, plan, rank_root, r->path, &progress, &err) == 0,
		  "pages_move: moves rank %s %s", r->name, err.text);
}

static void counts(void)
{
	struct pages_plan plan = { .where = at_home, .seconds = 60 };
	struct pages_result out;
	struct errbuf err = { 0 };
	struct rank r = { .name = "" };

	rank_start(&r, "filled", 0, rank_fill, &mib);
	look(&out, &r, &at_home);
	ok(out.before.home >= 64 * MIB && out.before.home < 80 * MIB &&
		   out.after.home == out.before.home && !out.before.elsewhere &&
		   !out.before.outside,
	   "pages_look: 64 MiB and the program's own memory are at home");
	ok(out.processes == 1 && !out.refused, "pages_look: reads one process");
	look(&out, &r, &elsewhere);
	ok(out.before.elsewhere >= 64 * MIB && !out.before.home,
	   "pages_look: if another node is home, the memory lies elsewhere");
	move(&out, &r, &plan);
	ok(out.end == PAGES_ENOUGH && !out.calls && !out.rounds && !out.moved && !progress.calls,
	   "pages_move: makes no call if nothing lies elsewhere");
	ok(progress.beats > 10 && progress.pid == (uint32_t)r.pid,
	   "pages_move: the progress changes and names the process");
	kill(r.pid, SIGSTOP);
	look(&out, &r, &at_home);
	ok(out.before.home >= 64 * MIB, "pages_look: a stopped process is read");
	rank_end(&r);
	ok(pages_look(&out, &at_home, rank_root, r.path, &err) < 0 && *err.text,
	   "pages_look: a cgroup that does not exist is an error: %s", err.text);
}

/* The target does not exist here: the kernel refuses each move_pages(2), and no page is lost. */
static void gains_nothing(void)
{
	struct pages_plan plan = { .where = elsewhere, .to = 1, .seconds = 60, .call = 16 * MIB };
	struct pages_result out;
	struct rank r = { .name = "" };

	rank_start(&r, "refused", 0, rank_fill, &mib);
	move(&out, &r, &plan);
	ok(out.end == PAGES_NO_GAIN && out.rounds == 1 && !out.moved,
	   "pages_move: a round without a moved page is the last: %s", pages_end_name(out.end));
	ok(out.calls >= 4 && out.calls <= 7 && progress.calls == out.calls,
	   "pages_move: 64 MiB are four to seven calls of at most 16 MiB, not %u", out.calls);
	ok(out.busy + out.shared >= 64 * MIB, "pages_move: all bytes that stay have a reason");
	plan.seconds = 0;
	move(&out, &r, &plan);
	ok(out.end == PAGES_TIME_USED && !out.calls, "pages_move: no call begins without time: %s",
	   pages_end_name(out.end));
	rank_end(&r);
}

#define TIB ((size_t)1 << 40)

static void map_sparse(void *arg)
{
	char *p = mmap(NULL, TIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)arg;
	if (p == MAP_FAILED || mprotect(p, TIB, PROT_READ | PROT_WRITE) < 0 ||
	    madvise(p, TIB, MADV_NOHUGEPAGE) < 0)
		_exit(1);
	p[0] = p[TIB / 2] = p[TIB - 1] = 1;
	mprotect(p, TIB, PROT_NONE);
}

static void sparse(void)
{
	struct pages_plan plan = { .where = elsewhere, .to = 1, .seconds = 60 };
	struct pages_result out;
	struct rank r = { .name = "" };
	long start;

	rank_start(&r, "sparse", 0, map_sparse, NULL);
	start = monotonic_ms();
	move(&out, &r, &plan);
	ok(monotonic_ms() - start < 1000, "pages_move: a TiB with three pages takes %ld ms",
	   monotonic_ms() - start);
	ok(out.rounds == 1 && out.before.elsewhere < 16 * MIB,
	   "pages_move: the pages of the sparse mapping were tried");
	rank_end(&r);
}

struct ranges {
	unsigned n;
	uint64_t bytes;
	int fd;
};

static void scan_mapping(const struct numa_mapping *m, const struct maps_extent *extent, void *arg)
{
	struct present_pages found[4];
	struct ranges *r = arg;
	uint64_t at = extent->start;
	int n;

	/* sanitizers make larger mappings */
	if (!extent->plain || extent->end - extent->start != TIB)
		return;
	ok(m->start == extent->start && extent->end == extent->start + TIB,
	   "process_memory_each: gives each mapping with its extent");
	while (at < extent->end &&
	       (n = process_memory_scan(found, 2, r->fd, &at, extent->end)) >= 0)
		for (int i = 0; i < n; i++) {
			r->n++;
			r->bytes += found[i].end - found[i].start;
		}
}

static void scans(void)
{
	struct process_memory p;
	struct ranges seen = { 0 };
	struct rank r = { .name = "" };

	rank_start(&r, "scanned", 0, map_sparse, NULL);
	ok(process_memory_open(&p, r.pid, rank_job) == 0 && process_memory_probe(&p) == 0,
	   "process_memory_open: opens a process in a cgroup below");
	seen.fd = process_memory_open_pages(&p);
	ok(process_memory_each(&p, scan_mapping, &seen) == 0 && seen.n == 3 &&
		   seen.bytes == 3 * (uint64_t)sysconf(_SC_PAGESIZE),
	   "process_memory_scan: finds the three present pages, two at a time");
	close(seen.fd);
	kill(r.pid, SIGKILL);
	waitpid(r.pid, NULL, 0);
	r.pid = 0;
	ok(process_memory_probe(&p) < 0,
	   "process_memory_probe: fails for a process that has ended");
	process_memory_close(&p);
	ok(process_memory_open(&p, getpid(), r.path) < 0,
	   "process_memory_open: refuses a process of another cgroup");
	rank_end(&r);
}

static void hide(void *arg)
{
	rank_fill(arg);
	prctl(PR_SET_DUMPABLE, 0);
}

/* A user's worker cannot read a process that the kernel hides. */
static void refuses(void)
{
	struct pages_result *out =
		mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rank r = { .name = "" };
	pid_t pid;

	rank_start(&r, "hidden", RANK_UID, hide, &mib);
	pid = fork();
	if (pid == 0)
		_exit(setresgid(RANK_UID, RANK_UID, RANK_UID) < 0 ||
		      setresuid(RANK_UID, RANK_UID, RANK_UID) < 0 ||
		      pages_look(out, &at_home, rank_root, r.path, NULL) < 0);
	waitpid(pid, NULL, 0);
	ok(out->refused == 1 && out->processes == 0 && out->before.home == 0,
	   "pages_look: a hidden process is refused");
	rank_end(&r);
}

int main(void)
{
	idset_parse(&at_home.home, "0", NULL);
	idset_parse(&at_home.container, "0-1", NULL);
	idset_parse(&elsewhere.home, "1", NULL);
	idset_parse(&elsewhere.container, "0-1", NULL);
	if (geteuid() != 0 || !rank_begin())
		skip_all("needs root and cgroup v2");
	if (access("/proc/self/numa_maps", R_OK) < 0)
		skip_all("needs a kernel with numa_maps");
	if (access("/sys/devices/system/node/node1", F_OK) == 0)
		skip_all("needs a machine with one memory node");
	counts();
	gains_nothing();
	sparse();
	scans();
	refuses();
	return tap_done();
}
