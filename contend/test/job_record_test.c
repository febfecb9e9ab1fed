/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/job_record.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/test/tap.h"
#include "contend/test/example.h"

static void test_line(void)
{
	struct job_record r = { .job = 41, .inode = 4700 };
	struct observed_node n;
	char line[JOB_RECORD_MAX];

	example_node(&n);
	job_record_update(&r, &n);
	ok(job_record_print(line, &r, &n, false) == strlen(line),
	   "job_record_print: returns the length of the line");
	/* 37,590,200 misses in 6,000,000,000 instructions are 62.65033 per 10,000, rounded up */
	is(line,
	   "{\"nodeos_contention\":1,\"host\":\"n1\",\"job\":41,\"inode\":4700,"
	   "\"time\":1795207786,\"ended\":false,\"class\":\"devil\",\"ranks\":4,\"turtles\":1,"
	   "\"semi_devils\":1,\"devils\":1,\"unknown\":1,\"rate\":62.651,\"cpu\":null,"
	   "\"changes\":2,\"source\":\"perf\",\"quality\":\"A\",\"simulated\":true,"
	   "\"containers\":[{\"name\":\"sim\",\"turtles\":1,\"semi_devils\":1,\"devils\":1,"
	   "\"unknown\":1,\"cpus\":8,\"traffic\":null}]}\n",
	   "job_record_print: cpu is null if the CPU of a rank is unknown");
	observed_remove_rank(&n.step[0], 3);
	job_record_update(&r, &n);
	job_record_print(line, &r, &n, false);
	ok(strstr(line, "\"ranks\":3,") && strstr(line, "\"cpu\":3.969,"),
	   "job_record_print: cpu is 3.969, the sum of 0.998, 0.991 and 1.98");
	job_record_end_step(&r, &n.step[0]);
	observed_remove_step(&n, 0);
	job_record_update(&r, &n);
	job_record_print(line, &r, &n, true);
	ok(strstr(line, "\"ended\":true,\"class\":\"devil\",\"ranks\":3,") &&
		   strstr(line, "\"rate\":62.651,") && strstr(line, "\"changes\":2,"),
	   "job_record_print: the last record has the counts of an ended step");
	n.row[0] = '\0';
	job_record_print(line, &(struct job_record){ .job = 43 }, &n, true);
	ok(strstr(line, "\"class\":\"unknown\",\"ranks\":0,") && strstr(line, "\"rate\":null,") &&
		   strstr(line, "\"cpu\":null,") && strstr(line, "\"quality\":null,"),
	   "job_record_print: unknown numbers of a job without ranks are null");
	observed_free(&n);
}

/* Wait for the writer. Returns the last result of job_record_poll(), with its reason in ERR. */
static int poll_writer(struct job_record_writer *w, struct errbuf *err)
{
	const struct timespec pause = { 0, 10000000 };
	int rc;

	for (unsigned i = 0; i < 500; i++) {
		rc = job_record_poll(w, err);
		if (rc != 1)
			return rc;
		nanosleep(&pause, NULL);
	}
	return 1;
}

static void test_writer(void)
{
	const struct job_record_text two[] = { { 41, "one\n" }, { 42, "two\n" } };
	struct job_record_writer w;
	struct errbuf err = { 0 };
	char path[128], text[16];
	struct stat st;

	ok(job_record_open(&w, "relative", "", &err) < 0, "a relative directory is refused: %s",
	   err.text);
	ok(job_record_open(&w, scratch, "no-such-user-here", &err) < 0,
	   "an unknown user is refused: %s", err.text);
	if (job_record_open(&w, scratch, "", &err) < 0)
		bail("%s", err.text);
	w.uid = geteuid();
	w.gid = getegid();
	is_int(job_record_poll(&w, &err), 0, "job_record_poll: 0 before a writer was started");
	ok(job_record_start(&w, "../n1", two, 2, &err) < 0,
	   "a host's name with \"/\" is refused: %s", err.text);
	is_int(job_record_start(&w, "n1", two, 2, &err), 0, "a writer is started");
	is_int(job_record_start(&w, "n1", two, 2, &err), 1, "only one writer runs at a time");
	is_int(poll_writer(&w, &err), 0, "records are written");
	snprintf(path, sizeof(path), "%s/42/n1.json", scratch);
	ok(file_read(AT_FDCWD, path, text, sizeof(text), NULL) == 4 && strcmp(text, "two\n") == 0,
	   "the file of a job has the job's record");
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0644, "a record has mode 0644");
	snprintf(path, sizeof(path), "%s/42", scratch);
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0755, "a job's directory has mode 0755");
	/* let a file be in place of the report directory */
	snprintf(path, sizeof(path), "%s/41", scratch);
	snprintf(w.dir, sizeof(w.dir), "%s/41/n1.json", scratch);
	is_int(job_record_start(&w, "n1", two, 1, &err), 0,
	       "a second writer is started after the first one has ended");
	ok(poll_writer(&w, &err) < 0 && strstr(err.text, "Not a directory"),
	   "the writer returns the reason for its failure: %s", err.text);
}

/* Let a stopped process act as a writer that waits for a server. */
static void test_late(void)
{
	const struct job_record_text one = { 44, "one\n" };
	struct job_record_writer w = { .in = -1 };
	struct errbuf err = { 0 };

	if (job_record_open(&w, scratch, "", &err) < 0)
		bail("%s", err.text);
	w.uid = geteuid();
	w.gid = getegid();
	w.pid = fork();
	if (w.pid == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(w.pid, NULL, WUNTRACED);
	w.end = 0;
	is_int(job_record_start(&w, "n1", &one, 1, &err), 1,
	       "no writer is started while another has not ended");
	is_int(job_record_poll(&w, &err), 1, "a writer that exceeds its time is killed");
	ok(poll_writer(&w, &err) < 0, "a killed writer is a failure: %s", err.text);
	is_int(job_record_start(&w, "n1", &one, 1, &err), 0,
	       "a writer is started after a killed one");
	is_int(poll_writer(&w, &err), 0, "a writer after a killed one succeeds");
}

static void test_rights(void)
{
	const struct job_record_text one = { 45, "one\n" };
	struct job_record_writer w;
	struct errbuf err = { 0 };
	char path[128];
	struct stat st;

	if (geteuid() != 0) {
		skip(4, "needs root");
		return;
	}
	scratch_dir("reports");
	snprintf(path, sizeof(path), "%s/reports", scratch);
	if (chmod(scratch, 0755) < 0 || job_record_open(&w, path, "65534", &err) < 0)
		bail("%s", err.text);
	job_record_start(&w, "n1", &one, 1, &err);
	ok(poll_writer(&w, &err) < 0,
	   "a writer with a user's rights cannot write to root's directory: %s", err.text);
	if (chown(path, w.uid, w.gid) < 0)
		bail("chown");
	job_record_start(&w, "n1", &one, 1, &err);
	is_int(poll_writer(&w, &err), 0,
	       "a writer with a user's rights writes to the user's directory");
	snprintf(path, sizeof(path), "%s/reports/45/n1.json", scratch);
	ok(stat(path, &st) == 0 && st.st_uid == w.uid && st.st_gid == w.gid,
	   "the record belongs to the configured user");
	snprintf(path, sizeof(path), "%s/reports/45", scratch);
	if (chown(path, 0, 0) < 0)
		bail("chown");
	job_record_start(&w, "n1", &one, 1, &err);
	ok(poll_writer(&w, &err) < 0, "a job's directory of another user is refused: %s", err.text);
}

int main(void)
{
	scratch_make();
	test_line();
	test_writer();
	test_late();
	test_rights();
	return tap_done();
}
