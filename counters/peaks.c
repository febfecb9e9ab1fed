/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/peaks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/owned_file.h"

#define FIRST_LINE "nodeos-contention-peaks 1"
#define FILE_MAX (4u * 1024 * 1024) /* bytes */

void contention_peaks_free(struct contention_peaks *p)
{
	free(p->peak);
	*p = (struct contention_peaks){ .n = 0 };
}

int contention_peaks_set(struct contention_peaks *p, int id, const struct idset *cpus,
			 uint64_t misses)
{
	struct contention_peak *peak;
	unsigned i = 0;

	while (i < p->n && p->peak[i].id != id)
		i++;
	if (i == PEAKS_MAX)
		return -1;
	if (i == p->n) {
		peak = realloc(p->peak, (p->n + 1) * sizeof(*peak));
		if (!peak)
			return -1;
		p->peak = peak;
		p->n++;
	}
	p->peak[i] = (struct contention_peak){ .id = id, .cpus = *cpus, .misses = misses };
	return 0;
}

uint64_t contention_peaks_find(const struct contention_peaks *p, int id, const struct idset *cpus)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->peak[i].id == id && idset_equal(&p->peak[i].cpus, cpus))
			return p->peak[i].misses;
	return 0;
}

/*
 * If *AT begins with KEY and a blank, return the word after them, and move *AT to the next word.
 * Otherwise return NULL.
 */
static char *take_value(char **at, const char *key)
{
	size_t len = strlen(key);
	char *value;

	if (strncmp(*at, key, len) != 0 || (*at)[len] != ' ')
		return NULL;
	value = *at + len + 1;
	len = strcspn(value, " ");
	*at = value + len;
	if (**at)
		*(*at)++ = '\0';
	return value;
}

static int parse_decimal(uint64_t *out, const char *word, uint64_t max)
{
	char *end;

	if (*word < '0' || *word > '9')
		return -1;
	errno = 0;
	*out = strtoull(word, &end, 10);
	return *end || errno || *out > max ? -1 : 0;
}

static int parse_domain(struct contention_peaks *p, char *line)
{
	char *id = take_value(&line, "domain"), *cpus = id ? take_value(&line, "cpus") : NULL;
	char *peak = cpus ? take_value(&line, "peak") : NULL;
	uint64_t number, misses;
	struct idset set;

	if (!peak || *line || parse_decimal(&number, id, INT32_MAX) < 0 ||
	    parse_decimal(&misses, peak, UINT64_MAX - 1) < 0 || !misses ||
	    idset_parse(&set, cpus, NULL) < 0 || idset_empty(&set))
		return -1;
	return contention_peaks_set(p, (int)number, &set, misses);
}

static int parse_peaks_line(struct contention_peaks *p, char *line, unsigned number)
{
	char *value;

	switch (number) {
	case 1:
		return strcmp(line, FIRST_LINE) == 0 ? 0 : -1;
	case 2:
		value = take_value(&line, "row");
		if (!value || *line || !*value || strlen(value) >= sizeof(p->row))
			return -1;
		strcpy(p->row, value);
		return 0;
	case 3:
		value = take_value(&line, "simulated");
		if (!value || *line || (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0))
			return -1;
		p->simulated = *value == 'y';
		return 0;
	default:
		return parse_domain(p, line);
	}
}

static int parse_peaks(struct contention_peaks *p, char *text, size_t len, const char *path,
		       struct errbuf *err)
{
	unsigned number = 0;

	if (strlen(text) != len || !len || text[len - 1] != '\n')
		return errprintf(err,
				 "%.200s: the file is truncated or no text: remove it and"
				 " calibrate again",
				 path);
	for (char *line = text, *next; *line; line = next) {
		next = strchr(line, '\n');
		*next++ = '\0';
		if (parse_peaks_line(p, line, ++number) < 0)
			return errprintf(err,
					 "%.200s:%u: not a line of peaks: remove the file and"
					 " calibrate again",
					 path, number);
	}
	return number >= 3 ? 0
			   : errprintf(err,
				       "%.200s: the file is truncated: remove it and calibrate"
				       " again",
				       path);
}

int contention_peaks_read(struct contention_peaks *out, const char *dir, uid_t owner,
			  struct errbuf *err)
{
	char path[512], *text;
	size_t len;
	int rc;

	*out = (struct contention_peaks){ .n = 0 };
	snprintf(path, sizeof(path), "%s/%s", dir, PEAKS_FILE);
	if (owned_file_read(&text, &len, path, owner, FILE_MAX, err) < 0)
		return errno == ENOENT ? 0 : -1;
	rc = parse_peaks(out, text, len, path, err);
	free(text);
	if (rc < 0)
		contention_peaks_free(out);
	return rc;
}

static char *print_peaks(const struct contention_peaks *p)
{
	char *text = NULL, cpus[IDSET_LIST_MAX];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, FIRST_LINE "\nrow %s\nsimulated %s\n", p->row, p->simulated ? "yes" : "no");
	for (unsigned i = 0; i < p->n; i++) {
		idset_format(&p->peak[i].cpus, cpus, sizeof(cpus));
		fprintf(f, "domain %d cpus %s peak %" PRIu64 "\n", p->peak[i].id, cpus,
			p->peak[i].misses);
	}
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

int contention_peaks_write(const struct contention_peaks *p, const char *dir, struct errbuf *err)
{
	int fd, rc;
	char *text;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return errprintf(err, "%.200s: %s", dir, strerror(errno));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errprintf(err, "%.200s: %s", dir, strerror(errno));
	text = print_peaks(p);
	rc = text ? file_replace(fd, PEAKS_FILE, text, 0644, err) : errprintf(err, "out of memory");
	free(text);
	close(fd);
	return rc < 0 ? errwrap(err, "%.200s", dir) : 0;
}
