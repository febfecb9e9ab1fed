/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000UL
#define PF_EXITING 0x00000004UL
#define PF_NO_SETAFFINITY 0x04000000UL

int process_stat_read(struct process_stat *out, int root, const char *name)
{
	char path[300], text[1024];
	struct errbuf ignored;
	unsigned long flags;
	long threads;
	char state;
	char *open, *close;

	snprintf(path, sizeof(path), "proc/%.256s/stat", name);
	if (file_read(root, path, text, sizeof(text), &ignored) < 0)
		return -1;
	/* only the name may hold blanks and brackets */
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open ||
	    sscanf(close + 1,
		   " %c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		   "%llu",
		   &state, &flags, &threads, &out->start) != 4)
		return -1;
	out->pid = (int)strtol(text, NULL, 10);
	snprintf(out->comm, sizeof(out->comm), "%.*s", (int)(close - open - 1), open + 1);
	/* the process's owner chooses the name, and root's terminal shows it */
	for (char *c = out->comm; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	out->kernel = flags & PF_KTHREAD;
	out->ended = (state == 'Z' || state == 'X') && threads <= 1;
	out->exiting = (flags & PF_EXITING) && threads <= 1;
	out->pinned = flags & PF_NO_SETAFFINITY;
	return 0;
}

int process_cgroup(char *buf, size_t size, int root, const char *name)
{
	char path[300], text[8192];
	struct errbuf ignored;
	const char *at;

	snprintf(path, sizeof(path), "proc/%.256s/cgroup", name);
	if (file_read(root, path, text, sizeof(text), &ignored) < 0)
		return -1;
	at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!at)
		return -1;
	at = strchr(at, '/');
	snprintf(buf, size, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
	for (char *c = buf; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?'; /* the user may choose any name for this process */
	return *buf ? 0 : -1;
}

int process_stat_of(struct process_stat *out, pid_t pid)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), rc;
	char name[24];

	snprintf(name, sizeof(name), "%ld", (long)pid);
	rc = root < 0 ? -1 : process_stat_read(out, root, name);
	if (root >= 0)
		close(root);
	return rc;
}

int process_cgroup_of(char *buf, size_t size, pid_t pid)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), rc;
	char name[24];

	snprintf(name, sizeof(name), "%ld", (long)pid);
	rc = root < 0 ? -1 : process_cgroup(buf, size, root, name);
	if (root >= 0)
		close(root);
	if (rc == 0 && *buf == '/')
		memmove(buf, buf + 1, strlen(buf));
	return rc;
}
