/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "base/subprocess.h"
#include "base/words.h"
#include "vnode/command_show.h"
#include "vnode/message.h"
#include "vnode/start.h"
#include "vnode/swap.h"

#define MOVE_PROGRAM NODEOS_LIBEXECDIR "/nodeos-vnode-move"
#define SYSTEMCTL_SECONDS 700 /* longer than the greatest stop_timeout */

static const char usage_text[] =
	"Usage: nodeosctl vnode create|start|stop|show NAME [OPTION]...\n"
	"       nodeosctl vnode move NAME HOST\n"
	"       nodeosctl vnode save|restore NAME DIR\n"
	"       nodeosctl vnode swap A HOSTA B HOSTB\n"
	"       nodeosctl vnode move --recover NAME\n"
	"       nodeosctl vnode list|slurm-conf [OPTION]...\n"
	"Run a node of Slurm in namespaces of its own on this host (root).\n"
	"\n"
	"  create       check all that the vnode needs here, and register it\n"
	"  start        start it (nodeos-vnode@NAME.service)\n"
	"  stop         end its jobs and remove it from this host\n"
	"  move         move it, with its running jobs, to HOST, or finish an interrupted move\n"
	"  save         save it in DIR, with its running jobs, and end it here\n"
	"  restore      let a saved one go on, on this host\n"
	"  swap         let two vnodes change their hosts\n"
	"  show         show its state and its share of this host\n"
	"  list         list the vnodes of vnode.d, a line each\n"
	"  slurm-conf   print what slurm.conf and cgroup.conf need for them\n"
	"\n"
	"      --conf=FILE      read FILE instead of " NODEOS_CONF_PATH "\n"
	"      --conf-dir=DIR   read DIR instead of " NODEOS_VNODE_DIR "\n"
	"      --command=WORDS  of move: the program that connects to HOST, default ssh\n"
	"      --quiet          of move: print no progress\n"
	"      --recover        of move: finish or undo an interrupted move\n"
	"      --run-dir=DIR    keep states in DIR instead of " VNODE_RUN_DIR "\n"
	"  -h, --help           print this\n\n"
	"Manual page: man nodeosctl-vnode\n";

static int refuse_usage(const char *what, const char *word)
{
	char quoted[WORD_QUOTE_MAX];

	return vnode_message(2, "%s %s (see nodeosctl vnode --help)", what,
			     word_quote(quoted, word, strlen(word)));
}

static int create_vnode(const struct vnode_site *site, const char *name)
{
	struct vnode_conf *conf = calloc(1, sizeof(*conf));
	struct vnode_state state;
	struct errbuf err = { 0 };
	int run = -1, rc = -1;

	if (!conf)
		return vnode_message(1, "out of memory");
	if (vnode_check(conf, site, name, &err) == 0)
		run = vnode_run_open(site->run_dir, &err);
	if (run >= 0 && vnode_state_read(&state, run, name, &err) == 0) {
		if (state.phase > VNODE_CREATED) {
			errprintf(&err, "vnode %s is here already: %s", name,
				  vnode_phase_name(state.phase));
		} else {
			state.phase = VNODE_CREATED;
			rc = vnode_state_write(&state, run, name, &err);
		}
	}
	if (run >= 0)
		close(run);
	free(conf);
	return rc < 0 ? vnode_message(1, "%s", err.text) : 0;
}

/* Let systemd start or stop the vnode's unit. */
static int ask_systemd(const char *verb, const char *name)
{
	char unit[VNODE_NAME_MAX + 32], program[PROGRAM_PATH_MAX], *text = NULL;
	const char *argv[] = { program, verb, unit, NULL };
	struct subprocess p = { .argv = argv,
				.uid = (uid_t)-1,
				.extra_fd = -1,
				.join_stderr = true,
				.timeout = SYSTEMCTL_SECONDS,
				.output_max = 4096 };
	struct errbuf err = { 0 };
	int rc;

	snprintf(unit, sizeof(unit), "nodeos-vnode@%s.service", name);
	if (!program_find("systemctl", program))
		return vnode_message(1, "%s is missing", program);
	rc = subprocess_run(&p, &text, &err);
	if (rc < 0)
		vnode_message(1, "%s", err.text);
	else if (rc > 0)
		vnode_message(1, "systemctl %s %s failed: journalctl -u %s has the reason", verb,
			      unit, unit);
	free(text);
	return rc == 0 ? 0 : 1;
}

static int start_unit(const struct vnode_site *site, const char *name)
{
	struct vnode_conf *conf = calloc(1, sizeof(*conf));
	struct errbuf err = { 0 };
	int rc = conf ? vnode_check(conf, site, name, &err) : errprintf(&err, "out of memory");

	free(conf);
	/* the unit repeats this check, but its message would go to the journal only */
	if (rc < 0)
		return vnode_message(1, "%s", err.text);
	rc = ask_systemd("start", name);
	/* after a failed start, systemd would start the unit again and again */
	if (rc != 0)
		ask_systemd("stop", name);
	return rc;
}

static bool is_moving(const struct vnode_site *site, const char *name)
{
	struct vnode_state state = { 0 };
	struct errbuf ignored;
	int run = vnode_run_open(site->run_dir, &ignored);

	if (run < 0)
		return false;
	if (vnode_state_read(&state, run, name, &ignored) < 0)
		state.phase = VNODE_ABSENT;
	close(run);
	return state.phase == VNODE_MOVING;
}

static int stop_unit(const struct vnode_site *site, const char *name)
{
	struct errbuf err = { 0 };
	int rc;

	if (!vnode_is_name(name, strlen(name)))
		return refuse_usage("not the name of a vnode:", name);
	if (is_moving(site, name))
		return vnode_message(1,
				     "vnode %s is being moved; if the move was interrupted, run "
				     "nodeosctl vnode move --recover %s",
				     name, name);
	rc = ask_systemd("stop", name);
	/* remove what a killed supervisor has left, and the state that "create" wrote */
	if (vnode_clear(site, name, &err) < 0)
		rc = vnode_message(1, "%s", err.text);
	return rc;
}

static int show_vnode(const struct vnode_site *site, const char *name)
{
	return vnode_command_show(site, name);
}

static const struct {
	const char *name;
	int (*of_one)(const struct vnode_site *site, const char *name);
	int (*of_all)(const struct vnode_site *site);
} verb[] = {
	{ "create", create_vnode, NULL },     { "start", start_unit, NULL },
	{ "stop", stop_unit, NULL },	      { "show", show_vnode, NULL },
	{ "list", NULL, vnode_command_list }, { "slurm-conf", NULL, vnode_command_slurm_conf },
};
#define VERBS (sizeof(verb) / sizeof(verb[0]))

/* Moves, saves and restores are a separate program with its own options (move/move_main.c), which
 * finds its verb in argv[0]. */
static int become_mover(char **argv)
{
	execv(MOVE_PROGRAM, argv);
	return vnode_message(1, MOVE_PROGRAM ": %s%s", strerror(errno),
			     errno == ENOENT ? " (is the package nodeos-vnode installed?)" : "");
}

/* Parse the options into SITE. Returns -1 to continue, else the exit status. */
static int parse_vnode_options(struct vnode_site *site, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "conf", required_argument, NULL, 'c' },
		{ "conf-dir", required_argument, NULL, 'd' },
		{ "run-dir", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			site->conf = optarg;
			break;
		case 'd':
			site->conf_dir = optarg;
			break;
		case 'r':
			site->run_dir = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			return vnode_message(2, "see nodeosctl vnode --help");
		}
	return -1;
}

int vnode_command(int argc, char **argv)
{
	static char called[] = "nodeosctl: vnode";
	struct vnode_site site;
	int rc, words;

	if (argc > 1 && (strcmp(argv[1], "move") == 0 || strcmp(argv[1], "save") == 0 ||
			 strcmp(argv[1], "restore") == 0))
		return become_mover(argv + 1);
	if (argc > 1 && strcmp(argv[1], "swap") == 0)
		return vnode_swap(argc - 1, argv + 1);
	argv[0] = called;
	vnode_site_default(&site);
	rc = parse_vnode_options(&site, argc, argv);
	if (rc >= 0)
		return rc;
	words = argc - optind;
	if (words == 0) {
		fputs(usage_text, stderr);
		return 2;
	}
	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(argv[optind], verb[i].name) != 0)
			continue;
		if (words > (verb[i].of_one ? 2 : 1))
			return refuse_usage("unexpected", argv[argc - 1]);
		if (!verb[i].of_one)
			return verb[i].of_all(&site);
		if (words < 2)
			return refuse_usage("NAME is missing after", verb[i].name);
		return verb[i].of_one(&site, argv[optind + 1]);
	}
	return refuse_usage("unknown command", argv[optind]);
}
