/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_MODULES_H
#define NODEOS_GUEST_MODULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/* Drivers of a kernel for Linux: those that are built in, and modules. Pure. */

#define GUEST_MODULES_MAX 32

/* Files of modules below their directory, in the order in which they are to be loaded. */
struct guest_modules {
	struct guest_module_path {
		const char *text; /* LENGTH bytes in the text of modules.dep */
		size_t length;
	} path[GUEST_MODULES_MAX];
	unsigned n;
};

/*
 * Does BUILTIN, the text of a kernel's modules.builtin, have module NAME? '-' and '_' are equal.
 */
bool guest_kernel_has(const char *builtin, const char *name);

/*
 * Add module NAME and the modules that it needs to LIST, each once. DEP is the text of modules.dep.
 * Returns 0, or -1: there is no such module, or there are too many.
 */
int guest_modules_add(struct guest_modules *list, const char *dep, const char *name);

#endif
