/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/errbuf.h"
#include "base/test/tap.h"

static void codes(void)
{
	struct errbuf err = { 0 }, copy = { .text = "older", .code = 9 };

	is_int(err.code, 0, "an initialised error has no code");
	is_int(errcode(&err, 7, "need %d", 4), -1, "errcode returns -1");
	is(err.text, "need 4", "errcode formats");
	is_int(err.code, 7, "errcode keeps the code");
	errwrap(&err, "container %s", "sim");
	is_int(err.code, 7, "errwrap keeps the code");
	errappend(&err, " (%d free)", 2);
	is(err.text, "container sim: need 4 (2 free)", "errappend puts its text behind");
	is_int(err.code, 7, "errappend keeps the code");
	is_int(errcopy(&copy, &err), -1, "errcopy returns -1");
	is(copy.text, "container sim: need 4 (2 free)", "errcopy takes the text");
	is_int(copy.code, 7, "errcopy takes the code");
	errprintf(&err, "another");
	is_int(err.code, 0, "errprintf after errcode: the code is gone");
	errclear(&copy);
	is(copy.text, "", "errclear empties the text");
	is_int(copy.code, 0, "errclear takes the code away");
	is_int(errcode(NULL, 7, "x"), -1, "no buffer: errcode returns -1");
	is_int(errappend(NULL, "x"), -1, "no buffer: errappend returns -1");
	is_int(errcopy(NULL, &err), -1, "no buffer: errcopy returns -1");
	errclear(NULL);
	memset(&err, 0x5a, sizeof(err));
	errprintf(&err, "first");
	is_int(err.code, 0, "errprintf into memory with anything in it: no code");
}

int main(void)
{
	struct errbuf err, full;
	char x[600];

	is_int(errprintf(&err, "need %d, %d free", 4, 2), -1, "errprintf returns -1");
	is(err.text, "need 4, 2 free", "errprintf formats");
	is_int(errwrap(&err, "container %s", "sim"), -1, "errwrap returns -1");
	is(err.text, "container sim: need 4, 2 free", "errwrap puts its text before");
	is_int(errprintf(NULL, "x"), -1, "no buffer: errprintf returns -1");
	is_int(errwrap(NULL, "x"), -1, "no buffer: errwrap returns -1");
	memset(x, 'x', sizeof(x));
	x[sizeof(x) - 1] = '\0';
	errprintf(&full, "%s", x);
	is_int((long long)strlen(full.text), sizeof(full.text) - 1, "a long text is cut");
	errwrap(&full, "ab");
	is_int((long long)strlen(full.text), sizeof(full.text) - 1,
	       "wrapping a full buffer stays inside");
	ok(strncmp(full.text, "ab: xxx", 7) == 0, "wrapping a full buffer keeps the start");
	errprintf(&full, "old");
	errwrap(&full, "%s", x);
	is_int((long long)strlen(full.text), sizeof(full.text) - 1, "a long prefix is cut");
	codes();
	return tap_done();
}
