/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Without nodeosd, every call of libnodeos reports the error and has no other effect. Tests with
 * nodeosd run in the guest.
 */
#include "control/nodeos.h"

#include <unistd.h>

#include "base/test/tap.h"

int main(void)
{
	nodeos_t *n;

	if (access("/run/nodeosd.socket", F_OK) == 0) {
		skip(1, "nodeosd listens on this host");
		return tap_done();
	}
	n = nodeos_open();
	if (!ok(n != NULL, "nodeos_open: gives a handle without nodeosd"))
		return tap_done();
	is_int((int)nodeos_cpus(n), 0, "nodeos_cpus: 0 without nodeosd");
	ok(strncmp(nodeos_error(n), "nodeosd does not listen on this node", 36) == 0,
	   "nodeos_error: says that nodeosd does not listen: %s", nodeos_error(n));
	is(nodeos_container(n), "", "nodeos_container: empty without nodeosd");
	is(nodeos_cpulist(n), "", "nodeos_cpulist: empty without nodeosd");
	is(nodeos_rank_cpulist(n), "", "nodeos_rank_cpulist: empty without nodeosd");
	is(nodeos_memlist(n), "", "nodeos_memlist: empty without nodeosd");
	is_int((int)(nodeos_rank_cpus(n) + nodeos_mems(n) + nodeos_job(n)), 0,
	       "numbers of CPUs, memory nodes and job are 0 without nodeosd");
	is_int(nodeos_resize(n, "4", NULL), -1, "nodeos_resize: fails without nodeosd");
	is(nodeos_error(n), "this process is in no container",
	   "nodeos_resize: says that the process is in no container");
	is_int(nodeos_bind_memory(n), -1, "nodeos_bind_memory: fails without nodeosd");
	is(nodeos_error(n), "this process is in no container",
	   "nodeos_bind_memory: says that the process is in no container");
	is_int(nodeos_refresh(n), -1, "nodeos_refresh: fails without nodeosd");
	is_int(nodeos_fd(n), -1, "nodeos_fd: fails without nodeosd");
	ok(*nodeos_error(n), "nodeos_fd: gives the reason: %s", nodeos_error(n));
	is_int(nodeos_changed(n), -1, "nodeos_changed: fails without nodeosd");
	nodeos_close(n);
	nodeos_close(NULL);
	return tap_done();
}
