/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_PLAN_H
#define NODEOS_CONTROL_RESIZE_PLAN_H

#include "control/resize_view.h"

/*
 * Open V and plan the new size of its container. *OUT is a plan of only this container, which
 * job_plan_free() frees. The helper at HELPER_PATH plans with the rights of the job's user.
 * Meanwhile the ledger is closed, so that a user who stops the helper delays no other user. If
 * another step changes the available resources, the helper plans again. Returns 0, or -1 with V
 * closed.
 */
int resize_plan(struct job_plan **out, struct resize_view *v, const char *helper_path,
		struct errbuf *err);

#endif
