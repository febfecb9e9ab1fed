/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/saved.h"

#include <json-c/json.h>

#include "base/test/tap.h"
#include "guest/control/counts.h"

static char first[] = "/usr/bin/qemu", opt_smp[] = "-smp", two[] = "2,sockets=1", opt_m[] = "-m",
	    memory[] = "512M", opt_object[] = "-object", object[] = "memory-backend-memfd,id=mem0",
	    opt_device[] = "-device", device[] = "pvpanic", opt_incoming[] = "-incoming",
	    incoming[] = "fd:7", one[] = "1";

static void test_shape(void)
{
	char *words[] = { first,  opt_smp,    two,    opt_m,	    memory,   opt_object,
			  object, opt_device, device, opt_incoming, incoming, NULL };
	char *shape = guest_saved_shape(words);

	is(shape, "-smp 2,sockets=1\n-m 512M\n-device pvpanic\n",
	   "guest_saved_shape: keeps the options that the guest sees");
	free(shape);
}

static void test_text(void)
{
	struct guest_saved s = {
		.image = { .kernel = (char *)"/k \"x\"", .append = (char *)"a b" },
		.memory = UINT64_C(3) << 40,
		.emulated = true,
		.qemu = "10.0",
		.processor = (char *)"P",
		.shape = (char *)"-smp 1\n",
		.disk_bytes = 5,
		.disk_changed = INT64_C(1764266400123456789),
	};
	struct guest_saved back;
	struct errbuf err = { 0 };
	char *text = guest_saved_format(&s);

	is_int(guest_saved_parse(&back, text, &err), 0,
	       "guest_saved_parse: takes the text of guest_saved_format");
	is(back.image.kernel, "/k \"x\"", "guest_saved_parse: gives the kernel");
	is(back.image.append, "a b", "guest_saved_parse: gives the command line");
	ok(!back.image.disk && !back.image.iso && !back.image.initrd,
	   "guest_saved_parse: gives NULL for missing parts of an image");
	ok(back.memory == UINT64_C(3) << 40 && back.emulated,
	   "guest_saved_parse: gives the memory and whether QEMU emulates");
	is(back.qemu, "10.0", "guest_saved_parse: gives QEMU's version");
	is(back.shape, "-smp 1\n", "guest_saved_parse: gives the shape");
	ok(back.disk_bytes == 5 && back.disk_changed == s.disk_changed,
	   "guest_saved_parse: gives the size and time of change of the disk");
	guest_saved_free(&back);
	free(text);
}

static void refused(const char *text, const char *what)
{
	struct guest_saved s;
	struct errbuf err = { 0 };

	is_int(guest_saved_parse(&s, text, &err), -1, "guest_saved_parse: refuses %s", what);
	guest_saved_free(&s);
}

static void test_rubbish(void)
{
	refused("", "an empty text");
	refused("[]", "an array");
	refused("{}", "an object without members");
	refused("{\"image\":{},\"memory\":\"1\",\"emulated\":true,\"qemu\":\"1\",\"processor\":"
		"\"\","
		"\"shape\":\"\",\"disk_bytes\":0,\"disk_changed\":0}",
		"a text for the size of memory");
	refused("{\"image\":{},\"memory\":-1,\"emulated\":true,\"qemu\":\"1\",\"processor\":\"\","
		"\"shape\":\"\",\"disk_bytes\":0,\"disk_changed\":0}",
		"a negative size of memory");
}

static void test_compare(void)
{
	char *words[] = { first, opt_smp, two, opt_m, memory, NULL };
	char *others[] = { first, opt_smp, one, opt_m, memory, NULL };
	struct guest_saved s = { .emulated = true, .processor = (char *)"" };
	struct errbuf err = { 0 };

	s.shape = guest_saved_shape(words);
	is_int(guest_saved_compare(&s, words, &err), 0,
	       "guest_saved_compare: allows the same words");
	is_int(guest_saved_compare(&s, others, &err), -1,
	       "guest_saved_compare: refuses one CPU instead of two");
	ok(strstr(err.text, "saved with \"-smp 2,sockets=1\", and would get \"-smp 1\" here"),
	   "guest_saved_compare: the message names both options");
	s.emulated = false;
	s.processor = (char *)"another one";
	is_int(guest_saved_compare(&s, words, &err), -1,
	       "guest_saved_compare: refuses another processor");
	ok(strstr(err.text, "processor \"another one\""),
	   "guest_saved_compare: the message names the processor");
	free(s.shape);
}

static void test_counts(void)
{
	struct json_object *list = json_tokener_parse(
		"[{\"provider\":\"kvm\",\"stats\":[{\"name\":\"exits\",\"value\":7},"
		"{\"name\":\"halt_exits\",\"value\":1},{\"name\":\"hist\",\"value\":[1]},"
		"{\"name\":\"guest_mode\",\"value\":false}]},"
		"{\"provider\":\"kvm\",\"stats\":[{\"name\":\"exits\",\"value\":5000000000}]}]");
	char *text = counts_sum(list);

	is(text, "{\"exits\":5000000007,\"halt_exits\":1}",
	   "counts_sum: adds the counts of all CPUs");
	free(text);
	json_object_put(list);
	text = counts_sum(NULL);
	is(text, "{}", "counts_sum: gives an empty object without an answer");
	free(text);
}

int main(void)
{
	test_shape();
	test_text();
	test_rubbish();
	test_compare();
	test_counts();
	return tap_done();
}
