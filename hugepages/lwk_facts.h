/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_LWK_FACTS_H
#define NODEOS_HUGEPAGES_LWK_FACTS_H

#include <stddef.h>

/*
 * Write to BUF, in one line, what this host has for ranks in machines: whether a machine of the
 * caller runs; whether programs read the clock without a system call; and, if the caller is root,
 * the free memory of each node that may become huge pages. ROOT is the path before "/sys", "/proc"
 * and "/dev" ("": this host, or a test's tree). Returns BUF.
 */
const char *lwk_facts(char *buf, size_t size, const char *root);

#endif
