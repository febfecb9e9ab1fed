/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/proc.h"
#include "host/cgroup.h"
#include "serviceos/units.h"

#define UID_MIN_DEFAULT 1000
#define UID_NOBODY 65534

/* a process may be in 65,536 groups, and the masks of a large machine are long */
#define STATUS_MAX (1u << 20)

/*
 * Uids of systemd's DynamicUser=, among which are Debian's static accounts of packages. A directory
 * service may give persons such uids, too, so only those that this host knows count as system
 * accounts: systemd has a file for each that it has assigned, and /etc/passwd has the others.
 */
#define UID_DYNAMIC_FIRST 61184
#define UID_DYNAMIC_LAST 65519
#define DYNAMIC_DIR "run/systemd/dynamic-uid"

/* Daemons that run with SlurmUser's rights, which no user has; the account may have any uid. */
static const char *const slurm_user_units[] = {
	"/system.slice/slurmctld.service",
	"/system.slice/slurmdbd.service",
};

/* Return the number after WORD at the start of a line of TEXT, or FALLBACK. */
static unsigned long number_behind(const char *text, const char *word, unsigned long fallback)
{
	size_t len = strlen(word);
	const char *line = text;

	while (line) {
		if (strncmp(line, word, len) == 0 && isspace((unsigned char)line[len]))
			return strtoul(line + len, NULL, 10);
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return fallback;
}

/*
 * Return the first uid that may be a person's. login.defs(5) assigns no role to a uid between
 * SYS_UID_MAX and UID_MIN, so it may belong to a user that a directory service knows.
 */
static unsigned long first_user(int root)
{
	static char text[64 << 10];
	struct errbuf ignored;
	unsigned long min, sys_max;

	if (file_read(root, "etc/login.defs", text, sizeof(text), &ignored) < 0)
		*text = '\0';
	min = number_behind(text, "UID_MIN", UID_MIN_DEFAULT);
	sys_max = number_behind(text, "SYS_UID_MAX", min ? min - 1 : 0);
	return sys_max < min ? sys_max + 1 : min;
}

/* Return whether ROOT's /etc/passwd has a line "name:x:UID:...". */
static bool is_local_account(int root, unsigned long uid)
{
	int fd = openat(root, "etc/passwd", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	bool found = false;
	struct passwd *p;

	while (f && !found && (p = fgetpwent(f)) != NULL)
		found = p->pw_uid == uid;
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return found;
}

static bool is_of_a_package(int root, unsigned long uid)
{
	char path[sizeof(DYNAMIC_DIR) + 24];

	snprintf(path, sizeof(path), DYNAMIC_DIR "/%lu", uid);
	return faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || is_local_account(root, uid);
}

/*
 * Return whether UID is a user's: any uid except those of system accounts. Subordinate uids of
 * namespaces are users', too.
 */
static bool users_is_user(int root, unsigned long first, unsigned long uid)
{
	if (!uid || uid < first || uid == UID_NOBODY)
		return false;
	return uid < UID_DYNAMIC_FIRST || uid > UID_DYNAMIC_LAST || !is_of_a_package(root, uid);
}

/*
 * Return a user's uid, from FIRST on, among the real, effective, saved and file system uid of a
 * process: a set-user-ID program belongs to its caller. 0: none, or the process has ended;
 * ULONG_MAX: it cannot be read for another reason, and may be any user's.
 */
static unsigned long user_of(int root, const char *pid, unsigned long first)
{
	static char text[STATUS_MAX];
	char path[64];
	unsigned long uid[4] = { 0 };
	struct process_facts p;
	struct errbuf ignored;
	const char *line;

	snprintf(path, sizeof(path), "proc/%.16s/status", pid);
	if (file_read(root, path, text, sizeof(text), &ignored) < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : ULONG_MAX;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line + 5, "%lu %lu %lu %lu", &uid[0], &uid[1], &uid[2], &uid[3]) != 4)
		return ULONG_MAX;
	for (unsigned i = 0; i < 4; i++)
		if (users_is_user(root, first, uid[i]))
			/* a zombie no longer has memory */
			return process_read_facts(&p, root, pid) == 0 && p.ended ? 0 : uid[i];
	return 0;
}

static bool is_slurm_users(const char *cgroup)
{
	for (size_t i = 0; i < sizeof(slurm_user_units) / sizeof(slurm_user_units[0]); i++)
		if (cgroup_below(cgroup, slurm_user_units[i]))
			return true;
	return false;
}

bool service_user_in(const struct service_items *in, const char *path, char who[SERVICE_WHO_MAX])
{
	int fd = openat(in->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned long first = first_user(in->root), uid;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char cgroup[4096];
	bool found = false;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		snprintf(who, SERVICE_WHO_MAX, "/proc cannot be read: %s", strerror(errno));
		return true;
	}
	while (!found && (e = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		uid = user_of(in->root, e->d_name, first);
		if (!uid)
			continue;
		if (process_cgroup(cgroup, sizeof(cgroup), in->root, e->d_name) < 0) {
			if (!user_of(in->root, e->d_name, first))
				continue; /* the process has ended meanwhile */
			snprintf(cgroup, sizeof(cgroup), "%s", path ? path : "/");
		}
		if (is_slurm_users(cgroup))
			continue;
		found = path ? cgroup_below(cgroup, path) != NULL
			     : !service_exempt(cgroup, in->conf);
		if (found)
			snprintf(who, SERVICE_WHO_MAX, "process %.16s of uid %lu in %.200s",
				 e->d_name, uid, cgroup);
	}
	closedir(dir);
	return found;
}
