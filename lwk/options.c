/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lwk/machine/host.h"

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
	{ "file", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "smartmap", no_argument, NULL, 's' },
	{ "given", required_argument, NULL, 'g' },
	{ "record", required_argument, NULL, 'r' },
	{ "used", no_argument, NULL, 'u' },
	{ NULL, 0, NULL, 0 },
};

/* Parse the number of a descriptor; -1: TEXT is no number. */
static int parse_descriptor(const char *text)
{
	char *end;
	unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : INT_MAX;

	return n < INT_MAX && !*end ? (int)n : -1;
}

/* Parse a size, such as "512M" or "4G". Returns bytes; 0: TEXT is no size. */
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
		return errprintf(err, "--page=%s: not a size of huge pages (allowed: 2M, 1G)",
				 value);
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
	case 'f':
		o->file = parse_descriptor(optarg);
		return o->file < 0 ? errprintf(err, "--file=%s: not a descriptor", optarg) : 0;
	case 'c':
		o->counts = true;
		return 0;
	case 'l':
		o->loose = true;
		return 0;
	case 's':
		o->smartmap = true;
		return 0;
	case 'u':
		o->used = true;
		return 0;
	case 'k':
		o->child = true;
		return 0;
	case 'g':
		if (sscanf(optarg, "%d,%d", &o->extent, &o->kvm) != 2)
			return errprintf(err, "--given=%s: expected two descriptors, FD,FD",
					 optarg);
		return 0;
	case 'r':
		if (sscanf(optarg, "%d,%u", &o->record, &o->slot) != 2)
			return errprintf(err, "--record=%s: expected two numbers, FD,N", optarg);
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	default:
		return errprintf(err, "an option is unknown or lacks its value; see --help");
	}
}

int options_parse(struct options *o, int argc, char *const *argv, struct errbuf *err)
{
	int letter;

	*o = (struct options){ .memory = MEMORY_DEFAULT, .page = MEMORY_2M, .file = -1 };
	o->extent = o->kvm = o->record = -1;
	optind = 0; /* tests parse several command lines */
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "+m:p:cln:t:kf:g:r:hsuV", table, NULL)) != -1)
		if (set_option(o, letter, err) < 0)
			return -1;
	o->argv = argv + optind;
	if (o->help || o->version)
		return 0;
	if (optind >= argc)
		return errprintf(err, "no program is given; see --help");
	if (o->memory % (1UL << o->page))
		return errprintf(err, "--memory: not a multiple of the page size (--page)");
	return 0;
}

/*
 * Append NAME and A to *TEXT, then a comma and *B unless B is NULL. Returns the start of the
 * option. No snprintf: threads of the program call this (machine/host.h).
 */
static const char *append_option(char **text, const char *name, int a, const int *b)
{
	char *start = *text;

	strcpy(start, name);
	if (a < 0)
		strcat(start, "-1");
	else
		host_append_number(start, (unsigned)a);
	if (b) {
		strcat(start, ",");
		if (*b < 0)
			strcat(start, "-1");
		else
			host_append_number(start, (unsigned)*b);
	}
	*text = start + strlen(start) + 1;
	return start;
}

unsigned options_words(const struct options *o, const char *words[OPTIONS_WORDS],
		       char text[OPTIONS_TEXT])
{
	int slot = (int)o->slot, none = -1;
	unsigned n = 0;

	words[n++] = "nodeos-lwk";
	words[n++] = append_option(&text, "--memory=", (int)(o->memory >> 20), NULL);
	strcpy(text - 1, "M");
	text++;
	if (o->file >= 0)
		words[n++] = append_option(&text, "--file=", o->file, NULL);
	words[n++] = o->page == MEMORY_1G ? "--page=1G" : "--page=2M";
	if (o->counts)
		words[n++] = "--counts";
	if (o->child) {
		words[n++] = "--child";
		if (o->kvm >= 0)
			words[n++] = append_option(&text, "--given=", -1, &o->kvm);
		return n;
	}
	if (o->smartmap)
		words[n++] = "--smartmap"; /* a child is not a rank */
	if (o->extent >= 0 || o->kvm >= 0)
		words[n++] =
			append_option(&text, "--given=", o->extent, o->kvm >= 0 ? &o->kvm : &none);
	if (o->extent >= 0)
		words[n++] = "--used";
	if (o->record >= 0)
		words[n++] = append_option(&text, "--record=", o->record, &slot);
	return n;
}
