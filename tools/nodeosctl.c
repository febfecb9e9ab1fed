/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "config.h"
#include "guest/control/command.h"
#include "tools/tool.h"
#include "vnode/command.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} command[] = {
	{ "check", tool_check, "validate manifests" },
	{ "plan", tool_plan, "show which CPUs and memory nodes a manifest would get, and why" },
	{ "report", tool_report,
	  "show this node's containers: the request, the choice, and what the kernel shows "
	  "(root)" },
	{ "show", tool_show, "show your own containers on this node (nodeosd)" },
	{ "resize", tool_resize,
	  "give a container of your own more or fewer CPUs or memory nodes (nodeosd)" },
	{ "delete", tool_delete,
	  "give back the CPUs and memory of a container of your own on this node (nodeosd)" },
	{ "exec", tool_exec, "run a command in a container of your own (nodeosd)" },
	{ "list", tool_list, "list this node's containers, a line each (root)" },
	{ "contention", tool_contention,
	  "show how much each rank of your jobs on this node disturbs others" },
	{ "verify", tool_verify,
	  "compare this node's containers, as the kernel shows them, with their plans (root)" },
	{ "provision", tool_provision,
	  "confine this node's system to its own cores and memory nodes (root)" },
	{ "unprovision", tool_unprovision, "put back what provision changed (root)" },
	{ "vnode", vnode_command, "run a node of Slurm in namespaces of its own (root)" },
	{ "guest", guest_control, "look at, save and restore whole guests of your own" },
	{ "run", tool_run, "run a command with a scheduling policy" },
	{ "features", tool_features, "show what this build, kernel and site can do" },
	{ "support-bundle", tool_support_bundle,
	  "print how to use the plugin of sos instead; the next release removes this command" },
	{ "discover", tool_discover,
	  "record this machine's topology for later launches (root, at boot)" },
};

#define COMMANDS (sizeof(command) / sizeof(command[0]))

static int usage(FILE *f)
{
	fputs("Usage: nodeosctl COMMAND [OPTION]...\n"
	      "       nodeosctl help COMMAND          (or: man nodeosctl-COMMAND)\n\n",
	      f);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(f, "  %-14s %s\n", command[i].name, command[i].help);
	fputs("\n(root): for root only; (nodeosd): for all users, on a node of their job\n"
	      "Slurm's options of NodeOS: srun --nodeos=help. Concepts: man nodeos\n",
	      f);
	return f == stdout ? 0 : 2;
}

static int unknown(const char *word)
{
	const char *names[COMMANDS + 1] = { NULL }, *near;
	char quoted[WORD_QUOTE_MAX];

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = command[i].name;
	word_quote(quoted, word, strlen(word));
	if (*word == '-')
		return tool_error(2,
				  "unknown option %s: a command comes first (see nodeosctl --help)",
				  quoted);
	near = word_near(word, names);
	return near ? tool_error(2,
				 "unknown command %s, did you mean \"%s\"? (see nodeosctl --help)",
				 quoted, near)
		    : tool_error(2, "unknown command %s (see nodeosctl --help)", quoted);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, command[i].name) == 0)
			return &command[i];
	return NULL;
}

/* Run the command ARGV[0]. Returns its exit status, or 1 if its output cannot be written. */
static int run_command(int argc, char **argv)
{
	const struct command *c = find_command(argv[0]);
	int status;

	if (!c)
		return unknown(argv[0]);
	status = c->run(argc, argv);
	if (fflush(stdout) != 0)
		return tool_error(1, "cannot write standard output: %s", strerror(errno));
	if (ferror(stdout))
		return tool_error(1, "cannot write all of standard output");
	return status;
}

/* nodeosctl help [COMMAND]: print what COMMAND --help prints. */
static int help(int argc, char **argv)
{
	char option[] = "--help", *words[] = { argc > 1 ? argv[1] : NULL, option, NULL };

	if (argc > 2)
		return tool_error(2, "help: expected one COMMAND (see nodeosctl --help)");
	if (argc < 2 || strcmp(argv[1], "help") == 0)
		return usage(stdout);
	return run_command(2, words);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return usage(stdout);
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("nodeosctl " VERSION);
		return 0;
	}
	return run_command(argc - 1, argv + 1);
}
