/* SPDX-License-Identifier: GPL-2.0 */
/* Events of buffers, for perf, bpftrace and /sys/kernel/tracing/events/dimmapfs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dimmapfs

#if !defined(DIMMAP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DIMMAP_TRACE_H

#include <linux/tracepoint.h>

#include "dimmap.h"

/* A page was needed. index: in pages of the file; file: number of the file in the mount. */
TRACE_EVENT(dimmapfs_get,

	TP_PROTO(const struct dimmap_file *file, u64 index, unsigned int how, u8 found),

	TP_ARGS(file, index, how, found),

	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u16, file)
		__field(u64, index)
		__field(u32, how)
		__field(u8, found)
	),

	TP_fast_assign(
		__entry->dev = file->buffer->dev;
		__entry->file = file->id;
		__entry->index = index;
		__entry->how = how;
		__entry->found = found;
	),

	TP_printk("dev %u:%u file %u index %llu %s%s%s: %s", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->file, __entry->index,
		  __entry->how & DIMMAP_GET_WRITE ? "write" : "read",
		  __entry->how & DIMMAP_GET_USER ? " fault" : "",
		  __entry->how & DIMMAP_GET_VMA_LOCK ? " vma-lock" : "",
		  __print_symbolic(__entry->found, { DIMMAP_FOUND, "minor" },
				   { DIMMAP_FOUND_VICTIM, "recovered" },
				   { DIMMAP_FOUND_NOT, "major" },
				   { DIMMAP_FOUND_ERROR, "failed" }))
);

/* A batch of pages was unmapped. */
TRACE_EVENT(dimmapfs_unmap,

	TP_PROTO(const struct dimmap_buffer *buffer, u32 pages, u32 ptes, u32 flushes),

	TP_ARGS(buffer, pages, ptes, flushes),

	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, pages)
		__field(u32, ptes)
		__field(u32, flushes)
	),

	TP_fast_assign(
		__entry->dev = buffer->dev;
		__entry->pages = pages;
		__entry->ptes = ptes;
		__entry->flushes = flushes;
	),

	TP_printk("dev %u:%u pages %u ptes %u flushes %u", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->pages, __entry->ptes, __entry->flushes)
);

/* The device has read or written pages; error is 0 on success. */
TRACE_EVENT(dimmapfs_io,

	TP_PROTO(const struct dimmap_file *file, u64 index, u32 pages, bool write, int error),

	TP_ARGS(file, index, pages, write, error),

	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u16, file)
		__field(u64, index)
		__field(u32, pages)
		__field(bool, write)
		__field(int, error)
	),

	TP_fast_assign(
		__entry->dev = file->buffer->dev;
		__entry->file = file->id;
		__entry->index = index;
		__entry->pages = pages;
		__entry->write = write;
		__entry->error = error;
	),

	TP_printk("dev %u:%u file %u index %llu pages %u %s error %d", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->file, __entry->index, __entry->pages,
		  __entry->write ? "written" : "read", __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
