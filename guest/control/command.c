/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "guest/control/attach.h"
#include "guest/control/list.h"

#define RUNNER NODEOS_LIBEXECDIR "/nodeos-guest"

static const char usage_text[] =
	"Usage: nodeosctl guest list [--json]\n"
	"       nodeosctl guest console [GUEST]\n"
	"       nodeosctl guest save [--continue] [GUEST] FILE\n"
	"       nodeosctl guest restore FILE [OPTION]...\n"
	"       nodeosctl guest gdb [--pipe] [GUEST] [ARGUMENT]...\n"
	"List your whole guests on this host, attach to them, save and restore them.\n"
	"\n"
	"  list         list your guests with their CPUs, memory, and exits that KVM counts\n"
	"  console      watch a guest's serial console, and type there\n"
	"  save         save a guest with an image in FILE, and end it\n"
	"  restore      let a saved guest go on, on CPUs that this process may use\n"
	"  gdb          debug a guest's kernel\n"
	"\n"
	"GUEST is a number that the list shows. It can be left out if you have only one guest.\n"
	"\n"
	"  -j, --json           of list: print a JSON array\n"
	"      --continue       of save: let the guest go on\n"
	"      --pipe           of gdb: speak gdb's protocol on standard input and output\n"
	"      --program=FILE   of restore: nodeos-guest, default " RUNNER "\n"
	"  -h, --help           print this\n\n"
	"Manual page: man nodeosctl-guest\n";

struct control_options {
	bool json, continues, pipe;
	const char *program;
};

static int refuse_usage_of_guest(const char *what, const char *word)
{
	char quoted[WORD_QUOTE_MAX];

	return guest_message(2, "%s %s (see nodeosctl guest --help)", what,
			     word_quote(quoted, word, strlen(word)));
}

static int show_console(const char *word)
{
	struct ask_guest g;
	struct errbuf err = { 0 };

	if (ask_find(&g, word, &err) < 0 || attach_stdio(&g, "console", &err) < 0)
		return guest_message(1, "%s", err.text);
	return 0;
}

/* WORDS: [GUEST] FILE */
static int save_guest(const struct control_options *o, int n, char **words)
{
	struct ask_guest g;
	struct errbuf err = { 0 };

	if (n < 1)
		return refuse_usage_of_guest("FILE is missing after", "save");
	if (n > 2)
		return refuse_usage_of_guest("unexpected", words[2]);
	if (ask_find(&g, n == 2 ? words[0] : NULL, &err) < 0 ||
	    attach_save(&g, words[n - 1], o->continues, &err) < 0)
		return guest_message(1, "%s", err.text);
	return 0;
}

/* WORDS: FILE [OPTION OF nodeos-guest]... */
static int restore_guest(const struct control_options *o, int n, char **words)
{
	const char *program = o->program ? o->program : RUNNER;
	char **argv = n < 1 ? NULL : calloc((size_t)n + 2, sizeof(*argv));
	int rc;

	if (n < 1)
		return refuse_usage_of_guest("FILE is missing after", "restore");
	if (!argv || asprintf(&argv[1], "--restore=%s", words[0]) < 0) {
		free(argv);
		return guest_message(1, "out of memory");
	}
	argv[0] = (char *)program;
	for (int i = 1; i < n; i++)
		argv[i + 1] = words[i];
	execv(program, argv);
	rc = guest_message(1, "%s: %s", program, strerror(errno));
	free(argv[1]);
	free(argv);
	return rc;
}

/* Execute gdb, which reaches the guest through a second process of this program. */
static int become_gdb(const struct ask_guest *g, int n, char **words)
{
	char self[PATH_MAX], target[PATH_MAX + 64];
	char gdb[] = "gdb", option[] = "-ex";
	char **argv = calloc((size_t)n + 4, sizeof(*argv));
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!argv || len <= 0) {
		free(argv);
		return guest_message(1, "/proc/self/exe: %s", strerror(errno));
	}
	self[len] = '\0';
	snprintf(target, sizeof(target), "target remote | '%s' guest gdb --pipe %d", self, g->pid);
	argv[0] = gdb;
	argv[1] = option;
	argv[2] = target;
	for (int i = 0; i < n; i++)
		argv[3 + i] = words[i];
	execvp(gdb, argv);
	free(argv);
	return guest_message(1, "gdb: %s", strerror(errno));
}

/* WORDS: [GUEST] [ARGUMENT OF gdb]... */
static int debug_guest(const struct control_options *o, int n, char **words)
{
	bool named = n > 0 && *words[0] && strspn(words[0], "0123456789") == strlen(words[0]);
	struct ask_guest g;
	struct errbuf err = { 0 };

	if (o->pipe && n > named)
		return refuse_usage_of_guest("unexpected", words[named]);
	if (ask_find(&g, named ? words[0] : NULL, &err) < 0)
		return guest_message(1, "%s", err.text);
	if (!o->pipe)
		return become_gdb(&g, n - named, words + named);
	return attach_stdio(&g, "gdb", &err) < 0 ? guest_message(1, "%s", err.text) : 0;
}

/* Returns -1 to go on, or the exit status if the command ends here (--help, a wrong option). */
static int parse_control_options(struct control_options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' }, { "continue", no_argument, NULL, 'C' },
		{ "pipe", no_argument, NULL, 'P' }, { "program", required_argument, NULL, 'R' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "+jh", longs, NULL)) != -1)
		switch (c) {
		case 'j':
			o->json = true;
			break;
		case 'C':
			o->continues = true;
			break;
		case 'P':
			o->pipe = true;
			break;
		case 'R':
			o->program = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			return guest_message(2, "see nodeosctl guest --help");
		}
	return -1;
}

/* Refuse options that VERB does not have. */
static int check_verb(const struct control_options *o, const char *verb)
{
	if (o->json && strcmp(verb, "list") != 0)
		return refuse_usage_of_guest("--json is not for", verb);
	if (o->continues && strcmp(verb, "save") != 0)
		return refuse_usage_of_guest("--continue is not for", verb);
	if (o->pipe && strcmp(verb, "gdb") != 0)
		return refuse_usage_of_guest("--pipe is not for", verb);
	if (o->program && strcmp(verb, "restore") != 0)
		return refuse_usage_of_guest("--program is not for", verb);
	return 0;
}

static int run_verb(const struct control_options *o, const char *verb, int n, char **words)
{
	if (strcmp(verb, "save") == 0)
		return save_guest(o, n, words);
	if (strcmp(verb, "restore") == 0)
		return restore_guest(o, n, words);
	if (strcmp(verb, "gdb") == 0)
		return debug_guest(o, n, words);
	if (strcmp(verb, "console") == 0)
		return n > 1 ? refuse_usage_of_guest("unexpected", words[1])
			     : show_console(n ? words[0] : NULL);
	if (strcmp(verb, "list") == 0)
		return n ? refuse_usage_of_guest("unexpected", words[0]) : list_guests(o->json);
	return refuse_usage_of_guest("unknown command", verb);
}

int guest_control(int argc, char **argv)
{
	static char called[] = "nodeosctl: guest";
	struct control_options o = { 0 };
	const char *verb = argc > 1 ? argv[1] : "";
	int rc;

	if (!*verb) {
		fputs(usage_text, stderr);
		return 2;
	}
	if (*verb != '-') { /* the options follow the verb */
		argc--;
		argv++;
	}
	argv[0] = called;
	rc = parse_control_options(&o, argc, argv);
	if (rc >= 0)
		return rc;
	if (*verb == '-')
		return refuse_usage_of_guest("the command (such as list) must come before", verb);
	rc = check_verb(&o, verb);
	return rc ? rc : run_verb(&o, verb, argc - optind, argv + optind);
}
