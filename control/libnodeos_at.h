/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_LIBNODEOS_AT_H
#define NODEOS_CONTROL_LIBNODEOS_AT_H

#include "control/nodeos.h"

/*
 * As nodeos_open(), with another socket and file of changes, for tests. Both strings must live as
 * long as the handle. Not exported.
 */
nodeos_t *nodeos_open_at(const char *socket_path, const char *changes_path);

#endif
