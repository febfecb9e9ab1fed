/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a job is found between two scans, and the job's last record is written. */
#include "contend/jobs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

/* The end is found. */
static void found(void)
{
	struct job_entry entry[3] = {
		{ .record = { .job = 5 }, .cgroup = "job_5" },
		{ .record = { .job = 6 }, .cgroup = "job_6" },
		{ .record = { .job = 7 } }, /* its cgroup is unknown */
	};
	struct jobs jobs = { .n = 3, .entry = entry };
	struct jobs_host host = { .proc = "/proc" };

	host.cgroup_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < 2; i++) {
		scratch_dir(entry[i].cgroup);
		entry[i].record.inode = cgroup_inode(host.cgroup_fd, entry[i].cgroup);
	}
	jobs_find_ended(&jobs, &host);
	ok(!entry[0].ended && !entry[1].ended && !entry[2].ended,
	   "jobs_find_ended: jobs with their cgroups have not ended");
	unlinkat(host.cgroup_fd, "job_5", AT_REMOVEDIR);
	jobs_find_ended(&jobs, &host);
	ok(entry[0].ended && entry[0].due,
	   "jobs_find_ended: the last record of a job without its cgroup is due");
	ok(!entry[1].ended && !entry[1].due && !entry[2].ended,
	   "jobs_find_ended: jobs that still have their cgroups have not ended");
	entry[0].due = false;
	jobs_find_ended(&jobs, &host);
	ok(!entry[0].due, "jobs_find_ended: the last record is due only once");
	close(host.cgroup_fd);
}

/* Call jobs_write() until the writer has ended. */
static void write_all_due(struct jobs *jobs, const struct conf_contention *conf,
			  const struct observed_node *node)
{
	struct errbuf err;

	for (unsigned i = 0; i < 500; i++) {
		if (jobs_write(jobs, conf, node, &err) < 0)
			bail("%s", err.text);
		if (jobs->writer.pid <= 0)
			return;
		usleep(10000);
	}
	bail("the writer does not end");
}

static bool report_has(const char *text)
{
	char path[300], got[4096] = "";
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/reports/5/h.json", scratch);
	f = fopen(path, "r");
	n = f ? fread(got, 1, sizeof(got) - 1, f) : 0;
	got[n] = '\0';
	if (f)
		fclose(f);
	return strstr(got, text) != NULL;
}

/* A job ends while the writer has a record of the running job. */
static void ended_meanwhile(void)
{
	struct observed_node node = { .host = "h" };
	struct conf_contention conf = { .report_interval = 3600 };
	struct jobs jobs = { .n = 1, .entry = calloc(1, sizeof(*jobs.entry)) };
	struct errbuf err;

	scratch_dir("reports");
	snprintf(conf.report_dir, sizeof(conf.report_dir), "%s/reports", scratch);
	jobs.entry[0] = (struct job_entry){ .record = { .job = 5 } };
	if (jobs_configure(&jobs, &conf, &err) < 0 || jobs_write(&jobs, &conf, &node, &err) < 0)
		bail("%s", err.text);
	ok(jobs.writer.pid > 0, "jobs_write: a writer starts");
	jobs.entry[0].ended = jobs.entry[0].due = true;
	write_all_due(&jobs, &conf, &node);
	ok(report_has("\"ended\":true"),
	   "jobs_write: the last record is written after an earlier record that was being written");
	is_int(jobs.n, 0, "jobs_write: the job is forgotten after its last record");
	jobs_free(&jobs);
}

int main(void)
{
	scratch_make();
	found();
	ended_meanwhile();
	return tap_done();
}
