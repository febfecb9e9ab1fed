/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* for strdup() */
#include "base/xml.h"

#include "base/test/tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Return the events that the reader finds in TEXT: "<name attr=value>" and "</name:text>" for
 * elements, at last "." or, after an error, "! MESSAGE".
 */
static const char *read_events(const char *text, size_t len)
{
	static char out[4096];
	struct errbuf err = { 0 };
	enum xml_event event = XML_BAD;
	char *copy = malloc(len + 1);
	size_t used = 0;
	struct xml x;

	memcpy(copy, text, len);
	copy[len] = '\0';
	out[0] = '\0';
	if (xml_open(&x, copy, len, &err) == 0) {
		while ((event = xml_next(&x, &err)) == XML_START || event == XML_END) {
			used += (size_t)snprintf(out + used, sizeof(out) - used,
						 event == XML_START ? "<%s" : "</%s", x.name);
			for (unsigned i = 0; event == XML_START && i < x.n_attrs; i++)
				used += (size_t)snprintf(out + used, sizeof(out) - used, " %s=%s",
							 x.attr[i].name, x.attr[i].value);
			used += (size_t)snprintf(out + used, sizeof(out) - used,
						 event == XML_END && x.text_len ? ":%.*s>"
										: "%.*s>",
						 (int)x.text_len, x.text);
		}
	}
	snprintf(out + used, sizeof(out) - used, event == XML_DONE ? "." : "! %s", err.text);
	free(copy);
	return out;
}

static void test_xml_taken(void)
{
	static const char *const table[][2] = {
		{ "<a/>", "<a></a>." },
		{ "<a></a>", "<a></a>." },
		{ "<?xml version=\"1.0\"?>\n<!DOCTYPE a SYSTEM \"a.dtd\">\n<!-- <b> "
		  "-->\n<a>\n</a>\n<!-- end -->\n",
		  "<a></a:\n>." },
		{ "\xef\xbb\xbf<a/>", "<a></a>." },
		{ "<a b=\"1\" c='2\"'/>", "<a b=1 c=2\"></a>." },
		{ "<a\n\tb = \"1\"\r\n/>", "<a b=1></a>." },
		{ "<a b=\"&lt;&gt;&amp;&quot;&apos;&#65;&#x42;\"/>", "<a b=<>&\"'AB></a>." },
		{ "<a b=\"&#228;&#x20ac;&#x1F600;\"/>",
		  "<a b=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80></a>." },
		{ "<a b=\"x>y\"/>", "<a b=x>y></a>." },
		{ "<a>1 2<!-- 3 -->4 5</a>", "<a></a:4 5>." },
		{ "<a><b>1 2 </b><b/></a >", "<a><b></b:1 2 ><b></b></a>." },
		{ "<a-b.c:d_1/>", "<a-b.c:d_1></a-b.c:d_1>." },
	};

	for (size_t i = 0; i < COUNT(table); i++)
		is(read_events(table[i][0], strlen(table[i][0])), table[i][1],
		   "xml_next: reads document %zu", i);
}

static void test_xml_refused(void)
{
	static const struct {
		const char *text, *says;
	} table[] = {
		{ "", "line 1: no element: this is not XML" },
		{ "   \n", "line 2: no element" },
		{ "hello", "line 1: this is not XML: it does not begin with <" },
		{ "<a>", "the document ends before its elements do" },
		{ "<a", "expected a blank" },
		{ "<a ", "expected an attribute" },
		{ "<a b", "an attribute has no value" },
		{ "<a b=", "must be in quotes" },
		{ "<a b=1/>", "must be in quotes" },
		{ "<a b=\"1", "has no closing quote" },
		{ "<a b=\"1\"c=\"2\"/>", "expected a blank" },
		{ "<a b=\"1\" b=\"2\"/>", "an attribute occurs twice" },
		{ "<a b=\"<\"/>", "write &lt;" },
		{ "<a b=\"&nope;\"/>", "entity" },
		{ "<a b=\"&#0;\"/>", "entity" },
		{ "<a b=\"&#x1b;\"/>", "entity" },
		{ "<a b=\"&#+65;\"/>", "entity" },
		{ "<a b=\"&#x110000;\"/>", "entity" },
		{ "<a b=\"&#xd800;\"/>", "entity" },
		{ "<a b=\"&#99999999999999999999;\"/>", "entity" },
		{ "<a b=\"&", "entity" },
		{ "<a>\n<b>\n</a>", "line 3: the end tag does not match the open element" },
		{ "</a>", "the end tag does not match" },
		{ "<a></ab>", "the end tag does not match" },
		{ "<a></a", "expected \">\"" },
		{ "<a/><b/>", "a second root element" },
		{ "<a/>x", "text follows the end" },
		{ "<>", "no name of an element" },
		{ "<1/>", "no name of an element" },
		{ "<a><![CDATA[x]]></a>", "no name of an element" },
		{ "<!DOCTYPE a [<!ENTITY b \"c\">]><a/>", "DOCTYPE with declarations" },
		{ "<!-- ", "has no end" },
		{ "<?xml ", "has no end" },
		{ "<!DOCTYPE", "has no end" },
		{ "<a>\n\x01</a>", "line 2: byte 0x01 is not allowed" },
		{ "\xff\xfe<", "UTF-16" },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		const char *got = read_events(table[i].text, strlen(table[i].text));

		ok(strstr(got, "! ") && strstr(got, table[i].says),
		   "xml_next: refuses with \"%s\": %s", table[i].says, got);
	}
	ok(strstr(read_events("<a>\0</a>", 8), "byte 0x00") != NULL,
	   "xml_next: refuses a NUL byte");
}

/* Return a text of ELEMENTS nested elements. */
static char *nested_elements(unsigned elements)
{
	char *text = malloc(elements * 7u + 1), *to = text;

	for (unsigned i = 0; i < elements; i++)
		to = strcpy(to, "<a>") + 3;
	for (unsigned i = 0; i < elements; i++)
		to = strcpy(to, "</a>") + 4;
	return text;
}

static void test_xml_bounds(void)
{
	char *text = nested_elements(XML_DEPTH_MAX), many[1024] = "<a", *got;

	got = strrchr(read_events(text, strlen(text)), '>');
	is(got, ">.", "xml_next: reads %d nested elements", XML_DEPTH_MAX);
	free(text);
	text = nested_elements(XML_DEPTH_MAX + 1);
	ok(strstr(read_events(text, strlen(text)), "nested more than 64 deep") != NULL,
	   "xml_next: refuses 65 nested elements");
	free(text);
	text = nested_elements(100000);
	ok(strstr(read_events(text, strlen(text)), "nested more than 64 deep") != NULL,
	   "xml_next: refuses 100,000 nested elements");
	free(text);
	for (unsigned i = 0; i <= XML_ATTRS_MAX; i++)
		sprintf(many + strlen(many), " a%c%c=\"\"", 'a' + (int)i / 26, 'a' + (int)i % 26);
	strcat(many, "/>");
	ok(strstr(read_events(many, strlen(many)), "more than 32 attributes") != NULL,
	   "xml_next: refuses more than 32 attributes");
}

int main(void)
{
	test_xml_taken();
	test_xml_refused();
	test_xml_bounds();
	return tap_done();
}
