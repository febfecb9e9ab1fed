// SPDX-License-Identifier: GPL-2.0
/* Statistics of a buffer: .stats in its mount, and /sys/fs/dimmapfs/ID/. */
#include <linux/kobject.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "dimmap.h"

static const char *const dimmap_stat_name[DIMMAP_STATS] = {
	[DIMMAP_MAJOR] = "major",
	[DIMMAP_MINOR] = "minor",
	[DIMMAP_RECOVERED] = "recovered",
	[DIMMAP_MKWRITE] = "first_writes",
	[DIMMAP_USER_MAJOR] = "major_of_programs",
	[DIMMAP_VMA_LOCKED] = "major_without_mmap_lock",
	[DIMMAP_LOCAL] = "placed_local",
	[DIMMAP_REMOTE] = "placed_remote",
	[DIMMAP_READ] = "pages_read",
	[DIMMAP_WRITTEN] = "pages_written",
	[DIMMAP_EVICTED] = "evicted",
	[DIMMAP_EVICTED_DIRTY] = "evicted_dirty",
	[DIMMAP_BATCHES] = "unmap_batches",
	[DIMMAP_UNMAPPED] = "unmap_pages",
	[DIMMAP_PTES] = "unmap_ptes",
	[DIMMAP_FLUSHES] = "tlb_flushes",
	[DIMMAP_READ_ERRORS] = "read_errors",
	[DIMMAP_WRITE_ERRORS] = "write_errors",
	[DIMMAP_LOST] = "lost",
};

static const char *const dimmap_queue_name[DIMMAP_QUEUES] = {
	"free", "first", "second", "victims"
};

static u32 dimmap_queue_sum(struct dimmap_buffer *buffer, enum dimmap_queue_id queue)
{
	u32 sum = 0, i;

	for (i = 0; i < buffer->pools; i++)
		sum += READ_ONCE(buffer->pool[i].pool.queue[queue].count);
	return sum;
}

static u64 dimmap_latency_sum(struct dimmap_buffer *buffer, u32 bin)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < buffer->pools; i++)
		sum += READ_ONCE(buffer->pool[i].latency[bin]);
	return sum;
}

static int dimmap_stats_show(struct seq_file *seq, void *unused)
{
	struct dimmap_buffer *buffer = seq->private;
	u32 i;

	seq_printf(seq, "pages %u\npools %u\ndirty %d\n", buffer->pages, buffer->pools,
		   atomic_read(&buffer->dirty));
	for (i = 0; i < DIMMAP_QUEUES; i++)
		seq_printf(seq, "%s %u\n", dimmap_queue_name[i], dimmap_queue_sum(buffer, i));
	for (i = 0; i < DIMMAP_STATS; i++)
		seq_printf(seq, "%s %llu\n", dimmap_stat_name[i], dimmap_sum(buffer, i));
	for (i = 1; i < DIMMAP_LATENCIES; i++) {
		u64 n = dimmap_latency_sum(buffer, i);

		if (n)
			seq_printf(seq, "major_below_ns_%llu %llu\n", 1ull << i, n);
	}
	return 0;
}

int dimmap_stats_open(struct inode *inode, struct file *file)
{
	return single_open(file, dimmap_stats_show, inode->i_sb->s_fs_info);
}

/* ---- sysfs ---- */

static struct kset *dimmap_kset;

struct dimmap_attribute {
	struct attribute attr;
	ssize_t (*show)(struct dimmap_buffer *buffer, char *text);
};

static ssize_t size_show(struct dimmap_buffer *buffer, char *text)
{
	return sysfs_emit(text, "%llu\n", buffer->opt.size);
}

static ssize_t nodes_show(struct dimmap_buffer *buffer, char *text)
{
	return sysfs_emit(text, "%*pbl\n", nodemask_pr_args(&buffer->opt.nodes));
}

static ssize_t policy_show(struct dimmap_buffer *buffer, char *text)
{
	return sysfs_emit(text, "%s\n", buffer->opt.policy->name);
}

static ssize_t dirty_show(struct dimmap_buffer *buffer, char *text)
{
	return sysfs_emit(text, "%d\n", atomic_read(&buffer->dirty));
}

static ssize_t stats_show(struct dimmap_buffer *buffer, char *text)
{
	int n = 0;
	u32 i;

	for (i = 0; i < DIMMAP_STATS; i++)
		n += sysfs_emit_at(text, n, "%s %llu\n", dimmap_stat_name[i],
				   dimmap_sum(buffer, i));
	return n;
}

static ssize_t latency_show(struct dimmap_buffer *buffer, char *text)
{
	int n = 0;
	u32 i;

	for (i = 1; i < DIMMAP_LATENCIES; i++)
		n += sysfs_emit_at(text, n, "%llu %llu\n", 1ull << i,
				   dimmap_latency_sum(buffer, i));
	return n;
}

/* Counters show what a user's programs do. So only root can read them here; users read .stats. */
#define DIMMAP_ATTRIBUTE(what, rights) \
	static struct dimmap_attribute dimmap_attr_##what = { \
		.attr = { .name = #what, .mode = rights }, .show = what##_show }
DIMMAP_ATTRIBUTE(size, 0444);
DIMMAP_ATTRIBUTE(nodes, 0444);
DIMMAP_ATTRIBUTE(policy, 0444);
DIMMAP_ATTRIBUTE(dirty, 0400);
DIMMAP_ATTRIBUTE(stats, 0400);
DIMMAP_ATTRIBUTE(latency, 0400);

static struct attribute *dimmap_attrs[] = {
	&dimmap_attr_size.attr, &dimmap_attr_nodes.attr, &dimmap_attr_policy.attr,
	&dimmap_attr_dirty.attr, &dimmap_attr_stats.attr, &dimmap_attr_latency.attr, NULL
};
ATTRIBUTE_GROUPS(dimmap);

static ssize_t dimmap_attr_show(struct kobject *kobj, struct attribute *attr, char *text)
{
	return container_of(attr, struct dimmap_attribute, attr)->show(
		container_of(kobj, struct dimmap_buffer, kobj), text);
}

static void dimmap_kobj_release(struct kobject *kobj)
{
	complete(&container_of(kobj, struct dimmap_buffer, kobj)->kobj_gone);
}

static const struct sysfs_ops dimmap_sysfs_ops = { .show = dimmap_attr_show };

static const struct kobj_type dimmap_ktype = {
	.sysfs_ops = &dimmap_sysfs_ops,
	.release = dimmap_kobj_release,
	.default_groups = dimmap_groups,
};

/**
 * dimmap_stats_add - adds a buffer to sysfs
 * @buffer: its directory has the number of the mount's device
 *
 * Return: 0 or an error.
 */
int dimmap_stats_add(struct dimmap_buffer *buffer)
{
	int rc;

	init_completion(&buffer->kobj_gone);
	buffer->kobj.kset = dimmap_kset;
	rc = kobject_init_and_add(&buffer->kobj, &dimmap_ktype, NULL, "%u",
				  MINOR(buffer->sb->s_dev));
	buffer->kobj_added = true;
	return rc;
}

/**
 * dimmap_stats_remove - removes a buffer from sysfs
 * @buffer: the buffer to remove
 */
void dimmap_stats_remove(struct dimmap_buffer *buffer)
{
	if (!buffer->kobj_added)
		return;
	kobject_put(&buffer->kobj);
	wait_for_completion(&buffer->kobj_gone);
}

int dimmap_stats_init(void)
{
	dimmap_kset = kset_create_and_add("dimmapfs", NULL, fs_kobj);
	return dimmap_kset ? 0 : -ENOMEM;
}

void dimmap_stats_exit(void)
{
	kset_unregister(dimmap_kset);
}
