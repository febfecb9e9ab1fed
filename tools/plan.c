/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/container_json.h"
#include "container/hpc_reserve.h"
#include "container/isolator.h"
#include "host/conf.h"
#include "host/isolcpus.h"
#include "jobplan/planner.h"
#include "manifest/manifest.h"
#include "ranks/rankmap.h"
#include "report/lstopo.h"
#include "tools/tool.h"

static const char usage_text[] =
	"Usage: nodeosctl plan [OPTION]... MANIFEST\n"
	"Show which CPUs and memory nodes each container of MANIFEST (\"-\": standard input) "
	"would\n"
	"get, and why. Needs neither root nor Slurm.\n"
	"\n"
	"  -t, --topology=FILE.xml|SYNTHETIC  plan for that machine (default: this one); "
	"SYNTHETIC\n"
	"                         as in hwloc(7): \"package:2 core:4 pu:2\"\n"
	"  -c, --cpus=LIST        CPUs that containers may get (default: all allowed), such as\n"
	"                         \"0-7,16\"; those of the ServiceOS are left out\n"
	"  -m, --mems=LIST        memory nodes that containers may get (default: all); those that\n"
	"                         the ServiceOS has for itself are left out\n"
	"      --serviceos=CORES  CPUs that the system keeps: a list, none, N/node, N/socket,\n"
	"                         N/numa or N/l3 (default: serviceos in nodeos.conf)\n"
	"      --serviceos-mems=LIST  all, homes, or memory nodes that the system keeps (default:\n"
	"                         serviceos_mems)\n"
	"  -n, --ntasks=N|NAME=N[,NAME=N]...  ranks per container: also show the rank map\n"
	"      --cpus-per-task=N  as srun -c\n"
	"  -O, --overcommit       allow more ranks than cores\n"
	"      --conf=FILE        read FILE instead of the installed nodeos.conf\n"
	"  -j, --json             print JSON (schema 1)\n"
	"      --svg=FILE         draw the machine with its containers instead (\"-\": standard "
	"output)\n"
	"  -h, --help             print this\n"
	"\n"
	"Exit status: 0 planned, 1 no plan (one line says why), 2 wrong usage.\n";

struct options {
	const char *topology, *cpus, *mems, *serviceos, *serviceos_mems, *ntasks, *conf_path, *svg,
		*manifest;
	unsigned cpus_per_task;
	bool json, overcommit;
};

/* The input and the result of a plan, for the functions that print them. */
struct planned {
	const struct options *o;
	struct machine *machine;
	struct conf conf;
	struct request request;
	struct service_set service;
	struct plan_input in;
	struct job_plan *plan;
	bool kept_one; /* one CPU of the node is kept free of policy hpc */
	/*
	 * memory nodes that no container gets, on a kernel that divides nodes (boot parameter
	 * fgmn=)
	 */
	struct idset withheld;
	uint64_t usable[REQUEST_CONTAINERS_MAX]; /* bytes of each container's memory nodes */
	unsigned ranks[REQUEST_CONTAINERS_MAX];
	struct idset *map[REQUEST_CONTAINERS_MAX];
	struct idset *domain; /* domains of the machine, from machine_domains() */
	unsigned n_domains;
};

/* Return the guarantee of memory: unknown if jobs without containers can use the blocks. */
static enum guarantee guarantee_of(const struct planned *p)
{
	return idset_empty(&p->withheld) || p->conf.unmanaged_mems == UNMANAGED_ALL
		       ? GUARANTEE_UNKNOWN
	       : machine_uniform(p->machine) ? GUARANTEE_UNIFORM
					     : GUARANTEE_PHYSICAL;
}

static int plan_number(const char *text, unsigned max, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > max)
		return -1;
	*out = (unsigned)n;
	return 0;
}

static int parse_ntasks(struct planned *p, struct errbuf *err)
{
	char *list, *save = NULL;
	int rc = 0;
	unsigned n;

	if (!p->o->ntasks)
		return 0;
	if (plan_number(p->o->ntasks, 65536, &n) == 0) {
		for (unsigned i = 0; i < p->request.n; i++)
			p->ranks[i] = n;
		return 0;
	}
	list = strdup(p->o->ntasks);
	for (char *word = list ? strtok_r(list, ",", &save) : NULL; word && rc == 0;
	     word = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(word, '=');
		int i;

		if (eq)
			*eq = '\0';
		i = eq ? request_find(&p->request, word) : -1;
		if (i < 0)
			rc = eq ? errprintf(
					  err,
					  "--ntasks: \"%.64s\" is not a container of the manifest "
					  "(expected N or NAME=N,...)",
					  word)
				: errprintf(err,
					    "--ntasks: \"%.64s\" is not a number of ranks up to "
					    "65536 "
					    "(expected N or NAME=N,...)",
					    word);
		else if (p->ranks[i])
			rc = errprintf(err, "--ntasks: container \"%.64s\" is named twice", word);
		else if (plan_number(eq + 1, 65536, &p->ranks[i]) < 0)
			rc = errprintf(err,
				       "--ntasks: \"%.64s\" is not a number of ranks up to 65536",
				       eq + 1);
	}
	free(list);
	return rc;
}

static int plan_map_ranks(struct planned *p, struct errbuf *err)
{
	if (machine_domains(p->machine, &p->domain, &p->n_domains, err) < 0)
		return -1;
	for (unsigned i = 0; i < p->plan->n; i++) {
		struct rankmap_in in = {
			.n_ranks = p->ranks[i],
			.cpus_per_task = p->o->cpus_per_task,
			.sized = p->request.container[i].cpus > 0,
			.overcommit = p->o->overcommit,
			.n_cores = p->plan->n_cores,
			.core = p->plan->core,
			.container = &p->plan->container[i].cpus,
			.n_domains = p->n_domains,
			.domain = p->domain,
		};

		if (!p->ranks[i])
			continue;
		p->map[i] = calloc(p->ranks[i], sizeof(struct idset));
		if (!p->map[i])
			return errprintf(err, "out of memory");
		if (rankmap_make(&in, p->map[i], err) == 0)
			continue;
		if (p->kept_one && err->code == PLAN_NO_RANK_CPUS)
			errappend(err, HPC_KEPT_ONE);
		return errwrap(err, "container %s", p->plan->container[i].name);
	}
	return 0;
}

static void put_ranks(struct json_out *j, const struct planned_container *got, void *arg)
{
	const struct planned *p = arg;
	size_t i = (size_t)(got - p->plan->container);

	jout_open(j, "ranks", '[');
	for (unsigned r = 0; r < p->ranks[i]; r++) {
		jout_open(j, NULL, '{');
		jout_number(j, "rank", r);
		jout_set(j, "cpus", &p->map[i][r]);
		jout_close(j, '}');
	}
	jout_close(j, ']');
}

/*
 * Find the CPUs and memory nodes that the plan leaves free. As in the planner, homes of divided
 * memory nodes belong to the system.
 */
static void find_free(const struct planned *p, struct idset *cpus, struct idset *mems)
{
	struct idset held;

	idset_zero(&held);
	job_plan_reserved(p->plan, &held);
	*cpus = p->in.cpus;
	idset_andnot(cpus, &held);
	*mems = p->in.mems;
	idset_andnot(mems, &p->withheld);
	for (unsigned i = 0; i < p->plan->n; i++)
		if (p->plan->container[i].confined)
			idset_andnot(mems, &p->plan->container[i].mems);
}

static void put_kind(struct json_out *j, enum memory_kind kind, const struct idset *mems,
		     bool ordinary)
{
	if (idset_empty(mems))
		return;
	jout_open(j, NULL, '{');
	jout_string(j, "kind", memory_kind_name(kind));
	jout_set(j, "mems", mems);
	jout_bool(j, "ordinary", ordinary);
	jout_close(j, '}');
}

/*
 * Print the kinds of the machine's memory nodes. A kind is printed twice if it has ordinary nodes,
 * and special ones that a driver has added.
 */
static void plan_put_memory(struct json_out *j, const struct machine *m)
{
	jout_open(j, "memory", '[');
	for (unsigned k = 0; k < MEMORY_KINDS; k++) {
		struct idset given, special;

		machine_of_kind(m, (enum memory_kind)k, &special);
		idset_and(&special, machine_mems(m));
		given = special;
		idset_and(&given, machine_ordinary(m));
		idset_andnot(&special, &given);
		put_kind(j, (enum memory_kind)k, &given, true);
		put_kind(j, (enum memory_kind)k, &special, false);
	}
	jout_close(j, ']');
}

static struct reported_container plan_container_of(const struct planned *p, unsigned i)
{
	return (struct reported_container){
		.ask = &p->request.container[i],
		.got = &p->plan->container[i],
		.conf = &p->conf,
		.node = { .alone = true,
			  .guarantee = guarantee_of(p),
			  .usable = idset_empty(&p->withheld) ? 0 : p->usable[i] },
	};
}

static void plan_print_json(const struct planned *p)
{
	struct json_out j = { .f = stdout };
	struct idset cpus, mems;

	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", REPORT_SCHEMA);
	jout_string(&j, "kind", "plan");
	jout_open(&j, "containers", '[');
	for (unsigned i = 0; i < p->plan->n; i++) {
		struct reported_container c = plan_container_of(p, i);

		report_container(&j, &c, put_ranks, (void *)p);
	}
	jout_close(&j, ']');
	find_free(p, &cpus, &mems);
	report_serviceos(&j, &p->service);
	plan_put_memory(&j, p->machine);
	jout_open(&j, "free", '{');
	jout_set(&j, "cpus", &cpus);
	jout_set(&j, "mems", &mems);
	jout_close(&j, '}');
	jout_close(&j, '}');
}

static const char *plan_list_of(const struct idset *s)
{
	static char text[IDSET_LIST_MAX];

	idset_format(s, text, sizeof(text));
	return *text ? text : "-";
}

static void plan_print_text(const struct planned *p)
{
	struct idset cpus, mems;

	for (unsigned i = 0; i < p->plan->n; i++) {
		const struct planned_container *c = &p->plan->container[i];
		struct isolator_outcome o[OUTCOMES_MAX];
		struct reported_container reported = plan_container_of(p, i);
		unsigned n = isolators_outcome(o, &reported);

		printf("%s:", c->name);
		isolators_text(stdout, &reported);
		putchar('\n');
		for (const char *w = c->why; *w;) {
			size_t len = strcspn(w, "\n");

			printf("  %.*s\n", (int)len, w);
			w += len + (w[len] == '\n');
		}
		for (unsigned k = 0; k < n; k++)
			if (o[k].outcome != OUTCOME_ENFORCED)
				printf("  %s: %s (%s)\n", o[k].isolator, outcome_name(o[k].outcome),
				       o[k].reason);
		for (unsigned r = 0; r < p->ranks[i]; r++)
			printf("  rank %u: cpus %s\n", r, plan_list_of(&p->map[i][r]));
	}
	find_free(p, &cpus, &mems);
	if (!idset_empty(&p->service.cpus)) {
		printf("ServiceOS: cpus %s", plan_list_of(&p->service.cpus));
		printf(" mems %s%s\n", plan_list_of(&p->service.mems),
		       p->service.own_mems ? "" : " (shared)");
	}
	printf("free: cpus %s", plan_list_of(&cpus));
	printf(" mems %s\n", plan_list_of(&mems));
}

static int plan_draw(const struct planned *p, struct errbuf *err)
{
	struct picture_part *part = calloc(p->plan->n + 2, sizeof(*part));
	char title[256];
	unsigned n = 0;
	int rc;

	if (!part)
		return errprintf(err, "out of memory");
	if (!idset_empty(&p->service.cpus)) {
		part[n] = (struct picture_part){ .kind = PICTURE_SERVICE, .cpus = p->service.cpus };
		if (p->service.own_mems)
			part[n].mems = p->service.mems;
		draw_label(&part[n++], "ServiceOS", "");
	}
	for (unsigned i = 0; i < p->plan->n; i++) {
		const struct planned_container *c = &p->plan->container[i];
		struct sched_given sched;
		char more[64];

		part[n] = (struct picture_part){ .kind = PICTURE_CONTAINER, .cpus = c->reserved };
		if (c->confined)
			part[n].mems = c->mems;
		outcome_sched(&sched, &p->request.container[i], &p->conf, false);
		snprintf(more, sizeof(more), ", policy %s", policy_name(sched.policy));
		draw_label(&part[n++], c->name, more);
	}
	part[n].kind = PICTURE_FREE;
	find_free(p, &part[n].cpus, &part[n].mems);
	draw_label(&part[n++], "free", "");
	snprintf(title, sizeof(title), "plan of %s",
		 strcmp(p->o->manifest, "-") == 0 ? "standard input" : p->o->manifest);
	rc = draw_svg(p->machine, title, part, n, p->o->svg, err);
	free(part);
	return rc;
}

static int load_request(struct planned *p, struct errbuf *err)
{
	const char *name = strcmp(p->o->manifest, "-") == 0 ? "standard input" : p->o->manifest;
	char *text;
	size_t len;
	int rc;

	if (manifest_read_file(&text, &len, p->o->manifest, err) < 0)
		return -1;
	rc = manifest_load(&p->request, NULL, name, text, len, err);
	free(text);
	return rc;
}

static int choose_service(struct planned *p, const struct machine *m, struct errbuf *err)
{
	struct service_ask ask = p->conf.service;
	struct machine *whole = NULL;
	int rc;

	/* plan_check_options() has checked both values */
	if (p->o->serviceos)
		conf_parse_service(&ask, p->o->serviceos);
	if (p->o->serviceos_mems)
		conf_parse_service_mems(&ask, p->o->serviceos_mems);
	if (ask.kind == SERVICE_NONE && p->o->serviceos_mems && ask.own_mems)
		return errprintf(err,
				 "--serviceos-mems=%.100s: a ServiceOS without cores has no memory "
				 "nodes: give its cores, too (--serviceos)",
				 p->o->serviceos_mems);
	/* the ServiceOS is chosen from the whole node, even if this process may use only a part */
	if (!p->o->topology && machine_load_whole(&whole, err) < 0)
		return -1;
	rc = service_choose(&p->service, whole ? whole : m, &ask, err);
	machine_free(whole);
	return rc;
}

static void say_left_out(const char *option, const char *what, const struct idset *all,
			 const struct idset *offered, struct errbuf *err)
{
	struct idset out = *all;
	char list[128];

	idset_andnot(&out, offered);
	if (!idset_empty(&out))
		errappend(err, " (%s leaves out %s %s)", option, what, idset_brief(list, &out));
}

/* ERR reports too few CPUs or memory nodes: append which of them are withheld, and why. */
static void say_withheld(const struct planned *p, const struct machine *m, struct errbuf *err)
{
	struct idset offered, mems = *machine_mems(m);
	char list[128];

	if (err->code == PLAN_NO_CPUS) {
		if (!idset_empty(&p->service.cpus))
			errappend(err, " (%u threads, CPUs %s, are kept for the ServiceOS)",
				  idset_count(&p->service.cpus),
				  idset_brief(list, &p->service.cpus));
		offered = p->in.cores;
		idset_or(&offered, &p->service.cpus);
		if (p->o->cpus)
			say_left_out("--cpus", "CPUs", machine_cpus(m), &offered, err);
		return;
	}
	if (p->service.own_mems)
		errappend(err, " (memory nodes %s are kept for the ServiceOS)",
			  idset_brief(list, &p->service.mems));
	if (!idset_empty(&p->withheld))
		errappend(err,
			  " (memory nodes %s are homes of blocks, or have hardly any usable "
			  "memory)",
			  idset_brief(list, &p->withheld));
	offered = p->in.mems;
	if (p->service.own_mems)
		idset_or(&offered, &p->service.mems);
	idset_or(&offered, &p->withheld);
	idset_and(&mems, machine_ordinary(m));
	if (p->o->mems)
		say_left_out("--mems", "memory nodes", &mems, &offered, err);
}

static int look_at_blocks(struct planned *p, struct machine *m, struct errbuf *err)
{
	if (!p->o->topology && planner_note_usable(m, NULL, err) < 0)
		return -1;
	machine_withheld(m, &p->withheld);
	return 0;
}

/* Parse the value of --cpus or --mems: a list of ids that the machine has. It must not be empty. */
static int read_offer(struct idset *out, const char *option, const char *value, const char *has,
		      const struct idset *all, struct errbuf *err)
{
	char list[128];

	if (idset_parse(out, value, err) < 0)
		return errwrap(err, "%s", option);
	if (idset_empty(out))
		return errprintf(err, "%s=%.100s: the list is empty (this machine has %s%s)",
				 option, value, has, idset_brief(list, all));
	if (!idset_subset(out, all))
		return errprintf(err, "%s=%.100s: this machine has %s%s", option, value, has,
				 idset_brief(list, all));
	return 0;
}

/* Fill P->in with the CPUs and memory nodes that containers may get. */
static int offer_all(struct planned *p, const struct machine *m, struct errbuf *err)
{
	char list[128];

	p->in.cpus = *machine_cpus(m);
	p->in.mems = *machine_mems(m);
	if (p->o->cpus &&
	    read_offer(&p->in.cpus, "--cpus", p->o->cpus, "", machine_cpus(m), err) < 0)
		return -1;
	if (p->o->mems &&
	    read_offer(&p->in.mems, "--mems", p->o->mems, "memory in ", machine_mems(m), err) < 0)
		return -1;
	idset_andnot(&p->in.cpus, &p->service.cpus);
	if (idset_empty(&p->in.cpus))
		return errprintf(err,
				 "the ServiceOS keeps all of these CPUs (%s): give other CPUs, or "
				 "--serviceos=none",
				 idset_brief(list, &p->service.cpus));
	if (p->service.own_mems)
		idset_andnot(&p->in.mems, &p->service.mems);
	if (p->o->mems && !idset_empty(&p->withheld) && idset_subset(&p->in.mems, &p->withheld))
		return errprintf(err,
				 "--mems=%.100s: no container gets these nodes: they are homes of "
				 "blocks, or blocks with hardly any usable memory",
				 p->o->mems);
	if (p->service.own_mems && idset_empty(&p->in.mems))
		return errprintf(err,
				 "the ServiceOS keeps all of these memory nodes (%s): give other "
				 "nodes, or --serviceos=none",
				 idset_brief(list, &p->service.mems));
	return 0;
}

static int tools_plan_make(struct planned *p, struct errbuf *err)
{
	struct machine *m = NULL;
	int rc;

	if (conf_load(&p->conf, p->o->conf_path ? p->o->conf_path : NODEOS_CONF_PATH,
		      p->o->conf_path ? geteuid() : 0, err) < 0 ||
	    load_request(p, err) < 0 || parse_ntasks(p, err) < 0)
		return -1;
	/* root's shell may be confined to the ServiceOS, so load the whole machine */
	rc = p->o->topology   ? machine_load_arg(&m, p->o->topology, err)
	     : geteuid() == 0 ? machine_load_whole(&m, err)
			      : machine_load_this(&m, err);
	if (rc < 0)
		return -1;
	if (look_at_blocks(p, m, err) < 0 || choose_service(p, m, err) < 0) {
		machine_free(m);
		return -1;
	}
	rc = offer_all(p, m, err);
	p->in.cores = p->in.cpus;
	p->kept_one = rc == 0 &&
		      hpc_keep_one(&p->in.cpus, machine_cpus(m), &p->request, &p->conf, false);
	if (p->kept_one && idset_empty(&p->in.cpus))
		rc = errprintf(
			err, "no CPU is left: one CPU of the node stays outside of policy \"hpc\"");
	p->in.default_mems = plan_input_default_mems(p->conf.default_mems, p->service.own_mems,
						     !idset_empty(&p->withheld));
	if (rc == 0)
		rc = planner_make(&p->plan, m, &p->request, &p->in, err);
	if (rc < 0 && (err->code == PLAN_NO_CPUS || err->code == PLAN_NO_MEMS))
		say_withheld(p, m, err);
	if (rc < 0 && p->kept_one && err->code == PLAN_NO_CPUS)
		errappend(err, " (" HPC_KEPT ")");
	for (unsigned i = 0; rc == 0 && i < p->plan->n; i++)
		p->usable[i] = machine_usable(m, &p->plan->container[i].mems);
	p->machine = m;
	return rc < 0 ? -1 : plan_map_ranks(p, err);
}

/* Store the value of option C in O. Returns -1 to continue, or the exit status. */
static int plan_take_option(struct options *o, int c)
{
	switch (c) {
	case 't':
		o->topology = optarg;
		break;
	case 'c':
		o->cpus = optarg;
		break;
	case 'm':
		o->mems = optarg;
		break;
	case 'S':
		o->serviceos = optarg;
		break;
	case 'M':
		o->serviceos_mems = optarg;
		break;
	case 'n':
		o->ntasks = optarg;
		break;
	case 'O':
		o->overcommit = true;
		break;
	case 'F':
		o->conf_path = optarg;
		break;
	case 'j':
		o->json = true;
		break;
	case 'V':
		o->svg = optarg;
		break;
	case 'C':
		if (plan_number(optarg, 65535, &o->cpus_per_task) < 0 || o->cpus_per_task == 0)
			return tool_error(2,
					  "plan: --cpus-per-task=%s: expected a number "
					  "from 1 to 65535",
					  optarg);
		break;
	default:
		return tool_help(c, "plan", usage_text);
	}
	return -1;
}

/*
 * Check that the options can be combined, and the values for the ServiceOS. Returns -1 to continue,
 * or the exit status.
 */
static int plan_check_options(const struct options *o, const char *tool)
{
	struct service_ask ask;

	if (o->svg && o->json)
		return tool_error(2, "plan: --json and --svg: expected one of them");
	if (o->serviceos && conf_parse_service(&ask, o->serviceos) < 0)
		return tool_error(2, "%s: --serviceos=%.100s: expected %s", tool, o->serviceos,
				  conf_service_allowed);
	if (o->serviceos_mems && conf_parse_service_mems(&ask, o->serviceos_mems) < 0)
		return tool_error(2, "%s: --serviceos-mems=%.100s: expected %s", tool,
				  o->serviceos_mems, conf_service_mems_allowed);
	return -1;
}

/* Parse the options. Returns -1 to continue, or the exit status. */
static int plan_parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "topology", required_argument, NULL, 't' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "mems", required_argument, NULL, 'm' },
		{ "ntasks", required_argument, NULL, 'n' },
		{ "cpus-per-task", required_argument, NULL, 'C' },
		{ "overcommit", no_argument, NULL, 'O' },
		{ "serviceos", required_argument, NULL, 'S' },
		{ "serviceos-mems", required_argument, NULL, 'M' },
		{ "conf", required_argument, NULL, 'F' },
		{ "json", no_argument, NULL, 'j' },
		{ "svg", required_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	optind = 1;
	while ((c = tool_getopt(argc, argv, "t:c:m:n:Ojh", longs)) != -1) {
		status = plan_take_option(o, c);
		if (status >= 0)
			return status;
	}
	if (argc - optind != 1)
		return tool_wrong(argv[0], optind == argc ? "no MANIFEST given"
							  : "more than one MANIFEST given");
	o->manifest = argv[optind];
	return plan_check_options(o, argv[0]);
}

/*
 * If a plan for this machine has isolated CPUs, warn: users may not expect that the kernel does not
 * balance load on them.
 */
static void warn_of_isolcpus(const struct planned *p)
{
	struct idset isolated, given;
	char list[128];

	if (p->o->topology)
		return;
	idset_zero(&given);
	for (unsigned i = 0; i < p->plan->n; i++)
		idset_or(&given, &p->plan->container[i].cpus);
	isolcpus_read("", &isolated);
	idset_and(&isolated, &given);
	if (!idset_empty(&isolated))
		tool_error(0, "plan: warning: CPUs %s are " ISOLCPUS_MEANS,
			   idset_brief(list, &isolated));
}

int tool_plan(int argc, char **argv)
{
	static struct planned p;
	struct options o = { 0 };
	struct errbuf err = { 0 };
	int status = plan_parse_options(&o, argc, argv);

	if (status >= 0)
		return status;
	p.o = &o;
	if (tools_plan_make(&p, &err) < 0) {
		/* an error in a manifest begins with file and line, like a compiler's message */
		status = tool_message(1, "%s", err.text);
	} else {
		status = 0;
		warn_of_isolcpus(&p);
		if (o.svg)
			status = plan_draw(&p, &err) < 0 ? tool_error(1, "plan: %s", err.text) : 0;
		else if (o.json)
			plan_print_json(&p);
		else
			plan_print_text(&p);
	}
	machine_free(p.machine);
	job_plan_free(p.plan);
	free(p.domain);
	for (unsigned i = 0; i < p.request.n; i++)
		free(p.map[i]);
	return status;
}
