/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/conf.h"

#define HEAD "nodeos-serviceos 1\n"

/* Parse the set after KEY, "\ncpus " or "\nmems ". */
static int state_read_set(struct idset *out, char *text, const char *key, struct errbuf *err)
{
	char *at = strstr(text, key), *end = at ? strchr(at + 1, '\n') : NULL;
	char list[IDSET_LIST_MAX];
	size_t skip = strlen(key);

	if (!end || (size_t)(end - at) < skip || (size_t)(end - at) - skip >= sizeof(list))
		return errprintf(err, "no \"%s\" line", key + 1);
	memcpy(list, at + skip, (size_t)(end - at) - skip);
	list[(size_t)(end - at) - skip] = '\0';
	return idset_parse(out, list, err);
}

int service_state_load(struct service_set *out, const char *state_dir, struct errbuf *err)
{
	char path[DIR_PATH_MAX + sizeof(SERVICE_STATE_FILE) + 1], text[3 * IDSET_LIST_MAX];
	struct service_set s;
	char *at;

	memset(out, 0, sizeof(*out));
	memset(&s, 0, sizeof(s));
	snprintf(path, sizeof(path), "%s/" SERVICE_STATE_FILE, state_dir);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (file_read(AT_FDCWD, path, text, sizeof(text), err) < 0)
		return -1;
	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return errprintf(
			err,
			"%s is of another version of NodeOS: remove it and run nodeosctl provision",
			path);
	if (state_read_set(&s.cpus, text, "\ncpus ", err) < 0 ||
	    state_read_set(&s.mems, text, "\nmems ", err) < 0)
		return errwrap(err, "%s (remove it and run nodeosctl provision)", path);
	at = strstr(text, "\nexcept ");
	if (at)
		snprintf(s.except, sizeof(s.except), "%.*s", (int)strcspn(at + 8, "\n"), at + 8);
	s.own_mems = strstr(text, "\nmems_are own\n") != NULL;
	*out = s;
	return 1;
}

bool service_same(const struct service_set *a, const struct service_set *b)
{
	return idset_equal(&a->cpus, &b->cpus) && a->own_mems == b->own_mems &&
	       (!a->own_mems || idset_equal(&a->mems, &b->mems));
}

int service_state_save(int dir, const struct service_set *s, struct errbuf *err)
{
	char text[3 * IDSET_LIST_MAX], cpus[IDSET_LIST_MAX], mems[IDSET_LIST_MAX];

	idset_format(&s->cpus, cpus, sizeof(cpus));
	idset_format(&s->mems, mems, sizeof(mems));
	snprintf(text, sizeof(text), HEAD "cpus %s\nmems %s\nmems_are %s\nexcept %s\n", cpus, mems,
		 s->own_mems ? "own" : "shared", s->except);
	return file_replace(dir, SERVICE_STATE_FILE, text, 0600, err);
}
