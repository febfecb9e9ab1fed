/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The fields of a request for a buffer of dimmapfs. */
#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "manifest/request.h"

/* append only: nodes may run an older release */
const char *const request_dimmap_policies[] = { "fifo", "dimmap", "sieve", "s3fifo", NULL };

#define POLICIES (sizeof(request_dimmap_policies) / sizeof(request_dimmap_policies[0]) - 1)

unsigned request_dimmap_policy(const char *name)
{
	for (unsigned i = 0; request_dimmap_policies[i]; i++)
		if (strcmp(name, request_dimmap_policies[i]) == 0)
			return i + 1;
	return 0;
}

bool request_is_source(const char *source)
{
	if (source[0] != '/' || strnlen(source, REQUEST_SOURCE_MAX) == REQUEST_SOURCE_MAX)
		return false;
	for (const char *part = source; *part;) {
		size_t n = strcspn(++part, "/");

		if (n == 0 || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		for (size_t i = 0; i < n; i++)
			if (part[i] <= ' ' || part[i] > '~' || part[i] == ';')
				return false;
		part += n;
	}
	return true;
}

bool request_is_fill(uint64_t fill)
{
	return fill >= REQUEST_FILL_MIN && fill <= REQUEST_FILL_MAX && (fill & (fill - 1)) == 0;
}

int request_check_dimmap(const struct request_dimmap *d, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];

	if (!d->size)
		return *d->source || d->policy || d->fill || d->read_only
			       ? errprintf(err, "a buffer (dimmap) without a size")
			       : 0;
	if (d->size < REQUEST_DIMMAP_MIN || d->size > REQUEST_DIMMAP_MAX)
		return errprintf(err,
				 "dimmap=%" PRIu64 " (allowed: %" PRIu64 " to %" PRIu64 " bytes)",
				 d->size, REQUEST_DIMMAP_MIN, REQUEST_DIMMAP_MAX);
	if (!request_is_source(d->source))
		return errprintf(err, "dimmap_source=%s (allowed: " REQUEST_SOURCE_ALLOWED ")",
				 word_quote(quoted, d->source,
					    strnlen(d->source, sizeof(d->source))));
	if (d->policy > POLICIES)
		return errprintf(err, "unknown policy of a buffer (dimmap)");
	if (d->fill && !request_is_fill(d->fill))
		return errprintf(err, "dimmap_fill=%u (allowed: a power of two from %u to %u)",
				 d->fill, REQUEST_FILL_MIN, REQUEST_FILL_MAX);
	return 0;
}
