/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

#define MAGIC "nodeos-moving 1"
#define LINE_MAX_BYTES (5 * IDSET_LIST_MAX)
#define PLACES_MAX 64u
#define RANKS_MAX 65536u

static void journal_put_sets(FILE *f, const struct idset *const set[], unsigned n)
{
	static char list[IDSET_LIST_MAX];

	for (unsigned i = 0; i < n; i++) {
		idset_format(set[i], list, sizeof(list));
		fprintf(f, " %s", *list ? list : "-");
	}
	fputc('\n', f);
}

int journal_write(int dir_fd, const struct rebind *r, struct errbuf *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc = -1;

	if (!f)
		return errprintf(err, "out of memory");
	fprintf(f, MAGIC " %" PRIu64 " %" PRIu64 " %u\n", r->job_inode, r->own_inode, r->n);
	for (unsigned i = 0; i < r->n; i++) {
		const struct rebind_place *p = &r->place[i];

		fprintf(f, "%s %u", p->name, p->n);
		journal_put_sets(f,
				 (const struct idset *[]){ &p->cpus, &p->next_cpus, &p->reserved,
							   &p->next_reserved },
				 4);
		for (unsigned k = 0; k < p->n; k++) {
			fprintf(f, "%" PRIu64 " %s", p->rank[k].step_inode, p->rank[k].task);
			journal_put_sets(
				f, (const struct idset *[]){ &p->rank[k].now, &p->rank[k].next },
				2);
		}
	}
	if (ferror(f) | fclose(f))
		errprintf(err, "out of memory");
	else
		rc = file_replace(dir_fd, JOURNAL_FILE, text, 0600, err);
	free(text);
	return rc;
}

void journal_remove(int dir_fd)
{
	unlinkat(dir_fd, JOURNAL_FILE, 0);
}

/* Parse N sets from the rest of a line. Returns 0, or -1. */
static int journal_take_sets(char *line, struct idset *const set[], unsigned n)
{
	struct errbuf ignored;
	char *save = NULL;

	for (unsigned i = 0; i < n; i++) {
		const char *word = strtok_r(i ? NULL : line, " \n", &save);

		if (!word)
			return -1;
		idset_zero(set[i]);
		if (strcmp(word, "-") != 0 && idset_parse(set[i], word, &ignored) < 0)
			return -1;
	}
	return strtok_r(NULL, " \n", &save) ? -1 : 0;
}

/* Read the N ranks of P. Returns 0, or -1. */
static int journal_take_ranks(struct rebind_place *p, FILE *f, char *line, unsigned n)
{
	int used;

	p->rank = calloc(n + 1u, sizeof(*p->rank));
	if (!p->rank)
		return -1;
	for (; p->n < n; p->n++) {
		struct rebind_rank *r = &p->rank[p->n];

		used = 0;
		if (!fgets(line, LINE_MAX_BYTES, f) ||
		    sscanf(line, "%" SCNu64 " %23s%n", &r->step_inode, r->task, &used) != 2 ||
		    journal_take_sets(line + used, (struct idset *[]){ &r->now, &r->next }, 2) < 0)
			return -1;
	}
	return 0;
}

static int journal_take(struct rebind *out, FILE *f, char *line)
{
	unsigned places, ranks;
	int used;

	_Static_assert(LEDGER_TASK_MAX == 24 && REQUEST_NAME_MAX == 64, "the widths of %s below");
	if (!fgets(line, LINE_MAX_BYTES, f) ||
	    sscanf(line, MAGIC " %" SCNu64 " %" SCNu64 " %u", &out->job_inode, &out->own_inode,
		   &places) != 3 ||
	    places > PLACES_MAX)
		return -1;
	out->place = calloc(places + 1u, sizeof(*out->place));
	if (!out->place)
		return -1;
	while (out->n < places) {
		struct rebind_place *p = &out->place[out->n++];

		used = 0;
		if (!fgets(line, LINE_MAX_BYTES, f) ||
		    sscanf(line, "%63s %u%n", p->name, &ranks, &used) != 2 || ranks > RANKS_MAX ||
		    journal_take_sets(line + used,
				      (struct idset *[]){ &p->cpus, &p->next_cpus, &p->reserved,
							  &p->next_reserved },
				      4) < 0 ||
		    journal_take_ranks(p, f, line, ranks) < 0)
			return -1;
	}
	return 0;
}

/*
 * Open the file for reading. Returns NULL with errno: EBADMSG if the file is not a regular file of
 * this user alone.
 */
static FILE *journal_open(int dir_fd, struct errbuf *err)
{
	int fd = openat(dir_fd, JOURNAL_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	FILE *f = NULL;
	int why = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))) {
		errprintf(err, JOURNAL_FILE ": not a regular file that only user %u can write",
			  (unsigned)geteuid());
		why = EBADMSG;
	} else if (fd < 0 || !(f = fdopen(fd, "r"))) {
		why = errno == ELOOP ? EBADMSG : errno;
		errprintf(err, JOURNAL_FILE ": %s", strerror(errno));
	}
	if (!f && fd >= 0)
		close(fd);
	errno = why;
	return f;
}

int journal_read(struct rebind *out, int dir_fd, struct errbuf *err)
{
	char *line;
	FILE *f;
	int why = 0, rc = 1;

	memset(out, 0, sizeof(*out));
	if (faccessat(dir_fd, JOURNAL_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	f = journal_open(dir_fd, err);
	if (!f)
		return -1;
	line = malloc(LINE_MAX_BYTES);
	errno = 0;
	if (!line || journal_take(out, f, line) < 0) {
		why = line && errno != ENOMEM ? EBADMSG : ENOMEM;
		rebind_free(out);
		rc = errprintf(err, JOURNAL_FILE ": %s", why == ENOMEM ? strerror(why) : "damaged");
	}
	out->again = true;
	free(line);
	fclose(f);
	errno = why;
	return rc;
}
