/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/ask.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/words.h"
#include "guest/control/facts.h"
#include "guest/control/meeting.h"

int guest_message(int status, const char *fmt, ...)
{
	char line[PRINTABLE_LOG_MAX];
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "nodeosctl: guest: %s\n", printable_format(line, sizeof(line), fmt, ap));
	va_end(ap);
	return status;
}

struct search {
	struct ask_guest *out;
	unsigned pid; /* 0: any */
	unsigned found;
};

static void look_at_guest(pid_t pid, struct json_object *facts, void *arg)
{
	struct search *s = arg;

	if (s->pid && s->pid != (unsigned)pid)
		return;
	s->found++;
	*s->out = (struct ask_guest){
		.pid = pid,
		.pipe = (int)facts_number(facts, "pipe"),
		.disk = facts_number(facts, "disk") > 0,
	};
}

int ask_find(struct ask_guest *out, const char *word, struct errbuf *err)
{
	struct search s = { .out = out };
	char quoted[WORD_QUOTE_MAX];

	if (word && word_parse_number(word, 1, 1u << 30, &s.pid) < 0)
		return errprintf(err, "%s is not the number of a guest (see nodeosctl guest list)",
				 word_quote(quoted, word, strlen(word)));
	facts_each(look_at_guest, &s);
	if (s.found == 1)
		return 0;
	if (s.found > 1)
		return errprintf(err,
				 "you have %u guests on this host: name one (see nodeosctl "
				 "guest list)",
				 s.found);
	if (word)
		return errprintf(
			err, "you have no guest %s on this host (see nodeosctl guest list)", word);
	return errprintf(err, "you have no guest on this host");
}

char *ask_answer(int fd, const char *want, struct errbuf *err)
{
	char *text = malloc(MEETING_TEXT_MAX), *out = NULL;
	size_t n = strlen(want);
	ssize_t got;

	if (!text) {
		errprintf(err, "out of memory");
		return NULL;
	}
	do
		got = meeting_receive(fd, text, MEETING_TEXT_MAX, NULL, 0);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		errprintf(err, "the guest has ended");
	else if (strncmp(text, "no ", 3) == 0)
		errprintf(err, "%s", text + 3);
	else if (strncmp(text, want, n) != 0 || (text[n] && text[n] != ' '))
		errprintf(err, "unexpected answer \"%.60s\" from the guest's process", text);
	else
		out = strdup(text[n] ? text + n + 1 : "");
	free(text);
	return out;
}

int ask_further(int fd, const char *word, struct errbuf *err)
{
	char *text;

	if (meeting_send(fd, word, -1) < 0)
		return errprintf(err, "the guest has ended");
	text = ask_answer(fd, "ok", err);
	free(text);
	return text ? 0 : -1;
}

int ask_guest(const struct ask_guest *g, const char *word, int given, const char *want, char **text,
	      struct errbuf *err)
{
	int fd = meeting_ask(g->pid, g->pipe, err);
	char *got = NULL;

	if (fd < 0)
		return -1;
	if (meeting_send(fd, word, given) < 0)
		errprintf(err, "guest %d has ended", g->pid);
	else
		got = ask_answer(fd, want, err);
	if (!got) {
		close(fd);
		return -1;
	}
	if (text)
		*text = got;
	else
		free(got);
	return fd;
}

int ask_for_stream(const struct ask_guest *g, const char *word, int *connection, struct errbuf *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	*connection = ask_guest(g, word, pair[1], "ok", NULL, err);
	close(pair[1]);
	if (*connection >= 0)
		return pair[0];
	close(pair[0]);
	return -1;
}
