/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AppC's os/linux/oom-score-adj: how early the kernel kills a rank when memory is short. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/isolator.h"

#define OOM_FILE "/proc/self/oom_score_adj"

static int oom_give(const struct isolator_step *s, struct isolator_part *p, struct errbuf *err)
{
	(void)s;
	(void)err;
	p->given->oom = p->ask->oom;
	return 0;
}

/*
 * By the rank itself, still as root: Slurm sets 0 in the rank before its task_init_privileged hook,
 * at a time that is not known to slurmstepd in its task_post_fork hook (isolator.rank).
 */
static int oom_show(const struct given *g, const char *name, struct errbuf *err)
{
	char text[16];
	int len, fd, error = 0;

	if (!g->oom)
		return 0;
	len = snprintf(text, sizeof(text), "%u", g->oom - 1);
	fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error ? errprintf(err, "container %s: %s to " OOM_FILE ": %s", name, text,
				 strerror(error))
		     : 0;
}

static int oom_verify(const struct given *g, const struct isolator_rank *r, struct errbuf *err)
{
	char text[16] = "";
	ssize_t n = -1;
	int fd, error;

	if (!g->oom)
		return 0;
	fd = open(OOM_FILE, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return errprintf(err, "rank %u: " OOM_FILE ": %s", r->number,
				 n < 0 ? strerror(error) : "it is empty");
	text[strcspn(text, "\n")] = '\0';
	if (strtol(text, NULL, 10) == (long)g->oom - 1)
		return 0;
	return errprintf(err,
			 "rank %u: it has oom_score_adj %s, not %u as planned (another plugin?)",
			 r->number, text, g->oom - 1);
}

static void oom_outcome(struct outcomes *o, const struct judged *j)
{
	if (j->ask->oom)
		outcome_of(o, "os/linux/oom-score-adj");
}

static void oom_asked(struct json_out *j, const struct requested_container *ask)
{
	if (ask->oom)
		jout_number(j, "oom_score_adj", ask->oom - 1);
}

static void oom_report(struct json_out *j, const struct judged *c)
{
	oom_asked(j, c->ask);
}

static void oom_text(FILE *f, const struct judged *c)
{
	if (c->ask->oom)
		fprintf(f, ", oom_score_adj %u", c->ask->oom - 1);
}

const struct isolator isolator_oom = {
	.give = oom_give,
	.show = oom_show,
	.verify = oom_verify,
	.outcome = oom_outcome,
	.asked = oom_asked,
	.report = oom_report,
	.text = oom_text,
};
