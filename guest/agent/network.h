/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_AGENT_NETWORK_H
#define NODEOS_GUEST_AGENT_NETWORK_H

/*
 * Start the guest's network when the host's files are mounted: loopback, and the card of QEMU's
 * user network if there is one. ENV, the environment of a program, may name a server of PMIx, which
 * listens on the host's loopback. Programs reach it at the same port of the guest's loopback.
 */
void agent_network_start(char *const *env);

#endif
