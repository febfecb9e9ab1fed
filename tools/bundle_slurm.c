/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostname.h"
#include "host/slurm_conf.h"
#include "tools/bundle_node.h"

#define INCLUDE_DEPTH 4
#define INCLUDE_FILES 64 /* of one pattern */

/* The pattern behind "include" in LINE, relative ones below the directory of PATH; false: it is no
 * such line. */
static bool included(const char *line, const char *path, char pattern[PATH_MAX])
{
	const char *word = line + strspn(line, " \t"), *end;
	int dir = 0;

	if (strncasecmp(word, "include", 7) != 0 || (word[7] != ' ' && word[7] != '\t'))
		return false;
	word += 7;
	word += strspn(word, " \t\"");
	end = word + strcspn(word, " \t\r\"#");
	if (*word != '/')
		dir = (int)(strrchr(path, '/') + 1 - path);
	return end > word && snprintf(pattern, PATH_MAX, "%.*s%.*s", dir, path, (int)(end - word),
				      word) < PATH_MAX;
}

static int each_include(struct bundle *b, const char *path, unsigned depth, struct errbuf *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, pattern[PATH_MAX];
	size_t room = 0;
	int rc = 0;

	while (f && rc == 0 && getline(&line, &room, f) > 0) {
		glob_t g = { 0 };

		line[strcspn(line, "\n")] = '\0';
		if (!included(line, path, pattern))
			continue;
		if (glob(pattern, 0, NULL, &g) == 0)
			for (size_t i = 0; rc == 0 && i < g.gl_pathc && i < INCLUDE_FILES; i++)
				rc = bundle_config_file(b, g.gl_pathv[i], depth + 1, err);
		globfree(&g);
	}
	free(line);
	if (f)
		fclose(f);
	return rc;
}

int bundle_config_file(struct bundle *b, const char *path, unsigned depth, struct errbuf *err)
{
	/* without .., which could lead out of the archive's directory */
	char real[PATH_MAX], file[PATH_MAX + 8];

	if (!realpath(path, real))
		return bundle_missing(b, "files", path, strerror(errno), err);
	snprintf(file, sizeof(file), "files%s", real);
	if (bundle_file(b, file, real, BUNDLE_MASK, err) < 0)
		return -1;
	return depth < INCLUDE_DEPTH ? each_include(b, real, depth, err) : 0;
}

/* NAME in the directory of slurm.conf. */
static int beside(struct bundle *b, const char *slurm_conf, const char *name, struct errbuf *err)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%.*s%s", (int)(strrchr(slurm_conf, '/') + 1 - slurm_conf),
		 slurm_conf, name);
	return bundle_config_file(b, path, 0, err);
}

/* slurmd's log: %h and %n are the node's name. */
static int put_log(struct bundle *b, const char *value, const char *host, struct errbuf *err)
{
	char path[PATH_MAX] = "", real[PATH_MAX];
	size_t used = 0;

	for (const char *c = value; *c && used + strlen(host) + 2 < sizeof(path); c++) {
		bool node = *c == '%' && (c[1] == 'h' || c[1] == 'n');

		used += (size_t)snprintf(path + used, sizeof(path) - used, "%.*s",
					 node ? (int)strlen(host) : 1, node ? host : c);
		c += node;
	}
	if (path[0] != '/' || !realpath(path, real))
		return bundle_missing(
			b, "slurm/slurmd.log", path[0] == '/' ? path : "SlurmdLogFile",
			path[0] == '/' ? strerror(errno) : "not set: slurmd logs to the journal",
			err);
	return bundle_file(b, "slurm/slurmd.log", real, BUNDLE_MASK | BUNDLE_TAIL, err);
}

int bundle_slurm(struct bundle *b, struct errbuf *err)
{
	char conf[PATH_MAX] = "", plugstack[PATH_MAX] = "", log[PATH_MAX] = "", host[NODE_NAME_MAX];
	const char *show_node[] = { "scontrol", "show", "node", host, NULL };
	const char *from_env = getenv("SLURM_CONF");
	struct errbuf why = { 0 };
	char *config = slurm_show("config", NULL, &why);
	int rc;

	hostname_short(host);
	slurm_value(config, "SLURM_CONF", conf, sizeof(conf));
	slurm_value(config, "PlugStackConfig", plugstack, sizeof(plugstack));
	slurm_value(config, "SlurmdLogFile", log, sizeof(log));
	if (conf[0] != '/')
		snprintf(conf, sizeof(conf), "%s",
			 from_env && *from_env == '/' ? from_env : "/etc/slurm/slurm.conf");
	rc = config ? bundle_text(b, "slurm/config.txt", "scontrol show config", config,
				  BUNDLE_MASK, err)
		    : bundle_missing(b, "slurm/config.txt", "scontrol show config", why.text, err);
	free(config);
	if (rc < 0 || bundle_program(b, "slurm/node.txt", show_node, 30, BUNDLE_MASK, err) < 0 ||
	    bundle_config_file(b, conf, 0, err) < 0 || beside(b, conf, "cgroup.conf", err) < 0 ||
	    beside(b, conf, "gres.conf", err) < 0)
		return -1;
	rc = plugstack[0] == '/' ? bundle_config_file(b, plugstack, 0, err)
				 : beside(b, conf, "plugstack.conf", err);
	return rc < 0 ? -1 : put_log(b, log, host, err);
}
