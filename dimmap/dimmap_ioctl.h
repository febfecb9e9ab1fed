/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* ioctl() commands of the directory of a dimmapfs mount. */
#ifndef NODEOS_DIMMAP_DIMMAP_IOCTL_H
#define NODEOS_DIMMAP_DIMMAP_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DIMMAP_NAME_MAX 63
#define DIMMAP_WHY_MAX 200

/*
 * Adds a file to the mount. It is writable if FD is open for writing and FLAGS allow it. Needs
 * CAP_SYS_ADMIN.
 */
struct dimmap_bind {
	char name[DIMMAP_NAME_MAX + 1];
	__s32 fd; /* a block device, or a file of ext4 or XFS */
	__u32 flags;
	char why[DIMMAP_WHY_MAX]; /* returned: the reason of a failure, or "" */
};

#define DIMMAP_BIND_READ_ONLY 1

#define DIMMAP_IOC_BIND _IOWR('d', 0x40, struct dimmap_bind)
/*
 * Writes all dirty pages. Fails with ETIMEDOUT if a device finishes no write for as many
 * milliseconds as the argument says.
 */
#define DIMMAP_IOC_SYNC _IOW('d', 0x41, __u32)
/*
 * Makes all later accesses fail, and drops dirty pages. Pages and sources are released as soon as
 * the devices have answered, even if files are still open. Needs CAP_SYS_ADMIN.
 */
#define DIMMAP_IOC_SHUTDOWN _IO('d', 0x42)

#endif
