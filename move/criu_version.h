/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_CRIU_VERSION_H
#define NODEOS_MOVE_CRIU_VERSION_H

#include "base/errbuf.h"

/*
 * Which release of CRIU can move a vnode on which kernel. Releases that are known to fail are
 * refused before anything stops:
 * - before 4.1.1: a vnode restored by 3.17.1 never gets a packet, because the network lock is named
 *   by the process ID of the dumper and stays (not all releases from 3.17.1 to 4.1 were tried);
 * - before 4.2 on Linux 6.16 and later: no TCP socket can be dumped ("Can't get 1:16 opt").
 */
#define MOVE_VERSION_MAX 64 /* bytes of a version or of a kernel's release, with the final NUL */

/* Find the version in the output of "criu --version": "4.1.1". Returns 0, or -1. */
int move_criu_version(char version[MOVE_VERSION_MAX], const char *output, struct errbuf *err);

/*
 * Check whether CRIU VERSION works on a kernel of RELEASE. Returns 0, or -1 with the reason why
 * not.
 */
int move_criu_check(const char *version, const char *release, struct errbuf *err);

/*
 * Check whether CRIU DEST can restore an image of CRIU SOURCE: a release reads its own images and
 * those of earlier releases. Returns 0, or -1 with the reason why not.
 */
int move_criu_check_pair(const char *source, const char *dest, struct errbuf *err);

/*
 * Check whether the processors of the destination have all features that programs at the source may
 * use: SOURCE and DEST are the words of "flags" in /proc/cpuinfo. Returns 0, or -1 with the first
 * missing feature. Words that are not about instructions are ignored.
 */
int move_cpu_check(const char *source, const char *dest, struct errbuf *err);

#endif
