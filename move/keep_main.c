/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-vnode-keep DIR NAME: saves a vnode in DIR (move/saved.h); nodeos-vnode-move starts it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "move/saved.h"
#include "move/site.h"

int main(int argc, char **argv)
{
	static struct keeper k;
	struct errbuf err = { 0 };
	char text[PRINTABLE_LOG_MAX];
	int rc = -1;

	if (argc != 3 || !vnode_is_name(argv[2], strlen(argv[2]))) {
		fputs("usage: nodeos-vnode-keep DIR NAME\n", stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	wire_open(&k.wire, STDIN_FILENO, STDOUT_FILENO, MOVE_SECONDS);
	if (saved_open(&k.saved, argv[1], argv[2], &err) == 0)
		rc = keeper_serve(&k, &err);
	else
		(void)wire_say(&k.wire, NULL, "no %s", err.text);
	if (rc == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "nodeos-vnode-keep: %s\n", printable(text, sizeof(text), err.text));
	return EXIT_FAILURE;
}
