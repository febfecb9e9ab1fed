/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/words.h"
#include "collect/collect.h"
#include "collect/reports.h"

#define SKEW 30 /* seconds by which a node's clock may be behind slurmctld's */
/* seconds after its end within which a job may be missing in the database */
#define ACCOUNT_WAIT 3600

/* where the record of a job is kept, in the words of record.json and of the output */
static const char in_file[] = "file", in_admin[] = "admin_comment", in_system[] = "system_comment";

/* DIR/JOB/record.json, as the last run wrote it. */
struct saved {
	int64_t start; /* Unix time at which the recorded run of the job started; 0: no record */
	char text[COMMENT_RECORD_MAX];
	double rate; /* the rate that TEXT shows; negative: unknown */
	const char *where;
	bool final;
	double time; /* Unix time at which the record was written */
};

/* The handling of one job in this run. */
struct job_visit {
	struct collect *c;
	const char *name; /* the name of its directory, which is the job's number */
	uint32_t job;
	int fd; /* descriptor of its directory */
	const struct slurm_job *slurm; /* NULL: slurmctld does not know the job (any more) */
	struct slurm_account account; /* valid if ASKED */
	bool asked; /* the accounting database was asked for the job */
	int64_t start, end; /* START, END: Unix times of this run of the job; 0: not known */
	struct saved saved;
	struct comment_record record;
	char text[COMMENT_RECORD_MAX]; /* the new record */
	double rate; /* the rate that TEXT shows; negative: unknown */
};

static struct json_object *saved_member(struct json_object *doc, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(doc, name, &value);
	return value;
}

static void load_saved(struct job_visit *t)
{
	struct errbuf err = { 0 };
	char *text = report_file_read(t->fd, REPORT_RECORD, &err);
	struct json_object *doc = text ? json_tokener_parse(text) : NULL;
	const char *record, *where;

	t->saved = (struct saved){ .rate = -1, .where = in_file };
	free(text);
	if (!json_object_is_type(doc, json_type_object)) {
		json_object_put(doc);
		return;
	}
	t->saved.start = json_object_get_int64(saved_member(doc, "start"));
	record = json_object_get_string(saved_member(doc, "record"));
	snprintf(t->saved.text, sizeof(t->saved.text), "%s", record ? record : "");
	if (saved_member(doc, "rate"))
		t->saved.rate = json_object_get_double(saved_member(doc, "rate"));
	where = json_object_get_string(saved_member(doc, "where"));
	if (where && strcmp(where, in_admin) == 0)
		t->saved.where = in_admin;
	if (where && strcmp(where, in_system) == 0)
		t->saved.where = in_system;
	t->saved.final = json_object_get_boolean(saved_member(doc, "final"));
	t->saved.time = json_object_get_double(saved_member(doc, "time"));
	json_object_put(doc);
}

/* Write the new record to record.json. Returns false after a message if that fails. */
static bool save_record(struct job_visit *t, const char *where, bool final)
{
	struct errbuf err = { 0 };
	struct json_object *doc;
	bool good = true;

	if (t->c->dry)
		return true;
	doc = json_object_new_object();
	json_object_object_add(doc, "nodeos_record", json_object_new_int(1));
	json_object_object_add(doc, "job", json_object_new_int64(t->job));
	json_object_object_add(doc, "start", json_object_new_int64(t->start));
	json_object_object_add(doc, "record", json_object_new_string(t->text));
	if (t->rate >= 0)
		json_object_object_add(doc, "rate", json_object_new_double(t->rate));
	json_object_object_add(doc, "where", json_object_new_string(where));
	json_object_object_add(doc, "final", json_object_new_boolean(final));
	json_object_object_add(doc, "time", json_object_new_int64((int64_t)t->c->now));
	if (file_replace(t->fd, REPORT_RECORD,
			 json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN), 0644,
			 &err) < 0) {
		collect_fail(t->c, "job %s: %s/%s/%s", t->name, t->c->path, t->name, err.text);
		good = false;
	}
	json_object_put(doc);
	return good;
}

/* Print what was done for the job, and WHERE its record is (NULL: it has no record). */
static void print_job(const struct job_visit *t, const char *action, const char *where)
{
	struct json_out *j = t->c->j;

	if (j) {
		jout_open(j, NULL, '{');
		jout_number(j, "job", t->job);
		jout_string(j, "action", action);
		jout_string(j, "where", where);
		jout_string(j, "record", *t->text ? t->text : NULL);
		jout_close(j, '}');
	} else if (strcmp(action, "written") == 0 || strcmp(action, "final") == 0 ||
		   strcmp(action, "kept") == 0 || strcmp(action, "removed") == 0) {
		printf("job %s: %s%s", t->name, t->c->dry ? "would be " : "", action);
		if (where)
			printf(", %s: %s", where, t->text);
		putchar('\n');
	}
}

static void job_report_skipped(const char *file, const char *why, void *arg)
{
	struct job_visit *t = arg;
	char key[320];

	snprintf(key, sizeof(key), "%s/%.255s", t->name, file);
	collect_say_once(t->c, key, "%s/%s/%s is left out: %s", t->c->path, t->name, file, why);
}

static void job_report_read(const struct host_report *h, void *arg)
{
	struct job_visit *t = arg;

	/* the report is on an earlier run, before the job was requeued */
	if (h->time + SKEW < (double)t->start)
		return;
	comment_record_add(&t->record, h);
	if (t->slurm && t->slurm->kind == SLURM_JOB_RUNNING)
		collect_node_add(t->c, h);
}

/*
 * Ask the database for the job, unless ASKED. Returns 0, or -1 if the database does not answer.
 * After the first failure, which gives a message, this run asks no more: running jobs do not need
 * the database.
 */
static int ask_account(struct job_visit *t)
{
	struct errbuf err = { 0 };

	if (t->asked)
		return 0;
	if (t->c->silent)
		return -1;
	if (t->c->accounts < 0)
		t->c->accounts = slurm_accounts(&err);
	if (t->c->accounts < 0 ||
	    (t->c->accounts && slurm_account_read(&t->account, t->job, &err) < 0)) {
		collect_fail(t->c, "job %s: %s", t->name, err.text);
		t->c->silent = true;
		return -1;
	}
	t->asked = true;
	return 0;
}

/*
 * Return whether the job has ended since the jobs were loaded. If it has, a failed write of its
 * AdminComment does not matter.
 */
static bool has_ended_meanwhile(const struct job_visit *t)
{
	const struct slurm_job *now;
	struct slurm_job *jobs;
	struct errbuf err = { 0 };
	long n = slurm_jobs_load(&jobs, &err);
	bool running;

	if (n < 0)
		return false;
	now = slurm_jobs_find(jobs, n, t->job);
	running = now && now->kind == SLURM_JOB_RUNNING;
	free(jobs);
	return !running;
}

/*
 * Write the record of a running job: to its AdminComment, unless records are off or the user has a
 * comment there, and to its file record.json.
 */
static void record_running(struct job_visit *t)
{
	char comment[SLURM_COMMENT_MAX];
	struct errbuf err = { 0 };
	const char *where = in_admin;

	if (strcmp(t->text, t->saved.text) == 0) {
		print_job(t, "unchanged", t->saved.where);
		return;
	}
	if (t->c->record && slurm_comment_read(comment, t->slurm, &err) < 0) {
		if (!has_ended_meanwhile(t))
			collect_fail(t->c, "job %s: %s", t->name, err.text);
		return;
	}
	if (!t->c->record || (*comment && !comment_record_is(comment)))
		where = in_file;
	else if (strcmp(comment, t->text) != 0 && !t->c->dry &&
		 slurm_comment_write(t->slurm, t->text, &err) < 0) {
		if (!has_ended_meanwhile(t))
			collect_fail(t->c,
				     "job %s: %s (is this user SlurmUser, or an operator in "
				     "slurmdbd?)",
				     t->name, err.text);
		return;
	}
	if (save_record(t, where, false))
		print_job(t, where == in_file && t->c->record ? "kept" : "written", where);
}

static void finish_job(struct job_visit *t, const char *where)
{
	if (save_record(t, where, true))
		print_job(t, "final", where);
}

/* Write the record of a job that the database has to the job's SystemComment. */
static void record_account(struct job_visit *t)
{
	struct errbuf err = { 0 };

	if (*t->account.comment && !comment_record_is(t->account.comment)) {
		finish_job(t, in_file);
		return;
	}
	if (strcmp(t->account.comment, t->text) != 0 && !t->c->dry &&
	    slurm_account_write(&t->account, t->text, &err) < 0) {
		collect_fail(t->c, "job %s: %s (is this user SlurmUser, or an operator?)", t->name,
			     err.text);
		return;
	}
	finish_job(t, in_system);
}

/* Return whether the database has this run of the job, and the run's end. */
static bool is_accounted(const struct job_visit *t)
{
	const struct slurm_account *a = &t->account;

	return a->found && a->job.kind == SLURM_JOB_ENDED &&
	       (!t->start || a->job.start == t->start);
}

/*
 * Return the Unix time of the job's end or of its last report, whichever is later. A report of a
 * later time than now, from a node with a wrong clock, does not count.
 */
static double find_last_time(const struct job_visit *t)
{
	if (t->record.time > (double)t->end && t->record.time <= t->c->now + SKEW)
		return t->record.time;
	return (double)t->end;
}

static void record_ended(struct job_visit *t)
{
	double last = find_last_time(t);

	if (t->record.running && t->c->now < last + t->c->grace) {
		print_job(t, "waiting", NULL);
		return;
	}
	if (t->c->record && ask_account(t) < 0)
		return;
	if (!t->c->record) {
		finish_job(t, in_file);
	} else if (!t->c->accounts) {
		collect_say_once(t->c, "no slurmdbd",
				 "Slurm has no slurmdbd (AccountingStorageType in slurm.conf), so "
				 "records of ended jobs are in %s/JOB/%s only",
				 t->c->path, REPORT_RECORD);
		finish_job(t, in_file);
	} else if (is_accounted(t)) {
		record_account(t);
	} else if (t->c->now < last + ACCOUNT_WAIT) {
		print_job(t, "waiting", NULL);
	} else {
		collect_say_once(t->c, t->name,
				 "job %s: slurmdbd does not know this job, so its record is in "
				 "%s/%s/%s only",
				 t->name, t->c->path, t->name, REPORT_RECORD);
		finish_job(t, in_file);
	}
}

/* Return false if slurmctld knows a run of the job that began at another time than START. */
static bool is_same_run(const struct slurm_job *slurm, int64_t start)
{
	return !slurm || slurm->kind == SLURM_JOB_WAITING || slurm->start == start;
}

/* Record in the state that the job needs no handling until its directory is to be removed. */
static void remember_final(struct job_visit *t)
{
	struct json_object *entry = json_object_new_object();

	json_object_object_add(entry, "start", json_object_new_int64(t->saved.start));
	json_object_object_add(entry, "time", json_object_new_int64((int64_t)t->saved.time));
	json_object_object_add(t->c->finished, t->name, entry);
}

/*
 * Return whether the job is finished according to the state of the last run. The files of such a
 * job need not be read; they are on another host, and a site may have tens of thousands of finished
 * jobs.
 */
static bool is_remembered(struct collect *c, const char *name, const struct slurm_job *slurm)
{
	struct json_object *entry = saved_member(c->finished_before, name);

	if (!entry || c->j ||
	    !is_same_run(slurm, json_object_get_int64(saved_member(entry, "start"))) ||
	    c->now >= json_object_get_double(saved_member(entry, "time")) + c->keep)
		return false;
	json_object_object_add(c->finished, name, json_object_get(entry));
	return true;
}

/* Handle a job whose record is final: remove its directory after the time for which it is kept. */
static void visit_final(struct job_visit *t)
{
	struct errbuf err = { 0 };

	snprintf(t->text, sizeof(t->text), "%s", t->saved.text);
	if (t->c->now < t->saved.time + t->c->keep) {
		remember_final(t);
		print_job(t, "unchanged", t->saved.where);
		return;
	}
	if (!t->c->dry && report_job_remove(t->c->dir, t->name, &err) < 0) {
		collect_say_once(t->c, t->name, "%s/%s cannot be removed: %s", t->c->path, t->name,
				 err.text);
		return;
	}
	*t->text = '\0';
	print_job(t, "removed", NULL);
}

/*
 * Handle a job that has no report on its last run: the run had no observed ranks, or its reports
 * are left out. ACCOUNT_WAIT seconds after the job's end, or after the last change of its
 * directory, the record is final, so that the directory is removed like others.
 */
static void end_without_reports(struct job_visit *t)
{
	double last = (double)t->end;
	struct stat st;

	if (t->slurm && t->slurm->kind == SLURM_JOB_RUNNING)
		return;
	if (fstat(t->fd, &st) == 0 && st.st_mtime > t->end)
		last = (double)st.st_mtime;
	if (t->c->now < last + ACCOUNT_WAIT)
		return;
	t->rate = -1;
	if (save_record(t, in_file, true))
		print_job(t, "unchanged", NULL);
}

/* Find the start and the end of this run of the job. Returns 0, or -1 after a message. */
static int learn_run(struct job_visit *t)
{
	if (!t->slurm && t->c->record && ask_account(t) < 0)
		return -1;
	if (t->slurm) {
		t->start = t->slurm->start;
		t->end = t->slurm->end;
	} else if (t->account.found) {
		t->start = t->account.job.start;
		t->end = t->account.job.end;
	} else {
		t->start = t->saved.start;
	}
	if (t->saved.start != t->start)
		t->saved = (struct saved){ .rate = -1, .where = in_file };
	return 0;
}

static void visit_job(struct job_visit *t)
{
	static const struct report_reader reader = { job_report_read, job_report_skipped, NULL };
	struct report_reader r = reader;
	struct errbuf err = { 0 };
	bool running = t->slurm && t->slurm->kind == SLURM_JOB_RUNNING;

	load_saved(t);
	if (t->saved.final && is_same_run(t->slurm, t->saved.start)) {
		visit_final(t);
		return;
	}
	if (t->slurm && t->slurm->kind == SLURM_JOB_WAITING) {
		print_job(t, "waiting", NULL);
		return;
	}
	if (learn_run(t) < 0)
		return;
	r.arg = t;
	if (report_job_read(t->fd, t->job, &r, &err) < 0) {
		collect_fail(t->c, "%s/%s: %s", t->c->path, t->name, err.text);
		return;
	}
	if (!t->record.hosts) {
		end_without_reports(t);
		return;
	}
	t->rate = comment_record_rate(&t->record);
	if (running)
		t->rate = comment_record_steady(t->saved.rate, t->rate);
	comment_record_print(t->text, &t->record, t->rate);
	if (running)
		record_running(t);
	else
		record_ended(t);
}

void collect_job(struct collect *c, const char *name)
{
	struct job_visit t = { .c = c, .name = name };
	struct errbuf err = { 0 };
	unsigned number;

	if (word_parse_number(name, 1, UINT32_MAX, &number) < 0)
		return;
	t.job = number;
	t.slurm = slurm_jobs_find(c->jobs, c->n_jobs, t.job);
	if (is_remembered(c, name, t.slurm))
		return;
	t.fd = report_job_open(c->dir, name, &err);
	if (t.fd < 0) {
		collect_say_once(c, name, "%s/%s is left out: %s", c->path, name, err.text);
		return;
	}
	visit_job(&t);
	close(t.fd);
}
