/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

#define JOURNAL_MAX 32768 /* bytes of a journal; a move adds at most eight lines */
#define JOURNAL_LONG 16384 /* bytes; a move that begins shortens a longer journal */
#define JOURNAL_KEEP 8192 /* bytes that stay of a shortened journal */

#define TO(state) (1u << MOVE_##state)
/* the first states of a move; they may follow the final states of an earlier move */
#define FIRST (TO(PREFLIGHT) | TO(OFFERED))

static const struct {
	const char *word;
	bool final;
	unsigned next;
} states[MOVE_STATES] = {
	[MOVE_IDLE] = { "idle", true, FIRST },
	[MOVE_PREFLIGHT] = { "preflight", false, TO(FREEZE) | TO(BACK) },
	[MOVE_FREEZE] = { "freeze", false, TO(DUMPED) | TO(BACK) | TO(LOST) },
	[MOVE_DUMPED] = { "dumped", false, TO(SENT) | TO(BACK) | TO(LOST) | TO(HANDED) },
	[MOVE_SENT] = { "sent", false, TO(HANDED) | TO(BACK) | TO(LOST) },
	[MOVE_HANDED] = { "handed", false, TO(DONE) | TO(BACK) | TO(LOST) },
	[MOVE_DONE] = { "done", true, FIRST },
	[MOVE_BACK] = { "back", true, FIRST },
	[MOVE_OFFERED] = { "offered", false, TO(RECEIVED) | TO(ABORTED) },
	[MOVE_RECEIVED] = { "received", false, TO(RESTORED) | TO(ABORTED) },
	[MOVE_RESTORED] = { "restored", false, TO(LIVE) | TO(RECEIVED) | TO(ABORTED) },
	[MOVE_LIVE] = { "live", true, FIRST | TO(RECEIVED) },
	[MOVE_ABORTED] = { "aborted", true, FIRST },
	[MOVE_LOST] = { "lost", true, FIRST },
};

const char *move_state_word(enum move_state state)
{
	return states[state].word;
}

enum move_state move_state_parse(const char *word)
{
	enum move_state s = 0;

	while (s < MOVE_STATES && strcmp(states[s].word, word) != 0)
		s++;
	return s;
}

bool move_state_final(enum move_state state)
{
	return states[state].final;
}

bool move_state_allows(enum move_state from, enum move_state to)
{
	return states[from].next >> to & 1;
}

int move_token_make(char token[MOVE_TOKEN_LEN + 1], struct errbuf *err)
{
	unsigned char byte[MOVE_TOKEN_LEN / 2];

	if (getrandom(byte, sizeof(byte), 0) != sizeof(byte))
		return errprintf(err, "no random numbers: %s", strerror(errno));
	for (unsigned i = 0; i < sizeof(byte); i++)
		snprintf(token + 2 * i, 3, "%02x", byte[i]);
	return 0;
}

bool move_token_valid(const char *token)
{
	return strspn(token, "0123456789abcdef") == MOVE_TOKEN_LEN && token[MOVE_TOKEN_LEN] == '\0';
}

/* Parse "STATE TOKEN PEER". Returns 0 or -1. */
static int parse_entry(struct move_entry *e, char *line)
{
	char *token = strchr(line, ' '), *peer = token ? strchr(token + 1, ' ') : NULL;

	if (!peer)
		return -1;
	*token++ = '\0';
	*peer++ = '\0';
	e->state = move_state_parse(line);
	if (e->state == MOVE_STATES || !move_token_valid(token) || strlen(peer) >= MOVE_HOST_MAX)
		return -1;
	strcpy(e->token, token);
	strcpy(e->peer, peer);
	return 0;
}

/*
 * Parse the lines of TEXT. Set *OUT to the last whole line or, if TOKEN is not NULL, to the last
 * whole line with TOKEN; without such a line *OUT is unchanged. *END is the length of the whole
 * lines in bytes. Returns 0, or -1: a line is not a transition.
 */
static int parse_lines(struct move_entry *out, char *text, const char *token, size_t *end)
{
	struct move_entry e;
	char *line = text, *stop;

	for (; (stop = strchr(line, '\n')); line = stop + 1) {
		*stop = '\0';
		if (parse_entry(&e, line) < 0)
			return -1;
		if (!token || strcmp(e.token, token) == 0)
			*out = e;
	}
	*end = (size_t)(line - text);
	return 0;
}

/*
 * Read the last entry of the open journal FD or, if TOKEN is not NULL, its last entry with TOKEN.
 */
static int read_open(struct move_entry *out, int fd, const char *token, size_t *end,
		     struct errbuf *err)
{
	char text[JOURNAL_MAX];
	struct stat st;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	if (fstat(fd, &st) < 0)
		return errprintf(err, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return errprintf(err, "not a regular file that only its owner can write");
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return errprintf(err, "%s", strerror(errno));
	text[n] = '\0';
	if (strlen(text) != (size_t)n || st.st_size > n || parse_lines(out, text, token, end) < 0)
		return errprintf(err, "damaged: one of its lines is not a transition");
	return 0;
}

static int read_entry_of(struct move_entry *out, int dir, const char *name, const char *token,
			 struct errbuf *err)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;
	size_t end;

	memset(out, 0, sizeof(*out));
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return errprintf(err, "%s: %s", name, strerror(errno));
	rc = read_open(out, fd, token, &end, err);
	close(fd);
	return rc < 0 ? errwrap(err, "%s", name) : 0;
}

int move_journal_read(struct move_entry *out, int dir, const char *name, struct errbuf *err)
{
	return read_entry_of(out, dir, name, NULL, err);
}

int move_journal_find(struct move_entry *out, int dir, const char *name, const char *token,
		      struct errbuf *err)
{
	return read_entry_of(out, dir, name, token, err);
}

/* Return whether STATE is the first one of a move, whose token is new. */
static bool begins_move(enum move_state state)
{
	return FIRST >> state & 1;
}

/* Check the transition E, whose FROM must be the state of LAST. */
static int check_transition(const struct move_entry *last, enum move_state from,
			    const struct move_entry *e, struct errbuf *err)
{
	bool same = strcmp(last->token, e->token) == 0, begins = begins_move(e->state);

	if (last->state != from || (!begins && !same))
		return errcode(err, (int)last->state, "the journal is at \"%s\"%s, not at \"%s\"",
			       states[last->state].word, same ? "" : " of another move",
			       states[from].word);
	if (begins && same)
		return errprintf(err, "token %s was used before", e->token);
	if (!move_state_allows(from, e->state))
		return errprintf(err, "a move cannot go from \"%s\" to \"%s\"", states[from].word,
				 states[e->state].word);
	if (!move_token_valid(e->token) || e->peer[0] == '\0' || strpbrk(e->peer, " \n"))
		return errprintf(err, "the transition has no valid token, or no valid host");
	return 0;
}

/* Append E at END; a part of a line that a crash left there is cut off first. */
static int append_entry(int fd, size_t end, const struct move_entry *e, struct errbuf *err)
{
	char line[MOVE_TOKEN_LEN + MOVE_HOST_MAX + 32];
	int n = snprintf(line, sizeof(line), "%s %s %s\n", states[e->state].word, e->token,
			 e->peer);

	if (ftruncate(fd, (off_t)end) < 0 || lseek(fd, (off_t)end, SEEK_SET) < 0 ||
	    write_all(fd, line, (size_t)n) < 0 || fsync(fd) < 0)
		return errprintf(err, "cannot be written: %s", strerror(errno));
	return 0;
}

/*
 * Replace the journal FD of END bytes: keep the whole lines in its last JOURNAL_KEEP bytes, and
 * append E.
 */
static int shorten_journal(int dir, const char *name, size_t end, const struct move_entry *e,
			   struct errbuf *err)
{
	char new_name[NAME_MAX + 1], text[JOURNAL_MAX], *keep;
	int fd, rc;

	if (snprintf(new_name, sizeof(new_name), "%s.new", name) >= (int)sizeof(new_name))
		return errprintf(err, "the name is too long");
	if (file_read(dir, name, text, sizeof(text), err) < 0)
		return -1;
	text[end] = '\0';
	keep = strchr(text + end - JOURNAL_KEEP, '\n') + 1;
	fd = openat(dir, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errprintf(err, "cannot be written: %s", strerror(errno));
	if (write_all(fd, keep, strlen(keep)) < 0)
		rc = errprintf(err, "cannot be written: %s", strerror(errno));
	else
		rc = append_entry(fd, strlen(keep), e, err);
	close(fd);
	if (rc == 0 && renameat(dir, new_name, dir, name) < 0)
		rc = errprintf(err, "cannot be replaced: %s", strerror(errno));
	if (rc < 0)
		unlinkat(dir, new_name, 0);
	return rc;
}

int move_journal_step(int dir, const char *name, enum move_state from, const struct move_entry *e,
		      struct errbuf *err)
{
	struct move_entry last;
	size_t end = 0;
	int rc = -1, fd;

	/* the directory is locked: shorten_journal() may replace the file */
	int lock = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock < 0 || flock(lock, LOCK_EX) < 0) {
		errprintf(err, "%s: cannot be locked: %s", name, strerror(errno));
		if (lock >= 0)
			close(lock);
		return -1;
	}
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0) {
		errprintf(err, "%s", strerror(errno));
	} else if (read_open(&last, fd, NULL, &end, err) == 0 &&
		   check_transition(&last, from, e, err) == 0) {
		rc = end > JOURNAL_LONG && begins_move(e->state)
			     ? shorten_journal(dir, name, end, e, err)
			     : append_entry(fd, end, e, err);
		if (rc == 0 && fsync(dir) < 0)
			rc = errprintf(err, "cannot be synced: %s", strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	close(lock);
	return rc < 0 ? errwrap(err, "%s", name) : 0;
}
