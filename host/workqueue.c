/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/workqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hexmask.h"

const char *workqueue_sysfs = "/sys/devices/virtual/workqueue";

static const char *sysfs_path(char path[256], const char *file)
{
	snprintf(path, 256, "%s/%s", workqueue_sysfs, file);
	return path;
}

/*
 * Return whether the kernel excludes isolated CPUs from workqueues: only such a kernel has the file
 * cpumask_isolated.
 */
static bool kernel_isolates_workqueues(void)
{
	char path[256];

	return access(sysfs_path(path, "cpumask_isolated"), F_OK) == 0;
}

static int read_mask(struct idset *out, int dir, const char *path, struct errbuf *err)
{
	char text[HEXMASK_MAX + 2];

	return file_read(dir, path, text, sizeof(text), err) < 0 ||
			       hexmask_parse(out, text, err) < 0
		       ? -1
		       : 0;
}

static int write_mask(const struct idset *cpus, struct errbuf *err)
{
	char text[HEXMASK_MAX], path[256];
	int fd = open(sysfs_path(path, "cpumask"), O_WRONLY | O_TRUNC | O_CLOEXEC), rc = 0;

	hexmask_format(cpus, text);
	if (fd < 0 || write_all(fd, text, strlen(text)) < 0)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Remove isolated CPUs of other partitions from the mask: writing them would return these CPUs. */
static void take_isolated(struct idset *mask)
{
	struct idset isolated;
	struct errbuf ignored;
	char path[256];

	if (read_mask(&isolated, AT_FDCWD, sysfs_path(path, "cpumask_isolated"), &ignored) == 0)
		idset_andnot(mask, &isolated);
}

bool workqueue_pending(int dir)
{
	return faccessat(dir, WORKQUEUE_FILE, F_OK, 0) == 0;
}

int workqueue_leave(int dir, const struct idset *cpus, struct errbuf *err)
{
	struct idset now, left;
	char text[HEXMASK_MAX], path[256];

	if (!kernel_isolates_workqueues())
		return 0;
	if (read_mask(&now, AT_FDCWD, sysfs_path(path, "cpumask_requested"), err) < 0)
		return -1;
	if (!idset_intersects(&now, cpus))
		return 0;
	left = now;
	idset_andnot(&left, cpus);
	take_isolated(&left);
	if (idset_empty(&left))
		return errprintf(err,
				 "this partition would leave no CPU to the kernel's workqueues");
	if (!workqueue_pending(dir)) {
		hexmask_format(&now, text);
		if (file_replace(dir, WORKQUEUE_FILE, text, 0600, err) < 0)
			return -1;
	}
	return write_mask(&left, err);
}

void workqueue_return(int dir, const struct idset *live)
{
	struct idset mask, base, now;
	struct errbuf ignored;
	char path[256];

	if (read_mask(&mask, dir, WORKQUEUE_FILE, &ignored) < 0 ||
	    read_mask(&now, AT_FDCWD, sysfs_path(path, "cpumask_requested"), &ignored) < 0)
		return;
	base = mask;
	idset_andnot(&mask, live);
	take_isolated(&mask);
	if (idset_empty(&mask) || (!idset_equal(&mask, &now) && write_mask(&mask, &ignored) < 0))
		return;
	if (idset_equal(&mask, &base))
		unlinkat(dir, WORKQUEUE_FILE, 0);
}
