/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/protocol.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static void test_protocol_parse(void)
{
	static const struct {
		const char *line, *error; /* NULL: no error */
		unsigned job;
		bool json;
		const char *container;
	} t[] = {
		{ "nodeos 1 show", NULL, 0, false, NULL },
		{ "nodeos 1 show json", NULL, 0, true, NULL },
		{ "nodeos 1 show job=4294967295 json", NULL, 4294967295u, true, NULL },
		{ "nodeos 1 find container=sim", NULL, 0, false, "sim" },
		{ "nodeos 1 find job=12 container=sim-2", NULL, 12, false, "sim-2" },
		{ "nodeos 1 find", "request: find, resize and delete need a container", 0, false,
		  NULL },
		{ "nodeos 1 find container=", "request: \"container=\" is not expected", 0, false,
		  NULL },
		{ "nodeos 1 find container=../x", "request: \"container=../x\" is not expected", 0,
		  false, NULL },
		{ "nodeos 1 find container=Sim", "request: \"container=Sim\" is not expected", 0,
		  false, NULL },
		{ "nodeos 1 find container=a container=b", "request: \"container=b\"", 0, false,
		  NULL },
		{ "nodeos 1 find container=a json", "request: find and query do not answer in JSON",
		  0, false, NULL },
		{ "nodeos 1 show container=a",
		  "request: find, resize and delete need a container; show and query take none", 0,
		  false, NULL },
		{ "nodeos 1 query json", "request: find and query do not answer", 0, false, NULL },
		{ "nodeos 1 query job=1", "request: find and query do not answer", 0, false, NULL },
		{ "nodeos 1 query container=sim",
		  "request: find, resize and delete need a container", 0, false, NULL },
		{ "nodeos 1 resize container=sim", "request: only resize takes cpus", 0, false,
		  NULL },
		{ "nodeos 1 find container=sim cpus=1", "request: only resize takes cpus", 0, false,
		  NULL },
		{ "nodeos 1 resize cpus=1", "request: find, resize and delete need a container", 0,
		  false, NULL },
		{ "nodeos 1 resize container=sim cpus=0", "request: \"cpus=0\" is not expected", 0,
		  false, NULL },
		{ "nodeos 1 resize container=sim cpus=+", "request: \"cpus=+\"", 0, false, NULL },
		{ "nodeos 1 resize container=sim cpus=+-1", "request: \"cpus=+-1\"", 0, false,
		  NULL },
		{ "nodeos 1 resize container=sim cpus=4b", "request: \"cpus=4b\"", 0, false, NULL },
		{ "nodeos 1 resize container=sim cpus=1048577", "request: \"cpus=1048577\"", 0,
		  false, NULL },
		{ "nodeos 1 resize container=sim cpus=1 cpus=2", "request: \"cpus=2\"", 0, false,
		  NULL },
		{ "nodeos 1 resize container=sim mems=+4096b", "request: \"mems=+4096b\"", 0, false,
		  NULL },
		{ "nodeos 1 resize container=sim mems=4097", "request: \"mems=4097\"", 0, false,
		  NULL },
		{ "nodeos 1 resize container=sim mems=99999999999999999999b",
		  "request: \"mems=99999999999999999999b\"", 0, false, NULL },
		{ "nodeos 1 delete", "request: find, resize and delete need a container", 0, false,
		  NULL },
		{ "nodeos 1 delete container=sim cpus=1", "request: only resize takes cpus", 0,
		  false, NULL },
		{ "nodeos 1 delete container=sim kill kill", "request: \"kill\"", 0, false, NULL },
		{ "nodeos 1 find container=sim kill", "request: only delete takes kill", 0, false,
		  NULL },
		{ "nodeos 1 show kill", "request: only delete takes kill", 0, false, NULL },
		{ "nodeos 1 find container=sim step=",
		  "request: \"step=\" is not expected (allowed, once each: job=NUMBER, "
		  "step=NUMBER, json,",
		  0, false, NULL },
		{ "nodeos 1 find container=sim step=00", "request: \"step=00\"", 0, false, NULL },
		{ "nodeos 1 find container=sim step=01", "request: \"step=01\"", 0, false, NULL },
		{ "nodeos 1 find container=sim step=+1", "request: \"step=+1\"", 0, false, NULL },
		{ "nodeos 1 find container=sim step=1x", "request: \"step=1x\"", 0, false, NULL },
		{ "nodeos 1 find container=sim step=7.1", "request: \"step=7.1\"", 0, false, NULL },
		{ "nodeos 1 find container=sim step=4294967281", "request: \"step=4294967281\"", 0,
		  false, NULL },
		{ "nodeos 1 find container=sim step=4294967296", "request: \"step=4294967296\"", 0,
		  false, NULL },
		{ "nodeos 1 find container=sim step=18446744073709551616",
		  "request: \"step=18446744073709551616\"", 0, false, NULL },
		{ "nodeos 1 find container=sim step=0 step=0", "request: \"step=0\"", 0, false,
		  NULL },
		{ "nodeos 1 delete container=sim step=0",
		  "request: only find and resize take a step", 0, false, NULL },
		{ "nodeos 1 show step=0", "request: only find and resize take a step", 0, false,
		  NULL },
		{ "nodeos 1 query step=0", "request: only find and resize take a step", 0, false,
		  NULL },
		{ "", "request: expected \"nodeos 1 ...\", not \"\"", 0, false, NULL },
		{ "nodeos 2 show", "request: expected \"nodeos 1 ...\", not \"nodeos 2 show\"", 0,
		  false, NULL },
		{ "nodeos 1 ", "request: \"\" is not an operation", 0, false, NULL },
		{ "nodeos 1 shower",
		  "request: \"shower\" is not an operation (allowed: show, query, resize, delete, "
		  "find)",
		  0, false, NULL },
		{ "nodeos 1 show job=0", "request: \"job=0\" is not expected", 0, false, NULL },
		{ "nodeos 1 show job=01", "request: \"job=01\"", 0, false, NULL },
		{ "nodeos 1 show job=-1", "request: \"job=-1\"", 0, false, NULL },
		{ "nodeos 1 show job=4294967296", "request: \"job=4294967296\"", 0, false, NULL },
		{ "nodeos 1 show job=1x", "request: \"job=1x\"", 0, false, NULL },
		{ "nodeos 1 show job=1 job=2", "request: \"job=2\"", 0, false, NULL },
		{ "nodeos 1 show json json", "request: \"json\"", 0, false, NULL },
		{ "nodeos 1 show uid=0", "request: \"uid=0\"", 0, false, NULL },
		{ "nodeos 1 show\tjson", "request: byte 14 is not printable ASCII", 0, false,
		  NULL },
		{ "nodeos 1 show \xc3\xa4", "request: byte 15 is not printable ASCII", 0, false,
		  NULL },
	};
	char line[ASK_LINE_MAX], again[ASK_LINE_MAX];
	struct errbuf err;
	struct ask a, b;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int rc = ask_parse(&a, t[i].line, &err);

		if (t[i].error) {
			ok(rc < 0 && strncmp(err.text, t[i].error, strlen(t[i].error)) == 0,
			   "ask_parse: refuses \"%s\": %s", t[i].line,
			   rc < 0 ? err.text : "accepted");
			continue;
		}
		ok(rc == 0 && a.operation == (t[i].container ? ASK_FIND : ASK_SHOW) &&
			   strcmp(a.container, t[i].container ? t[i].container : "") == 0 &&
			   a.job == t[i].job && a.json == t[i].json,
		   "%s", t[i].line);
		ask_format(&a, line);
		snprintf(again, sizeof(again), "%s\n", t[i].line);
		is(line, again, "ask_format: restores a parsed line");
	}
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	ok(ask_parse(&b, line, &err) < 0 && strstr(err.text, "longer than 510 bytes"),
	   "ask_parse: refuses a line that is too long");
}

/* Parse memory nodes as users write them. */
static void test_protocol_mems(void)
{
	static const struct {
		const char *text;
		int sign;
		uint64_t n; /* 0: the text is refused */
		bool bytes;
		const char *kind; /* NULL: none */
	} t[] = {
		{ "4", 0, 4, false, NULL },
		{ "+2", 1, 2, false, NULL },
		{ "-1", -1, 1, false, NULL },
		{ "4096", 0, 4096, false, NULL },
		{ "16G", 0, UINT64_C(16) << 30, true, NULL },
		{ "512M", 0, UINT64_C(512) << 20, true, NULL },
		{ "0", 0, 0, false, NULL },
		{ "", 0, 0, false, NULL },
		{ "+", 0, 0, false, NULL },
		{ "4x", 0, 0, false, NULL },
		{ "+16G", 0, 0, false, NULL },
		{ "-16G", 0, 0, false, NULL },
		{ "+4097", 0, 0, false, NULL },
		{ "4097", 0, 0, false, NULL },
		{ "hbm:2", 0, 2, false, "hbm" },
		{ "dram:-1", -1, 1, false, "dram" },
		{ "hbm:16G", 0, UINT64_C(16) << 30, true, "hbm" },
		{ "hbm:", 0, 0, false, NULL },
		{ "hbm", 0, 0, false, NULL },
		{ "hbm:+16G", 0, 0, false, NULL },
		{ "hbm:dram:1", 0, 0, false, NULL },
		{ "ddr:1", 0, 0, false, NULL },
		{ ":1", 0, 0, false, NULL },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct ask_amount a = { .given = false };
		int rc = ask_parse_mems(&a, t[i].text);

		ok(t[i].n ? rc == 0 && a.given && a.sign == t[i].sign && a.n == t[i].n &&
				    a.bytes == t[i].bytes && a.by_kind == (t[i].kind != NULL) &&
				    (!a.by_kind || strcmp(memory_kind_name(a.kind), t[i].kind) == 0)
			  : rc < 0,
		   "ask_parse_mems: \"%s\" %s", t[i].text,
		   t[i].n ? "gives the amount" : "is refused");
	}
}

/* Format a request of each operation as a line. */
static void test_format(void)
{
	static const struct {
		const char *line;
		enum ask_operation operation;
		bool kill;
		int64_t step; /* -1: none */
	} t[] = {
		{ "nodeos 1 query\n", ASK_QUERY, false, -1 },
		{ "nodeos 1 resize job=3 container=sim cpus=-4 mems=17179869184b json\n",
		  ASK_RESIZE, false, -1 },
		{ "nodeos 1 resize job=3 step=0 container=sim cpus=-4\n", ASK_RESIZE, false, 0 },
		{ "nodeos 1 resize container=sim mems=hbm:+1\n", ASK_RESIZE, false, -1 },
		{ "nodeos 1 resize container=sim mems=dram:4096b\n", ASK_RESIZE, false, -1 },
		{ "nodeos 1 find step=4294967280 container=step\n", ASK_FIND, false, 4294967280 },
		{ "nodeos 1 delete container=sim\n", ASK_DELETE, false, -1 },
		{ "nodeos 1 delete job=3 container=sim kill json\n", ASK_DELETE, true, -1 },
	};
	char line[ASK_LINE_MAX], again[ASK_LINE_MAX];
	struct errbuf err;
	struct ask a;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(t[i].line, "\n"), t[i].line);
		ok(ask_parse(&a, line, &err) == 0 && a.operation == t[i].operation &&
			   a.kill == t[i].kill &&
			   (a.step_given ? (int64_t)a.step : -1) == t[i].step,
		   "%s", line);
		ask_format(&a, again);
		is(again, t[i].line, "ask_format: writes the line \"%s\"", t[i].line);
	}
}

/*
 * A server that first refuses TURN_AWAY clients, as systemd does, then answers each client with
 * TEXT and keeps the request.
 */
struct server {
	int fd;
	const char *text;
	unsigned turn_away;
	useconds_t
		/*
		 * microseconds to wait before it closes a connection unread, and before it answers
		 */
		slow;
	char heard[ASK_LINE_MAX];
};

static void *answer_clients(void *arg)
{
	struct server *o = arg;
	sigset_t all;
	ssize_t n;
	int fd;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (; o->turn_away; o->turn_away--) {
		fd = accept(o->fd, NULL, NULL);
		/* close the connection at once, or after the client has sent its request */
		usleep(o->turn_away % 2 ? o->slow : 0);
		close(fd);
	}
	fd = accept(o->fd, NULL, NULL);
	n = read(fd, o->heard, sizeof(o->heard) - 1);
	o->heard[n > 0 ? n : 0] = '\0';
	usleep(o->slow);
	if (write(fd, o->text, strlen(o->text)) < 0)
		perror("write");
	close(fd);
	return NULL;
}

static char said[200];

static int ask_slow_server(const char *path, const char *text, unsigned turn_away, useconds_t slow,
			   char *heard, struct errbuf *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct server o = { .fd = socket(AF_UNIX, SOCK_STREAM, 0),
			    .text = text,
			    .turn_away = turn_away,
			    .slow = slow };
	struct ask a = { .operation = ASK_SHOW, .job = 7 };
	pthread_t thread;
	FILE *out;
	int rc;

	memset(said, 0, sizeof(said));
	unlink(path);
	strcpy(at.sun_path, path);
	if (bind(o.fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(o.fd, 1) < 0 ||
	    pthread_create(&thread, NULL, answer_clients, &o) != 0)
		bail("no socket");
	out = fmemopen(said, sizeof(said), "w");
	rc = ask_node(&a, path, out, err);
	fclose(out);
	pthread_join(thread, NULL);
	close(o.fd);
	strcpy(heard, o.heard);
	return rc;
}

static int ask_server(const char *path, const char *text, char *heard, struct errbuf *err)
{
	return ask_slow_server(path, text, 0, 0, heard, err);
}

static void handle_tick(int sig)
{
	(void)sig;
}

/* A program on a busy node has a profiler's timer, which interrupts its system calls. */
static void test_busy(void)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = handle_tick };
	char path[100], heard[ASK_LINE_MAX];
	struct errbuf err = { 0 };

	snprintf(path, sizeof(path), "%s/s", scratch);
	is_int(ask_slow_server(path, "ok\nhere\n", 8, 100000, heard, &err), 0,
	       "ask_node: succeeds after eight refusals: %s", err.text);
	is(said, "here\n", "ask_node: gets the answer after refusals");
	is(heard, "nodeos 1 show job=7\n", "ask_node: repeats the same request");
	ok(ask_slow_server(path, "", 0, 50000, heard, &err) < 0 &&
		   strstr(err.text, "did not answer"),
	   "ask_node: does not repeat a request that was read");
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	is_int(ask_slow_server(path, "ok\nhere\n", 0, 300000, heard, &err), 0,
	       "ask_node: succeeds under constant interrupts: %s", err.text);
	is(said, "here\n", "ask_node: gets the answer under constant interrupts");
	setitimer(ITIMER_REAL, &never, NULL);
}

static void test_answers(void)
{
	char path[100], heard[ASK_LINE_MAX];
	struct errbuf err = { 0 };
	struct ask a = { .operation = ASK_SHOW };

	snprintf(path, sizeof(path), "%s/s", scratch);
	ok(ask_node(&a, path, stdout, &err) < 0 &&
		   strstr(err.text, "nodeosd does not listen on this node"),
	   "ask_node: fails if nodeosd does not listen: %s", err.text);
	is_int(ask_server(path, "ok\nwhat it says\nin lines\n", heard, &err), 0,
	       "ask_node: accepts an answer");
	is(said, "what it says\nin lines\n", "ask_node: the result is the text after ok");
	is(heard, "nodeos 1 show job=7\n", "ask_node: sends the request");
	ok(ask_server(path, "error container of another user\n", heard, &err) < 0,
	   "ask_node: fails if the server answers with an error");
	is(err.text, "container of another user", "ask_node: gives the server's message");
	ok(ask_server(path, "", heard, &err) < 0 && strstr(err.text, "did not answer"),
	   "ask_node: fails without an answer: %s", err.text);
	ok(ask_server(path, "what\n", heard, &err) < 0 &&
		   strstr(err.text, "does not know nodeosd's answer: what"),
	   "ask_node: fails for an unknown answer: %s", err.text);
}

int main(void)
{
	scratch_make();
	test_protocol_parse();
	test_format();
	test_protocol_mems();
	test_answers();
	test_busy();
	return tap_done();
}
