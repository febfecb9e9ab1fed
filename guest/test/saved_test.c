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

	is(shape, "-smp 2,sockets=1\n-m 512M\n-device pvpanic\n", "the words that the guest sees");
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

	is_int(guest_saved_parse(&back, text, &err), 0, "the text of a saved guest is parsed");
	is(back.image.kernel, "/k \"x\"", "the kernel is parsed");
	is(back.image.append, "a b", "the command line is parsed");
	ok(!back.image.disk && !back.image.iso && !back.image.initrd, "no other parts of an image");
	ok(back.memory == UINT64_C(3) << 40 && back.emulated, "memory and processor are parsed");
	is(back.qemu, "10.0", "QEMU's version is parsed");
	is(back.shape, "-smp 1\n", "the shape is parsed");
	ok(back.disk_bytes == 5 && back.disk_changed == s.disk_changed, "the disk's are parsed");
	guest_saved_free(&back);
	free(text);
}

static void refused(const char *text, const char *what)
{
	struct guest_saved s;
	struct errbuf err = { 0 };

	is_int(guest_saved_parse(&s, text, &err), -1, "%s", what);
	guest_saved_free(&s);
}

static void test_rubbish(void)
{
	refused("", "no object");
	refused("[]", "an array");
	refused("{}", "no members");
	refused("{\"image\":{},\"memory\":\"1\",\"emulated\":true,\"qemu\":\"1\",\"processor\":"
		"\"\","
		"\"shape\":\"\",\"disk_bytes\":0,\"disk_changed\":0}",
		"memory that is a text");
	refused("{\"image\":{},\"memory\":-1,\"emulated\":true,\"qemu\":\"1\",\"processor\":\"\","
		"\"shape\":\"\",\"disk_bytes\":0,\"disk_changed\":0}",
		"negative memory");
}

static void test_compare(void)
{
	char *words[] = { first, opt_smp, two, opt_m, memory, NULL };
	char *others[] = { first, opt_smp, one, opt_m, memory, NULL };
	struct guest_saved s = { .emulated = true, .processor = (char *)"" };
	struct errbuf err = { 0 };

	s.shape = guest_saved_shape(words);
	is_int(guest_saved_compare(&s, words, &err), 0, "the same words");
	is_int(guest_saved_compare(&s, others, &err), -1, "one CPU in place of two");
	ok(strstr(err.text, "saved with \"-smp 2,sockets=1\", and would have \"-smp 1\" here"),
	   "the message has the words of both");
	s.emulated = false;
	s.processor = (char *)"another one";
	is_int(guest_saved_compare(&s, words, &err), -1, "another processor");
	ok(strstr(err.text, "processor \"another one\""), "the message has the processor");
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

	is(text, "{\"exits\":5000000007,\"halt_exits\":1}", "counts are sums over all CPUs");
	free(text);
	json_object_put(list);
	text = counts_sum(NULL);
	is(text, "{}", "no answer, no counts");
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
