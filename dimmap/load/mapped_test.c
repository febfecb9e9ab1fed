/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/mapped.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "dimmap/load/team.h"

static char path[256];
static struct errbuf err;

static void test_opening(void)
{
	struct mapped m;
	char head[8];

	if (truncate(path, 8192) < 0)
		bail("%s cannot be made longer", path);
	ok(mapped_open(&m, path, 0, MAPPED_RANDOM, &err) == 0 && m.size == 8192 &&
		   m.data[8191] == 0,
	   "mapped_open: size 0 maps the whole file");
	mapped_close(&m, &err);
	ok(mapped_open(&m, path, 4096, 0, &err) == 0 && m.size == 4096,
	   "mapped_open: maps the first part of a file");
	mapped_close(&m, &err);
	ok(mapped_open(&m, path, 8193, 0, &err) < 0 &&
		   strstr(err.text, "is 8192 bytes long, expected 8193"),
	   "mapped_open: refuses more bytes than the file has: %s", err.text);
	ok(mapped_open(&m, "/", 0, 0, &err) < 0 &&
		   strstr(err.text, "neither a regular file nor a block device"),
	   "mapped_open: refuses a directory: %s", err.text);
	ok(mapped_open(&m, "/nonexistent/x", 0, 0, &err) < 0 && strstr(err.text, "No such file"),
	   "mapped_open: refuses a missing file: %s", err.text);
	is_int(file_head(path, head, sizeof(head), &err), 8,
	       "file_head: reads the first bytes of a file");
	ok(file_head("/", head, sizeof(head), &err) < 0 && strstr(err.text, "Is a directory"),
	   "file_head: refuses a directory: %s", err.text);
}

static void test_making(void)
{
	struct mapped m;

	if (mapped_create(&m, path, 12288, &err) < 0)
		bail("%s", err.text);
	ok(m.size == 12288 && m.data[12287] == 0, "mapped_create: extends a file");
	m.data[12287] = 5;
	is_int(mapped_close(&m, &err), 0, "mapped_close: succeeds after a write");
	ok(mapped_open(&m, path, 0, 0, &err) == 0 && m.size == 12288 && m.data[12287] == 5,
	   "mapped_open: finds the byte that was written");
	mapped_close(&m, &err);
	ok(mapped_create(&m, path, 4096, &err) == 0 && m.size == 4096,
	   "mapped_create: shortens a file");
	mapped_close(&m, &err);
	ok(mapped_open(&m, path, 4097, 0, &err) < 0,
	   "mapped_create: the shortened file has no bytes after its new end");
	ok(mapped_create(&m, path, UINT64_C(1) << 62, &err) < 0 && strstr(err.text, path),
	   "mapped_create: refuses a size for which the disk has no room: %s", err.text);
	ok(mapped_create(&m, "/", 4096, &err) < 0 && strstr(err.text, "Is a directory"),
	   "mapped_create: refuses a directory: %s", err.text);
}

/*
 * Return the standard error of a child whose mapped page is truncated. CODE gets its exit status.
 */
static const char *said(int *code)
{
	static char text[1024];
	int ends[2];
	ssize_t n, used = 0;

	if (pipe(ends) < 0)
		bail("no pipe");
	if (fork() == 0) {
		struct mapped m;

		dup2(ends[1], STDERR_FILENO);
		if (mapped_open(&m, path, 0, 0, &err) < 0 || truncate(path, 4096) < 0)
			_exit(9);
		_exit(m.data[5000] == 0 ? 7 : 8);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + used, sizeof(text) - 1 - (size_t)used)) > 0)
		used += n;
	text[used] = '\0';
	close(ends[0]);
	wait(code);
	return text;
}

static void test_failing(void)
{
	char want[512];
	int code;

	snprintf(want, sizeof(want), "%s: byte 5000 could not be read or written (SIGBUS)\n", path);
	is(said(&code), want, "mapped: an unreadable page is reported on standard error");
	ok(WIFEXITED(code) && WEXITSTATUS(code) == 1,
	   "mapped: an unreadable page ends the program with status 1");
}

static _Atomic unsigned worked;

static void work(void *arg, unsigned thread)
{
	volatile char *memory = arg;

	atomic_fetch_add(&worked, 1u << thread);
	for (unsigned i = 0; i < 64; i++)
		memory[(64 * thread + i) * 4096] = 1;
}

static void test_teams(void)
{
	char *memory = aligned_alloc(4096, 4 * 64 * 4096);
	struct counts sum = { 0 };

	is_int(team_run(4, work, memory, true, &sum, &err), 0, "team_run: four threads run");
	is_int(worked, 15, "team_run: each thread works once");
	/* new memory: a fault for each page, or fewer if the kernel uses large pages */
	ok(sum.minflt >= 1 && sum.minflt <= 1000 && sum.majflt == 0,
	   "team_run: the threads' page faults are counted: %ld", sum.minflt);
	free(memory);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/mapped_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		bail("%s cannot be made", path);
	close(fd);
	test_opening();
	test_failing();
	test_making();
	test_teams();
	unlink(path);
	return tap_done();
}
