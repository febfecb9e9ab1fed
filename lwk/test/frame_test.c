/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of a signal: the same layout as the kernel's headers have, and its place. */
#include "lwk/threads/frame.h"

#include "base/test/tap.h"
#include "lwk/test/frame_kernel.h"

#define OF(member) offsetof(struct frame, member)
#define REGISTER(member) offsetof(struct frame, context.member)

static const size_t ours[] = {
	OF(restorer),	OF(flags),     OF(link),	OF(stack),	OF(stack.flags),
	OF(stack.size), OF(mask),      OF(info),	REGISTER(r8),	REGISTER(r15),
	REGISTER(rdi),	REGISTER(rsi), REGISTER(rbp),	REGISTER(rbx),	REGISTER(rdx),
	REGISTER(rax),	REGISTER(rcx), REGISTER(rsp),	REGISTER(rip),	REGISTER(flags),
	REGISTER(cs),	REGISTER(ss),  REGISTER(error), REGISTER(trap), REGISTER(old_mask),
	REGISTER(cr2),	REGISTER(fp),
};

static void check_layout(void)
{
	is_int(sizeof(ours) / sizeof(ours[0]), (long long)frame_kernel_count,
	       "the table has all members of the kernel's frame");
	for (size_t i = 0; i < frame_kernel_count; i++)
		is_int((long long)ours[i], (long long)frame_kernel[i].offset,
		       "the offset of %s is that of the kernel", frame_kernel[i].name);
	is_int(FRAME_FP_MAGIC_1, frame_kernel_magic[0],
	       "the first magic number of the FPU's state is the kernel's");
	is_int(FRAME_FP_MAGIC_2, frame_kernel_magic[1],
	       "the second magic number of the FPU's state is the kernel's");
}

static void check_place(void)
{
	struct frame_place at = frame_find_place(0x10000, 832);

	/* 0x10000 - 836 = 0xfcbc; down to 64: 0xfc80; less 440: 0xfac8; down to 16: 0xfac0 */
	is_int((long long)at.fp, 0xfc80,
	       "frame_find_place: the FPU's state is at a multiple of 64");
	is_int((long long)at.frame, 0xfab8,
	       "frame_find_place: the frame is 8 below a multiple of 16, as after a call");
}

static void check_registers(void)
{
	struct kvm_regs r = { .rax = 1,
			      .rbx = 2,
			      .rcx = 3,
			      .rdx = 4,
			      .rsi = 5,
			      .rdi = 6,
			      .rsp = 7,
			      .rbp = 8,
			      .r8 = 9,
			      .r9 = 10,
			      .r10 = 11,
			      .r11 = 12,
			      .r12 = 13,
			      .r13 = 14,
			      .r14 = 15,
			      .r15 = 16,
			      .rip = 17,
			      .rflags = 0x246 },
			back;
	struct frame_context c;

	frame_save(&c, &r);
	frame_load(&back, &c);
	ok(memcmp(&r, &back, sizeof(r)) == 0,
	   "frame_load: reads back the registers that frame_save() wrote");
	c.flags = ~0UL;
	frame_load(&back, &c);
	is_int((long long)back.rflags, 0x50fd7,
	       "frame_load: sets only flags that a program may set");
}

static void check_fp(void)
{
	uint8_t area[FRAME_XSAVE] = { 0 };
	uint32_t word;

	is_int((long long)frame_mark_fp(area, 832, 7), 836,
	       "frame_mark_fp: returns 836 bytes for a state with AVX");
	memcpy(&word, area + frame_kernel_software, 4);
	is_int(word, FRAME_FP_MAGIC_1, "frame_mark_fp: writes the first magic number");
	memcpy(&word, area + frame_kernel_software + 4, 4);
	is_int(word, 836, "frame_mark_fp: writes the size with the second magic number");
	memcpy(&word, area + frame_kernel_software + 16, 4);
	is_int(word, 832, "frame_mark_fp: writes the size of the state");
	memcpy(&word, area + 832, 4);
	is_int(word, FRAME_FP_MAGIC_2,
	       "frame_mark_fp: writes the second magic number behind the state");
	is_int((long long)frame_mark_fp(area, 512, 0), 512,
	       "frame_mark_fp: returns 512 bytes for a state without XSAVE");
}

int main(void)
{
	check_layout();
	check_place();
	check_registers();
	check_fp();
	return tap_done();
}
