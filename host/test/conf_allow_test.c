/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of users with a user database that fails or does not answer. */
#include "host/conf_allow.h"

#include <errno.h>
#include <pwd.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"

#define ALICE 1001
#define BOB 1002

static enum { ANSWERS, FAILS, NO_SERVER, IS_AWAY } database;

/* Takes the place of libc's. */
int getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **found)
{
	static const int error[] = { [FAILS] = EIO, [NO_SERVER] = ENOENT };

	(void)buf;
	(void)size;
	while (database == IS_AWAY)
		pause();
	*found = NULL;
	if (database != ANSWERS)
		return error[database];
	if (strcmp(name, "alice") != 0)
		return 0;
	pw->pw_uid = ALICE;
	*found = pw;
	return 0;
}

static int check_user(const char *value, uid_t uid, bool undecided, struct errbuf *err)
{
	const struct conf_user user = { .uid = uid, .undecided = undecided };
	struct conf_allow allow;

	errclear(err);
	if (conf_allow_parse(&allow, value) < 0)
		bail("%s", value);
	return conf_allow_check(&allow, "mems", &user, "/c", err);
}

static void test_answers(void)
{
	struct errbuf err;

	database = ANSWERS;
	is_int(check_user("users: carol, alice", ALICE, false, &err), 0,
	       "conf_allow_check: allows a user of the list %s", err.text);
	is_int(check_user("users: carol, alice", BOB, false, &err), -1,
	       "conf_allow_check: refuses a user outside the list");
	is(err.text,
	   "mems is only for users carol alice, and uid 1002 is none of them (allow_mems in /c)",
	   "conf_allow_check: the message gives the list and the uid");
	is_int(check_user("users: carol, alice", BOB, true, &err), -1,
	       "conf_allow_check: also refuses a user outside the list at submission");
}

/*
 * Check a list of users while the user database gives no answer. NAME says why, SAID is the part of
 * the message about the database.
 */
static void check_no_answer(const char *name, const char *said)
{
	struct errbuf err;
	char want[256];

	is_int(check_user("users: alice, 1002", BOB, false, &err), 0,
	       "%s: a uid in the list is still found", name);
	is_int(check_user("users: 1003", BOB, false, &err), -1,
	       "%s: a list of uids needs no database", name);
	is_int(check_user("users: alice", ALICE, false, &err), -1, "%s: a job is refused", name);
	snprintf(want, sizeof(want),
		 "mems is only for users alice, and the user database did not show whether uid "
		 "1001 is one of them: %s (allow_mems in /c)",
		 said);
	is(err.text, want, "%s: the message names the user database", name);
	is_int(check_user("users: alice", ALICE, true, &err), 0,
	       "%s: a submission leaves the answer to the nodes %s", name, err.text);
}

static void test_away(void)
{
	time_t start = time(NULL);

	database = IS_AWAY;
	check_no_answer("the user database does not answer", "no answer within 10 s");
	ok(time(NULL) - start <= 2 * (CONF_ALLOW_SECONDS + 5),
	   "conf_allow_check: waits for the user database at most 10 s each time");
}

int main(void)
{
	alarm(120); /* a time limit for the test, in case a wait has none */
	test_answers();
	database = FAILS;
	check_no_answer("the user database fails", "Input/output error");
	database = NO_SERVER;
	check_no_answer("the user database has no server", "No such file or directory");
	test_away();
	return tap_done();
}
