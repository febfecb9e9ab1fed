/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "dimmap/load/lriot/backend.h"
#include "dimmap/load/value.h"

const char options_usage[] =
	"Usage: nodeos-lriot --file=FILE [OPTION]...\n"
	"Read and write blocks of a file from many threads, through a mapping or by system calls, "
	"and tell how fast it went.\n"
	"\n"
	"  -f, --file=FILE       a regular file or a block device\n"
	"  -S, --size=BYTES      its first so many bytes (K, M, G, T: powers of 1024; default: "
	"all)\n"
	"  -c, --create          make the file, with --size, and fill it first; all that was in it "
	"is lost\n"
	"  -m, --mode=MODE       mmap (the default), mmap-rand, mmap-seq (with MADV_RANDOM, "
	"MADV_SEQUENTIAL), std, or direct (O_DIRECT)\n"
	"  -P, --procs=N         so many processes (default: 1)\n"
	"  -T, --threads=N       so many threads in each (default: 1); at most 256 of all "
	"processes\n"
	"  -p, --pattern=WHICH   uniform (the default), zipf:A, seq, or stride:K blocks\n"
	"  -r, --read-percent=R  so many of 100 accesses read, the others write (default: 100)\n"
	"  -b, --bs=BYTES        a block (default: 4096), a multiple of 512 to 1M\n"
	"  -t, --touch=BYTES     touch these first bytes of a block, in mmap modes (default: 8, "
	"with --verify all)\n"
	"  -n, --ops=N           so many accesses of each thread, or\n"
	"  -s, --secs=S          for so long (default: 10)\n"
	"  -y, --sync=N          msync or fsync after each N writes of a thread\n"
	"  -v, --verify          check everything that is read, and all of the file before and "
	"after\n"
	"  -w, --mprotect        change parts of the mapping to read-only and back meanwhile\n"
	"  -k, --fork            fork children that read and exit meanwhile\n"
	"  -u, --remap           take parts of the mapping away and map them again meanwhile\n"
	"  -x, --seed=N          start random numbers there (default: 1)\n"
	"  -i, --pin=cores|none  keep each thread on a CPU (default: none)\n"
	"  -e, --sample=N        take the time of each Nth access (default: 8)\n"
	"  -o, --trace=FILE      write which page each access touched; with --ops and one process\n"
	"  -j, --json            print JSON\n"
	"  -h, --help            print this\n"
	"\n"
	"Exit status: 0, 1 when something read was wrong or nothing could be measured, 2 wrong "
	"usage, 3 I/O errors were counted.\n";

static const struct option longs[] = {
	{ "file", required_argument, NULL, 'f' },
	{ "size", required_argument, NULL, 'S' },
	{ "create", no_argument, NULL, 'c' },
	{ "mode", required_argument, NULL, 'm' },
	{ "procs", required_argument, NULL, 'P' },
	{ "threads", required_argument, NULL, 'T' },
	{ "pattern", required_argument, NULL, 'p' },
	{ "read-percent", required_argument, NULL, 'r' },
	{ "bs", required_argument, NULL, 'b' },
	{ "touch", required_argument, NULL, 't' },
	{ "ops", required_argument, NULL, 'n' },
	{ "secs", required_argument, NULL, 's' },
	{ "sync", required_argument, NULL, 'y' },
	{ "verify", no_argument, NULL, 'v' },
	{ "mprotect", no_argument, NULL, 'w' },
	{ "fork", no_argument, NULL, 'k' },
	{ "remap", no_argument, NULL, 'u' },
	{ "seed", required_argument, NULL, 'x' },
	{ "pin", required_argument, NULL, 'i' },
	{ "sample", required_argument, NULL, 'e' },
	{ "trace", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* Options whose value is a whole number, or bytes. */
static const struct {
	char letter;
	size_t at; /* in struct options */
	uint64_t min, max;
	const char *bytes; /* what is expected of bytes; NULL: a number */
} numbers[] = {
	{ 'S', offsetof(struct options, size), 512, INT64_MAX,
	  "bytes, 512 to 8E, with K, M, G or T, as 64M or 8G" },
	{ 'b', offsetof(struct options, block), 512, BLOCK_MAX,
	  "a multiple of 512 from 512 to 1M" },
	{ 't', offsetof(struct options, touch), 8, BLOCK_MAX, "a multiple of 8, from 8 to --bs" },
	{ 'P', offsetof(struct options, processes), 1, THREADS_MAX, NULL },
	{ 'T', offsetof(struct options, threads), 1, THREADS_MAX, NULL },
	{ 'r', offsetof(struct options, read_percent), 0, 100, NULL },
	{ 'n', offsetof(struct options, ops), 0, INT64_MAX, NULL },
	{ 'y', offsetof(struct options, sync), 1, INT64_MAX, NULL },
	{ 'x', offsetof(struct options, seed), 0, UINT64_MAX, NULL },
	{ 'e', offsetof(struct options, sample), 1, UINT32_MAX, NULL },
};

static const char *options_name_of(int letter)
{
	for (const struct option *l = longs; l->name; l++)
		if (l->val == letter)
			return l->name;
	return "?";
}

static int take_number(struct options *o, int letter, const char *value, struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint64_t *out = (uint64_t *)(void *)((char *)o + numbers[i].at);

		if (numbers[i].letter != letter)
			continue;
		if (!numbers[i].bytes)
			return option_count(options_name_of(letter), value, numbers[i].min,
					    numbers[i].max, out, err);
		if (value_size(value, numbers[i].min, numbers[i].max, out) < 0)
			return value_refuse(err, options_name_of(letter), value, "%s",
					    numbers[i].bytes);
	}
	return 0;
}

/* What stands in one value only. */
static int lriot_options_take(struct options *o, int letter, char *value, struct errbuf *err)
{
	switch (letter) {
	case 'f':
		o->file = value;
		break;
	case 'o':
		o->trace = value;
		break;
	case 'c':
		o->create = true;
		break;
	case 'v':
		o->verify = true;
		break;
	case 'w':
		o->protect = true;
		break;
	case 'k':
		o->fork = true;
		break;
	case 'u':
		o->remap = true;
		break;
	case 'j':
		o->json = true;
		break;
	case 'm':
		o->backend = backend_by_name(value);
		if (!o->backend)
			return value_refuse(err, "mode", value,
					    "mmap, mmap-rand, mmap-seq, std or direct");
		break;
	case 'p':
		o->pattern_text = value;
		return lriot_pattern_parse(&o->pattern, value, err);
	case 's':
		if (value_real(value, 0.01, 1e7, &o->seconds) < 0)
			return value_refuse(err, "secs", value, "seconds, from 0.01 to 10000000");
		break;
	case 'i':
		return option_choice("pin", value, "cores", "none", &o->pin, err);
	default:
		return take_number(o, letter, value, err);
	}
	return 0;
}

/* What depends on several. GIVEN: the letters that were there. */
static int fits_together(struct options *o, const bool *given, struct errbuf *err)
{
	if (!o->file)
		return errprintf(err, "no --file: which one is to be read?");
	if (o->create && !given['S'])
		return errprintf(err, "--create needs --size");
	if (o->block % 512)
		return errprintf(err, "--bs=%" PRIu64 ": expected a multiple of 512 from 512 to 1M",
				 o->block);
	if (given['S'] && o->size < o->block)
		return errprintf(err,
				 "--size=%" PRIu64 " is less than one block (--bs=%" PRIu64 ")",
				 o->size, o->block);
	if (given['t'] && !o->backend->maps)
		return errprintf(
			err, "--touch is for mmap modes: --mode=%s reads and writes whole blocks",
			o->backend->name);
	if (o->touch % 8 || o->touch > o->block)
		return errprintf(err,
				 "--touch=%" PRIu64
				 ": expected a multiple of 8, from 8 to --bs (%" PRIu64 ")",
				 o->touch, o->block);
	if (options_disturbs(o) && !o->backend->maps)
		return errprintf(err,
				 "--mprotect, --fork and --remap are for mmap modes: --mode=%s has "
				 "no mapping",
				 o->backend->name);
	if (o->processes * o->threads > THREADS_MAX)
		return errprintf(err,
				 "--procs=%" PRIu64 " with --threads=%" PRIu64
				 " each: at most %d threads in all",
				 o->processes, o->threads, THREADS_MAX);
	if (given['n'] && given['s'])
		return errprintf(err, "--ops and --secs: one of them says when to end");
	if (o->trace && (!given['n'] || o->processes > 1))
		return errprintf(err, "--trace needs --ops, so that another run makes the same "
				      "accesses, and one process");
	if (o->trace && o->fork)
		return errprintf(err, "--trace and --fork: what children read would not be in it");
	if (given['y'] && !options_writes(o))
		return errprintf(err, "--sync counts writes, and --read-percent=100 has none");
	return 0;
}

int lriot_options_parse(struct options *o, int argc, char **argv, struct errbuf *err)
{
	bool given[256] = { false };
	char quoted[WORD_QUOTE_MAX];
	int c;

	*o = (struct options){ .backend = backend_by_name("mmap"),
			       .block = 4096,
			       .processes = 1,
			       .threads = 1,
			       .read_percent = 100,
			       .seed = 1,
			       .sample = 8,
			       .pattern_text = "uniform" };
	optind = 0; /* from the start, whoever has called getopt before */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":f:S:cm:P:T:p:r:b:t:n:s:y:vwkux:i:e:o:jh", longs,
				NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?' || c == ':')
			return option_refuse(err, c, argv);
		given[c] = true;
		if (lriot_options_take(o, c, optarg, err) < 0)
			return -1;
	}
	if (optind < argc)
		return errprintf(err, "unexpected %s",
				 word_quote(quoted, argv[optind], strlen(argv[optind])));
	if (!given['n'] && !given['s'])
		o->seconds = 10;
	if (!o->touch)
		o->touch = o->verify || !o->backend->maps ? o->block : 8;
	return fits_together(o, given, err);
}
