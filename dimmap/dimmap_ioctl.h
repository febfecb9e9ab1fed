/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What can be asked of the directory of a dimmapfs mount, with ioctl(). */
#ifndef NODEOS_DIMMAP_DIMMAP_IOCTL_H
#define NODEOS_DIMMAP_DIMMAP_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DIMMAP_NAME_MAX 63
#define DIMMAP_WHY_MAX 200

/* Adds a file. Who may open the source for writing may write to it here; needs CAP_SYS_ADMIN. */
struct dimmap_bind {
	char name[DIMMAP_NAME_MAX + 1];
	__s32 fd; /* a block device, or a file of ext4 or XFS */
	__u32 flags;
	char why[DIMMAP_WHY_MAX]; /* comes back: what is wrong, when it fails; or "" */
};

#define DIMMAP_BIND_READ_ONLY 1

#define DIMMAP_IOC_BIND _IOWR('d', 0x40, struct dimmap_bind)
/* Writes all that is dirty; ETIMEDOUT when a device takes nothing for so many milliseconds. */
#define DIMMAP_IOC_SYNC _IOW('d', 0x41, __u32)
/*
 * All accesses fail from now on, and what is dirty is lost. The pages and what is bound are given
 * back, even while files are open, as soon as the devices have answered. Needs CAP_SYS_ADMIN.
 */
#define DIMMAP_IOC_SHUTDOWN _IO('d', 0x42)

#endif
