/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check the vDSO of this process after its getcpu() is replaced. */
#include "lwk/vdso.h"

#include <sched.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/test/tap.h"

int main(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	struct timespec before, after;
	cpu_set_t allowed;
	unsigned cpu, node;

	clock_gettime(CLOCK_MONOTONIC, &before);
	ok(vdso_prepare() == base, "the vDSO can be changed");
	clock_gettime(CLOCK_MONOTONIC, &after);
	ok(after.tv_sec > before.tv_sec ||
		   (after.tv_sec == before.tv_sec && after.tv_nsec >= before.tv_nsec),
	   "the clock goes on after the change");
	is_int(sched_getaffinity(0, sizeof(allowed), &allowed), 0, "the allowed CPUs are known");
	ok(getcpu(&cpu, &node) == 0 && CPU_ISSET(cpu, &allowed), "getcpu() names an allowed CPU");
	return tap_done();
}
