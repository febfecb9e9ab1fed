/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/storage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/monotonic.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"

static void write_file(int pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%d", pid);
	scratch_dir(path);
	snprintf(path, sizeof(path), "%d/%s", pid, file);
	scratch_file(path, text);
}

static void write_stat(int pid, unsigned start)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "%d (a) R 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 %u 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
		 "17 "
		 "0 0 0\n",
		 pid, start);
	write_file(pid, "stat", text);
}

/* Wait for the numbers of SLOT, for at most five seconds. */
static bool wait_for_numbers(struct storage *s, int slot, uint64_t *read, uint64_t *written)
{
	for (int i = 0; i < 500; i++) {
		storage_tend(s);
		if (storage_get(s, slot, read, written) == 0)
			return true;
		usleep(10000);
	}
	return false;
}

int main(void)
{
	uint64_t read = 0, written = 0;
	struct storage *s;
	struct errbuf err;
	int a, b, c, d, proc;
	char path[128];
	long began;

	scratch_make();
	proc = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (storage_open(&s, proc, 300, &err) < 0)
		bail("%s", err.text);
	write_stat(11, 5);
	write_file(11, "io",
		   "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\n"
		   "write_bytes: 8192\ncancelled_write_bytes: 9\n");
	write_stat(12, 6);
	write_file(12, "io",
		   "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 1\nwrite_bytes: 2\n");
	/* reading a named pipe without a writer hangs, as does reading a file whose lock is held */
	write_stat(13, 7);
	snprintf(path, sizeof(path), "%s/13/io", scratch);
	if (mkfifo(path, 0600) < 0)
		bail("mkfifo");
	write_stat(14, 8);
	write_file(14, "io", "rchar: 1\nread_bytes: 3\nwrite_bytes: 4\n");
	a = storage_add(s, 11, 5);
	b = storage_add(s, 12, 99);
	c = storage_add(s, 13, 7);
	d = storage_add(s, 14, 8);
	ok(storage_get(s, a, &read, &written) < 0, "storage_get: fails before the first read");
	began = monotonic_ms();
	storage_tend(s);
	ok(monotonic_ms() - began < 1000, "storage_tend: does not wait");
	ok(wait_for_numbers(s, a, &read, &written) && read == 4096 && written == 8192,
	   "storage_get: gives read_bytes and write_bytes, not rchar and wchar");
	ok(wait_for_numbers(s, d, &read, &written) && read == 3 && written == 4,
	   "storage_tend: reads other processes while one worker waits");
	ok(storage_get(s, b, &read, &written) < 0,
	   "storage_get: fails if another process has the pid now");
	ok(storage_get(s, c, &read, &written) < 0,
	   "storage_get: fails for a process for which a worker waits");
	storage_remove(s, c);
	is_int(storage_add(s, 14, 8), c, "storage_add: uses a free slot again");
	ok(storage_get(s, c, &read, &written) < 0,
	   "storage_add: a slot that is used again does not have the old numbers");
	storage_remove(s, a);
	began = monotonic_ms();
	storage_close(s);
	ok(monotonic_ms() - began < 1000 && waitpid(-1, NULL, WNOHANG) < 0,
	   "storage_close: leaves no child process");
	return tap_done();
}
