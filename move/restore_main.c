/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-vnode-restore: the supervisor of a vnode that comes by a move (move/restore.h). */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"
#include "move/restore.h"
#include "vnode/supervise.h"

/* exit status after which systemd does not start the unit again (RestartPreventExitStatus) */
#define STATUS_NOT_HERE 75

int main(int argc, char **argv)
{
	static const struct option option[] = { { "bare", no_argument, NULL, 'b' },
						MOVE_SITE_OPTIONS,
						{ 0 } };
	static struct move_site site;
	struct errbuf err = { 0 };
	char text[PRINTABLE_LOG_MAX];
	bool bare = false, ran = false;
	int c;

	move_site_default(&site);
	while ((c = getopt_long(argc, argv, "", option, NULL)) != -1)
		if (c == 'b')
			bare = true;
		else if (!move_site_option(&site, c, optarg))
			return 2;
	if (argc - optind != 1)
		return 2;
	vnode_block_signals();
	if (move_site_find(&site, argv[optind], &err) == 0 &&
	    restore_vnode(&site, bare, &ran, &err) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "nodeos-vnode-restore: %s: %s\n", argv[optind],
		printable(text, sizeof(text), err.text));
	return ran ? EXIT_FAILURE : STATUS_NOT_HERE;
}
