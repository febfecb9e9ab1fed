/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/json_out.h"
#include "container/container_json.h"
#include "host/conf.h"
#include "jobplan/planner.h"
#include "manifest/request.h"
#include "report/kernel_cmdline.h"
#include "report/node_state.h"
#include "serviceos/provision.h"
#include "serviceos/state.h"
#include "serviceos/units.h"
#include "tools/tool.h"
#include "topology/machine.h"

static const char provision_usage[] =
	"Usage: nodeosctl provision [OPTION]...\n"
	"Confine this node's system (daemons, logins, kernel threads, workqueues, interrupts) to "
	"the cores\n"
	"and memory nodes that serviceos and serviceos_mems in nodeos.conf name. For root. A "
	"second run\n"
	"completes the first one, and applies a changed nodeos.conf.\n"
	"\n"
	"  -n, --dry-run          change nothing, show every change that a run makes\n"
	"  -v, --verbose          show every change, and what this kernel does not move\n"
	"      --cmdline          print the matching kernel parameters and lines of slurm.conf\n"
	"  -t, --topology=FILE.xml|SYNTHETIC  with --cmdline: print them for that machine\n"
	"                         (default: this one)\n"
	"      --blocks=SIZE      with --cmdline: blocks of memory of SIZE, such as 8G\n"
	"      --conf=FILE        with --cmdline and --dry-run: use that nodeos.conf\n"
	"  -j, --json             print JSON (schema 1)\n"
	"  -h, --help             print this\n"
	"\n"
	"Exit status: 0 done, 1 failed (one line says why), 2 wrong usage.\n";

static const char unprovision_usage[] =
	"Usage: nodeosctl unprovision [OPTION]...\n"
	"Put back what nodeosctl provision changed. For root.\n"
	"\n"
	"  -n, --dry-run          change nothing, show what a run puts back\n"
	"  -v, --verbose          show every change, and what this kernel does not move\n"
	"  -j, --json             print JSON (schema 1)\n"
	"  -h, --help             print this\n"
	"\n"
	"Exit status: 0 done, or nothing to do; 1 failed (one line says why); 2 wrong usage.\n";

struct options {
	const char *usage;
	bool dry, verbose, cmdline, json;
	const char *topology, *conf_path;
	struct cmdline_ask ask;
	unsigned put_back; /* how many changes of the previous ServiceOS are undone */
	struct json_out j;
	char *text; /* JSON text that J writes, printed at the end */
	size_t size;
};

static void provision_say(const struct service_item *it, const char *to, void *arg)
{
	struct options *o = arg;
	char name[ITEM_NAME_MAX + 1], found[IDSET_LIST_MAX], text[IDSET_LIST_MAX];

	if (o->json) {
		jout_open(&o->j, NULL, '{');
		jout_string(&o->j, "what", *it->label ? it->label : NULL);
		snprintf(name, sizeof(name), "%s%s", it->kind == ITEM_THREAD ? "" : "/", it->name);
		jout_string(&o->j, it->kind == ITEM_THREAD ? "thread" : "path", name);
		jout_string(&o->j, "found",
			    it->kind == ITEM_DROPIN && !it->there
				    ? NULL
				    : service_item_shown(it, it->found, found));
		jout_string(&o->j, "new", to ? service_item_shown(it, to, text) : NULL);
		jout_close(&o->j, '}');
		return;
	}
	if ((!o->dry && !o->verbose) ||
	    (it->kind == ITEM_THREAD && it->process && it->process != it->pid))
		return; /* print a process, but not its threads */
	if (it->kind == ITEM_DROPIN)
		printf("%s /%s%s%s%s\n", to ? "write" : "remove", it->name, *it->label ? " (" : "",
		       it->label, *it->label ? ")" : "");
	else
		printf("%s: %s -> %s\n", it->label,
		       *it->found ? service_item_shown(it, it->found, found) : "-",
		       service_item_shown(it, to, text));
}

static void provision_cannot(const struct service_item *it, const char *why, void *arg)
{
	struct options *o = arg;
	char found[IDSET_LIST_MAX];

	if (!o->json && o->verbose && it->kind == ITEM_DROPIN)
		printf("/%s: %s\n", it->name, why);
	else if (!o->json && o->verbose &&
		 (it->kind != ITEM_THREAD || !it->process || it->process == it->pid))
		printf("%s: stays on %s: %s\n", it->label, service_item_shown(it, it->found, found),
		       why);
}

static const char *provision_list_of(const struct idset *s)
{
	static char text[IDSET_LIST_MAX];

	idset_format(s, text, sizeof(text));
	return *text ? text : "-";
}

static const char *list_without(const struct idset *s, const struct idset *others)
{
	struct idset left = *s;

	idset_andnot(&left, others);
	return provision_list_of(&left);
}

static void provision_begin(struct options *o, const struct service_set *s)
{
	if (!o->json)
		return;
	o->j.f = open_memstream(&o->text, &o->size);
	if (!o->j.f)
		o->j.f = stdout;
	jout_open(&o->j, NULL, '{');
	jout_number(&o->j, "schema", REPORT_SCHEMA);
	report_serviceos(&o->j, s);
	jout_open(&o->j, "changes", '[');
}

static void provision_end(struct options *o, const struct provision *p, const char *done)
{
	if (o->json) {
		jout_close(&o->j, ']');
		jout_number(&o->j, "changed", p->changed);
		jout_number(&o->j, "cannot_change", p->fixed);
		jout_number(&o->j, "held", p->held);
		jout_bool(&o->j, "waiting", p->waiting);
		jout_number(&o->j, "put_back", o->put_back);
		jout_bool(&o->j, "dry_run", o->dry);
		jout_close(&o->j, '}');
		if (o->j.f != stdout && fclose(o->j.f) == 0)
			fputs(o->text, stdout);
		return;
	}
	printf("ServiceOS: cpus %s", provision_list_of(&p->set.cpus));
	printf(" mems %s%s: %s, %u change%s%s", provision_list_of(&p->set.mems),
	       p->set.own_mems ? "" : " (shared)", done, p->changed, p->changed == 1 ? "" : "s",
	       o->dry ? " to make" : "");
	if (o->put_back)
		printf(", after %u to put back the ServiceOS that %s in force", o->put_back,
		       o->dry ? "is" : "was");
	if (p->fixed)
		printf(", %u item%s that this kernel cannot move (--verbose, nodeosctl verify)",
		       p->fixed, p->fixed == 1 ? "" : "s");
	putchar('\n');
	fflush(stdout);
	if (p->waiting)
		fputs("nodeosctl: users' processes are running: memory nodes stay as they are "
		      "until the next boot, or until provision runs after these processes have "
		      "ended (--verbose shows them)\n",
		      stderr);
	if (p->held)
		fprintf(stderr,
			"nodeosctl: %u process%s outside of the ServiceOS, in a systemd unit that "
			"has CPUs of its own (--verbose, nodeosctl verify)\n",
			p->held, p->held == 1 ? " stays" : "es stay");
}

/*
 * Refuse a ServiceOS with CPUs or memory nodes of containers: the system would run there, too.
 * Refuse any change while a container is an isolated partition, which relies on the workqueues'
 * mask (host/workqueue.h).
 */
static int none_in_the_way(const struct node_state *s, const struct service_set *set,
			   struct errbuf *err)
{
	struct idset held;
	int rc = 0;

	for (unsigned i = 0; i < s->n_jobs; i++)
		for (unsigned k = 0; rc == 0 && k < s->job[i]->n_steps; k++)
			if (s->job[i]->step[k].partition == PARTITION_ISOLATED)
				rc = errprintf(err,
					       "a container of job %u is an isolated partition: "
					       "wait for its step, or drain the node",
					       s->job[i]->job_id);
	for (unsigned i = 0; rc == 0 && i < s->n_jobs; i++) {
		idset_zero(&held);
		job_plan_reserved(s->job[i]->plan, &held);
		for (unsigned k = 0; k < s->job[i]->n_steps; k++)
			job_plan_reserved(s->job[i]->step[k].plan, &held);
		idset_and(&held, &set->cpus);
		if (!idset_empty(&held))
			rc = errprintf(err,
				       "CPUs %.200s belong to containers of job %u: drain the node "
				       "first, or choose other CPUs",
				       provision_list_of(&held), s->job[i]->job_id);
		if (rc < 0 || !set->own_mems)
			continue;
		held = s->job[i]->share;
		job_plan_mems(s->job[i]->plan, false, &held);
		for (unsigned k = 0; k < s->job[i]->n_steps; k++)
			job_plan_mems(s->job[i]->step[k].plan, false, &held);
		idset_and(&held, &set->mems);
		if (!idset_empty(&held))
			rc = errprintf(err,
				       "containers of job %u may have memory on nodes %.200s: "
				       "drain the node first, or choose other nodes",
				       s->job[i]->job_id, provision_list_of(&held));
	}
	return rc;
}

static int check_containers(const struct service_set *set, struct errbuf *err)
{
	struct node_state s;
	int rc;

	if (node_state_load(&s, err) < 0)
		return -1;
	rc = none_in_the_way(&s, set, err);
	node_state_free(&s);
	return rc;
}

static bool same_service(const struct service_set *a, const struct service_set *b)
{
	return service_same(a, b) && strcmp(a->except, b->except) == 0;
}

/*
 * Save the set of P. The ledger is locked meanwhile, so that no concurrent launch gives CPUs or
 * memory nodes of the new ServiceOS to a container.
 */
static int save(const struct provision *p, struct errbuf *err)
{
	struct service_set now;
	struct node_state s;
	struct ledger *l;
	int rc;

	if (service_state_load(&now, p->conf->state_dir, err) == 1 && same_service(&now, &p->set))
		return 0;
	if (node_state_lock(&s, (uid_t)-1, 0, &l, err) < 0)
		return -1;
	rc = none_in_the_way(&s, &p->set, err);
	if (rc == 0)
		rc = service_state_save(p->dir, &p->set, err);
	ledger_close(l);
	node_state_free(&s);
	return rc;
}

/* Open the state directory, and lock it against other provision commands until the exit. */
static int open_state(const struct conf *conf, struct errbuf *err)
{
	int lock, dir = dir_open_private(conf->state_dir, err);
	unsigned tries = 0;

	if (dir < 0)
		return -1;
	lock = openat(dir, "serviceos.lock", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	for (unsigned i = 0; lock >= 0 && i < 600 && flock(lock, LOCK_EX | LOCK_NB) < 0; i++) {
		usleep(200000);
		tries = i + 1;
	}
	if (lock < 0 || tries == 600) {
		errprintf(err, "%s/serviceos.lock: %s", conf->state_dir,
			  lock < 0 ? strerror(errno)
				   : "another nodeosctl provision or unprovision holds it (see "
				     "fuser)");
		close(dir);
		return -1;
	}
	return dir;
}

static int provision_choose(struct service_set *set, const struct conf *conf,
			    const struct options *o, struct machine **m, struct errbuf *err)
{
	const char *path = o->conf_path ? o->conf_path : NODEOS_CONF_PATH;
	struct service_set now;
	struct errbuf ignored;
	int rc = o->topology ? machine_load_arg(m, o->topology, err) : machine_load_whole(m, err);

	if (rc == 0 && !o->topology && planner_note_usable(*m, NULL, err) < 0) {
		machine_free(*m);
		*m = NULL;
		rc = -1;
	}

	if (rc < 0)
		return -1;
	if (service_choose(set, *m, &conf->service, err) < 0)
		return errwrap(err, "%s", path);
	if (conf->service.kind != SERVICE_NONE)
		return 0;
	if (!o->cmdline && service_state_load(&now, conf->state_dir, &ignored) == 1)
		return errprintf(err,
				 "serviceos is none in %s, but this node is provisioned (CPUs "
				 "%.200s): run nodeosctl unprovision",
				 path, provision_list_of(&now.cpus));
	return errprintf(err,
			 "serviceos is none in %s: set it to the system's cores, for example "
			 "\"serviceos = 1/node\"",
			 path);
}

static int begin_provision(struct provision *p, struct errbuf *err)
{
	p->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->root < 0)
		return errprintf(err, "/: %s", strerror(errno));
	if (faccessat(p->root, UNITS_DIR, F_OK, 0) < 0)
		return errprintf(err, "/" UNITS_DIR ": %s: systemd does not run this system",
				 strerror(errno));
	p->dir = open_state(p->conf, err);
	return p->dir < 0 ? -1 : 0;
}

static int load_conf(struct conf *conf, const struct options *o, struct errbuf *err)
{
	return conf_load(conf, o->conf_path ? o->conf_path : NODEOS_CONF_PATH,
			 o->conf_path ? geteuid() : 0, err);
}

/*
 * If nodeos.conf has changed, put everything back first, so that the journal does not record values
 * of the old ServiceOS as original ones. Refuse if CPUs of the ServiceOS are offline: a new choice
 * would move the ServiceOS to CPUs that containers may have.
 */
static int take_over(struct options *o, struct provision *p, const struct idset *online,
		     struct errbuf *err)
{
	struct service_set now;
	struct provision undo = *p;
	int rc = service_state_load(&now, p->conf->state_dir, err);

	if (rc == 0)
		return check_containers(&p->set, err);
	/* if the state file cannot be read, undo what the journal has, and write a new file */
	if (rc < 0 && p->dry)
		return -1;
	if (!idset_subset(&now.cpus, online))
		return errprintf(err,
				 "CPUs %.200s of the ServiceOS are offline: bring them online, or "
				 "run nodeosctl unprovision",
				 list_without(&now.cpus, online));
	if (same_service(&now, &p->set))
		return 0;
	if (check_containers(&p->set, err) < 0)
		return -1;
	undo.set = now;
	undo.keep_state = true;
	rc = provision_undo(&undo, err);
	o->put_back = undo.changed;
	return rc < 0 ? -1 : 0;
}

/* Warn of names in UNITS that systemd does not know, such as mistyped ones. */
static void warn_unknown(const char *units)
{
	char unit[256];

	for (; *units; units += strspn(units, " ")) {
		size_t len = strcspn(units, " ");

		snprintf(unit, sizeof(unit), "%.*s", (int)len, units);
		if (!service_unit_known(unit))
			fprintf(stderr,
				"nodeosctl: provision: serviceos_except: systemd does not know "
				"the unit %s\n",
				unit);
		units += len;
	}
}

static int provision(struct options *o, struct errbuf *err)
{
	struct conf conf;
	struct provision p = { .conf = &conf,
			       .dry = o->dry,
			       .reload = service_units_reload,
			       .save = save,
			       .say = provision_say,
			       .cannot = provision_cannot,
			       .arg = o };
	struct machine *m = NULL;
	struct idset m_cpus;
	int rc;

	if (geteuid() != 0 && !o->cmdline)
		return errprintf(err,
				 "only root may provision a node (all users may use --cmdline)");
	if (load_conf(&conf, o, err) < 0)
		return -1;
	rc = provision_choose(&p.set, &conf, o, &m, err);
	snprintf(p.set.except, sizeof(p.set.except), "%s", conf.service_except);
	if (rc == 0)
		m_cpus = *machine_cpus(m);
	if (rc == 0 && o->cmdline)
		rc = cmdline_print(m, &p.set, &o->ask, o->json, err);
	machine_free(m);
	if (rc < 0 || o->cmdline)
		return rc;
	if (begin_provision(&p, err) < 0)
		return -1;
	provision_begin(o, &p.set);
	if (take_over(o, &p, &m_cpus, err) < 0)
		return -1;
	/* a dry run puts nothing back, so it lists the changes as for a new node */
	p.as_new = o->dry && o->put_back;
	if (provision_apply(&p, err) < 0)
		return -1;
	provision_end(o, &p, o->dry ? "dry run" : "provisioned");
	if (p.changed)
		warn_unknown(conf.service_except);
	if (p.unsettled)
		return errprintf(err,
				 "some process keeps starting threads outside of the ServiceOS: "
				 "run this command again (nodeosctl verify shows the threads)");
	return 0;
}

static int unprovision(struct options *o, struct errbuf *err)
{
	struct conf conf;
	struct provision p = { .conf = &conf,
			       .dry = o->dry,
			       .reload = service_units_reload,
			       .save = save,
			       .say = provision_say,
			       .cannot = provision_cannot,
			       .arg = o };
	struct service_set none;
	int rc;

	if (geteuid() != 0)
		return errprintf(err, "only root may unprovision a node");
	if (load_conf(&conf, o, err) < 0 || begin_provision(&p, err) < 0)
		return -1;
	service_state_load(&p.set, conf.state_dir,
			   err); /* only for the report: the journal has the changes to undo */
	provision_begin(o, &p.set);
	none = (struct service_set){ .own_mems = false };
	rc = check_containers(&none, err);
	if (rc == 0)
		rc = provision_undo(&p, err);
	if (rc < 0)
		return -1;
	if (rc == 1 && !o->json)
		puts("this node is not provisioned: nothing to do");
	else
		provision_end(o, &p, o->dry ? "dry run" : "put back");
	if (!o->dry && service_unit_active(UNITS_TIMER))
		fputs("nodeosctl: unprovision: " UNITS_TIMER
		      " is active and will soon provision this node again: "
		      "systemctl disable --now " UNITS_TIMER " nodeos-provision.service\n",
		      stderr);
	return 0;
}

/* Check that no argument is left and options fit together. Returns -1, or the exit status. */
static int check_together(struct options *o, int argc, char **argv)
{
	if (optind != argc)
		return tool_wrong(argv[0], "unexpected argument \"%.100s\"", argv[optind]);
	o->ask.here = !o->topology;
	if (o->ask.block_bytes && !o->cmdline)
		return tool_error(2, "%s: --blocks needs --cmdline", argv[0]);
	/* another nodeos.conf is only for output: verify and launches read the installed one */
	if ((o->topology && !o->cmdline) || (o->conf_path && !o->cmdline && !o->dry))
		return tool_error(2, "%s: --%s", argv[0],
				  o->topology ? "topology needs --cmdline"
					      : "conf needs --cmdline or --dry-run");
	return -1;
}

/* Parse the options. Returns -1 to continue, or the exit status. */
static int parse_arguments(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "dry-run", no_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "cmdline", no_argument, NULL, 'C' },
		{ "topology", required_argument, NULL, 't' },
		{ "blocks", required_argument, NULL, 'B' },
		{ "conf", required_argument, NULL, 'F' },
		{ 0 },
	};
	/* options of unprovision */
	static const struct option few[] = {
		{ "dry-run", no_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool all = o->usage == provision_usage;
	int c;

	optind = 1;
	while ((c = tool_getopt(argc, argv, all ? "nvjht:" : "nvjh", all ? longs : few)) != -1) {
		switch (c) {
		case 'n':
			o->dry = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'j':
			o->json = true;
			break;
		case 'C':
			o->cmdline = true;
			break;
		case 't':
			o->topology = optarg;
			break;
		case 'B':
			if (request_parse_bytes(optarg, &o->ask.block_bytes) < 0 ||
			    !o->ask.block_bytes)
				return tool_wrong(argv[0],
						  "--blocks=%.32s: expected a size, such as 8G",
						  optarg);
			break;
		case 'F':
			o->conf_path = optarg;
			break;
		default:
			return tool_help(c, argv[0], o->usage);
		}
	}
	return check_together(o, argc, argv);
}

static int provision_run(struct options *o, int argc, char **argv,
			 int (*work)(struct options *o, struct errbuf *err))
{
	struct errbuf err = { 0 };
	int status = parse_arguments(o, argc, argv);

	if (status >= 0)
		return status;
	if (work(o, &err) < 0)
		return tool_error(1, "%s: %s", argv[0], err.text);
	return 0;
}

int tool_provision(int argc, char **argv)
{
	struct options o = { .usage = provision_usage };

	return provision_run(&o, argc, argv, provision);
}

int tool_unprovision(int argc, char **argv)
{
	struct options o = { .usage = unprovision_usage };

	return provision_run(&o, argc, argv, unprovision);
}
