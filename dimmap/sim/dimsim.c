/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * nodeos-dimsim: replays a program's accesses with the policies of dimmap, whose code is that of
 * the kernel module.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "dimmap/sim/bounds.h"
#include "dimmap/sim/options.h"

static int read_accesses(struct accesses *a, const struct options *o, struct errbuf *err)
{
	if (o->has_pattern)
		return accesses_make(a,
				     &(struct accesses_wish){ .pattern = o->pattern,
							      .size = o->size,
							      .n = o->accesses,
							      .writes = (unsigned)o->writes,
							      .seed = o->seed },
				     err);
	for (char **trace = o->trace; *trace; trace++)
		if (accesses_read(a, *trace, err) < 0)
			return -1;
	return 0;
}

static int dimsim_play(const struct accesses *a, const struct buffer_options *o,
		       struct buffer_counts *out, struct errbuf *err)
{
	struct buffer *b = buffer_new(o);

	if (!b)
		return errprintf(err, "not enough memory for a buffer of %u pages", o->pages);
	for (size_t i = 0; i < a->n; i++) {
		uint64_t key = a->key[access_page(a, i)];

		buffer_access(b, key, a->file_pages[key >> 48], access_write(a, i));
	}
	*out = *buffer_counts(b);
	buffer_free(b);
	return 0;
}

static int play_policy(const struct accesses *a, const struct options *o, unsigned policy,
		       uint32_t pages, struct buffer_counts *out, struct errbuf *err)
{
	struct dimmap_policy own = *o->policy[policy];
	struct buffer_options b = { .policy = &own,
				    .pages = pages,
				    .batch = (uint32_t)o->batch,
				    .fill = (uint32_t)o->fill };

	if (o->has_victims)
		own.victims = (uint32_t)o->victims;
	/* as in the module, the pages that one instruction needs at once must fit into a pool */
	b.pools = pages / 16 > 1 ? pages / 16 : 1;
	if (o->pools < b.pools)
		b.pools = (uint32_t)o->pools;
	return dimsim_play(a, &b, out, err);
}

static int play_all(struct results *r, const struct accesses *a, const struct options *o,
		    struct errbuf *err)
{
	uint32_t *next = bounds_next(a);

	if (!next)
		return errprintf(err, "not enough memory for the bound OPT");
	for (unsigned s = 0; s < r->sizes; s++) {
		uint32_t pages = r->size[s];

		for (unsigned i = 0; i < r->lines; i++) {
			struct buffer_counts *out = &r->line[i].counts[s];
			int result;

			if (o->progress)
				fprintf(stderr, "nodeos-dimsim: %u of %u: %s with %u pages\n",
					s * r->lines + i + 1, r->sizes * r->lines, r->line[i].name,
					pages);
			if (i < o->policies)
				result = play_policy(a, o, i, pages, out, err);
			else
				result = i == o->policies ? bounds_lru(a, pages, out)
							  : bounds_opt(a, next, pages, out);
			if (result < 0) {
				free(next);
				return i < o->policies ? -1
						       : errprintf(err, "not enough memory for %s",
								   r->line[i].name);
			}
		}
	}
	free(next);
	return 0;
}

static const char *describe_options(const struct options *o, char *text, size_t size)
{
	unsigned n = 0;

	if (o->has_pattern)
		return o->pattern_text;
	while (o->trace[n])
		n++;
	if (n == 1)
		return o->trace[0];
	snprintf(text, size, "%.200s and %u more", o->trace[0], n - 1);
	return text;
}

static void set_up(struct results *r, const struct accesses *a, const struct options *o)
{
	static char text[256];

	r->what = describe_options(o, text, sizeof(text));
	r->accesses = a->n;
	r->writes = a->writes;
	r->pages = a->pages;
	r->batch = (uint32_t)o->batch;
	r->fill = (uint32_t)o->fill;
	r->pools = (uint32_t)o->pools;
	r->sizes = options_sizes(o, a->pages, r->size);
	for (unsigned i = 0; i < o->policies; i++)
		r->line[r->lines++] = (struct line){ .name = o->policy[i]->name, .policy = true };
	r->line[r->lines++].name = "lru";
	r->line[r->lines++].name = "opt";
}

static int dimsim_draw(const struct results *r, const char *path, struct errbuf *err)
{
	FILE *f = fopen(path, "we");
	int failed;

	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	results_svg(f, r);
	failed = ferror(f);
	if (fclose(f) != 0 || failed)
		return errprintf(err, "%s: %s", path, strerror(errno));
	return 0;
}

static int dimsim_run(const struct options *o, struct errbuf *err)
{
	static struct results r;
	struct accesses a = { 0 };
	int result = read_accesses(&a, o, err);

	if (result == 0) {
		set_up(&r, &a, o);
		result = play_all(&r, &a, o, err);
	}
	if (result == 0 && o->svg)
		result = dimsim_draw(&r, o->svg, err);
	if (result == 0)
		(o->json ? results_json : results_text)(stdout, &r);
	accesses_free(&a);
	return result;
}

int main(int argc, char **argv)
{
	struct options o;
	struct errbuf err;
	int parsed = sim_options_parse(&o, argc, argv, &err);

	if (parsed == 2) {
		puts("nodeos-dimsim " VERSION);
		return 0;
	}
	if (parsed > 0) {
		fputs(options_usage, stdout);
		return 0;
	}
	if (parsed < 0) {
		fprintf(stderr, "nodeos-dimsim: %s\nnodeos-dimsim --help lists the options.\n",
			err.text);
		return 2;
	}
	if (dimsim_run(&o, &err) < 0) {
		fprintf(stderr, "nodeos-dimsim: %s\n", err.text);
		return 1;
	}
	if (fflush(stdout) != 0) {
		perror("nodeos-dimsim: standard output");
		return 1;
	}
	return 0;
}
