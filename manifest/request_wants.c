/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request.h"

bool request_container_wants(const struct requested_container *c, enum isolator_id id)
{
	switch (id) {
	case ISOLATOR_CPUS:
		return true;
	case ISOLATOR_MEMS:
		return c->mems_kind != MEMS_UNSET;
	case ISOLATOR_SCHED:
		return c->policy != POLICY_UNSET;
	case ISOLATOR_PARTITION:
		return c->partition != PARTITION_MEMBER;
	case ISOLATOR_DIMMAP:
		return c->dimmap.size != 0;
	case ISOLATOR_OOM:
		return c->oom != 0;
	case ISOLATOR_COUNT:
		break;
	}
	return false;
}

bool request_wants(const struct request *r, enum isolator_id id)
{
	for (unsigned i = 0; i < r->n; i++)
		if (request_container_wants(&r->container[i], id))
			return true;
	return false;
}
