/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/program.h"
#include "tools/tool.h"

#define PLUGIN NODEOS_SOSPLUGINDIR "/nodeos.py"

static const char usage_text[] = "Usage: nodeosctl support-bundle\n"
				 "Gathers nothing: prints how to use sos(1) with the plugin of "
				 "NodeOS. The next release removes this\n"
				 "command.\n"
				 "\n"
				 "  -h, --help  print this\n";

/*
 * Print what replaces this command. The former options are still accepted, so that old scripts get
 * the name of the replacement, too.
 */
int tool_support_bundle(int argc, char **argv)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	char program[PROGRAM_PATH_MAX];
	int c;

	optind = 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		if (c == 'h')
			return tool_help(c, argv[0], usage_text);
	fputs("nodeosctl: support-bundle: no longer gathers anything\n"
	      "sos(1) gathers, masks and packs what is needed to understand a problem on this "
	      "node, with\nthe plugin " PLUGIN ".\n",
	      stderr);
	fputs(program_find("sos", program)
		      ? "As root:\n"
		      : "sos is not installed here (Debian: package sosreport). Then, as root:\n",
	      stderr);
	if (!strstr(PLUGIN, "/sos/report/plugins/"))
		fputs("  ln -sf " PLUGIN " \"$(/usr/bin/python3 -c 'import sos.report.plugins as "
		      "p; print(p.__path__[0])')\"\n",
		      stderr);
	fputs("  sos report --batch --only-plugins nodeos\n", stderr);
	return 1;
}
