/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodeos-lwk where it is not built: on other processors than x86-64, or with --disable-lwk. */
#include <stdio.h>

int main(void)
{
	fputs("nodeos-lwk: not in this build: it needs x86-64 and configure without "
	      "--disable-lwk\n",
	      stderr);
	return 125;
}
