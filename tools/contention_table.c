/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "tools/contention_seen.h"

#define BAR 30 /* characters of a bar; six characters are a factor of 10 */
#define LOAD_BAR 20
#define LATE 30 /* age in seconds from which a document is reported as old */

/* Write SECONDS to BUF, as "12 s", "3 min", "2 h" or "5 d". Returns BUF. */
static const char *format_age(char buf[32], double seconds)
{
	static const struct {
		double length;
		const char *name;
	} unit[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } };

	for (unsigned i = 0; i < 3; i++)
		if (seconds >= 2 * unit[i].length) {
			snprintf(buf, 32, "%.0f %s", seconds / unit[i].length, unit[i].name);
			return buf;
		}
	snprintf(buf, 32, "%.0f s", seconds > 0 ? seconds : 0);
	return buf;
}

/*
 * Write VALUE to BUF with a prefix such as M. With BASE 1000, the text is as "48.2 M"; with BASE
 * 1024, for bytes, as "48.2 MiB" or "12 B". Returns the text, or "?" if VALUE is unknown.
 */
static const char *format_size(char buf[32], double value, double base)
{
	static const char unit[] = " kMGTP";
	bool bytes = base > 1000;
	unsigned i = 0;

	if (value < 0)
		return "?";
	for (; value >= base && i < 5; i++)
		value /= base;
	if (i == 0)
		snprintf(buf, 32, "%.0f%s", value, bytes ? " B" : "");
	else
		snprintf(buf, 32, "%.1f %c%s", value, unit[i] == 'k' && bytes ? 'K' : unit[i],
			 bytes ? "iB" : "");
	return buf;
}

/* Write VALUE to BUF with DIGITS decimals. Returns the text, or "?" if VALUE is unknown. */
static const char *format_known(char buf[32], double value, int digits)
{
	if (value < 0)
		return "?";
	snprintf(buf, 32, "%.*f", digits, value);
	return buf;
}

/* Write the numbers of ranks in each class to BUF, as "2 devils, 1 turtle". Returns BUF. */
static const char *format_classes(char buf[128], unsigned turtles, unsigned semi_devils,
				  unsigned devils, unsigned unknown)
{
	const struct {
		unsigned n;
		const char *one, *many;
	} part[] = { { devils, "devil", "devils" },
		     { semi_devils, "semi-devil", "semi-devils" },
		     { turtles, "turtle", "turtles" },
		     { unknown, "unknown", "unknown" } };
	size_t used = 0;

	strcpy(buf, "none");
	for (unsigned i = 0; i < 4; i++)
		if (part[i].n)
			used += (size_t)snprintf(buf + used, 128 - used, "%s%u %s",
						 used ? ", " : "", part[i].n,
						 part[i].n == 1 ? part[i].one : part[i].many);
	return buf;
}

/* Draw a rank's rate as a bar on the logarithmic scale, with marks at the bounds of the classes. */
static void make_bar(char bar[BAR + 1], const struct seen_step *s, const struct seen_rank *r)
{
	static const char fill[] = {
		[RANK_UNKNOWN] = '.',
		[RANK_TURTLE] = '-',
		[RANK_SEMI_DEVIL] = '=',
		[RANK_DEVIL] = '#',
	};
	unsigned n = r->rate > 0 ? (unsigned)(contention_scale(r->rate) * BAR + 0.5) : 0;

	memset(bar, ' ', BAR);
	memset(bar, fill[r->class], n);
	if (s->turtle > 0)
		bar[(unsigned)(contention_scale(s->turtle) * (BAR - 1))] = '|';
	if (s->devil > 0)
		bar[(unsigned)(contention_scale(s->devil) * (BAR - 1))] = '|';
	bar[BAR] = '\0';
}

static void print_rank_line(FILE *f, const struct seen_step *s, const struct seen_rank *r)
{
	char number[32], domain[32], cpu[32], rate[32], age[32], bar[BAR + 1], command[32],
		container[32], cpus[24], why[128];

	make_bar(bar, s, r);
	snprintf(number, sizeof(number), r->rank >= 0 ? "%ld" : "(%ld)",
		 r->rank >= 0 ? r->rank : r->pid);
	fprintf(f, "%6s %-15s %-10s %-8s %6s %6s %8s %s %s", number,
		printable(command, sizeof(command), r->command),
		r->container ? printable(container, sizeof(container), r->container) : "-",
		printable(cpus, sizeof(cpus), *r->cpus ? r->cpus : "-"),
		format_known(domain, r->domain, 0), format_known(cpu, r->cpu, 1),
		format_known(rate, r->rate, 1), bar, rank_class_name(r->class));
	if (r->since > 0)
		fprintf(f, " for %s", format_age(age, s->time - r->since));
	/* if no counter counts, the reason is already above the table */
	if (r->why && !s->why)
		fprintf(f, ": %s", printable(why, sizeof(why), r->why));
	if (r->pages_chosen)
		fprintf(f, ", %s of %s followed (%.16s)", format_size(rate, r->pages, 1024),
			format_size(cpu, r->pages_of, 1024), r->pages_chosen);
	fprintf(f, "%s%s%s\n", r->idle ? ", idle" : "", r->scaled ? ", scaled" : "",
		r->quiet ? ", read rarely" : "");
}

static void print_sum_line(FILE *f, const struct seen_sum *c)
{
	char classes[128], name[64], rate[32], cpu[32], size[5][32];

	if (c->name)
		fprintf(f, "container %s: ", printable(name, sizeof(name), c->name));
	else
		fputs("no container: ", f);
	fprintf(f,
		"%s (%s), mean %s, CPU %s %%, memory %s, sent %s, received %s, read %s, "
		"written %s\n",
		rank_class_name(c->class),
		format_classes(classes, c->turtles, c->semi_devils, c->devils, c->unknown),
		format_known(rate, c->rate, 1), format_known(cpu, c->cpu, 0),
		format_size(size[0], c->memory, 1024), format_size(size[1], c->sent, 1024),
		format_size(size[2], c->received, 1024), format_size(size[3], c->read, 1024),
		format_size(size[4], c->written, 1024));
}

static void print_placing_line(FILE *f, const struct seen_placing *p)
{
	char name[64], why[4 * 160], pages[4 * 160], units[4 * 160];

	fprintf(f, "placed by %.16s: container %s: %.0f moves; %s%s\n", p->policy,
		printable(name, sizeof(name), p->container), p->moves,
		printable(why, sizeof(why), p->why),
		p->balanced ? "; the kernel's numa_balancing moves pages, too" : "");
	if (p->units)
		fprintf(f, "  %s\n", printable(units, sizeof(units), p->units));
	if (p->pages)
		fprintf(f, "  pages: %s (CPUs of other jobs drained their LRU lists %.0f times)\n",
			printable(pages, sizeof(pages), p->pages), p->drains);
}

static void print_head(FILE *f, const struct seen_step *s, double now)
{
	char age[32], host[80], row[80], why[128];

	fprintf(f, "job %u step %.12s of user %ld on %s, seen for %s%s\n", s->job, s->step, s->uid,
		printable(host, sizeof(host), s->host), format_age(age, s->time - s->started),
		s->ended ? ": ended" : "");
	if (now > 0 && !s->ended && now - s->time > LATE)
		fprintf(f,
			"  written %s ago: does the daemon run? (systemctl status "
			"nodeos-contend)\n",
			format_age(age, now - s->time));
	if (strcmp(s->provider, "none") == 0)
		fprintf(f, "  counters: none on this node, so classes are unknown: %s\n",
			s->why ? printable(why, sizeof(why), s->why)
			       : "journalctl -u nodeos-contend");
	else if (s->row)
		fprintf(f, "  counters: %s, events %s, quality %s%s\n", s->provider,
			printable(row, sizeof(row), s->row), s->quality ? s->quality : "?",
			s->simulated ? ", of a SIMULATED cache" : "");
	else
		fprintf(f, "  counters: %s%s\n", s->provider,
			s->simulated ? ", of a SIMULATED cache" : "");
	fprintf(f,
		"  misses for 10,000 instructions: turtle to %.0f, semi-devil to %.0f, devil "
		"above\n\n",
		s->turtle, s->devil);
}

static void print_step_table(FILE *f, const struct seen_step *s, double now)
{
	print_head(f, s, now);
	fprintf(f, "%6s %-15s %-10s %-8s %6s %6s %8s %-*s %s\n", "RANK", "COMMAND", "CONTAINER",
		"CPUS", "DOMAIN", "CPU%", "MISSES", BAR, "0.1   1     10    100   1k", "CLASS");
	for (unsigned i = 0; i < s->n; i++)
		print_rank_line(f, s, &s->rank[i]);
	putc('\n', f);
	for (unsigned i = 0; i < s->n_sums; i++)
		print_sum_line(f, &s->sum[i]);
	for (unsigned i = 0; i < s->n_placings; i++)
		print_placing_line(f, &s->placing[i]);
	putc('\n', f);
}

static void print_domain_line(FILE *f, unsigned number, const struct seen_domain *d)
{
	char rate[32], peak[32], cpus[40], mems[40], classes[128], bar[LOAD_BAR + 1];
	double load = d->rate >= 0 && d->peak > 0 ? d->rate / d->peak : -1;

	fprintf(f, "%6u %-12s %-6s %9s %9s", number,
		printable(cpus, sizeof(cpus), *d->cpus ? d->cpus : "-"),
		printable(mems, sizeof(mems), *d->mems ? d->mems : "-"),
		format_size(rate, d->rate, 1000), format_size(peak, d->peak, 1000));
	memset(bar, ' ', LOAD_BAR);
	bar[LOAD_BAR] = '\0';
	if (load >= 0) {
		memset(bar, '#', (size_t)((load < 1 ? load : 1) * LOAD_BAR + 0.5));
		fprintf(f, " %4.0f %% [%s]", load * 100, bar);
	} else {
		fprintf(f, " %4s %% [%s]", "?", bar);
	}
	fprintf(f, " %s%s\n",
		format_classes(classes, d->turtles, d->semi_devils, d->devils, d->unknown),
		d->peak > 0 && !d->calibrated ? "; peak: the highest seen" : "");
}

void contention_print_table(FILE *f, const struct seen *s, double now)
{
	const struct seen_step *last = s->n ? &s->step[0] : NULL;

	for (unsigned i = 0; i < s->n; i++) {
		print_step_table(f, &s->step[i], now);
		if (s->step[i].time > last->time)
			last = &s->step[i];
	}
	/* each document lists all domains of the host: print those of the latest document */
	if (!last || !last->n_domains)
		return;
	fprintf(f, "%6s %-12s %-6s %9s %9s %6s %*s %s\n", "DOMAIN", "CPUS", "MEMS", "MISSES/S",
		"PEAK", "LOAD", LOAD_BAR + 2, "", "RANKS (of all jobs)");
	for (unsigned i = 0; i < last->n_domains; i++)
		print_domain_line(f, i, &last->domain[i]);
}
