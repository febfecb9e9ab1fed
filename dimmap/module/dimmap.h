/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mount of dimmapfs is a buffer: memory that is taken when it is mounted and given back when it
 * is unmounted. Files of the mount are block devices, or files of other filesystems, seen through
 * this memory.
 *
 * The buffer's pages are divided into pools, each with a lock. Everything about a page, in its
 * entry (../policy/policy.h) and its frame, is under its pool's lock, which may be taken in
 * interrupts. Nobody sleeps with it, so what takes long is a state that others wait for:
 *
 *	READING		its contents are on their way from the device
 *	UNMAPPING	it is being taken away from programs, to be written
 *	on no queue	the same, to become a victim; or a dirty victim is being written, to go
 *
 * A page with users (frame->users) is neither unmapped nor written: who has looked it up has made
 * sure of that until dimmap_page_put(). Nobody may sleep for long, or touch memory of programs,
 * with such a page.
 *
 * A page is dirty before a program can write to it: a mapping for writing is made by a fault that
 * says so. What is written back is unmapped first, so nobody writes to it meanwhile; the next write
 * is a fault again. The kernel's dirty bits of page tables are not looked at.
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
/* Neighbours in a file up to so many pages are in one pool, and are read together. */
#define DIMMAP_WINDOW 512
#define DIMMAP_LATENCIES 40

/* A page that is to be unmapped, or written. */
struct dimmap_pick {
	u64 key;
	u32 x;
};

enum dimmap_state { DIMMAP_IDLE, DIMMAP_READING, DIMMAP_UNMAPPING };

struct dimmap_frame {
	struct page *page;
	struct list_head dirty;		/* in pool->dirty, or in pool->writing */
	u64 since;			/* when it was put there: buffer->clock */
	struct completion *reader;	/* of who has asked for it to be read */
	u32 users;
	u8 state;			/* enum dimmap_state */
	bool is_dirty, is_writing;
	bool failed;			/* could not be read: goes with its last user */
	bool going;			/* a victim that is written, to go then */
};

/* Sums over a pool since the mount; in the order of dimmap_stat_name[]. */
enum dimmap_stat {
	DIMMAP_MAJOR,		/* accesses that had to wait for the device */
	DIMMAP_MINOR,		/* that found the page */
	DIMMAP_RECOVERED,	/* that found it among the victims */
	DIMMAP_MKWRITE,		/* first writes to pages that are mapped for reading */
	DIMMAP_USER_MAJOR,	/* major faults of programs; those under the mapping's lock */
	DIMMAP_VMA_LOCKED,
	DIMMAP_LOCAL,		/* pages read into a memory node of this CPU, or not */
	DIMMAP_REMOTE,
	DIMMAP_READ,		/* pages */
	DIMMAP_WRITTEN,
	DIMMAP_EVICTED,		/* pages that are gone, and those that were dirty then */
	DIMMAP_EVICTED_DIRTY,
	DIMMAP_BATCHES,		/* of unmapping */
	DIMMAP_UNMAPPED,	/* pages in them */
	DIMMAP_PTES,		/* entries of page tables of these */
	DIMMAP_FLUSHES,		/* of an address space's TLBs */
	DIMMAP_READ_ERRORS,
	DIMMAP_WRITE_ERRORS,
	DIMMAP_LOST,		/* dirty pages that were given up */
	DIMMAP_STATS
};

struct dimmap_lock_pool {
	spinlock_t lock;		/* of all that follows, but where it says otherwise */
	bool evicting;			/* somebody makes room */
	u32 going;
	u32 dirty_count;
	struct dimmap_pool pool;
	struct dimmap_frame *frame;
	void *memory;			/* of the policy */
	struct list_head dirty;		/* frames, the longest dirty first */
	struct list_head writing;	/* frames */
	wait_queue_head_t wait;		/* who waits for the state of a page, */
	wait_queue_head_t room;		/* for a free page */
	u64 stat[DIMMAP_STATS];
	u32 latency[DIMMAP_LATENCIES];	/* of major accesses: at least 2^i ns */
	/* of who evicts: room for a batch */
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

/* Tells who has unmounted that a buffer and all that it held is gone, if he still waits. */
struct dimmap_end {
	refcount_t users;
	struct completion done;
};

struct dimmap_buffer {
	struct dimmap_options opt;
	refcount_t users;		/* the mount, and each file */
	struct super_block *sb;
	dev_t dev;			/* of the mount, for what outlives it */
	struct work_struct free_work;
	struct dimmap_end *end;
	struct kobject kobj;
	struct completion kobj_gone;
	bool kobj_added;
	u32 pools, pages;
	u32 window;			/* pages that are read together, a power of two */
	struct dimmap_lock_pool *pool;	/* pools of them */
	struct dimmap_chunks *chunks;
	atomic64_t clock;		/* of events whose order matters */
	atomic_t dirty;			/* pages */
	struct mutex files_lock;	/* of what follows, and of the files' unbound */
	struct dimmap_file *file[DIMMAP_MAX_FILES];
	bool shut;			/* no more files; without any, no memory either */
	struct bio_set bios;
	/* write-back */
	struct task_struct *writer;
	struct cgroup_subsys_state *css;
	wait_queue_head_t dirty_wait;	/* programs that have to wait */
	wait_queue_head_t writer_wait;	/* the writer, for work */
	struct mutex write_lock;	/* of what follows */
	struct dimmap_pick *pick;
	struct dimmap_page *pick_page;
	bool failing;			/* the last write has failed */
};

/* Where pages of a file that follow each other are on the device. */
struct dimmap_extent {
	pgoff_t index;
	sector_t sector;
};

struct dimmap_file {
	struct dimmap_buffer *buffer;
	/* the inode, what is bound, each read, and each page that is written */
	refcount_t users;
	refcount_t bound;		/* each request, and one until it is shut */
	struct work_struct free_work, sync_work, unbind_work;
	struct completion synced, gone;
	bool answers;			/* the device, when it was unmounted */
	unsigned long moved;		/* in jiffies, when it last took something */
	u16 id;
	bool read_only, shut;
	bool leaving, unbound;		/* it is to be given back; it has been */
	char name[DIMMAP_NAME_MAX + 1];	/* the device's */
	bool swapfile;			/* the backing is marked as one */
	struct file *backing;		/* what was bound */
	struct file *bdev_file;		/* ours, of a block device */
	struct block_device *bdev;
	struct mutex life;		/* of what follows: nobody lets it go meanwhile */
	struct inode *inode;		/* while there is one */
	loff_t size;
	struct dimmap_extent *extent;	/* sorted, NULL: one from sector 0 on */
	u32 extents;
};

/* In jiffies: as long as it takes. */
#define DIMMAP_FOREVER (LONG_MAX / 2)

/* A page that somebody uses (dimmap_page_get()). */
struct dimmap_use {
	struct dimmap_buffer *buffer;
	struct dimmap_lock_pool *pool;
	u32 x;
	struct page *page;
	bool dirty;		/* may be mapped for writing */
	bool major;
	bool whole;		/* others wait until it has been filled */
};

enum dimmap_get {
	DIMMAP_GET_WRITE = 1,	/* it will be written to */
	DIMMAP_GET_WHOLE = 2,	/* all of it: nothing is read, others wait until it is put */
	DIMMAP_GET_ONE = 4,	/* none of its neighbours */
	DIMMAP_GET_USER = 8,	/* a fault of a program, */
	DIMMAP_GET_VMA_LOCK = 16,	/* under the lock of the mapping */
};

/* How a page was found that somebody needs. */
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
/* N pages of FILE in POOL, from KEY on, are through with the device; ERROR is 0 or negative. */
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

/* Who has the pages of this key; the caller keeps the file. */
static inline struct dimmap_file *dimmap_file_of_key(struct dimmap_buffer *buffer, u64 key)
{
	return buffer->file[key >> 48];
}

/*
 * Something that somebody may wait for has changed. With the pool's lock, which who waits has when
 * he looks and joins the queue: so no barrier is needed.
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
