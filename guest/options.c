/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "guest/agent/frames.h"

#define MEMORY_DEFAULT (UINT64_C(512) << 20)
#define GRACE_DEFAULT 20 /* less than Slurm's KillWait, 30 s */
#define GRACE_MAX 3600
#define VARIABLE_WORDS 32

static const struct option guest_table[] = {
	{ "image", required_argument, NULL, 'i' },     { "memory", required_argument, NULL, 'm' },
	{ "page", required_argument, NULL, 'p' },      { "cpus", required_argument, NULL, 'c' },
	{ "mems", required_argument, NULL, 'M' },      { "emulate", no_argument, NULL, 'e' },
	{ "dry-run", no_argument, NULL, 'n' },	       { "grace", required_argument, NULL, 'g' },
	{ "qemu", required_argument, NULL, 'q' },      { "kernel", required_argument, NULL, 'k' },
	{ "modules", required_argument, NULL, 'o' },   { "agent", required_argument, NULL, 'a' },
	{ "virtiofsd", required_argument, NULL, 'f' }, { "network", required_argument, NULL, 'N' },
	{ "given", required_argument, NULL, 'G' },     { "rank", required_argument, NULL, 'r' },
	{ "restore", required_argument, NULL, 'R' },   { "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },	       { NULL, 0, NULL, 0 },
};

/* Parse a size, such as "512M" or "4G". Returns bytes, 0 when TEXT is no such size. */
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
		return errprintf(err, "--%s: the list is empty", name);
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
		return errprintf(err, "--page=%s: not a size of huge pages (allowed: 2M, 1G)",
				 optarg);
	return 0;
}

static int set_given(struct guest_options *o, struct errbuf *err)
{
	const char *at = optarg;
	char *end;

	o->kvm_fd = (int)strtol(at, &end, 10);
	while (end != at && *end == ',' && o->memories < GUEST_NODES_MAX) {
		at = end + 1;
		o->memory_fd[o->memories++] = (int)strtol(at, &end, 10);
	}
	if (end == at || *end)
		return errprintf(err, "--given=%s: expected descriptors, KVM[,MEMORY]...", optarg);
	return 0;
}

static int set_rank(struct guest_options *o, struct errbuf *err)
{
	char end;

	if (sscanf(optarg, "%u,%u,%d,%d%c", &o->rank, &o->ranks, &o->meet_send, &o->meet_receive,
		   &end) != 4 ||
	    o->rank >= o->ranks || o->ranks > AGENT_PROGRAMS_MAX || o->meet_send < 0)
		return errprintf(err,
				 "--rank=%s: expected NUMBER,RANKS,SEND,RECEIVE, of at most "
				 "%u ranks",
				 optarg, AGENT_PROGRAMS_MAX);
	return 0;
}

static int set_network(struct guest_options *o, struct errbuf *err)
{
	o->network = strcmp(optarg, "user") == 0;
	if (!o->network && strcmp(optarg, "none") != 0)
		return errprintf(err, "--network=%s: not a kind of network (allowed: user, none)",
				 optarg);
	return 0;
}

/* The option LETTER whose value is a file. Returns NULL if there is no such option. */
static const char **file_option(struct guest_options *o, int letter)
{
	switch (letter) {
	case 'i':
		return &o->image;
	case 'R':
		return &o->restore;
	case 'q':
		return &o->qemu;
	case 'k':
		return &o->kernel;
	case 'o':
		return &o->modules;
	case 'a':
		return &o->agent;
	case 'f':
		return &o->virtiofsd;
	default:
		return NULL;
	}
}

static int set_guest_option(struct guest_options *o, int letter, struct errbuf *err)
{
	const char **file = file_option(o, letter);

	if (file) {
		*file = optarg;
		return 0;
	}
	switch (letter) {
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
			return errprintf(err, "--grace=%s: not a number of seconds from 1 to %d",
					 optarg, GRACE_MAX);
		return 0;
	case 'N':
		return set_network(o, err);
	case 'G':
		return set_given(o, err);
	case 'r':
		return set_rank(o, err);
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

static int parse_words(struct guest_options *o, int argc, char *const *argv, struct errbuf *err)
{
	int letter;

	opterr = 0;
	optind = 0;
	while ((letter = getopt_long(argc, argv, "+i:m:p:c:M:eng:q:k:o:a:f:N:G:r:R:hV", guest_table,
				     NULL)) != -1)
		if (set_guest_option(o, letter, err) < 0)
			return -1;
	return 0;
}

/*
 * Parse the words of GUEST_VARIABLE, and remove the variable from the program's environment. The
 * words stay in memory.
 */
static int parse_variable(struct guest_options *o, char *program, struct errbuf *err)
{
	char *text = getenv(GUEST_VARIABLE), *word[VARIABLE_WORDS + 1] = { program }, *at = NULL;
	int n = 1;

	if (!text)
		return 0;
	text = strdup(text);
	if (!text)
		return errprintf(err, "out of memory");
	unsetenv(GUEST_VARIABLE);
	for (char *w = strtok_r(text, " ", &at); w && n < VARIABLE_WORDS;
	     w = strtok_r(NULL, " ", &at))
		word[n++] = w;
	return parse_words(o, n, word, err) < 0 ? errwrap(err, GUEST_VARIABLE) : 0;
}

int guest_options_parse(struct guest_options *o, int argc, char *const *argv, struct errbuf *err)
{
	*o = (struct guest_options){
		.memory = MEMORY_DEFAULT,
		.grace = GRACE_DEFAULT,
		.network = true,
		.kvm_fd = -1,
		.ranks = 1,
		.meet_send = -1,
		.meet_receive = -1,
	};
	if (parse_variable(o, argv[0], err) < 0 || parse_words(o, argc, argv, err) < 0)
		return -1;
	if (o->help || o->version)
		return 0;
	o->argv = argv[optind] ? argv + optind : NULL;
	if (o->image && o->restore)
		return errprintf(err, "--image and --restore: a saved guest has its image already");
	if (!o->image && !o->restore && !o->argv)
		return errprintf(err, "neither --image=FILE nor a program; see --help");
	if (!(o->image || o->restore) || !o->argv)
		return 0;
	return errprintf(err, "%s: a guest with an image takes no program", o->argv[0]);
}
