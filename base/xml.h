/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_XML_H
#define NODEOS_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/*
 * A pull reader for the XML that hwloc writes, in one pass, with fixed bounds, for text that is not
 * trusted. Elements, attributes, character data, comments, processing instructions, a DOCTYPE
 * without internal subset and the predefined and numeric entities are read; CDATA sections and
 * everything else of XML are refused, with the line.
 */

#define XML_DEPTH_MAX 64 /* elements inside each other; hwloc's own files stay below 20 */
#define XML_ATTRS_MAX 32 /* attributes of an element */

enum xml_event {
	XML_BAD, /* not well-formed: the error says what and in which line */
	XML_START,
	XML_END, /* also after the XML_START of <name/> */
	XML_DONE, /* the root element has ended */
};

struct xml_attr {
	char *name, *value;
};

struct xml {
	unsigned line; /* of the markup that the last event comes from */
	/* elements that are open: an element that starts or ends is counted */
	unsigned depth;
	const char *name; /* of the element that starts or ends */
	unsigned n_attrs; /* at XML_START */
	struct xml_attr attr[XML_ATTRS_MAX];
	const char *text; /* at XML_END: the characters since the last markup, not NUL-terminated,
			     entities as they stand */
	size_t text_len;
	/* the reader's own */
	char *at;
	unsigned at_line;
	const char *open[XML_DEPTH_MAX];
	bool empty, pop, done;
};

/*
 * Read TEXT of LEN bytes, which is changed while it is read and has to live as long as X: names and
 * values point into it. TEXT[LEN] has to be NUL.
 */
int xml_open(struct xml *x, char *text, size_t len, struct errbuf *err);

enum xml_event xml_next(struct xml *x, struct errbuf *err);

/* The value of attribute NAME of the element that has started, or NULL. */
const char *xml_attr(const struct xml *x, const char *name);

#endif
