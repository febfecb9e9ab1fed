/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture of many nodes. hwloc's lstopo draws only one machine, and these reports have no hwloc
 * topology. Packages are frames; inside, memory nodes are bars above the cores near them; the
 * threads of a core are cells of its square.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/merged_text.h"
#include "report/picture.h"

/* Sizes in pixels, 96 an inch; lines of text are about 12 high. */
enum {
	/* space around everything, between panels, and inside of frames */
	MARGIN = 28,
	GAP = 22,
	PAD = 14,
	CORE = 36, /* a core's square */
	CORE_GAP = 5,
	PART_GAP = 12,
	BAR = 22, /* a memory node: height, and least width */
	BAR_GAP = 4,
	BAR_MIN = 44,
	NODE_HEAD = 62,
	PACKAGE_HEAD = 20,
	LEGEND_LINE = 24,
	TITLE = 58,
};

struct owner {
	struct merged_key key;
	char colour[PICTURE_COLOUR_MAX];
};

struct sheet {
	FILE *f;
	const struct merged *m;
	struct owner *owner;
	unsigned n_owners;
	bool has_service, has_shared, has_irqs, has_idle; /* for the legend */
};

static void escaped(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '&' || *text == '<' || *text == '>' || *text == '"')
			fprintf(f, "&#%d;", *text);
		else
			putc(*text, f);
	}
}

static void text_at(const struct sheet *s, double x, double y, const char *class, const char *text)
{
	fprintf(s->f, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	escaped(s->f, text);
	fputs("</text>\n", s->f);
}

/* ------------------------------------------------------------------------ owners */

static const struct merged_container *container_at(const struct merged_node *node, unsigned cpu)
{
	for (unsigned i = 0; i < node->n_containers; i++)
		if (idset_has(&node->container[i].reserved, cpu))
			return &node->container[i];
	return NULL;
}

static unsigned owner_of(const struct sheet *s, const struct merged_node *node,
			 const struct merged_container *c)
{
	for (unsigned i = 0; i < s->n_owners; i++)
		if (merged_find(node, &s->owner[i].key) == c)
			return i;
	return 0;
}

static const char *colour_of_cpu(const struct sheet *s, const struct merged_node *node,
				 unsigned cpu)
{
	const struct merged_container *c = container_at(node, cpu);

	if (c)
		return s->owner[owner_of(s, node, c)].colour;
	return idset_has(&node->service_cpus, cpu) ? "#c3c9d1" : "#ffffff";
}

static const char *colour_of_mem(const struct sheet *s, const struct merged_node *node,
				 unsigned mem)
{
	const char *found = idset_has(&node->service_mems, mem) ? "#c3c9d1" : NULL;

	for (unsigned i = 0; i < node->n_containers; i++) {
		if (!node->container[i].confined || !idset_has(&node->container[i].mems, mem))
			continue;
		if (found)
			return PICTURE_SHARED;
		found = s->owner[owner_of(s, node, &node->container[i])].colour;
	}
	return found ? found : "#ffffff";
}

/* ---------------------------------------------------------------------------- geometry */

/* A drawn part of a node. A node whose reports do not describe the machine has one part, with the
 * CPUs in use. */
struct box {
	unsigned columns, rows, bars_a_row, bar_rows;
	double width, height;
};

static struct box box_of(const struct merged_part *p)
{
	struct box b = { .columns = p->n_cores <= 4 ? 2 : p->n_cores <= 24 ? 4 : 8 };
	unsigned mems = idset_count(&p->mems);

	b.rows = (p->n_cores + b.columns - 1) / b.columns;
	b.width = b.columns * (CORE + CORE_GAP) - CORE_GAP;
	b.bars_a_row = (unsigned)((b.width + BAR_GAP) / (BAR_MIN + BAR_GAP));
	if (mems < b.bars_a_row)
		b.bars_a_row = mems ? mems : 1;
	b.bar_rows = (mems + b.bars_a_row - 1) / b.bars_a_row;
	b.height = b.bar_rows * (BAR + BAR_GAP) + BAR_GAP + b.rows * (CORE + CORE_GAP) - CORE_GAP;
	return b;
}

static unsigned merged_svg_packages_of(const struct merged_node *node)
{
	unsigned n = 0;

	for (unsigned i = 0; i < node->n_parts; i++)
		n += i == 0 || node->part[i].package != node->part[i - 1].package;
	return n;
}

static void merged_svg_size_of(const struct merged_node *node, double *width, double *height)
{
	*width = PAD;
	*height = 0;
	for (unsigned i = 0; i < node->n_parts; i++) {
		struct box b = box_of(&node->part[i]);

		*width += b.width + PART_GAP;
		*height = fmax(*height, b.height);
	}
	*width += merged_svg_packages_of(node) * (3 * PAD - PART_GAP);
	*width = fmax(*width, 300);
	*height += NODE_HEAD + PACKAGE_HEAD + 2.5 * PAD;
}

/* ----------------------------------------------------------------------------- drawing */

static void draw_cpu(struct sheet *s, const struct merged_node *node, unsigned cpu, double x,
		     double y, double w)
{
	const struct merged_container *c = container_at(node, cpu);
	bool idle = c && !idset_has(&c->cpus, cpu), irq = c && idset_has(&c->irq_cpus, cpu);
	char text[16];

	fprintf(s->f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"%s/>\n",
		x, y, w, CORE, colour_of_cpu(s, node, cpu), idle ? " opacity=\"0.4\"" : "");
	snprintf(text, sizeof(text), "%u", cpu);
	text_at(s, x + w / 2, y + CORE / 2.0 + 4,
		w < 7 * (double)strlen(text) ? "cpu small" : "cpu", text);
	if (irq)
		fprintf(s->f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" class=\"irq\"/>\n",
			x + w - 5, y + 6);
	s->has_irqs |= irq;
	s->has_idle |= idle;
}

static void draw_core(struct sheet *s, const struct merged_node *node, const struct idset *core,
		      double x, double y)
{
	unsigned n = idset_count(core), k = 0;

	for (int cpu = idset_next(core, -1); cpu >= 0; cpu = idset_next(core, cpu))
		draw_cpu(s, node, (unsigned)cpu, x + CORE * (double)k++ / n, y, (double)CORE / n);
	fprintf(s->f,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"3\" "
		"class=\"core\"/>\n",
		x, y, CORE, CORE);
}

static void draw_part(struct sheet *s, const struct merged_node *node, const struct merged_part *p,
		      double x, double y)
{
	struct box b = box_of(p);
	double bar = (b.width + BAR_GAP) / b.bars_a_row - BAR_GAP;
	unsigned k = 0;
	char text[32];

	for (int mem = idset_next(&p->mems, -1); mem >= 0; mem = idset_next(&p->mems, mem), k++) {
		double bx = x + (k % b.bars_a_row) * (bar + BAR_GAP),
		       by = y + k / b.bars_a_row * (double)(BAR + BAR_GAP);
		const char *colour = colour_of_mem(s, node, (unsigned)mem);

		s->has_shared |= strcmp(colour, PICTURE_SHARED) == 0;
		fprintf(s->f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\" "
			"fill=\"%s\" class=\"mem\"/>\n",
			bx, by, bar, BAR, colour);
		snprintf(text, sizeof(text), bar < 76 ? "mem %d" : "memory %d", mem);
		text_at(s, bx + bar / 2, by + BAR / 2.0 + 4, "cpu", text);
	}
	y += b.bar_rows * (BAR + BAR_GAP) + BAR_GAP;
	for (unsigned i = 0; i < p->n_cores; i++)
		draw_core(s, node, &p->core[i], x + (i % b.columns) * (double)(CORE + CORE_GAP),
			  y + i / b.columns * (double)(CORE + CORE_GAP));
}

/*
 * Write "14 of 16 CPUs in containers" to BUF, and "52 IRQs and 97 kernel threads on these" to
 * NOISE.
 */
static void say_node(char *buf, char *noise, size_t size, const struct merged_node *node)
{
	struct idset all = node->service_cpus, held;
	long irqs = -1, threads = -1;

	idset_zero(&held);
	for (unsigned i = 0; i < node->n_containers; i++) {
		const struct merged_container *c = &node->container[i];

		idset_or(&held, &c->reserved);
		if (c->irqs >= 0)
			irqs = (irqs < 0 ? 0 : irqs) + c->irqs;
		if (c->threads >= 0)
			threads = (threads < 0 ? 0 : threads) + c->threads;
	}
	idset_or(&all, &held);
	for (unsigned i = 0; i < node->n_parts; i++)
		for (unsigned k = 0; k < node->part[i].n_cores; k++)
			idset_or(&all, &node->part[i].core[k]);
	snprintf(buf, size, "%u of %u CPUs in containers", idset_count(&held), idset_count(&all));
	noise[0] = '\0';
	if (irqs >= 0)
		snprintf(noise, size, "%ld IRQ%s", irqs, irqs == 1 ? "" : "s");
	if (threads >= 0)
		snprintf(noise + strlen(noise), size - strlen(noise), "%s%ld kernel thread%s",
			 *noise ? " and " : "", threads, threads == 1 ? "" : "s");
	if (*noise)
		snprintf(noise + strlen(noise), size - strlen(noise), " on these");
}

static void merged_svg_draw_node(struct sheet *s, const struct merged_node *node, double x,
				 double y, double width, double height)
{
	double frame = height - NODE_HEAD - PAD, px = x + PAD;
	char text[160], noise[160];

	fprintf(s->f,
		"<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10\" "
		"class=\"node\"/>\n",
		x, y, width, height);
	text_at(s, x + PAD, y + 24, "name", node->name);
	say_node(text, noise, sizeof(text), node);
	text_at(s, x + PAD, y + 41, "note", text);
	text_at(s, x + PAD, y + 55, "note", noise);
	y += NODE_HEAD;
	for (unsigned i = 0; i < node->n_parts;) {
		unsigned end = i;
		double w = 2 * PAD - PART_GAP;

		while (end < node->n_parts && node->part[end].package == node->part[i].package)
			w += box_of(&node->part[end++]).width + PART_GAP;
		fprintf(s->f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" "
			"class=\"package\"/>\n",
			px, y, w, frame);
		snprintf(text, sizeof(text), "package %u", node->part[i].package);
		text_at(s, px + PAD, y + 17, "note", text);
		for (double at = px + PAD; i < end; i++) {
			draw_part(s, node, &node->part[i], at, y + PACKAGE_HEAD + PAD / 2.0);
			at += box_of(&node->part[i]).width + PART_GAP;
		}
		px += w + PAD;
	}
	fputs("</g>\n", s->f);
}

static void draw_entry(const struct sheet *s, double y, const char *colour, const char *text)
{
	fprintf(s->f,
		"<rect x=\"%d\" y=\"%.1f\" width=\"26\" height=\"15\" rx=\"3\" fill=\"%s\" "
		"class=\"core\" stroke-width=\"1\"/>\n",
		MARGIN, y - 12, colour);
	text_at(s, MARGIN + 36, y, "entry", text);
}

/* Describe a container: its request, and its number of nodes. */
static void say_owner(char *buf, size_t size, const struct sheet *s, const struct merged_key *key)
{
	const struct merged_container *first = NULL, *c;
	unsigned nodes = 0;

	for (unsigned i = 0; i < s->m->n_nodes; i++) {
		c = merged_find(&s->m->node[i], key);
		nodes += c != NULL;
		first = first ? first : c;
	}
	snprintf(buf, size, "%s of job %" PRIu32 " (%s): %s, policy %s, on %u node%s", key->name,
		 key->job, first ? first->user : "?", first ? first->asked : "?",
		 first ? first->policy : "?", nodes, nodes == 1 ? "" : "s");
}

static double draw_legend(struct sheet *s, double y)
{
	char text[512];

	for (unsigned i = 0; i < s->n_owners; i++, y += LEGEND_LINE) {
		say_owner(text, sizeof(text), s, &s->owner[i].key);
		draw_entry(s, y, s->owner[i].colour, text);
	}
	if (s->has_service) {
		draw_entry(s, y, "#c3c9d1", "ServiceOS: CPUs and memory of the system");
		y += LEGEND_LINE;
	}
	if (s->has_shared) {
		draw_entry(s, y, PICTURE_SHARED, "memory node of several containers");
		y += LEGEND_LINE;
	}
	draw_entry(s, y, "#ffffff", "free");
	y += LEGEND_LINE;
	if (s->has_idle) {
		fprintf(s->f, "<g opacity=\"0.4\">");
		draw_entry(s, y, s->owner[0].colour, "");
		fputs("</g>\n", s->f);
		text_at(s, MARGIN + 36, y, "entry", "pale: an idle CPU, reserved with its core");
		y += LEGEND_LINE;
	}
	if (s->has_irqs) {
		fprintf(s->f, "<circle cx=\"%d\" cy=\"%.1f\" r=\"3.6\" class=\"irq\"/>\n",
			MARGIN + 13, y - 5);
		text_at(s, MARGIN + 36, y, "entry", "interrupts arrive at this CPU of a container");
		y += LEGEND_LINE;
	}
	for (unsigned i = 0; i < s->m->n_differences && i < 12; i++, y += LEGEND_LINE) {
		snprintf(text, sizeof(text), "differs: %.480s", s->m->difference[i]);
		text_at(s, MARGIN, y, "entry warn", text);
	}
	for (unsigned i = 0; i < s->m->n_missing && i < 12; i++, y += LEGEND_LINE) {
		snprintf(text, sizeof(text), "missing: %.200s: %.200s", s->m->missing[i].node,
			 s->m->missing[i].reason);
		text_at(s, MARGIN, y, "entry warn", text);
	}
	return y;
}

static const char style[] =
	"<style>text{font-family:'DejaVu Sans','Helvetica Neue',Arial,sans-serif;fill:#1f2937}"
	".title{font-size:24px;font-weight:bold}.name{font-size:17px;font-weight:bold}.note{font-"
	"size:11.5px;fill:#6b7280}.entry{font-size:13.5px}.warn{fill:#b42318}"
	".cpu{font-size:10.5px;text-anchor:middle}.small{font-size:8px}.node{fill:#ffffff;stroke:#"
	"cbd2dc;stroke-width:1.2}.package{fill:#f3f4f6;stroke:#dfe3e9}"
	".core{fill-opacity:1;stroke:#6b7280;stroke-width:0.9}rect.core:not([fill]){fill:none}.mem{"
	"stroke:#6b7280;stroke-width:0.9}.irq{fill:#d92d20;stroke:#ffffff;stroke-width:0.6}</"
	"style>\n";

static int draw_sheet(struct sheet *s, const char *title)
{
	double width = 0, height = 0, w, h, y;
	unsigned columns;
	FILE *f = s->f;
	char *body = NULL;
	size_t len;

	for (unsigned i = 0; i < s->m->n_nodes; i++) {
		merged_svg_size_of(&s->m->node[i], &w, &h);
		width = fmax(width, w);
		height = fmax(height, h);
	}
	/* about 1.4 times as wide as high, as screens are */
	columns =
		s->m->n_nodes
			? (unsigned)ceil(sqrt(s->m->n_nodes * (height + GAP) * 1.4 / (width + GAP)))
			: 1;
	if (columns > s->m->n_nodes)
		columns = s->m->n_nodes ? s->m->n_nodes : 1;
	w = 2 * MARGIN + columns * (width + GAP) - GAP;
	w = fmax(w, 760);
	y = TITLE + (s->m->n_nodes + columns - 1) / columns * (height + GAP);
	/* draw into memory first: only the legend knows the height */
	s->f = open_memstream(&body, &len);
	if (!s->f)
		return -1;
	text_at(s, MARGIN, 38, "title", title);
	for (unsigned i = 0; i < s->m->n_nodes; i++)
		merged_svg_draw_node(s, &s->m->node[i], MARGIN + i % columns * (width + GAP),
				     TITLE + i / columns * (height + GAP), width, height);
	h = draw_legend(s, y + MARGIN / 2.0) + MARGIN / 2.0;
	if (fclose(s->f) != 0)
		return -1;
	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
		"%.0f %.0f\">\n",
		w, h, w, h);
	fputs(style, f);
	fprintf(f, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fbfcfe\"/>\n%s</svg>\n", w, h,
		body);
	free(body);
	return 0;
}

/*
 * If a node's reports do not describe its machine, give the node a single part, which has the CPUs
 * of its containers and of the ServiceOS.
 */
static int add_flat_part(struct merged_node *node)
{
	struct idset cpus = node->service_cpus;
	struct merged_part *p;
	unsigned k = 0;

	for (unsigned i = 0; i < node->n_containers; i++)
		idset_or(&cpus, &node->container[i].reserved);
	if (idset_empty(&cpus))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -1;
	node->part = p;
	node->n_parts = 1;
	p->core = calloc(idset_count(&cpus), sizeof(*p->core));
	if (!p->core)
		return -1;
	for (int cpu = idset_next(&cpus, -1); cpu >= 0; cpu = idset_next(&cpus, cpu))
		idset_add(&p->core[k++], (unsigned)cpu);
	p->n_cores = k;
	for (unsigned i = 0; i < node->n_containers; i++)
		idset_or(&p->mems, &node->container[i].mems);
	return 0;
}

int merged_svg(FILE *f, struct merged *m, const char *title)
{
	struct sheet s = { .f = f, .m = m };
	struct merged_key *key = NULL;
	unsigned n = 0;
	int rc = merged_keys(m, &key, &n);

	s.owner = calloc(n + 1u, sizeof(*s.owner));
	if (rc < 0 || !s.owner) {
		free(key);
		free(s.owner);
		return -1;
	}
	s.n_owners = n;
	for (unsigned i = 0; i < n; i++) {
		s.owner[i].key = key[i];
		picture_colour(s.owner[i].colour, PICTURE_CONTAINER, i);
	}
	for (unsigned i = 0; i < m->n_nodes && rc == 0; i++) {
		s.has_service |= !idset_empty(&m->node[i].service_cpus);
		if (!m->node[i].n_parts)
			rc = add_flat_part(&m->node[i]);
	}
	if (rc == 0)
		rc = draw_sheet(&s, title);
	free(s.owner);
	free(key);
	return rc;
}
