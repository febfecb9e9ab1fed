/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/qmp.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"

#define LINE_MAX_BYTES (1u << 20) /* query-cpus-fast: some 200 bytes a CPU */

/* Return the text of member KEY of OBJECT, "" if there is none. */
static const char *text_member(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (json_object_is_type(object, json_type_object) &&
	    json_object_object_get_ex(object, key, &value) &&
	    json_object_is_type(value, json_type_string))
		return json_object_get_string(value);
	return "";
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (json_object_is_type(object, json_type_object) &&
	    json_object_object_get_ex(object, key, &value))
		return value;
	return NULL;
}

static void note_end(enum guest_end *end, const char *reason)
{
	if (*end == GUEST_PANIC)
		return;
	if (strcmp(reason, "guest-shutdown") == 0)
		*end = GUEST_POWEROFF;
	else if (strcmp(reason, "guest-reset") == 0)
		*end = GUEST_RESET;
	else if (strcmp(reason, "guest-panic") == 0)
		*end = GUEST_PANIC;
	else
		*end = GUEST_QUIT;
}

static void note_event(struct qmp *q, struct json_object *message)
{
	const char *event = text_member(message, "event");
	struct json_object *data = member(message, "data");
	const char *status = text_member(data, "status");

	if (strcmp(event, "GUEST_PANICKED") == 0)
		q->end = GUEST_PANIC;
	else if (strcmp(event, "SHUTDOWN") == 0)
		note_end(&q->end, text_member(data, "reason"));
	else if (strcmp(event, "MIGRATION") != 0)
		return;
	else if (strcmp(status, "completed") == 0)
		q->migration = QMP_MIGRATION_COMPLETED;
	else if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0)
		q->migration = QMP_MIGRATION_FAILED;
}

/*
 * Return whether MESSAGE answers the last command that waits for an answer. Answers to other
 * commands come late, or are not waited for.
 */
static bool is_awaited(const struct qmp *q, struct json_object *message)
{
	struct json_object *id = member(message, "id");

	return id && json_object_get_int64(id) == q->id;
}

int qmp_take(struct qmp *q, const char *line, size_t len, struct json_object **answer,
	     struct errbuf *err)
{
	struct json_tokener *parser = json_tokener_new();
	struct json_object *message, *error;
	int rc = 0;

	*answer = NULL;
	if (!parser)
		return errprintf(err, "out of memory");
	message = json_tokener_parse_ex(parser, line, (int)len);
	json_tokener_free(parser);
	if (!json_object_is_type(message, json_type_object)) {
		json_object_put(message);
		return errprintf(err, "QEMU sent a line that is no JSON object");
	}
	error = member(message, "error");
	if (member(message, "event"))
		note_event(q, message);
	else if (error && is_awaited(q, message))
		rc = errprintf(err, "QEMU: %s", text_member(error, "desc"));
	else if (!error && is_awaited(q, message))
		*answer = json_object_get(member(message, "return"));
	json_object_put(message);
	return rc;
}

/* Receive more bytes, waiting for some if WAIT. Returns their number, 0 at the end, or -1. */
static ssize_t receive(struct qmp *q, bool wait)
{
	struct pollfd one = { .fd = q->fd, .events = POLLIN };
	ssize_t n;

	if (wait && q->limit && poll(&one, 1, q->limit) == 0)
		return 0;
	if (q->room - q->used < 4096) {
		size_t room = q->room ? q->room * 2 : 8192;
		char *more = room <= LINE_MAX_BYTES ? realloc(q->line, room) : NULL;

		if (!more)
			return 0;
		q->line = more;
		q->room = room;
	}
	do
		n = recv(q->fd, q->line + q->used, q->room - q->used, wait ? 0 : MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		q->used += (size_t)n;
	return n;
}

/* Return the length of the first line with its end, 0 if it is not complete. */
static size_t message_length(const struct qmp *q)
{
	const char *end = q->used ? memchr(q->line, '\n', q->used) : NULL;

	return end ? (size_t)(end - q->line) + 1 : 0;
}

static void drop_line(struct qmp *q, size_t len)
{
	q->used -= len;
	memmove(q->line, q->line + len, q->used);
}

/* Wait for a line. Returns its length, or 0 at the end of QEMU. */
static size_t wait_for_line(struct qmp *q)
{
	size_t len = message_length(q);

	while (!len && receive(q, true) > 0)
		len = message_length(q);
	return len;
}

int qmp_send(struct qmp *q, const char *command)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "{\"execute\":\"%s\"}\n", command);

	return send(q->fd, text, (size_t)len, MSG_NOSIGNAL) == len ? 0 : -1;
}

/* Take the events and late answers that have arrived. */
static void take_lines(struct qmp *q)
{
	struct json_object *answer;
	struct errbuf ignored;
	size_t len;

	while ((len = message_length(q)) > 0) {
		if (qmp_take(q, q->line, len, &answer, &ignored) == 0)
			json_object_put(answer);
		drop_line(q, len);
	}
}

static int wait_for_answer(struct qmp *q, struct json_object **answer, struct errbuf *err)
{
	int rc = 0;

	while (rc == 0 && !*answer) {
		size_t len = wait_for_line(q);

		if (!len)
			return errprintf(err, q->limit ? "QEMU has ended, or does not answer"
						       : "QEMU has ended");
		rc = qmp_take(q, q->line, len, answer, err);
		drop_line(q, len);
	}
	return rc;
}

static int call_giving(struct qmp *q, const char *command, const char *arguments, int given,
		       struct json_object **answer, struct errbuf *err)
{
	struct json_object *got = NULL;
	char *text;
	int len = asprintf(&text, "{\"execute\":\"%s\",\"arguments\":%s,\"id\":%ld}\n", command,
			   arguments ? arguments : "{}", ++q->id);
	ssize_t sent;
	int rc;

	if (len < 0)
		return errprintf(err, "out of memory");
	sent = descriptors_send(q->fd, text, (size_t)len, &given, given >= 0);
	free(text);
	rc = sent != len ? errprintf(err, "QEMU has ended") : wait_for_answer(q, &got, err);
	take_lines(q); /* poll() does not report bytes that are already in Q */
	if (answer)
		*answer = got;
	else
		json_object_put(got);
	return rc < 0 ? errwrap(err, "%s", command) : 0;
}

int qmp_call_with(struct qmp *q, const char *command, const char *arguments,
		  struct json_object **answer, struct errbuf *err)
{
	return call_giving(q, command, arguments, -1, answer, err);
}

int qmp_call(struct qmp *q, const char *command, struct json_object **answer, struct errbuf *err)
{
	return call_giving(q, command, NULL, -1, answer, err);
}

int qmp_give(struct qmp *q, const char *name, int fd, struct errbuf *err)
{
	char arguments[64];

	snprintf(arguments, sizeof(arguments), "{\"fdname\":\"%s\"}", name);
	return call_giving(q, "getfd", arguments, fd, NULL, err);
}

/* Record the first two numbers of QEMU's version in its greeting LINE. */
static void note_version(struct qmp *q, const char *line, size_t len)
{
	struct json_tokener *parser = json_tokener_new();
	struct json_object *all = parser ? json_tokener_parse_ex(parser, line, (int)len) : NULL;
	struct json_object *qemu = member(member(member(all, "QMP"), "version"), "qemu");

	if (qemu)
		snprintf(q->version, sizeof(q->version), "%d.%d",
			 json_object_get_int(member(qemu, "major")),
			 json_object_get_int(member(qemu, "minor")));
	json_object_put(all);
	if (parser)
		json_tokener_free(parser);
}

int qmp_open(struct qmp *q, int fd, struct errbuf *err)
{
	size_t len;

	*q = (struct qmp){ .fd = fd };
	len = wait_for_line(q);
	if (!len)
		return errprintf(err, "QEMU has ended before the guest began");
	if (len < 7 || strncmp(q->line, "{\"QMP\":", 7) != 0)
		return errprintf(err, "QEMU did not greet");
	note_version(q, q->line, len);
	drop_line(q, len);
	return qmp_call(q, "qmp_capabilities", NULL, err);
}

int qmp_read(struct qmp *q)
{
	ssize_t n = receive(q, false);

	take_lines(q);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ? 0 : -1;
}

void qmp_close(struct qmp *q)
{
	free(q->line);
	q->line = NULL;
	if (q->fd >= 0)
		close(q->fd);
	q->fd = -1;
}

static bool has_id(struct json_object *props, const char *key, unsigned want)
{
	struct json_object *value = member(props, key);

	/* QEMU leaves out levels that the machine does not have */
	return !value || json_object_get_int64(value) == want;
}

static pid_t find_thread(const struct guest_cpu *cpu, struct json_object *list)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		struct json_object *props = member(entry, "props");

		if (has_id(props, "socket-id", cpu->socket_id) &&
		    has_id(props, "die-id", cpu->die_id) &&
		    has_id(props, "core-id", cpu->core_id) &&
		    has_id(props, "thread-id", cpu->thread_id))
			return (pid_t)json_object_get_int64(member(entry, "thread-id"));
	}
	return 0;
}

int qmp_cpu_threads(pid_t thread[GUEST_CPUS_MAX], const struct guest_shape *shape,
		    struct json_object *list, struct errbuf *err)
{
	if (!json_object_is_type(list, json_type_array) ||
	    json_object_array_length(list) != shape->cpus)
		return errprintf(err, "QEMU does not have %u CPUs", shape->cpus);
	for (unsigned i = 0; i < shape->cpus; i++) {
		thread[i] = find_thread(&shape->cpu[i], list);
		if (thread[i] <= 0)
			return errprintf(err, "QEMU has no thread for CPU %u of the guest", i);
	}
	return 0;
}
