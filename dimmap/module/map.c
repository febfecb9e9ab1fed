// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables of mappings of a dimmap file (map.h).
 *
 * vmf_insert_pfn() is not used: on x86 it takes a lock of the whole machine for each page
 * (track_pfn_insert()) to find a caching attribute that is known here: this is ordinary memory.
 *
 * The kernel exports no TLB flush to modules, but this protocol: a task that has cleared entries
 * and not yet flushed calls inc_tlb_flush_pending(), and tlb_finish_mmu() of any task that
 * meanwhile unmaps in the same address space flushes that whole address space
 * (mm_tlb_flush_nested()). So entries are cleared one by one, in all mappings of an address space,
 * and then one page whose entry is clear is zapped.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/fs.h>
#include <linux/rbtree.h>
#include <linux/sort.h>

#include "map.h"

struct dimmap_set {
	struct mm_struct *mm;
	pte_t entry;
	bool write;
};

static int dimmap_set_pte(pte_t *pte, unsigned long addr, void *data)
{
	struct dimmap_set *set = data;
	pte_t old = ptep_get(pte);

	/*
	 * another thread has mapped the page; if only the right to write is added, no flush is
	 * needed
	 */
	if (!pte_none(old) &&
	    (pte_pfn(old) != pte_pfn(set->entry) || !set->write || pte_write(old)))
		return 0;
	set_pte_at(set->mm, addr, pte, set->entry);
	return 0;
}

/**
 * dimmap_map - maps a page of the buffer at an address
 * @vma: VM_PFNMAP; its lock or the mmap lock is held
 * @addr: the address of a page in @vma
 * @pfn: the page; the caller prevents its unmapping meanwhile
 * @write: map with all rights of the mapping; else for reading only, so that the first write faults
 *
 * Return: 0, or -ENOMEM if there is no memory for page tables.
 */
int dimmap_map(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn, bool write)
{
	struct dimmap_set set = { .mm = vma->vm_mm, .write = write };
	pgprot_t prot = write ? vm_get_page_prot(vma->vm_flags) : vma->vm_page_prot;

	set.entry = pte_mkspecial(pte_mkyoung(pfn_pte(pfn, prot)));
	if (write)
		set.entry = pte_mkdirty(set.entry);
	return apply_to_page_range(vma->vm_mm, addr & PAGE_MASK, PAGE_SIZE, dimmap_set_pte, &set);
}

struct dimmap_clear {
	struct mm_struct *mm;
	unsigned long pfn;
	unsigned int cleared;
};

static int dimmap_clear_pte(pte_t *pte, unsigned long addr, void *data)
{
	struct dimmap_clear *clear = data;
	pte_t old = ptep_get(pte);

	if (pte_present(old) && pte_pfn(old) == clear->pfn) {
		ptep_get_and_clear(clear->mm, addr, pte);
		clear->cleared++;
	}
	return 0;
}

static int dimmap_by_index(const void *a, const void *b)
{
	const struct dimmap_page *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* Returns whether a file has so many mappings that it is worth sorting the pages. */
static bool dimmap_many(struct address_space *mapping)
{
	struct rb_node *rb = rb_first_cached(&mapping->i_mmap);
	unsigned int n;

	for (n = 0; rb && n < 8; n++)
		rb = rb_next(rb);
	return rb;
}

/* Returns the first of the pages, sorted by index, that is not before INDEX. */
static unsigned int dimmap_first(const struct dimmap_page *page, unsigned int n, pgoff_t index)
{
	unsigned int low = 0;

	while (low < n) {
		unsigned int middle = low + (n - low) / 2;

		if (page[middle].index < index)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

static unsigned long dimmap_address(const struct vm_area_struct *vma, pgoff_t index)
{
	return vma->vm_start + ((index - vma->vm_pgoff) << PAGE_SHIFT);
}

/* An address space to flush, by a zap of the page at ADDR, whose entry is clear already. */
struct dimmap_flush {
	struct vm_area_struct *vma;
	unsigned long addr;
};

/* The address spaces with cleared entries. Each is flushed once. */
struct dimmap_flush_list {
	struct dimmap_flush flush[16];
	unsigned int n;
};

static void dimmap_flush_all(struct dimmap_flush_list *list, struct dimmap_unmapped *count)
{
	while (list->n) {
		struct dimmap_flush *flush = &list->flush[--list->n];

		/*
		 * zap a page whose entry is clear already: a zap of another page would lose its
		 * dirty bit
		 */
		zap_vma_ptes(flush->vma, flush->addr, PAGE_SIZE);
		dec_tlb_flush_pending(flush->vma->vm_mm);
		count->flushes++;
	}
}

/* Returns whether the list has this address space. */
static bool dimmap_flush_has(const struct dimmap_flush_list *list, const struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < list->n; i++)
		if (list->flush[i].vma->vm_mm == mm)
			return true;
	return false;
}

/* Advances I to the next page in a mapping. Returns whether there is such a page. */
static bool dimmap_next(struct vm_area_struct *vma, const struct dimmap_page *page,
			unsigned int n, unsigned int *i)
{
	while (*i < n && page[*i].index - vma->vm_pgoff >= vma_pages(vma))
		++*i;
	return *i < n;
}

static void dimmap_unmap_vma(struct vm_area_struct *vma, const struct dimmap_page *page,
			     unsigned int n, enum dimmap_tlb tlb, struct dimmap_flush_list *list,
			     struct dimmap_unmapped *count)
{
	struct dimmap_clear clear = { .mm = vma->vm_mm };
	unsigned long last;
	unsigned int i = 0;
	bool listed;

	if (!dimmap_next(vma, page, n, &i))
		return;
	/* only a zap calls MMU notifiers (of GPUs, of KVM) */
	if (tlb == DIMMAP_TLB_ZAP || mm_has_notifiers(vma->vm_mm)) {
		for (; dimmap_next(vma, page, n, &i); i++) {
			zap_vma_ptes(vma, dimmap_address(vma, page[i].index), PAGE_SIZE);
			count->flushes++;
		}
		return;
	}
	last = dimmap_address(vma, page[i].index);
	listed = dimmap_flush_has(list, vma->vm_mm);
	if (!listed)
		inc_tlb_flush_pending(vma->vm_mm);
	for (; dimmap_next(vma, page, n, &i); i++) {
		unsigned long addr = dimmap_address(vma, page[i].index);
		unsigned int before = clear.cleared;

		clear.pfn = page[i].pfn;
		apply_to_existing_page_range(vma->vm_mm, addr, PAGE_SIZE, dimmap_clear_pte, &clear);
		if (clear.cleared != before)
			last = addr;
	}
	count->ptes += clear.cleared;
	if (listed)
		return;
	/* flush, too, if another task has cleared the entries and may not have flushed yet */
	if (!clear.cleared && !mm_tlb_flush_nested(vma->vm_mm)) {
		dec_tlb_flush_pending(vma->vm_mm);
		return;
	}
	if (list->n == ARRAY_SIZE(list->flush))
		dimmap_flush_all(list, count);
	list->flush[list->n++] = (struct dimmap_flush){ vma, last };
}

/**
 * dimmap_unmap - unmaps pages from all programs
 * @mapping: the mapping of the file
 * @page: the pages, whose order may change; the caller prevents new mappings of them meanwhile
 * @n: number of pages
 * @tlb: how to flush
 * @count: the work done is added to it
 *
 * After the return no CPU writes to these pages by an address of a program. May sleep.
 */
void dimmap_unmap(struct address_space *mapping, struct dimmap_page *page, unsigned int n,
		  enum dimmap_tlb tlb, struct dimmap_unmapped *count)
{
	struct dimmap_flush_list list;
	struct rb_node *rb;
	bool many;

	list.n = 0;
	/*
	 * The lock keeps mappings and their page tables, since free_pgtables() first removes a
	 * mapping from this tree. A fork inserts the child's mapping behind the parent's, so the
	 * walk also meets the entries that the fork copies meanwhile, as in the kernel's rmap.
	 */
	i_mmap_lock_read(mapping);
	many = n > 1 && dimmap_many(mapping);
	if (many)
		sort(page, n, sizeof(*page), dimmap_by_index, NULL);
	for (rb = rb_first_cached(&mapping->i_mmap); rb; rb = rb_next(rb)) {
		struct vm_area_struct *vma = rb_entry(rb, struct vm_area_struct, shared.rb);
		unsigned int first = 0, end = n;

		if (many) {
			first = dimmap_first(page, n, vma->vm_pgoff);
			end = dimmap_first(page, n, vma->vm_pgoff + vma_pages(vma));
		}
		dimmap_unmap_vma(vma, page + first, end - first, tlb, &list, count);
	}
	dimmap_flush_all(&list, count);
	i_mmap_unlock_read(mapping);
}
