/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /init of an initramfs with tests. Mounts the root file system on /dev/vda, runs /tests/run in it
 * as /mnt/run, and ends the guest.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *type, *from, *to;
	unsigned long flags;
} mounts[] = {
	{ "devtmpfs", "dev", "/dev", 0 },
	{ "ext4", "/dev/vda", "/root", 0 },
	{ NULL, "/tests", "/root/mnt", MS_BIND },
	{ "devtmpfs", "dev", "/root/dev", 0 },
	{ "proc", "proc", "/root/proc", 0 },
	{ "sysfs", "sys", "/root/sys", 0 },
	{ "tmpfs", "tmp", "/root/tmp", 0 },
	{ "tmpfs", "run", "/root/run", 0 },
	{ "cgroup2", "cgroup2", "/root/sys/fs/cgroup", 0 },
	{ "debugfs", "debugfs", "/root/sys/kernel/debug", 0 },
};

int main(void)
{
	static char *const argv[] = { "bash", "/mnt/run", NULL };
	static char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
				     "LANG=C.UTF-8", NULL };
	pid_t pid;

	mkdir("/dev", 0755);
	mkdir("/root", 0755);
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		if (mount(mounts[i].from, mounts[i].to, mounts[i].type, mounts[i].flags, NULL) < 0)
			printf("init: %s: %s\n", mounts[i].to, strerror(errno));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (chroot("/root") < 0 || chdir("/") < 0)
			_exit(126);
		setsid();
		execve("/bin/bash", argv, env);
		_exit(127);
	}
	while (wait(NULL) != pid || errno == EINTR)
		;
	sync();
	reboot(RB_POWER_OFF);
	pause();
}
