/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_DEFAULT (256UL << 20)
#define MEMORY_MIN (16UL << 20)
#define MEMORY_MAX (256UL << 30)

static const struct option table[] = {
	{ "memory", required_argument, NULL, 'm' },
	{ "page", required_argument, NULL, 'p' },
	{ "counts", no_argument, NULL, 'c' },
	{ "loose", no_argument, NULL, 'l' },
	{ "name", required_argument, NULL, 'n' },
	{ "comm", required_argument, NULL, 't' },
	{ "child", no_argument, NULL, 'k' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "smartmap", no_argument, NULL, 's' },
	{ NULL, 0, NULL, 0 },
};

/* "512M", "4G": bytes, 0 when it is no size. */
static uint64_t parse_size(const char *text)
{
	char *end;
	unsigned long n;
	int shift;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	shift = strcmp(end, "M") == 0 ? 20 : strcmp(end, "G") == 0 ? 30 : 0;
	return errno || !shift || n > MEMORY_MAX >> shift ? 0 : n << shift;
}

static int set_page(struct options *o, const char *value, struct errbuf *err)
{
	if (strcmp(value, "1G") == 0)
		o->page = MEMORY_1G;
	else if (strcmp(value, "2M") == 0)
		o->page = MEMORY_2M;
	else
		return errprintf(err, "--page=%s: 1G or 2M", value);
	return 0;
}

static int set_option(struct options *o, int letter, struct errbuf *err)
{
	switch (letter) {
	case 'm':
		o->memory = parse_size(optarg);
		if (o->memory < MEMORY_MIN)
			return errprintf(err, "--memory=%s: not a size from 16M to 256G", optarg);
		return 0;
	case 'p':
		return set_page(o, optarg, err);
	case 'n':
		o->name = optarg;
		return 0;
	case 't':
		o->comm = optarg;
		return 0;
	case 'c':
		o->counts = true;
		return 0;
	case 'l':
		o->loose = true;
		return 0;
	case 's':
		o->smartmap = true;
		return 0;
	case 'k':
		o->child = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	default:
		return errprintf(err, "unknown option, or one without its value; see --help");
	}
}

int options_parse(struct options *o, int argc, char *const *argv, struct errbuf *err)
{
	int letter;

	*o = (struct options){ .memory = MEMORY_DEFAULT, .page = MEMORY_2M };
	optind = 0; /* begin again, for tests */
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "+m:p:cln:t:khsV", table, NULL)) != -1)
		if (set_option(o, letter, err) < 0)
			return -1;
	o->argv = argv + optind;
	if (o->help || o->version)
		return 0;
	if (optind >= argc)
		return errprintf(err, "no program is given; see --help");
	if (o->memory % (1UL << o->page))
		return errprintf(err, "--memory: not a multiple of the page size");
	return 0;
}

unsigned options_words(const struct options *o, const char *words[OPTIONS_WORDS],
		       char text[OPTIONS_TEXT])
{
	static const char name[] = "--memory=";
	unsigned n = 0;
	uint64_t mib = o->memory >> 20;
	char *p = text + OPTIONS_TEXT;

	/* no snprintf: threads of the program call this (host.h) */
	*--p = '\0';
	*--p = 'M';
	do
		*--p = (char)('0' + mib % 10);
	while (mib /= 10);
	p -= strlen(name);
	memcpy(p, name, strlen(name));
	words[n++] = "nodeos-lwk";
	words[n++] = p;
	words[n++] = o->page == MEMORY_1G ? "--page=1G" : "--page=2M";
	if (o->counts)
		words[n++] = "--counts";
	if (o->child)
		words[n++] = "--child";
	else if (o->smartmap)
		words[n++] = "--smartmap"; /* a child is not a rank */
	return n;
}
