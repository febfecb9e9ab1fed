/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_COUNTS_H
#define NODEOS_GUEST_CONTROL_COUNTS_H

#include "base/errbuf.h"
#include "guest/qmp.h"

/*
 * What KVM counts for the CPUs of the guest, by QEMU: a JSON object of the sums over all CPUs
 * (exits, halt_exits, io_exits, irq_exits, mmio_exits, signal_exits), as far as this processor's
 * KVM has them. The caller frees it. Returns NULL where QEMU does not know (before 7.1), and
 * for an emulated guest.
 */
char *counts_take(struct qmp *q, struct errbuf *err);

struct json_object;

/* The object for LIST, QEMU's answer, to be freed; NULL when out of memory. */
char *counts_sum(struct json_object *list);

#endif
