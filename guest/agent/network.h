/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_AGENT_NETWORK_H
#define NODEOS_GUEST_AGENT_NETWORK_H

/*
 * The guest's network, once the host's files are mounted: loopback, the card of QEMU's user network
 * if there is one, and the server of PMIx that ENV, of a program, names: it listens on the host's
 * loopback, and programs find it at the same port of the guest's.
 */
void agent_network_start(char *const *env);

#endif
