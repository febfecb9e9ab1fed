/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_XML_H
#define NODEOS_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/*
 * A pull reader for the XML that hwloc writes: one pass, fixed bounds, for untrusted text. It reads
 * elements, attributes, character data, comments, processing instructions, a DOCTYPE without
 * internal subset, and the predefined and numeric entities. It refuses all other XML, such as CDATA
 * sections, with the number of the line.
 */

#define XML_DEPTH_MAX 64 /* nested elements; hwloc's own files stay below 20 */
#define XML_ATTRS_MAX 32 /* attributes of an element */

enum xml_event {
	XML_BAD, /* not well-formed: the error has the reason and the line */
	XML_START,
	XML_END, /* also after the XML_START of <name/> */
	XML_DONE, /* the root element has ended */
};

struct xml_attr {
	char *name, *value;
};

struct xml {
	unsigned line; /* of the markup that the last event comes from */
	/* number of open elements, including the one that starts or ends */
	unsigned depth;
	const char *name; /* of the element that starts or ends */
	unsigned n_attrs; /* at XML_START only */
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
 * Begin to read TEXT of LEN bytes. The reader changes TEXT, and names and values point into it, so
 * the caller keeps TEXT as long as X. TEXT[LEN] must be NUL.
 */
int xml_open(struct xml *x, char *text, size_t len, struct errbuf *err);

enum xml_event xml_next(struct xml *x, struct errbuf *err);

/* Return the value of attribute NAME of the element that has started, or NULL. */
const char *xml_attr(const struct xml *x, const char *name);

#endif
