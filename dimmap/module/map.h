/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page tables of who has a dimmap file mapped: pages of a buffer are put there, and taken away
 * many at a time, with one flush of other CPUs' TLBs for each address space. By interfaces that an
 * unpatched kernel exports to modules.
 */
#ifndef DIMMAP_MAP_H
#define DIMMAP_MAP_H

#include <linux/mm.h>

/* How the TLBs of other CPUs lose what is unmapped. */
enum dimmap_tlb {
	DIMMAP_TLB_BATCH,	/* one flush of all for each address space and batch */
	DIMMAP_TLB_ZAP,		/* each page by zap_vma_ptes(): slower, assumes nothing */
};

/* A page that is to lose its mappings: where it is in the file, and which page it is. */
struct dimmap_page {
	pgoff_t index;
	unsigned long pfn;
};

/* Counts of dimmap_unmap(). */
struct dimmap_unmapped {
	unsigned int ptes;	/* entries of page tables that are gone */
	unsigned int flushes;	/* times that an address space was flushed */
};

int dimmap_map(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn, bool write);
void dimmap_unmap(struct address_space *mapping, struct dimmap_page *page, unsigned int n,
		  enum dimmap_tlb tlb, struct dimmap_unmapped *count);

#endif
