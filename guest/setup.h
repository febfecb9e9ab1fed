/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_SETUP_H
#define NODEOS_GUEST_SETUP_H

#include "base/errbuf.h"
#include "guest/options.h"
#include "guest/watch.h"

/* The parts of a guest, by the options and this host. This struct is large. */
struct guest_setup {
	struct guest_run run;
	struct guest_shape shape;
	struct guest_image image;
	struct guest_saved saved; /* the description for a save; it owns the texts of IMAGE */
};

/*
 * Make the guest that O asks for, without the ranks of its programs. The caller calls
 * guest_setup_free(), also after a failure.
 */
int guest_setup_make(struct guest_setup *s, const struct guest_options *o, struct errbuf *err);

void guest_setup_free(struct guest_setup *s);

#endif
