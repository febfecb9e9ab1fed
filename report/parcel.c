/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/parcel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 400 /* bytes in a line: slurmstepd sends lines below 1,024 bytes whole */

void parcel_write(FILE *f, const char *node, const char *text)
{
	size_t sum = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");

		/*
		 * a JSON text needs its line breaks only between values, with indentation after
		 * them
		 */
		if (n == 0) {
			text += 1 + strspn(text + 1, " ");
			continue;
		}
		n = n > PIECE ? PIECE : n;
		fprintf(f, "+%s %.*s\n", node, (int)n, text);
		sum += n;
		text += n;
	}
	fprintf(f, "=%s %zu\n", node, sum);
}

struct parcel_line {
	const char *node, *piece;
	size_t node_len, len;
	bool last;
};

/* Parse the line of N bytes at AT; false: it is not part of a parcel. */
static bool parcel_read_line(struct parcel_line *out, const char *at, size_t n)
{
	const char *blank = memchr(at, ' ', n);

	if (!n || (*at != '+' && *at != '=') || !blank)
		return false;
	*out = (struct parcel_line){ .node = at + 1,
				     .piece = blank + 1,
				     .node_len = (size_t)(blank - at) - 1,
				     .len = n - (size_t)(blank + 1 - at),
				     .last = *at == '=' };
	return true;
}

static int compare_nodes(const struct parcel_line *x, const struct parcel_line *y)
{
	int rc = memcmp(x->node, y->node, x->node_len < y->node_len ? x->node_len : y->node_len);

	return rc ? rc : (x->node_len > y->node_len) - (x->node_len < y->node_len);
}

/* Order by node; lines of a node stay in order of arrival. */
static int by_node(const void *a, const void *b)
{
	const struct parcel_line *x = a, *y = b;
	int rc = compare_nodes(x, y);

	return rc ? rc : (x->piece > y->piece) - (x->piece < y->piece);
}

int parcels_index(struct parcels *out, const char *text)
{
	size_t room = 0;

	memset(out, 0, sizeof(*out));
	/* an incomplete last line is ignored: srun was killed */
	for (const char *stop; (stop = strchr(text, '\n')) != NULL; text = stop + 1) {
		if (out->n == room) {
			struct parcel_line *more =
				reallocarray(out->line, room ? room * 2 : 1024, sizeof(*more));

			if (!more) {
				parcels_free(out);
				return -1;
			}
			out->line = more;
			room = room ? room * 2 : 1024;
		}
		out->n += parcel_read_line(&out->line[out->n], text, (size_t)(stop - text));
	}
	if (out->n)
		qsort(out->line, out->n, sizeof(*out->line), by_node);
	return 0;
}

void parcels_free(struct parcels *p)
{
	free(p->line);
	memset(p, 0, sizeof(*p));
}

/* The index of NODE's first line, or the index where it would be. */
static size_t first_of(const struct parcels *p, const struct parcel_line *node)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_nodes(&p->line[middle], node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

char *parcel_read(const struct parcels *p, const char *node)
{
	const struct parcel_line wanted = { .node = node, .node_len = strlen(node) };
	size_t first = first_of(p, &wanted), end, sum = 0;
	char *text, *to;

	for (end = first; end < p->n && compare_nodes(&p->line[end], &wanted) == 0; end++) {
		if (p->line[end].last && sum && strtoull(p->line[end].piece, NULL, 10) == sum)
			break;
		sum += p->line[end].last ? 0 : p->line[end].len;
	}
	if (end == p->n || compare_nodes(&p->line[end], &wanted) != 0)
		return NULL;
	text = to = malloc(sum + 1);
	for (size_t i = first; text && i < end; i++)
		if (!p->line[i].last)
			to = mempcpy(to, p->line[i].piece, p->line[i].len);
	if (text)
		*to = '\0';
	return text;
}

unsigned parcel_count(const char *text, size_t len, size_t *at)
{
	const char *stop;
	unsigned n = 0;

	while ((stop = memchr(text + *at, '\n', len - *at)) != NULL) {
		n += text[*at] == '=';
		*at = (size_t)(stop - text) + 1;
	}
	return n;
}
