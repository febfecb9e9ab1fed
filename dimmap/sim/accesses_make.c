/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/accesses.h"

#include <string.h>

#include "dimmap/load/random.h"
#include "dimmap/load/scatter.h"
#include "dimmap/load/value.h"
#include "dimmap/load/zipf.h"

int sim_pattern_parse(struct pattern *p, const char *text, struct errbuf *err)
{
	static const struct {
		const char *name;
		enum pattern_kind kind;
		double min, max; /* range of the value after the name; both 0: no value */
	} known[] = {
		{ "uniform", PATTERN_UNIFORM, 0, 0 },
		{ "scan", PATTERN_SCAN, 0, 0 },
		{ "zipf:", PATTERN_ZIPF, ZIPF_A_MIN, ZIPF_A_MAX },
		{ "drift:", PATTERN_DRIFT, ZIPF_A_MIN, ZIPF_A_MAX },
		{ "loop:", PATTERN_LOOP, 0.001, 99 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *value = text + strlen(known[i].name);
		struct pattern found = { .kind = known[i].kind };

		if (strncmp(text, known[i].name, strlen(known[i].name)) != 0)
			continue;
		if (known[i].max > 0 ? value_real(value, known[i].min, known[i].max, &found.a) < 0
				     : *value)
			continue;
		*p = found;
		return 0;
	}
	return value_refuse(err, "pattern", text,
			    "uniform, scan, zipf:A or drift:A with A from 0.01 to 10, or loop:H "
			    "with H from 0.001 to 99");
}

/* drift: after so many accesses, each rank moves to another page */
#define DRIFT 64

int accesses_make(struct accesses *a, const struct accesses_wish *w, struct errbuf *err)
{
	const struct pattern *p = &w->pattern;
	uint64_t size = w->size, hot = (uint64_t)((double)size * p->a / 100), scan = 0;
	struct random random;
	struct scatter where;
	struct zipf zipf;

	random_start(&random, w->seed, 0);
	scatter_start(&where, size, w->seed);
	if (p->kind == PATTERN_ZIPF || p->kind == PATTERN_DRIFT)
		zipf_start(&zipf, p->a, size);
	if (hot < 1)
		hot = 1;
	if (accesses_add_file(a, size, err) < 0)
		return -1;
	for (uint64_t i = 0; i < w->n; i++) {
		bool write = w->writes && random_below(&random, 100) < w->writes;
		uint64_t index = 0;

		switch (p->kind) {
		case PATTERN_UNIFORM:
			index = random_below(&random, size);
			break;
		case PATTERN_ZIPF:
			index = scatter(&where, zipf_next(&zipf, &random) - 1);
			break;
		case PATTERN_DRIFT:
			index = scatter(&where, (zipf_next(&zipf, &random) - 1 + i / DRIFT) % size);
			break;
		case PATTERN_SCAN:
			index = i % size;
			break;
		case PATTERN_LOOP:
			if (i % 2 || hot == size)
				index = random_below(&random, hot);
			else
				index = hot + scan++ % (size - hot);
			break;
		}
		if (accesses_add(a, index, write, err) < 0)
			return -1;
	}
	return 0;
}
