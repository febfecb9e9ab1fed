/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_STATE_H
#define NODEOS_SERVICEOS_STATE_H

#include "topology/service.h"

/*
 * What this node keeps for its system, as nodeosctl provision left it for launches
 * and reports: the file "serviceos" in state_dir. It goes with the boot, as what
 * it tells of does.
 */
#define SERVICE_STATE_FILE "serviceos"

/* 1: *OUT is it; 0: the node has no ServiceOS and *OUT is empty; -1: the file is broken. */
int service_state_load(struct service_set *out, const char *state_dir, struct errbuf *err);

int service_state_save(int dir, const struct service_set *s, struct errbuf *err);

#endif
