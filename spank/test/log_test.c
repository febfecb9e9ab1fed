/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text that Slurm's log gets for a message with a user's bytes. */
#include "spank/log.h"

#include <string.h>

#include "base/printable.h"
#include "base/test/tap.h"
#include "spank/test/slurm_log.h"

static char logged[1 << 17];
static const char *logged_as;

static void slurm_logged(const char *level, const char *text)
{
	logged_as = level;
	snprintf(logged, sizeof(logged), "%s", text);
}

int main(void)
{
	static const struct {
		void (*log)(const char *fmt, ...);
		const char *level;
	} sink[] = {
		{ log_error, "error" },
		{ log_info, "info" },
		{ log_debug, "debug" },
		{ log_user, "user" },
	};
	static char request[65536];

	memset(request, 'c', sizeof(request) - 1);
	for (size_t i = 0; i < sizeof(sink) / sizeof(sink[0]); i++) {
		const char *level = sink[i].level;

		sink[i].log("nodeos: --nodeos-container=%s", "a\nslurmstepd: forged\033[31m%n");
		is(logged, "nodeos: --nodeos-container=a?slurmstepd: forged?[31m%n",
		   "%s: a message is one line, without ESC or a format of the user's", level);
		is(logged_as, level, "%s: a message has its level", level);
		sink[i].log("nodeos: request: %s of its job", request);
		is_int((long long)strlen(logged), PRINTABLE_LOG_MAX - 1,
		       "%s: a message of 64 KiB is cut to 1 KiB", level);
	}
	return tap_done();
}
