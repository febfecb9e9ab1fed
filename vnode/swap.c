/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/swap.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vnode/conf.h"
#include "vnode/message.h"

#define WORDS_MAX 32
#define HOST_MAX 256
/* exit codes of nodeosctl vnode move (nodeosctl-vnode(1)) */
enum { MOVED = 0, STAYED = 1, UNKNOWN = 3 };

struct swap {
	const char *name[2], *host[2]; /* of the two vnodes: where each is, before the swap */
	/* program that runs commands on a host; next words: HOST COMMAND... */
	const char *remote[WORDS_MAX];
	unsigned words;
	bool quiet;
};

static const char usage[] =
	"Usage: nodeosctl vnode swap [OPTION]... A HOSTA B HOSTB\n"
	"Move the vnode A, which is on HOSTA, to HOSTB, and B from there to HOSTA. If B cannot\n"
	"leave, A goes back.\n"
	"\n"
	"      --command=WORDS  program that runs commands on a host, which is its next word;\n"
	"                       default: ssh -o BatchMode=yes -l root\n"
	"      --quiet          print no progress\n"
	"  -h, --help           print this\n";

/* Move the vnode NAME from FROM to TO. Returns MOVED, STAYED or UNKNOWN. */
static int move_one(const struct swap *s, const char *name, const char *from, const char *to)
{
	static const char *const verb[] = { "nodeosctl", "vnode", "move" };
	const char *argv[WORDS_MAX + 8];
	unsigned n = 0;
	int status;
	pid_t pid;

	for (unsigned i = 0; i < s->words; i++)
		argv[n++] = s->remote[i];
	argv[n++] = from;
	for (unsigned i = 0; i < sizeof(verb) / sizeof(*verb); i++)
		argv[n++] = verb[i];
	if (s->quiet)
		argv[n++] = "--quiet";
	argv[n++] = name;
	argv[n++] = to;
	argv[n] = NULL;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return UNKNOWN;
	if (WEXITSTATUS(status) == 127)
		return STAYED; /* the program is missing: nothing has begun */
	return WEXITSTATUS(status) == MOVED || WEXITSTATUS(status) == STAYED ? WEXITSTATUS(status)
									     : UNKNOWN;
}

static int report_unknown(const char *name, const char *from)
{
	return vnode_message(
		3,
		"it is not known where vnode %s is: run nodeosctl vnode move --recover "
		"%s on %s, then swap or move by hand",
		name, name, from);
}

static int run_swap(const struct swap *s)
{
	const char *a = s->name[0], *b = s->name[1], *here = s->host[0], *there = s->host[1];

	switch (move_one(s, a, here, there)) {
	case MOVED:
		break;
	case STAYED:
		return vnode_message(1, "vnode %s stays on %s, and %s on %s", a, here, b, there);
	default:
		return report_unknown(a, here);
	}
	switch (move_one(s, b, there, here)) {
	case MOVED:
		return 0;
	case STAYED:
		break;
	default:
		vnode_message(3, "vnode %s is on %s", a, there);
		return report_unknown(b, there);
	}
	switch (move_one(s, a, there, here)) {
	case MOVED:
		return vnode_message(1, "vnode %s stays on %s, so %s is on %s again", b, there, a,
				     here);
	case STAYED:
		return vnode_message(3, "vnode %s cannot go back to %s: both vnodes are on %s", a,
				     here, there);
	default:
		return report_unknown(a, there);
	}
}

/* Return whether ssh takes HOST as a host's name, and not as an option. */
static bool is_host(const char *host)
{
	return host[0] != '\0' && host[0] != '-' && strlen(host) < HOST_MAX &&
	       strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") ==
		       strlen(host);
}

static void split_command(struct swap *s, char *text)
{
	char *save = NULL;

	s->words = 0;
	for (char *w = strtok_r(text, " ", &save); w && s->words < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		s->remote[s->words++] = w;
}

int vnode_swap(int argc, char **argv)
{
	static const struct option longs[] = { { "command", required_argument, NULL, 'C' },
					       { "quiet", no_argument, NULL, 'Q' },
					       { "help", no_argument, NULL, 'h' },
					       { 0 } };
	static char called[] = "nodeosctl: vnode swap", ssh[] = "ssh -o BatchMode=yes -l root";
	struct swap s = { 0 };
	int c;

	argv[0] = called;
	split_command(&s, ssh);
	optind = 0;
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (c) {
		case 'C':
			split_command(&s, optarg);
			break;
		case 'Q':
			s.quiet = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return vnode_message(2, "see nodeosctl vnode swap --help");
		}
	if (argc - optind != 4 || s.words == 0) {
		fputs(usage, stderr);
		return 2;
	}
	for (unsigned i = 0; i < 2; i++) {
		s.name[i] = argv[optind + (int)(2 * i)];
		s.host[i] = argv[optind + (int)(2 * i) + 1];
		if (!vnode_is_name(s.name[i], strlen(s.name[i])) || !is_host(s.host[i]))
			return vnode_message(2, "not the name of a vnode, or of a host: "
						"nodeosctl vnode swap A HOSTA B HOSTB");
	}
	if (strcmp(s.name[0], s.name[1]) == 0 || strcmp(s.host[0], s.host[1]) == 0)
		return vnode_message(2, "two vnodes on two hosts are needed");
	return run_swap(&s);
}
