/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/jobs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"

#define RETRY_MS 10000 /* milliseconds from a failure to the next attempt */
#define LOOKUP_MS 60000 /* milliseconds between two searches for contention_report_user */
#define FAILED_MAX 30 /* failures in a row that end the attempts for an ended job */
#define BATCH_MAX 256 /* the most records that one writer gets */

static struct job_entry *find_job(struct jobs *jobs, uint32_t job)
{
	/* search backwards: the last run of a requeued job is wanted */
	for (unsigned i = jobs->n; i-- > 0;)
		if (jobs->entry[i].record.job == job && !jobs->entry[i].ended)
			return &jobs->entry[i];
	return NULL;
}

static void add_new_job(struct jobs *jobs, const struct jobs_host *host,
			const struct observed_step *step)
{
	struct cgroup_place place = { 0 };
	struct job_entry *more, *e;

	if (jobs->n >= JOBS_MAX)
		return;
	more = realloc(jobs->entry, (jobs->n + 1) * sizeof(*more));
	if (!more)
		return;
	jobs->entry = more;
	e = &more[jobs->n];
	*e = (struct job_entry){ .record = { .job = step->job } };
	for (unsigned i = 0; i < step->n && !e->record.inode; i++)
		if (cgroup_find_place(&place, host->cgroup_fd, host->proc, step->rank[i].pid,
				      NULL) == 0) {
			e->record.inode = place.job_inode;
			memcpy(e->cgroup, place.job, sizeof(e->cgroup));
		}
	/* a job without an inode has no ranks any more; the next scan may find others */
	if (e->record.inode || step->ended)
		jobs->n++;
}

static bool has_steps(const struct observed_node *node, uint32_t job)
{
	for (unsigned s = 0; s < node->n_steps; s++)
		if (node->step[s].job == job && !node->step[s].ended)
			return true;
	return false;
}

static bool is_job_over(const struct job_entry *e, const struct jobs_host *host,
			const struct observed_node *node)
{
	if (*e->cgroup)
		return cgroup_is_gone(host->cgroup_fd, e->cgroup, e->record.inode);
	return !has_steps(node, e->record.job);
}

void jobs_update(struct jobs *jobs, const struct jobs_host *host, const struct observed_node *node)
{
	/* first mark earlier runs as ended: a requeued job has the same number */
	for (unsigned i = 0; i < jobs->n; i++) {
		struct job_entry *e = &jobs->entry[i];

		if (e->ended)
			continue;
		job_record_update(&e->record, node);
		for (unsigned s = 0; s < node->n_steps; s++)
			if (node->step[s].ended && node->step[s].job == e->record.job) {
				job_record_end_step(&e->record, &node->step[s]);
				e->due = true;
			}
		if (is_job_over(e, host, node))
			e->ended = e->due = true;
	}
	for (unsigned s = 0; s < node->n_steps; s++)
		if (!find_job(jobs, node->step[s].job) && !node->step[s].ended) {
			add_new_job(jobs, host, &node->step[s]);
			if (find_job(jobs, node->step[s].job))
				job_record_update(&find_job(jobs, node->step[s].job)->record, node);
		}
}

void jobs_find_ended(struct jobs *jobs, const struct jobs_host *host)
{
	for (unsigned i = 0; i < jobs->n; i++) {
		struct job_entry *e = &jobs->entry[i];

		if (!e->ended && *e->cgroup &&
		    cgroup_is_gone(host->cgroup_fd, e->cgroup, e->record.inode))
			e->ended = e->due = true;
	}
}

static void drop_job(struct jobs *jobs, unsigned i)
{
	memmove(&jobs->entry[i], &jobs->entry[i + 1], (jobs->n - i - 1) * sizeof(*jobs->entry));
	jobs->n--;
}

/* Update the records that the writer had; it has ended. */
static void take_result(struct jobs *jobs, bool written)
{
	for (unsigned i = jobs->n; i-- > 0;) {
		struct job_entry *e = &jobs->entry[i];

		if (!e->sent)
			continue;
		e->sent = false;
		if (written)
			errclear(&jobs->failed);
		e->due |= !written;
		e->failed = written ? 0 : e->failed + 1;
		/* the job may have ended while the writer had an earlier record */
		if ((written && e->last) || (e->ended && e->failed >= FAILED_MAX))
			drop_job(jobs, i);
	}
}

static int start_writing(struct jobs *jobs, const struct observed_node *node, struct errbuf *err)
{
	static char line[BATCH_MAX][JOB_RECORD_MAX];
	struct job_record_text text[BATCH_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < jobs->n && n < BATCH_MAX; i++) {
		struct job_entry *e = &jobs->entry[i];

		if (!e->due)
			continue;
		job_record_print(line[n], &e->record, node, e->ended);
		text[n] = (struct job_record_text){ .job = e->record.job, .text = line[n] };
		n++;
		e->due = false;
		e->sent = true;
		e->last = e->ended;
	}
	if (!n || job_record_start(&jobs->writer, node->host, text, n, err) == 0)
		return 0;
	take_result(jobs, false);
	return -1;
}

static int open_writer(struct jobs *jobs, const struct conf_contention *conf, struct errbuf *err)
{
	errclear(&jobs->failed);
	jobs->changes = false;
	jobs->writes = *conf->report_dir != '\0';
	if (jobs->writes &&
	    job_record_open(&jobs->writer, conf->report_dir, conf->report_user, err) < 0) {
		jobs->writes = false;
		return -1;
	}
	return 0;
}

int jobs_configure(struct jobs *jobs, const struct conf_contention *conf, struct errbuf *err)
{
	if (jobs->writes && jobs->writer.pid > 0) {
		/* the writer still uses the directory of the old settings */
		kill(jobs->writer.pid, SIGKILL);
		jobs->changes = true;
		return 0;
	}
	return open_writer(jobs, conf, err);
}

/* Do the work of jobs_write(). Returns 0, or -1 with the reason if something fails in this call. */
static int write_due_records(struct jobs *jobs, const struct conf_contention *conf,
			     const struct observed_node *node, struct errbuf *err)
{
	long now = monotonic_ms();
	int rc = jobs->writes ? job_record_poll(&jobs->writer, err) : 0;

	if (rc == 1 && jobs->writer.killed)
		return errprintf(err,
				 "%s: the process that writes records was killed, and has not"
				 " ended: does the file server answer?",
				 jobs->writer.dir);
	if (rc == 1)
		return 0;
	take_result(jobs, rc == 0);
	if (rc < 0)
		jobs->retry = now + RETRY_MS;
	if (jobs->changes)
		return open_writer(jobs, conf, err);
	if (!jobs->writes && *conf->report_dir && now >= jobs->retry) {
		jobs->retry = now + LOOKUP_MS;
		rc = open_writer(jobs, conf, err); /* contention_report_user may exist now */
		if (rc == 0)
			jobs->retry = 0;
	}
	if (!jobs->writes) {
		for (unsigned i = jobs->n; i-- > 0;)
			if (jobs->entry[i].ended)
				drop_job(jobs, i);
		return rc;
	}
	if (now >= jobs->next) {
		jobs->next = now + conf->report_interval * 1000L;
		for (unsigned i = 0; i < jobs->n; i++)
			jobs->entry[i].due = true;
	}
	if (rc < 0 || now < jobs->retry)
		return rc;
	rc = start_writing(jobs, node, err);
	if (rc < 0)
		jobs->retry = now + RETRY_MS;
	return rc;
}

int jobs_write(struct jobs *jobs, const struct conf_contention *conf,
	       const struct observed_node *node, struct errbuf *err)
{
	struct errbuf why = { 0 };

	if (write_due_records(jobs, conf, node, &why) < 0)
		errcopy(&jobs->failed, &why);
	return *jobs->failed.text ? errcopy(err, &jobs->failed) : 0;
}

void jobs_free(struct jobs *jobs)
{
	free(jobs->entry);
	jobs->entry = NULL;
	jobs->n = 0;
}
