/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request_lwk.h"

#include <inttypes.h>
#include <string.h>

#include "manifest/request.h"

static const char *const page_names[LWK_PAGE_COUNT] = { NULL, "2M", "1G" };

const char *lwk_page_name(enum lwk_page page)
{
	return (unsigned)page < LWK_PAGE_COUNT ? page_names[page] : NULL;
}

enum lwk_page lwk_page_by_name(const char *name)
{
	for (unsigned i = LWK_PAGE_UNSET + 1; i < LWK_PAGE_COUNT; i++)
		if (strcmp(name, page_names[i]) == 0)
			return (enum lwk_page)i;
	return LWK_PAGE_UNSET;
}

int request_check_lwk(const struct request_lwk *l, struct errbuf *err)
{
	if ((unsigned)l->page >= LWK_PAGE_COUNT)
		return errprintf(err, "unknown page size of lwk");
	if (!l->memory)
		return l->page || l->loose ? errprintf(err, "lwk has no memory") : 0;
	if (l->memory == REQUEST_LWK_SHARE)
		return 0;
	if (l->memory < REQUEST_LWK_MIN || l->memory > REQUEST_LWK_MAX ||
	    l->memory % REQUEST_LWK_UNIT)
		return errprintf(err, "lwk=%" PRIu64 " (allowed: " REQUEST_LWK_ALLOWED ")",
				 l->memory);
	if (l->page == LWK_PAGE_1G && l->memory % (UINT64_C(1) << 30))
		return errprintf(err, "lwk=%" PRIu64 " with lwk_page=1G (allowed: multiples of 1G)",
				 l->memory);
	return 0;
}
