/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUILT_FOR_H
#define NODEOS_HOST_BUILT_FOR_H

/*
 * The plugin contains this text, followed by the SLURM_VERSION_NUMBER of its headers in C's
 * notation. SPANK loads only a plugin of the running Slurm's series.
 */
#define NODEOS_BUILT_FOR "nodeos.so was built for Slurm "

#endif
