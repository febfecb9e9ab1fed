/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/control/counts.h"
#include "guest/control/facts.h"
#include "guest/control/meeting.h"

#define ANSWER_MS 10000 /* QEMU answers at once if the host is not very busy */

int serve_open(struct serve *s, const struct guest_plan *plan, unsigned ranks, pid_t qemu,
	       struct errbuf *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return errprintf(err, "pipe: %s", strerror(errno));
	s->in = ends[0];
	s->out = ends[1];
	s->facts = facts_make(plan, ranks, qemu, s->out, err);
	return s->facts < 0 ? -1 : 0;
}

void serve_wants(const struct serve *s, struct pollfd polls[SERVE_POLLS])
{
	polls[0] = (struct pollfd){ .fd = s->in, .events = POLLIN };
	for (unsigned i = 0; i < SERVE_PEERS; i++)
		polls[1 + i] = (struct pollfd){ .fd = s->peer[i], .events = POLLIN };
}

static void __attribute__((format(printf, 3, 4)))
answer(const struct serve *s, unsigned peer, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (s->peer[peer] >= 0)
		meeting_send(s->peer[peer], text, -1);
	free(text);
}

/* Let a guest that stood still for a save go on. */
static void go_on(struct serve *s)
{
	struct errbuf ignored;

	if (s->save == SERVE_SAVES)
		qmp_call(s->qmp, "migrate_cancel", NULL, &ignored);
	s->save = SERVE_RUNS;
	qmp_call(s->qmp, "cont", NULL, &ignored);
}

static void drop_peer(struct serve *s, unsigned peer)
{
	close(s->peer[peer]);
	s->peer[peer] = -1;
	if (s->saver == peer && (s->save == SERVE_SAVES || s->save == SERVE_WRITTEN))
		go_on(s);
}

static void meet_command(struct serve *s)
{
	char line[MEETING_LINE_MAX + 1];
	ssize_t n = read(s->in, line, MEETING_LINE_MAX);
	int fd;

	if (n != MEETING_LINE_MAX)
		return;
	line[n] = '\0';
	fd = meeting_accept(line);
	for (unsigned i = 0; fd >= 0 && i < SERVE_PEERS; i++)
		if (s->peer[i] < 0) {
			s->peer[i] = fd;
			fd = -1;
		}
	if (fd >= 0)
		close(fd);
}

/* Stop the guest and let QEMU write it to the socket TO. Returns 0, or -1: the guest goes on. */
static int begin_save(struct serve *s, int to, struct errbuf *err)
{
	static const char events[] =
		"{\"capabilities\":[{\"capability\":\"events\",\"state\":true}]}";
	/* the guest stands still, so the save may take all bandwidth */
	static const char fast[] = "{\"max-bandwidth\":1099511627776}";

	if (!s->saved)
		return errprintf(err, "a guest that runs programs cannot be saved: their files, "
				      "input and output are the host's");
	if (s->save != SERVE_RUNS)
		return errprintf(err, "another command is saving this guest");
	s->qmp->migration = QMP_MIGRATION_NONE;
	if (qmp_call(s->qmp, "stop", NULL, err) < 0)
		return -1;
	if (qmp_call_with(s->qmp, "migrate-set-capabilities", events, NULL, err) == 0 &&
	    qmp_call_with(s->qmp, "migrate-set-parameters", fast, NULL, err) == 0 &&
	    qmp_give(s->qmp, "save", to, err) == 0 &&
	    qmp_call_with(s->qmp, "migrate", "{\"uri\":\"fd:save\"}", NULL, err) == 0)
		return 0;
	go_on(s);
	return -1;
}

static int begin_gdb(struct serve *s, int to, struct errbuf *err)
{
	char text[256];
	struct json_object *said = NULL;
	int rc;

	s->gdbs++;
	snprintf(text, sizeof(text),
		 "{\"id\":\"gdb%u\",\"backend\":{\"type\":\"socket\",\"data\":{\"addr\":{\"type\":"
		 "\"fd\",\"data\":{\"str\":\"gdb\"}},\"server\":false}}}",
		 s->gdbs);
	if (qmp_give(s->qmp, "gdb", to, err) < 0 ||
	    qmp_call_with(s->qmp, "chardev-add", text, NULL, err) < 0)
		return -1;
	snprintf(text, sizeof(text), "{\"command-line\":\"gdbserver chardev:gdb%u\"}", s->gdbs);
	rc = qmp_call_with(s->qmp, "human-monitor-command", text, &said, err);
	if (rc == 0 && strncmp(json_object_get_string(said), "Waiting", 7) != 0)
		rc = errprintf(err, "QEMU: %s", json_object_get_string(said));
	json_object_put(said);
	return rc;
}

static int send_counts(const struct serve *s, unsigned peer, struct errbuf *err)
{
	char *text = counts_take(s->qmp, err);

	if (!text)
		return -1;
	answer(s, peer, "counts %s", text);
	free(text);
	return 0;
}

static void end_saved(struct serve *s)
{
	s->save = SERVE_SAVED;
	qmp_send(s->qmp, "quit");
}

/* Do what WORD asks. *GIVEN is the descriptor that came with it (-1: none); -1 afterwards: kept. */
static int obey(struct serve *s, unsigned peer, const char *word, int *given, struct errbuf *err)
{
	bool decides = s->save == SERVE_WRITTEN && s->saver == peer;
	int rc;

	if (strcmp(word, "counts") == 0)
		return send_counts(s, peer, err);
	if (decides && strcmp(word, "end") == 0) {
		end_saved(s);
	} else if (decides && strcmp(word, "continue") == 0) {
		go_on(s);
	} else if (*given >= 0 && strcmp(word, "console") == 0) {
		if (console_add(s->console, *given) < 0)
			return errprintf(err, "%d commands watch its console, and no more can",
					 CONSOLE_PEERS);
		*given = -1;
	} else if (*given >= 0 && strcmp(word, "gdb") == 0) {
		if (begin_gdb(s, *given, err) < 0)
			return -1;
	} else if (*given >= 0 && strcmp(word, "save") == 0) {
		rc = begin_save(s, *given, err);
		if (rc < 0)
			return rc;
		s->save = SERVE_SAVES;
		s->saver = peer;
	} else {
		return errprintf(err,
				 "unexpected word \"%.20s\": is nodeosctl of another release than "
				 "the guest's nodeos-guest?",
				 word);
	}
	answer(s, peer, "ok");
	return 0;
}

static void take_command(struct serve *s, unsigned peer)
{
	struct errbuf err = { 0 };
	char word[64];
	int given;
	ssize_t n = meeting_receive(s->peer[peer], word, sizeof(word), &given, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		drop_peer(s, peer);
		return;
	}
	if (n < 0)
		return;
	s->qmp->limit = ANSWER_MS;
	if (obey(s, peer, word, &given, &err) < 0)
		answer(s, peer, "no %s", err.text);
	if (given >= 0)
		close(given);
}

/* If QEMU has written the guest, or has failed, report it to the command. */
static void look_at_save(struct serve *s)
{
	struct errbuf err = { 0 };
	char *text;

	if (s->save != SERVE_SAVES || s->qmp->migration == QMP_MIGRATION_NONE)
		return;
	if (s->qmp->migration == QMP_MIGRATION_COMPLETED) {
		s->save = SERVE_WRITTEN;
		snprintf(s->saved->qemu, sizeof(s->saved->qemu), "%s", s->qmp->version);
		text = guest_saved_look_at_disk(s->saved, &s->saved->image, &err) < 0
			       ? NULL
			       : guest_saved_format(s->saved);
		if (text) {
			answer(s, s->saver, "saved %s", text);
			free(text);
			return;
		}
	}
	answer(s, s->saver, "no QEMU could not write the whole guest%s%s", *err.text ? ": " : "",
	       err.text);
	s->save = SERVE_WRITTEN; /* go_on() has nothing to cancel */
	go_on(s);
}

void serve_forward(struct serve *s, const struct pollfd polls[SERVE_POLLS])
{
	if (s->in >= 0 && polls[0].revents)
		meet_command(s);
	for (unsigned i = 0; i < SERVE_PEERS; i++)
		if (s->peer[i] >= 0 && polls[1 + i].fd == s->peer[i] && polls[1 + i].revents)
			take_command(s, i);
	look_at_save(s);
}

void serve_close(struct serve *s)
{
	for (unsigned i = 0; i < SERVE_PEERS; i++)
		if (s->peer[i] >= 0)
			close(s->peer[i]);
	if (s->in >= 0) {
		close(s->in);
		close(s->out);
	}
	if (s->facts >= 0)
		close(s->facts);
}
