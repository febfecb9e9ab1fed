/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/contention_message.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/conf.h"
#include "host/contention_record.h"

#define RANKS_MAX 4096
#define SLACK_MS 150 /* added to CONTENTION_WAIT_MS, for a busy machine */

static const char two[] = "nodeos-contend 1 job=41 step=4294967291 uid=1000 gid=1001 het=0 "
			  "ranks=0:5301:sim,1:5302:-";

static void test_print(void)
{
	struct contention_rank rank[2] = { { 0, 5301, "sim" }, { 1, 5302, "" } };
	struct contention_message m = {
		.job = 41, .step = 4294967291u, .uid = 1000, .gid = 1001, .n = 2, .rank = rank
	};
	char *text = contention_message_print(&m);

	is(text, two, "contention_message_print: prints two ranks, one in a container");
	free(text);
	m.n = 0;
	text = contention_message_print(&m);
	is(text, "nodeos-contend 1 job=41 step=4294967291 uid=1000 gid=1001 het=0 ranks=",
	   "contention_message_print: prints a message without ranks");
	free(text);
	m.policy = CONTENTION_DINO;
	text = contention_message_print(&m);
	is(text,
	   "nodeos-contend 1 job=41 step=4294967291 uid=1000 gid=1001 het=0 policy=dino ranks=",
	   "contention_message_print: prints the policy of --nodeos-contention");
	free(text);
}

static void test_policy(void)
{
	static const struct {
		const char *word;
		enum contention_policy policy;
	} good[] = { { "policy=observe ", CONTENTION_OBSERVE },
		     { "policy=spread ", CONTENTION_SPREAD },
		     { "", CONTENTION_UNSET },
		     { "policy=of-a-later-release ", CONTENTION_UNSET } };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct contention_message m;
		struct errbuf err = { 0 };
		char text[160];
		int len = snprintf(
			text, sizeof(text),
			"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 %sranks=", good[i].word);

		is_int(contention_message_parse(&m, text, (size_t)len, &err), 0,
		       "contention_message_parse: accepts %s%s", text, err.text);
		is_int(m.policy, good[i].policy, "contention_message_parse: reads policy %zu", i);
		contention_message_free(&m);
	}
}

static void test_parse(void)
{
	static const char *const bad[] = {
		"",
		"nodeos-contend",
		"nodeos-contend 2 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 12 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0",
		"nodeos-contend 1 job=1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:- ranks=0:1:-",
		"nodeos-contend 1 job=01 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 job=-1 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 job=4294967296 step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 job= step=0 uid=0 gid=0 het=0 ranks=0:1:-",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:0:-",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:2147483648:-",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:none",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:Sim",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:../a",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:-,",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=,0:1:-",
		"nodeos-contend 1 job=1 step=0 uid=0 gid=0 het=0 ranks=0:1:- \x1b[31m\n\n",
	};
	struct contention_message m;
	struct errbuf err = { 0 };
	char text[200];

	is_int(contention_message_parse(&m, two, strlen(two), &err), 0,
	       "contention_message_parse: accepts two ranks %s", err.text);
	ok(m.job == 41 && m.step == 4294967291u && m.het_job == 0 && m.uid == 1000 &&
		   m.gid == 1001 && m.n == 2,
	   "contention_message_parse: reads the numbers");
	ok(m.rank[0].rank == 0 && m.rank[0].pid == 5301 && m.rank[1].rank == 1 &&
		   m.rank[1].pid == 5302,
	   "contention_message_parse: reads the ranks");
	is(m.rank[0].container, "sim", "contention_message_parse: reads a container");
	is(m.rank[1].container, "", "contention_message_parse: reads \"-\" as no container");
	contention_message_free(&m);
	strcpy(text, "nodeos-contend 1 later=1,2 gid=1 ranks= job=1 uid=1 step=0 het=2 more\n");
	ok(contention_message_parse(&m, text, strlen(text), &err) == 0 && m.n == 0 &&
		   m.het_job == 2,
	   "contention_message_parse: accepts words in any order, skips unknown words, and needs "
	   "no "
	   "rank: %s",
	   err.text);
	contention_message_free(&m);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(contention_message_parse(&m, bad[i], strlen(bad[i]), &err) == -1 && *err.text &&
			   !m.rank && !m.n,
		   "contention_message_parse: refuses bad text %zu: %s", i, err.text);
}

/* A daemon that receives one datagram, and answers with a text or not at all. */
struct daemon {
	int fd;
	const char *answer; /* NULL: none */
	char *got;
	ssize_t len;
};

static void *serve_one(void *arg)
{
	struct daemon *d = arg;
	struct sockaddr_un from;
	socklen_t size = sizeof(from);

	d->len = recvfrom(d->fd, d->got, CONTENTION_MESSAGE_MAX + 1, 0, (struct sockaddr *)&from,
			  &size);
	if (d->answer && d->len > 0)
		sendto(d->fd, d->answer, strlen(d->answer), 0, (struct sockaddr *)&from, size);
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		abort();
	return fd;
}

/*
 * Send M to a daemon that answers with ANSWER. Check that this ends in time. Returns the result,
 * and in *GOT the message that the daemon has received.
 */
static int ask_daemon(const struct contention_message *m, const char *path, const char *answer,
		      struct contention_message *got, struct errbuf *err)
{
	struct daemon d = { .fd = listen_at(path), .answer = answer };
	long start = monotonic_ms(), took;
	struct errbuf ignored;
	pthread_t thread;
	int rc;

	memset(err, 0, sizeof(*err));
	d.got = malloc(CONTENTION_MESSAGE_MAX + 1);
	pthread_create(&thread, NULL, serve_one, &d);
	rc = contention_message_send(m, path, err);
	took = monotonic_ms() - start;
	pthread_join(thread, NULL);
	ok(took <= CONTENTION_WAIT_MS + SLACK_MS,
	   "contention_message_send: returns in time, after %ld ms", took);
	if (got && d.len > 0 && contention_message_parse(got, d.got, (size_t)d.len, &ignored) < 0)
		memset(got, 0, sizeof(*got));
	free(d.got);
	close(d.fd);
	unlink(path);
	return rc;
}

static void test_answers(const char *path)
{
	struct contention_rank rank[2] = { { 0, 5301, "sim" }, { 1, 5302, "" } };
	struct contention_message m = { .job = 41, .n = 2, .rank = rank }, got = { 0 };
	static const struct {
		const char *answer;
		int rc;
		const char *says;
	} row[] = {
		{ "ok 2", 2, "" },
		{ "ok 0\n", 0, "" },
		{ "no counters here", -1, "nodeos-contend refused the message: counters here" },
		{ NULL, -1, "nodeos-contend did not answer within 50 ms" },
		{ "ok 3", -1, "nodeos-contend answered \"ok 3\": expected" },
		{ "ok", -1, "nodeos-contend answered \"ok\"" },
		{ "ok -1", -1, "nodeos-contend answered \"ok -1\"" },
		{ "\xff\x1b[31m\x01", -1, "nodeos-contend answered \"\\xff\\x1b[31m\\x01\"" },
	};
	struct errbuf err;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		is_int(ask_daemon(&m, path, row[i].answer, NULL, &err), row[i].rc,
		       "contention_message_send: answer %zu of the daemon gives %d", i, row[i].rc);
		ok(strncmp(err.text, row[i].says, strlen(row[i].says)) == 0 &&
			   !*err.text == !*row[i].says,
		   "contention_message_send: gives the reason: %s", err.text);
	}
	is_int(ask_daemon(&m, path, "ok 2", &got, &err), 2,
	       "contention_message_send: sends two ranks");
	ok(got.job == 41 && got.n == 2 && got.rank[1].pid == 5302,
	   "the daemon receives both ranks");
	contention_message_free(&got);
}

static void test_no_daemon(const char *path)
{
	struct contention_rank rank = { 0, 5301, "" };
	struct contention_message m = { .n = 1, .rank = &rank };
	struct errbuf err = { 0 };
	long start = monotonic_ms();
	char longer[200];

	is_int(contention_message_send(&m, path, &err), -1,
	       "contention_message_send: fails without a socket: %s", err.text);
	ok(!contention_is_running(path), "contention_is_running: false without a socket");
	close(listen_at(path)); /* the socket's file stays */
	is_int(contention_message_send(&m, path, &err), -1,
	       "contention_message_send: fails with the socket of a killed daemon: %s", err.text);
	ok(!contention_is_running(path),
	   "contention_is_running: false for the socket of a killed daemon");
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	is_int(contention_message_send(&m, longer, &err), -1,
	       "contention_message_send: fails for a path that is too long");
	ok(monotonic_ms() - start < CONTENTION_WAIT_MS,
	   "contention_message_send: does not wait without a daemon");
	unlink(path);
}

static void test_full_queue(const char *path)
{
	struct contention_rank rank = { 0, 5301, "" };
	struct contention_message m = { .n = 1, .rank = &rank };
	int fd = listen_at(path), other = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct errbuf err = { 0 };
	long start;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	while (sendto(other, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1)
		;
	start = monotonic_ms();
	ok(contention_is_running(path),
	   "contention_is_running: true for a daemon with a full queue");
	is_int(contention_message_send(&m, path, &err), -1,
	       "contention_message_send: fails if the queue is full: %s", err.text);
	ok(strstr(err.text, "did not receive the message within 50 ms") != NULL,
	   "contention_message_send: the message says that the daemon did not receive it");
	start = monotonic_ms() - start;
	ok(start <= CONTENTION_WAIT_MS + SLACK_MS,
	   "contention_message_send: returns in time, after %ld ms", start);
	close(other);
	close(fd);
	unlink(path);
}

static void test_many(const char *path)
{
	struct contention_message m = { .n = RANKS_MAX }, got = { 0 };
	struct errbuf err = { 0 };
	unsigned wrong = 0;

	m.rank = calloc(RANKS_MAX, sizeof(*m.rank));
	for (unsigned i = 0; i < RANKS_MAX; i++) {
		m.rank[i].rank = 4294900000u + i;
		m.rank[i].pid = 4194304;
		memset(m.rank[i].container, 'a', sizeof(m.rank[i].container) - 1);
	}
	is_int(ask_daemon(&m, path, "ok 4096", &got, &err), RANKS_MAX,
	       "contention_message_send: sends 4,096 ranks in a container with the longest name %s",
	       err.text);
	for (unsigned i = 0; i < got.n; i++)
		wrong += got.rank[i].rank != m.rank[i].rank ||
			 strlen(got.rank[i].container) != sizeof(got.rank[i].container) - 1;
	ok(got.n == RANKS_MAX && !wrong, "the daemon receives all 4,096 ranks");
	contention_message_free(&got);
	contention_message_free(&m);
}

/* The inodes that contention_record_each() has passed to note_record(), and their ranks. */
static char seen[200];

static void note_record(uint64_t inode, const struct contention_message *m, void *arg)
{
	sprintf(seen + strlen(seen), "%llu:%u.%u ", (unsigned long long)inode, m->job, m->n);
	if (inode == 7)
		contention_record_remove(arg, inode);
}

static void test_records(void)
{
	struct contention_rank rank = { 0, 5301, "sim" };
	struct contention_message m = { .job = 41, .n = 1, .rank = &rank };
	struct errbuf err = { 0 };
	char dir[100], path[150];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s/state", scratch);
	is_int(contention_record_each(dir, note_record, dir, &err), 0,
	       "contention_record_each: accepts a missing directory");
	is_int(contention_record_write(dir, 7, &m, &err), 0,
	       "contention_record_write: succeeds: %s", err.text);
	m.n = 0;
	is_int(contention_record_write(dir, UINT64_MAX, &m, &err), 0,
	       "contention_record_write: succeeds without a rank %s", err.text);
	snprintf(path, sizeof(path), "%s/contention-9", dir);
	f = fopen(path, "w");
	fputs("garbage", f);
	fclose(f);
	snprintf(path, sizeof(path), "%s/contention-09", dir);
	f = fopen(path, "w");
	fputs(two, f);
	fclose(f);
	is_int(contention_record_each(dir, note_record, dir, &err), 0,
	       "contention_record_each: succeeds: %s", err.text);
	is(seen, "18446744073709551615:41.0 7:41.1 ",
	   "contention_record_each: shows only readable records");
	*seen = '\0';
	is_int(contention_record_each(dir, note_record, dir, &err), 0,
	       "contention_record_each: succeeds a second time");
	is(seen, "18446744073709551615:41.0 ", "contention_record_each: FN may remove a record");
}

/* Check which containers are observed: their request decides, or else the site. */
static void test_which_are_observed(void)
{
	static const struct {
		const char *conf, *name;
		bool observed;
	} row[] = {
		{ "", "yes", true },
		{ "", "no", false },
		{ "", "unset", false },
		{ "", "", false },
		{ "contention = observe", "yes", true },
		{ "contention = observe", "no", false },
		{ "contention = observe", "unset", true },
		{ "contention = observe", "", false },
		{ "contention = observe\ncontention_steps = all", "no", false },
		{ "contention = observe\ncontention_steps = all", "", true },
		{ "contention_steps = all", "", false },
	};
	static struct request r;
	struct errbuf err = { 0 };
	struct conf conf;

	is_int(request_parse(&r,
			     "nodeos 1;c=yes cpus=1 contention=observe;c=no cpus=1 "
			     "contention=off;c=unset cpus=1;",
			     &err),
	       0, "request_parse: accepts contention %s", err.text);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		conf_parse(&conf, "f", row[i].conf, strlen(row[i].conf), &err);
		is_int(request_is_observed(&r, row[i].name, &conf), row[i].observed,
		       "request_is_observed: container \"%s\" is %s (row %zu)", row[i].name,
		       row[i].observed ? "observed" : "not observed", i);
	}
	is_int(request_is_observed(NULL, NULL, &conf), false,
	       "request_is_observed: gives the site's answer for a step without a request");
}

int main(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/socket", scratch_make());
	test_print();
	test_parse();
	test_policy();
	test_no_daemon(path);
	test_answers(path);
	test_full_queue(path);
	test_many(path);
	test_records();
	test_which_are_observed();
	return tap_done();
}
