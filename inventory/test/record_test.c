/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare records of open files from before and after a move. */
#include "inventory/record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define REG (S_IFREG | 0644)

static struct move_file file(enum move_place place, const char *path)
{
	return (struct move_file){ .what = MOVE_FD,
				   .place = place,
				   .pid = 7,
				   .at = 5,
				   .inode = 1234,
				   .size = 99,
				   .mode = REG,
				   .uid = 1000,
				   .path = (char *)path,
				   .mount = (char *)"/home" };
}

static struct move_record with(const struct move_file *f)
{
	struct move_record r = { 0 };
	struct errbuf err = { 0 };

	if (move_record_add_file(&r, f, &err) < 0)
		bail("%s", err.text);
	move_record_sort(&r);
	return r;
}

/* Compare one file before and after; WANT is a part of the reason, NULL: they are equal. */
static void compare(const char *what, const struct move_file *before, const struct move_file *after,
		    const char *want)
{
	struct move_record a = with(before), b = with(after);
	struct errbuf err = { 0 };
	int rc = move_record_compare(&a, &b, &err);

	ok(want ? rc < 0 && strstr(err.text, want) : rc == 0, "compare: %s %s: %s",
	   want ? "refuses" : "accepts", what, err.text);
	move_record_free(&a);
	move_record_free(&b);
}

static void compare_all(void)
{
	struct move_file a = file(MOVE_SHARED, "/home/a/x"), b = a;

	compare("the same file", &a, &b, NULL);
	b.inode = 1235;
	compare("another file in the place of the first", &a, &b, "another file");
	b = a;
	b.uid = 0;
	compare("a file that root owns now", &a, &b, "another owner");
	b = a;
	b.mode = S_IFIFO | 0644;
	compare("a pipe", &a, &b, "another kind");
	b = a;
	b.path = (char *)"/etc/shadow";
	b.mount = (char *)"/";
	b.place = MOVE_HOST;
	compare("a file that a link into the host's root led to", &a, &b, "another file system");
	b = a;
	b.mount = (char *)"/scratch";
	compare("a file in another shared file system", &a, &b, "another file system");
	b = a;
	b.size = 100;
	compare("a shared file that grew", &a, &b, NULL);
	b.at = 6;
	compare("a descriptor that is missing", &a, &b, "not restored");
	b = a;
	b.pid = 8;
	compare("a process that is missing", &a, &b, "not restored");
	a = b = file(MOVE_HOST, "/usr/lib/libc.so.6");
	b.inode = 4321;
	compare("a library on another disk", &a, &b, NULL);
	b.size = 100;
	compare("another library", &a, &b, "another file there");
	a = b = file(MOVE_OWN, "/tmp/x");
	b.inode = 1;
	b.size = 0;
	compare("a file of the vnode's own file system", &a, &b, NULL);
	b.path = (char *)"/tmp/y";
	compare("another name in the vnode's own file system", &a, &b, "path");
	a = b = file(MOVE_NOWHERE, "socket:[12]");
	b.path = (char *)"socket:[99]";
	compare("a socket", &a, &b, NULL);
	b.path = (char *)"pipe:[12]";
	compare("a pipe instead of a socket", &a, &b, "another kind");
	a.path = (char *)"anon_inode:[eventfd]";
	b.path = (char *)"anon_inode:[eventpoll]";
	compare("an epoll instead of an eventfd", &a, &b, "another kind");
}

static void compare_more(void)
{
	struct move_record a = { 0 }, b = { 0 };
	struct errbuf err = { 0 };
	struct move_file f = file(MOVE_SHARED, "/home/a/x");

	for (unsigned i = 0; i < 40; i++) {
		f.at = i;
		move_record_add_file(&b, &f, &err);
		if (i % 3 == 0)
			move_record_add_file(&a, &f, &err);
	}
	move_record_sort(&a);
	move_record_sort(&b);
	is_int(move_record_compare(&a, &b, &err), 0, "more descriptors afterwards do not matter");
	is_int(move_record_compare(&b, &a, &err), -1, "fewer descriptors afterwards are refused");
	move_record_free(&a);
	move_record_free(&b);
}

/* A mapping may be divided or joined, but all of it must be there, of the same file. */
static void compare_mappings(void)
{
	struct move_record a = { 0 }, b = { 0 }, c = { 0 };
	struct errbuf err = { 0 };
	struct move_file f = file(MOVE_HOST, "/usr/bin/x");

	f.what = MOVE_MAP;
	for (f.at = 0x1000; f.at < 0x5000; f.at = f.end) { /* 1000-2000, 2000-4000, 4000-6000 */
		f.end = f.at == 0x1000 ? 0x2000 : f.at + 0x2000;
		move_record_add_file(&a, &f, &err);
	}
	f.at = 0x1000;
	f.end = 0x6000;
	move_record_add_file(&b, &f, &err);
	is_int(move_record_compare(&a, &b, &err), 0,
	       "compare: accepts mappings that were joined %s", err.text);
	is_int(move_record_compare(&b, &a, &err), 0,
	       "compare: accepts a mapping that was divided %s", err.text);
	a.file[1].inode = a.file[1].size = 7;
	is_int(move_record_compare(&b, &a, &err), -1,
	       "compare: refuses a part of a mapping of another file: %s", err.text);
	f.end = 0x5000;
	move_record_add_file(&c, &f, &err);
	is_int(move_record_compare(&b, &c, &err), -1,
	       "compare: refuses a mapping that lacks a part: %s", err.text);
	move_record_free(&a);
	move_record_free(&b);
	move_record_free(&c);
}

static void check(const char *what, const struct move_file *f, const char *want)
{
	struct move_record r = with(f);
	struct errbuf err = { 0 };
	int rc = move_record_check(&r, &err);

	ok(want ? rc < 0 && strstr(err.text, want) : rc == 0, "check: %s %s: %s",
	   want ? "refuses" : "accepts", what, err.text);
	move_record_free(&r);
}

static void check_all(void)
{
	struct move_file f = file(MOVE_SHARED, "/home/a/x");

	check("a file", &f, NULL);
	f.deleted = true;
	check("a removed file of a shared file system", &f, "removed");
	f.place = MOVE_OWN;
	check("a removed file of the vnode's own", &f, NULL);
	f = file(MOVE_NOWHERE, "anon_inode:[perf_event]");
	check("a counter", &f, "counters of the processor");
	f.path = (char *)"anon_inode:kvm-vcpu:0";
	check("a virtual machine", &f, "KVM");
	f.path = (char *)"anon_inode:[io_uring]";
	check("io_uring", &f, "io_uring");
	f.path = (char *)"anon_inode:[eventpoll]";
	check("epoll", &f, NULL);
	f = file(MOVE_OWN, "/dev/null");
	f.mode = S_IFCHR | 0666;
	f.device = 0x103;
	check("/dev/null", &f, NULL);
	f.path = (char *)"/dev/infiniband/uverbs0";
	f.device = 231 << 8 | 192;
	check("an RDMA device", &f, "RDMA");
	f.path = (char *)"/dev/nvidia0";
	check("a GPU", &f, "GPU");
	f.path = (char *)"/dev/other";
	check("another device", &f, "this device");
	f.mode = S_IFBLK | 0666;
	f.device = 0x103;
	check("a block device with the number of /dev/null", &f, "this device");
}

static void check_policies(void)
{
	/* uapi/linux/sched.h: 0 other, 1 fifo, 2 rr, 3 batch, 5 idle; 6 deadline, 7 ext */
	static const unsigned good[] = { 0, 1, 2, 3, 5 }, bad[] = { 4, 6, 7, 8, 100 };
	struct errbuf err = { 0 };
	unsigned wrong = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct move_record r = { 0 };
		struct move_thread t = { .pid = 1, .tid = 1, .policy = good[i] };

		move_record_add_thread(&r, &t, &err);
		wrong += move_record_check(&r, &err) < 0;
		r.thread[0].policy = bad[i];
		wrong += move_record_check(&r, &err) == 0;
		move_record_free(&r);
	}
	is_int(wrong, 0,
	       "check: accepts the scheduling policies that CRIU restores, and refuses others: %s",
	       err.text);
}

static void round_trip(void)
{
	struct move_record r = { 0 }, back;
	struct errbuf err = { 0 };
	struct move_file f = file(MOVE_SHARED, "/home/a/a b\n\\-\x7f\xc3\xa4");
	struct move_thread t = { .pid = 3,
				 .tid = 4,
				 .uid = 1000,
				 .policy = 1,
				 .priority = 50,
				 .nice = -20,
				 .cpus = set_of("0-3,4095") };
	struct move_mempolicy p = { 3, 0x7f0000000000, 0x7f0000002000, (char *)"bind:0-1" };
	char *text = NULL, *again = NULL;
	size_t len, len2;

	f.at = UINT64_MAX;
	f.deleted = true;
	move_record_add_file(&r, &f, &err);
	move_record_add_thread(&r, &t, &err);
	move_record_add_policy(&r, &p, &err);
	is_int(move_record_print(&r, &text, &len, &err), 0, "print: succeeds");
	is_int(move_record_parse(&back, text, len, &err), 0, "parse: reads what was printed %s",
	       err.text);
	is(back.file[0].path, f.path,
	   "parse: keeps a path with blanks, control characters and UTF-8");
	ok(back.file[0].at == UINT64_MAX && back.file[0].inode == 1234 && back.file[0].deleted &&
		   back.file[0].uid == 1000 && strcmp(back.file[0].mount, "/home") == 0,
	   "parse: keeps the other members of a file");
	ok(back.thread[0].nice == -20 && back.thread[0].priority == 50 &&
		   strcmp(list_of(&back.thread[0].cpus), "0-3,4095") == 0,
	   "parse: keeps a thread");
	ok(back.policies == 1 && strcmp(back.policy[0].word, "bind:0-1") == 0 &&
		   back.policy[0].at == 0x7f0000000000 && back.policy[0].end == 0x7f0000002000,
	   "parse: keeps a memory policy");
	is_int(move_record_print(&back, &again, &len2, &err), 0,
	       "print: succeeds for what was parsed");
	is(again, text, "print: gives the same text for what was parsed");
	move_record_free(&back);
	/* a text that is cut anywhere is refused */
	unsigned wrong = 0;
	for (size_t n = 0; n < len; n++)
		if (move_record_parse(&back, text, n, &err) == 0) {
			wrong++;
			move_record_free(&back);
		}
	is_int(wrong, 0, "parse: refuses a record that is cut");
	free(text);
	free(again);
	move_record_free(&r);
}

static void hostile(void)
{
	static const char *const bad[] = {
		"nodeos-move-record 2\nend\n",
		"nodeos-move-record 1\nfile 5 0 1 0 0 0 0 0 0 0 0 0 x /\nend\n",
		"nodeos-move-record 1\nfile 0 0 -1 0 0 0 0 0 0 0 0 0 x /\nend\n",
		"nodeos-move-record 1\nfile 0 0 1 0 0 0 0 0 0 0 0 0 \\400 /\nend\n",
		"nodeos-move-record 1\nfile 0 0 1 0 0 0 0 0 0 0 0 0 \\000 /\nend\n",
		"nodeos-move-record 1\nfile 0 0 1 0 0 0 0 0 0 0 0 0 x\nend\n",
		"nodeos-move-record 1\nfile 0 0 1 18446744073709551616 0 0 0 0 0 0 0 0 x /\nend\n",
		"nodeos-move-record 1\nthread 1 1 0 0 0 20 0\nend\n",
		"nodeos-move-record 1\nthread 1 1 0 0 100 0 0\nend\n",
		"nodeos-move-record 1\nthread 1 1 0 0 0 0 x\nend\n",
		"nodeos-move-record 1\nend\nend\n",
		"nodeos-move-record 1\n\nend\n",
		"",
	};
	struct move_record r;
	struct errbuf err = { 0 };
	unsigned wrong = 0;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (move_record_parse(&r, bad[i], strlen(bad[i]), &err) == 0) {
			diag("accepted: %s", bad[i]);
			wrong++;
		}
	is_int(wrong, 0, "parse: refuses damaged records");
	is_int(move_record_parse(&r, "nodeos-move-record 1\nend\n", 25, &err), 0,
	       "parse: accepts an empty record %s", err.text);
}

int main(void)
{
	compare_all();
	compare_more();
	compare_mappings();
	check_all();
	check_policies();
	round_trip();
	hostile();
	return tap_done();
}
