/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobplan/planner_input.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"

#define SETS 4
#define HAS 3

static const char *const set_key[SETS] = { "cores", "cpus", "mems", "taken" };
static const char *const has_key[HAS] = { "has_cpus", "has_reserved", "has_mems" };

static const char *const default_word[] = {
	[MEMS_ALL] = "all",
	[MEMS_LOCAL] = "local",
	[MEMS_ORDINARY] = "ordinary",
};

static void planner_input_print_set(FILE *f, const char *key, const struct idset *set)
{
	char list[IDSET_LIST_MAX];

	idset_format(set, list, sizeof(list));
	fprintf(f, "%s %s\n", key, list);
}

char *plan_input_format(const struct plan_input *in)
{
	const struct idset *set[SETS] = { &in->cores, &in->cpus, &in->mems, &in->mems_taken };
	const struct idset *has[HAS] = { &in->has_cpus, &in->has_reserved, &in->has_mems };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; i < SETS; i++)
		planner_input_print_set(f, set_key[i], set[i]);
	fprintf(f, "default_mems %s\n", default_word[in->default_mems]);
	if (in->apart.devils) {
		fprintf(f, "devils %" PRIx64, in->apart.devils);
		planner_input_print_set(f, "", &in->apart.cpus);
	}
	for (int i = 0; in->resize && i < HAS; i++)
		planner_input_print_set(f, has_key[i], has[i]);
	if (in->resize)
		fprintf(f, "has_confined %d\n", in->has_confined);
	fprintf(f, "request %s\n", in->request);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * If the line at *TEXT has the key KEY, return its value and move *TEXT past the line; otherwise
 * return NULL.
 */
static char *planner_input_take(char **text, const char *key)
{
	size_t len = strlen(key);
	char *value = *text + len + 1, *end = strchr(*text, '\n');

	if (!end || strncmp(*text, key, len) != 0 || (*text)[len] != ' ')
		return NULL;
	*end = '\0';
	*text = end + 1;
	return value;
}

static int take_set(struct idset *out, char **text, const char *key, struct errbuf *err)
{
	char *value = planner_input_take(text, key);

	if (!value)
		return errprintf(err, "planner input: no \"%s\" line", key);
	return idset_parse(out, value, err) < 0 ? errwrap(err, "planner input: %s", key) : 0;
}

/* Parse VALUE, "BITS CPUS". */
static int take_apart(struct apart *out, char *value, struct errbuf *err)
{
	char *end;

	out->devils = strtoull(value, &end, 16);
	if (end == value || *end != ' ')
		return errprintf(err, "planner input: bad \"devils\" line");
	return idset_parse(&out->cpus, end + 1, err) < 0 ? errwrap(err, "planner input: devils")
							 : 0;
}

int plan_input_parse(struct plan_input *out, char *text, struct errbuf *err)
{
	struct idset *set[SETS] = { &out->cores, &out->cpus, &out->mems, &out->mems_taken };
	struct idset *has[HAS] = { &out->has_cpus, &out->has_reserved, &out->has_mems };
	char *value;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < SETS; i++)
		if (take_set(set[i], &text, set_key[i], err) < 0)
			return -1;
	value = planner_input_take(&text, "default_mems");
	if (!value)
		return errprintf(err, "planner input: no \"default_mems\" line");
	out->default_mems = strcmp(value, "local") == 0	     ? MEMS_LOCAL
			    : strcmp(value, "ordinary") == 0 ? MEMS_ORDINARY
							     : MEMS_ALL;
	value = planner_input_take(&text, "devils");
	if (value && take_apart(&out->apart, value, err) < 0)
		return -1;
	out->resize = strncmp(text, "has_", 4) == 0;
	for (int i = 0; out->resize && i < HAS; i++)
		if (take_set(has[i], &text, has_key[i], err) < 0)
			return -1;
	if (out->resize) {
		value = planner_input_take(&text, "has_confined");
		if (!value)
			return errprintf(err, "planner input: no \"has_confined\" line");
		out->has_confined = strcmp(value, "1") == 0;
	}
	out->request = planner_input_take(&text, "request");
	return out->request ? 0 : errprintf(err, "planner input: no \"request\" line");
}

enum mems_default plan_input_default_mems(enum mems_default site, bool own_mems, bool blocks)
{
	if (blocks)
		return MEMS_ALL;
	return own_mems && site == MEMS_ALL ? MEMS_ORDINARY : site;
}

int plan_input_ask(struct job_plan **out, struct subprocess *h, const char *state_dir,
		   const struct plan_input *in, struct errbuf *err)
{
	char path[DIR_PATH_MAX + 16], *text = NULL, *input = plan_input_format(in);
	const char *at;
	int rc = -1;

	snprintf(path, sizeof(path), "%s/machine.xml", state_dir);
	h->extra_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	h->input = input;
	/* bounded, so that several plans fit in a ledger entry */
	h->output_max = JOB_PLAN_TEXT_MAX;
	if (!input) {
		errprintf(err, "out of memory");
	} else if (subprocess_run(h, &text, err) >= 0) {
		at = text;
		rc = job_plan_parse(out, &at, err);
	}
	if (h->extra_fd >= 0)
		close(h->extra_fd);
	free(text);
	free(input);
	return rc;
}

int plan_input_refuse(struct job_plan **out, struct errbuf *err)
{
	errwrap(err, "the planner's answer is not valid");
	job_plan_free(*out);
	*out = NULL;
	return -1;
}
