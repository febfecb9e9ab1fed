/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_KVM_PROBE_H
#define NODEOS_HUGEPAGES_KVM_PROBE_H

#include "base/errbuf.h"

/*
 * Run ten instructions in a machine of KVM, an open /dev/kvm, and check what they compute. Returns
 * 0, or -1 with the reason. On other processors than x86-64 there is always a reason.
 */
int kvm_probe(int kvm, struct errbuf *err);

#endif
