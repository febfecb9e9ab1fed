/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_THREADS_SIGNAL_H
#define NODEOS_LWK_THREADS_SIGNAL_H

#include "lwk/threads/thread.h"

/*
 * Signals. Linux delivers them to this process as to any other. A signal with a handler of the
 * program arrives in nodeos-lwk's own handler, which notes it and blocks all others. At the next
 * exit from the machine, the frame of the program's handler is put on the program's stack, and the
 * mask of this handler is set in Linux. Then the next signal may arrive; its frame is put above the
 * first one, as in the kernel.
 */

/*
 * Take over the dispositions and the mask that this process was started with; T is the first
 * thread, which blocks all signals until it begins.
 */
void signal_start(struct thread *t);

/*
 * Copy the actions A for a process that shares this memory, without the handlers if CLEARED.
 * Returns NULL when out of memory.
 */
struct actions *signal_copy_actions(const struct actions *a, bool cleared);
void signal_free_actions(struct actions *a);

/* Put the frames of waiting signals on the program's stack. */
void signal_deliver(struct thread *t);

/*
 * The program's instruction has caused signal NUMBER with si_code CODE and si_addr ADDRESS: put its
 * frame on the stack, or end the process if the program blocks or ignores it. TRAP is the number of
 * the exception.
 */
struct signal_fault {
	int number, code;
	uint64_t address, trap, error, cr2;
};
void signal_raise(struct thread *t, const struct signal_fault *f);

/* End the process by signal NUMBER, with the program's registers in a core dump. */
void signal_die(struct thread *t, int number) __attribute__((noreturn));

/* System calls of the program; they return what Linux would return. */
long signal_action(struct thread *t, const long arg[6]);
long signal_mask(struct thread *t, const long arg[6]);
long signal_stack(struct thread *t, const long arg[6]);
long signal_return(struct thread *t, const long arg[6]);

#endif
