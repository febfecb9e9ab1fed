// SPDX-License-Identifier: GPL-2.0
/*
 * A test of dimmap's mapping code (map.c) on a running kernel, without a buffer. /dev/dimmap-proof
 * is memory whose pages an ioctl unmaps while programs write to them. The contents of an unmapped
 * page are copied, and the next access puts the copy into another frame. So a write through a stale
 * TLB entry after the copy is lost, or changes another page. rogue.c writes and checks. With the
 * control (map_control.c), it must find lost writes.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../module/map.h"
#include "proof.h"

static struct page *frame[PROOF_PAGES + PROOF_SPARE];
static int free_frame[PROOF_PAGES + PROOF_SPARE];
static unsigned int free_first, free_count;
static int where[PROOF_PAGES]; /* the frame of a page, or -1 */
static void *copy[PROOF_PAGES];
static unsigned int hand;
static struct proof_counts counts;
static DEFINE_MUTEX(lock);

static bool zap;
module_param(zap, bool, 0644);
MODULE_PARM_DESC(zap, "unmap page by page");

static vm_fault_t proof_fault(struct vm_fault *vmf)
{
	pgoff_t index = vmf->pgoff;
	int rc;

	if (index >= PROOF_PAGES)
		return VM_FAULT_SIGBUS;
	mutex_lock(&lock);
	if (vmf->flags & FAULT_FLAG_USER)
		counts.user_faults++;
	if (vmf->flags & FAULT_FLAG_VMA_LOCK)
		counts.vma_lock_faults++;
	if (where[index] < 0) {
		where[index] = free_frame[free_first];
		free_first = (free_first + 1) % ARRAY_SIZE(free_frame);
		free_count--;
		memcpy(page_address(frame[where[index]]), copy[index], PAGE_SIZE);
	}
	rc = dimmap_map(vmf->vma, vmf->address, page_to_pfn(frame[where[index]]), true);
	mutex_unlock(&lock);
	return rc ? VM_FAULT_OOM : VM_FAULT_NOPAGE;
}

/*
 * Maps nothing. Only if this function exists, the kernel calls .fault under the VMA lock, without
 * the mmap lock (vmf_can_call_fault()).
 */
static vm_fault_t proof_map_pages(struct vm_fault *vmf, pgoff_t start, pgoff_t end)
{
	return 0;
}

static const struct vm_operations_struct proof_vm_ops = {
	.fault = proof_fault,
	.map_pages = proof_map_pages,
};

static const struct vm_operations_struct proof_vm_ops_without = { .fault = proof_fault };

static bool no_map_pages;
module_param(no_map_pages, bool, 0644);
MODULE_PARM_DESC(no_map_pages, "the control: without map_pages");

static int proof_mmap(struct file *file, struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = no_map_pages ? &proof_vm_ops_without : &proof_vm_ops;
	return 0;
}

/* Unmaps N resident pages, or none if fewer than LEAST pages are resident. */
static void proof_evict(struct address_space *mapping, unsigned int n, unsigned int least)
{
	struct dimmap_unmapped count = {};
	static struct dimmap_page page[PROOF_PAGES];
	unsigned int found = 0, i, j;

	for (i = 0; i < PROOF_PAGES && found < n; i++) {
		unsigned int index = (hand + i) % PROOF_PAGES;

		if (where[index] >= 0) {
			/* sorted */
			for (j = found++; j && page[j - 1].index > index; j--)
				page[j] = page[j - 1];
			page[j] = (struct dimmap_page){ index, page_to_pfn(frame[where[index]]) };
		}
	}
	if (found < least)
		return;
	hand = (hand + i) % PROOF_PAGES;
	dimmap_unmap(mapping, page, found, zap ? DIMMAP_TLB_ZAP : DIMMAP_TLB_BATCH, &count);
	for (i = 0; i < found; i++) {
		int f = where[page[i].index];

		memcpy(copy[page[i].index], page_address(frame[f]), PAGE_SIZE);
		where[page[i].index] = -1;
		free_frame[(free_first + free_count++) % ARRAY_SIZE(free_frame)] = f;
	}
	counts.evicted += found;
	counts.batches += found > 0;
	counts.ptes += count.ptes;
	counts.flushes += count.flushes;
}

static long proof_ioctl(struct file *file, unsigned int what, unsigned long arg)
{
	mutex_lock(&lock);
	if (what == PROOF_EVICT)
		proof_evict(file->f_mapping, min_t(u16, arg, PROOF_PAGES), arg >> 16);
	mutex_unlock(&lock);
	if (what == PROOF_COUNTS)
		return copy_to_user((void __user *)arg, &counts, sizeof(counts)) ? -EFAULT : 0;
	return what == PROOF_EVICT ? 0 : -ENOTTY;
}

static const struct file_operations proof_fops = {
	.owner = THIS_MODULE,
	.mmap = proof_mmap,
	.unlocked_ioctl = proof_ioctl,
};

static struct miscdevice proof_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dimmap-proof",
	.fops = &proof_fops,
};

static void proof_free(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frame); i++)
		if (frame[i])
			__free_page(frame[i]);
	for (i = 0; i < PROOF_PAGES; i++)
		vfree(copy[i]);
}

static int __init proof_init(void)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frame); i++) {
		frame[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		free_frame[free_count++] = i;
		good &= !!frame[i];
	}
	for (i = 0; i < PROOF_PAGES; i++) {
		copy[i] = vzalloc(PAGE_SIZE);
		where[i] = -1;
		good &= !!copy[i];
	}
	i = good ? misc_register(&proof_device) : -ENOMEM;
	if (i)
		proof_free();
	return i;
}

static void __exit proof_exit(void)
{
	misc_deregister(&proof_device);
	proof_free();
}

module_init(proof_init);
module_exit(proof_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Trial of how dimmap unmaps pages");
