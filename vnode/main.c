/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * nodeos-vnode run|clear [OPTION]... NAME: the program of nodeos-vnode@.service. "run" supervises
 * the vnode, "clear" removes what a killed supervisor has left.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/printable.h"
#include "vnode/supervise.h"

#define RESTORE_PROGRAM NODEOS_LIBEXECDIR "/nodeos-vnode-restore"

enum { OPTION_CONF = 256, OPTION_CONF_DIR, OPTION_RUN_DIR, OPTION_HOST, OPTION_NO_SLURM };

static int parse_supervisor_options(struct vnode_site *site, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "conf", required_argument, NULL, OPTION_CONF },
		{ "conf-dir", required_argument, NULL, OPTION_CONF_DIR },
		{ "run-dir", required_argument, NULL, OPTION_RUN_DIR },
		{ "host", required_argument, NULL, OPTION_HOST },
		{ "no-slurm", no_argument, NULL, OPTION_NO_SLURM },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case OPTION_CONF:
			site->conf = optarg;
			break;
		case OPTION_CONF_DIR:
			site->conf_dir = optarg;
			break;
		case OPTION_RUN_DIR:
			site->run_dir = optarg;
			break;
		case OPTION_HOST:
			site->host = optarg;
			break;
		case OPTION_NO_SLURM:
			site->ask_slurm = false;
			break;
		default:
			return -1;
		}
	return argc - optind == 2 ? 0 : -1;
}

/*
 * Become nodeos-vnode-restore if a move brings the vnode NAME to this host. Returns 0 if none does,
 * or -1 with the reason.
 */
static int restore_incoming(const struct vnode_site *site, const char *name, struct errbuf *err)
{
	char path[DIR_PATH_MAX + VNODE_NAME_MAX + 16], journals[DIR_PATH_MAX];

	if (!vnode_is_name(name, strlen(name)))
		return errprintf(err, "not the name of a vnode");
	snprintf(path, sizeof(path), "%.127s/%s/" VNODE_INCOMING_FILE, site->run_dir, name);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (file_read_line(path, journals, sizeof(journals)) < 0)
		return errprintf(err, "%s cannot be read", path);
	execl(RESTORE_PROGRAM, "nodeos-vnode-restore", "--nodeos-conf", site->conf, "--conf",
	      site->conf_dir, "--run", site->run_dir, "--state", journals, name, (char *)NULL);
	return errprintf(err, RESTORE_PROGRAM ": %s", strerror(errno));
}

int main(int argc, char **argv)
{
	char line[PRINTABLE_LOG_MAX];
	struct errbuf err = { 0 };
	struct vnode_site site;
	const char *word;
	int rc;

	vnode_site_default(&site);
	if (parse_supervisor_options(&site, argc, argv) < 0) {
		fputs("usage: nodeos-vnode run|clear [OPTION]... NAME\n", stderr);
		return 2;
	}
	word = argv[optind];
	if (strcmp(word, "run") == 0) {
		rc = restore_incoming(&site, argv[optind + 1], &err);
		if (rc == 0)
			rc = vnode_supervise(&site, argv[optind + 1], &err);
	} else if (strcmp(word, "clear") == 0) {
		rc = vnode_clear(&site, argv[optind + 1], &err);
	} else {
		return 2;
	}
	if (rc < 0)
		fprintf(stderr, "nodeos-vnode: %s\n", printable(line, sizeof(line), err.text));
	return rc < 0;
}
