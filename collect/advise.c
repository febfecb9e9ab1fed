/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/advise.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/advise_print.h"
#include "collect/reports.h"
#include "host/conf.h"

static const char advise_usage[] =
	"Usage: nodeosctl contention advise [--json | --print=extra|requeue] [--weights=D,P,C]\n"
	"                                   [--dir DIR] [--conf FILE]\n"
	"Read the nodes' reports in contention_report_dir, and print which containers should move "
	"to\n"
	"other nodes so that no node has two devils. Changes nothing. Run it on the head node, as\n"
	"contention_report_user.\n"
	"\n"
	"  -j, --json           print JSON (nodeos-advice.schema.json)\n"
	"      --print=extra    print commands that write the advice into Extra of nodes\n"
	"      --print=requeue  print commands that requeue the jobs and exclude their nodes\n"
	"      --weights=D,P,C  the cost of two devils on one node, of a powered node, and of\n"
	"                       two containers that communicate from different nodes (4,1,2)\n"
	"      --dir DIR        read DIR instead of contention_report_dir\n"
	"      --conf FILE      read FILE instead of " NODEOS_CONF_PATH "\n"
	"  -h, --help           print this\n\n"
	"Manual page: man nodeosctl-contention-advise\n";

struct advise_options {
	const char *conf, *dir; /* NULL: not given on the command line */
	struct advice_weights weights;
	bool json, extra, requeue;
};

enum { ADVISE_PRINT = 256, ADVISE_WEIGHTS, ADVISE_DIR, ADVISE_CONF };

/* Print a message about a wrong value. Returns 2. */
static int refuse_value(collect_say *say, const char *option, const char *value,
			const char *expected)
{
	char text[512];

	snprintf(text, sizeof(text), "%s%.200s: expected %s", option, value, expected);
	say(text);
	say("see nodeosctl contention advise --help");
	return 2;
}

static bool parse_weights(struct advice_weights *w, const char *text)
{
	unsigned *const part[] = { &w->devils, &w->power, &w->parting };

	for (unsigned i = 0; i < 3; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || n > ADVICE_WEIGHT_MAX ||
		    *end != (i < 2 ? ',' : '\0'))
			return false;
		*part[i] = (unsigned)n;
		text = end + 1;
	}
	return true;
}

/* Returns the exit status, or -1 to continue. */
static int take_advise_option(struct advise_options *o, int option, collect_say *say)
{
	switch (option) {
	case 'j':
		o->json = true;
		return -1;
	case ADVISE_PRINT:
		o->extra = strcmp(optarg, "extra") == 0;
		o->requeue = strcmp(optarg, "requeue") == 0;
		return o->extra || o->requeue
			       ? -1
			       : refuse_value(say, "--print=", optarg, "extra or requeue");
	case ADVISE_WEIGHTS:
		return parse_weights(&o->weights, optarg)
			       ? -1
			       : refuse_value(say, "--weights=", optarg,
					      "three numbers up to 1000000, such as 4,1,2");
	case ADVISE_DIR:
		o->dir = optarg;
		return -1;
	case ADVISE_CONF:
		o->conf = optarg;
		return -1;
	case 'h':
		fputs(advise_usage, stdout);
		return 0;
	default:
		say("see nodeosctl contention advise --help");
		return 2;
	}
}

/* Returns the exit status, or -1 to continue. */
static int parse_advise_options(struct advise_options *o, int argc, char **argv, collect_say *say)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "print", required_argument, NULL, ADVISE_PRINT },
		{ "weights", required_argument, NULL, ADVISE_WEIGHTS },
		{ "dir", required_argument, NULL, ADVISE_DIR },
		{ "conf", required_argument, NULL, ADVISE_CONF },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	*o = (struct advise_options){ .weights = advice_weights_default };
	optind = 0;
	while ((c = getopt_long(argc, argv, "jh", longs, NULL)) != -1) {
		status = take_advise_option(o, c, say);
		if (status >= 0)
			return status;
	}
	if (optind != argc)
		return refuse_value(say, "unexpected ", argv[optind], "an option");
	if (o->json && (o->extra || o->requeue)) {
		say("--json and --print cannot be combined");
		return 2;
	}
	return -1;
}

static int print_advice(const struct advise_options *o, struct site *s)
{
	static struct advice advice;
	struct errbuf err = { 0 };
	const struct advice_site site = { .n_nodes = (unsigned)s->n_nodes,
					  .n = s->n,
					  .node = s->node,
					  .container = s->container,
					  .weights = o->weights };

	if (advice_make(&advice, &site, &advice_search_default, &err) < 0) {
		s->say(err.text);
		return 1;
	}
	if (o->json)
		advise_print_json(&advice, s, &o->weights);
	else if (o->extra)
		return advise_print_extra(&advice, s) < 0;
	else if (o->requeue)
		advise_print_requeue(&advice, s);
	else
		advise_print_text(&advice, s);
	return 0;
}

static int advise_site(const struct advise_options *o, struct site *s)
{
	static struct slurm_partitions partitions;
	struct slurm_node *nodes = NULL;
	struct slurm_job *jobs = NULL;
	struct errbuf err = { 0 };
	int dir = report_dir_open(s->path, &err), status = 1;

	if (dir >= 0) {
		slurm_clean_environment();
		s->n_jobs = slurm_jobs_load(&jobs, &err);
		s->n_nodes = s->n_jobs < 0 ? -1 : slurm_nodes_load(&nodes, &partitions, &err);
		s->jobs = jobs;
		s->slurm_node = nodes;
		s->partitions = &partitions;
		if (s->n_nodes >= 0 && site_read(s, dir, &err) == 0)
			status = print_advice(o, s);
		close(dir);
	}
	if (*err.text)
		s->say(err.text);
	site_free(s);
	if (s->n_jobs >= 0)
		free(jobs);
	if (s->n_nodes >= 0)
		free(nodes);
	return status;
}

int advise_command(int argc, char **argv, collect_say *say)
{
	static struct conf conf;
	struct site s = { .say = say };
	struct errbuf err = { 0 };
	struct advise_options o;
	int status = parse_advise_options(&o, argc, argv, say);
	const char *path;

	if (status >= 0)
		return status;
	path = o.conf ? o.conf : NODEOS_CONF_PATH;
	if (conf_load(&conf, path, o.conf ? geteuid() : 0, &err) == 0) {
		errclear(&err); /* without the file, all keys have their defaults */
		s.path = o.dir ? o.dir : conf.contention.report_dir;
		if (!*s.path)
			errprintf(&err, "contention_report_dir is not set; set it in %s", path);
	}
	if (*err.text) {
		say(err.text);
		return 1;
	}
	s.now = (double)time(NULL);
	return advise_site(&o, &s);
}
