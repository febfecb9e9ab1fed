/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test reservations with this host's kernel. Needs root, and NODEOS_HUGEPAGES=1, because the test
 * changes the host's pools of node 0 (by less than 100 pages of 2 MiB) and restores them.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/cgroup.h"
#include "hugepages/pool_journal.h"
#include "hugepages/reserve.h"

#define MIB (UINT64_C(1) << 20)

static const struct pool pool = { 0, RESERVE_2M };
static char state_dir[128];
static int root;

static int pages(void)
{
	struct pool_state s;
	struct errbuf err;

	return pool_read(&s, "", &pool, &err) == 0 ? (int)pool_persistent(&s) : -1;
}

static int free_pages(void)
{
	struct pool_state s;
	struct errbuf err;

	return pool_read(&s, "", &pool, &err) == 0 ? (int)s.free : -1;
}

static struct reserve_ask ask_of(const char *cgroup, const struct idset *mems)
{
	return (struct reserve_ask){
		.state_dir = state_dir,
		.cgroup_fd = root,
		.cgroup = cgroup,
		.step_inode = cgroup_inode(root, cgroup),
		.job_inode = 5,
		.mems = mems,
		.ranks = 2,
		.bytes = 16 * MIB,
		.page = RESERVE_2M,
		.owner = getpid(),
	};
}

/* Return whether an extent is zero at first, and a program can write and read all of it. */
static bool is_usable(int fd, uint64_t bytes)
{
	unsigned char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bool good = at != MAP_FAILED;

	for (uint64_t i = 0; good && i < bytes; i += 4096) {
		good = at[i] == 0;
		at[i] = 7;
	}
	if (at != MAP_FAILED)
		munmap(at, bytes);
	return good;
}

static bool has_ended(pid_t pid)
{
	char path[64], line[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 50; i++) {
		FILE *f = fopen(path, "r");
		bool zombie = f && fgets(line, sizeof(line), f) && strstr(line, ") Z");

		if (f)
			fclose(f);
		if (!f || zombie)
			return true;
		usleep(100000);
	}
	return false;
}

static void test_step(const struct idset *mems)
{
	const struct reserve_ask a = ask_of("job/a", mems), b = ask_of("job/b", mems);
	struct reserve_given ga, gb;
	struct errbuf err = { 0 };
	int before = pages(), before_free = free_pages(), fd[2];

	is_int(reserve_pages(&ga, &a, &err), 0, "reserve_pages: makes two extents: %s", err.text);
	is_int(pages() - before, 16, "reserve_pages: adds 16 pages for two extents of 16 MiB");
	is_int(free_pages() - before_free, 0, "reserve_pages: leaves none of the added pages free");
	ok(ga.page == RESERVE_2M && ga.bytes == 16 * MIB && ga.proof.runs >= 1 &&
		   ga.proof.runs <= 8 && ga.proof.shortest >= 1,
	   "reserve_pages: gives the numbers and sizes of contiguous parts");
	for (unsigned i = 0; i < 2; i++) {
		fd[i] = reserve_take(&ga, i, &err);
		ok(fd[i] >= 0 && fcntl(fd[i], F_GETFD) == 0,
		   "reserve_take: the descriptor stays open in execve(): %s", err.text);
		ok(is_usable(fd[i], 16 * MIB),
		   "reserve_take: an extent is zero and can be written");
		is_int(ftruncate(fd[i], (off_t)(18 * MIB)), -1,
		       "reserve_take: an extent cannot grow");
		is_int(ftruncate(fd[i], (off_t)(2 * MIB)), -1,
		       "reserve_take: an extent cannot shrink");
	}
	ok(has_ended(ga.holder), "reserve_take: the holder ends when all ranks have their extents");
	is_int(reserve_take(&ga, 0, &err), -1, "reserve_take: fails after the holder's end: %s",
	       err.text);
	errclear(&err);
	is_int(reserve_pages(&gb, &b, &err), 0, "reserve_pages: accepts a second step: %s",
	       err.text);
	is_int(pages() - before, 32, "reserve_pages: adds 16 pages for the second step");
	reserve_release(state_dir, root, a.step_inode);
	is_int(pages() - before, 16,
	       "reserve_release: removes the first step's pages, which are still in use");
	close(fd[0]);
	close(fd[1]);
	reserve_release(state_dir, root, b.job_inode); /* a step whose slurmstepd was killed */
	kill(gb.holder, SIGKILL);
	ok(has_ended(gb.holder), "the second step's holder is killed");
	is_int(pages(), before, "reserve_release: the pools are as before");
	is_int(free_pages(), before_free, "reserve_release: as many pages are free as before");
}

static void test_refused(const struct idset *mems)
{
	struct reserve_ask a = ask_of("job/a", mems);
	struct reserve_given g;
	struct errbuf err = { 0 };
	int before = pages();

	a.job_max = 31 * MIB;
	is_int(reserve_pages(&g, &a, &err), -1,
	       "reserve_pages: refuses more than the job's memory: %s", err.text);
	a.job_max = 32 * MIB;
	is_int(reserve_pages(&g, &a, &err), 0, "reserve_pages: accepts all of the job's memory");
	a.step_inode = cgroup_inode(root, "job/b");
	a.cgroup = "job/b";
	is_int(reserve_pages(&g, &a, &err), -1,
	       "reserve_pages: refuses a second step if the first has all of the job's memory: %s",
	       err.text);
	reserve_release(state_dir, root, cgroup_inode(root, "job/a"));
	kill(g.holder, SIGKILL);
	ok(has_ended(g.holder), "the step's holder is killed");
	a.job_max = 0;
	a.bytes = UINT64_C(256) << 30;
	a.ranks = 100;
	is_int(reserve_pages(&g, &a, &err), -1,
	       "reserve_pages: refuses more than the node's memory: %s", err.text);
	is_int(pages(), before, "reserve_pages: a refusal adds no pages");
}

/*
 * Extents without a given size have three quarters of 50 MiB, rounded down to pages, and are
 * refused if the job has too little memory left.
 */
static void test_shares(const struct idset *mems)
{
	struct reserve_ask a = ask_of("job/a", mems);
	struct reserve_given g;
	struct errbuf err = { 0 };
	int before = pages();

	a.bytes = 0;
	a.most = 100 * MIB;
	is_int(reserve_pages(&g, &a, &err), 0,
	       "reserve_pages: makes extents without a given size: %s", err.text);
	ok(g.bytes == 36 * MIB, "reserve_pages: each rank gets 36 of 37.5 MiB");
	is_int(pages() - before, 36, "reserve_pages: adds what the shares need");
	a.job_max = 100 * MIB;
	a.step_inode = cgroup_inode(root, "job/b");
	a.cgroup = "job/b";
	is_int(reserve_pages(&g, &a, &err), -1,
	       "reserve_pages: refuses extents if the job has 28 MiB left: %s", err.text);
	is_int(pages() - before, 36, "reserve_pages: a second step that is refused adds no pages");
	reserve_release(state_dir, root, cgroup_inode(root, "job/a"));
	kill(g.holder, SIGKILL);
	ok(has_ended(g.holder), "the step's holder is killed");
	reserve_release(state_dir, root, cgroup_inode(root, "job/a"));
	is_int(pages(), before, "reserve_release: the pools are as before");
}

/* Steps whose slurmstepd was killed, and a process that was killed while it changed a pool. */
static void test_killed(const struct idset *mems)
{
	struct reserve_ask a = ask_of("job/gone", mems);
	static struct pool_entry e = { .n = 1, .cgroup = "job/none", .step_inode = 1 };
	struct reserve_given g;
	struct errbuf err = { 0 };
	int before = pages(), journal;
	pid_t owner = fork();

	if (owner == 0) {
		pause();
		_exit(0);
	}
	a.owner = owner;
	is_int(reserve_pages(&g, &a, &err), 0,
	       "reserve_pages: accepts a step that is killed later: %s", err.text);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	ok(has_ended(g.holder), "the holder ends with slurmstepd");
	journal = pool_journal_open(state_dir, &err);
	e.part[0] = (struct pool_part){ pool, POOL_RAISING, (uint64_t)pages(), 9 };
	pool_journal_write(journal, &e, &err);
	close(journal);
	{
		struct pool_state s;
		uint64_t value;

		pool_read(&s, "", &pool, &err);
		pool_raise_value(&value, &s, 4); /* the process was killed after 4 of 9 pages */
		pool_write("", &pool, value, &err);
	}
	is_int(pages() - before, 20, "a killed process has added 4 of 9 pages");
	reserve_release(state_dir, root, a.step_inode);
	is_int(pages(), before, "reserve_release: removes the pages of both killed processes");
	/* slurmstepd was killed while its process added pages; the job may have ended before */
	is_int(reserve_pages(&g, &a, &err), -1, "reserve_pages: fails for an ended slurmstepd: %s",
	       err.text);
	is_int(pages(), before, "reserve_pages: and leaves no page that nothing would give back");
	is_int(pool_journal_read(&e, journal = pool_journal_open(state_dir, &err), a.step_inode,
				 &err),
	       0, "reserve_pages: nor an entry in the journal");
	close(journal);
}

int main(void)
{
	struct idset mems = set_of("0");
	struct errbuf err;
	char path[160];

	if (geteuid() != 0 || !getenv("NODEOS_HUGEPAGES"))
		skip_all("needs root, and NODEOS_HUGEPAGES=1");
	snprintf(state_dir, sizeof(state_dir), "%s/state", scratch_make());
	scratch_dir("cgroup/job/a");
	scratch_dir("cgroup/job/b");
	scratch_dir("cgroup/job/gone");
	/* the kernel's files that say that a cgroup has processes */
	scratch_file("cgroup/job/a/cgroup.events", "populated 1\nfrozen 0\n");
	scratch_file("cgroup/job/b/cgroup.events", "populated 1\nfrozen 0\n");
	scratch_file("cgroup/job/gone/cgroup.events", "populated 1\nfrozen 0\n");
	snprintf(path, sizeof(path), "%s/cgroup", scratch);
	root = cgroup_open_root(path, &err);
	test_step(&mems);
	test_refused(&mems);
	test_shares(&mems);
	test_killed(&mems);
	return tap_done();
}
