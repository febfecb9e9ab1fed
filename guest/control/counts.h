/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_COUNTS_H
#define NODEOS_GUEST_CONTROL_COUNTS_H

#include "base/errbuf.h"
#include "guest/qmp.h"

/*
 * Ask QEMU for KVM's counts of the guest's CPUs. Returns a JSON object with the sums over all CPUs
 * of exits, halt_exits, io_exits, irq_exits, mmio_exits and signal_exits, as far as KVM has them on
 * this processor; it is empty for an emulated guest. The caller frees it. Returns NULL if QEMU does
 * not know the command (before 7.1).
 */
char *counts_take(struct qmp *q, struct errbuf *err);

struct json_object;

/*
 * Return the text of that JSON object, made from LIST, QEMU's answer; NULL when out of memory. The
 * caller frees the text. LIST stays the caller's.
 */
char *counts_sum(struct json_object *list);

#endif
