/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request_field.h"

bool request_container_wants(const struct requested_container *c, enum isolator_id id)
{
	char value[REQUEST_VALUE_MAX];

	for (const struct request_field *f = request_fields; f->name; f++)
		if (f->isolator == id && id != ISOLATOR_COUNT && f->print(value, c))
			return true;
	return false;
}

bool request_wants(const struct request *r, enum isolator_id id)
{
	for (unsigned i = 0; i < r->n; i++)
		if (request_container_wants(&r->container[i], id))
			return true;
	return false;
}
