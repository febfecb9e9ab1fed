/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_PROVISION_H
#define NODEOS_SERVICEOS_PROVISION_H

#include "serviceos/item.h"

/*
 * provision_apply() confines this node's system to its ServiceOS, and provision_undo() undoes this.
 * Both can be killed at any point and run again. Both change nothing on a node that is in the
 * wanted state.
 */
struct provision {
	int root; /* fd of "/", or of a test's tree */
	int dir; /* fd of state_dir, locked by the caller */
	const struct conf *conf;
	struct service_set set; /* for provision_apply() */
	bool dry; /* report changes without making them */
	/* for a dry provision_apply(): report as if the journal were restored first */
	bool as_new;
	/* for provision_undo(): keep the state file, so that launches still leave out these CPUs */
	bool keep_state;
	/* notify systemd of changed units; replaced in tests */
	int (*reload)(struct errbuf *err);
	/*
	 * save the set for launches (service_state_save()), unless live containers have its CPUs or
	 * memory nodes
	 */
	int (*save)(const struct provision *p, struct errbuf *err);
	/*
	 * called for each change made (if DRY: needed), from IT's FOUND to TO; TO is NULL if IT is
	 * removed
	 */
	void (*say)(const struct service_item *it, const char *to, void *arg);
	/* called for each change that is needed and impossible, with the reason */
	void (*cannot)(const struct service_item *it, const char *why, void *arg);
	void *arg;
	unsigned changed, fixed; /* results; fixed: items that this kernel does not move */
	unsigned held; /* processes that their own cgroup keeps outside of the ServiceOS */
	bool waiting; /* some memory nodes are unchanged, because of users' processes */
	bool unsettled; /* a process kept starting threads outside of the ServiceOS */
};

int provision_apply(struct provision *p, struct errbuf *err);

/* Undo provision_apply(). Returns 0; 1: this node is not provisioned; -1: with the reason. */
int provision_undo(struct provision *p, struct errbuf *err);

#endif
