/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_TEST_MARK_H
#define NODEOS_LWK_TEST_MARK_H

/* A no-op that the plugin insn-count recognises (bench/lib). */
#define MARK(id) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00; .long 0x4e4f0000 + " #id ::: "memory")

#endif
