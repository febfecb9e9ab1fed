/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of libnodeos where no nodeosd answers: every call says so and none of them harms. The guest has
 * the rest. */
#include "control/nodeos.h"

#include <unistd.h>

#include "base/test/tap.h"

int main(void)
{
	nodeos_t *n;

	if (access("/run/nodeosd.socket", F_OK) == 0) {
		skip(1, "a nodeosd listens here");
		return tap_done();
	}
	n = nodeos_open();
	if (!ok(n != NULL, "a handle in any case"))
		return tap_done();
	is_int((int)nodeos_cpus(n), 0, "no container");
	ok(strncmp(nodeos_error(n), "nodeosd does not listen on this node", 36) == 0, "and why: %s",
	   nodeos_error(n));
	is(nodeos_container(n), "", "no name");
	is(nodeos_cpulist(n), "", "no CPUs");
	is(nodeos_rank_cpulist(n), "", "nor of the rank");
	is(nodeos_memlist(n), "", "nor memory nodes");
	is_int((int)(nodeos_rank_cpus(n) + nodeos_mems(n) + nodeos_job(n)), 0, "nothing else");
	is_int(nodeos_resize(n, "4", NULL), -1, "resize");
	is(nodeos_error(n), "this process is in no container", "is refused");
	is_int(nodeos_bind_memory(n), -1, "memory");
	is(nodeos_error(n), "this process is in no container", "likewise");
	is_int(nodeos_refresh(n), -1, "asking again");
	is_int(nodeos_fd(n), -1, "nothing to be told of");
	ok(*nodeos_error(n), "and why: %s", nodeos_error(n));
	is_int(nodeos_changed(n), -1, "nor to ask");
	nodeos_close(n);
	nodeos_close(NULL);
	return tap_done();
}
