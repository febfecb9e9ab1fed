/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/counts.h"

#include <json-c/json.h>
#include <stdint.h>
#include <string.h>

#define COUNTS 6

static const char *const counted[COUNTS] = {
	"exits", "halt_exits", "io_exits", "irq_exits", "mmio_exits", "signal_exits",
};

/* Add the values of STATS, the counts of one CPU, to SUM, and note in HAS which exist. */
static void add_cpu_counts(int64_t sum[COUNTS], bool has[COUNTS], struct json_object *stats)
{
	for (size_t i = 0; i < json_object_array_length(stats); i++) {
		struct json_object *one = json_object_array_get_idx(stats, i), *name, *value;

		if (!json_object_object_get_ex(one, "name", &name) ||
		    !json_object_object_get_ex(one, "value", &value))
			continue;
		for (unsigned k = 0; k < COUNTS; k++)
			if (strcmp(json_object_get_string(name), counted[k]) == 0) {
				sum[k] += json_object_get_int64(value);
				has[k] = true;
			}
	}
}

char *counts_sum(struct json_object *list)
{
	struct json_object *all = json_object_new_object(), *stats;
	int64_t sum[COUNTS] = { 0 };
	bool has[COUNTS] = { false };
	char *text;

	for (size_t i = 0;
	     json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(list, i), "stats",
					      &stats) &&
		    json_object_is_type(stats, json_type_array))
			add_cpu_counts(sum, has, stats);
	for (unsigned k = 0; k < COUNTS; k++)
		if (has[k])
			json_object_object_add(all, counted[k], json_object_new_int64(sum[k]));
	text = strdup(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
	return text;
}

char *counts_take(struct qmp *q, struct errbuf *err)
{
	static const char what[] = "{\"target\":\"vcpu\",\"providers\":[{\"provider\":\"kvm\"}]}";
	struct json_object *list = NULL;
	char *text = NULL;

	if (qmp_call_with(q, "query-stats", what, &list, err) == 0)
		text = counts_sum(list);
	json_object_put(list);
	return text;
}
