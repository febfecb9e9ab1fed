/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * mark ID... executes these markers, one after the other mark START END FILE ARG... marker START,
 * runs FILE, marker END; returns FILE's exit code
 *
 * A marker is a no-op that insn-count.c recognises. IDs are 0 to 255. This program has no libc, so
 * that it executes almost no instructions around the markers. It is for x86-64 Linux.
 */

/* clang-format off */
__asm__(
	".globl _start\n"
	"_start:\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call run\n"
	"	mov %eax, %edi\n"
	"	mov $231, %eax\n"	/* exit_group */
	"	syscall\n"
	"markers:\n"
	".set id, 0\n"
	".rept 256\n"
	"	.byte 0x0f, 0x1f, 0x84, 0x00\n"	/* nopl 0x4e4f00ID(%rax,%rax,1) */
	"	.long 0x4e4f0000 + id\n"
	"	ret\n"
	".set id, id + 1\n"
	".endr\n"
);
/* clang-format on */

extern const char markers[];
int run(long *stack);

static void mark(unsigned id)
{
	((void (*)(void))(markers + 9UL * id))();
}

static long call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Return the number in TEXT, or -1 if TEXT is not a number from 0 to 255. */
static int mark_number(const char *text)
{
	int n = *text ? 0 : -1;

	for (; n >= 0 && n < 256 && *text; text++)
		n = *text >= '0' && *text <= '9' ? n * 10 + (*text - '0') : -1;
	return n < 256 ? n : -1;
}

int run(long *stack)
{
	enum { NR_FORK = 57, NR_EXECVE = 59, NR_WAIT4 = 61, NR_EXIT = 60 };
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);
	int status = 0;
	long child;

	if (argc < 2 || mark_number(argv[1]) < 0)
		return 125;
	if (argc < 4 || mark_number(argv[3]) >= 0) {
		for (int i = 1; i < argc; i++) {
			if (mark_number(argv[i]) < 0)
				return 125;
			mark((unsigned)mark_number(argv[i]));
		}
		return 0;
	}
	if (mark_number(argv[2]) < 0)
		return 125;
	mark((unsigned)mark_number(argv[1]));
	child = call(NR_FORK, 0, 0, 0, 0);
	if (child == 0) {
		call(NR_EXECVE, (long)argv[3], (long)(argv + 3), (long)(argv + argc + 1), 0);
		call(NR_EXIT, 127, 0, 0, 0);
	}
	if (child > 0)
		call(NR_WAIT4, child, (long)&status, 0, 0);
	mark((unsigned)mark_number(argv[2]));
	return child < 0 ? 126 : status & 0x7f ? 128 + (status & 0x7f) : (status >> 8) & 0xff;
}
