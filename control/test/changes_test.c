/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/monotonic.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "control/lock.h"

static char path[100], state[100];

static const char *read_changes(void)
{
	static char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? "none" : text;
}

static void test_counted(void)
{
	struct errbuf err = { 0 };
	struct stat st;

	is_int(changes_note(path, state, false, &err), 0,
	       "changes_note: succeeds on a node that never had a container: %s", err.text);
	is(read_changes(), "none",
	   "changes_note: makes no file on a node that never had a container");
	ok(mkdir(state, 0700) == 0 && changes_note(path, state, false, &err) == 0,
	   "changes_note: makes a missing file: %s", err.text);
	is(read_changes(), "0\n", "changes_note: a new file has 0");
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0644,
	   "changes_note: all users can read the file");
	ok(changes_note(path, state, true, &err) == 0 &&
		   changes_note(path, state, true, &err) == 0 &&
		   changes_note(path, state, false, &err) == 0,
	   "changes_note: notes two changes: %s", err.text);
	is(read_changes(), "2\n", "changes_note: after two changes the file has 2");
	for (int i = 0; i < 8; i++)
		changes_note(path, state, true, &err);
	is(read_changes(), "10\n", "changes_note: after ten changes the file has 10");
}

/* Every reader of the file can lock it, with flock() and with fcntl(). */
static void test_locked(void)
{
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct errbuf err = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ok(fd >= 0 && flock(fd, LOCK_EX) == 0 && fcntl(fd, F_OFD_SETLK, &all) == 0,
	   "a reader can lock the file");
	alarm(20);
	is_int(changes_note(path, state, true, &err), 0,
	       "changes_note: does not wait for a reader's lock: %s", err.text);
	alarm(0);
	is(read_changes(), "11\n", "changes_note: counts in spite of a reader's lock");
	close(fd);
}

static void test_turns(void)
{
	struct errbuf err = { 0 };
	int alice = lock_private(state, PRIVATE_LOCK_USER(1000), 0, &err),
	    bob = lock_private(state, PRIVATE_LOCK_USER(1001), 0, &err);
	long start = monotonic_ms();

	ok(alice >= 0 && bob >= 0, "lock_private: two users have separate locks: %s", err.text);
	ok(lock_private(state, PRIVATE_LOCK_USER(1000), 100, &err) == -1 && errno == EAGAIN,
	   "lock_private: fails for a second change of the same user");
	ok(monotonic_ms() - start >= 100, "lock_private: waits for the given time before it fails");
	close(alice);
	alice = lock_private(state, PRIVATE_LOCK_USER(1000), 0, &err);
	ok(alice >= 0, "lock_private: succeeds after the first change: %s", err.text);
	close(alice);
	close(bob);
	ok(PRIVATE_LOCK_USER((uid_t)-2) < PRIVATE_LOCK_CHANGES,
	   "lock_private: a user's lock is not the lock of the number of changes");
	chmod(state, 0755);
	ok(lock_private(state, PRIVATE_LOCK_CHANGES, 0, &err) == -1 &&
		   strstr(err.text, "must belong to"),
	   "lock_private: refuses a directory that is not private: %s", err.text);
	chmod(state, 0700);
}

int main(void)
{
	const char *dir = scratch_make();

	snprintf(path, sizeof(path), "%s/changes", dir);
	snprintf(state, sizeof(state), "%s/state", dir);
	test_counted();
	test_locked();
	test_turns();
	return tap_done();
}
