/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of a move that outlives its daemon. */
#include "migration/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static int dir;

static struct idset set(const char *list)
{
	struct idset s;

	idset_zero(&s);
	if (*list && idset_parse(&s, list, NULL) < 0)
		bail("%s", list);
	return s;
}

static bool same_place(const struct rebind_place *a, const struct rebind_place *b)
{
	bool same = strcmp(a->name, b->name) == 0 && idset_equal(&a->cpus, &b->cpus) &&
		    idset_equal(&a->next_cpus, &b->next_cpus) &&
		    idset_equal(&a->reserved, &b->reserved) &&
		    idset_equal(&a->next_reserved, &b->next_reserved) && a->n == b->n;

	for (unsigned i = 0; same && i < a->n; i++)
		same = a->rank[i].step_inode == b->rank[i].step_inode &&
		       strcmp(a->rank[i].task, b->rank[i].task) == 0 &&
		       idset_equal(&a->rank[i].now, &b->rank[i].now) &&
		       idset_equal(&a->rank[i].next, &b->rank[i].next);
	return same;
}

static void round_trip(void)
{
	struct rebind_rank rank[2] = {
		{ 5, "task_0", set("0"), set("4") },
		{ 18446744073709551615u, "task_4294967295", set("1-2,4095"), set("8") },
	};
	struct rebind_place place[2] = {
		{ "sim", set("0-3"), set("0-1,4-5"), set("0-3,8-11"), set("0-1,4-5,8-9"), 2, rank },
		{ "vda-0.1", set("4-7"), set("2-3,6-7"), set(""), set(""), 0, NULL },
	};
	const struct rebind r = {
		.job_inode = 18446744073709551614u, .own_inode = 9, .n = 2, .place = place
	};
	struct errbuf err = { 0 };
	struct rebind got;

	is_int(journal_read(&got, dir, &err), 0, "journal_read: without a file there is no move");
	is_int(journal_write(dir, &r, &err), 0, "journal_write: writes a move %s", err.text);
	is_int(journal_read(&got, dir, &err), 1, "journal_read: reads the written move %s",
	       err.text);
	ok(got.job_inode == r.job_inode && got.own_inode == 9 && got.n == 2 && got.again,
	   "journal_read: gives the job, and sets AGAIN");
	ok(got.n == 2 && same_place(&got.place[0], &place[0]) &&
		   same_place(&got.place[1], &place[1]),
	   "journal_read: gives containers and ranks, also ones without CPUs");
	rebind_free(&got);
	ok(got.n == 0 && !got.place, "rebind_free: no container is left");
	journal_remove(dir);
	is_int(journal_read(&got, dir, &err), 0,
	       "journal_remove: journal_read finds no move afterwards");
}

static void refused(void)
{
	static const char *const bad[] = {
		"",
		"nodeos-moving 2 1 2 0\n",
		"nodeos-moving 1 1 2\n",
		"nodeos-moving 1 1 2 65\n",
		"nodeos-moving 1 1 2 1\n",
		"nodeos-moving 1 1 2 1\nsim 1 0 1 0\n",
		"nodeos-moving 1 1 2 1\nsim 1 0 1 0 1\n",
		"nodeos-moving 1 1 2 1\nsim 1 0 1 0 1\n5 task_0 0\n",
		"nodeos-moving 1 1 2 1\nsim 1 0 1 0 1\n5 task_0 0 1 2\n",
		"nodeos-moving 1 1 2 1\nsim 1 0 1 0 1\n5 task_0 0 a\n",
		"nodeos-moving 1 1 2 1\nsim 70000 0 1 0 1\n",
		"nodeos-moving 1 1 2 1\nsim 1 0 1 0 1\n5 task_of_a_name_that_is_too_long 0 1\n",
	};
	struct errbuf err;
	struct rebind got;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_file("moving", bad[i]);
		is_int(journal_read(&got, dir, &err), -1, "journal_read: refuses text %zu", i);
		ok(got.n == 0 && !got.place, "journal_read: text %zu gives no container", i);
	}
	journal_remove(dir);
	if (symlinkat("/etc/passwd", dir, JOURNAL_FILE) < 0)
		bail("symlink");
	is_int(journal_read(&got, dir, &err), -1, "journal_read: refuses a symbolic link");
	journal_remove(dir);
	if (mkfifoat(dir, JOURNAL_FILE, 0600) < 0)
		bail("mkfifo");
	is_int(journal_read(&got, dir, &err), -1, "journal_read: refuses a pipe without waiting");
	is_int(errno, EBADMSG, "journal_read: reports a pipe as damaged");
	journal_remove(dir);
}

/* A daemon without free descriptors must not take a good journal for a damaged one. */
static void no_descriptor(void)
{
	struct rlimit old, none = { 3, 0 };
	struct errbuf err;
	struct rebind got;
	int rc, why;

	scratch_file("moving", "nodeos-moving 1 1 2 0\n");
	if (getrlimit(RLIMIT_NOFILE, &old) < 0)
		bail("getrlimit");
	none.rlim_max = old.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &none) < 0)
		bail("setrlimit");
	rc = journal_read(&got, dir, &err);
	why = errno;
	setrlimit(RLIMIT_NOFILE, &old);
	is_int(rc, -1, "journal_read: fails without a free descriptor");
	is_int(why, EMFILE, "journal_read: names the lack of descriptors, not a damaged file");
	is_int(journal_read(&got, dir, &err), 1, "journal_read: reads the journal later");
	rebind_free(&got);
	scratch_file("moving", "nodeos-moving 1 1 2 1\n");
	is_int(journal_read(&got, dir, &err), -1, "journal_read: refuses a shortened file");
	is_int(errno, EBADMSG, "journal_read: reports a shortened file as damaged");
}

int main(void)
{
	scratch_make();
	dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	round_trip();
	refused();
	no_descriptor();
	return tap_done();
}
