/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

static int journal_compare(const void *a, const void *b)
{
	const struct undo_line *x = a, *y = b;

	return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->name, y->name);
}

static int journal_keep(struct undo *u, enum undo_kind kind, const char *name, const char *text,
			struct errbuf *err)
{
	struct undo_line **more = reallocarray(u->line, u->n + 1u, sizeof(*more));
	struct undo_line *line = malloc(sizeof(*line)), **at;

	if (more)
		u->line = more;
	if (!more || !line) {
		free(line);
		return errprintf(err, "out of memory");
	}
	*line = (struct undo_line){ kind, strdup(name), strdup(text) };
	more[u->n++] = line;
	at = line->name && line->text ? tsearch(line, &u->tree, journal_compare) : NULL;
	if (!at)
		return errprintf(err, "out of memory");
	if (kind == UNDO_FIXED)
		*at = line;
	return 0;
}

/* Parse lines "K name<TAB>text". */
static int journal_parse(struct undo *u, char *text, struct errbuf *err)
{
	for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		char *tab = memchr(line, '\t', (size_t)(end - line));

		*end = '\0';
		if (!strchr("mtfdxc", line[0]) || line[1] != ' ' || !tab)
			return errprintf(
				err,
				"%s: \"%.100s\" is not a line of the journal: move the file away, "
				"or reboot; the state before provision is then unknown",
				u->file, line);
		*tab = '\0';
		if (journal_keep(u, (enum undo_kind)line[0], line + 2, tab + 1, err) < 0)
			return -1;
	}
	return 0;
}

static int journal_load(struct undo *u, enum undo_mode mode, struct errbuf *err)
{
	struct stat st;
	char *text, *last;
	size_t used = 0, whole;
	ssize_t n = 1;
	int rc;

	if (fstat(u->fd, &st) < 0)
		return errprintf(err, "%s: %s", u->file, strerror(errno));
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return errprintf(err, "out of memory");
	while (n > 0 && used < (size_t)st.st_size) {
		n = pread(u->fd, text + used, (size_t)st.st_size - used, (off_t)used);
		used += n > 0 ? (size_t)n : 0;
	}
	text[used] = '\0';
	/*
	 * a change is made after its complete line is written: the change of an incomplete last
	 * line was not made
	 */
	last = strrchr(text, '\n');
	whole = last ? (size_t)(last + 1 - text) : 0;
	text[whole] = '\0';
	rc = journal_parse(u, text, err);
	if (rc == 0 && mode != UNDO_READ && whole < used && ftruncate(u->fd, (off_t)whole) < 0)
		rc = errprintf(err, "%s: %s", u->file, strerror(errno));
	free(text);
	return rc;
}

int undo_open(struct undo *u, int dir, enum undo_mode mode, struct errbuf *err)
{
	return undo_open_file(u, dir, UNDO_FILE_NAME, mode, err);
}

int undo_open_file(struct undo *u, int dir, const char *file, enum undo_mode mode,
		   struct errbuf *err)
{
	int flags = mode == UNDO_READ ? O_RDONLY : O_RDWR | O_APPEND;

	memset(u, 0, sizeof(*u));
	u->dir = dir;
	u->file = file;
	u->fd = openat(dir, file,
		       flags | O_NOFOLLOW | O_CLOEXEC | (mode == UNDO_MAKE ? O_CREAT : 0), 0600);
	if (u->fd < 0 && errno == ENOENT && mode != UNDO_MAKE)
		return 1;
	if (u->fd < 0)
		return errprintf(err, "%s: %s", u->file, strerror(errno));
	if (journal_load(u, mode, err) < 0) {
		undo_close(u);
		return -1;
	}
	return 0;
}

void undo_close(struct undo *u)
{
	for (unsigned i = 0; i < u->n; i++) {
		if (u->line[i]->name)
			/* tdelete() needs only one entry of the same name */
			tdelete(u->line[i], &u->tree, journal_compare);
	}
	for (unsigned i = 0; i < u->n; i++) {
		free(u->line[i]->name);
		free(u->line[i]->text);
		free(u->line[i]);
	}
	free(u->line);
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
	u->line = NULL;
	u->n = 0;
}

const struct undo_line *undo_find(const struct undo *u, enum undo_kind kind, const char *name)
{
	struct undo_line key = { kind, (char *)name, NULL };
	struct undo_line **at = tfind(&key, &u->tree, journal_compare);

	return at ? *at : NULL;
}

int undo_note(struct undo *u, enum undo_kind kind, const char *name, const char *text,
	      struct errbuf *err)
{
	char *line = NULL;
	struct stat st;
	int len, rc = 0;
	const struct undo_line *known = undo_find(u, kind, name);

	if (known && (kind != UNDO_FIXED || strcmp(known->text, text) == 0))
		return 0;
	if (strpbrk(name, "\t\n") || strpbrk(text, "\t\n"))
		return errprintf(err, "\"%.100s\" cannot be a line of the journal", name);
	len = asprintf(&line, "%c %s\t%s\n", kind, name, text);
	if (len < 0)
		return errprintf(err, "out of memory");
	if (fstat(u->fd, &st) < 0) {
		free(line);
		return errprintf(err, "%s: %s", u->file, strerror(errno));
	}
	if (write_all(u->fd, line, (size_t)len) < 0) {
		rc = errprintf(err, "%s: %s", u->file, strerror(errno));
		/* an incomplete line would damage the next one */
		if (ftruncate(u->fd, st.st_size) < 0)
			errwrap(err, "the journal's last line is incomplete");
	}
	free(line);
	return rc < 0 ? -1 : journal_keep(u, kind, name, text, err);
}

int undo_remove(struct undo *u, struct errbuf *err)
{
	if (u->fd >= 0 && unlinkat(u->dir, u->file, 0) < 0)
		return errprintf(err, "%s: %s", u->file, strerror(errno));
	return 0;
}
