/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/xml.h"

#include <stdlib.h>
#include <string.h>

static enum xml_event xml_bad(const struct xml *x, struct errbuf *err, const char *what)
{
	errprintf(err, "line %u: %s", x->at_line, what);
	return XML_BAD;
}

int xml_open(struct xml *x, char *text, size_t len, struct errbuf *err)
{
	memset(x, 0, sizeof(*x));
	x->at = text;
	x->line = x->at_line = 1;
	if (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
		return errprintf(err, "the text is UTF-16: write it in UTF-8");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n')
			x->at_line++;
		if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
			return errprintf(err, "line %u: byte 0x%02x is not allowed", x->at_line,
					 c);
	}
	x->at_line = 1;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		x->at += 3;
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_spaces(struct xml *x)
{
	for (; is_space(*x->at); x->at++)
		x->at_line += *x->at == '\n';
}

/* Move past the next occurrence of END. Returns false if there is none. */
static bool skip_to(struct xml *x, const char *end)
{
	char *found = strstr(x->at, end);

	if (!found)
		return false;
	for (; x->at < found; x->at++)
		x->at_line += *x->at == '\n';
	x->at += strlen(end);
	return true;
}

/*
 * Skip <?xml ...?>, a comment or a DOCTYPE. Returns 1 if one was skipped, 0 if none is here, -1 if
 * the one here has no end or is not supported.
 */
static int skip_markup(struct xml *x, struct errbuf *err)
{
	const char *end = NULL;

	if (strncmp(x->at, "<?", 2) == 0)
		end = "?>";
	else if (strncmp(x->at, "<!--", 4) == 0)
		end = "-->";
	else if (strncmp(x->at, "<!DOCTYPE", 9) == 0)
		end = ">";
	else
		return 0;
	/* a document could define entities that make a small file huge */
	if (*end == '>' && x->at[strcspn(x->at, "[>")] == '[') {
		xml_bad(x, err, "a DOCTYPE with declarations is not supported");
		return -1;
	}
	if (skip_to(x, end))
		return 1;
	xml_bad(x, err, "a comment, declaration or DOCTYPE has no end");
	return -1;
}

static size_t name_length(const char *at)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789.-";

	return strspn(at, first) ? strspn(at, more) : 0;
}

static size_t put_utf8(char *to, unsigned long code)
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)(lead[n] | code);
	return n;
}

/*
 * Decode the reference ("&lt;", "&#10;") at *FROM to UTF-8 at TO, and move *FROM past the
 * reference. The result is never longer than the reference. Returns the number of bytes written, or
 * 0 if *FROM is at no reference.
 */
static size_t decode_reference(char *to, char **from)
{
	static const struct {
		const char *text;
		char c;
	} known[] = { { "&lt;", '<' },
		      { "&gt;", '>' },
		      { "&amp;", '&' },
		      { "&quot;", '"' },
		      { "&apos;", '\'' } };
	const char *digits = *from + 2;
	unsigned long code = 0;
	char *end;
	int base = 10;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strncmp(*from, known[i].text, strlen(known[i].text)) != 0)
			continue;
		*from += strlen(known[i].text);
		*to = known[i].c;
		return 1;
	}
	if ((*from)[1] != '#')
		return 0;
	if (*digits == 'x') {
		base = 16;
		digits++;
	}
	/* strtoul would accept signs and blanks */
	if (!strspn(digits, base == 16 ? "0123456789abcdefABCDEF" : "0123456789"))
		return 0;
	code = strtoul(digits, &end, base);
	if (*end != ';' || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code == 0x7f ||
	    (code < ' ' && code != '\n' && code != '\t' && code != '\r'))
		return 0;
	*from = end + 1;
	return put_utf8(to, code);
}

/* Decode the quoted value at X->at in place: a decoded value is never longer. */
static char *read_value(struct xml *x, struct errbuf *err)
{
	char quote = *x->at, *value = x->at + 1, *from = value, *to = value;

	if (quote != '"' && quote != '\'') {
		xml_bad(x, err, "an attribute's value must be in quotes");
		return NULL;
	}
	while (*from && *from != quote) {
		if (*from == '<') {
			xml_bad(x, err, "an attribute's value contains \"<\" (write &lt;)");
			return NULL;
		}
		if (*from == '&') {
			size_t n = decode_reference(to, &from);

			if (!n) {
				xml_bad(x, err,
					"the entity is unknown (allowed: &lt; &gt; &amp; &quot; "
					"&apos; "
					"&#10;)");
				return NULL;
			}
			to += n;
			continue;
		}
		x->at_line += *from == '\n';
		*to++ = *from++;
	}
	if (!*from) {
		xml_bad(x, err, "a value has no closing quote");
		return NULL;
	}
	x->at = from + 1;
	*to = '\0';
	return value;
}

static int read_attr(struct xml *x, struct errbuf *err)
{
	size_t len = name_length(x->at);
	struct xml_attr *a = &x->attr[x->n_attrs];
	char *end = x->at + len;

	if (!len)
		return xml_bad(x, err, "expected an attribute, \">\" or \"/>\""), -1;
	if (x->n_attrs == XML_ATTRS_MAX)
		return xml_bad(x, err, "an element has more than 32 attributes"), -1;
	a->name = x->at;
	x->at = end;
	skip_spaces(x);
	if (*x->at != '=')
		return xml_bad(x, err, "an attribute has no value"), -1;
	x->at++;
	skip_spaces(x);
	*end = '\0';
	if (xml_attr(x, a->name))
		return xml_bad(x, err, "an attribute occurs twice"), -1;
	a->value = read_value(x, err);
	if (!a->value)
		return -1;
	x->n_attrs++;
	return 0;
}

static enum xml_event start_element(struct xml *x, struct errbuf *err)
{
	size_t len = name_length(++x->at);
	char *end = x->at + len;
	bool more = true;

	if (!len)
		return xml_bad(x, err, "after \"<\" there is no name of an element");
	if (x->depth == XML_DEPTH_MAX)
		return xml_bad(x, err, "elements are nested more than 64 deep");
	x->line = x->at_line;
	x->name = x->open[x->depth++] = x->at;
	x->n_attrs = 0;
	x->at = end;
	while (more) {
		bool spaced = is_space(*x->at);

		skip_spaces(x);
		if (*x->at == '>' || (*x->at == '/' && x->at[1] == '>'))
			more = false;
		else if (!spaced)
			return xml_bad(x, err, "expected a blank, \">\" or \"/>\" in an element");
		else if (read_attr(x, err) < 0)
			return XML_BAD;
	}
	x->empty = *x->at == '/';
	x->at += x->empty ? 2 : 1;
	*end = '\0';
	return XML_START;
}

static enum xml_event xml_end(struct xml *x, struct errbuf *err)
{
	size_t len = name_length(x->at += 2);
	const char *open = x->depth ? x->open[x->depth - 1] : NULL;

	if (!open || len != strlen(open) || strncmp(x->at, open, len) != 0)
		return xml_bad(x, err, "the end tag does not match the open element");
	x->line = x->at_line;
	x->at += len;
	skip_spaces(x);
	if (*x->at != '>')
		return xml_bad(x, err, "expected \">\"");
	x->at++;
	x->name = open;
	x->pop = true;
	return XML_END;
}

enum xml_event xml_next(struct xml *x, struct errbuf *err)
{
	if (x->pop) {
		x->pop = false;
		x->done = --x->depth == 0;
	}
	x->text = "";
	x->text_len = 0;
	if (x->empty) {
		x->empty = false;
		x->pop = true;
		return XML_END;
	}
	for (;;) {
		int skipped;
		char *from = x->at;

		for (; *x->at && *x->at != '<'; x->at++) {
			x->at_line += *x->at == '\n';
			if (!x->depth && !is_space(*x->at))
				return xml_bad(
					x, err,
					x->done ? "text follows the end of the document"
						: "this is not XML: it does not begin with <");
		}
		if (!*x->at && x->done)
			return XML_DONE;
		if (!*x->at)
			return xml_bad(x, err,
				       x->depth ? "the document ends before its elements do"
						: "no element: this is not XML");
		skipped = skip_markup(x, err);
		if (skipped < 0)
			return XML_BAD;
		if (skipped)
			continue;
		if (x->done)
			return xml_bad(x, err, "a second root element follows the first");
		if (x->at[1] != '/')
			return start_element(x, err);
		x->text = from;
		x->text_len = (size_t)(x->at - from);
		return xml_end(x, err);
	}
}

const char *xml_attr(const struct xml *x, const char *name)
{
	for (unsigned i = 0; i < x->n_attrs; i++)
		if (strcmp(x->attr[i].name, name) == 0)
			return x->attr[i].value;
	return NULL;
}
