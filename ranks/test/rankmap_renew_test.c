/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expected sets are written by hand from the rules in ranks/rankmap_renew.h. */
#include "base/test/rnd.h"
#include "base/test/tap.h"
#include "ranks/rankmap_renew.h"

#define MOST 12

struct test {
	const char *name;
	unsigned cores, smt; /* core c has threads c, c + cores, ... */
	const char *before, *after;
	const char *now[MOST]; /* NULL-terminated */
	const char *want[MOST]; /* the sets; or the error in want[0], after a '!' */
};

static const struct test tests[] = {
	{ "a rank with the whole container gets the whole new container",
	  8,
	  1,
	  "0-3",
	  "2-7",
	  { "0-3" },
	  { "2-7" } },
	{ "two ranks that each have the whole container get the whole new one",
	  8,
	  2,
	  "0-3,8-11",
	  "0-1,8-9",
	  { "0-3,8-11", "0-3,8-11" },
	  { "0-1,8-9", "0-1,8-9" } },
	{ "a larger container gives each rank more cores",
	  8,
	  1,
	  "0-3",
	  "0-7",
	  { "0-1", "2-3" },
	  { "0-1,4-5", "2-3,6-7" } },
	{ "the first ranks get the remainder",
	  8,
	  1,
	  "0-3",
	  "0-4",
	  { "0-1", "2-3" },
	  { "0-1,4", "2-3" } },
	{ "a smaller container leaves each rank some of its own cores",
	  8,
	  1,
	  "0-7",
	  "0-1,4-5",
	  { "0-3", "4-7" },
	  { "0-1", "4-5" } },
	{ "a rank that loses all its cores gets the nearest free ones",
	  8,
	  1,
	  "0-3",
	  "2-3,6-7",
	  { "0", "1", "2", "3" },
	  { "6", "7", "2", "3" } },
	{ "ranks that had whole cores get whole cores with all their threads",
	  4,
	  2,
	  "0-1,4-5",
	  "0-3,4-7",
	  { "0,4", "1,5" },
	  { "0,2,4,6", "1,3,5,7" } },
	{ "ranks that had threads get threads",
	  4,
	  2,
	  "0,4",
	  "0-1,4-5",
	  { "0", "4" },
	  { "0-1", "4-5" } },
	{ "a rank that had part of the container keeps its number of cores",
	  8,
	  1,
	  "0-3",
	  "0-7",
	  { "0-1" },
	  { "0-1" } },
	{ "a rank that had part of the container gets as many cores of another container",
	  8,
	  1,
	  "0-3",
	  "4-7",
	  { "0-1" },
	  { "4-5" } },
	{ "a rank that had part of the container gets fewer cores of a smaller container",
	  8,
	  1,
	  "0-7",
	  "6-7",
	  { "0-2" },
	  { "6-7" } },
	{ "more ranks than cores are refused",
	  8,
	  1,
	  "0-3",
	  "0-1",
	  { "0", "1", "2" },
	  { "!3 ranks do not fit on 2 cores" } },
	{ "more ranks than threads are refused",
	  2,
	  2,
	  "0-3",
	  "0",
	  { "0", "2" },
	  { "!2 ranks do not fit on 1 thread" } },
	{ "ranks that shared cores share the new cores",
	  8,
	  1,
	  "0-1",
	  "0",
	  { "0", "1", "0", "1" },
	  { "0", "0", "0", "0" } },
	{ "ranks that shared a core get a core each", 8, 1, "0", "0", { "0", "0" }, { "0", "0" } },
	{ "a launcher that had the whole container gets the whole new one, beside other ranks",
	  8,
	  1,
	  "0-3",
	  "0-1",
	  { "0-3", "0-1", "2-3" },
	  { "0-1", "0", "1" } },
	{ "a container without CPUs is refused",
	  8,
	  1,
	  "0-3",
	  "",
	  { "0-3" },
	  { "!the container has no CPU left" } },
};

static struct idset set_of(const char *list)
{
	struct errbuf err;
	struct idset s;

	if (idset_parse(&s, list, &err) < 0)
		abort();
	return s;
}

static void make_cores(struct idset *core, unsigned cores, unsigned smt)
{
	for (unsigned c = 0; c < cores; c++) {
		idset_zero(&core[c]);
		for (unsigned t = 0; t < smt; t++)
			idset_add(&core[c], c + t * cores);
	}
}

static void run(const struct test *t)
{
	struct idset core[64], now[MOST], out[MOST], before = set_of(t->before),
						     after = set_of(t->after);
	struct rankmap_renew in = {
		.now = now, .before = &before, .after = &after, .n_cores = t->cores, .core = core
	};
	struct errbuf err = { 0 };
	char got[128];
	int rc;

	make_cores(core, t->cores, t->smt);
	for (; t->now[in.n_ranks]; in.n_ranks++)
		now[in.n_ranks] = set_of(t->now[in.n_ranks]);
	rc = rankmap_renew(&in, out, &err);
	if (*t->want[0] == '!') {
		is(rc < 0 ? err.text : "no error", t->want[0] + 1, "rankmap_renew: %s", t->name);
		is_int(err.code, idset_empty(&after) ? PLAN_OK : PLAN_NO_RANK_CPUS,
		       "rankmap_renew: %s: sets the code of the refusal", t->name);
		return;
	}
	is_int(rc, 0, "rankmap_renew: %s (%s)", t->name, err.text);
	for (unsigned r = 0; rc == 0 && r < in.n_ranks; r++)
		is(idset_brief(got, &out[r]), t->want[r],
		   "rankmap_renew: %s: rank %u gets its CPUs", t->name, r);
}

/*
 * Ranks divide all of a random container, which then becomes another random one. Returns what is
 * wrong with the new division, or NULL.
 */
static const char *wrong(void)
{
	enum { CORES = 16 };
	struct idset core[CORES], now[CORES], out[CORES], before, after, seen;
	unsigned smt = 1 + rnd(2), n, had = 0, has = 0, at = 0, fewest = CORES, most = 0;
	struct rankmap_renew in = {
		.now = now, .before = &before, .after = &after, .n_cores = CORES, .core = core
	};
	struct errbuf err;

	make_cores(core, CORES, smt);
	idset_zero(&before);
	idset_zero(&after);
	idset_zero(&seen);
	for (unsigned c = 0; c < CORES; c++) {
		bool was = rnd(2), is = rnd(2);

		if (was)
			idset_or(&before, &core[c]);
		if (is)
			idset_or(&after, &core[c]);
		had += was;
		has += is;
	}
	if (!had || !has)
		return NULL;
	n = 1 + rnd(had);
	in.n_ranks = n;
	for (unsigned r = 0; r < n; r++)
		idset_zero(&now[r]);
	for (unsigned c = 0; c < CORES; c++)
		if (idset_intersects(&core[c], &before))
			idset_or(&now[at++ * n / had], &core[c]);
	if (n > has)
		return rankmap_renew(&in, out, &err) < 0 ? NULL : "more ranks than cores";
	if (rankmap_renew(&in, out, &err) < 0)
		return err.text[0] ? "an error" : "an error without a message";
	for (unsigned r = 0; r < n; r++) {
		struct idset both = now[r];
		unsigned cores = idset_count(&out[r]) / smt, could, kept;

		idset_and(&both, &after);
		could = idset_count(&both) / smt;
		idset_and(&both, &out[r]);
		kept = idset_count(&both) / smt;
		if (idset_empty(&out[r]) || !idset_subset(&out[r], &after))
			return "a rank outside of the container";
		if (idset_intersects(&seen, &out[r]))
			return "two ranks on one core";
		if (kept != (could < cores ? could : cores))
			return "a rank lost a core that it could keep";
		idset_or(&seen, &out[r]);
		fewest = cores < fewest ? cores : fewest;
		most = cores > most ? cores : most;
	}
	if (!idset_equal(&seen, &after))
		return "a core is unused";
	return most > fewest + 1 ? "uneven shares" : NULL;
}

static void thread(const char *mask, const char *before, const char *after, const char *want,
		   const char *what)
{
	struct idset m = set_of(mask), b = set_of(before), a = set_of(after), got;
	char buf[128];

	got = rankmap_renew_thread(&m, &b, &a);
	is(idset_brief(buf, &got), want, "%s", what);
}

int main(void)
{
	const char *bad = NULL;
	unsigned i;

	rnd_state = 88172645463325252u;
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		run(&tests[i]);
	for (i = 0; i < 20000 && !bad; i++)
		bad = wrong();
	is(bad, NULL, "rankmap_renew: ranks divide %u random containers as specified", i);
	thread("0-3", "0-3", "4-5", "4-5",
	       "rankmap_renew_thread: a thread with all CPUs of its rank gets all new CPUs");
	thread("0-7", "0-3", "4-5", "4-5",
	       "rankmap_renew_thread: a thread with more CPUs than its rank gets all CPUs of the "
	       "rank");
	thread("1", "0-3", "0-1", "1",
	       "rankmap_renew_thread: a bound thread stays on a CPU that remains");
	thread("3", "0-3", "0-1", "1",
	       "rankmap_renew_thread: a bound thread goes from the k-th to the k-th CPU, modulo "
	       "the number of CPUs");
	thread("2-3", "0-3", "4-7", "6-7",
	       "rankmap_renew_thread: a thread bound to several CPUs goes from the k-th CPU of the "
	       "old set to the k-th CPU of the new set, for each of its CPUs");
	thread("2", "0-3", "4", "4", "rankmap_renew_thread: a bound thread goes to the only CPU");
	thread("9", "0-3", "4-5", "4-5",
	       "rankmap_renew_thread: a thread bound outside of its rank gets all CPUs of the "
	       "rank");
	return tap_done();
}
