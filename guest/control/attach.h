/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_ATTACH_H
#define NODEOS_GUEST_CONTROL_ATTACH_H

#include "guest/control/ask.h"

/*
 * Send the guest's process WORD ("console" or "gdb") with a socket, and connect the socket with
 * standard input and output until the other side closes it. A terminal is raw meanwhile, and Ctrl-]
 * ends the connection. Returns 0, or -1.
 */
int attach_stdio(const struct ask_guest *g, const char *word, struct errbuf *err);

/*
 * Save the guest in the new file PATH. Then the guest ends, or goes on if CONTINUES. On failure the
 * guest goes on, and there is no file.
 */
int attach_save(const struct ask_guest *g, const char *path, bool continues, struct errbuf *err);

#endif
