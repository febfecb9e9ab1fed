/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_LAYOUT_H
#define NODEOS_LWK_MACHINE_LAYOUT_H

/*
 * The kernel half of the machine's address space, for C and assembly. It is supervisor memory at
 * LWK_KERNEL; guest-physical address 0 is its first byte. All offsets are from there.
 *
 *   0x1000  page table of level 4
 *   0x2000  descriptor table (GDT)          0x3000  interrupt table (IDT)
 *   0x4000  entries of the 32 exceptions, then the instruction IRETQ
 *   0x5000  page tables of the kernel half: level 3, level 2
 *   LWK_TAKEN  areas of vCPUs and page tables, taken one by one
 */
#define LWK_KERNEL 0xffff800000000000
#define LWK_LEVEL4 0x1000
#define LWK_GDT 0x2000
#define LWK_IDT 0x3000
#define LWK_TRAPS 0x4000
#define LWK_KERNEL_LEVEL3 0x5000
#define LWK_KERNEL_LEVEL2 0x6000
#define LWK_TAKEN 0x7000
#define LWK_VCPUS 1024 /* most vCPUs of one machine */

/*
 * The area of a vCPU: its own copy of the stub with the answers that the stub gives, so that the
 * stub needs no register and no GS to find them; its task state segment and the stack of its
 * exceptions; the page table of level 4 that a search for a fault uses (fault.h).
 */
#define LWK_AREA_SIZE 0x3000
#define LWK_ANSWERS 0x400
#define LWK_TSS 0x800
#define LWK_STACK_TOP 0x2000
#define LWK_PROBE 0x2000

/* Offsets in the answers; thread.c sets them. */
#define LWK_ANSWER_PID 0
#define LWK_ANSWER_TID 4
#define LWK_ANSWER_LONE 8 /* 1: the process has one thread */
#define LWK_ANSWER_TURNS 12 /* calls of sched_yield by that thread */
#define LWK_ANSWER_COUNT 16 /* 64 bits: calls that the stub has answered */

/* A lone thread's sched_yield is passed to Linux once in this number of calls: another rank may
 * need the CPU.
 */
#define LWK_YIELD_TURNS 32

/* The stub leaves the machine by a write to one of these ports: for a system call, or for an
 * exception. */
#define LWK_PORT_CALL 0x10
#define LWK_PORT_TRAP 0x11

#define LWK_TRAP_COUNT 32
#define LWK_TRAP_ENTRY 16 /* bytes of an entry */

#define LWK_KERNEL_CS 0x10
#define LWK_KERNEL_SS 0x18
#define LWK_USER_SS 0x2b
#define LWK_USER_CS 0x33
#define LWK_TR 0x38

#endif
