/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes are written by hand from agent/frames.h. */
#include "guest/agent/frames.h"

#include "base/test/tap.h"

/* uid 1000, gid 100, umask 022, one group, two arguments, one variable */
static const char packed[] = "\xe8\x03\0\0"
			     "\x64\0\0\0"
			     "\x12\0\0\0"
			     "\1\0\0\0"
			     "\2\0\0\0"
			     "\1\0\0\0"
			     "\x05\x01\0\0"
			     "h\0/d\0"
			     "0 1\0"
			     "7 1 2\0sh\0-c\0A=1";

static void test_frames(void)
{
	static const uint8_t bytes[] = { 16, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c', 9 };
	uint8_t head[FRAME_HEAD];
	struct frame f;

	frame_head(head, FRAME_OUTPUT, 3);
	ok(memcmp(head, bytes, FRAME_HEAD) == 0, "a head is a type and a length");
	is_int(frame_take(&f, bytes, sizeof(bytes), 3), 11, "the first frame of bytes is taken");
	ok(f.type == FRAME_OUTPUT && f.length == 3 && f.data == bytes + 8,
	   "a frame has its type, length and data");
	is_int(frame_take(&f, bytes, 10, 3), 0, "a frame without its last byte is not complete");
	is_int(frame_take(&f, bytes, 7, 3), 0, "half a head is not complete");
	is_int(frame_take(&f, bytes, 8, 2), -1, "a frame that is too long is refused at its head");
	f = (struct frame){ .length = 4, .data = (const uint8_t *)"\x04\x03\x02\x01" };
	is_int(frame_number(&f), 0x01020304, "a number has its lowest byte first");
	f.length = 3;
	is_int(frame_number(&f), 0, "three bytes are no number");
}

static void test_pack(void)
{
	const uint32_t group[] = { 0x105 };
	char *argv[] = { (char *)"sh", (char *)"-c", NULL }, *env[] = { (char *)"A=1", NULL };
	const struct agent_start start = {
		.uid = 1000,
		.gid = 100,
		.umask = 022,
		.groups = 1,
		.group = group,
		.host = (char *)"h",
		.directory = (char *)"/d",
		.cpus = (char *)"0 1",
		.limits = (char *)"7 1 2",
		.argv = argv,
		.env = env,
	};
	uint8_t *out;

	is_int(agent_start_pack(&out, &start), (long)sizeof(packed),
	       "agent_start_pack: gives the length of the data");
	ok(out && memcmp(out, packed, sizeof(packed)) == 0,
	   "agent_start_pack: gives the bytes of the data");
	free(out);
}

static int unpack(struct agent_start *out, uint8_t *bytes, size_t n, int at, int value)
{
	memcpy(bytes, packed, sizeof(packed));
	if (at >= 0)
		bytes[at] = (uint8_t)value;
	return agent_start_unpack(out, bytes, n);
}

static void test_unpack(void)
{
	static const struct {
		int at, value;
		const char *what;
	} bad[] = {
		{ 12, 2, "more groups than the data has" },
		{ 15, 0x40, "a number of groups that no memory holds" },
		{ 16, 3, "more arguments than the data has" },
		{ 16, 1, "more texts than the numbers say" },
		{ 16, 0, "a program without arguments" },
		{ 20, 0, "more variables than their number" },
		{ 23, 0x80, "a number of variables that no memory holds" },
		{ sizeof(packed) - 1, 'x', "a last text without a NUL" },
	};
	uint8_t bytes[sizeof(packed)];
	struct agent_start s;

	is_int(unpack(&s, bytes, sizeof(packed), -1, 0), 0, "a program is read");
	ok(s.uid == 1000 && s.gid == 100 && s.umask == 022 && s.groups == 1 && s.group[0] == 0x105,
	   "the program has its numbers");
	is(s.host, "h", "the program has its host");
	is(s.directory, "/d", "the program has its directory");
	is(s.cpus, "0 1", "the program has its CPUs");
	is(s.limits, "7 1 2", "the program has its limits");
	ok(strcmp(s.argv[0], "sh") == 0 && strcmp(s.argv[1], "-c") == 0 && !s.argv[2],
	   "the program has its arguments");
	ok(strcmp(s.env[0], "A=1") == 0 && !s.env[1], "the program has its environment");
	free((void *)s.group);
	free(s.argv);
	free(s.env);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(unpack(&s, bytes, sizeof(packed), bad[i].at, bad[i].value), -1,
		       "agent_start_unpack: refuses %s", bad[i].what);
	for (size_t n = 0; n < sizeof(packed); n++)
		if (unpack(&s, bytes, n, -1, 0) == 0)
			break;
	ok(!s.argv, "agent_start_unpack: refuses data that is cut at any byte");
}

int main(void)
{
	test_frames();
	test_pack();
	test_unpack();
	return tap_done();
}
