/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/report.h"

#include <inttypes.h>
#include <string.h>

#include "dimmap/load/json_real.h"
#include "dimmap/load/lriot/backend.h"
#include "dimmap/load/lriot/stamp.h"
#include "dimmap/load/trace.h"
#include "dimmap/load/value.h"

static double rate(const struct outcome *out)
{
	return out->seconds > 0 ? (double)(out->reads + out->writes) / out->seconds : 0;
}

static const struct {
	const char *text, *key;
	double share; /* 1: the longest */
} times[] = { { "p50, us", "p50", 0.5 },
	      { "p99, us", "p99", 0.99 },
	      { "p99.9, us", "p999", 0.999 },
	      { "max, us", "max", 1 } };

#define TIMES (sizeof(times) / sizeof(times[0]))

static void table(const struct outcome *out)
{
	printf("%12s %12s %10s %14s", "reads", "writes", "seconds", "accesses/s");
	for (size_t i = 0; i < TIMES; i++)
		printf(" %11s", times[i].text);
	printf("\n%12" PRIu64 " %12" PRIu64 " %10.3f %14.1f", out->reads, out->writes, out->seconds,
	       rate(out));
	for (size_t i = 0; i < TIMES; i++)
		printf(" %11.2f", (double)latency_percentile(&out->latency, times[i].share) / 1e3);
	printf("\n");
}

static void tell_errors(const struct errors *e)
{
	static const char *const name[ERROR_KINDS] = { "SIGBUS", "EIO", "ENOSPC", "other" };
	const char *before = "I/O errors: ";

	if (!errors_all(e))
		return;
	for (unsigned i = 0; i < ERROR_KINDS; i++)
		if (e->n[i]) {
			printf("%s%" PRIu64 " %s", before, e->n[i], name[i]);
			before = ", ";
		}
	if (e->n[ERROR_OTHER])
		printf(" (the last: %s)", strerror(e->other));
	printf("\n");
}

static void tell_findings(const struct options *o, const struct outcome *out)
{
	char text[FINDING_TEXT];

	if (!o->verify)
		return;
	printf("checked: %" PRIu64 " blocks before, %" PRIu64 " reads, %" PRIu64
	       " blocks after; %" PRIu64 " wrong%s\n",
	       out->blocks_before, out->checked + out->disturbed.read_by_children,
	       out->blocks_after, out->found.n, out->ran ? "" : ": nothing was run");
	for (uint64_t i = 0; i < out->found.n && i < FINDINGS_KEPT; i++)
		printf("  %s\n", finding_text(text, &out->found.first[i]));
	if (out->found.n > FINDINGS_KEPT)
		printf("  and %" PRIu64 " more\n", out->found.n - FINDINGS_KEPT);
}

void report_text(const struct options *o, const struct outcome *out)
{
	char size[SIZE_TEXT_MAX], block[SIZE_TEXT_MAX];

	printf("%s, %s of %s in blocks of %s: %" PRIu64 " x %" PRIu64 " threads, %s, %" PRIu64
	       " %% reads\n",
	       o->backend->name, o->file, size_text(size, o->size), size_text(block, o->block),
	       o->processes, o->threads, o->pattern_text, o->read_percent);
	if (out->ran) {
		table(out);
		printf("faults: %ld major, %ld minor; switches: %ld voluntary, %ld involuntary\n",
		       out->counts.majflt, out->counts.minflt, out->counts.voluntary,
		       out->counts.involuntary);
	}
	if (options_disturbs(o))
		printf("meanwhile: %" PRIu64 " changes by mprotect, %" PRIu64
		       " parts mapped again, %" PRIu64 " children that read %" PRIu64
		       " blocks, of which %" PRIu64 " died\n",
		       out->disturbed.protects, out->disturbed.remaps, out->disturbed.forks,
		       out->disturbed.read_by_children, out->disturbed.died);
	tell_errors(&out->errors);
	tell_findings(o, out);
}

static void put_findings(struct json_out *j, const struct outcome *out)
{
	char text[FINDING_TEXT];

	jout_open(j, "verify", '{');
	jout_number(j, "blocks_before", out->blocks_before);
	jout_number(j, "reads", out->checked + out->disturbed.read_by_children);
	jout_number(j, "blocks_after", out->blocks_after);
	jout_number(j, "wrong", out->found.n);
	jout_open(j, "first", '[');
	for (uint64_t i = 0; i < out->found.n && i < FINDINGS_KEPT; i++) {
		const struct finding *one = &out->found.first[i];
		unsigned writer;
		uint32_t epoch;

		jout_open(j, NULL, '{');
		jout_number(j, "page", one->offset / TRACE_PAGE);
		jout_number(j, "byte", one->offset);
		jout_number(j, "expected_least", one->low);
		jout_number(j, "expected_most", one->high);
		if (stamp_read(one->offset, one->word, &epoch, &writer)) {
			jout_number(j, "found_epoch", epoch);
			jout_number(j, "found_writer", writer);
		}
		jout_string(j, "text", finding_text(text, one));
		jout_close(j, '}');
	}
	jout_close(j, ']');
	jout_close(j, '}');
}

static void put_request(struct json_out *j, const struct options *o)
{
	jout_string(j, "mode", o->backend->name);
	jout_string(j, "file", o->file);
	jout_number(j, "size", o->size);
	jout_number(j, "block", o->block);
	jout_number(j, "touch", o->touch);
	jout_number(j, "processes", o->processes);
	jout_number(j, "threads", o->threads);
	jout_string(j, "pattern", o->pattern_text);
	jout_number(j, "read_percent", o->read_percent);
	jout_number(j, "seed", o->seed);
}

void report_json(const struct options *o, const struct outcome *out)
{
	struct json_out j = { .f = stdout };

	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	put_request(&j, o);
	jout_bool(&j, "ran", out->ran);
	jout_real(&j, "seconds", out->seconds, 9);
	jout_number(&j, "reads", out->reads);
	jout_number(&j, "writes", out->writes);
	jout_number(&j, "syncs", out->syncs);
	jout_real(&j, "accesses_per_second", rate(out), 9);
	jout_open(&j, "latency_ns", '{');
	jout_number(&j, "samples", out->latency.n);
	for (size_t i = 0; i < TIMES; i++)
		jout_number(&j, times[i].key, latency_percentile(&out->latency, times[i].share));
	jout_close(&j, '}');
	jout_number(&j, "majflt", (unsigned long long)out->counts.majflt);
	jout_number(&j, "minflt", (unsigned long long)out->counts.minflt);
	jout_number(&j, "voluntary", (unsigned long long)out->counts.voluntary);
	jout_number(&j, "involuntary", (unsigned long long)out->counts.involuntary);
	jout_open(&j, "errors", '{');
	for (unsigned i = 0; i < ERROR_KINDS; i++)
		jout_number(&j, error_names[i], out->errors.n[i]);
	jout_close(&j, '}');
	jout_open(&j, "meanwhile", '{');
	jout_number(&j, "mprotects", out->disturbed.protects);
	jout_number(&j, "remaps", out->disturbed.remaps);
	jout_number(&j, "forks", out->disturbed.forks);
	jout_number(&j, "children_died", out->disturbed.died);
	jout_close(&j, '}');
	if (o->verify)
		put_findings(&j, out);
	jout_close(&j, '}');
}
