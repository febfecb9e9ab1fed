/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/json_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/words.h"

struct scan {
	const char *text;
	size_t len;
	size_t pos;
	size_t fault_at;
	struct json_tree tree;
	unsigned room; /* allocated nodes */
	size_t keys_used;
	unsigned depth;
	struct errbuf *err;
	unsigned max_values;
};

/* Report a fault at offset AT of the text. The value of the expression is -1. */
#define FAULT(s, at, ...) ((s)->fault_at = (at), errprintf((s)->err, __VA_ARGS__))

const char *json_kind_name(enum json_kind kind)
{
	static const char *const name[] = {
		[JSON_NULL] = "null",	    [JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",  [JSON_OBJECT] = "an object",
	};

	return name[kind];
}

void json_scan_where(const char *text, size_t at, unsigned *line, unsigned *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < at; i++) {
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			++*column;
		}
	}
}

static void skip_blanks(struct scan *s)
{
	while (s->pos < s->len && memchr(" \t\r\n", s->text[s->pos], 4))
		s->pos++;
}

/* Report that the text at the current position is not EXPECTED. */
static int report_unexpected(struct scan *s, const char *expected)
{
	char quoted[WORD_QUOTE_MAX];
	const char *hint = "";

	if (s->pos == s->len)
		return FAULT(s, s->pos, "the text ends here: expected %s", expected);
	if (s->text[s->pos] == '/' || s->text[s->pos] == '#')
		hint = " (JSON has no comments)";
	else if (s->text[s->pos] == '\'')
		hint = " (JSON's quotes are double quotes)";
	return FAULT(s, s->pos, "unexpected %s: expected %s%s",
		     word_quote(quoted, s->text + s->pos, 1), expected, hint);
}

static size_t utf8_encode(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Return the four hex digits of the \u escape at offset AT, or -1. */
static int32_t unicode_escape(const struct scan *s, size_t at)
{
	int32_t value = 0;

	if (s->len - at < 6 || s->text[at] != '\\' || s->text[at + 1] != 'u')
		return -1;
	for (size_t i = at + 2; i < at + 6; i++) {
		char c = s->text[i];
		int digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10;
		else
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* Decode the \u escape at the current position, or a pair of surrogates, to OUT (unless NULL). */
static int scan_unicode(struct scan *s, char *out, size_t *used)
{
	size_t at = s->pos;
	int32_t c = unicode_escape(s, at);
	char buf[4];
	size_t n;

	if (c < 0)
		return FAULT(s, at, "bad escape in a string: \\u needs four hex digits");
	if (c == 0)
		return FAULT(s, at, "\\u0000 in a string: a text cannot contain a NUL character");
	s->pos += 6;
	if (c >= 0xd800 && c <= 0xdfff) {
		int32_t second = c <= 0xdbff ? unicode_escape(s, s->pos) : -1;

		if (second < 0xdc00 || second > 0xdfff)
			return FAULT(s, at, "\\u%04x in a string is half of a surrogate pair",
				     (unsigned)c);
		c = 0x10000 + ((c - 0xd800) << 10) + (second - 0xdc00);
		s->pos += 6;
	}
	n = utf8_encode(buf, (uint32_t)c);
	if (out)
		memcpy(out + *used, buf, n);
	*used += n;
	return 0;
}

static int scan_escape(struct scan *s, char *out, size_t *used)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	char c = s->pos + 1 < s->len ? s->text[s->pos + 1] : '\0';
	const char *which;

	if (c == 'u')
		return scan_unicode(s, out, used);
	which = c ? strchr(from, c) : NULL;
	if (!which)
		return FAULT(s, s->pos,
			     "bad escape in a string (allowed: \\\" \\\\ \\/ \\b \\f \\n \\r \\t "
			     "\\uXXXX)");
	if (out)
		out[*used] = to[which - from];
	++*used;
	s->pos += 2;
	return 0;
}

/*
 * Scan the string whose quote is at the current position. OUT, unless NULL, gets the decoded text
 * and a NUL, together never longer than the string with its quotes.
 */
static int scan_string(struct scan *s, char *out, size_t *length)
{
	size_t start = s->pos++;
	size_t used = 0;

	for (;;) {
		size_t n;

		if (s->pos == s->len)
			return FAULT(s, start, "this string has no closing quote");
		if (s->text[s->pos] == '"')
			break;
		if (s->text[s->pos] == '\\') {
			if (scan_escape(s, out, &used) < 0)
				return -1;
			continue;
		}
		if (s->text[s->pos] == '\n' || s->text[s->pos] == '\r')
			return FAULT(s, start, "this string has no closing quote on its line");
		if ((unsigned char)s->text[s->pos] < ' ')
			return FAULT(s, s->pos,
				     "control character 0x%02x in a string: write it as \\u%04x",
				     (unsigned)s->text[s->pos], (unsigned)s->text[s->pos]);
		n = utf8_length(s->text + s->pos, s->len - s->pos);
		if (n == 0)
			return FAULT(s, s->pos, "byte 0x%02x in a string is not valid UTF-8",
				     (unsigned)(unsigned char)s->text[s->pos]);
		if (out)
			memcpy(out + used, s->text + s->pos, n);
		used += n;
		s->pos += n;
	}
	s->pos++;
	if (out)
		out[used] = '\0';
	*length = used;
	return 0;
}

static bool scan_digits(struct scan *s)
{
	size_t start = s->pos;

	while (s->pos < s->len && s->text[s->pos] >= '0' && s->text[s->pos] <= '9')
		s->pos++;
	return s->pos > start;
}

static bool scan_char(struct scan *s, const char *any_of)
{
	if (s->pos == s->len || !s->text[s->pos] || !strchr(any_of, s->text[s->pos]))
		return false;
	s->pos++;
	return true;
}

/* Return whether the digits of the integer START .. END fit 64 bits (63 bits if it is negative). */
static bool fits_64_bits(const char *start, const char *end)
{
	uint64_t max = *start == '-' ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
	uint64_t v = 0;

	for (const char *p = start + (*start == '-'); p < end; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (v > max / 10 || v * 10 > max - digit)
			return false;
		v = v * 10 + digit;
	}
	return true;
}

static int scan_number(struct scan *s)
{
	size_t start = s->pos;
	size_t digits;
	bool integer = true;

	scan_char(s, "-");
	digits = s->pos;
	if (!scan_digits(s))
		return report_unexpected(s, "a digit");
	if (s->text[digits] == '0' && s->pos - digits > 1)
		return FAULT(s, start, "a number must have no leading zero");
	if (scan_char(s, ".")) {
		integer = false;
		if (!scan_digits(s))
			return report_unexpected(s, "a digit");
	}
	if (scan_char(s, "eE")) {
		integer = false;
		scan_char(s, "+-");
		if (!scan_digits(s))
			return report_unexpected(s, "a digit");
	}
	/* json-c saturates or refuses such integers, depending on its release */
	if (integer && !fits_64_bits(s->text + start, s->text + s->pos))
		return FAULT(s, start, "this number is too large: an integer has at most 64 bits");
	return 0;
}

static int scan_literal(struct scan *s)
{
	static const char *const literal[] = { "true", "false", "null" };
	size_t n = 0;

	while (s->pos + n < s->len &&
	       ((s->text[s->pos + n] | 0x20) >= 'a' && (s->text[s->pos + n] | 0x20) <= 'z'))
		n++;
	for (size_t i = 0; i < sizeof(literal) / sizeof(literal[0]); i++)
		if (n == strlen(literal[i]) && memcmp(s->text + s->pos, literal[i], n) == 0) {
			s->pos += n;
			return 0;
		}
	if (n > 1) {
		char quoted[WORD_QUOTE_MAX];

		return FAULT(s, s->pos,
			     "unexpected %s: expected a value (a string needs double quotes)",
			     word_quote(quoted, s->text + s->pos, n));
	}
	return report_unexpected(s, "a value");
}

/* Add a node as the last child of PARENT. Returns its index, or -1. */
static int json_scan_add_node(struct scan *s, enum json_kind kind, unsigned parent)
{
	struct json_tree *t = &s->tree;
	struct json_node *node;

	if (t->n == s->max_values)
		return FAULT(s, s->pos, "more than %u values", s->max_values);
	if (t->n == s->room) {
		unsigned room = s->room ? s->room * 2 : 64;
		struct json_node *more = realloc(t->node, room * sizeof(*more));

		if (!more)
			return FAULT(s, s->pos, "%s", strerror(ENOMEM));
		t->node = more;
		s->room = room;
	}
	node = &t->node[t->n];
	memset(node, 0, sizeof(*node));
	node->kind = kind;
	node->parent = parent;
	node->at = s->pos;
	return (int)t->n++;
}

static enum json_kind json_scan_kind_of(char c)
{
	switch (c) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_NULL;
	}
}

/* Scan the key at the current position and its ':', before the member's value. */
static int scan_key(struct scan *s, const char **key)
{
	char *out = s->tree.keys + s->keys_used;
	size_t length;

	if (s->pos == s->len || s->text[s->pos] != '"')
		return report_unexpected(s, "a key in double quotes");
	if (scan_string(s, out, &length) < 0)
		return -1;
	s->keys_used += length + 1;
	*key = out;
	skip_blanks(s);
	if (!scan_char(s, ":"))
		return report_unexpected(s, "\":\" after the key");
	skip_blanks(s);
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct json_node *x = *(const struct json_node *const *)a;
	const struct json_node *y = *(const struct json_node *const *)b;
	int order = strcmp(x->key, y->key);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Report the first key of OBJECT that occurs a second time. */
static int check_keys(struct scan *s, unsigned object)
{
	const struct json_node *node = s->tree.node;
	const struct json_node **sorted;
	const struct json_node *twice = NULL, *first = NULL;
	unsigned n = 0, line, column;
	char quoted[WORD_QUOTE_MAX];

	if (node[object].n < 2)
		return 0;
	sorted = calloc(node[object].n, sizeof(const struct json_node *));
	if (!sorted)
		return FAULT(s, node[object].at, "%s", strerror(ENOMEM));
	for (unsigned i = node[object].first; i; i = node[i].next)
		sorted[n++] = &node[i];
	qsort(sorted, n, sizeof(const struct json_node *), compare_keys);
	for (unsigned i = 1; i < n; i++)
		if (strcmp(sorted[i]->key, sorted[i - 1]->key) == 0 &&
		    (!twice || sorted[i]->at < twice->at)) {
			twice = sorted[i];
			first = sorted[i - 1];
		}
	free(sorted);
	if (!twice)
		return 0;
	json_scan_where(s->text, first->key_at, &line, &column);
	return FAULT(s, twice->key_at, "key %s is given a second time: the first is at %u:%u",
		     word_quote(quoted, twice->key, strlen(twice->key)), line, column);
}

static int scan_value(struct scan *s, unsigned parent, const char *key, size_t key_at);

/* Scan the members or items of the node SELF, from its opening bracket. */
static int scan_children(struct scan *s, unsigned self)
{
	bool object = s->tree.node[self].kind == JSON_OBJECT;
	const char *close = object ? "}" : "]";
	unsigned last = 0;

	if (++s->depth > JSON_POS_DEPTH)
		return FAULT(s, s->pos, "objects and arrays are nested more than %d deep",
			     JSON_POS_DEPTH);
	s->pos++;
	skip_blanks(s);
	while (!scan_char(s, close)) {
		const char *key = NULL;
		size_t key_at = s->pos;
		unsigned child = s->tree.n;

		if (last && !scan_char(s, ","))
			return report_unexpected(s, object ? "\",\" or \"}\"" : "\",\" or \"]\"");
		if (last) {
			size_t comma = s->pos - 1;

			skip_blanks(s);
			if (scan_char(s, close))
				return FAULT(s, comma,
					     "a comma before \"%s\": JSON allows no comma there",
					     close);
			key_at = s->pos;
		}
		if (object && scan_key(s, &key) < 0)
			return -1;
		if (scan_value(s, self, key, key_at) < 0)
			return -1;
		if (last)
			s->tree.node[last].next = child;
		else
			s->tree.node[self].first = child;
		s->tree.node[child].index = s->tree.node[self].n++;
		last = child;
		skip_blanks(s);
	}
	s->depth--;
	return object ? check_keys(s, self) : 0;
}

/* Scan the value at the current position; JSON_POS_DEPTH bounds the recursion. */
static int scan_value(struct scan *s, unsigned parent, const char *key, size_t key_at)
{
	enum json_kind kind;
	size_t length;
	int self, result;

	if (s->pos == s->len)
		return report_unexpected(s, "a value");
	kind = json_scan_kind_of(s->text[s->pos]);
	self = json_scan_add_node(s, kind, parent);
	if (self < 0)
		return -1;
	s->tree.node[self].key = key;
	s->tree.node[self].key_at = key_at;
	switch (kind) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		result = scan_children(s, (unsigned)self);
		break;
	case JSON_STRING:
		result = scan_string(s, NULL, &length);
		break;
	case JSON_NUMBER:
		result = scan_number(s);
		break;
	default:
		result = scan_literal(s);
	}
	s->tree.node[self].end = s->pos;
	return result;
}

static int scan_text(struct scan *s)
{
	if (s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
		return FAULT(s, 0,
			     "the text starts with a byte order mark: save it as UTF-8 without "
			     "this mark");
	skip_blanks(s);
	if (s->pos == s->len)
		return FAULT(s, s->pos, "the text is empty");
	if (scan_value(s, 0, NULL, 0) < 0)
		return -1;
	skip_blanks(s);
	return s->pos == s->len ? 0 : report_unexpected(s, "nothing after the end of the value");
}

int json_scan_scan(struct json_tree *tree, const char *text, size_t len, unsigned max_values,
		   size_t *at, struct errbuf *err)
{
	struct scan s = { .text = text, .len = len, .max_values = max_values, .err = err };

	/* each decoded key with its NUL is shorter than the key with its quotes */
	s.tree.keys = malloc(len + 1);
	if (!s.tree.keys) {
		*at = 0;
		return errprintf(err, "%s", strerror(ENOMEM));
	}
	if (scan_text(&s) < 0) {
		json_scan_free(&s.tree);
		*at = s.fault_at;
		return -1;
	}
	*tree = s.tree;
	return 0;
}

void json_scan_free(struct json_tree *tree)
{
	free(tree->node);
	free(tree->keys);
	memset(tree, 0, sizeof(*tree));
}

const struct json_node *json_scan_member(const struct json_tree *tree,
					 const struct json_node *object, const char *key)
{
	for (unsigned i = object->first; i; i = tree->node[i].next)
		if (strcmp(tree->node[i].key, key) == 0)
			return &tree->node[i];
	return NULL;
}
