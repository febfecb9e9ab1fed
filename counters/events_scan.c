/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/events_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"

int events_scan_fail(struct events_scan *s, size_t at, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->fault = at;
	return errprintf(s->err, "%s", text);
}

/* Refuse the last word; WANTED is expected in its place. */
static int refuse_word(struct events_scan *s, const char *wanted)
{
	char quoted[WORD_QUOTE_MAX];

	return events_scan_fail(s, s->word, "%s: expected %s",
				word_quote(quoted, s->text + s->word, s->word_len), wanted);
}

int events_scan_missing(struct events_scan *s, const char *wanted)
{
	return events_scan_fail(s, s->at, "the clause ends here: expected %s", wanted);
}

void events_scan_where(const struct events_scan *s, unsigned *line, unsigned *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < s->fault && i < s->len; i++) {
		++*column;
		if (s->text[i] == '\n') {
			++*line;
			*column = 1;
		}
	}
}

int events_scan_check(struct events_scan *s)
{
	for (size_t i = 0; i < s->len; i++) {
		unsigned char c = (unsigned char)s->text[i];

		if ((c < ' ' && c != '\t' && c != '\n') || c > '~')
			return events_scan_fail(s, i, "byte 0x%02x: expected ASCII text", c);
	}
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_at_end(const struct events_scan *s)
{
	return s->at >= s->len;
}

static void skip_row_blanks(struct events_scan *s)
{
	while (!is_at_end(s) && is_blank(s->text[s->at]))
		s->at++;
}

static void skip_line(struct events_scan *s)
{
	while (!is_at_end(s) && s->text[s->at] != '\n')
		s->at++;
}

void events_scan_skip(struct events_scan *s)
{
	for (;;) {
		skip_row_blanks(s);
		if (s->lines && !is_at_end(s) && s->text[s->at] == '#')
			skip_line(s);
		if (is_at_end(s) || s->text[s->at] != '\n')
			return;
		s->at++;
	}
}

/* Is the line at AT empty, or a comment of a file? */
static bool is_line_empty(const struct events_scan *s, size_t at)
{
	while (at < s->len && is_blank(s->text[at]))
		at++;
	return at == s->len || s->text[at] == '\n' || (s->lines && s->text[at] == '#');
}

bool events_scan_next_row(struct events_scan *s)
{
	while (!is_at_end(s) && is_line_empty(s, s->at)) {
		skip_line(s);
		s->at += !is_at_end(s);
	}
	return !is_at_end(s);
}

bool events_scan_next_clause(struct events_scan *s)
{
	skip_row_blanks(s);
	if (is_at_end(s))
		return false;
	if (s->text[s->at] == ';') {
		s->at++;
		return true;
	}
	/* at the end of a line; lines without words are no clauses and do not end the row */
	s->at++;
	events_scan_next_row(s);
	return !is_at_end(s) && is_blank(s->text[s->at]);
}

int events_scan_word(struct events_scan *s)
{
	skip_row_blanks(s);
	s->word = s->at;
	while (!is_at_end(s) && !is_blank(s->text[s->at]) && s->text[s->at] != ';' &&
	       s->text[s->at] != '\n')
		s->at++;
	s->word_len = s->at - s->word;
	return s->word_len ? 0 : -1;
}

int events_scan_rest(struct events_scan *s, char *buf, size_t size)
{
	size_t len;

	skip_row_blanks(s);
	s->word = s->at;
	while (!is_at_end(s) && s->text[s->at] != ';' && s->text[s->at] != '\n')
		s->at++;
	len = s->at - s->word;
	while (len && is_blank(s->text[s->word + len - 1]))
		len--;
	if (!len)
		return events_scan_missing(s, "a text");
	if (len >= size)
		return events_scan_fail(s, s->word, "expected a text of at most %zu bytes",
					size - 1);
	memcpy(buf, s->text + s->word, len);
	buf[len] = '\0';
	for (char *c = buf; *c; c++)
		if (*c == '\t')
			*c = ' ';
	return 0;
}

int events_scan_choice(struct events_scan *s, const char *const *names)
{
	char word[32] = "", list[128], wanted[192];
	const char *near;

	if (s->word_len < sizeof(word))
		memcpy(word, s->text + s->word, s->word_len);
	for (int i = 0; names[i]; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	near = word_near(word, names);
	snprintf(wanted, sizeof(wanted), "%s%s%s%s", word_list(list, sizeof(list), names),
		 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	return refuse_word(s, wanted);
}

/*
 * Copy the last word to BUF. Returns -1 if the word does not fit, or has characters other than
 * letters, digits and those of ALLOWED.
 */
static int copy_source_word(struct events_scan *s, char *buf, size_t size, const char *allowed)
{
	const char *word = s->text + s->word;

	if (s->word_len >= size)
		return -1;
	for (size_t i = 0; i < s->word_len; i++)
		if (!((word[i] >= '0' && word[i] <= '9') || (word[i] >= 'a' && word[i] <= 'z') ||
		      (word[i] >= 'A' && word[i] <= 'Z') || strchr(allowed, word[i])))
			return -1;
	memcpy(buf, word, s->word_len);
	buf[s->word_len] = '\0';
	return 0;
}

int events_scan_name(struct events_scan *s, char name[EVENTS_NAME_MAX])
{
	if (copy_source_word(s, name, EVENTS_NAME_MAX, "-_.") < 0)
		return refuse_word(s, "a name of at most 31 letters, digits, \"-\", \"_\", \".\"");
	return 0;
}

int events_scan_source(struct events_scan *s, char source[EVENTS_SOURCE_MAX])
{
	if (copy_source_word(s, source, EVENTS_SOURCE_MAX, "-_.:/+=") < 0)
		return refuse_word(s, "an event's name of at most 127 letters, digits, \"-\", "
				      "\"_\", \".\", \":\", \"/\", \"+\", \"=\"");
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parse one to DIGITS hexadecimal digits at *P, before END, and move *P past them. */
static int take_hex(const char **p, const char *end, unsigned digits, uint64_t *out)
{
	const char *start = *p;

	*out = 0;
	while (*p < end && hex_digit(**p) >= 0) {
		if (digits-- == 0)
			return -1;
		*out = *out << 4 | (unsigned)hex_digit(*(*p)++);
	}
	return *p > start ? 0 : -1;
}

/* Parse "0x" and 1 to 16 hexadecimal digits. */
static int take_number(const char **p, const char *end, uint64_t *out)
{
	if (end - *p < 3 || (*p)[0] != '0' || (*p)[1] != 'x')
		return -1;
	*p += 2;
	return take_hex(p, end, 16, out);
}

int events_scan_event(struct events_scan *s, struct counter_event *e)
{
	const char *p = s->text + s->word, *end = p + s->word_len;

	if (take_number(&p, end, &e->config) == 0) {
		if (p == end)
			return 0;
		if (*p++ == '/' && take_number(&p, end, &e->config1) == 0 && p == end && e->config1)
			return 0;
	}
	return refuse_word(s, "an event: 0xCONFIG or 0xCONFIG/0xCONFIG1, of 16 digits at most");
}

int events_scan_pmu(struct events_scan *s, char pmu[EVENTS_NAME_MAX])
{
	const char *word = s->text + s->word, *slash = memchr(word, '/', s->word_len);
	size_t all = s->word_len;

	*pmu = '\0';
	if (!slash || (word[0] == '0' && word[1] == 'x'))
		return 0;
	s->word_len = (size_t)(slash - word);
	if (!s->word_len || copy_source_word(s, pmu, EVENTS_NAME_MAX, "_") < 0) {
		s->word_len = all;
		return refuse_word(s, "an event, or PMU/EVENT with the name of a PMU, such as "
				      "ibs_op/0x90000");
	}
	s->word += s->word_len + 1;
	s->word_len = all - s->word_len - 1;
	return 0;
}

/* Parse "A" or "A..B", hexadecimal numbers of at most MAX. */
static int take_range(const char **p, const char *end, unsigned max, struct events_range *out)
{
	uint64_t first, last;

	if (take_hex(p, end, 2, &first) < 0)
		return -1;
	last = first;
	if (end - *p > 2 && (*p)[0] == '.' && (*p)[1] == '.') {
		*p += 2;
		if (take_hex(p, end, 2, &last) < 0)
			return -1;
	}
	if (first > last || last > max)
		return -1;
	*out = (struct events_range){ .first = (unsigned)first, .last = (unsigned)last };
	return 0;
}

/* Parse a family: decimal, 0 to 4095. */
static int take_family(const char **p, const char *end, unsigned *out)
{
	const char *start = *p;

	*out = 0;
	while (*p < end && **p >= '0' && **p <= '9' && *out < 4096)
		*out = *out * 10 + (unsigned)(*(*p)++ - '0');
	return *p > start && *out < 4096 ? 0 : -1;
}

/* Parse letters, and the "-" after them. */
static int take_vendor(const char **p, const char *end, char vendor[EVENTS_VENDOR_MAX])
{
	size_t len = 0;

	while (*p < end && **p != '-') {
		char c = *(*p)++;

		if (len == EVENTS_VENDOR_MAX - 1 ||
		    !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return -1;
		vendor[len++] = c;
	}
	vendor[len] = '\0';
	return len && *p < end && *(*p)++ == '-' ? 0 : -1;
}

static int take_midrs(const char *p, const char *end, struct events_row *row)
{
	do {
		uint64_t *midr = &row->midr[row->n_ranges];

		if (row->n_ranges == EVENTS_RANGES_MAX || take_number(&p, end, midr) < 0 ||
		    *midr & EVENTS_MIDR_REVISION)
			return -1;
		row->n_ranges++;
	} while (p < end && *p == ',' && p++);
	return p == end ? 0 : -1;
}

static int take_models(const char *p, const char *end, struct events_row *row)
{
	if (take_vendor(&p, end, row->vendor) < 0 || take_family(&p, end, &row->family) < 0 ||
	    p == end || *p++ != '-')
		return -1;
	do {
		if (row->n_ranges == EVENTS_RANGES_MAX ||
		    take_range(&p, end, 0xff, &row->model[row->n_ranges++]) < 0)
			return -1;
	} while (p < end && *p == ',' && p++);
	if (p == end)
		return 0;
	row->has_stepping = true;
	return *p++ == '-' && take_range(&p, end, 0xf, &row->stepping) == 0 && p == end ? 0 : -1;
}

int events_scan_match(struct events_scan *s, struct events_row *row)
{
	const char *p = s->text + s->word, *end = p + s->word_len;

	if ((*p == '0' ? take_midrs(p, end, row) : take_models(p, end, row)) == 0)
		return 0;
	return refuse_word(s,
			   "VENDOR-FAMILY-MODELS[-STEPPINGS], such as GenuineIntel-6-55-0..4, or a "
			   "MIDR without variant and revision, such as 0x410fd0c0");
}

int cpu_identity_parse(struct cpu_identity *out, const char *text, struct errbuf *err)
{
	const char *p = text, *end = text + strlen(text);
	struct cpu_identity cpu = { .stepping = CPU_STEPPING_UNKNOWN };
	char quoted[WORD_QUOTE_MAX];
	uint64_t model, stepping;
	bool good;

	if (*p == '0') {
		good = take_number(&p, end, &cpu.midr) == 0;
	} else {
		good = take_vendor(&p, end, cpu.vendor) == 0 &&
		       take_family(&p, end, &cpu.family) == 0 && p < end && *p++ == '-' &&
		       take_hex(&p, end, 2, &model) == 0;
		cpu.model = good ? (unsigned)model : 0;
		if (good && p < end) {
			good = *p++ == '-' && take_hex(&p, end, 1, &stepping) == 0;
			cpu.stepping = good ? (unsigned)stepping : 0;
		}
	}
	if (!good || p != end)
		return errprintf(
			err, "%s: expected a processor, such as GenuineIntel-6-6A-6 or 0x410fd0c1",
			word_quote(quoted, text, strlen(text)));
	*out = cpu;
	return 0;
}
