/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of other releases, written by hand. Earlier releases, before runs of ranks, know a fixed
 * order of lines and no other lines; later releases may have further lines. This test also checks
 * the limits of entries.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/test/tap.h"
#include "container/mems.h"
#include "container/test/ledger_fixture.h"

#define PLAN                                                                       \
	"request nodeos 1;c=sim cpus=2;\n"                                         \
	"nodeos-plan 1\n"                                                          \
	"core 0,4\n"                                                               \
	"container sim cpus 0,4 reserved 0,4 mems 2 asked 2 confined 1 shared 0\n" \
	"why because\n"                                                            \
	"end\n"

static char entry[300];

static struct ledger *open_ledger(void)
{
	struct errbuf err;
	struct ledger *l;

	if (ledger_open(&l, state, root, 1, &err) < 0)
		abort();
	return l;
}

/*
 * Write the entry of job 7 of user 1000, whose directory is DIR: HEADER, the lines about the job,
 * then BODY.
 */
static uint64_t write_entry(const char *dir, const char *header, const char *body)
{
	uint64_t inode = cgroup_dir(dir);
	char *text = malloc(strlen(body) + 400);

	snprintf(entry, sizeof(entry), "state/job-%" PRIu64, inode);
	sprintf(text, "%s\njob 7 uid 1000 inode %" PRIu64 "\ncgroup %s\n%s", header, inode, dir,
		body);
	scratch_file(entry, text);
	free(text);
	return inode;
}

static struct ledger_job *read_job(struct ledger *l, uint64_t inode)
{
	struct ledger_job *job = NULL;
	struct errbuf err = { 0 };

	if (ledger_read(l, inode, &job, &err) < 0)
		diag("%s", err.text);
	return job;
}

/* Return the text of the entry that write_entry() or new_job() wrote last. */
static const char *entry_text(void)
{
	static char text[65536];
	char path[sizeof(entry) + sizeof(scratch)];
	int len;

	snprintf(path, sizeof(path), "%s/%s", scratch, entry);
	len = file_read_head(path, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	return text;
}

/* An entry of an earlier release has a live step with three ranks, and an ended step. */
static void test_earlier_release(void)
{
	uint64_t step = cgroup_dir("job_7/step_1"), inode;
	struct ledger_job *job;
	struct errbuf err = { 0 };
	struct ledger *l;
	char body[2048];

	snprintf(body, sizeof(body),
		 PLAN "share 4-5 bytes 4096\n"
		      "step 1 inode %" PRIu64 " ranks 3 container sim,-\ncgroup job_7/step_1\n"
		      "cpus 0,4,6\n"
		      "rank task_0 sim 0\nrank task_1 sim 4\nrank task_2 - 6\n"
		      "step 2 inode 5 ranks 1 container sim\ncgroup job_7/step_2\n"
		      "rank task_0 sim 0\nend-of-entry\n",
		 step);
	inode = write_entry("job_7", "nodeos-ledger 1", body);
	l = open_ledger();
	job = read_job(l, inode);
	ok(job && job->n_steps == 1 && job->step[0].inode == step,
	   "an entry of an earlier release is read, and its ended step is swept");
	ok(strstr(entry_text(), "\nrank task_0 sim 0\nrank task_1 sim 4\nrank task_2 - 6\nend-of-"),
	   "the sweep leaves rank lines of an earlier release as they are");
	if (!job || !job->n_steps)
		abort();
	is_int(ledger_step_load_ranks(&job->step[0], &err), 0,
	       "ranks of an earlier release are loaded (%s)", err.text);
	is_int((int)job->step[0].n_placed, 3, "all ranks of an earlier release are loaded");
	ok(strcmp(job->step[0].placed[2].place, LEDGER_REST) == 0 &&
		   strcmp(job->step[0].placed[2].task, "task_2") == 0,
	   "ranks of an earlier release have their places");
	is(list_of(&job->step[0].placed[1].cpus), "4",
	   "ranks of an earlier release have their CPUs");
	job->step[0].placed[1].cpus = set_of("0");
	is_int(ledger_write(l, job, &err), 0, "a resize writes an entry of an earlier release");
	ok(strstr(entry_text(), "\nrank task_0 sim 0\nrank task_1 sim 0\nrank task_2 - 6\nend-of-"),
	   "a resized entry keeps the form of the earlier release");
	ledger_step_drop_ended(&job->step[0], root);
	is_int((int)job->step[0].n_placed, 0, "ranks whose directories are gone leave the step");
	ledger_job_free(job);
	ledger_remove(l, inode, &err);
	ledger_close(l);
}

static void add_ranks(struct ledger_job *job, unsigned n, unsigned id)
{
	struct ledger_step *s = ledger_job_add_step(job);
	char dir[64];

	snprintf(dir, sizeof(dir), "%.30s/step_%u", job->cgroup, id);
	s->inode = cgroup_dir(dir);
	s->step_id = id;
	s->ranks = n;
	snprintf(s->cgroup, sizeof(s->cgroup), "%s", dir);
	if (ledger_step_set_places(s, "sim") < 0)
		abort();
	for (unsigned i = 0; i < n; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		strcpy(r->place, "sim");
		idset_add(&r->cpus, i % 64);
	}
}

static struct ledger_job *new_job(const char *dir, uid_t uid)
{
	struct ledger_job *job = job_in(dir, 7, uid);

	snprintf(entry, sizeof(entry), "state/job-%" PRIu64, job->inode);
	return job;
}

/*
 * An earlier release cannot read runs of placed ranks, and must take the step as launching: so the
 * runs are on the line "launching", and no other line is new.
 */
static void test_many_ranks(void)
{
	struct ledger_job *job = new_job("job_m", 1000), *got;
	struct ledger *l = open_ledger();
	struct errbuf err = { 0 };
	uint64_t inode = job->inode;

	add_ranks(job, 128, 1);
	add_ranks(job, 4096, 2);
	add_ranks(job, 4096, 3);
	job->step[0].cpus = job->step[1].cpus = set_of("0-63");
	job->step[2].launching = true;
	is_int(ledger_write(l, job, &err), 0, "steps with 8,320 ranks are written (%s)", err.text);
	ok(strstr(entry_text(), "\ncpus 0-63\nrank task_0 sim 0\n"),
	   "a step with few ranks has a line for each rank");
	ok(strstr(entry_text(), "\ncpus 0-63\nlaunching no 0:sim:0 1-63<1+1 64-4095<64+0\nstep 3 "),
	   "a step with many ranks has runs on the line \"launching no\"");
	ok(strstr(entry_text(), "/step_3\nlaunching yes 0:sim:0 1-63<1+1 64-4095<64+0\nend-of-"),
	   "a launching step with many ranks has runs on the line \"launching yes\"");
	ledger_job_free(job);
	got = read_job(l, inode);
	ok(got && got->n_steps == 3 && !got->step[1].launching && got->step[2].launching,
	   "an entry with runs shows which steps are launching");
	if (!got || got->n_steps != 3)
		abort();
	is_int(ledger_step_load_ranks(&got->step[1], &err), 0,
	       "ranks of a step with runs are loaded (%s)", err.text);
	ok(got->step[1].n_placed == 4096 &&
		   strcmp(got->step[1].placed[4095].task, "task_4095") == 0 &&
		   strcmp(list_of(&got->step[1].placed[4095].cpus), "63") == 0,
	   "ranks read from runs equal those written");
	is_int(ledger_write(l, got, &err), 0,
	       "an entry is written again, with one step loaded and two not");
	ok(strstr(entry_text(), "no 0:sim:0 1-63<1+1 64-4095<64+0\nstep 3 ") &&
		   strstr(entry_text(), "yes 0:sim:0 1-63<1+1 64-4095<64+0\nend-of-"),
	   "steps that are not loaded keep their runs");
	ledger_job_free(got);
	ledger_remove(l, inode, &err);
	ledger_close(l);
}

static int check_light(const struct ledger_job *job, void *arg)
{
	struct ledger *l = ((void **)arg)[0];
	struct errbuf *err = ((void **)arg)[1];

	return job->light && !job->step[0].rank_lines && ledger_write(l, job, err) < 0 ? 0 : -1;
}

static void test_without_ranks(void)
{
	struct ledger_job *job = new_job("job_w", 1000);
	struct errbuf err = { 0 }, bad = { 0 };
	struct ledger *l = open_ledger();
	void *arg[] = { l, &err };

	add_ranks(job, 2, 1);
	if (ledger_write(l, job, &err) < 0)
		abort();
	is_int(ledger_each(l, check_light, arg, NULL, &bad, &err), 0,
	       "entries read without ranks cannot be written (%s)", err.text);
	ok(strstr(entry_text(), "\nrank task_1 "),
	   "an entry keeps its ranks if a write without ranks is refused");
	ledger_remove(l, job->inode, &err);
	ledger_close(l);
	ledger_job_free(job);
}

static int count_job(const struct ledger_job *job, void *arg)
{
	(void)job;
	++*(int *)arg;
	return 0;
}

/*
 * Lines of a later release are kept and quoted in a message, and memory nodes in them count as
 * taken.
 */
static void test_later_release(void)
{
	uint64_t step = cgroup_dir("job_l/step_1"), inode;
	struct errbuf err = { 0 }, bad = { 0 };
	struct ledger_job *job;
	struct idset mems;
	struct ledger *l;
	char body[2048];
	int n = 0;

	snprintf(body, sizeof(body),
		 PLAN "gpus 0-1 of mems 7\n"
		      "step 1 inode %" PRIu64 " ranks 1 container sim\ncgroup job_l/step_1\n"
		      "nic eth0\nrank task_0 sim 0\nguest a\nguest b\n"
		      "step 2 inode 5 ranks 1 container sim\ncgroup job_l/step_2\nnic eth1\n"
		      "end-of-entry\n",
		 step);
	inode = write_entry("job_l", "nodeos-ledger 1", body);
	l = open_ledger();
	job = read_job(l, inode);
	ok(job && job->n_steps == 1 && job->plan, "an entry with lines of a later release is read");
	ok(strstr(entry_text(), "\nend\ngpus 0-1 of mems 7\nstep 1 ") &&
		   strstr(entry_text(),
			  "\nrank task_0 sim 0\nnic eth0\nguest a\nguest b\nend-of-") &&
		   !strstr(entry_text(), "eth1"),
	   "the sweep keeps unknown lines of live steps");
	ok(job && ledger_job_of_later_release(job, &err) &&
		   strstr(err.text, "\"gpus 0-1 of mems 7"),
	   "the message quotes a line of a later release: %s", err.text);
	idset_zero(&mems);
	ledger_each(l, count_job, &n, &mems, &bad, &err);
	is(list_of(&mems), "7", "memory nodes in lines of a later release count as taken");
	is(bad.text, "", "an entry of a later release is not reported as damaged");
	ledger_job_free(job);
	ledger_remove(l, inode, &err);
	ledger_close(l);
}

/* An entry of an unknown form stays until the job in its head has ended. */
static void test_later_format(void)
{
	uint64_t inode = write_entry("job_f", "nodeos-ledger 2", "whatever { mems 3 }\n");
	struct ledger *l = open_ledger();
	struct ledger_job *job = NULL;
	char path[300];
	struct errbuf err;

	is_int(ledger_read(l, inode, &job, &err), -1, "an entry of an unknown form is refused: %s",
	       err.text);
	ok(strstr(entry_text(), "whatever"),
	   "an entry of an unknown form stays while its job lives");
	ledger_close(l);
	snprintf(path, sizeof(path), "%s/cg/job_f", scratch);
	rmdir(path);
	ledger_close(open_ledger());
	ok(!*entry_text(), "an entry of an unknown form is removed with its job");
}

/* Only the lines of ranks are damaged: first those of a live step, then those of an ended step. */
static void test_damaged_ranks(void)
{
	static const struct {
		const char *lines, *kept;
	} rank[] = {
		{ "launching maybe\n", "\nlaunching maybe\nend-of-" },
		{ "launching \x01\n", "\nlaunching \x01\nend-of-" },
		{ "launching no 0:sim:1\nlaunching no 0:sim:2\n",
		  " 0:sim:1\nlaunching no 0:sim:2\nend-of-" },
		{ "rank without numbers\n", "\nrank without numbers\nend-of-" },
	};
	uint64_t step = cgroup_dir("job_r/step_1"), inode;
	struct errbuf err = { 0 };
	struct ledger_job *job;
	char body[2048], path[300];
	struct ledger *l;

	for (size_t i = 0; i < sizeof(rank) / sizeof(rank[0]); i++) {
		snprintf(body, sizeof(body),
			 PLAN "step 1 inode %" PRIu64
			      " ranks 1 container sim\ncgroup job_r/step_1\n"
			      "%sstep 2 inode 5 ranks 1 container sim\ncgroup job_r/step_2\n%s"
			      "step 3 inode 6 ranks 1 container sim\ncgroup job_r/step_3\n"
			      "rank task_0 sim 0\nend-of-entry\n",
			 step, rank[i].lines, rank[i].lines);
		inode = write_entry("job_r", "nodeos-ledger 1", body);
		l = open_ledger();
		job = read_job(l, inode);
		is_int(job ? (int)job->n_steps : -1, 1,
		       "damaged ranks %zu: the ended step is swept", i);
		ok(strstr(entry_text(), rank[i].kept) != NULL,
		   "damaged ranks: the damaged line of a live step is kept");
		ok(job && (ledger_job_of_later_release(job, &err) ||
			   ledger_step_load_ranks(&job->step[0], &err) < 0),
		   "damaged ranks: a message quotes the line: %s", err.text);
		ledger_job_free(job);
		ledger_close(l);
	}
	snprintf(path, sizeof(path), "%s/cg/job_r/step_1", scratch);
	rmdir(path);
	l = open_ledger();
	job = read_job(l, inode);
	ok(job && job->n_steps == 0 && job->plan,
	   "damaged ranks: an ended step with such ranks is removed");
	ledger_job_free(job);
	ledger_remove(l, inode, &err);
	ledger_close(l);
}

static void test_ledger_release_damaged(void)
{
	static const char *const body[] = {
		"Gpus 1\n", "\n", "gpus \x01\n", "rank task_0 sim 0", PLAN PLAN,
	};
	struct ledger *l = open_ledger();
	struct ledger_job *job = NULL;
	struct errbuf err;
	char text[2048];

	for (size_t i = 0; i < sizeof(body) / sizeof(body[0]); i++) {
		uint64_t inode;

		snprintf(text, sizeof(text),
			 "step 1 inode 2 ranks 1 container sim\ncgroup x\n%send-of-entry\n",
			 body[i]);
		inode = write_entry("job_d", "nodeos-ledger 1", text);
		is_int(ledger_read(l, inode, &job, &err), -1, "damaged entry %zu is refused: %s", i,
		       err.text);
	}
	ledger_remove(l, cgroup_dir("job_d"), &err);
	ledger_close(l);
}

/* Add ranks without any pattern that runs could use. */
static void add_scattered_ranks(struct ledger_step *s)
{
	srand(7); /* a fixed seed: every run has the same ranks */
	for (unsigned i = 0; i < s->n_placed; i++)
		for (unsigned k = 0; k < 30; k++)
			idset_add(&s->placed[i].cpus, (unsigned)rand() % 1024);
}

static void test_ledger_release_bounds(void)
{
	struct ledger_job *job = new_job("job_b", 1000), *more, *plain;
	struct ledger *l = open_ledger();
	struct errbuf err = { 0 };
	char dir[32];

	for (unsigned i = 0; i < LEDGER_STEPS_MAX; i++)
		add_ranks(job, 0, i);
	is_int(ledger_write(l, job, &err), 0, "a job may have 1,024 steps (%s)", err.text);
	add_ranks(job, 0, LEDGER_STEPS_MAX);
	is_int(ledger_write(l, job, &err), -1, "a job may not have 1,025 steps: %s", err.text);
	is_int(err.code, LEDGER_BOUND, "too many steps give the code LEDGER_BOUND");
	ledger_job_del_step(job, job->step[3].inode);
	ledger_job_del_step(job, job->step[3].inode);
	is_int(ledger_write(l, job, &err), 0, "a job with one step fewer is written");
	ledger_job_free(job);

	job = new_job("job_c", 1000);
	for (unsigned i = 0; i < 2; i++) {
		add_ranks(job, 3000, i);
		add_scattered_ranks(&job->step[i]);
	}
	is_int(ledger_write(l, job, &err), 0, "ranks without a pattern are written (%s)", err.text);
	add_ranks(job, 3000, 2);
	add_scattered_ranks(&job->step[2]);
	is_int(ledger_write(l, job, &err), -1, "an entry of more than 1 MiB is refused: %s",
	       err.text);
	is_int(err.code, LEDGER_BOUND, "an entry that is too long gives the code LEDGER_BOUND");
	ledger_job_del_step(job, job->step[2].inode);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(dir, sizeof(dir), "job_c%u", i);
		more = new_job(dir, 1000);
		add_ranks(more, 3000, 1);
		add_scattered_ranks(&more->step[0]);
		if (ledger_write(l, more, &err) < 0)
			i = 20;
		ledger_job_free(more);
	}
	ok(strstr(err.text, "of this user's jobs"),
	   "entries of one user of more than 4 MiB are refused: %s", err.text);
	is_int(err.code, LEDGER_BOUND,
	       "too many bytes of one user's entries give the code LEDGER_BOUND");
	plain = new_job("job_p", 1000);
	plain->share = set_of("4");
	is_int(ledger_write(l, plain, &err), 0, "a job without containers is never refused");
	ledger_job_free(plain);
	plain = new_job("job_q", 2000);
	add_ranks(plain, 3000, 1);
	add_scattered_ranks(&plain->step[0]);
	is_int(ledger_write(l, plain, &err), 0,
	       "an entry of a second user is written while the first user is at the limit (%s)",
	       err.text);
	ledger_job_free(plain);
	ledger_job_free(job);
	ledger_close(l);
}

int main(void)
{
	ledger_fixture();
	ledger_close(open_ledger());
	test_earlier_release();
	test_many_ranks();
	test_without_ranks();
	test_later_release();
	test_later_format();
	test_damaged_ranks();
	test_ledger_release_damaged();
	test_ledger_release_bounds();
	close(root);
	return tap_done();
}
