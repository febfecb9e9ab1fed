/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "contend/metrics.h"
#include "contend/step_json.h"

#define METRICS_MS 10000 /* milliseconds between two writes of metrics */
#define SWEEP_MS 60000 /* milliseconds between two sweeps of old documents */
#define KEEP_SECONDS 600 /* seconds for which the document of an ended step stays */
#define KEEP_BYTES (32u << 20) /* bytes that documents of ended steps may have in total */

int output_open(struct output *o, int run_fd, const struct jobs_host *host, struct errbuf *err)
{
	struct stat st;
	int fd;

	*o = (struct output){ .host = *host, .publisher = { .dir_fd = -1 } };
	if (mkdirat(run_fd, "steps", 0755) < 0 && errno != EEXIST)
		return errprintf(err, "cannot make the directory \"steps\": %s", strerror(errno));
	fd = openat(run_fd, "steps", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		errprintf(err, "directory \"steps\": %s",
			  fd < 0 ? strerror(errno)
				 : "it must belong to the daemon's user, and no other user may "
				   "write to it");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	o->publisher =
		(struct publisher){ .dir_fd = fd, .keep = KEEP_SECONDS, .keep_bytes = KEEP_BYTES };
	return 0;
}

int output_configure(struct output *o, const struct conf_contention *conf, struct errbuf *err)
{
	o->metrics = 0;
	return jobs_configure(&o->jobs, conf, err);
}

/* Return a hash of a step's ranks and of how often their classes have changed. */
static uint64_t hash_step(const struct observed_step *step)
{
	uint64_t h = step->n * 2 + step->ended;

	for (unsigned i = 0; i < step->n; i++) {
		const struct observed_rank *r = &step->rank[i];

		h = h * 31 + (uint64_t)r->pid;
		h = h * 31 + r->state.changes * 4 + (unsigned)r->state.class;
	}
	return h;
}

static struct output_step *find_step(struct output *o, uint64_t inode)
{
	struct output_step *more;

	for (unsigned i = 0; i < o->n; i++)
		if (o->step[i].inode == inode)
			return &o->step[i];
	more = realloc(o->step, (o->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	o->step = more;
	more[o->n] = (struct output_step){ .inode = inode };
	return &more[o->n++];
}

static int write_step(struct output *o, const struct observed_node *node,
		      const struct observed_step *step, struct errbuf *err)
{
	struct output_step *seen = find_step(o, step->inode);
	uint64_t print = hash_step(step);
	long now = monotonic_ms(), since = seen ? now - seen->written : 0;
	long pause = step_json_pause(step->n) * 1000L;
	size_t len;
	char *text;
	int rc;

	if (!seen)
		return errprintf(err, "out of memory");
	/* 100 ms less than each pause: the timer may be some milliseconds early */
	if (seen->written && !step->ended &&
	    (since < pause - 100 || (print == seen->print && since < OUTPUT_MS - 100)))
		return 0;
	text = step_json(&len, node, step, &o->histories);
	if (!text)
		return errprintf(err, "out of memory");
	rc = publish_step(&o->publisher, step, text, len, err);
	free(text);
	seen->written = now;
	seen->print = print;
	seen->failed = rc != 0;
	return rc != 0 ? -1 : 0;
}

static void forget_steps(struct output *o, const struct observed_node *node)
{
	for (unsigned i = o->n; i-- > 0;) {
		bool live = false;

		for (unsigned s = 0; s < node->n_steps && !live; s++)
			live = node->step[s].inode == o->step[i].inode && !node->step[s].ended;
		if (!live)
			o->step[i] = o->step[--o->n];
	}
}

static int write_metrics(const struct conf_contention *conf, const struct observed_node *node,
			 struct errbuf *err)
{
	int fd = open(conf->metrics_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return errprintf(err, "%s: %s", conf->metrics_dir, strerror(errno));
	rc = metrics_write(fd, node, err);
	close(fd);
	return rc;
}

void output_update(struct output *o, const struct observed_node *node)
{
	jobs_update(&o->jobs, &o->host, node);
}

/* Write the documents that are due. */
static void write_documents(struct output *o, const struct observed_node *node)
{
	struct errbuf *why = &o->failed[OUTPUT_DOCUMENTS];
	bool failed = false;

	for (unsigned s = 0; s < node->n_steps; s++)
		failed |= write_step(o, node, &node->step[s], why) < 0;
	forget_steps(o, node);
	for (unsigned i = 0; i < o->n; i++)
		failed |= o->step[i].failed;
	if (!failed)
		errclear(why);
}

int output_write(struct output *o, const struct observed_node *node,
		 const struct conf_contention *conf, struct errbuf *err)
{
	long now = monotonic_ms();

	histories_add(&o->histories, node);
	write_documents(o, node);
	if (!*conf->metrics_dir) {
		errclear(&o->failed[OUTPUT_METRICS]);
	} else if (now >= o->metrics) {
		o->metrics = now + METRICS_MS - 100;
		if (write_metrics(conf, node, &o->failed[OUTPUT_METRICS]) == 0)
			errclear(&o->failed[OUTPUT_METRICS]);
	}
	if (now >= o->sweep) {
		o->sweep = now + SWEEP_MS;
		publish_sweep(&o->publisher, node);
	}
	jobs_find_ended(&o->jobs, &o->host);
	if (jobs_write(&o->jobs, conf, node, &o->failed[OUTPUT_RECORDS]) == 0)
		errclear(&o->failed[OUTPUT_RECORDS]);
	for (unsigned i = 0; i < OUTPUT_KINDS; i++)
		if (*o->failed[i].text)
			return errcopy(err, &o->failed[i]);
	return 0;
}

void output_close(struct output *o)
{
	histories_free(&o->histories);
	jobs_free(&o->jobs);
	free(o->step);
	o->step = NULL;
	o->n = 0;
	if (o->publisher.dir_fd >= 0)
		close(o->publisher.dir_fd);
}
