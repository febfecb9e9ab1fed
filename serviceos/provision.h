/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_PROVISION_H
#define NODEOS_SERVICEOS_PROVISION_H

#include "serviceos/item.h"

/*
 * Make this node's system keep to its ServiceOS, and undo that. Both may be
 * killed anywhere and run again, and do nothing when there is nothing to do.
 */
struct provision {
	int root; /* fd of "/", or of a test's tree */
	int dir; /* fd of state_dir, locked by the caller */
	const struct conf *conf;
	struct service_set set; /* of provision_apply */
	bool dry; /* say it, do not do it */
	/* of a dry provision_apply: as if what the journal has were put back first */
	bool as_new;
	bool keep_state; /* of provision_undo: launches go on leaving these CPUs out */
	/* what systemd has to be told; replaced in tests */
	int (*reload)(struct errbuf *err);
	/* keep the set where launches find it (service_state_save), unless containers are in its
	 * way */
	int (*save)(const struct provision *p, struct errbuf *err);
	/* called for each change made (or to be made): from found to TO; TO NULL: removed */
	void (*say)(const struct service_item *it, const char *to, void *arg);
	/* called for what should change and cannot, with the reason */
	void (*cannot)(const struct service_item *it, const char *why, void *arg);
	void *arg;
	unsigned changed, fixed; /* results; fixed: what this kernel does not move */
	unsigned held; /* processes that their own cgroup keeps elsewhere */
	bool waiting; /* some memory nodes stay as they are: processes of users are there */
	bool unsettled; /* something kept making threads elsewhere */
};

int provision_apply(struct provision *p, struct errbuf *err);

/* 0, or 1: this node is not provisioned. */
int provision_undo(struct provision *p, struct errbuf *err);

#endif
