/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For LD_PRELOAD: locks all memory of a program, as "native with mlockall" in doc/lwk.md. */
#include <sys/mman.h>
#include <unistd.h>

static void __attribute__((constructor)) lock_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		_exit(99);
}
