/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/lstopo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/subprocess.h"
#include "base/textfile.h"

#define PICTURE_MAX (64u << 20)
#define SECONDS 120

static const char *find_lstopo(void)
{
	static const char *const where[] = { "/usr/bin/lstopo-no-graphics",
					     "/usr/local/bin/lstopo-no-graphics" };

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		if (access(where[i], X_OK) == 0)
			return where[i];
	return NULL;
}

/* lstopo up to 2.9 writes viewBox='0 0 640px 480px', but viewers expect plain numbers. */
static void mend_view(char *svg)
{
	char *at = strstr(svg, "viewBox='"), *end = at ? strchr(at + 9, '\'') : NULL, *px;

	while (end && (px = strstr(at, "px")) != NULL && px < end)
		memcpy(px, "  ", 2);
}

int draw_svg(const struct machine *m, const char *title, const struct picture_part *part,
	     unsigned n, const char *path, struct errbuf *err)
{
	const char *argv[] = { find_lstopo(),
			       "--if",
			       "xml",
			       "-i",
			       "-",
			       "--of",
			       "svg",
			       "-p",
			       "--disallowed",
			       "--no-legend",
			       "--no-useless-caches",
			       "--no-factorize",
			       "-",
			       NULL };
	char *xml, *svg = NULL;
	struct subprocess h = { .argv = argv,
				.uid = (uid_t)-1,
				.extra_fd = -1,
				.timeout = SECONDS,
				.output_max = PICTURE_MAX };
	int rc;

	if (!argv[0])
		return errprintf(
			err, "pictures are drawn by lstopo-no-graphics, which is not in /usr/bin "
			     "or /usr/local/bin: install hwloc's programs (Debian: hwloc-nox)");
	if (picture_xml(m, title, part, n, &xml, err) < 0)
		return -1;
	h.input = xml;
	rc = subprocess_run(&h, &svg, err);
	free(xml);
	if (rc > 0)
		errprintf(err, "%s failed with status %d: hwloc 2.1 or later is needed to draw SVG",
			  argv[0], rc);
	if (rc == 0 && (!svg || strncmp(svg, "<?xml", 5) != 0))
		rc = errprintf(err, "%s has drawn nothing", argv[0]);
	if (rc == 0) {
		mend_view(svg);
		rc = textfile_write(path, svg, strlen(svg), err);
	}
	free(svg);
	return rc == 0 ? 0 : -1;
}

void draw_label(struct picture_part *part, const char *what, const char *more)
{
	char cpus[128], mems[128];

	idset_brief(cpus, &part->cpus);
	idset_brief(mems, &part->mems);
	snprintf(part->label, sizeof(part->label), "%.128s:%s%s%s%s%s%.64s", what,
		 !*cpus				 ? ""
		 : idset_count(&part->cpus) == 1 ? " CPU "
						 : " CPUs ",
		 cpus, *cpus && *mems ? "," : "",
		 !*mems				 ? ""
		 : idset_count(&part->mems) == 1 ? " memory node "
						 : " memory nodes ",
		 mems, more);
	if (idset_empty(&part->cpus) && idset_empty(&part->mems))
		snprintf(part->label, sizeof(part->label), "%.128s: nothing%.64s", what, more);
}
