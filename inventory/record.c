/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inventory/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "nodeos-move-record 1\n"
#define TEXT_MAX 4352 /* bytes of a path or a word, with the final NUL */
#define FIELDS_MAX 16 /* words of a line */

void move_record_free(struct move_record *r)
{
	for (size_t i = 0; i < r->files; i++) {
		free(r->file[i].path);
		free(r->file[i].mount);
	}
	for (size_t i = 0; i < r->policies; i++)
		free(r->policy[i].word);
	free(r->file);
	free(r->thread);
	free(r->policy);
	memset(r, 0, sizeof(*r));
}

/* Make room for one more of N elements of SIZE bytes in *ARRAY, which grows by powers of two. */
static int grow_array(void **array, size_t n, size_t size, struct errbuf *err)
{
	void *more;

	if (n >= MOVE_ENTRIES_MAX)
		return errprintf(err, "the vnode has more than %u open files or threads",
				 MOVE_ENTRIES_MAX);
	if (n & (n - 1) || (n && n < 16))
		return 0;
	more = realloc(*array, (n < 16 ? 16 : 2 * n) * size);
	if (!more)
		return errprintf(err, "%s", strerror(errno));
	*array = more;
	return 0;
}

int move_record_add_file(struct move_record *r, const struct move_file *f, struct errbuf *err)
{
	struct move_file copy = *f;

	if (grow_array((void **)&r->file, r->files, sizeof(*r->file), err) < 0)
		return -1;
	copy.path = strdup(f->path);
	copy.mount = strdup(f->mount);
	if (!copy.path || !copy.mount) {
		free(copy.path);
		free(copy.mount);
		return errprintf(err, "%s", strerror(ENOMEM));
	}
	r->file[r->files++] = copy;
	return 0;
}

int move_record_add_thread(struct move_record *r, const struct move_thread *t, struct errbuf *err)
{
	if (grow_array((void **)&r->thread, r->threads, sizeof(*r->thread), err) < 0)
		return -1;
	r->thread[r->threads++] = *t;
	return 0;
}

int move_record_add_policy(struct move_record *r, const struct move_mempolicy *p,
			   struct errbuf *err)
{
	struct move_mempolicy copy = *p;

	if (grow_array((void **)&r->policy, r->policies, sizeof(*r->policy), err) < 0)
		return -1;
	copy.word = strdup(p->word);
	if (!copy.word)
		return errprintf(err, "%s", strerror(ENOMEM));
	r->policy[r->policies++] = copy;
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	const struct move_file *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int compare_threads(const void *a, const void *b)
{
	const struct move_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void move_record_sort(struct move_record *r)
{
	if (r->files)
		qsort(r->file, r->files, sizeof(*r->file), compare_files);
	if (r->threads)
		qsort(r->thread, r->threads, sizeof(*r->thread), compare_threads);
}

/* Write TEXT with blanks, control characters and backslashes as \ooo; "-" for an empty text. */
static void print_text(FILE *f, const char *text)
{
	if (!*text)
		fputs(" -", f);
	else
		fputc(' ', f);
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == '\\' || *text == 127 || *text == '-')
			fprintf(f, "\\%03o", (unsigned char)*text);
		else
			fputc(*text, f);
}

int move_record_print(const struct move_record *r, char **text, size_t *len, struct errbuf *err)
{
	FILE *f = open_memstream(text, len);
	char cpus[IDSET_LIST_MAX];

	if (!f)
		return errprintf(err, "%s", strerror(errno));
	fputs(FIRST_LINE, f);
	for (size_t i = 0; i < r->files; i++) {
		const struct move_file *e = &r->file[i];

		fprintf(f,
			"file %u %u %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %u %u %u %u",
			e->what, e->place, e->pid, e->at, e->end, e->inode, e->size, e->device,
			e->mode, e->flags, e->uid, e->deleted);
		print_text(f, e->path);
		print_text(f, e->mount);
		fputc('\n', f);
	}
	for (size_t i = 0; i < r->threads; i++) {
		const struct move_thread *t = &r->thread[i];

		idset_format(&t->cpus, cpus, sizeof(cpus));
		fprintf(f, "thread %d %d %u %u %d %d %s\n", t->pid, t->tid, t->uid, t->policy,
			t->priority, t->nice, cpus);
	}
	for (size_t i = 0; i < r->policies; i++) {
		fprintf(f, "mempolicy %d %" PRIu64 " %" PRIu64, r->policy[i].pid, r->policy[i].at,
			r->policy[i].end);
		print_text(f, r->policy[i].word);
		fputc('\n', f);
	}
	fputs("end\n", f);
	if (fclose(f) != 0)
		return errprintf(err, "%s", strerror(errno));
	return 0;
}

/* Decode a word of print_text(). Returns 0 or -1. */
static int parse_record_text(char *out, const char *word)
{
	size_t n = 0;

	if (strcmp(word, "-") == 0)
		word = "";
	while (*word) {
		unsigned c = (unsigned char)*word++;

		if (c == '\\') {
			if (strspn(word, "01234567") < 3 || *word > '3')
				return -1;
			c = (unsigned)(word[0] - '0') * 64 + (unsigned)(word[1] - '0') * 8 +
			    (unsigned)(word[2] - '0');
			word += 3;
		}
		if (c == 0 || n + 1 >= TEXT_MAX)
			return -1;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return 0;
}

/* Parse a whole number from MIN to MAX. Returns 0 or -1. */
static int parse_record_number(const char *word, int64_t min, uint64_t max, uint64_t *out)
{
	bool minus = *word == '-';
	const char *digits = word + minus;
	char *end;

	if (strspn(digits, "0123456789") == 0 || strspn(digits, "0123456789") > 20)
		return -1;
	errno = 0;
	*out = strtoull(digits, &end, 10);
	if (errno || *end || *out > (minus ? (uint64_t)-min : max) || (minus && min >= 0))
		return -1;
	if (minus)
		*out = -*out;
	return 0;
}

static int parse_file(struct move_record *r, char *const *word, unsigned n, struct errbuf *err)
{
	static const uint64_t max[12] = { MOVE_MAP,   MOVE_NOWHERE, INT32_MAX,	UINT64_MAX,
					  UINT64_MAX, UINT64_MAX,   UINT64_MAX, UINT64_MAX,
					  UINT32_MAX, UINT32_MAX,   UINT32_MAX, 1 };
	char path[TEXT_MAX], mount[TEXT_MAX];
	uint64_t v[12];

	if (n != 14 || parse_record_text(path, word[12]) < 0 ||
	    parse_record_text(mount, word[13]) < 0)
		return -1;
	for (unsigned i = 0; i < 12; i++)
		if (parse_record_number(word[i], 0, max[i], &v[i]) < 0)
			return -1;
	return move_record_add_file(r,
				    &(struct move_file){
					    .what = (enum move_what)v[0],
					    .place = (enum move_place)v[1],
					    .pid = (int)v[2],
					    .at = v[3],
					    .end = v[4],
					    .inode = v[5],
					    .size = v[6],
					    .device = v[7],
					    .mode = (unsigned)v[8],
					    .flags = (unsigned)v[9],
					    .uid = (uid_t)v[10],
					    .deleted = v[11] != 0,
					    .path = path,
					    .mount = mount,
				    },
				    err);
}

static int parse_thread(struct move_record *r, char *const *word, unsigned n, struct errbuf *err)
{
	struct move_thread t;
	uint64_t v[6];

	if (n != 7 || parse_record_number(word[0], 0, INT32_MAX, &v[0]) < 0 ||
	    parse_record_number(word[1], 0, INT32_MAX, &v[1]) < 0 ||
	    parse_record_number(word[2], 0, UINT32_MAX, &v[2]) < 0 ||
	    parse_record_number(word[3], 0, 1000, &v[3]) < 0 ||
	    parse_record_number(word[4], 0, 99, &v[4]) < 0 ||
	    parse_record_number(word[5], -20, 19, &v[5]) < 0)
		return -1;
	t = (struct move_thread){ .pid = (int)v[0],
				  .tid = (int)v[1],
				  .uid = (uid_t)v[2],
				  .policy = (unsigned)v[3],
				  .priority = (int)v[4],
				  .nice = (int)(int64_t)v[5] };
	if (idset_parse(&t.cpus, word[6], NULL) < 0)
		return -1;
	return move_record_add_thread(r, &t, err);
}

static int parse_mempolicy(struct move_record *r, char *const *word, unsigned n, struct errbuf *err)
{
	char text[TEXT_MAX];
	struct move_mempolicy p = { .word = text };
	uint64_t pid;

	if (n != 4 || parse_record_number(word[0], 0, INT32_MAX, &pid) < 0 ||
	    parse_record_number(word[1], 0, UINT64_MAX, &p.at) < 0 ||
	    parse_record_number(word[2], 0, UINT64_MAX, &p.end) < 0 || p.end < p.at ||
	    parse_record_text(text, word[3]) < 0)
		return -1;
	p.pid = (int)pid;
	return move_record_add_policy(r, &p, err);
}

/*
 * Parse LINE. Returns 0; 1: it is the line "end"; -1: if ERR has a text, that is the reason;
 * otherwise LINE is damaged.
 */
static int parse_line(struct move_record *r, char *line, struct errbuf *err)
{
	char *word[FIELDS_MAX], *save = NULL;
	unsigned n = 0;

	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (n == FIELDS_MAX)
			return -1;
		word[n++] = w;
	}
	if (n == 0)
		return -1;
	if (strcmp(word[0], "file") == 0)
		return parse_file(r, word + 1, n - 1, err);
	if (strcmp(word[0], "thread") == 0)
		return parse_thread(r, word + 1, n - 1, err);
	if (strcmp(word[0], "mempolicy") == 0)
		return parse_mempolicy(r, word + 1, n - 1, err);
	return strcmp(word[0], "end") == 0 && n == 1 ? 1 : -1;
}

int move_record_parse(struct move_record *r, const char *text, size_t len, struct errbuf *err)
{
	unsigned number = 1;
	int rc = -1;
	char *copy, *line, *stop;

	memset(r, 0, sizeof(*r));
	errclear(err);
	if (len > MOVE_RECORD_MAX || strnlen(text, len) != len || len < sizeof(FIRST_LINE) - 1 ||
	    memcmp(text, FIRST_LINE, sizeof(FIRST_LINE) - 1) != 0)
		return errprintf(err, "not a record of open files of this release");
	copy = strndup(text + sizeof(FIRST_LINE) - 1, len - (sizeof(FIRST_LINE) - 1));
	if (!copy)
		return errprintf(err, "%s", strerror(errno));
	for (line = copy; (stop = strchr(line, '\n')); line = stop + 1) {
		*stop = '\0';
		number++;
		rc = parse_line(r, line, err);
		if (rc != 0)
			break;
	}
	if (rc == 1 && stop[1] == '\0') {
		free(copy);
		move_record_sort(r);
		return 0;
	}
	free(copy);
	move_record_free(r);
	if (err && err->text[0])
		return -1;
	return errprintf(err,
			 "record of open files: line %u is damaged, or is not where it must be",
			 number);
}

int move_record_load(struct move_record *r, int dir, const char *name, struct errbuf *err)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc = -1;
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > MOVE_RECORD_MAX) {
		errprintf(err, "record of open files: %s", fd < 0 ? strerror(errno) : "too long");
	} else {
		text = malloc((size_t)st.st_size + 1);
		if (!text || read(fd, text, (size_t)st.st_size) != st.st_size)
			errprintf(err, "record of open files: %s", strerror(errno));
		else
			rc = move_record_parse(r, text, (size_t)st.st_size, err);
		free(text);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
