/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call that would wait for ever ends with its limit of time. */
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

	if (!ok(pipe(ends) == 0 && call_limit_open(&l, &err) == 0, "a limit can be made"))
		return tap_done();
	call_limit_begin(&l, 50);
	ok(read(ends[0], &byte, 1) < 0 && errno == EINTR, "a read of an empty pipe ends");
	ok(monotonic_ms() - before >= 50, "a call has its time");
	errno = 0;
	ok(read(ends[0], &byte, 1) < 0 && errno == EINTR, "the next call ends at once");
	call_limit_end(&l);
	ok(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1,
	   "a call that is free works");
	usleep(20000);
	call_limit_begin(&l, 10000);
	call_limit_end(&l);
	before = monotonic_ms();
	usleep(30000);
	ok(monotonic_ms() - before >= 30, "no signal comes when the limit has ended");
	call_limit_close(&l);
	return tap_done();
}
