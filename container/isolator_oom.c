/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AppC's os/linux/oom-score-adj: if memory is short, the kernel kills ranks with higher scores
 * first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/isolator.h"

#define OOM_FILE "/proc/self/oom_score_adj"

/*
 * Runs in the rank, still as root. Slurm sets the score to 0 before its task_init_privileged hook.
 * The hook in slurmstepd (isolator.rank) may run earlier, so a score that it sets could be lost.
 */
static int oom_show(const struct rank_settings *g, const struct isolator_place *at,
		    struct errbuf *err)
{
	const struct rank_value *adj = &g->number[RANK_NUMBER_OOM];
	char text[16];
	int len, fd, error = 0;

	if (!adj->set)
		return 0;
	len = snprintf(text, sizeof(text), "%d", adj->value);
	fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error ? errprintf(err, "container %s: cannot write %s to " OOM_FILE ": %s",
				 at->container, text, strerror(error))
		     : 0;
}

static int oom_verify(const struct rank_settings *g, const struct isolator_rank *r,
		      struct errbuf *err)
{
	const struct rank_value *adj = &g->number[RANK_NUMBER_OOM];
	char text[16] = "";
	ssize_t n = -1;
	int fd, error;

	if (!adj->set)
		return 0;
	fd = open(OOM_FILE, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return errprintf(err, "rank %u: " OOM_FILE ": %s", r->number,
				 n < 0 ? strerror(error) : "the file is empty");
	text[strcspn(text, "\n")] = '\0';
	if (strtol(text, NULL, 10) == adj->value)
		return 0;
	return errprintf(err, "rank %u has oom_score_adj %s, not %d as planned (another plugin?)",
			 r->number, text, adj->value);
}

const struct isolator isolator_oom = {
	.show = oom_show,
	.verify = oom_verify,
};
