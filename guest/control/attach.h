/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_ATTACH_H
#define NODEOS_GUEST_CONTROL_ATTACH_H

#include "guest/control/ask.h"

/*
 * Give the guest a socket with WORD ("console", "gdb"), and connect it with standard input and
 * output until the guest closes it. A terminal is raw meanwhile, and Ctrl-] leaves. Returns 0, or
 * -1.
 */
int attach_stdio(const struct ask_guest *g, const char *word, struct errbuf *err);

/*
 * Save the guest in the new file PATH, and end it, or let it go on if CONTINUES. On failure it goes
 * on, and there is no file.
 */
int attach_save(const struct ask_guest *g, const char *path, bool continues, struct errbuf *err);

#endif
