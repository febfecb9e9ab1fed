/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/sim/results.h"

#include <inttypes.h>

#include "dimmap/load/json_real.h"

double results_ratio(const struct results *r, unsigned line, unsigned size)
{
	return r->accesses ? 1 - (double)r->line[line].counts[size].misses / (double)r->accesses
			   : 0;
}

void results_text(FILE *f, const struct results *r)
{
	fprintf(f, "%s: %" PRIu64 " accesses, %" PRIu64 " of them writes, to %" PRIu64 " pages\n",
		r->what, r->accesses, r->writes, r->pages);
	fprintf(f,
		"unmapped in batches of %" PRIu32 ", read %" PRIu32 " at once, pools: %" PRIu32
		"%s\n\n",
		r->batch, r->fill, r->pools,
		r->fill > 1 ? "; lru and opt read one page at a time" : "");
	fprintf(f, "%10s %8s %-8s %8s %12s %12s %12s %12s %12s\n", "buffer", "of all", "policy",
		"hits", "misses", "recovered", "evicted", "dirty", "batches");
	for (unsigned s = 0; s < r->sizes; s++) {
		for (unsigned i = 0; i < r->lines; i++) {
			const struct buffer_counts *c = &r->line[i].counts[s];

			if (i == 0)
				fprintf(f, "%10" PRIu32 " %6.3g %%", r->size[s],
					100.0 * r->size[s] / (double)r->pages);
			else
				fprintf(f, "%19s", "");
			fprintf(f, " %-8s %6.2f %% %12" PRIu64, r->line[i].name,
				100 * results_ratio(r, i, s), c->misses);
			if (r->line[i].policy)
				fprintf(f,
					" %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
					"\n",
					c->recovers, c->evicted, c->evicted_dirty, c->batches);
			else
				fprintf(f, " %12s %12" PRIu64 " %12" PRIu64 " %12s\n", "-",
					c->evicted, c->evicted_dirty, "-");
		}
		if (s + 1 < r->sizes)
			putc('\n', f);
	}
}

void results_json(FILE *f, const struct results *r)
{
	struct json_out j = { .f = f };

	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	jout_string(&j, "played", r->what);
	jout_number(&j, "accesses", r->accesses);
	jout_number(&j, "writes", r->writes);
	jout_number(&j, "pages", r->pages);
	jout_number(&j, "batch", r->batch);
	jout_number(&j, "fill", r->fill);
	jout_number(&j, "pools", r->pools);
	jout_open(&j, "results", '[');
	for (unsigned s = 0; s < r->sizes; s++)
		for (unsigned i = 0; i < r->lines; i++) {
			const struct buffer_counts *c = &r->line[i].counts[s];

			jout_open(&j, NULL, '{');
			jout_number(&j, "buffer", r->size[s]);
			jout_string(&j, "policy", r->line[i].name);
			jout_real(&j, "hit_ratio", results_ratio(r, i, s), 9);
			jout_number(&j, "misses", c->misses);
			if (r->line[i].policy)
				jout_number(&j, "recovered", c->recovers);
			jout_number(&j, "pages_read", c->read);
			jout_number(&j, "evicted", c->evicted);
			jout_number(&j, "evicted_dirty", c->evicted_dirty);
			if (r->line[i].policy) {
				jout_number(&j, "unmap_batches", c->batches);
				jout_number(&j, "unmap_pages", c->unmapped);
			}
			jout_close(&j, '}');
		}
	jout_close(&j, ']');
	jout_close(&j, '}');
}
