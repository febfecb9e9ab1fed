/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/threads/frame.h"

#include <string.h>

#include "lwk/machine/layout.h"

#define SOFTWARE_BYTES 464 /* offset in an XSAVE area: bytes that processors leave to software */
#define FLAGS_USER \
	0x50dd5UL /* as in restore_sigcontext(): AC, OF, DF, TF, SF, ZF, AF, PF, CF, RF */
#define FLAGS_ALWAYS 0x202UL

struct frame_place frame_find_place(uint64_t top, size_t xsave_size)
{
	struct frame_place at;

	at.fp = (top - (xsave_size + 4)) & ~63UL;
	at.frame = ((at.fp - sizeof(struct frame)) & ~15UL) - 8;
	return at;
}

void frame_save(struct frame_context *c, const struct kvm_regs *r)
{
	*c = (struct frame_context){
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.rdi = r->rdi,
		.rsi = r->rsi,
		.rbp = r->rbp,
		.rbx = r->rbx,
		.rdx = r->rdx,
		.rax = r->rax,
		.rcx = r->rcx,
		.rsp = r->rsp,
		.rip = r->rip,
		.flags = r->rflags,
		.cs = LWK_USER_CS,
		.ss = LWK_USER_SS,
	};
}

void frame_load(struct kvm_regs *r, const struct frame_context *c)
{
	*r = (struct kvm_regs){
		.r8 = c->r8,
		.r9 = c->r9,
		.r10 = c->r10,
		.r11 = c->r11,
		.r12 = c->r12,
		.r13 = c->r13,
		.r14 = c->r14,
		.r15 = c->r15,
		.rdi = c->rdi,
		.rsi = c->rsi,
		.rbp = c->rbp,
		.rbx = c->rbx,
		.rdx = c->rdx,
		.rax = c->rax,
		.rcx = c->rcx,
		.rsp = c->rsp,
		.rip = c->rip,
		.rflags = (c->flags & FLAGS_USER) | FLAGS_ALWAYS,
	};
}

size_t frame_mark_fp(uint8_t *area, size_t xsave_size, uint64_t xcr0)
{
	struct {
		uint32_t magic, extended_size;
		uint64_t features;
		uint32_t size, padding[7];
	} software = { 0 };
	uint32_t end = FRAME_FP_MAGIC_2;

	_Static_assert(sizeof(software) == 48, "struct _fpx_sw_bytes");
	if (!xcr0 || xsave_size + sizeof(end) > FRAME_XSAVE) {
		memset(area + SOFTWARE_BYTES, 0, sizeof(software));
		return 512;
	}
	software.magic = FRAME_FP_MAGIC_1;
	software.extended_size = (uint32_t)(xsave_size + sizeof(end));
	software.features = xcr0;
	software.size = (uint32_t)xsave_size;
	memcpy(area + SOFTWARE_BYTES, &software, sizeof(software));
	memcpy(area + xsave_size, &end, sizeof(end));
	return xsave_size + sizeof(end);
}
