/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Masks in the form of the kernel's smp_affinity and cpumask. */
#include "base/hexmask.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"

static const struct {
	/* AGAIN: what hexmask_format() writes, or NULL if it writes TEXT */
	const char *text, *list, *again;
} good[] = {
	{ "1", "0", NULL },
	{ "ffff", "0-15", NULL },
	{ "0", "", NULL },
	{ "ff,00000001", "0,32-39", NULL },
	{ "80000000,00000000,00000000", "95", NULL },
	{ "FF\n", "0-7", "ff" },
	{ "00000000,00000003", "0-1", "3" },
};

static const char *const bad[] = { "",	"\n",	     ",1",  "1,",  "1,,1",
				   "g", "123456789", "0x3", "1 2", "-1" };

int main(void)
{
	char text[HEXMASK_MAX];
	struct errbuf err;
	struct idset s;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!ok(hexmask_parse(&s, good[i].text, &err) == 0,
			"hexmask_parse: accepts the mask of CPUs \"%.40s\"", good[i].list))
			continue;
		is(list_of(&s), good[i].list, "hexmask_parse: reads the mask of CPUs \"%s\"",
		   good[i].list);
		hexmask_format(&s, text);
		is(text, good[i].again ? good[i].again : good[i].text,
		   "hexmask_format: writes the mask of CPUs \"%s\"", good[i].list);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		s = set_of("7");
		ok(hexmask_parse(&s, bad[i], &err) == -1 && idset_has(&s, 7),
		   "hexmask_parse: refuses bad mask %zu and leaves the set untouched", i);
	}
	memset(&s, 0xff, sizeof(s));
	hexmask_format(&s, text);
	is_int((long long)strlen(text), HEXMASK_MAX - 2,
	       "hexmask_format: the longest mask fits HEXMASK_MAX");
	ok(hexmask_parse(&s, text, &err) == 0 && idset_count(&s) == IDSET_MAX,
	   "hexmask_parse: accepts the longest mask");
	return tap_done();
}
