/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/blocks.h"
#include "host/conf.h"
#include "jobplan/planner.h"
#include "tools/tool.h"
#include "topology/machine.h"

static const char usage_text[] =
	"Usage: nodeosctl discover [--output=FILE]\n"
	"Write this machine's topology as hwloc XML. Every launch loads it instead of detecting\n"
	"the machine again (hwloc hangs when a real-time task owns a core).\n"
	"\n"
	"  -o, --output=FILE  write this file; default: machine.xml in state_dir of\n"
	"                     nodeos.conf, which root writes once per boot, before slurmd\n"
	"  -h, --help         print this\n";

static int write_state(const struct machine *m, const struct blocks *b, struct errbuf *err)
{
	char path[DIR_PATH_MAX + 32], tmp[DIR_PATH_MAX + 32];
	struct machine *again = NULL;
	struct conf conf;
	int dir, rc = 0;

	if (conf_load(&conf, NODEOS_CONF_PATH, 0, err) < 0)
		return -1;
	dir = dir_open_private(conf.state_dir, err);
	if (dir < 0)
		return -1;
	if (b->on)
		rc = blocks_save(dir, b, err);
	close(dir);
	if (rc < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/machine.xml", conf.state_dir);
	snprintf(tmp, sizeof(tmp), "%s/.machine.xml.new", conf.state_dir);
	/* replace the old file only if the new one can be loaded */
	if (machine_write_xml(m, tmp, err) < 0 || machine_load_xml_file(&again, tmp, err) < 0) {
		unlink(tmp);
		return errwrap(err, "%s is not replaced", path);
	}
	machine_free(again);
	if (rename(tmp, path) < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	printf("wrote %s\n", path);
	return 0;
}

int tool_discover(int argc, char **argv)
{
	struct machine *m = NULL;
	struct blocks b = { .on = false };
	struct errbuf err = { 0 };
	const char *file = NULL;
	int c, rc;
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};

	optind = 1;
	while ((c = tool_getopt(argc, argv, "o:h", longs)) != -1) {
		if (c == 'o') {
			file = optarg;
			continue;
		}
		return tool_help(c, argv[0], usage_text);
	}
	if (optind != argc)
		return tool_wrong(argv[0], "unexpected argument \"%.100s\"", argv[optind]);
	if (!file && geteuid() != 0)
		return tool_error(1, "discover: only root may write this node's topology; use "
				     "--output=FILE.xml to write another file");
	/* load the whole machine, since this process may be confined to the ServiceOS */
	rc = machine_load_whole(&m, &err);
	if (rc == 0)
		rc = planner_note_usable(m, &b, &err);
	if (rc == 0)
		rc = file ? machine_write_xml(m, file, &err) : write_state(m, &b, &err);
	blocks_free(&b);
	machine_free(m);
	return rc < 0 ? tool_error(1, "discover: %s", err.text) : 0;
}
