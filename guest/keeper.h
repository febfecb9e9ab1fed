/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_KEEPER_H
#define NODEOS_GUEST_KEEPER_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "guest/options.h"

/*
 * Start the keeper, the process that runs the guest of O's ranks: it outlives the rank that starts
 * it, because other ranks may need the guest longer, and ends after the last of them. Returns its
 * process, or -1.
 */
pid_t keeper_start(const struct guest_options *o, struct errbuf *err);

#endif
