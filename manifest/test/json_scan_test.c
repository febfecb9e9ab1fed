/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/json_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Texts of one value that are valid by json.org, and that the scan accepts. */
static void test_json_scan_accepted(void)
{
	static const char *const good[] = {
		"{}",
		"[]",
		"\"\"",
		"0",
		"-0",
		"7",
		"-1",
		"1.5",
		"1e5",
		"1E+5",
		"1.25e-7",
		"0.0",
		"true",
		"false",
		"null",
		" \t\r\n{}\n",
		"[1,2,3]",
		"[[],[],{}]",
		"{\"a\":1,\"b\":{\"a\":2}}",
		"{\"\":1}",
		"\"\\u00e9\"",
		"\"\\ud83d\\ude00\"",
		"\"\\uD83D\\uDE00\"",
		"\"\xc3\xa9\"",
		"\"\xf0\x9f\x98\x80\"",
		"\"\xef\xbf\xbf\"",
		"\"\x7f\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
		"18446744073709551615",
		"-9223372036854775808",
		"1e400",
		"99999999999999999999.0",
		"{\"a\":1,\"A\":2}",
		"[\"a\",\"a\"]",
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		struct json_tree tree;
		struct errbuf err = { 0 };
		size_t at;

		if (ok(json_scan_scan(&tree, good[i], strlen(good[i]), JSON_POS_VALUES, &at,
				      &err) == 0,
		       "json_scan_scan: takes text %zu %s", i, err.text))
			json_scan_free(&tree);
	}
}

/* The offset of each fault, counted by hand, and a part of the reason. */
static void test_json_scan_refused(void)
{
	static const struct {
		const char *text;
		size_t at;
		const char *says;
	} bad[] = {
		{ "", 0, "the text is empty" },
		{ "  \n", 3, "the text is empty" },
		{ "\xef\xbb\xbf{}", 0, "byte order mark" },
		{ "{", 1, "the text ends here: expected a key" },
		{ "[", 1, "the text ends here: expected a value" },
		{ "{\"a\"", 4, "expected \":\" after the key" },
		{ "{\"a\":", 5, "expected a value" },
		{ "{\"a\":1", 6, "expected \",\" or \"}\"" },
		{ "{\"a\" 1}", 5, "unexpected \"1\": expected \":\"" },
		{ "{\"a\":1 \"b\":2}", 7, "expected \",\" or \"}\"" },
		{ "{\"a\":1,}", 6, "a comma before \"}\"" },
		{ "[1,\n]", 2, "a comma before \"]\"" },
		{ "[1,,2]", 3, "unexpected \",\": expected a value" },
		{ "[1 2]", 3, "expected \",\" or \"]\"" },
		{ "[1}", 2, "unexpected \"}\"" },
		{ "{]", 1, "unexpected \"]\": expected a key" },
		{ "{,}", 1, "expected a key" },
		{ "{a:1}", 1, "expected a key in double quotes" },
		{ "{'a':1}", 1, "double quotes" },
		{ "{1:1}", 1, "expected a key" },
		{ "['a']", 1, "double quotes" },
		{ "{} x", 3, "expected nothing after the end" },
		{ "{}{}", 2, "expected nothing" },
		{ "[] // comment", 3, "JSON has no comments" },
		{ "# x", 0, "JSON has no comments" },
		{ "[True]", 1, "unexpected \"True\": expected a value" },
		{ "[nul]", 1, "unexpected \"nul\"" },
		{ "[nullx]", 1, "unexpected \"nullx\"" },
		{ "[NaN]", 1, "unexpected \"NaN\"" },
		{ "[Infinity]", 1, "unexpected" },
		{ "[-Infinity]", 2, "expected a digit" },
		{ "[+1]", 1, "unexpected \"+\"" },
		{ "[.5]", 1, "unexpected \".\"" },
		{ "[5.]", 3, "expected a digit" },
		{ "[1e]", 3, "expected a digit" },
		{ "[1e+]", 4, "expected a digit" },
		{ "-", 1, "expected a digit" },
		{ "[01]", 1, "leading zero" },
		{ "[-01]", 1, "leading zero" },
		{ "[0x10]", 2, "unexpected \"x\"" },
		{ "[1_000]", 2, "unexpected \"_\"" },
		{ "[18446744073709551616]", 1, "too large" },
		{ "[-9223372036854775809]", 1, "too large" },
		{ "[\"abc", 1, "no closing quote" },
		{ "[\"abc\n\"]", 1, "no closing quote on its line" },
		{ "[\"a\tb\"]", 3, "control character 0x09" },
		{ "[\"a\x01\"]", 3, "control character 0x01" },
		{ "[\"a\\x\"]", 3, "bad escape" },
		{ "[\"\\", 2, "bad escape" },
		{ "[\"\\'\"]", 2, "bad escape" },
		{ "[\"\\u12\"]", 2, "four hex digits" },
		{ "[\"\\u12g4\"]", 2, "four hex digits" },
		{ "[\"\\u0000\"]", 2, "\\u0000" },
		{ "[\"\\ud83d\"]", 2, "half of a surrogate pair" },
		{ "[\"\\ude00\"]", 2, "half of a surrogate pair" },
		{ "[\"\\ud83d\\u0041\"]", 2, "half of a surrogate pair" },
		{ "[\"\xff\"]", 2, "not valid UTF-8" },
		{ "[\"\xc0\x80\"]", 2, "not valid UTF-8" }, /* overlong NUL */
		{ "[\"\xe0\x80\x80\"]", 2, "not valid UTF-8" },
		{ "[\"\xed\xa0\x80\"]", 2, "not valid UTF-8" }, /* a surrogate */
		{ "[\"\xf4\x90\x80\x80\"]", 2, "not valid UTF-8" }, /* above U+10FFFF */
		{ "[\"a\xc3\"]", 3, "not valid UTF-8" },
		{ "[\"a\xc3", 3, "not valid UTF-8" },
		{ "\xc3\xa9", 0, "unexpected \"\\xc3\"" },
		{ "{\"a\":1,\"a\":2}", 7, "key \"a\" is given a second time: the first is at 1:2" },
		{ "{\"a\":1,\n \"\\u0061\":2}", 9, "the first is at 1:2" },
		{ "{\"b\":1,\"a\":2,\"b\":3,\"a\":4}", 13, "key \"b\"" },
		{ "{\"x\":[{\"k\":1,\"k\":1}]}", 13, "key \"k\"" },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		/* without the NUL: the scan must stop at the length */
		size_t len = strlen(bad[i].text);
		char *copy = malloc(len ? len : 1);
		struct json_tree tree;
		struct errbuf err = { 0 };
		size_t at = 999;

		memcpy(copy, bad[i].text, len);
		is_int(json_scan_scan(&tree, copy, len, JSON_POS_VALUES, &at, &err), -1,
		       "json_scan_scan: refuses text %zu: %s", i, err.text);
		is_int((long long)at, (long long)bad[i].at,
		       "json_scan_scan: gives the offset of the fault in text %zu", i);
		ok(strstr(err.text, bad[i].says) != NULL,
		   "json_scan_scan: the message for text %zu says %s", i, bad[i].says);
		free(copy);
	}
}

static void test_tree_of(void)
{
	static const char text[] =
		"{ \"a\": [10, \"x\"],\n  \"b\\n\": {\"c\": null}, \"\xc3\xa9\": true }";
	/*                          0 2    7 8   12       20         29 30        43  */
	struct json_tree t;
	struct errbuf err;
	const struct json_node *a, *b, *c, *e;
	unsigned line, column;
	size_t at;

	if (!ok(json_scan_scan(&t, text, sizeof(text) - 1, JSON_POS_VALUES, &at, &err) == 0,
		"json_scan_scan: accepts a text of several levels"))
		return;
	is_int(t.n, 7, "json_scan_scan: finds seven values");
	is_int(t.node[0].kind, JSON_OBJECT, "json_scan_scan: the root is an object");
	is_int(t.node[0].n, 3, "json_scan_scan: the root has three members");
	a = json_scan_member(&t, &t.node[0], "a");
	is_int((long long)a->key_at, 2, "json_scan_member: gives the offset of key a");
	is_int((long long)a->at, 7, "json_scan_member: gives the offset of key a's value");
	is_int((long long)a->end, 16,
	       "json_scan_member: gives the offset of the end of key a's value");
	is_int(a->n, 2, "json_scan_member: the value of key a has two items");
	is_int((long long)t.node[a->first].at, 8,
	       "json_scan_scan: gives the offset of the first item");
	is_int(t.node[a->first].kind, JSON_NUMBER, "json_scan_scan: the first item is a number");
	is_int(t.node[t.node[a->first].next].index, 1,
	       "json_scan_scan: the second item has index 1");
	is_int(t.node[t.node[a->first].next].next, 0,
	       "json_scan_scan: the second item is the last");
	b = json_scan_member(&t, &t.node[0], "b\n");
	is_int((long long)b->key_at, 20, "json_scan_member: finds a key with an escape");
	c = json_scan_member(&t, b, "c");
	ok(c && c->kind == JSON_NULL && &t.node[c->parent] == b,
	   "json_scan_member: a value null has its parent");
	ok(!json_scan_member(&t, b, "a"), "json_scan_member: NULL for a missing key");
	e = json_scan_member(&t, &t.node[0], "\xc3\xa9");
	ok(e && e->index == 2, "json_scan_member: finds a key in UTF-8");
	json_scan_where(text, e->key_at, &line, &column);
	ok(line == 2 && column == 23, "json_scan_where: gives line 2, column 23: %u:%u", line,
	   column);
	json_scan_where(text, e->at, &line, &column);
	ok(line == 2 && column == 28, "json_scan_where: columns count characters, not bytes: %u:%u",
	   line, column);
	json_scan_free(&t);
}

static int scan_depth(unsigned depth, size_t *at)
{
	char text[2 * JSON_POS_DEPTH + 4];
	struct json_tree t;
	struct errbuf err;
	int result;

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	result = json_scan_scan(&t, text, 2 * depth, JSON_POS_VALUES, at, &err);
	if (result == 0)
		json_scan_free(&t);
	return result;
}

static void test_json_scan_limits(void)
{
	size_t at = 0;
	char *many = malloc(2 * JSON_POS_VALUES + 2);
	struct json_tree t;
	struct errbuf err;

	is_int(scan_depth(JSON_POS_DEPTH, &at), 0, "json_scan_scan: takes the greatest depth");
	is_int(scan_depth(JSON_POS_DEPTH + 1, &at), -1, "json_scan_scan: refuses one level more");
	is_int((long long)at, JSON_POS_DEPTH,
	       "json_scan_scan: the fault is at the first bracket beyond the limit");

	many[0] = '[';
	for (size_t i = 0; i < JSON_POS_VALUES; i++) {
		many[1 + 2 * i] = '0';
		many[2 + 2 * i] = ',';
	}
	/* the array is a value, too */
	many[2 * JSON_POS_VALUES - 2] = ']';
	ok(json_scan_scan(&t, many, 2 * JSON_POS_VALUES - 1, JSON_POS_VALUES, &at, &err) == 0,
	   "json_scan_scan: takes as many values as allowed");
	is_int(t.n, JSON_POS_VALUES, "json_scan_scan: the largest number of values is in the tree");
	json_scan_free(&t);
	many[2 * JSON_POS_VALUES - 2] = ',';
	many[2 * JSON_POS_VALUES] = ']';
	is_int(json_scan_scan(&t, many, 2 * JSON_POS_VALUES + 1, JSON_POS_VALUES, &at, &err), -1,
	       "json_scan_scan: refuses one value more");
	free(many);
}

int main(void)
{
	test_json_scan_accepted();
	test_json_scan_refused();
	test_tree_of();
	test_json_scan_limits();
	return tap_done();
}
