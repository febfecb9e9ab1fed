/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/service_users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/cgroup.h"
#include "container/fileio.h"
#include "container/process.h"
#include "container/service_units.h"

#define UID_MIN_DEFAULT 1000
#define UID_MAX_DEFAULT 60000
#define UID_16_BIT_MAX 65535 /* above UID_MAX to here: accounts of distributions and systemd (DynamicUser=) */

/* Which uids are people's: from first to last, and all above UID_16_BIT_MAX, as subordinate ones of namespaces are. */
struct range {
	unsigned long first, last;
};

/* The number behind WORD at the start of a line of TEXT; FALLBACK: there is none. */
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

static struct range users_of(int root)
{
	static char text[64 << 10];
	struct errbuf ignored;

	if (file_read(root, "etc/login.defs", text, sizeof(text), &ignored) < 0)
		*text = '\0';
	return (struct range){
		number_behind(text, "UID_MIN", UID_MIN_DEFAULT),
		number_behind(text, "UID_MAX", UID_MAX_DEFAULT),
	};
}

static bool is_user(const struct range *r, unsigned long uid)
{
	return (uid >= r->first && uid <= r->last) || uid > UID_16_BIT_MAX;
}

/*
 * The largest of its real, effective, saved and file system uid: a set-user-ID program is its caller's. 0: it has ended;
 * ULONG_MAX: it cannot be read for another reason, and may be anybody's.
 */
static unsigned long uid_of(int root, const char *pid)
{
	static char text[64 << 10]; /* the masks of a large machine are long */
	char path[64];
	unsigned long uid[4] = { 0 }, most = 0;
	struct errbuf ignored;
	const char *line;

	snprintf(path, sizeof(path), "proc/%.16s/status", pid);
	if (file_read(root, path, text, sizeof(text), &ignored) < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : ULONG_MAX;
	/* one that has ended and is not waited for has no memory any more */
	line = strstr(text, "\nState:\tZ") ? NULL : strstr(text, "\nUid:");
	if (!line || sscanf(line + 5, "%lu %lu %lu %lu", &uid[0], &uid[1], &uid[2], &uid[3]) != 4)
		return 0;
	for (unsigned i = 0; i < 4; i++)
		most = uid[i] > most ? uid[i] : most;
	return most;
}

bool service_user_in(const struct service_items *in, const char *path, char who[SERVICE_WHO_MAX])
{
	int fd = openat(in->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct range users = users_of(in->root);
	unsigned long uid;
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
		uid = uid_of(in->root, e->d_name);
		if (!is_user(&users, uid))
			continue;
		if (process_cgroup(cgroup, sizeof(cgroup), in->root, e->d_name) < 0) {
			if (!is_user(&users, uid_of(in->root, e->d_name)))
				continue; /* it has ended meanwhile */
			snprintf(cgroup, sizeof(cgroup), "%s", path ? path : "/");
		}
		found = path ? cgroup_below(cgroup, path) != NULL : !service_exempt(cgroup, in->conf);
		if (found)
			snprintf(who, SERVICE_WHO_MAX, "process %.16s of uid %lu in %.200s", e->d_name, uid, cgroup);
	}
	closedir(dir);
	return found;
}
