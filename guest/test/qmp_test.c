/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Take messages of QEMU. They are as in its manual, "QEMU QMP Reference Manual". */
#include "guest/qmp.h"

#include <json-c/json.h>

#include "base/test/tap.h"

static struct qmp q;
static struct errbuf err;

/* Returns the answer as text, "-" if there is none, or the error. */
static const char *take(const char *line)
{
	static char text[sizeof(err.text)];
	struct json_object *answer;
	int rc = qmp_take(&q, line, strlen(line), &answer, &err);

	snprintf(text, sizeof(text), "%s",
		 rc < 0	  ? err.text
		 : answer ? json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN)
			  : "-");
	json_object_put(answer);
	return text;
}

static void test_answers(void)
{
	q = (struct qmp){ .fd = -1, .id = 7 };
	is(take("{\"return\":{\"a\":1},\"id\":7}"), "{\"a\":1}",
	   "qmp_take: gives the answer to the last command");
	is(take("{\"return\":{\"a\":1},\"id\":6}"), "-",
	   "qmp_take: drops a late answer to an earlier command");
	is(take("{\"return\":{}}"), "-", "qmp_take: drops an answer without an id");
	is(take("{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"},\"id\":7}"), "QEMU: no",
	   "qmp_take: gives the error of the last command");
	is(take("{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"},\"id\":6}"), "-",
	   "qmp_take: drops a late error of an earlier command");
	is(take("[1]"), "QEMU sent a line that is no JSON object",
	   "qmp_take: refuses a line that is no object");
}

static void test_ends(void)
{
	static const struct {
		const char *reason;
		enum guest_end end;
	} ends[] = {
		{ "guest-shutdown", GUEST_POWEROFF },
		{ "guest-reset", GUEST_RESET },
		{ "guest-panic", GUEST_PANIC },
		{ "host-qmp-quit", GUEST_QUIT },
	};
	char line[200];

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		q = (struct qmp){ .fd = -1 };
		snprintf(line, sizeof(line),
			 "{\"event\":\"SHUTDOWN\",\"data\":{\"guest\":true,\"reason\":\"%s\"},"
			 "\"timestamp\":{\"seconds\":1,\"microseconds\":2}}",
			 ends[i].reason);
		take(line);
		ok(q.end == ends[i].end, "qmp_take: records a shutdown by %s", ends[i].reason);
	}
	q = (struct qmp){ .fd = -1 };
	take("{\"event\":\"GUEST_PANICKED\",\"data\":{\"action\":\"shutdown\"}}");
	take("{\"event\":\"SHUTDOWN\",\"data\":{\"guest\":false,\"reason\":\"host-qmp-quit\"}}");
	ok(q.end == GUEST_PANIC, "qmp_take: a shutdown after a panic stays a panic");
}

static void test_migration(void)
{
	static const struct {
		const char *status;
		enum qmp_migration state;
	} states[] = {
		{ "setup", QMP_MIGRATION_NONE },	  { "active", QMP_MIGRATION_NONE },
		{ "completed", QMP_MIGRATION_COMPLETED }, { "failed", QMP_MIGRATION_FAILED },
		{ "cancelled", QMP_MIGRATION_FAILED },
	};
	char line[200];

	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		q = (struct qmp){ .fd = -1 };
		snprintf(line, sizeof(line),
			 "{\"event\":\"MIGRATION\",\"data\":{\"status\":\"%s\"}}",
			 states[i].status);
		take(line);
		ok(q.migration == states[i].state, "qmp_take: records that a migration is %s",
		   states[i].status);
	}
}

int main(void)
{
	test_answers();
	test_ends();
	test_migration();
	return tap_done();
}
