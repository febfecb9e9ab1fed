/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUILT_FOR_H
#define NODEOS_HOST_BUILT_FOR_H

/*
 * The plugin contains this text, followed by the SLURM_VERSION_NUMBER of its headers in C's
 * notation. SPANK loads a plugin only if its series is that of the running Slurm.
 */
#define NODEOS_BUILT_FOR "nodeos.so was built for Slurm "

#endif
