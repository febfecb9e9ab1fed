/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of a live tree: a child of this test with files of each kind, which this test has
 * opened. A second tree stands for the restored one.
 */
#include "inventory/scan.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "inventory/apply.h"

#define MAPPED 100 /* descriptors of the child */
#define REMOVED 101
#define EVENT 102

static char path[256], other[256];

static void child_main(int ready)
{
	int file = open(path, O_RDWR | O_CREAT, 0600);
	int removed = open(other, O_RDWR | O_CREAT, 0600), null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (file < 0 || removed < 0 || ftruncate(file, 8192) < 0 || unlink(other) < 0 ||
	    mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED)
		_exit(1);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(file, MAPPED);
	dup2(removed, REMOVED);
	dup2(eventfd(0, 0), EVENT);
	if (fork() == 0) /* a grandchild, with the same files */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t make_tree(void)
{
	char byte;
	int fd[2];
	pid_t child;

	if (pipe(fd) < 0)
		bail("pipe");
	child = fork();
	if (child == 0)
		child_main(fd[1]);
	close(fd[1]);
	if (read(fd[0], &byte, 1) != 1)
		bail("the child has no files");
	close(fd[0]);
	return child;
}

static const struct move_file *file_at(const struct move_record *r, int pid, enum move_what what,
				       uint64_t at)
{
	for (size_t i = 0; i < r->files; i++)
		if (r->file[i].pid == pid && r->file[i].what == what && r->file[i].at == at)
			return &r->file[i];
	return NULL;
}

static void scan(struct move_record *r, pid_t child)
{
	struct move_scan s = { .init = child };
	struct errbuf err = { 0 };

	if (move_scan_apart(r, &s, 20, &err) < 0)
		bail("%s", err.text);
	is_int(s.processes, 2, "scan: finds the child and the grandchild");
}

static void known_files(const struct move_record *r, pid_t child)
{
	const struct move_file *f = file_at(r, child, MOVE_FD, MAPPED);
	unsigned mappings = 0, threads = 0;
	struct stat st;

	if (stat(path, &st) < 0)
		bail("stat");
	ok(f && strcmp(f->path, path) == 0 && f->inode == st.st_ino && f->uid == st.st_uid &&
		   f->size == 8192 && f->mode == st.st_mode && !f->deleted,
	   "scan: records an open file");
	ok(f && (f->flags & O_ACCMODE) == O_RDWR,
	   "scan: records that a file is open for reading and writing");
	f = file_at(r, child, MOVE_FD, REMOVED);
	ok(f && f->deleted && strcmp(f->path, other) == 0, "scan: records a removed file");
	f = file_at(r, child, MOVE_FD, EVENT);
	ok(f && f->place == MOVE_NOWHERE && strcmp(f->path, "anon_inode:[eventfd]") == 0,
	   "scan: records an eventfd");
	f = file_at(r, child, MOVE_EXE, 0);
	ok(f && S_ISREG(f->mode) && strstr(f->path, "scan_test"), "scan: records the executable");
	for (size_t i = 0; i < r->files; i++)
		mappings += r->file[i].what == MOVE_MAP && r->file[i].pid == child &&
			    r->file[i].inode == st.st_ino && strcmp(r->file[i].path, path) == 0 &&
			    r->file[i].end - r->file[i].at == 8192;
	is_int(mappings, 1, "scan: records a mapped file");
	for (size_t i = 0; i < r->threads; i++)
		threads += r->thread[i].uid == getuid() && r->thread[i].policy == SCHED_OTHER &&
			   !idset_empty(&r->thread[i].cpus);
	is_int(threads, 2, "scan: records the threads");
}

/* Let the pids of R's entries be those of the tree TO, whose first process is FROM in R. */
static void renumber(struct move_record *r, int from, int to)
{
	for (size_t i = 0; i < r->files; i++)
		r->file[i].pid += to - from;
	move_record_sort(r);
}

/* A tree whose file was replaced meanwhile is not the same. */
static void replaced(void)
{
	struct move_record a, b;
	struct errbuf err = { 0 };
	pid_t first = make_tree(), second;

	scan(&a, first);
	known_files(&a, first);
	is_int(move_record_compare(&a, &a, &err), 0,
	       "compare: accepts a tree compared with itself %s", err.text);
	unlink(path);
	second = make_tree();
	scan(&b, second);
	for (size_t i = 0; i < a.files; i++)
		if (strcmp(a.file[i].path, path) == 0)
			a.file[i].place = MOVE_SHARED;
	for (size_t i = 0; i < b.files; i++)
		if (strcmp(b.file[i].path, path) == 0)
			b.file[i].place = MOVE_SHARED;
	renumber(&b, second, first);
	is_int(move_record_compare(&a, &b, &err), -1,
	       "compare: refuses another file with the same name: %s", err.text);
	ok(strstr(err.text, "another file"), "compare: reports another file");
	move_record_free(&a);
	move_record_free(&b);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
}

static void map(const char *cpus, const char *source, const char *dest, const char *want)
{
	struct idset a = set_of(cpus), b = set_of(source), c = set_of(dest);
	struct idset got = move_map_cpus(&a, &b, &c);

	is(list_of(&got), want, "move_map_cpus: CPUs %s of %s become CPUs %s of %s", cpus, source,
	   want, dest);
}

int main(void)
{
	struct move_record r;
	struct move_scan s = { .init = 0x3fffffff };
	struct errbuf err = { 0 };

	snprintf(path, sizeof(path), "%s/file", scratch_make());
	snprintf(other, sizeof(other), "%s/removed", scratch);
	replaced();
	is_int(move_scan_tree(&r, &s, &err), -1, "scan: refuses a process that does not exist: %s",
	       err.text);
	map("2", "0-3", "4-7", "6");
	map("0-3", "0-3", "4-7", "4-7");
	map("1,3", "0-3", "8,10,12,14", "10,14");
	map("3", "0-3", "4-5", "4-5"); /* here are fewer CPUs: the thread gets all of them */
	map("9", "0-3", "4-7", "4-7"); /* CPU 9 is not of the vnode */
	map("0", "0-3", "4-5", "4");
	return tap_done();
}
