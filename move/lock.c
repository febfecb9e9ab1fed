/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "move/gate.h"

const char *move_journal_name(char buf[GATE_FILE_MAX], const char *name)
{
	snprintf(buf, GATE_FILE_MAX, "%s.move", name);
	return buf;
}

static int open_lock(int dir, const char *name, const char *suffix)
{
	char file[GATE_FILE_MAX];

	snprintf(file, sizeof(file), "%s.%s", name, suffix);
	return openat(dir, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* Returns the descriptor of the lock, or -1. BUSY is the reason if another process has the lock. */
static int take_move_lock(int dir, const char *name, const char *suffix, const char *busy,
			  struct errbuf *err)
{
	int fd = open_lock(dir, name, suffix);

	if (fd < 0)
		return errprintf(err, "%s: lock: %s", name, strerror(errno));
	/* try again: a gate takes the lock for a moment to see whether it is held */
	for (unsigned i = 0; i < 20; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		usleep(20000);
	}
	close(fd);
	return errcode(err, 1, "%s: %s", name, busy);
}

static bool is_locked(int dir, const char *name, const char *suffix)
{
	int fd = open_lock(dir, name, suffix);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

int move_lock_take(int dir, const char *name, struct errbuf *err)
{
	return take_move_lock(dir, name, "lock",
			      "another move of this vnode is under way on this host", err);
}

bool move_lock_held(int dir, const char *name)
{
	return is_locked(dir, name, "lock");
}

int move_criu_lock_take(int dir, const char *name, struct errbuf *err)
{
	return take_move_lock(dir, name, "criu", "CRIU still works on this vnode", err);
}

bool move_criu_lock_held(int dir, const char *name)
{
	return is_locked(dir, name, "criu");
}
