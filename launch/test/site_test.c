/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/site.h"

#include <pwd.h>
#include <string.h>
#include <sys/mman.h>

#include "base/test/tap.h"

#define UID 1001
#define JOB 77

static struct {
	unsigned calls;
	uint32_t job_id; /* JOB_ID of the last call */
	uid_t uid;
	bool fails;
	struct step_job job;
} slurmctld;

static int fake_load_job(struct step_job *out, uint32_t job_id, uid_t uid, struct errbuf *err)
{
	slurmctld.calls++;
	slurmctld.job_id = job_id;
	slurmctld.uid = uid;
	if (slurmctld.fails)
		return errprintf(err, "slurmctld does not answer");
	*out = slurmctld.job;
	return 0;
}

static unsigned *lookups; /* in memory shared with the process that looks names up */

/* Takes the place of libc's. */
int getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **found)
{
	(void)name;
	(void)buf;
	(void)size;
	++*lookups;
	pw->pw_uid = UID;
	*found = pw;
	return 0;
}

/* A container with CPUs and a memory node, and a container with CPUs alone. */
static const struct request request = {
	.n = 2,
	.container = { { .name = "sim", .cpus = 2, .mems_kind = MEMS_COUNT, .mems = 1 },
		       { .name = "vda", .cpus = 2 } },
};

/* Check the request against a nodeos.conf of TEXT. */
static int check_conf(const char *text, struct errbuf *err)
{
	struct conf conf;
	struct site_job job = { .conf = &conf,
				.conf_path = "/c",
				.job_id = JOB,
				.uid = UID,
				.load_job = fake_load_job };

	slurmctld.calls = 0;
	errclear(err);
	if (conf_parse(&conf, "/c", text, strlen(text), err) < 0)
		bail("%s", err->text);
	return site_check_isolators(&job, &request, err);
}

static void test_no_call(void)
{
	struct errbuf err = { 0 };

	is_int(check_conf("", &err), 0, "the defaults allow every isolator");
	is_int(slurmctld.calls, 0, "the defaults need no call of slurmctld");
	is_int(check_conf("allow_sched = accounts: a\nallow_dimmap = partitions: p", &err), 0,
	       "keys of isolators outside of the request refuse nothing");
	is_int(slurmctld.calls, 0,
	       "keys of isolators outside of the request need no call of slurmctld");
	is_int(check_conf("allow_mems = users: 1001", &err), 0,
	       "a user in a list of users is allowed");
	is_int(slurmctld.calls, 0, "a list of users needs no call of slurmctld");
}

static void test_site_users(void)
{
	struct errbuf err = { 0 };

	is_int(check_conf("allow_mems = users: 1002, 1003", &err), -1,
	       "site_check_isolators: a user outside of the list is refused");
	ok(strstr(err.text, "container sim: mems is only for users 1002 1003") &&
		   strstr(err.text, "(allow_mems in /c)"),
	   "the message names container, list and key: %s", err.text);
	*lookups = 0;
	is_int(check_conf("allow_cpus = users: alice", &err), 0,
	       "a user whose name is in a list of users is allowed");
	is_int(*lookups, 1, "a user's name is looked up once for both containers");
	is_int(check_conf("allow_cpus = no", &err), -1, "allow_cpus = no refuses a user: %s",
	       err.text);
}

static void test_accounts(void)
{
	struct errbuf err = { 0 };

	slurmctld.job = (struct step_job){ "physics", "debug" };
	is_int(check_conf("allow_mems = accounts: physics\nallow_cpus = partitions: debug", &err),
	       0, "a job with the right account and partition is allowed: %s", err.text);
	is_int(slurmctld.calls, 1, "two keys need one call of slurmctld");
	ok(slurmctld.job_id == JOB && slurmctld.uid == UID,
	   "slurmctld is asked for the job and its user");
	is_int(check_conf("allow_mems = accounts: biology", &err), -1,
	       "site_check_isolators: a job of another account is refused");
	ok(strstr(err.text, "this job's is \"physics\"") != NULL,
	   "the message names the job's account: %s", err.text);
	is_int(check_conf("allow_cpus = partitions: long", &err), -1,
	       "site_check_isolators: a job of another partition is refused");
	ok(strstr(err.text, "this job's is \"debug\"") != NULL,
	   "the message names the job's partition: %s", err.text);
	slurmctld.job = (struct step_job){ "", "" };
	is_int(check_conf("allow_mems = accounts: physics", &err), -1,
	       "an account that slurmctld does not know is refused: %s", err.text);
}

static void test_failure(void)
{
	struct errbuf err = { 0 };
	struct conf conf;
	const struct site_job alone = { .conf = &conf, .conf_path = "/c", .uid = UID };
	static const char text[] = "allow_mems = accounts: physics";

	slurmctld.job = (struct step_job){ "physics", "debug" };
	slurmctld.fails = true;
	is_int(check_conf(text, &err), -1, "a job is refused if slurmctld does not answer");
	is(err.text, "/c depends on the job's account or partition: slurmctld does not answer",
	   "if slurmctld does not answer, the message names nodeos.conf and the reason");
	slurmctld.fails = false;
	ok(conf_parse(&conf, "/c", text, strlen(text), &err) == 0 &&
		   site_check_isolators(&alone, &request, &err) == -1,
	   "a key of accounts refuses a job where slurmctld is not available: %s", err.text);
}

int main(void)
{
	lookups = mmap(NULL, sizeof(*lookups), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (lookups == MAP_FAILED)
		bail("out of memory");
	test_no_call();
	test_site_users();
	test_accounts();
	test_failure();
	return tap_done();
}
