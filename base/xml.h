/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_XML_H
#define NODEOS_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/*
 * A pull parser for the XML that hwloc writes. It reads untrusted text in one pass, with fixed
 * limits. It accepts elements, attributes, character data, comments, processing instructions, a
 * DOCTYPE without internal subset, and the predefined and numeric entities. It refuses all other
 * XML, such as CDATA sections, and its message has the number of the line.
 */

#define XML_DEPTH_MAX 64 /* nested elements; hwloc's own files stay below 20 */
#define XML_ATTRS_MAX 32 /* attributes of an element */

enum xml_event {
	XML_BAD, /* an error: the errbuf has the line and the reason */
	XML_START,
	XML_END, /* also follows the XML_START of <name/> */
	XML_DONE, /* the root element has ended */
};

struct xml_attr {
	char *name, *value;
};

struct xml {
	unsigned line; /* line of the markup that the last event comes from */
	/* number of open elements, including the one that starts or ends */
	unsigned depth;
	const char *name; /* name of the element that starts or ends */
	unsigned n_attrs; /* set at XML_START only */
	struct xml_attr attr[XML_ATTRS_MAX];
	/* at XML_END: the characters since the last markup, not NUL-terminated, undecoded */
	const char *text;
	size_t text_len;
	/* private to the reader */
	char *at;
	unsigned at_line;
	const char *open[XML_DEPTH_MAX];
	bool empty, pop, done;
};

/*
 * Begin to read TEXT of LEN bytes; TEXT[LEN] must be NUL. The parser changes TEXT, and names and
 * values point into TEXT, so the caller keeps TEXT as long as X.
 */
int xml_open(struct xml *x, char *text, size_t len, struct errbuf *err);

enum xml_event xml_next(struct xml *x, struct errbuf *err);

/* Return the value of attribute NAME of the element that has started, or NULL. */
const char *xml_attr(const struct xml *x, const char *name);

#endif
