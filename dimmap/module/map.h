/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page tables of programs that map a dimmap file. Pages are mapped one by one. Many pages are
 * unmapped at a time, with one TLB flush of other CPUs for each address space. Uses only what an
 * unpatched kernel exports to modules.
 */
#ifndef DIMMAP_MAP_H
#define DIMMAP_MAP_H

#include <linux/mm.h>

/* How the TLBs of other CPUs are flushed. */
enum dimmap_tlb {
	DIMMAP_TLB_BATCH,	/* one flush for each address space and batch */
	/* one flush for each page, by zap_vma_ptes(): slower, but assumes nothing */
	DIMMAP_TLB_ZAP,
};

/* A page to unmap: its index in the file and its frame number. */
struct dimmap_page {
	pgoff_t index;
	unsigned long pfn;
};

/* Counts of dimmap_unmap(). */
struct dimmap_unmapped {
	unsigned int ptes;	/* page table entries cleared */
	unsigned int flushes;	/* flushes of an address space */
};

int dimmap_map(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn, bool write);
void dimmap_unmap(struct address_space *mapping, struct dimmap_page *page, unsigned int n,
		  enum dimmap_tlb tlb, struct dimmap_unmapped *count);

#endif
