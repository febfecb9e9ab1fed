/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_THREADS_FAULT_H
#define NODEOS_LWK_THREADS_FAULT_H

#include "lwk/threads/thread.h"

/*
 * Faults of the program's memory accesses. The machine reports a fault in one of two ways. An
 * exception by the machine's page tables (no window yet, or a protection in the extent) gives the
 * address. When the access would fail in this process, too, KVM_RUN fails with EFAULT and gives no
 * address; then the instruction is repeated with empty page tables. Each address that it accesses
 * is checked, and the GiB of a valid address is added to the tables, until an address is not valid.
 * The program's signal gets this address.
 */

/* Call when KVM_RUN has failed with EFAULT: begin the search for the address. */
void fault_search(struct thread *t);

/* Handle an exception of number 14 for ADDRESS, with the processor's ERROR code. */
void fault_handle(struct thread *t, uint64_t address, uint64_t error);

/* Call at any other exit: it ends a search. */
void fault_end_search(struct thread *t);

#endif
