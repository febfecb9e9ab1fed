/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/rank_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/step_id.h"

#define BACK_MAX 1024 /* greatest distance of ranks that are compared for a pattern */
#define NUMBER_DIGITS 9 /* greatest number of digits in the number of a task */

/* The properties of a rank that are compared. */
struct key {
	unsigned number; /* number of the task */
	unsigned place; /* index of the first rank in the same place */
	/* index of the first rank whose CPUs are the same after a shift of their numbers */
	unsigned shape;
	int first; /* its first CPU */
	uint64_t hash; /* hash of the shape */
};

/* Set DST to SRC with BY added to each id. Returns 0, or -1 if an id would be out of range. */
static int move_set(struct idset *dst, const struct idset *src, int by)
{
	idset_zero(dst);
	for (int id = idset_next(src, -1); id >= 0; id = idset_next(src, id)) {
		if (id + by < 0 || id + by >= IDSET_MAX)
			return -1;
		idset_add(dst, (unsigned)(id + by));
	}
	return 0;
}

/* Parse a number. A leading zero is refused, because formatting would not restore it. */
static int rank_runs_parse_number(const char **at, unsigned *out)
{
	size_t len = strspn(*at, "0123456789");

	if (len == 0 || len > NUMBER_DIGITS || (**at == '0' && len > 1))
		return -1;
	*out = (unsigned)strtoul(*at, NULL, 10);
	*at += len;
	return 0;
}

static int task_number(const char *task, unsigned *out)
{
	if (strncmp(task, "task_", 5) != 0)
		return -1;
	task += 5;
	return rank_runs_parse_number(&task, out) < 0 || *task ? -1 : 0;
}

static bool is_place(const char *place)
{
	struct errbuf ignored;

	return strcmp(place, LEDGER_REST) == 0 || request_check_name(place, &ignored) == 0;
}

static uint64_t hash_of(const struct idset *s)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < IDSET_WORDS; i++)
		h = (h ^ s->word[i]) * UINT64_C(1099511628211);
	return h;
}

static bool same_shape(const struct ledger_rank *r, const struct key *key, unsigned a, unsigned b)
{
	struct idset moved;

	return key[a].hash == key[b].hash &&
	       move_set(&moved, &r[a].cpus, key[b].first - key[a].first) == 0 &&
	       idset_equal(&moved, &r[b].cpus);
}

/* Fill KEY[I] after the keys before it. FIRSTS lists the N_FIRSTS ranks so far with a new shape. */
static int make_key(struct key *key, const struct ledger_rank *r, unsigned i, unsigned *firsts,
		    unsigned *n_firsts)
{
	struct key *k = &key[i];
	struct idset moved;

	k->first = idset_next(&r[i].cpus, -1);
	if (k->first < 0 || task_number(r[i].task, &k->number) < 0 || !is_place(r[i].place))
		return -1;
	move_set(&moved, &r[i].cpus, -k->first);
	k->hash = hash_of(&moved);
	k->place = k->shape = i;
	if (i && strcmp(r[key[i - 1].place].place, r[i].place) == 0)
		k->place = key[i - 1].place;
	for (unsigned j = 0; k->place == i && j < i; j++)
		if (key[j].place == j && strcmp(r[j].place, r[i].place) == 0)
			k->place = j;
	for (unsigned j = 0; k->shape == i && j < *n_firsts; j++)
		if (same_shape(r, key, firsts[j], i))
			k->shape = firsts[j];
	if (k->shape == i)
		firsts[(*n_firsts)++] = i;
	return 0;
}

/*
 * Return how many ranks from AT on follow a pattern: their task numbers are consecutive, and each
 * has the place of the rank BACK positions before it, on CPUs that are higher by BY.
 */
static unsigned count_repeats(const struct key *key, unsigned n, unsigned at, unsigned back, int by)
{
	unsigned len = 0;

	for (; at + len < n; len++) {
		const struct key *k = &key[at + len], *b = k - back;

		if (k->place != b->place || k->shape != b->shape || k->first - b->first != by ||
		    k->number != key[at].number + len)
			break;
	}
	return len;
}

/* Print the token that covers the most ranks from AT on. Returns the number of these ranks. */
static unsigned put_token(FILE *f, const struct ledger_rank *r, const struct key *key, unsigned n,
			  unsigned at)
{
	/*
	 * a token of place and CPUs covers a rank and the following ranks with the same place and
	 * CPUs
	 */
	unsigned longest = 1 + count_repeats(key, n, at + 1, 1, 0), back = 0, len;
	char list[IDSET_LIST_MAX];

	if (at + 1 < n && key[at + 1].number != key[at].number + 1)
		longest = 1;
	for (unsigned b = 1; b <= at && b <= BACK_MAX && at + longest < n; b++) {
		len = count_repeats(key, n, at, b, key[at].first - key[at - b].first);
		if (len > longest) {
			longest = len;
			back = b;
		}
	}
	fprintf(f, "%s%u", at ? " " : "", key[at].number);
	if (longest > 1)
		fprintf(f, "-%u", key[at].number + longest - 1);
	if (back)
		fprintf(f, "<%u%+d", back, key[at].first - key[at - back].first);
	else if (idset_format(&r[at].cpus, list, sizeof(list)) > 0)
		fprintf(f, ":%s:%s", r[at].place, list);
	return longest;
}

char *rank_runs_format(const struct ledger_rank *r, unsigned n)
{
	struct key *key = calloc(n + 1u, sizeof(*key));
	unsigned *firsts = calloc(n + 1u, sizeof(*firsts)), n_firsts = 0, done = 0;
	bool good = key && firsts;
	char *text = NULL;
	size_t size;
	FILE *f;

	for (unsigned i = 0; good && i < n; i++)
		good = make_key(key, r, i, firsts, &n_firsts) == 0;
	f = good ? open_memstream(&text, &size) : NULL;
	while (f && done < n)
		done += put_token(f, r, key, n, done);
	if (f && fclose(f) != 0) {
		free(text);
		text = NULL;
	}
	free(key);
	free(firsts);
	return text;
}

/* Parse a place and CPUs, such as ":sim:0-3", at *AT, up to the next blank. */
static int parse_place(const char **at, struct ledger_rank *out, struct errbuf *err)
{
	const char *place = *at + 1, *colon = strchr(place, ':'), *list = colon ? colon + 1 : "";
	size_t len = colon ? (size_t)(colon - place) : 0, list_len = strcspn(list, " ");
	char *copy;
	int rc = -1;

	if (len == 0 || len >= sizeof(out->place) || list_len == 0)
		return -1;
	memcpy(out->place, place, len);
	out->place[len] = '\0';
	if (!is_place(out->place))
		return -1;
	copy = strndup(list, list_len);
	if (copy)
		rc = idset_parse(&out->cpus, copy, err);
	free(copy);
	*at = list + list_len;
	return rc;
}

/* Parse a distance and a shift, such as "64+4", at *AT. */
static int parse_back(const char **at, unsigned *back, int *by)
{
	unsigned number;
	bool down;

	if (rank_runs_parse_number(at, back) < 0 || (**at != '+' && **at != '-'))
		return -1;
	down = *(*at)++ == '-';
	if (rank_runs_parse_number(at, &number) < 0 || number >= IDSET_MAX)
		return -1;
	*by = down ? -(int)number : (int)number;
	return 0;
}

/* Parse a token at *AT and append its ranks to S. */
static int parse_token(struct ledger_step *s, const char **at, struct errbuf *err)
{
	struct ledger_rank model = { .task = "" };
	unsigned first, last, back = 0;
	int by = 0;

	if (rank_runs_parse_number(at, &first) < 0)
		return -1;
	last = first;
	if (**at == '-' && (++*at, rank_runs_parse_number(at, &last) < 0))
		return -1;
	if (last < first || last - first >= STEP_RANKS_MAX - s->n_placed)
		return -1;
	if (**at == ':' ? parse_place(at, &model, err) < 0
			: **at != '<' || (++*at, parse_back(at, &back, &by) < 0) || back == 0 ||
				  back > s->n_placed)
		return -1;
	for (unsigned number = first; number <= last; number++) {
		struct ledger_rank *r = ledger_step_add_rank(s);

		if (!r)
			return -1;
		if (!back) {
			*r = model;
		} else {
			memcpy(r->place, (r - back)->place, sizeof(r->place));
			if (move_set(&r->cpus, &(r - back)->cpus, by) < 0)
				return -1;
		}
		snprintf(r->task, sizeof(r->task), "task_%u", number);
	}
	return 0;
}

int rank_runs_parse(struct ledger_step *s, const char *runs, struct errbuf *err)
{
	const char *at = runs;
	struct errbuf ignored;

	for (;;) {
		const char *token = at;

		if (parse_token(s, &at, &ignored) < 0 || (*at && *at != ' '))
			return errprintf(err, "the ranks \"%.40s\" of step %u are damaged", token,
					 s->step_id);
		if (!*at)
			return 0;
		at++;
	}
}
