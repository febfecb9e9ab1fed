/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mount of dimmapfs is a buffer: mount allocates its memory, and umount frees it. Files of the
 * mount are block devices, or files of other filesystems, seen through this memory.
 *
 * The buffer's pages are divided into pools, each with a lock. The pool's lock protects everything
 * about a page, in its entry (../policy/policy.h) and its frame. The lock may be taken in
 * interrupts, and its holder must not sleep. So an operation that takes long is a state of the
 * page, for whose end other tasks wait:
 *
 *	READING		the device is reading the page
 *	UNMAPPING	the page is being unmapped, to be written
 *	on no queue	the page is being unmapped to become a victim, or is a dirty victim that is
 *			being written
 *
 * A page with users (frame->users) is neither unmapped nor written. A lookup adds a user, and
 * dimmap_page_put() removes it. A user must not sleep for long or touch memory of programs.
 *
 * A page becomes dirty before a program can write to it, since only a write fault maps it for
 * writing. Write-back first unmaps a page, so that no program writes to it meanwhile; the next
 * write faults again. The dirty bits of page tables are not used.
 */
#ifndef DIMMAP_H
#define DIMMAP_H

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../dimmap_ioctl.h"
#include "../policy/policy.h"
#include "map.h"

#define DIMMAP_MAGIC 0x64696d6d
#define DIMMAP_MAX_BATCH 512
#define DIMMAP_MAX_FILES 1024
/* Aligned windows of this many pages of a file are in one pool, and can be read together. */
#define DIMMAP_WINDOW 512
#define DIMMAP_LATENCIES 40

/* A page to unmap or to write. */
struct dimmap_pick {
	u64 key;
	u32 x;
};

enum dimmap_state { DIMMAP_IDLE, DIMMAP_READING, DIMMAP_UNMAPPING };

struct dimmap_frame {
	struct page *page;
	struct list_head dirty;		/* in pool->dirty, or in pool->writing */
	u64 since;			/* buffer->clock when the page was put on this list */
	struct completion *reader;	/* the completion of the task that waits for the read */
	u32 users;
	u8 state;			/* enum dimmap_state */
	bool is_dirty, is_writing;
	bool failed;			/* the page could not be read; its last user frees it */
	/* a victim that is being written, and is freed afterwards */
	bool going;
};

/* Sums over a pool since the mount, in the order of dimmap_stat_name[]. */
enum dimmap_stat {
	DIMMAP_MAJOR,		/* accesses that had to wait for the device */
	DIMMAP_MINOR,		/* accesses that found the page */
	DIMMAP_RECOVERED,	/* accesses that found the page among the victims */
	DIMMAP_MKWRITE,		/* first writes to pages that are mapped for reading */
	DIMMAP_USER_MAJOR,	/* major faults of programs */
	DIMMAP_VMA_LOCKED,	/* major faults under the VMA lock, without the mmap lock */
	DIMMAP_LOCAL,		/* pages read into the memory node of the reading CPU */
	DIMMAP_REMOTE,		/* pages read into another memory node */
	DIMMAP_READ,		/* pages read */
	DIMMAP_WRITTEN,		/* pages written */
	DIMMAP_EVICTED,		/* pages freed */
	DIMMAP_EVICTED_DIRTY,	/* freed pages that had been dirty */
	DIMMAP_BATCHES,		/* batches of unmapping */
	DIMMAP_UNMAPPED,	/* pages in these batches */
	DIMMAP_PTES,		/* page table entries of these pages */
	DIMMAP_FLUSHES,		/* TLB flushes, of one address space each */
	DIMMAP_READ_ERRORS,
	DIMMAP_WRITE_ERRORS,
	DIMMAP_LOST,		/* dirty pages that were lost */
	DIMMAP_STATS
};

struct dimmap_lock_pool {
	spinlock_t lock;		/* protects the members below, except where noted */
	bool evicting;			/* a task is evicting pages */
	u32 going;
	u32 dirty_count;
	struct dimmap_pool pool;
	struct dimmap_frame *frame;
	void *memory;			/* the policy's records */
	struct list_head dirty;		/* frames, the longest dirty first */
	struct list_head writing;	/* frames that are being written */
	wait_queue_head_t wait;		/* tasks that wait for the state of a page */
	wait_queue_head_t room;		/* tasks that wait for a free page */
	u64 stat[DIMMAP_STATS];
	u32 latency[DIMMAP_LATENCIES];	/* number of major accesses that took at least 2^i ns */
	/* scratch space for the evicting task's batch */
	u32 batch;
	u32 *picked;
	struct dimmap_pick *pick;
	struct dimmap_page *page;
} ____cacheline_aligned_in_smp;

struct dimmap_options {
	u64 size;
	nodemask_t nodes;
	bool local;
	const struct dimmap_policy *policy;
	u32 batch, fill, pools, dirty_bg, dirty_max;
	enum dimmap_tlb tlb;
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	char *src;
};

/* Signals to a waiting umount that the buffer and everything in it are freed. */
struct dimmap_end {
	refcount_t users;
	struct completion done;
};

struct dimmap_buffer {
	struct dimmap_options opt;
	refcount_t users;		/* references: one of the mount, one of each file */
	struct super_block *sb;
	/* device number of the mount, for objects that outlive it */
	dev_t dev;
	struct work_struct free_work;
	struct dimmap_end *end;
	struct kobject kobj;
	struct completion kobj_gone;
	bool kobj_added;
	u32 pools, pages;
	u32 window;			/* pages read together, a power of two */
	struct dimmap_lock_pool *pool;	/* an array of pools */
	struct dimmap_chunks *chunks;
	atomic64_t clock;		/* counter that gives events an order */
	atomic_t dirty;			/* number of dirty pages */
	struct mutex files_lock;	/* protects the members below, and the files' unbound */
	struct dimmap_file *file[DIMMAP_MAX_FILES];
	/* takes no more files; its memory is freed once all files are unbound */
	bool shut;
	struct bio_set bios;
	/* write-back */
	struct task_struct *writer;
	struct cgroup_subsys_state *css;
	wait_queue_head_t dirty_wait;	/* tasks that must wait before they write */
	wait_queue_head_t writer_wait;	/* the write-back thread waits here for work */
	struct mutex write_lock;	/* protects the members below */
	struct dimmap_pick *pick;
	struct dimmap_page *pick_page;
	bool failing;			/* the last write has failed */
};

/* A run of pages of a file that are adjacent on the device. */
struct dimmap_extent {
	pgoff_t index;
	sector_t sector;
};

struct dimmap_file {
	struct dimmap_buffer *buffer;
	/* references: of the inode, the bound source, each read, and each page being written */
	refcount_t users;
	/* references to the source: one of each request, and one until the file is shut */
	refcount_t bound;
	struct work_struct free_work, sync_work, unbind_work;
	struct completion synced, gone;
	bool answers;			/* the device answered at umount */
	unsigned long moved;		/* jiffies when the device last took a page */
	u16 id;
	bool read_only, shut;
	/* leaving: the source is being released; unbound: the source is released */
	bool leaving, unbound;
	char name[DIMMAP_NAME_MAX + 1];	/* name of the device */
	bool swapfile;			/* the backing is marked as a swap file */
	struct file *backing;		/* the bound source */
	struct file *bdev_file;		/* opened by dimmapfs itself, for a block device */
	struct block_device *bdev;
	struct mutex life;		/* keeps the members below alive */
	struct inode *inode;		/* NULL after its eviction */
	loff_t size;
	struct dimmap_extent *extent;	/* sorted; NULL: one extent from sector 0 */
	u32 extents;
};

/* A patience (limit of waiting, in jiffies) that never ends. */
#define DIMMAP_FOREVER (LONG_MAX / 2)

/* A page in use (dimmap_page_get()). */
struct dimmap_use {
	struct dimmap_buffer *buffer;
	struct dimmap_lock_pool *pool;
	u32 x;
	struct page *page;
	bool dirty;		/* may be mapped for writing */
	bool major;
	bool whole;		/* the user fills the page, and other tasks wait for this */
};

enum dimmap_get {
	DIMMAP_GET_WRITE = 1,	/* the page will be written to */
	/* the user fills the whole page: do not read it; other tasks wait until the put */
	DIMMAP_GET_WHOLE = 2,
	DIMMAP_GET_ONE = 4,	/* do not read its neighbours */
	DIMMAP_GET_USER = 8,	/* a program's fault */
	DIMMAP_GET_VMA_LOCK = 16,	/* a fault under the VMA lock */
};

/* Results of a lookup. */
enum dimmap_found { DIMMAP_FOUND, DIMMAP_FOUND_VICTIM, DIMMAP_FOUND_NOT, DIMMAP_FOUND_ERROR };

/* buffer.c */
struct dimmap_buffer *dimmap_buffer_new(const struct dimmap_options *opt, struct super_block *sb,
					char *why, size_t size);
void dimmap_buffer_put(struct dimmap_buffer *buffer);
void dimmap_buffer_give_back(struct dimmap_buffer *buffer);
void dimmap_end_put(struct dimmap_end *end);
u64 dimmap_sum(struct dimmap_buffer *buffer, enum dimmap_stat stat);

/* ref.c */
u64 dimmap_key(const struct dimmap_file *file, pgoff_t index);
struct dimmap_lock_pool *dimmap_pool_of(struct dimmap_buffer *buffer, u64 key);
void dimmap_file_unbound(struct dimmap_file *file);
void dimmap_file_put(struct dimmap_file *file);
void dimmap_file_put_many(struct dimmap_file *file, u32 n);

/* frame.c */
void dimmap_drop(struct dimmap_file *file);
void dimmap_give_up(struct dimmap_file *file);
void dimmap_leave(struct dimmap_file *file);
int dimmap_wait(struct dimmap_lock_pool *pool, wait_queue_head_t *head, unsigned long flags)
	__releases(&pool->lock);
void dimmap_dirty(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool, u32 x);
void dimmap_clean(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool, u32 x);
void dimmap_unmap_pages(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool,
			struct dimmap_pick *pick, struct dimmap_page *page, u32 n);
bool dimmap_page_busy(void *pool, u32 x);

/* page.c */
int dimmap_page_get(struct dimmap_file *file, pgoff_t index, unsigned int how,
		    struct dimmap_use *use);
void dimmap_page_put(struct dimmap_use *use);
bool dimmap_page_near(struct dimmap_file *file, pgoff_t index, struct dimmap_use *use);
u32 dimmap_fill(const struct dimmap_file *file, pgoff_t index, unsigned int how, pgoff_t *first);

/* evict.c */
int dimmap_evict(struct dimmap_lock_pool *pool, const struct dimmap_file *file);

/* write.c */
int dimmap_writer_start(struct dimmap_buffer *buffer);
void dimmap_writer_stop(struct dimmap_buffer *buffer);
int dimmap_throttle(struct dimmap_file *file);
void dimmap_write_pages(struct dimmap_buffer *buffer, struct dimmap_lock_pool *pool,
			struct dimmap_pick *pick, u32 n);
int dimmap_sync(struct dimmap_file *file, loff_t start, loff_t end, unsigned long patience);

/* io.c */
unsigned int dimmap_io_front(void);
/* The device has read or written N pages of FILE in POOL, from KEY on; ERROR is 0 or negative. */
typedef void dimmap_io_done(struct dimmap_file *file, struct dimmap_lock_pool *pool, u64 key, u32 n,
			    int error);
void dimmap_io_read(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t first, u32 n,
		    dimmap_io_done *done);
void dimmap_io_write(struct dimmap_file *file, struct dimmap_lock_pool *pool, pgoff_t first, u32 n,
		     dimmap_io_done *done);
int dimmap_io_flush(struct dimmap_file *file, unsigned long patience);

/* file.c */
struct dimmap_file *dimmap_file_bind(struct dimmap_buffer *buffer, struct file *backing,
				     bool read_only, char *why, size_t size);
void dimmap_file_leave(struct dimmap_file *file);
void dimmap_file_shut(struct dimmap_file *file);

/* fault.c, rw.c */
int dimmap_mmap(struct file *file, struct vm_area_struct *vma);
ssize_t dimmap_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t dimmap_write_iter(struct kiocb *iocb, struct iov_iter *from);

/* stats.c */
int dimmap_stats_init(void);
void dimmap_stats_exit(void);
int dimmap_stats_add(struct dimmap_buffer *buffer);
void dimmap_stats_remove(struct dimmap_buffer *buffer);
int dimmap_stats_open(struct inode *inode, struct file *file);

/* fs.c */
extern struct file_system_type dimmap_fs_type;

/* main.c */
extern struct workqueue_struct *dimmap_wq, *dimmap_io_wq;

static inline struct dimmap_file *dimmap_file_of(struct inode *inode)
{
	return inode->i_private;
}

/* Returns the file of a key; the caller keeps it alive. */
static inline struct dimmap_file *dimmap_file_of_key(struct dimmap_buffer *buffer, u64 key)
{
	return buffer->file[key >> 48];
}

/*
 * Wakes tasks after a change. No barrier is needed: the caller holds the pool's lock, and a task
 * checks for the change and joins the queue under the same lock.
 */
static inline void dimmap_wake(wait_queue_head_t *head)
{
	/* no barrier, see above */
	if (waitqueue_active(head))
		wake_up_all(head);
}

static inline pgoff_t dimmap_index(u64 key)
{
	return key & ((1ull << 48) - 1);
}

#endif
