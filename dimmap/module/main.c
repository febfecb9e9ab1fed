// SPDX-License-Identifier: GPL-2.0
/* Init and exit of the module. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "dimmap.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

struct workqueue_struct *dimmap_wq, *dimmap_io_wq;

static int __init dimmap_init(void)
{
	int rc;

	BUILD_BUG_ON(IS_ENABLED(CONFIG_HIGHMEM));
	dimmap_wq = alloc_workqueue("dimmapfs", WQ_UNBOUND, 0);
	if (!dimmap_wq)
		return -ENOMEM;
	rc = -ENOMEM;
	dimmap_io_wq = alloc_workqueue("dimmapfs-io", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!dimmap_io_wq)
		goto no_io;
	rc = dimmap_stats_init();
	if (rc)
		goto no_stats;
	rc = register_filesystem(&dimmap_fs_type);
	if (rc)
		goto no_fs;
	return 0;
no_fs:
	dimmap_stats_exit();
no_stats:
	destroy_workqueue(dimmap_io_wq);
no_io:
	destroy_workqueue(dimmap_wq);
	return rc;
}

static void __exit dimmap_exit(void)
{
	unregister_filesystem(&dimmap_fs_type);
	/* wait: the work that has freed the last buffer may not have returned yet */
	destroy_workqueue(dimmap_wq);
	destroy_workqueue(dimmap_io_wq);
	dimmap_stats_exit();
}

module_init(dimmap_init);
module_exit(dimmap_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Memory-mapped storage through a buffer of its own (DI-MMAP)");
