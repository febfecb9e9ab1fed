// SPDX-License-Identifier: GPL-2.0
/* The control: map.c without the flush, which must lose writes. */
#include <linux/mm.h>

#define zap_vma_ptes(vma, addr, size) ((void)(vma), (void)(addr))
#include "../module/map.c"
