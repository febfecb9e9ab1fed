/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeos-vnode-move: moves a vnode of this host to another host (move/source.h), or saves it in a
 * directory and restores it from there (move/saved.h). argv[0] is the verb.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "move/saved.h"
#include "move/source.h"

#define RECEIVER NODEOS_LIBEXECDIR "/nodeos-vnode-receive"
#define KEEPER NODEOS_LIBEXECDIR "/nodeos-vnode-keep"

static const char usage[] =
	"usage: nodeosctl vnode move [OPTION]... NAME HOST\n"
	"       nodeosctl vnode save [OPTION]... NAME DIR\n"
	"       nodeosctl vnode restore [OPTION]... NAME DIR\n"
	"       nodeosctl vnode move [OPTION]... --recover NAME\n"
	"\n"
	"Moves the vnode NAME, with all its processes, from this host to HOST; saves it in DIR and "
	"ends\n"
	"it here; restores it from DIR on this host; or finishes a move or save that was "
	"interrupted, on\n"
	"the host where it began.\n"
	"\n"
	"  --recover        finish or undo an interrupted move\n"
	"  --command WORDS  program that connects this host to nodeos-vnode-receive on HOST; "
	"default:\n"
	"                   ssh -T -o BatchMode=yes root@HOST " RECEIVER " NAME\n"
	"  --quiet          print no progress\n"
	"  --run DIR, --state DIR, --conf DIR, --nodeos-conf FILE, --no-slurm\n"
	"                   other places of run directory, journal, vnode.d and nodeos.conf, and "
	"no\n"
	"                   questions to slurmctld, for tests\n"
	"\n"
	"Exit code: 0 when the vnode is on HOST, in DIR or restored; 1 when it is where it was; 3 "
	"when\n"
	"its place is not known: then run --recover, or restore again.\n";

struct arguments {
	struct move_site site;
	const char *name, *host;
	char *command;
	bool recover, quiet;
	bool save, restore; /* HOST is a directory */
};

static int parse_move_arguments(struct arguments *a, int argc, char **argv)
{
	static const struct option option[] = {
		{ "recover", no_argument, NULL, 'R' }, { "command", required_argument, NULL, 'C' },
		{ "quiet", no_argument, NULL, 'Q' },   MOVE_SITE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },    { 0 }
	};
	int c;

	a->save = strcmp(argv[0], "save") == 0;
	a->restore = strcmp(argv[0], "restore") == 0;
	while ((c = getopt_long(argc, argv, "", option, NULL)) != -1)
		switch (c) {
		case 'R':
			a->recover = true;
			break;
		case 'C':
			a->command = optarg;
			break;
		case 'Q':
			a->quiet = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			if (!move_site_option(&a->site, c, optarg))
				return -1;
		}
	if (argc - optind != (a->recover ? 1 : 2))
		return -1;
	a->name = argv[optind];
	a->host = argv[optind + 1];
	return 0;
}

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"

/*
 * Return whether HOST is one word for ssh and the journal, and no option. DIR: it is a directory.
 */
static bool valid_host(const char *host, bool dir)
{
	return host[0] != '\0' && host[0] != '-' && strlen(host) < MOVE_HOST_MAX &&
	       dir == (host[0] == '/') &&
	       strspn(host, dir ? HOST_CHARACTERS "/" : HOST_CHARACTERS) == strlen(host);
}

/* Make the command that connects to HOST. */
static void make_command(const char *words[PEER_WORDS_MAX + 1], struct arguments *a,
			 const char *host)
{
	static char login[MOVE_HOST_MAX + 8];
	char *save = NULL;
	unsigned n = 0;

	if (a->command) {
		for (char *w = strtok_r(a->command, " ", &save); w && n < PEER_WORDS_MAX;
		     w = strtok_r(NULL, " ", &save))
			words[n++] = w;
		words[n] = NULL;
		return;
	}
	if (a->restore || host[0] == '/') {
		words[0] = a->restore ? RECEIVER : KEEPER;
		words[1] = a->restore ? a->name : host;
		words[2] = a->restore ? NULL : a->name;
		words[3] = NULL;
		return;
	}
	snprintf(login, sizeof(login), "root@%s", host);
	words[0] = "/usr/bin/ssh";
	words[1] = "-T";
	words[2] = "-o";
	words[3] = "BatchMode=yes";
	words[4] = login;
	words[5] = RECEIVER;
	words[6] = a->name;
	words[7] = NULL;
}

static int finish(enum move_state state, const char *name, int rc, const struct errbuf *err)
{
	char text[PRINTABLE_LOG_MAX];

	if (rc < 0)
		fprintf(stderr, "nodeos-vnode-move: %s: %s\n", name,
			printable(text, sizeof(text), err->text));
	switch (state) {
	case MOVE_DONE:
		return EXIT_SUCCESS;
	case MOVE_LOST:
		fprintf(stderr, "nodeos-vnode-move: %s: lost: no host has its processes\n", name);
		return 3;
	case MOVE_BACK:
	case MOVE_IDLE:
		return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	default:
		return move_state_final(state) ? EXIT_FAILURE : 3;
	}
}

/* Restore the vnode from the directory of A. Returns the exit code. */
static int restore_saved(struct arguments *a)
{
	const char *words[PEER_WORDS_MAX + 1];
	static struct peer peer;
	struct errbuf err = { 0 };
	struct saved saved;
	enum move_state end = MOVE_IDLE;
	int rc = -1;

	make_command(words, a, a->host);
	peer = (struct peer){ .host = "restore", .name = a->name, .command = words };
	signal(SIGPIPE, SIG_IGN);
	if (!vnode_is_name(a->name, strlen(a->name)))
		errprintf(&err, "not the name of a vnode");
	else if (saved_open(&saved, a->host, a->name, &err) == 0) {
		rc = saved_restore(&saved, &peer, a->quiet ? NULL : stdout, &end, &err);
		saved_close(&saved);
	}
	if (rc == 0)
		return EXIT_SUCCESS;
	finish(MOVE_BACK, a->name, rc, &err);
	return move_state_final(end) ? EXIT_FAILURE : 3;
}

int main(int argc, char **argv)
{
	const char *words[PEER_WORDS_MAX + 1];
	static struct arguments a;
	static struct source s;
	struct errbuf err = { 0 };
	char text[PRINTABLE_LOG_MAX];
	int rc;

	move_site_default(&a.site);
	if (parse_move_arguments(&a, argc, argv) < 0 || (a.restore && a.recover) ||
	    (a.host && !valid_host(a.host, a.save || a.restore))) {
		fputs(usage, stderr);
		return 2;
	}
	if (a.restore)
		return restore_saved(&a);
	if (move_site_open(&a.site, a.name, &err) < 0 || source_open(&s, &a.site, &err) < 0 ||
	    move_journal_read(&s.move.now, s.move.dir, s.move.name, &err) < 0) {
		fprintf(stderr, "nodeos-vnode-move: %s\n", printable(text, sizeof(text), err.text));
		return EXIT_FAILURE;
	}
	s.peer.host = a.host ? a.host : s.move.now.peer;
	make_command(words, &a, s.peer.host);
	s.peer.command = words;
	s.progress = a.quiet ? NULL : stdout;
	rc = a.recover ? source_recover(&s, &err) : source_move(&s, a.host, &err);
	return finish(s.move.now.state, a.name, rc, &err);
}
