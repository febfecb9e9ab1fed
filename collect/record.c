/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/record.h"

#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 5
#define FORM "nodeos1"

/*
 * A report whose members are being read. After the first fault, which is described in ERR, no
 * further member is read.
 */
struct members {
	struct json_object *doc;
	struct errbuf *err;
	bool bad;
};

static struct json_object *member_of(struct members *m, const char *name, enum json_type type)
{
	struct json_object *value = NULL;

	if (m->bad)
		return NULL;
	if (!json_object_object_get_ex(m->doc, name, &value) ||
	    json_object_get_type(value) != type) {
		m->bad = true;
		errprintf(m->err, "member \"%s\" is missing or is not of type %s", name,
			  json_type_to_name(type));
		return NULL;
	}
	return value;
}

/* Return the whole number of member NAME, from 0 to MAX; 0 after a fault. */
static uint64_t member_count(struct members *m, const char *name, uint64_t max)
{
	struct json_object *value = member_of(m, name, json_type_int);
	int64_t n = value ? json_object_get_int64(value) : 0;

	if (n >= 0 && (uint64_t)n <= max)
		return (uint64_t)n;
	m->bad = true;
	errprintf(m->err, "\"%s\" is not a whole number from 0 to %" PRIu64, name, max);
	return 0;
}

static bool member_bool(struct members *m, const char *name)
{
	struct json_object *value = member_of(m, name, json_type_boolean);

	return value && json_object_get_boolean(value);
}

/*
 * Return the number of member NAME, from 0 to MAX. If the member is null or missing, return
 * *ABSENT; this is a fault if ABSENT is NULL.
 */
static double member_number(struct members *m, const char *name, double max, const double *absent)
{
	struct json_object *value = NULL;
	double x = -1;

	if (m->bad)
		return 0;
	json_object_object_get_ex(m->doc, name, &value);
	if (!value && absent)
		return *absent;
	if (json_object_is_type(value, json_type_int) ||
	    json_object_is_type(value, json_type_double))
		x = json_object_get_double(value);
	if (isfinite(x) && x >= 0 && x <= max)
		return x;
	m->bad = true;
	errprintf(m->err, "\"%s\" is not a number from 0 to %.0f", name, max);
	return 0;
}

/* Return the text of member NAME, which must not contain NUL; "" after a fault. */
static const char *member_text(struct members *m, const char *name)
{
	struct json_object *value = member_of(m, name, json_type_string);
	const char *text = value ? json_object_get_string(value) : "";

	if (!value || strlen(text) == (size_t)json_object_get_string_len(value))
		return text;
	m->bad = true;
	errprintf(m->err, "\"%s\" contains a NUL", name);
	return "";
}

static void read_class(struct members *m, enum rank_class *out)
{
	const char *text = member_text(m, "class");

	for (int c = RANK_UNKNOWN; c <= RANK_DEVIL; c++)
		if (strcmp(text, rank_class_name((enum rank_class)c)) == 0) {
			*out = (enum rank_class)c;
			return;
		}
	if (!m->bad)
		errprintf(m->err, "\"class\" must be unknown, turtle, semi-devil or devil");
	m->bad = true;
}

/* Read the quality. A host without counters reports null, which counts as X. */
static void read_quality(struct members *m, enum events_quality *out)
{
	struct json_object *value = NULL;
	const char *text;

	*out = EVENTS_X;
	if (json_object_object_get_ex(m->doc, "quality", &value) && !value)
		return;
	text = member_text(m, "quality");
	for (int q = EVENTS_A; q < EVENTS_QUALITIES; q++)
		if (strcmp(text, events_quality_name((enum events_quality)q)) == 0) {
			*out = (enum events_quality)q;
			return;
		}
	if (!m->bad)
		errprintf(m->err, "\"quality\" must be A, A-, B, B-, C, X or null");
	m->bad = true;
}

/*
 * Read the source, a name in small letters: records have no capitals. A path after "replay:" is
 * dropped.
 */
static void read_source(struct members *m, char out[SOURCE_NAME_MAX])
{
	const char *text = member_text(m, "source");
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	if (!m->bad && (len == 0 || len >= SOURCE_NAME_MAX || (text[len] && text[len] != ':'))) {
		m->bad = true;
		errprintf(m->err,
			  "\"source\" does not begin with a name of 1 to %d small letters,"
			  " digits, \"_\" or \"-\"",
			  SOURCE_NAME_MAX - 1);
		return;
	}
	snprintf(out, SOURCE_NAME_MAX, "%.*s", (int)len, text);
}

static void read_container(struct report_container *out, struct members *m)
{
	static const double no_traffic = -1;
	struct json_object *name = NULL;
	const char *text = "";

	if (!json_object_object_get_ex(m->doc, "name", &name) || name)
		text = member_text(m, "name");
	if (strlen(text) >= sizeof(out->name)) {
		m->bad = true;
		errprintf(m->err, "a container's name has more than 63 bytes");
	}
	snprintf(out->name, sizeof(out->name), "%s", text);
	out->turtles = (unsigned)member_count(m, "turtles", REPORT_COUNT_MAX);
	out->semi_devils = (unsigned)member_count(m, "semi_devils", REPORT_COUNT_MAX);
	out->devils = (unsigned)member_count(m, "devils", REPORT_COUNT_MAX);
	out->unknown = (unsigned)member_count(m, "unknown", REPORT_COUNT_MAX);
	out->cpus = (unsigned)member_count(m, "cpus", REPORT_CPUS_MAX);
	out->traffic = member_number(m, "traffic", REPORT_TRAFFIC_MAX, &no_traffic);
}

static void read_containers(struct host_report *out, struct members *m)
{
	struct json_object *list;

	if (!json_object_object_get_ex(m->doc, "containers", NULL))
		return;
	list = member_of(m, "containers", json_type_array);
	if (list && json_object_array_length(list) > REPORT_CONTAINERS_MAX) {
		m->bad = true;
		errprintf(m->err, "the report has more than %d containers", REPORT_CONTAINERS_MAX);
	}
	for (size_t i = 0; !m->bad && i < json_object_array_length(list); i++) {
		struct members of = { .doc = json_object_array_get_idx(list, i), .err = m->err };

		if (json_object_is_type(of.doc, json_type_object)) {
			read_container(&out->container[out->n_containers++], &of);
		} else {
			of.bad = true;
			errprintf(m->err, "an element of \"containers\" is no object");
		}
		m->bad = of.bad;
	}
}

static void read_members(struct host_report *out, struct members *m)
{
	static const double no_rate = -1;
	const char *host = member_text(m, "host");

	if (member_count(m, "nodeos_contention", 1) != 1 && !m->bad) {
		m->bad = true;
		errprintf(m->err, "\"nodeos_contention\" is not 1");
	}
	snprintf(out->host, sizeof(out->host), "%s", host);
	if (strlen(host) >= sizeof(out->host)) {
		m->bad = true;
		errprintf(m->err, "\"host\" has more than %zu bytes", sizeof(out->host) - 1);
	}
	out->job = (uint32_t)member_count(m, "job", UINT32_MAX);
	out->time = member_number(m, "time", 1e11, NULL);
	out->ended = member_bool(m, "ended");
	read_class(m, &out->class);
	out->ranks = (unsigned)member_count(m, "ranks", REPORT_COUNT_MAX);
	out->turtles = (unsigned)member_count(m, "turtles", REPORT_COUNT_MAX);
	out->semi_devils = (unsigned)member_count(m, "semi_devils", REPORT_COUNT_MAX);
	out->devils = (unsigned)member_count(m, "devils", REPORT_COUNT_MAX);
	out->unknown = (unsigned)member_count(m, "unknown", REPORT_COUNT_MAX);
	out->rate = member_number(m, "rate", CLASSIFY_RATE_MAX / CLASSIFY_RATE_UNIT, &no_rate);
	read_quality(m, &out->quality);
	read_source(m, out->source);
	out->simulated = member_bool(m, "simulated");
	out->changes = (unsigned)member_count(m, "changes", REPORT_COUNT_MAX);
	read_containers(out, m);
	if (!m->bad &&
	    (uint64_t)out->turtles + out->semi_devils + out->devils + out->unknown != out->ranks) {
		m->bad = true;
		errprintf(m->err, "the numbers of the classes do not add up to \"ranks\", %u",
			  out->ranks);
	}
}

int host_report_parse(struct host_report *out, const char *text, size_t len, struct errbuf *err)
{
	struct json_tokener *tok;
	struct members m = { .err = err };

	if (len >= HOST_REPORT_MAX)
		return errprintf(err, "the report has more than %d bytes", HOST_REPORT_MAX - 1);
	tok = json_tokener_new_ex(DEPTH_MAX);
	if (!tok)
		return errprintf(err, "out of memory");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	m.doc = json_tokener_parse_ex(tok, text, (int)len);
	if (!m.doc || !json_object_is_type(m.doc, json_type_object)) {
		m.bad = true;
		errprintf(err, "the report is not a JSON object (half-written?)");
	} else {
		*out = (struct host_report){ 0 };
		read_members(out, &m);
	}
	json_object_put(m.doc);
	json_tokener_free(tok);
	return m.bad ? -1 : 0;
}

void comment_record_add(struct comment_record *r, const struct host_report *h)
{
	if (r->hosts == 0)
		snprintf(r->source, sizeof(r->source), "%s", h->source);
	else if (strcmp(r->source, h->source) != 0)
		snprintf(r->source, sizeof(r->source), "mixed");
	if (r->hosts == 0 || h->class > r->class)
		r->class = h->class;
	if (r->hosts == 0 || h->quality > r->quality)
		r->quality = h->quality;
	if (h->time > r->time)
		r->time = h->time;
	r->hosts++;
	r->running += !h->ended;
	r->ranks += h->ranks;
	r->turtles += h->turtles;
	r->semi_devils += h->semi_devils;
	r->devils += h->devils;
	r->unknown += h->unknown;
	r->changes += h->changes;
	r->simulated |= h->simulated;
	if (h->rate >= 0 && h->ranks > h->unknown) {
		r->weighed += h->rate * (h->ranks - h->unknown);
		r->weight += h->ranks - h->unknown;
	}
}

double comment_record_rate(const struct comment_record *r)
{
	return r->weight ? r->weighed / (double)r->weight : -1;
}

/* Append " NAME=N" to BUF, unless N is 0. */
static void append_count(char buf[COMMENT_RECORD_MAX], const char *name, uint64_t n)
{
	size_t len = strlen(buf);

	if (n)
		snprintf(buf + len, COMMENT_RECORD_MAX - len, " %s=%llu", name,
			 (unsigned long long)n);
}

const char *comment_record_print(char buf[COMMENT_RECORD_MAX], const struct comment_record *r,
				 double rate)
{
	char mean[32] = "unknown", quality[8];
	size_t len;

	if (rate >= 0)
		snprintf(mean, sizeof(mean), "%.1f", rate);
	snprintf(quality, sizeof(quality), "%s", events_quality_name(r->quality));
	for (char *at = quality; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	snprintf(buf, COMMENT_RECORD_MAX, FORM " class=%s ranks=%llu", rank_class_name(r->class),
		 (unsigned long long)r->ranks);
	append_count(buf, "devils", r->devils);
	append_count(buf, "semi-devils", r->semi_devils);
	append_count(buf, "turtles", r->turtles);
	append_count(buf, "unknown", r->unknown);
	len = strlen(buf);
	snprintf(buf + len, COMMENT_RECORD_MAX - len, " rate=%s quality=%s source=%s hosts=%u",
		 mean, quality, r->source, r->hosts);
	append_count(buf, "changes", r->changes);
	len = strlen(buf);
	if (r->simulated)
		snprintf(buf + len, COMMENT_RECORD_MAX - len, " simulated=yes");
	return buf;
}

double comment_record_steady(double shown, double now)
{
	if (shown < 0 || now < 0)
		return now;
	return fabs(now - shown) < fmax(1, shown / 10) ? shown : now;
}

bool comment_record_is(const char *text)
{
	return strncmp(text, FORM " ", strlen(FORM " ")) == 0;
}
