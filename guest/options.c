/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define MEMORY_DEFAULT (UINT64_C(512) << 20)
#define GRACE_DEFAULT 20 /* Slurm's KillWait is 30 s */
#define GRACE_MAX 3600

static const struct option guest_table[] = {
	{ "image", required_argument, NULL, 'i' },
	{ "memory", required_argument, NULL, 'm' },
	{ "page", required_argument, NULL, 'p' },
	{ "cpus", required_argument, NULL, 'c' },
	{ "mems", required_argument, NULL, 'M' },
	{ "emulate", no_argument, NULL, 'e' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "grace", required_argument, NULL, 'g' },
	{ "qemu", required_argument, NULL, 'q' },
	{ "kernel", required_argument, NULL, 'k' },
	{ "modules", required_argument, NULL, 'o' },
	{ "agent", required_argument, NULL, 'a' },
	{ "virtiofsd", required_argument, NULL, 'f' },
	{ "given", required_argument, NULL, 'G' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* "512M", "4G": bytes, 0 when it is no such size. */
static uint64_t memory_size(const char *text)
{
	unsigned long long n;
	uint64_t bytes;
	char *end;
	int shift;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	shift = strcmp(end, "M") == 0 ? 20 : strcmp(end, "G") == 0 ? 30 : 0;
	if (errno || !shift || n > GUEST_MEMORY_MAX >> shift)
		return 0;
	bytes = (uint64_t)n << shift;
	return bytes < GUEST_MEMORY_MIN ? 0 : bytes;
}

static int set_ids(struct idset *set, bool *given, const char *name, struct errbuf *err)
{
	if (idset_parse(set, optarg, err) < 0)
		return errwrap(err, "--%s", name);
	if (idset_empty(set))
		return errprintf(err, "--%s: an empty list", name);
	*given = true;
	return 0;
}

static int set_huge(struct guest_options *o, struct errbuf *err)
{
	if (strcmp(optarg, "2M") == 0)
		o->page = UINT64_C(2) << 20;
	else if (strcmp(optarg, "1G") == 0)
		o->page = UINT64_C(1) << 30;
	else
		return errprintf(err, "--page=%s: 2M or 1G", optarg);
	return 0;
}

static int set_given(struct guest_options *o, struct errbuf *err)
{
	char end;

	if (sscanf(optarg, "%d,%d%c", &o->memory_fd, &o->kvm_fd, &end) != 2)
		return errprintf(err, "--given=%s: not two numbers", optarg);
	return 0;
}

static int set_guest_option(struct guest_options *o, int letter, struct errbuf *err)
{
	switch (letter) {
	case 'i':
		o->image = optarg;
		return 0;
	case 'm':
		o->memory = memory_size(optarg);
		return o->memory ? 0
				 : errprintf(err, "--memory=%s: not a size from 32M to 65536G",
					     optarg);
	case 'p':
		return set_huge(o, err);
	case 'c':
		return set_ids(&o->cpus, &o->has_cpus, "cpus", err);
	case 'M':
		return set_ids(&o->mems, &o->has_mems, "mems", err);
	case 'e':
		o->emulated = true;
		return 0;
	case 'n':
		o->dry_run = true;
		return 0;
	case 'g':
		if (word_parse_number(optarg, 1, GRACE_MAX, &o->grace) < 0)
			return errprintf(err, "--grace=%s: seconds, 1 to %d", optarg, GRACE_MAX);
		return 0;
	case 'q':
		o->qemu = optarg;
		return 0;
	case 'k':
		o->kernel = optarg;
		return 0;
	case 'o':
		o->modules = optarg;
		return 0;
	case 'a':
		o->agent = optarg;
		return 0;
	case 'f':
		o->virtiofsd = optarg;
		return 0;
	case 'G':
		return set_given(o, err);
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

int guest_options_parse(struct guest_options *o, int argc, char *const *argv, struct errbuf *err)
{
	int letter;

	*o = (struct guest_options){
		.memory = MEMORY_DEFAULT,
		.grace = GRACE_DEFAULT,
		.memory_fd = -1,
		.kvm_fd = -1,
	};
	opterr = 0;
	optind = 0;
	while ((letter = getopt_long(argc, argv, "+i:m:p:c:M:eng:q:k:o:a:f:G:hV", guest_table,
				     NULL)) != -1)
		if (set_guest_option(o, letter, err) < 0)
			return -1;
	if (o->help || o->version)
		return 0;
	o->argv = argv[optind] ? argv + optind : NULL;
	if (!o->image && !o->argv)
		return errprintf(err, "neither --image=FILE nor a program; see --help");
	if (o->image && o->argv)
		return errprintf(err, "%s: a guest with an image takes no program", o->argv[0]);
	return 0;
}
