/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/plan_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *plan_input_format(const struct plan_input *in)
{
	const struct idset *set[] = { &in->cores, &in->cpus, &in->mems, &in->mems_taken };
	static const char *const key[] = { "cores", "cpus", "mems", "taken" };
	char list[IDSET_LIST_MAX];
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
		idset_format(set[i], list, sizeof(list));
		fprintf(f, "%s %s\n", key[i], list);
	}
	fprintf(f, "default_mems %s\nrequest %s\n", in->default_mems == MEMS_LOCAL ? "local" : "all",
		in->request);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

int plan_input_parse(struct plan_input *out, char *text, struct errbuf *err)
{
	struct idset *set[] = { &out->cores, &out->cpus, &out->mems, &out->mems_taken };
	static const char *const key[] = { "cores", "cpus", "mems", "taken", "default_mems", "request" };

	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		size_t len = strlen(key[i]);
		char *value = text + len + 1;
		char *end = strchr(text, '\n');

		if (!end || strncmp(text, key[i], len) != 0 || text[len] != ' ')
			return errprintf(err, "planner input: no \"%s\" line", key[i]);
		*end = '\0';
		text = end + 1;
		if (i < 4 && idset_parse(set[i], value, err) < 0)
			return errwrap(err, "planner input: %s", key[i]);
		if (i == 4)
			out->default_mems = strcmp(value, "local") == 0 ? MEMS_LOCAL : MEMS_ALL;
		if (i == 5)
			out->request = value;
	}
	return 0;
}
