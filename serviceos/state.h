/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_STATE_H
#define NODEOS_SERVICEOS_STATE_H

#include "topology/service.h"

/*
 * The CPUs and memory nodes that this node keeps for its system, as nodeosctl provision saved them
 * for launches and reports: the file "serviceos" in state_dir. A boot removes it together with the
 * state that it describes.
 */
#define SERVICE_STATE_FILE "serviceos"

/*
 * Returns 1 with the set in *OUT, 0 when the node has no ServiceOS and *OUT is empty, or -1 when
 * the file is broken.
 */
int service_state_load(struct service_set *out, const char *state_dir, struct errbuf *err);

/* Return whether CPUs and memory nodes of A and B are the same. */
bool service_same(const struct service_set *a, const struct service_set *b);

int service_state_save(int dir, const struct service_set *s, struct errbuf *err);

#endif
