/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/options.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "dimmap/load/value.h"

const char options_usage[] =
	"Usage: nodeos-dimsim [OPTION]... TRACE...\n"
	"       nodeos-dimsim [OPTION]... --pattern=PATTERN\n"
	"Replay accesses to pages and print how often each policy of a dimmap buffer has to wait "
	"for the file.\n"
	"\n"
	"  -p, --policy=NAME,...  replay with these policies (default: all)\n"
	"  -n, --pages=N,...      use buffers of N pages; N%: of the pages in use (default: "
	"1%,2%,5%,10%,25%,50%)\n"
	"  -b, --batch=N          unmap N pages at once, 1 to 512 (default: 64)\n"
	"  -f, --fill=N           read N pages at once: 1, 2, 4 to 512 (default: 1)\n"
	"  -k, --pools=N          divide the buffer into N parts (default: 1)\n"
	"  -v, --victims=N        keep N of 64 pages unmapped before eviction, 0 to 63 (default: "
	"the policy's)\n"
	"  -j, --json             print JSON\n"
	"  -g, --svg=FILE         also draw hits against sizes\n"
	"  -q, --progress         print the progress\n"
	"  -h, --help             print this\n"
	"  -V, --version          print the version\n"
	"without TRACE:\n"
	"  -t, --pattern=PATTERN  uniform, scan, zipf:A, drift:A (zipf whose pages change), loop:H "
	"(a scan, with\n"
	"                         a hot page between its steps; H % of all pages are hot)\n"
	"  -s, --size=N           use a file of N pages (default: 10000)\n"
	"  -a, --accesses=N       make N accesses (default: 1000000)\n"
	"  -w, --writes=N         write in N of 100 accesses (default: 0)\n"
	"  -x, --seed=N           seed the random numbers (default: 1)\n"
	"\n"
	"Exit status: 0 done, 1 a file could not be read or written, 2 wrong usage.\n";

static const struct option longs[] = {
	{ "policy", required_argument, NULL, 'p' },
	{ "pages", required_argument, NULL, 'n' },
	{ "batch", required_argument, NULL, 'b' },
	{ "fill", required_argument, NULL, 'f' },
	{ "pools", required_argument, NULL, 'k' },
	{ "victims", required_argument, NULL, 'v' },
	{ "json", no_argument, NULL, 'j' },
	{ "svg", required_argument, NULL, 'g' },
	{ "progress", no_argument, NULL, 'q' },
	{ "pattern", required_argument, NULL, 't' },
	{ "size", required_argument, NULL, 's' },
	{ "accesses", required_argument, NULL, 'a' },
	{ "writes", required_argument, NULL, 'w' },
	{ "seed", required_argument, NULL, 'x' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static int all_policies(struct options *o)
{
	for (o->policies = 0; o->policies < POLICIES_MAX && dimmap_policies[o->policies];
	     o->policies++)
		o->policy[o->policies] = dimmap_policies[o->policies];
	return 0;
}

static int options_refuse_policy(const char *word, struct errbuf *err)
{
	const char *name[POLICIES_MAX + 2] = { "all" };
	char list[256], quoted[WORD_QUOTE_MAX];

	for (unsigned i = 0; i < POLICIES_MAX && dimmap_policies[i]; i++)
		name[i + 1] = dimmap_policies[i]->name;
	return errprintf(err, "--policy: unknown policy %s (allowed: %s)",
			 word_quote(quoted, word, strlen(word)),
			 word_list(list, sizeof(list), name));
}

/* Call ADD for each word of a list, even for an empty word. Returns 0, or -1 if ADD returns -1. */
static int each_word(struct options *o, const char *list,
		     int (*add)(struct options *o, const char *word, struct errbuf *err),
		     struct errbuf *err)
{
	for (;;) {
		size_t len = strcspn(list, ",");
		char word[WORD_QUOTE_MAX];

		if (len >= sizeof(word))
			len = sizeof(word) - 1;
		memcpy(word, list, len);
		word[len] = '\0';
		if (add(o, word, err) < 0)
			return -1;
		list += strcspn(list, ",");
		if (!*list++)
			return 0;
	}
}

static int add_policy(struct options *o, const char *word, struct errbuf *err)
{
	const struct dimmap_policy *policy = dimmap_policy_find(word);

	if (strcmp(word, "all") == 0)
		return all_policies(o);
	if (!policy)
		return options_refuse_policy(word, err);
	for (unsigned i = 0; i < o->policies; i++)
		if (o->policy[i] == policy)
			return 0;
	o->policy[o->policies++] = policy;
	return 0;
}

static int options_add_size(struct options *o, const char *word, struct errbuf *err)
{
	size_t len = strlen(word);
	struct wish wish = { .percent = len && word[len - 1] == '%' };
	char number[WORD_QUOTE_MAX];
	uint64_t pages;
	int good;

	snprintf(number, sizeof(number), "%.*s", (int)(len - wish.percent), word);
	if (wish.percent) {
		good = value_real(number, 1e-6, 100, &wish.amount);
	} else {
		good = value_count(number, 1, BUFFER_PAGES_MAX, &pages);
		wish.amount = good < 0 ? 0 : (double)pages;
	}
	if (good < 0)
		return value_refuse(
			err, "pages", word,
			"numbers of pages from 1 to %u, or percents up to 100%%, such as 512,10%%",
			BUFFER_PAGES_MAX);
	if (o->wishes == SIZES_MAX)
		return errprintf(err, "--pages: %d sizes at most", SIZES_MAX);
	o->wish[o->wishes++] = wish;
	return 0;
}

static int take_fill(struct options *o, const char *value, struct errbuf *err)
{
	if (value_count(value, 1, BUFFER_WINDOW, &o->fill) < 0 || (o->fill & (o->fill - 1)))
		return value_refuse(err, "fill", value, "a power of two from 1 to %d",
				    BUFFER_WINDOW);
	return 0;
}

static int take_pattern(struct options *o, const char *value, struct errbuf *err)
{
	o->has_pattern = true;
	o->pattern_text = value;
	return sim_pattern_parse(&o->pattern, value, err);
}

static int sim_options_take(struct options *o, int letter, const char *value, struct errbuf *err)
{
	switch (letter) {
	case 'p':
		o->policies = 0;
		return each_word(o, value, add_policy, err);
	case 'n':
		o->wishes = 0;
		return each_word(o, value, options_add_size, err);
	case 'b':
		return option_count("batch", value, 1, 512, &o->batch, err);
	case 'f':
		return take_fill(o, value, err);
	case 'k':
		return option_count("pools", value, 1, 131072, &o->pools, err);
	case 'v':
		o->has_victims = true;
		return option_count("victims", value, 0, 63, &o->victims, err);
	case 'j':
		o->json = true;
		return 0;
	case 'g':
		o->svg = value;
		return 0;
	case 'q':
		o->progress = true;
		return 0;
	case 't':
		return take_pattern(o, value, err);
	case 's':
		return option_count("size", value, 1, ACCESSES_MAX / 2, &o->size, err);
	case 'a':
		return option_count("accesses", value, 1, ACCESSES_MAX, &o->accesses, err);
	case 'w':
		return option_count("writes", value, 0, 100, &o->writes, err);
	default:
		return option_count("seed", value, 0, UINT64_MAX, &o->seed, err);
	}
}

int sim_options_parse(struct options *o, int argc, char **argv, struct errbuf *err)
{
	int c;

	*o = (struct options){
		.batch = 64, .fill = 1, .pools = 1, .size = 10000, .accesses = 1000000, .seed = 1
	};
	all_policies(o);
	if (each_word(o, "1%,2%,5%,10%,25%,50%", options_add_size, err) < 0)
		return -1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":p:n:b:f:k:v:jg:qt:s:a:w:x:hV", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == 'V')
			return 2;
		if (c == '?' || c == ':')
			return option_refuse(err, c, argv);
		if (sim_options_take(o, c, optarg, err) < 0)
			return -1;
	}
	o->trace = argv + optind;
	if (!*o->trace && !o->has_pattern)
		return errprintf(err, "nothing to replay: give a TRACE or --pattern");
	if (*o->trace && o->has_pattern)
		return errprintf(err,
				 "--pattern and a TRACE exclude each other: give only one of them");
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

unsigned options_sizes(const struct options *o, uint32_t pages, uint32_t size[SIZES_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < o->wishes; i++) {
		double amount = o->wish[i].percent ? round(pages * o->wish[i].amount / 100)
						   : o->wish[i].amount;

		size[i] = amount < 1		      ? 1
			  : amount > BUFFER_PAGES_MAX ? BUFFER_PAGES_MAX
						      : (uint32_t)amount;
	}
	qsort(size, o->wishes, sizeof(*size), ascending);
	for (unsigned i = 0; i < o->wishes; i++)
		if (!n || size[n - 1] != size[i])
			size[n++] = size[i];
	return n;
}
