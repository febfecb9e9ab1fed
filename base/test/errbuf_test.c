/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/errbuf.h"
#include "base/test/tap.h"

static void test_codes(void)
{
	struct errbuf err = { 0 }, copy = { .text = "older", .code = 9 };

	is_int(err.code, 0, "an initialised error has no code");
	is_int(errcode(&err, 7, "need %d", 4), -1, "errcode: returns -1");
	is(err.text, "need 4", "errcode: formats its text");
	is_int(err.code, 7, "errcode: sets the code");
	errwrap(&err, "container %s", "sim");
	is_int(err.code, 7, "errwrap: keeps the code");
	errappend(&err, " (%d free)", 2);
	is(err.text, "container sim: need 4 (2 free)", "errappend: puts its text at the end");
	is_int(err.code, 7, "errappend: keeps the code");
	is_int(errcopy(&copy, &err), -1, "errcopy: returns -1");
	is(copy.text, "container sim: need 4 (2 free)", "errcopy: copies the text");
	is_int(copy.code, 7, "errcopy: copies the code");
	errprintf(&err, "another");
	is_int(err.code, 0, "errprintf: clears an earlier code");
	errclear(&copy);
	is(copy.text, "", "errclear: empties the text");
	is_int(copy.code, 0, "errclear: clears the code");
	is_int(errcode(NULL, 7, "x"), -1, "errcode: returns -1 without a buffer");
	is_int(errappend(NULL, "x"), -1, "errappend: returns -1 without a buffer");
	is_int(errcopy(NULL, &err), -1, "errcopy: returns -1 without a buffer");
	errclear(NULL);
	memset(&err, 0x5a, sizeof(err));
	errprintf(&err, "first");
	is_int(err.code, 0, "errprintf: sets no code in uninitialised memory");
}

int main(void)
{
	struct errbuf err, full;
	char x[600];

	is_int(errprintf(&err, "need %d, %d free", 4, 2), -1, "errprintf: returns -1");
	is(err.text, "need 4, 2 free", "errprintf: formats its text");
	is_int(errwrap(&err, "container %s", "sim"), -1, "errwrap: returns -1");
	is(err.text, "container sim: need 4, 2 free", "errwrap: puts its text in front");
	is_int(errprintf(NULL, "x"), -1, "errprintf: returns -1 without a buffer");
	is_int(errwrap(NULL, "x"), -1, "errwrap: returns -1 without a buffer");
	memset(x, 'x', sizeof(x));
	x[sizeof(x) - 1] = '\0';
	errprintf(&full, "%s", x);
	is_int((long long)strlen(full.text), sizeof(full.text) - 1, "errprintf: cuts a long text");
	errwrap(&full, "ab");
	is_int((long long)strlen(full.text), sizeof(full.text) - 1,
	       "errwrap: stays inside a full buffer");
	ok(strncmp(full.text, "ab: xxx", 7) == 0, "errwrap: keeps the start of a full buffer");
	errprintf(&full, "old");
	errwrap(&full, "%s", x);
	is_int((long long)strlen(full.text), sizeof(full.text) - 1, "errwrap: cuts a long prefix");
	test_codes();
	return tap_done();
}
