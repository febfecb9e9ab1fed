/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_TRACE_H
#define NODEOS_DIMMAP_LOAD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * A page trace: the pages of a file in the order in which they were touched. All numbers are
 * little-endian.
 *
 *	offset  bytes
 *	0       8      "NODEOSPT"
 *	8       4      version: 1
 *	12      4      bytes of a page: 4096, whatever the machine's pages are
 *	16      8      pages of the file
 *	24      4      threads
 *	28      4      1: accesses to the page that the thread has touched just before are left out;
 *			0: no access is left out
 *	32      8      a record, and so on to the end: the page in bits 0 to 39, the thread in bits
 *			40 to 55, bit 63: a write
 *
 * The records of each thread are in order. Several threads' records follow each other in groups of
 * up to 4096: the trace does not keep their order in time.
 */
#define TRACE_MAGIC "NODEOSPT"
#define TRACE_VERSION 1u
#define TRACE_PAGE 4096u
#define TRACE_HEAD 32
#define TRACE_PAGES_MAX (UINT64_C(1) << 40)
#define TRACE_THREADS_MAX (1u << 16)

struct trace;

/*
 * Create the trace PATH for a file of PAGES pages. Returns NULL with ERR if the trace cannot be
 * written. With MERGE, an access to the page that the thread touched just before is left out.
 */
struct trace *trace_create(const char *path, uint64_t pages, unsigned threads, bool merge,
			   struct errbuf *err);

/*
 * Note the pages of LEN bytes from OFFSET on, in ascending order. Threads may call this at the same
 * time, each with a THREAD of its own.
 */
void trace_touch(struct trace *t, unsigned thread, uint64_t offset, size_t len, bool write);

/*
 * Write the remaining records, and free T, which may be NULL. Returns -1 with ERR if any write has
 * failed.
 */
int trace_close(struct trace *t, struct errbuf *err);

#endif
