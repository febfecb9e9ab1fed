/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/errbuf.h"
#include "base/test/tap.h"

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
	return tap_done();
}
