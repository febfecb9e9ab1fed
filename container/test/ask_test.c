/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/ask.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "container/test/fixture.h"
#include "topology/test/tap.h"

static void parse(void)
{
	static const struct {
		const char *line, *error; /* NULL: good */
		unsigned job;
		bool json;
	} t[] = {
		{ "nodeos 1 show", NULL, 0, false },
		{ "nodeos 1 show json", NULL, 0, true },
		{ "nodeos 1 show job=4294967295 json", NULL, 4294967295u, true },
		{ "", "request: it starts with \"\"", 0, false },
		{ "nodeos 2 show", "request: it starts with \"nodeos 2 show\", expected \"nodeos 1 \"", 0, false },
		{ "nodeos 1 ", "request: \"\" is no operation", 0, false },
		{ "nodeos 1 shower", "request: \"shower\" is no operation (allowed: show)", 0, false },
		{ "nodeos 1 show job=0", "request: \"job=0\" is not expected", 0, false },
		{ "nodeos 1 show job=01", "request: \"job=01\"", 0, false },
		{ "nodeos 1 show job=-1", "request: \"job=-1\"", 0, false },
		{ "nodeos 1 show job=4294967296", "request: \"job=4294967296\"", 0, false },
		{ "nodeos 1 show job=1x", "request: \"job=1x\"", 0, false },
		{ "nodeos 1 show job=1 job=2", "request: \"job=2\"", 0, false },
		{ "nodeos 1 show json json", "request: \"json\"", 0, false },
		{ "nodeos 1 show uid=0", "request: \"uid=0\"", 0, false },
		{ "nodeos 1 show\tjson", "request: byte 14 is no printable ASCII", 0, false },
		{ "nodeos 1 show \xc3\xa4", "request: byte 15 is no printable ASCII", 0, false },
	};
	char line[ASK_LINE_MAX], again[ASK_LINE_MAX];
	struct errbuf err;
	struct ask a, b;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int rc = ask_parse(&a, t[i].line, &err);

		if (t[i].error) {
			ok(rc < 0 && strncmp(err.text, t[i].error, strlen(t[i].error)) == 0, "refused: %s: %s", t[i].line, rc < 0 ? err.text : "it is not");
			continue;
		}
		ok(rc == 0 && a.operation == ASK_SHOW && a.job == t[i].job && a.json == t[i].json, "%s", t[i].line);
		ask_format(&a, line);
		snprintf(again, sizeof(again), "%s\n", t[i].line);
		is(line, again, "and back");
	}
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	ok(ask_parse(&b, line, &err) < 0 && strstr(err.text, "longer than 510 bytes"), "a line without end");
}

/* The other side: says TEXT to whoever comes, and keeps what he has said. */
struct other {
	int fd;
	const char *text;
	char heard[ASK_LINE_MAX];
};

static void *answer(void *arg)
{
	struct other *o = arg;
	int fd = accept(o->fd, NULL, NULL);
	ssize_t n = read(fd, o->heard, sizeof(o->heard) - 1);

	o->heard[n > 0 ? n : 0] = '\0';
	if (write(fd, o->text, strlen(o->text)) < 0)
		perror("write");
	close(fd);
	return NULL;
}

static int asked(const char *path, const char *text, char *heard, struct errbuf *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct other o = { .fd = socket(AF_UNIX, SOCK_STREAM, 0), .text = text };
	struct ask a = { .operation = ASK_SHOW, .job = 7 };
	pthread_t thread;
	int rc;

	unlink(path);
	strcpy(at.sun_path, path);
	if (bind(o.fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(o.fd, 1) < 0 || pthread_create(&thread, NULL, answer, &o) != 0)
		bail("no socket");
	rc = ask_node(&a, path, err);
	pthread_join(thread, NULL);
	close(o.fd);
	strcpy(heard, o.heard);
	return rc;
}

static void talk(void)
{
	char path[100], heard[ASK_LINE_MAX];
	struct errbuf err = { "" };
	struct ask a = { .operation = ASK_SHOW };

	snprintf(path, sizeof(path), "%s/s", scratch);
	ok(ask_node(&a, path, &err) < 0 && strstr(err.text, "nodeosd does not listen on this node"), "nobody is there: %s", err.text);
	is_int(asked(path, "ok\n# what it says\n", heard, &err), 0, "an answer");
	is(heard, "nodeos 1 show job=7\n", "to what was asked");
	ok(asked(path, "error it is not yours\n", heard, &err) < 0, "an error");
	is(err.text, "it is not yours", "in its words");
	ok(asked(path, "", heard, &err) < 0 && strstr(err.text, "has not answered"), "no answer: %s", err.text);
	ok(asked(path, "what\n", heard, &err) < 0 && strstr(err.text, "does not know: what"), "an answer of another version: %s", err.text);
}

int main(void)
{
	scratch_make();
	parse();
	talk();
	return tap_done();
}
