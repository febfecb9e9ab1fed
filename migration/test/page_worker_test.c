/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/page_worker.h"

#include "base/test/fixture.h"
#include "base/test/held.h"
#include "migration/test/rank.h"

#define SILENT_MS 1000
#define LIMIT_MS 20000 /* limit for operations of milliseconds on a busy host */

static size_t mib = 16;
static struct page_workers *w;
static const char *hold;

static struct page_request request_for(const struct rank *r, uint64_t step)
{
	struct page_request q = { .cgroup_fd = rank_root,
				  .step = step,
				  .uid = RANK_UID,
				  .gid = RANK_UID,
				  .plan = { .seconds = 60 },
				  .foreign_cpus = 6 };

	snprintf(q.cgroup, sizeof(q.cgroup), "%s", r->path);
	idset_parse(&q.plan.where.home, "0", NULL);
	idset_parse(&q.plan.where.container, "0-1", NULL);
	return q;
}

/* A move to node 1, which this host does not have: the kernel refuses the worker's calls. */
static struct page_request request_away(const struct rank *r, uint64_t step)
{
	struct page_request q = request_for(r, step);

	idset_parse(&q.plan.where.home, "1", NULL);
	q.plan.to = 1;
	q.plan.call = 1 << 20;
	return q;
}

static enum page_state await(struct page_outcome *out, struct errbuf *err)
{
	long end = monotonic_ms() + LIMIT_MS;
	enum page_state state;

	memset(out, 0x5a, sizeof(*out));
	while ((state = page_worker_check(w, out, err)) == PAGE_AT_WORK && monotonic_ms() < end)
		usleep(5000);
	return state;
}

static bool none_is_left(void)
{
	struct page_outcome out;
	long end = monotonic_ms() + LIMIT_MS;

	while (page_workers_abandoned(w) && monotonic_ms() < end) {
		page_worker_check(w, &out, NULL);
		usleep(5000);
	}
	return page_workers_abandoned(w) == 0;
}

static void works(void)
{
	struct page_request q;
	struct page_outcome out;
	struct errbuf err = { 0 };
	struct rank r = { .name = "" };

	rank_start(&r, "plain", RANK_UID, rank_fill, &mib);
	q = request_for(&r, 1);
	ok(page_worker_check(w, &out, &err) == PAGE_NONE,
	   "no worker is active before the first start");
	ok(page_worker_start(w, &q, &err) == PAGE_STARTED, "a worker starts: %s", err.text);
	ok(page_worker_start(w, &q, &err) == PAGE_BUSY && *err.text,
	   "a second worker is refused: %s", err.text);
	ok(await(&out, &err) == PAGE_DONE && out.result.end == PAGES_ENOUGH &&
		   out.result.before.home >= mib << 20 && out.result.processes == 1,
	   "a worker looks at the rank with the user's rights, and is done: %s", err.text);
	ok(out.step == 1 && strcmp(out.cgroup, r.path) == 0 && out.calls == 0 && out.drains == 0,
	   "an outcome names the rank of its worker");
	ok(page_worker_check(w, &out, &err) == PAGE_NONE, "an outcome is returned once");
	q = request_away(&r, 1);
	ok(page_worker_start(w, &q, &err) == PAGE_STARTED && await(&out, &err) == PAGE_DONE &&
		   out.result.end == PAGES_NO_GAIN && out.calls >= 16 &&
		   out.drains == 6 * (uint64_t)out.calls,
	   "each call counts as a drain of six CPUs");
	q.uid = 0;
	ok(page_worker_start(w, &q, &err) == PAGE_FAILED && *err.text,
	   "a worker with root's rights is refused: %s", err.text);
	q = request_for(&r, 1);
	q.plan.to = 1;
	ok(page_worker_start(w, &q, &err) == PAGE_FAILED && *err.text,
	   "a target that is not the rank's home is refused: %s", err.text);
	rank_end(&r);
	q = request_for(&r, 1);
	ok(page_worker_start(w, &q, &err) == PAGE_STARTED && await(&out, &err) == PAGE_DIED &&
		   *err.text,
	   "the worker of a rank that has ended reports that: %s", err.text);
	ok(!page_workers_silent(w, r.path) && none_is_left(),
	   "a rank that has ended is not marked");
}

/* Pid of the worker: the process of the cgroup that is not the rank. */
static void see_pid(pid_t pid, void *arg)
{
	pid_t *pids = arg; /* the rank, its worker */

	if (pid != pids[0])
		pids[1] = pid;
}

static pid_t worker_of(const struct rank *r)
{
	long end = monotonic_ms() + LIMIT_MS;
	pid_t pids[2] = { r->pid, 0 };

	while (!pids[1] && monotonic_ms() < end)
		cgroup_each_pid(rank_root, r->path, see_pid, pids, NULL);
	return pids[1];
}

static void start_away(const struct rank *r, uint64_t step)
{
	struct page_request q = request_away(r, step);
	struct errbuf err = { 0 };

	ok(page_worker_start(w, &q, &err) == PAGE_STARTED, "a worker for %s: %s", r->name,
	   err.text);
}

/* Freeze ("1") or thaw ("0") the rank's cgroup. A worker that moves itself into it stops there. */
static void set_frozen(const struct rank *r, const char *frozen)
{
	char file[256];
	int fd;

	snprintf(file, sizeof(file), "%s/cgroup.freeze", r->path);
	fd = openat(rank_root, file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, frozen, 1) != 1)
		bail("%s", file);
	close(fd);
}

static void dies(void)
{
	struct page_outcome out;
	struct errbuf err = { 0 };
	struct rank r = { .name = "" };
	pid_t pid;

	rank_start(&r, "victim", RANK_UID, rank_fill, &mib);
	set_frozen(&r, "1");
	start_away(&r, 2);
	pid = worker_of(&r);
	ok(pid > 0 && page_worker_check(w, &out, &err) == PAGE_AT_WORK, "a worker is at work");
	ok(kill(pid, SIGKILL) == 0 && await(&out, &err) == PAGE_DIED && *err.text,
	   "a worker that its user kills has died: %s", err.text);
	start_away(&r, 2);
	ok(await(&out, &err) == PAGE_DIED && strstr(err.text, "suspended"),
	   "a worker that is suspended with its rank is given up: %s", err.text);
	ok(!page_workers_silent(w, r.path) && none_is_left(),
	   "the rank of a suspended worker is not marked");
	start_away(&r, 2);
	page_workers_forget(w, 3);
	ok(page_worker_check(w, &out, &err) == PAGE_AT_WORK,
	   "the end of another step does not end the worker");
	page_workers_forget(w, 2);
	ok(page_worker_check(w, &out, &err) == PAGE_NONE && none_is_left(),
	   "the end of a step ends the worker of its rank");
	start_away(&r, 2);
	ok(page_worker_stop(w, &out) && out.step == 2 && !page_worker_stop(w, &out) &&
		   page_worker_check(w, &out, &err) == PAGE_NONE && none_is_left(),
	   "page_worker_stop: gives the only outcome of a worker");
	set_frozen(&r, "0");
	start_away(&r, 2);
	pid = worker_of(&r);
	if (pid > 0 && kill(pid, SIGSTOP) == 0)
		ok(await(&out, &err) == PAGE_DIED && !page_workers_silent(w, r.path),
		   "a worker that its user stops is given up, and its rank is not marked");
	else
		ok(await(&out, &err) == PAGE_DONE, "a worker was done before it was stopped");
	rank_end(&r);
}

/* With a limit of 0 ms, each worker counts as silent. */
static void is_silent(void)
{
	enum page_state state = PAGE_NONE;
	struct page_request q;
	struct page_outcome out;
	struct errbuf err = { 0 };
	struct rank r = { .name = "" }, next = { .name = "" };

	rank_start(&r, "silent", RANK_UID, rank_fill, &mib);
	rank_start(&next, "next", RANK_UID, rank_fill, &mib);
	page_workers_set_silence(w, 0);
	/* a worker may be done before the first check */
	for (int i = 0; i < 100 && !page_workers_silent(w, r.path); i++) {
		start_away(&r, 4);
		state = await(&out, &err);
	}
	ok(state == PAGE_ABANDONED && *err.text, "a silent worker is abandoned: %s", err.text);
	ok(none_is_left() && !page_workers_held(w, RANK_UID), "the abandoned worker has ended");
	page_workers_set_silence(w, SILENT_MS);
	q = request_for(&r, 4);
	ok(page_workers_silent(w, r.path) && page_worker_start(w, &q, &err) == PAGE_SILENT &&
		   *err.text,
	   "a rank whose worker was silent is not tried again: %s", err.text);
	q = request_for(&next, 5);
	ok(page_worker_start(w, &q, &err) == PAGE_STARTED && await(&out, &err) == PAGE_DONE,
	   "another rank's worker starts and is done: %s", err.text);
	page_workers_forget(w, 5);
	ok(page_workers_silent(w, r.path),
	   "the end of another step does not remove the mark of a rank");
	page_workers_forget(w, 4);
	q = request_for(&r, 6);
	ok(!page_workers_silent(w, r.path) && page_worker_start(w, &q, &err) == PAGE_STARTED &&
		   await(&out, &err) == PAGE_DONE,
	   "the end of a step removes the mark of its rank: %s", err.text);
	rank_end(&r);
	rank_end(&next);
}

struct holding {
	struct held held;
	const char *why;
};

static void begin_to_hold(void *arg)
{
	struct holding *h = arg;

	h->why = held_begin(&h->held, hold);
}

/* A rank whose address space the kernel cannot lock. */
static void is_held(void)
{
	struct holding *h =
		mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct page_outcome out;
	struct errbuf err = { 0 };
	struct rank r = { .name = "" };
	long start;

	rank_start(&r, "holder", RANK_UID, begin_to_hold, h);
	if (h->why) {
		skip(6, "%s", h->why);
		rank_end(&r);
		return;
	}
	start_away(&r, 7);
	start = monotonic_ms();
	ok(await(&out, &err) == PAGE_ABANDONED,
	   "a worker that waits for a held address space is abandoned: %s", err.text);
	ok(monotonic_ms() - start >= SILENT_MS,
	   "a worker that waits is not abandoned before the limit");
	ok(out.calls == 0 && out.drains == 0, "the abandoned worker began no call");
	ok(out.silent == h->held.holder || out.silent == h->held.pid,
	   "the outcome of an abandoned worker names the process that it waited for");
	ok(page_workers_silent(w, r.path) && none_is_left(),
	   "a rank whose address space is held is marked, and its worker ends");
	rank_end(&r);
}

int main(int argc, char **argv)
{
	char program[HELD_PATH_MAX];

	(void)argc;
	held_program(program, argv[0]);
	hold = program;
	if (geteuid() != 0 || !rank_begin())
		skip_all("needs root and cgroup v2");
	if (access("/proc/self/numa_maps", R_OK) < 0)
		skip_all("needs a kernel with numa_maps");
	if (access("/sys/devices/system/node/node1", F_OK) == 0)
		skip_all("needs a machine with one memory node");
	w = page_workers_new();
	page_workers_set_silence(w, SILENT_MS);
	works();
	dies();
	is_silent();
	is_held();
	page_workers_free(w);
	return tap_done();
}
