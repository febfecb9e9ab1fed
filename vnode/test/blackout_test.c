/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forecast of a move's blackout is compared with values calculated by hand. */
#include "vnode/blackout.h"

#include <string.h>

#include "base/test/tap.h"

#define MIB (1ull << 20)

static void forecast(const struct vnode_forecast *f, uint64_t want, const char *what)
{
	is_int((long long)vnode_blackout_ms(f), (long long)want, "%s", what);
}

int main(void)
{
	struct errbuf err = { 0 };

	/* 500 + 5 * 20 */
	forecast(&(struct vnode_forecast){ .processes = 5 }, 600,
		 "five processes without memory take 600 ms");
	/* 1024 MiB at 512 MiB/s, twice: 4 s; at 128 MiB/s: 8 s; 500 + 10 * 20 */
	forecast(&(struct vnode_forecast){ 1024 * MIB, 10, 512 * MIB, 128 * MIB }, 12700,
		 "ten processes with 1 GiB over a link of 128 MiB/s take 12.7 s");
	/* 64 MiB at 400 MiB/s, the rate if none is measured, twice: 320 ms; 500 + 20 */
	forecast(&(struct vnode_forecast){ .bytes = 64 * MIB, .processes = 1 }, 840,
		 "an unknown rate of CRIU counts as 400 MiB/s, an unknown link as no time");
	forecast(&(struct vnode_forecast){ 1ull << 60, 1, 1 << 30, 0 },
		 520 + 2 * (1ull << 30) * 1000, "the forecast for 1 EiB does not overflow");
	is_int(vnode_blackout_check(9000, 300, 10, &err), 0,
	       "a blackout of 9 s is below all limits");
	is_int(vnode_blackout_check(11000, 300, 10, &err), 1,
	       "a blackout of 11 s gives a warning with a MessageTimeout of 10 s");
	ok(strstr(err.text, "MessageTimeout (10 s)"), "the warning names MessageTimeout: %s",
	   err.text);
	is_int(vnode_blackout_check(150000, 300, 0, &err), 0,
	       "a blackout of half of SlurmdTimeout is allowed");
	is_int(vnode_blackout_check(151000, 300, 10, &err), -1,
	       "a blackout of 151 s is refused with a SlurmdTimeout of 300 s");
	ok(strstr(err.text, "SlurmdTimeout (300 s)"), "the refusal names SlurmdTimeout: %s",
	   err.text);
	is_int(vnode_blackout_check(1000000, 0, 0, &err), 0, "a SlurmdTimeout of 0 is no limit");
	return tap_done();
}
