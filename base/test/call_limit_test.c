/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call that would wait for ever is interrupted at its time limit. */
#include "base/call_limit.h"

#include <errno.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/test/tap.h"

int main(void)
{
	struct call_limit l;
	struct errbuf err = { 0 };
	int ends[2];
	char byte;
	long before = monotonic_ms();

	if (!ok(pipe(ends) == 0 && call_limit_open(&l, &err) == 0, "call_limit_open: succeeds"))
		return tap_done();
	call_limit_begin(&l, 50);
	ok(read(ends[0], &byte, 1) < 0 && errno == EINTR,
	   "call_limit_begin: a read of an empty pipe fails with EINTR");
	ok(monotonic_ms() - before >= 50,
	   "call_limit_begin: the read fails no earlier than the limit");
	errno = 0;
	ok(read(ends[0], &byte, 1) < 0 && errno == EINTR,
	   "call_limit_begin: after the limit, the next read fails as well");
	call_limit_end(&l);
	ok(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1,
	   "call_limit_end: a read that need not wait succeeds");
	usleep(20000);
	call_limit_begin(&l, 10000);
	call_limit_end(&l);
	before = monotonic_ms();
	usleep(30000);
	ok(monotonic_ms() - before >= 30, "call_limit_end: no signal interrupts a later sleep");
	call_limit_close(&l);
	return tap_done();
}
