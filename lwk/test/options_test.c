/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of nodeos-lwk, and the one that it makes when its program executes another one.
 */
#include "lwk/options.h"

#include "base/test/tap.h"

static int parse(struct options *o, struct errbuf *err, const char *words)
{
	static char text[200], *argv[20];
	int argc = 0;

	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	err->text[0] = '\0';
	return options_parse(o, argc, argv, err);
}

static void refuse(const char *words, const char *reason)
{
	struct options o;
	struct errbuf err;

	is_int(parse(&o, &err, words), -1, "%s is refused", words);
	is(err.text, reason, "the message gives the reason for refusing %s", words);
}

int main(void)
{
	struct options o;
	struct errbuf err;
	const char *words[OPTIONS_WORDS];
	char text[OPTIONS_TEXT];

	is_int(parse(&o, &err, "lwk prog -x"), 0,
	       "a program with an option of its own is accepted");
	is_int((long long)o.memory, 256 << 20, "the default of --memory is 256 MiB");
	is(o.argv[1], "-x", "the program keeps its own option");
	is_int(parse(&o, &err, "lwk --memory=2G -p 1G --counts --name=-sh -- a b"), 0,
	       "all options are accepted");
	ok(o.memory == 2UL << 30 && o.page == MEMORY_1G && o.counts && !o.loose,
	   "the options have the given values");
	is(o.name, "-sh", "--name sets the program's name");
	is(o.argv[0], "a", "the program follows --");
	is_int(options_words(&o, words, text), 4,
	       "options_words: gives four words for another program");
	is(words[1], "--memory=2048M", "options_words: passes --memory on");
	is(words[2], "--page=1G", "options_words: passes --page on");
	is(words[3], "--counts", "options_words: passes --counts on");
	is_int(parse(&o, &err, "lwk --smartmap a"), 0, "--smartmap is accepted");
	is_int(options_words(&o, words, text), 4, "options_words: gives four words for a rank");
	is(words[3], "--smartmap", "options_words: passes --smartmap on");
	o.child = true;
	options_words(&o, words, text);
	is(words[3], "--child", "options_words: does not pass --smartmap on to a child");
	is_int(parse(&o, &err, "lwk --file=7 a"), 0, "--file is accepted");
	is_int(o.file, 7, "--file is a number");
	is_int(options_words(&o, words, text), 4, "options_words: gives four words with a file");
	is(words[1], "--memory=256M", "options_words: passes the default of --memory on");
	is(words[2], "--file=7", "options_words: passes --file on");
	is_int(parse(&o, &err, "lwk --given=3,-1 --record=5,2 a"), 0, "open files are accepted");
	ok(o.extent == 3 && o.kvm == -1 && o.record == 5 && o.slot == 2,
	   "the open files are those of the command line");
	is_int(options_words(&o, words, text), 6,
	       "options_words: gives six words for a program with open files");
	is(words[3], "--given=3,-1", "options_words: passes --given on");
	is(words[4], "--used", "options_words: says that the extent was used");
	is(words[5], "--record=5,2", "options_words: passes --record on");
	o.child = true;
	o.kvm = 4;
	is_int(options_words(&o, words, text), 5, "options_words: gives five words for a child");
	is(words[4], "--given=-1,4", "options_words: a child gets KVM, not the extent");
	refuse("lwk --record=x a", "--record=x: expected two numbers, FD,N");
	refuse("lwk --file=x a", "--file=x: not a descriptor");
	refuse("lwk", "no program is given; see --help");
	refuse("lwk --memory=1K a", "--memory=1K: not a size from 16M to 256G");
	refuse("lwk --memory=-1G a", "--memory=-1G: not a size from 16M to 256G");
	refuse("lwk --memory=8M a", "--memory=8M: not a size from 16M to 256G");
	refuse("lwk --memory=99999999999999999999G a",
	       "--memory=99999999999999999999G: not a size from 16M to 256G");
	refuse("lwk --memory=17M a", "--memory: not a multiple of the page size (--page)");
	refuse("lwk --page=4K a", "--page=4K: not a size of huge pages (allowed: 2M, 1G)");
	refuse("lwk --what a", "an option is unknown or lacks its value; see --help");
	refuse("lwk --page", "an option is unknown or lacks its value; see --help");
	return tap_done();
}
