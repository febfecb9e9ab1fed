/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/errors.h"

#include <errno.h>

#include "dimmap/load/lriot/backend.h"

const char *const error_names[ERROR_KINDS] = { "sigbus", "eio", "enospc", "other" };

static enum error_kind errors_kind_of(int status)
{
	switch (status) {
	case GOT_SIGBUS:
		return ERROR_SIGBUS;
	case EIO:
		return ERROR_EIO;
	case ENOSPC:
		return ERROR_ENOSPC;
	default:
		return ERROR_OTHER;
	}
}

void errors_add(struct errors *e, int status)
{
	if (!status)
		return;
	atomic_fetch_add(&e->n[errors_kind_of(status)], 1);
	if (errors_kind_of(status) == ERROR_OTHER)
		atomic_store(&e->other, status);
}

uint64_t errors_all(const struct errors *e)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ERROR_KINDS; i++)
		n += atomic_load(&e->n[i]);
	return n;
}
