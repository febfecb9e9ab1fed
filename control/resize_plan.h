/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_PLAN_H
#define NODEOS_CONTROL_RESIZE_PLAN_H

#include "control/resize_view.h"

/*
 * Open V and plan what its container is to have: *OUT has it alone (job_plan_free). With the
 * rights of the job's user, by the helper at HELPER_PATH, and the ledger closed meanwhile: who
 * could stop the helper keeps nobody waiting. When another step has changed what there is to have,
 * it is planned anew. On failure V is closed.
 */
int resize_plan(struct job_plan **out, struct resize_view *v, const char *helper_path,
		struct errbuf *err);

#endif
