/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request_limits.h"

#include <inttypes.h>
#include <string.h>

#include "manifest/request.h"

static const char *const thp_names[THP_COUNT] = { NULL, "never", "always" };

const char *thp_word_name(enum thp_word thp)
{
	return (unsigned)thp < THP_COUNT ? thp_names[thp] : NULL;
}

enum thp_word thp_word_by_name(const char *name)
{
	for (unsigned i = THP_UNSET + 1; i < THP_COUNT; i++)
		if (strcmp(name, thp_names[i]) == 0)
			return (enum thp_word)i;
	return THP_UNSET;
}

bool request_has_limits(const struct request_limits *l)
{
	return l->memory || l->bandwidth || l->iops;
}

/* Check one limit. Returns 0, or -1 with its NAME and range. */
static int check_limit(const char *name, uint64_t value, uint64_t min, uint64_t max,
		       struct errbuf *err)
{
	if (!value || (value >= min && value <= max))
		return 0;
	return errprintf(err, "%s=%" PRIu64 " (allowed: %" PRIu64 " to %" PRIu64 ")", name, value,
			 min, max);
}

int request_check_limits(const struct request_limits *l, struct errbuf *err)
{
	if (check_limit("memory", l->memory, REQUEST_MEMORY_MIN, REQUEST_BYTES_MAX, err) < 0 ||
	    check_limit("memory_request", l->memory_request, 1, REQUEST_BYTES_MAX, err) < 0 ||
	    check_limit("bandwidth", l->bandwidth, REQUEST_BANDWIDTH_MIN, REQUEST_BYTES_MAX, err) <
		    0 ||
	    check_limit("iops", l->iops, 1, REQUEST_IOPS_MAX, err) < 0)
		return -1;
	if (l->memory_request > l->memory)
		return errprintf(err,
				 "memory_request=%" PRIu64 " is above the limit, memory=%" PRIu64,
				 l->memory_request, l->memory);
	return (unsigned)l->thp < THP_COUNT ? 0 : errprintf(err, "unknown word of thp");
}
