/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_GUEST_NEEDS_H
#define NODEOS_HUGEPAGES_GUEST_NEEDS_H

#include "base/errbuf.h"

/* Check that this host has the programs of a guest. Returns 0, or -1 with what is missing. */
int guest_needs_check(struct errbuf *err);

#endif
