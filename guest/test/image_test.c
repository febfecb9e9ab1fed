/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/image.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct guest_image image;
static struct errbuf err;

static int parse(const char *text)
{
	errclear(&err);
	return guest_image_parse(&image, "/home/u/image.json", text, strlen(text), &err);
}

static void test_good(void)
{
	is_int(parse("{\"kernel\": \"/boot/k\", \"initrd\": \"i/r\", \"append\": \"a b,c\"}"), 0,
	       "a kernel with an initrd and words for it is an image");
	is(image.kernel, "/boot/k", "an absolute file name is kept");
	is(image.initrd, "/home/u/i/r", "other file names are relative to the image's file");
	is(image.append, "a b,c", "the kernel's words are kept as they are");
	ok(!image.disk && !image.iso, "members that the file lacks are NULL");
	guest_image_free(&image);
	ok(!image.kernel, "a freed image has no members");
	is_int(parse("{\"iso\": \"\\u00e9.iso\"}"), 0, "an ISO image alone can boot");
	is(image.iso, "/home/u/\xc3\xa9.iso", "escapes in file names are decoded");
	guest_image_free(&image);
	is_int(guest_image_parse(&image, "i.json", "{\"disk\":\"d\"}", 12, &err), 0,
	       "a disk alone can boot");
	is(image.disk, "d", "names stay relative if the image's file is in the present directory");
	guest_image_free(&image);
}

static void test_refused(void)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "[]", "/home/u/image.json:1:1: is an array, not an object" },
		{ "{}", "/home/u/image.json:1:1: has no kernel, disk or iso to boot" },
		{ "{\"kernel\": 1}", "/home/u/image.json:1:12: kernel: is a number, not a string" },
		{ "{\"kernel\": null}", "/home/u/image.json:1:12: kernel: is null, not a string" },
		{ "{\"kernel\": \"\"}", "/home/u/image.json:1:12: kernel: empty" },
		{ "{\"disk\": \"a\\nb\"}",
		  "/home/u/image.json:1:10: disk: has a control character" },
		{ "{\"disk\": \"d\",\n \"initrd\": \"i\"}",
		  "/home/u/image.json:2:2: initrd needs a kernel" },
		{ "{\"iso\": \"d\", \"append\": \"i\"}",
		  "/home/u/image.json:1:14: append needs a kernel" },
		{ "{\"kernl\": \"k\"}",
		  "/home/u/image.json:1:2: \"kernl\" is not known here; did you mean "
		  "\"kernel\"?" },
		{ "{\"kernel\": \"k\", \"\\u001b[2J\": \"k\"}",
		  "/home/u/image.json:1:17: \"\\x1b[2J\" is not known here: only kernel, initrd, "
		  "append, disk and iso" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(parse(bad[i].text), -1, "refused: %s", bad[i].text);
		is(err.text, bad[i].message, "the reason is given for %s", bad[i].text);
	}
	is_int(parse("{\"kernel\": \"k\", \"kernel\": \"l\"}"), -1,
	       "an object that has a member twice is refused");
}

static void test_long(void)
{
	char text[8192];

	snprintf(text, sizeof(text), "{\"kernel\": \"k\", \"append\": \"%0*d\"}", 2047, 1);
	is_int(parse(text), 0, "a kernel's command line of 2047 bytes is accepted");
	guest_image_free(&image);
	snprintf(text, sizeof(text), "{\"kernel\": \"k\", \"append\": \"%0*d\"}", 2048, 1);
	is_int(parse(text), -1, "a kernel's command line of 2048 bytes is refused");
	is(err.text, "/home/u/image.json:1:27: append: longer than 2047 bytes",
	   "a long command line: the message has the limit");
	snprintf(text, sizeof(text), "{\"kernel\": \"%0*d\"}", 4096, 1);
	is_int(parse(text), -1, "a file name above PATH_MAX is refused");
}

static void test_read(void)
{
	char path[256], want[512];

	scratch_make();
	scratch_file("k", "");
	scratch_file("good.json", "{\"kernel\": \"k\"}");
	scratch_file("bad.json", "{\"kernel\": \"k\", \"initrd\": \"gone\"}");
	snprintf(path, sizeof(path), "%s/good.json", scratch);
	is_int(guest_image_read(&image, path, &err), 0, "an image with its kernel is read");
	guest_image_free(&image);
	snprintf(path, sizeof(path), "%s/bad.json", scratch);
	is_int(guest_image_read(&image, path, &err), -1, "a missing initrd is refused");
	snprintf(want, sizeof(want), "%s: initrd: %s/gone: No such file or directory", path,
		 scratch);
	is(err.text, want, "a missing initrd: the message has its name");
	is_int(guest_image_read(&image, "/nonexistent.json", &err), -1,
	       "a missing image is refused");
}

int main(void)
{
	test_good();
	test_refused();
	test_long();
	test_read();
	return tap_done();
}
