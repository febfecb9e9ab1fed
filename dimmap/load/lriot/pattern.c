/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/pattern.h"

#include <string.h>

#include "dimmap/load/value.h"

int lriot_pattern_parse(struct pattern *p, const char *text, struct errbuf *err)
{
	struct pattern found = { .kind = PATTERN_STRIDE, .stride = 1 };

	if (strcmp(text, "uniform") == 0)
		found.kind = PATTERN_UNIFORM;
	else if (strncmp(text, "zipf:", 5) == 0 &&
		 value_real(text + 5, ZIPF_A_MIN, ZIPF_A_MAX, &found.a) == 0)
		found.kind = PATTERN_ZIPF;
	else if (strcmp(text, "seq") != 0 &&
		 (strncmp(text, "stride:", 7) != 0 ||
		  value_count(text + 7, 1, UINT32_MAX, &found.stride) < 0))
		return value_refuse(
			err, "pattern", text,
			"uniform, zipf:A with A from 0.01 to 10, seq, or stride:K with K blocks");
	*p = found;
	return 0;
}

void walk_start(struct walk *w, const struct pattern *p, uint64_t blocks, uint64_t seed,
		unsigned thread, unsigned threads)
{
	memset(w, 0, sizeof(*w));
	w->kind = p->kind;
	w->blocks = blocks;
	if (p->kind == PATTERN_ZIPF) {
		zipf_start(&w->zipf, p->a, blocks);
		scatter_start(&w->scatter, blocks, seed);
	} else if (p->kind == PATTERN_STRIDE) {
		w->stride = p->stride;
		w->at = blocks / threads * thread + blocks % threads * thread / threads;
		w->lane = w->at % w->stride;
	}
}

uint64_t walk_next(struct walk *w, struct random *r)
{
	uint64_t at = w->at;

	if (w->kind == PATTERN_UNIFORM)
		return random_below(r, w->blocks);
	if (w->kind == PATTERN_ZIPF)
		return scatter(&w->scatter, zipf_next(&w->zipf, r) - 1);
	w->at += w->stride;
	if (w->at >= w->blocks) {
		w->lane = (w->lane + 1) % w->stride;
		w->at = w->lane;
	}
	return at;
}
