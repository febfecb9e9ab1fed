/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the parser and planner of the kernel parameter fgmn=, taken from the patches, in user
 * space: the documented messages, and the rules of a plan with random machines and specifications.
 * With libFuzzer, the input is any bytes. fgmn_test [NUMBER [SEED]]: tests NUMBER random
 * specifications.
 */
#include <linux/kernel.h>

#include "mm/fgmn_plan.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_BLOCKS 1024

static struct fgmn_spec spec;
static struct fgmn_plan plan;
static struct fgmn_block blocks[MAX_BLOCKS];
static int tests, failures;

static void ok(int cond, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%sok %d - ", cond ? "" : "not ", ++tests);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	failures += !cond;
}

static void check(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "violated: %s\n", what);
	abort();
}

static int run(const char *text, const struct fgmn_options *opt, const struct fgmn_phys *phys,
	       int nr_phys, unsigned max_nodes, struct fgmn_err *err)
{
	struct fgmn_limits limits = { max_nodes };

	plan.block = blocks;
	plan.max_blocks = MAX_BLOCKS;
	err->text[0] = '\0';
	return fgmn_parse(text, &spec, err)
		       ?: fgmn_make_plan(&spec, opt, phys, nr_phys, &limits, &plan, err);
}

/* ---------------------------------------------------------------- messages */

/* The machine of the Argo paper: two sockets of 64 GiB; 2 GiB of the first are below 4 GiB. */
static const struct fgmn_range paper0[] = { { 0, 2048 }, { 4096, 67584 } },
			       paper1[] = { { 67584, 133120 } };
static const struct fgmn_phys paper[] = { { 0, 2, paper0 }, { 1, 1, paper1 } };

static void messages(void)
{
	static const struct {
		const char *text, *options;
		int offset;
		const char *message;
	} table[] = {
		{ "0:2.6G", "", 3, "decimals are not supported, use 2662M" },
		{ "0:22x", "", 5, "size expected after 'x'" },
		{ "5:1G", "", 0, "node 5 has no memory (nodes with memory: 0-1)" },
		{ "0:1G/0:2G", "", 5, "node 0 specified twice" },
		{ "0:16M", "", 2, "16M is below the minimum of 32M" },
		{ "0:30x4G", "", 2, "node 0: needs 122880M, has 62915M after home=2621M" },
		{ "all:600x64M", "", -1,
		  "1202 nodes needed, kernel supports 1024 (CONFIG_NODES_SHIFT)" },
		{ "0:home=512M,maxx1G", "", -1,
		  "node 0: home must cover 2048M below 4G (or fgmn_opt=lowmem:split)" },
		{ "0:1G!z", "", 5, "unknown flag 'z' (known: c m)" },
		{ "0:1x16G!c", "", -2, "node 0: no 1G-aligned contiguous 16384M (largest 14336M)" },
		{ "", "", 0, "empty specification" },
		{ "0:", "", 0, "empty specification" },
		{ "0:1", "", 3, "a unit (K M G T %) expected at the end" },
		{ "0:1Q", "", 3, "a unit (K M G T %) expected, not 'Q'" },
		{ "0:\x01", "", 2, "a size, a count, 'max' or 'home=' expected, not byte 0x01" },
		{ "0:rest", "", 2, "'rest' needs a count, as 4xrest" },
		{ "0:0x1G", "", 2, "a count is 1 to 1000000" },
		{ "0:4xrest,maxx1G", "", 9, "only one of 'rest' and 'max' in a group" },
		{ "0:home=1G", "", 0, "a home, but no blocks" },
		{ "0:home=1G,home=2G,1G", "", 10, "home= is given twice" },
		{ "1-0:1G", "", 0, "nodes 1-0 are in the wrong order" },
		{ "0-1:1G/1:1G", "", 7, "node 1 specified twice" },
		{ "1:1G/all:1G", "", 5, "node 1 specified twice" },
		{ "0:1G;1:1G", "", 4, "',', '/' or the end expected, not ';'" },
		{ "0:99999999999G", "", 2, "the number is too large (at most 1000000000)" },
		{ "0:9999999G", "", 9, "the size is too large" },
		{ "0:101%", "", 5, "a percentage is 1 to 100" },
		{ "0:home=64M,1G", "", -1, "node 0: home=64M is below the minimum of 128M" },
		{ "1:home=65G,1G", "", -1, "node 1: home=66560M, but the node has 65536M" },
		{ "0:1G", "align:48M", 0, "align is a power of two from 32M to 64G" },
		{ "0:1G", "best,cpus:all", 5,
		  "unknown option (known: dist: align: home: lowmem:keep lowmem:split strict "
		  "best)" },
		{ "0:1G", "dist:10", 0, "dist is 11 to 254" },
		{ "0:1G", "strict,best", 7, "'strict' or 'best' is given twice" },
		{ "0:1G", "dist:11,dist:11", 8, "dist: is given twice" },
		{ "0:1G", "lowmem:keep,lowmem:split", 12, "lowmem: is given twice" },
		{ "0:1G", "lowmem:no", 7, "'keep' or 'split' expected, not 'n'" },
		{ "0:1G", "home:3G,home:3G", 8, "home: is given twice" },
		{ "0:1G", "best,", 5,
		  "unknown option (known: dist: align: home: lowmem:keep lowmem:split strict "
		  "best)" },
		{ "0:1500x32M", "best", -1,
		  "1025 nodes needed, kernel supports 1024 (CONFIG_NODES_SHIFT)" },
	};
	/* a node with holes: the largest contiguous piece at a multiple of 1 GiB has 14 GiB */
	static const struct fgmn_range holes[] = { { 0, 2048 }, { 4096, 18900 }, { 19000, 34000 } };
	static const struct fgmn_phys torn[] = { { 0, 3, holes } };
	struct fgmn_err err;

	for (size_t i = 0; i < COUNT(table); i++) {
		struct fgmn_options opt = FGMN_DEFAULT_OPTIONS;
		int torn_one = table[i].offset == -2, rc = 0;

		if (*table[i].options)
			rc = fgmn_parse_options(table[i].options, &opt, &err);
		rc = rc
			     ?: run(table[i].text, &opt, torn_one ? torn : paper, torn_one ? 1 : 2,
				    1024, &err);
		ok(rc < 0 && strcmp(err.text, table[i].message) == 0,
		   "\"%s\" %s is refused with the right message: %s", table[i].text,
		   table[i].options, err.text);
		ok(err.offset == (torn_one ? 2 : table[i].offset),
		   "\"%s\" %s is refused at the right place, %d", table[i].text, table[i].options,
		   err.offset);
	}
}

/* -------------------------------------------------------------------- plans */

static void plans(void)
{
	static const struct {
		const char *text, *options, *blocks; /* each block as home:start+size, in MiB */
	} table[] = {
		{ "0:2G", "", "0:65536+2048" },
		{ "0:2x1G,1x2G", "", "0:63488+2048 0:65536+1024 0:66560+1024" },
		{ "1:4xrest", "home:1536M",
		  "1:69120+16000 1:85120+16000 1:101120+16000 1:117120+16000" },
		{ "1:home=50%,maxx10G", "", "1:102400+10240 1:112640+10240 1:122880+10240" },
		{ "all:1x25%", "", "0:51200+16384 1:116736+16384" },
		{ "0:40M", "", "0:67552+32" },
		{ "0:1G,1G!c", "", "0:65536+1024 0:66560+1024" },
		{ "0:512M,1G!c", "", "0:66048+512 0:66560+1024" },
		{ "0:home=128M,maxx1G/1:1G", "lowmem:split,best", NULL },
		{ "0:100G/1:1G", "best", "1:132096+1024" },
	};
	char text[4096];
	struct fgmn_err err;

	for (size_t i = 0; i < COUNT(table); i++) {
		struct fgmn_options opt = FGMN_DEFAULT_OPTIONS;
		size_t used = 0;
		int rc = *table[i].options ? fgmn_parse_options(table[i].options, &opt, &err) : 0;

		rc = rc ?: run(table[i].text, &opt, paper, 2, 1024, &err);
		if (rc < 0)
			printf("# %s\n", err.text);
		text[0] = '\0';
		for (unsigned k = 0; rc == 0 && k < plan.nr_blocks && used < sizeof(text) - 64; k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d:%lu+%lu",
						 k ? " " : "", blocks[k].home, blocks[k].start,
						 blocks[k].end - blocks[k].start);
		if (table[i].blocks)
			ok(strcmp(text, table[i].blocks) == 0,
			   "\"%s\" %s gives the right blocks: %s", table[i].text, table[i].options,
			   text);
		else
			ok(rc == 0 && plan.nr_blocks == 64 && blocks[0].start < 2048,
			   "\"%s\" %s gives 64 blocks, from low memory on: %u", table[i].text,
			   table[i].options, plan.nr_blocks);
	}
	{
		struct fgmn_options opt = FGMN_DEFAULT_OPTIONS;
		unsigned n = 0;

		ok(run("all:23x2720M", &opt, paper, 2, 1024, &err) == 0 && plan.nr_blocks == 46,
		   "plan: two nodes with 23 blocks each have 46 blocks");
		for (unsigned k = 0; k < plan.nr_blocks; k++)
			n += blocks[k].home == (k < 23 ? 0 : 1) &&
			     blocks[k].end - blocks[k].start == 2720;
		ok(n == 46, "plan: each node has 23 blocks of 2720M");
	}
}

/* ------------------------------------------------------------------- random */

static uint64_t state;

static unsigned long rnd(unsigned long n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (unsigned long)(state >> 11) % n : 0;
}

static struct fgmn_range range[4][12];
static struct fgmn_phys phys[4];

static int random_machine(void)
{
	int nodes = 1 + (int)rnd(4);
	unsigned long at = rnd(3) ? 0 : rnd(64);

	for (int i = 0; i < nodes; i++) {
		int n = 1 + (int)rnd(rnd(4) ? 3 : 12);

		phys[i].nid = i ? phys[i - 1].nid + 1 + (rnd(8) == 0) : (int)rnd(2);
		phys[i].range = range[i];
		phys[i].nr_ranges = n;
		for (int k = 0; k < n; k++) {
			range[i][k].start = at;
			at += 1 + rnd(rnd(4) ? 60000 : 2000);
			range[i][k].end = at;
			at += rnd(2) ? rnd(40) : rnd(3000);
		}
	}
	return nodes;
}

/* One kind of blocks that a group asks for, such as "4x512M!c", on each node of the group. */
struct asked_blocks {
	unsigned count, percent;
	unsigned long mib;
	int kind, contiguous;
};

static struct {
	int first, last, all, n;
	unsigned long home;
	struct asked_blocks item[6];
} asked[8];
static int n_asked;

static size_t random_size(char *buf, size_t size, struct asked_blocks *a)
{
	static const unsigned long sizes[] = { 32,  64,	 96,   100,  128,  256,
					       333, 512, 1024, 1536, 2048, 4096 };

	a->percent = 0;
	if (rnd(8) == 0) {
		a->percent = 1 + (unsigned)rnd(40);
		return (size_t)snprintf(buf, size, "%u%%", a->percent);
	}
	a->mib = sizes[rnd(COUNT(sizes))];
	if (a->mib % 1024 == 0 && rnd(2))
		return (size_t)snprintf(buf, size, "%luG", a->mib / 1024);
	if (rnd(6) == 0)
		return (size_t)snprintf(buf, size, "%luK", a->mib * 1024 + rnd(1024));
	return (size_t)snprintf(buf, size, "%luM", a->mib);
}

static size_t random_item(char *buf, size_t size, struct asked_blocks *a, int may_fill)
{
	size_t used = 0;

	memset(a, 0, sizeof(*a));
	a->count = 1;
	if (may_fill && rnd(3) == 0) {
		a->kind = rnd(2) ? FGMN_REST : FGMN_MAX;
		if (a->kind == FGMN_REST) {
			a->count = 1 + (unsigned)rnd(9);
			used = (size_t)snprintf(buf, size, "%uxrest", a->count);
		} else {
			used = (size_t)snprintf(buf, size, "maxx");
			used += random_size(buf + used, size - used, a);
		}
	} else {
		if (rnd(2)) {
			a->count = 1 + (unsigned)rnd(9);
			used = (size_t)snprintf(buf, size, "%ux", a->count);
		}
		used += random_size(buf + used, size - used, a);
	}
	if (rnd(10) == 0) {
		a->contiguous = 1;
		used += (size_t)snprintf(buf + used, size - used, "!c");
	}
	if (rnd(20) == 0)
		used += (size_t)snprintf(buf + used, size - used, "!m");
	return used;
}

static void random_text(char *buf, size_t size, int nodes)
{
	int at = 0, may_fill;
	size_t used = 0;

	n_asked = 0;
	while (at < nodes && n_asked < 8) {
		int last = at + (int)rnd((unsigned long)(nodes - at));

		asked[n_asked].all = at == 0 && rnd(3) == 0;
		if (asked[n_asked].all)
			last = nodes - 1;
		/* every node in a range must have memory */
		while (last > at && phys[last].nid - phys[at].nid != last - at)
			last--;
		if (asked[n_asked].all)
			last = nodes - 1;
		asked[n_asked].first = at;
		asked[n_asked].last = last;
		asked[n_asked].home = 0;
		used += (size_t)snprintf(buf + used, size - used, n_asked ? "/" : "");
		if (asked[n_asked].all)
			used += (size_t)snprintf(buf + used, size - used, "all:");
		else if (last > at)
			used += (size_t)snprintf(buf + used, size - used, "%d-%d:", phys[at].nid,
						 phys[last].nid);
		else
			used += (size_t)snprintf(buf + used, size - used, "%d:", phys[at].nid);
		if (rnd(3) == 0) {
			asked[n_asked].home = 128 + rnd(rnd(3) ? 9000 : 4000);
			used += (size_t)snprintf(buf + used, size - used, "home=%luM,",
						 asked[n_asked].home);
		}
		asked[n_asked].n = 1 + (int)rnd(4);
		may_fill = 1;
		for (int i = 0; i < asked[n_asked].n; i++) {
			used += (size_t)snprintf(buf + used, size - used, i ? "," : "");
			used += random_item(buf + used, size - used, &asked[n_asked].item[i],
					    may_fill);
			may_fill = may_fill && asked[n_asked].item[i].kind == FGMN_SIZE;
		}
		n_asked++;
		at = last + 1 + (rnd(4) == 0);
	}
}

/* Check the rules of a plan. Uses only the specification and the machine. */
static void judge(const struct fgmn_options *opt, int nodes)
{
	unsigned k = 0;

	for (int g = 0; g < n_asked; g++)
		for (int i = asked[g].first; i <= asked[g].last; i++) {
			unsigned long total = 0, low = 0, taken = 0, want[MAX_BLOCKS], spare;
			unsigned n = 0, first = k;
			int fill = -1;

			for (int r = 0; r < phys[i].nr_ranges; r++) {
				total += range[i][r].end - range[i][r].start;
				if (range[i][r].start < 4096)
					low += min(range[i][r].end, 4096UL) - range[i][r].start;
			}
			for (; k < plan.nr_blocks && blocks[k].home == phys[i].nid; k++) {
				int inside = 0;

				check(blocks[k].start < blocks[k].end, "a block has a size");
				check(k == first || blocks[k - 1].end <= blocks[k].start,
				      "blocks are ascending and disjoint");
				check(blocks[k].start % opt->align == 0 &&
					      blocks[k].end % opt->align == 0,
				      "blocks are aligned");
				check(opt->split_low || blocks[k].start >= 4096,
				      "low memory stays with the home");
				for (int r = 0; r < phys[i].nr_ranges; r++)
					inside |= blocks[k].start >= range[i][r].start &&
						  blocks[k].end <= range[i][r].end;
				check(inside, "a block is inside of one range");
				taken += blocks[k].end - blocks[k].start;
			}
			check(total - taken >= (opt->split_low ? 128 : max(low, 128UL)),
			      "the home keeps the minimum and its low memory");
			check(total - taken >= asked[g].home,
			      "the home has at least the specified size");
			for (int t = 0; t < asked[g].n; t++) {
				const struct asked_blocks *a = &asked[g].item[t];
				unsigned long align = a->contiguous ? max(1024UL, opt->align)
								    : opt->align;
				unsigned long mib = a->percent ? total * a->percent / 100 : a->mib;

				if (a->kind != FGMN_SIZE) {
					fill = t;
					continue;
				}
				/* no product exceeds 32 bits */
				if (a->percent)
					mib = total / 100 * a->percent +
					      total % 100 * a->percent / 100;
				for (unsigned c = 0; c < a->count; c++)
					want[n++] = mib / align * align;
			}
			/*
			 * remove the blocks that were specified by size; the others belong to
			 * "rest" or "max"
			 */
			for (unsigned b = first; b < k; b++) {
				unsigned w = 0;

				while (w < n && want[w] != blocks[b].end - blocks[b].start)
					w++;
				if (w < n)
					want[w] = want[--n];
				else
					check(fill >= 0, "every block is specified");
			}
			check(n == 0, "every specified block exists");
			if (fill < 0)
				continue;
			/*
			 * one more block of this size must not fit: the home is near its minimum,
			 * or the memory is fragmented
			 */
			spare = total - taken - max(asked[g].home, 128UL);
			if (asked[g].item[fill].kind == FGMN_MAX && !opt->split_low &&
			    asked[g].home >= low && !asked[g].item[fill].contiguous &&
			    !asked[g].item[fill].percent && asked[g].home) {
				unsigned long mib =
					asked[g].item[fill].mib / opt->align * opt->align;

				if (spare >= mib)
					for (int r = 0; r < phys[i].nr_ranges; r++) {
						unsigned long start = max(range[i][r].start,
									  4096UL),
							      end = range[i][r].end;

						/* the planner fills a range from its top */
						for (unsigned b = first; b < k; b++)
							if (blocks[b].start >= range[i][r].start &&
							    blocks[b].start < end)
								end = blocks[b].start;
						start = (start + opt->align - 1) / opt->align *
							opt->align;
						end = end / opt->align * opt->align;
						for (int t = 0; t < asked[g].n; t++)
							if (asked[g].item[t].contiguous)
								/*
								 * alignment may leave gaps above
								 * the blocks
								 */
								start = end;
						check(end < start + mib || end < start,
						      "no further block would fit");
					}
			}
		}
	check(k == plan.nr_blocks, "only specified nodes have blocks, in the order of the nodes");
	(void)nodes;
}

static void random_ones(unsigned long number)
{
	static const char odd[] = "0123456789xGMKT%!cm,/:-=.allrestmaxhome ;*\t\x80";
	unsigned long planned = 0, refused = 0, broken = 0;
	char text[1024], copy[1024];
	struct fgmn_err err;

	for (unsigned long i = 0; i < number; i++) {
		struct fgmn_options opt = FGMN_DEFAULT_OPTIONS;
		int nodes = random_machine();

		random_text(text, sizeof(text), nodes);
		opt.align = 32UL << rnd(rnd(3) ? 1 : 7);
		opt.split_low = rnd(4) == 0;
		if (run(text, &opt, phys, nodes,
			rnd(4) ? 1024 : 1 + (unsigned)rnd(64) + (unsigned)nodes, &err) == 0) {
			judge(&opt, nodes);
			planned++;
		} else {
			check(err.text[0] && err.code != FGMN_E_SYNTAX && err.code != FGMN_E_NODE,
			      "a valid text is refused only because it does not fit");
			refused++;
		}
		/* change some bytes of the text: a refusal must name a place inside of the text */
		strcpy(copy, text);
		for (unsigned long k = 1 + rnd(3); k > 0; k--)
			copy[rnd(strlen(copy))] = odd[rnd(sizeof(odd) - 1)];
		if (run(copy, &opt, phys, nodes, 1024, &err) < 0) {
			check(err.text[0] && err.offset >= -1 && err.offset <= (int)strlen(copy),
			      "the place that a refusal names is inside of the text");
			for (const char *p = err.text; *p; p++)
				check(*p >= ' ' && *p <= '~', "a message is printable");
			broken++;
		}
	}
	ok(planned > number / 10 && refused > number / 100 && broken > number / 10,
	   "%lu random specifications: %lu planned, %lu refused; changed: %lu refused", number,
	   planned, refused, broken);
}

#ifdef FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fgmn_options opt = FGMN_DEFAULT_OPTIONS;
	struct fgmn_err err;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	fgmn_parse_options(text, &opt, &err);
	run(text, &opt, paper, 2, 1024, &err);
	free(text);
	return 0;
}
#else
int main(int argc, char **argv)
{
	unsigned long number = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;

	state = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * 0x9e3779b97f4a7c15;
	messages();
	plans();
	random_ones(number);
	printf("1..%d\n", tests);
	return failures != 0;
}
#endif
