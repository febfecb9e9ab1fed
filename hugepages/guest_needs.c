/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/guest_needs.h"

#include <unistd.h>

#include "base/program.h"

#define RUNNER NODEOS_LIBEXECDIR "/nodeos-guest" /* as in spank/stepd.c */
#define VIRTIOFSD "/usr/libexec/virtiofsd" /* as in guest/files.c */

int guest_needs_check(struct errbuf *err)
{
	char path[PROGRAM_PATH_MAX];

	if (access(RUNNER, X_OK) < 0)
		return errprintf(err, "guests need " RUNNER ", which this node does not have "
				      "(package nodeos-guest)");
	if (!program_find("qemu-system-x86_64", path))
		return errprintf(err,
				 "guests need %s, which this node does not have (Debian: "
				 "qemu-system-x86)",
				 path);
	if (access(VIRTIOFSD, X_OK) < 0)
		return errprintf(err, "guests need " VIRTIOFSD ", which this node does not have "
				      "(Debian 13: virtiofsd)");
	return 0;
}
