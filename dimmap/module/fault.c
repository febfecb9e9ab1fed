// SPDX-License-Identifier: GPL-2.0
/* Page faults in mappings of a file. */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "dimmap.h"

/*
 * Returns the fault result for the error RC. -ENOMEM gives OOM. -EINTR gives a retry if the fault
 * allows it; before the retry, the kernel ends the task by its fatal signal. Anything else gives
 * SIGBUS.
 */
static vm_fault_t dimmap_fault_error(struct vm_fault *vmf, int rc)
{
	if (rc == -EINTR && fault_flag_allow_retry_first(vmf->flags) &&
	    !(vmf->flags & FAULT_FLAG_RETRY_NOWAIT)) {
		release_fault_lock(vmf);
		return VM_FAULT_RETRY;
	}
	return rc == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static unsigned int dimmap_how(const struct vm_fault *vmf)
{
	return (vmf->flags & FAULT_FLAG_WRITE ? DIMMAP_GET_WRITE : 0) |
	       (vmf->flags & FAULT_FLAG_USER ? DIMMAP_GET_USER : 0) |
	       (vmf->flags & FAULT_FLAG_VMA_LOCK ? DIMMAP_GET_VMA_LOCK : 0) |
	       (vmf->vma->vm_flags & VM_RAND_READ ? DIMMAP_GET_ONE : 0);
}

/*
 * Maps a page, for writing if it is dirty already; otherwise the first write must fault. Checks the
 * file again afterwards: a shutdown may have unmapped the file before this page was mapped.
 */
static int dimmap_map_use(struct vm_area_struct *vma, unsigned long addr,
			  const struct dimmap_use *use)
{
	int rc = dimmap_map(vma, addr, page_to_pfn(use->page),
			    use->dirty && (vma->vm_flags & VM_WRITE));

	smp_mb();	/* pairs with dimmap_file_shut(): shut, then unmapped */
	if (!rc && unlikely(READ_ONCE(dimmap_file_of(file_inode(vma->vm_file))->shut))) {
		zap_vma_ptes(vma, addr & PAGE_MASK, PAGE_SIZE);
		rc = -EIO;
	}
	return rc;
}

/* Maps the pages that were read together with the needed page, too. */
static void dimmap_map_near(struct vm_fault *vmf, struct dimmap_file *file)
{
	struct vm_area_struct *vma = vmf->vma;
	struct dimmap_use use;
	pgoff_t first, last, i;
	u32 n;

	n = dimmap_fill(file, vmf->pgoff, dimmap_how(vmf), &first);
	last = min(first + n, vma->vm_pgoff + vma_pages(vma));
	for (i = max(first, vma->vm_pgoff); i < last; i++) {
		if (i == vmf->pgoff || !dimmap_page_near(file, i, &use))
			continue;
		dimmap_map_use(vma, vma->vm_start + ((i - vma->vm_pgoff) << PAGE_SHIFT), &use);
		dimmap_page_put(&use);
	}
}

static vm_fault_t dimmap_fault(struct vm_fault *vmf)
{
	struct dimmap_file *file = dimmap_file_of(file_inode(vmf->vma->vm_file));
	struct dimmap_use use;
	int rc;

	rc = dimmap_page_get(file, vmf->pgoff, dimmap_how(vmf), &use);
	if (rc)
		return dimmap_fault_error(vmf, rc);
	rc = dimmap_map_use(vmf->vma, vmf->address, &use);
	dimmap_page_put(&use);
	if (rc)
		return rc == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	if (use.major)
		dimmap_map_near(vmf, file);
	return VM_FAULT_NOPAGE | (use.major ? VM_FAULT_MAJOR : 0);
}

/*
 * Handles the first write to a page that is mapped for reading. Looks the page up again: another
 * page may have taken its frame since the fault, which the kernel does not notice, since it
 * compares only page table entries.
 */
static vm_fault_t dimmap_pfn_mkwrite(struct vm_fault *vmf)
{
	struct dimmap_file *file = dimmap_file_of(file_inode(vmf->vma->vm_file));
	struct dimmap_use use;
	unsigned long flags;
	int rc;

	rc = dimmap_page_get(file, vmf->pgoff, dimmap_how(vmf) | DIMMAP_GET_WRITE, &use);
	/* never VM_FAULT_RETRY: wp_pfn_shared() stops only at an error or NOPAGE */
	if (rc)
		return rc == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	spin_lock_irqsave(&use.pool->lock, flags);
	use.pool->stat[DIMMAP_MKWRITE]++;
	spin_unlock_irqrestore(&use.pool->lock, flags);
	rc = dimmap_map_use(vmf->vma, vmf->address, &use);
	dimmap_page_put(&use);
	return !rc ? VM_FAULT_NOPAGE : rc == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

/*
 * Maps nothing. Only if this function exists, the kernel calls .fault under the VMA lock, without
 * the mmap lock (vmf_can_call_fault()).
 */
static vm_fault_t dimmap_map_pages(struct vm_fault *vmf, pgoff_t start, pgoff_t end)
{
	return 0;
}

static const struct vm_operations_struct dimmap_vm_ops = {
	.fault = dimmap_fault,
	.map_pages = dimmap_map_pages,
	.pfn_mkwrite = dimmap_pfn_mkwrite,
};

int dimmap_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED)) {
		/* VM_PFNMAP pages cannot be copied on write */
		if (vma->vm_flags & VM_WRITE)
			return -EINVAL;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &dimmap_vm_ops;
	return 0;
}
