/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/list.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/idset.h"
#include "guest/control/ask.h"
#include "guest/control/facts.h"

#define TEXT 64

/*
 * Write the numbers of the array ARRAY of FACTS to OUT, such as "0-3". If KEY is not NULL, the
 * array has objects whose member KEY is the number.
 */
static void format_numbers(char *out, struct json_object *facts, const char *array, const char *key)
{
	static char list[IDSET_LIST_MAX];
	struct json_object *all, *one;
	struct idset set;

	idset_zero(&set);
	json_object_object_get_ex(facts, array, &all);
	for (size_t i = 0;
	     json_object_is_type(all, json_type_array) && i < json_object_array_length(all); i++) {
		one = json_object_array_get_idx(all, i);
		if (key && !json_object_object_get_ex(one, key, &one))
			continue;
		idset_add(&set, (unsigned)json_object_get_int(one));
	}
	idset_format(&set, list, sizeof(list));
	snprintf(out, TEXT, "%.*s", TEXT - 1, list);
}

static int64_t memory_of_guest(struct json_object *facts)
{
	struct json_object *nodes;
	int64_t bytes = 0;

	json_object_object_get_ex(facts, "nodes", &nodes);
	for (size_t i = 0;
	     json_object_is_type(nodes, json_type_array) && i < json_object_array_length(nodes);
	     i++)
		bytes += facts_number(json_object_array_get_idx(nodes, i), "bytes");
	return bytes;
}

static void format_guest_size(char *out, int64_t bytes)
{
	static const char unit[] = "KMGT";
	int i = -1;

	while (i < 3 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, TEXT, "%" PRId64 "%.*s", bytes, i >= 0, i >= 0 ? unit + i : "");
}

/* Write "JOB.STEP" to OUT, or "-" outside of Slurm. */
static void format_step(char *out, struct json_object *facts)
{
	struct json_object *job = NULL, *step = NULL;

	json_object_object_get_ex(facts, "job", &job);
	json_object_object_get_ex(facts, "step", &step);
	if (job && step)
		snprintf(out, TEXT, "%.20s.%.20s", json_object_get_string(job),
			 json_object_get_string(step));
	else
		snprintf(out, TEXT, "-");
}

/* Ask for KVM's counts of the guest. Returns a JSON object, NULL if they are unknown. */
static struct json_object *counts_of(pid_t pid, struct json_object *facts)
{
	const struct ask_guest g = { .pid = pid, .pipe = (int)facts_number(facts, "pipe") };
	struct errbuf ignored;
	struct json_object *counts;
	char *text = NULL;
	int fd = ask_guest(&g, "counts", -1, "counts", &text, &ignored);

	if (fd < 0)
		return NULL;
	close(fd);
	counts = json_tokener_parse(text);
	free(text);
	return counts;
}

static void print_guest(pid_t pid, struct json_object *facts, void *arg)
{
	char step[TEXT], cpus[TEXT], mems[TEXT], memory[TEXT], page[TEXT], exits[TEXT] = "-";
	struct json_object *counts = counts_of(pid, facts);
	bool *any = arg;

	if (!*any)
		printf("%-8s %-12s %-8s %-12s %-6s %-8s %-5s %s\n", "GUEST", "STEP", "RUNS", "CPUS",
		       "MEMS", "MEMORY", "PAGE", "EXITS");
	*any = true;
	format_step(step, facts);
	format_numbers(cpus, facts, "cpus", NULL);
	format_numbers(mems, facts, "nodes", "host");
	format_guest_size(memory, memory_of_guest(facts));
	format_guest_size(page, facts_number(facts, "page"));
	if (facts_number(counts, "exits") >= 0)
		snprintf(exits, sizeof(exits), "%" PRId64, facts_number(counts, "exits"));
	printf("%-8d %-12s %-8s %-12s %-6s %-8s %-5s %s\n", pid, step,
	       facts_number(facts, "ranks") > 0 ? "ranks" : "image", cpus, mems, memory, page,
	       exits);
	json_object_put(counts);
}

static void add_guest(pid_t pid, struct json_object *facts, void *arg)
{
	struct json_object *counts = counts_of(pid, facts);

	json_object_object_add(facts, "guest", json_object_new_int(pid));
	json_object_object_add(facts, "counts", counts);
	json_object_object_del(facts, "pipe"); /* only this program can use it */
	json_object_array_add(arg, json_object_get(facts));
}

int list_guests(bool json)
{
	struct json_object *all;
	bool any = false;

	if (!json) {
		facts_each(print_guest, &any);
		if (!any)
			puts("you have no guest on this host");
		return 0;
	}
	all = json_object_new_array();
	facts_each(add_guest, all);
	puts(json_object_to_json_string_ext(all,
					    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	json_object_put(all);
	return 0;
}
