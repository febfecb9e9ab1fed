/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/parcel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 400 /* bytes in a line: slurmstepd sends lines of less than 1,024 whole */

void parcel_write(FILE *f, const char *node, const char *text)
{
	size_t sum = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");

		/* JSON breaks lines between values only, and indents what follows */
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

/* Is the line at AT, of N bytes, one of NODE with MARK? Its piece, or NULL. */
static const char *piece_of(const char *at, size_t n, char mark, const char *node)
{
	size_t len = strlen(node);

	return n > len + 1 && *at == mark && memcmp(at + 1, node, len) == 0 && at[1 + len] == ' ' ? at + len + 2 : NULL;
}

char *parcel_read(const char *parcels, size_t len, const char *node)
{
	char *text = malloc(len + 1);
	const char *end = parcels + len;
	size_t used = 0;

	if (!text)
		return NULL;
	for (const char *at = parcels, *stop; at < end; at = stop + 1) {
		const char *piece;

		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			break; /* srun was killed in the middle of a line */
		piece = piece_of(at, (size_t)(stop - at), '+', node);
		if (piece) {
			memcpy(text + used, piece, (size_t)(stop - piece));
			used += (size_t)(stop - piece);
		}
		piece = piece_of(at, (size_t)(stop - at), '=', node);
		if (piece && strtoull(piece, NULL, 10) == used && used) {
			text[used] = '\0';
			return text;
		}
	}
	free(text);
	return NULL;
}

unsigned parcel_count(const char *parcels, size_t len)
{
	const char *end = parcels + len;
	bool starts = true;
	unsigned n = 0;

	for (const char *at = parcels; at < end; starts = *at++ == '\n')
		n += starts && *at == '=';
	return n;
}
