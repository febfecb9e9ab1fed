/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * lriot: many threads read and write a mapped file with a chosen pattern of access, after LRIOT
 * (Van Essen et al.). The file's contents reveal each lost or misplaced write.
 */
#include "dimmap/load/lriot/lriot.h"
#include "dimmap/load/json_real.h"
#include "dimmap/load/loads.h"
#include "dimmap/load/value.h"

#define AT(MEMBER) offsetof(struct lriot, MEMBER)

static int lriot_take_pattern(void *options, const char *value, struct errbuf *err)
{
	struct lriot *o = options;

	o->pattern_text = value;
	return lriot_pattern_parse(&o->pattern, value, err);
}

static int take_secs(void *options, const char *value, struct errbuf *err)
{
	struct lriot *o = options;

	return value_real(value, 0.01, 1e7, &o->seconds) < 0
		       ? value_refuse(err, "secs", value, "seconds, from 0.01 to 10000000")
		       : 0;
}

/* ------------------------------------------------------------------------- generate */

static const struct load_option generate_options[] = {
	{ "size", LOAD_BYTES, AT(size), "size of the file, with K, M, G or T", .min = LRIOT_BLOCK,
	  .max = INT64_MAX },
	{ 0 },
};

static int lriot_make(void *options, struct json_out *j, struct errbuf *err)
{
	struct lriot *o = options;

	o->size -= o->size % LRIOT_BLOCK;
	if (lriot_fill(o, err) < 0)
		return -1;
	jout_number(j, "bytes", o->size);
	return 0;
}

const struct load_action lriot_generate = {
	.load = "lriot",
	.name = "generate",
	.does = "fill a file with stamps, by which a later check finds lost writes",
	.options = generate_options,
	.defaults = &(const struct lriot){ .size = 64 << 20 },
	.size = sizeof(struct lriot),
	.act = lriot_make,
};

/* ------------------------------------------------------------------------------ run */

static const struct load_option run_options[] = {
	{ "size", LOAD_BYTES, AT(size), "use only so many bytes of the file, with K, M, G or T",
	  .min = LRIOT_BLOCK, .max = INT64_MAX },
	{ "pattern", LOAD_OWN, 0, "uniform, zipf:A, seq, or stride:K (K blocks)",
	  .take = lriot_take_pattern },
	{ "read-percent", LOAD_COUNT, AT(read_percent),
	  "percentage of reads; the other accesses write", .max = 100 },
	{ "ops", LOAD_COUNT, AT(ops), "accesses of each thread, unless --secs is given",
	  .max = INT64_MAX },
	{ "secs", LOAD_OWN, 0, "end after this time", .take = take_secs },
	LOAD_SEED,
	{ 0 },
};

static void put_latency(struct json_out *j, const struct latency *l)
{
	jout_open(j, "latency_ns", '{');
	jout_number(j, "samples", l->n);
	jout_number(j, "p50", latency_percentile(l, 0.5));
	jout_number(j, "p99", latency_percentile(l, 0.99));
	jout_number(j, "p999", latency_percentile(l, 0.999));
	jout_number(j, "max", l->max);
	jout_close(j, '}');
}

static void put_findings(struct json_out *j, const struct lriot_result *out)
{
	char text[FINDING_TEXT];

	jout_open(j, "check", '{');
	jout_number(j, "blocks_before", out->blocks_before);
	jout_number(j, "reads", out->checked);
	jout_number(j, "blocks_after", out->blocks_after);
	jout_number(j, "wrong", out->found.n);
	jout_open(j, "first", '[');
	for (uint64_t i = 0; i < out->found.n && i < FINDINGS_KEPT; i++)
		jout_string(j, NULL, finding_text(text, &out->found.first[i]));
	jout_close(j, ']');
	jout_close(j, '}');
}

static int lriot_act(void *options, struct json_out *j, struct errbuf *err)
{
	static struct lriot_result out;
	struct lriot *o = options;

	if (lriot_work(o, &out, err) < 0)
		return -1;
	jout_number(j, "size", o->size);
	jout_string(j, "pattern", o->pattern_text);
	jout_number(j, "read_percent", o->read_percent);
	jout_number(j, "seed", o->load.seed);
	jout_number(j, "threads", o->load.threads);
	jout_bool(j, "ran", out.ran);
	jout_number(j, "reads", out.reads);
	jout_number(j, "writes", out.writes);
	load_put_time(j, &out.time, "accesses", out.reads + out.writes);
	put_latency(j, &out.latency);
	if (o->load.check)
		put_findings(j, &out);
	return out.found.n != 0;
}

const struct load_action lriot_run = {
	.load = "lriot",
	.name = "run",
	.does = "read and write blocks of a file from many threads",
	.runs = true,
	.options = run_options,
	.defaults = &(const struct lriot){ { .threads = 1, .seed = 1 },
					   .access = &lriot_plain,
					   .pattern_text = "uniform",
					   .read_percent = 100,
					   .ops = 100000 },
	.size = sizeof(struct lriot),
	.act = lriot_act,
};
