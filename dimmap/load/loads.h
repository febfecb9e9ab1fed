/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LOADS_H
#define NODEOS_DIMMAP_LOAD_LOADS_H

#include "dimmap/load/frame.h"

/* The loads, each in the directory of its name. */
extern const struct load_action bfs_generate, bfs_run, lriot_generate, lriot_run,
	streamline_generate, streamline_run;

#endif
