/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_XML_H
#define NODEOS_TOPOLOGY_MACHINE_XML_H

#include <stddef.h>

#include "base/errbuf.h"

/*
 * Check the XML of a machine, the LEN bytes of TEXT, and rewrite it for hwloc. *OUT is malloc'ed
 * and NUL-terminated; *OUT_LEN counts the NUL. Returns 0, or -1 with the reason.
 *
 * hwloc trusts its XML: it allocates by the counts in it, and aborts on anything unexpected. So the
 * check requires version 1 or 2 of the format, one Machine, different CPUs and memory nodes with
 * ids below IDSET_MAX, a PU below each object for every CPU of its cpuset, and matrices with as
 * many values as they announce. The new text has the objects that hold CPUs and memory, their
 * infos, latencies between memory nodes, memory attributes and CPU kinds. It leaves out devices and
 * anything else that no plan needs, and attributes that hwloc 2 does not know.
 */
int machine_xml_check(char **out, size_t *out_len, const char *text, size_t len,
		      struct errbuf *err);

#endif
