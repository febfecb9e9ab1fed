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

static void opening(void)
{
	struct mapped m;
	char head[8];

	if (truncate(path, 8192) < 0)
		bail("%s cannot be made longer", path);
	ok(mapped_open(&m, path, 0, MAPPED_RANDOM, &err) == 0 && m.size == 8192 &&
		   m.data[8191] == 0,
	   "all of a file");
	mapped_close(&m, &err);
	ok(mapped_open(&m, path, 4096, 0, &err) == 0 && m.size == 4096, "its first part");
	mapped_close(&m, &err);
	ok(mapped_open(&m, path, 8193, 0, &err) < 0 &&
		   strstr(err.text, "has 8192 bytes, 8193 belong to it"),
	   "no more than there is: %s", err.text);
	ok(mapped_open(&m, "/", 0, 0, &err) < 0 &&
		   strstr(err.text, "neither a regular file nor a block device"),
	   "a directory: %s", err.text);
	ok(mapped_open(&m, "/nonexistent/x", 0, 0, &err) < 0 && strstr(err.text, "No such file"),
	   "nothing: %s", err.text);
	is_int(file_head(path, head, sizeof(head), &err), 8, "its head");
	ok(file_head("/", head, sizeof(head), &err) < 0 && strstr(err.text, "Is a directory"),
	   "which a directory has not: %s", err.text);
}

static void making(void)
{
	struct mapped m;

	if (mapped_create(&m, path, 12288, &err) < 0)
		bail("%s", err.text);
	ok(m.size == 12288 && m.data[12287] == 0, "a file is made longer");
	m.data[12287] = 5;
	is_int(mapped_close(&m, &err), 0, "what was written reaches the disk");
	ok(mapped_open(&m, path, 0, 0, &err) == 0 && m.size == 12288 && m.data[12287] == 5,
	   "it is there when the file is mapped again");
	mapped_close(&m, &err);
	ok(mapped_create(&m, path, 4096, &err) == 0 && m.size == 4096, "a file is made shorter");
	mapped_close(&m, &err);
	ok(mapped_open(&m, path, 4097, 0, &err) < 0, "nothing is behind its new end");
	ok(mapped_create(&m, path, UINT64_C(1) << 62, &err) < 0 && strstr(err.text, path),
	   "a size for which there is no room is refused: %s", err.text);
	ok(mapped_create(&m, "/", 4096, &err) < 0 && strstr(err.text, "Is a directory"),
	   "a directory is refused: %s", err.text);
}

/* What a child says on its standard error when a page goes away below it; its exit status to CODE.
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

static void failing(void)
{
	char want[512];
	int code;

	snprintf(want, sizeof(want), "%s: byte 5000 could not be read or written (SIGBUS)\n", path);
	is(said(&code), want, "a page that cannot be read is said");
	ok(WIFEXITED(code) && WEXITSTATUS(code) == 1, "and ends the program as other errors do");
}

static _Atomic unsigned worked;

static void work(void *arg, unsigned thread)
{
	volatile char *memory = arg;

	atomic_fetch_add(&worked, 1u << thread);
	for (unsigned i = 0; i < 64; i++)
		memory[(64 * thread + i) * 4096] = 1;
}

static void teams(void)
{
	char *memory = aligned_alloc(4096, 4 * 64 * 4096);
	struct counts sum = { 0 };

	is_int(team_run(4, work, memory, true, &sum, &err), 0, "four threads");
	is_int(worked, 15, "each works once");
	/* fresh memory: a fault for each page, but where the kernel gives larger ones */
	ok(sum.minflt >= 1 && sum.minflt <= 1000 && sum.majflt == 0,
	   "their page faults are counted: %ld", sum.minflt);
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
	opening();
	failing();
	making();
	teams();
	unlink(path);
	return tap_done();
}
