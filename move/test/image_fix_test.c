/* SPDX-License-Identifier: GPL-2.0-or-later */
/* O_PATH in files.img: entries written by hand after CRIU's .proto files. */
#include "move/image_fix.h"

#include <fcntl.h>
#include <string.h>

#include "base/test/tap.h"

static const char *const names[] = { "/usr/sbin/slurmd", "/usr/sbin/slurmstepd" };

/*
 * file_entry { type: REG (1), id: 7, reg { id: 7, flags: O_PATH | O_CLOEXEC, pos: 0, fown {},
 * name: "/usr/sbin/slurmd" } }. O_PATH | O_CLOEXEC is 0x280000: 0000001 0100000 0000000 0000000
 * in groups of seven bits, which is 80 80 a0 01 as a number of protobuf, lowest group first.
 * O_CLOEXEC | O_LARGEFILE is 0x88000: 0100010 0000000 0000000, thus 80 80 a2 00 in four bytes.
 */
#define HEAD 0x19, 0x43, 0x56, 0x54, 0x38, 0x31, 0x30, 0x56
#define REG(len) 0x08, 0x01, 0x10, 0x07, 0x1a, len, 0x08, 0x07, 0x10

static void fix(const char *what, const unsigned char *data, size_t len, int want_rc,
		unsigned want_fixed, const unsigned char *want)
{
	unsigned char copy[256];
	struct errbuf err = { 0 };
	unsigned fixed;

	memcpy(copy, data, len);
	is_int(move_image_fix(copy, len, names, 2, &fixed, &err), want_rc,
	       "move_image_fix: %s: returns %d", what, want_rc);
	is_int(fixed, want_fixed, "move_image_fix: %s: changes %u entries", what, want_fixed);
	ok(memcmp(copy, want, len) == 0, "move_image_fix: %s: gives the expected bytes", what);
}

#define NAME_SLURMD \
	0x32, 16, '/', 'u', 's', 'r', '/', 's', 'b', 'i', 'n', '/', 's', 'l', 'u', 'r', 'm', 'd'
#define NAME_OTHER \
	0x32, 16, '/', 't', 'm', 'p', '/', 's', 'b', 'i', 'n', '/', 's', 'l', 'u', 'r', 'm', 'd'

int main(void)
{
	const unsigned char slurmd[] = { HEAD, 37,   0,	   0,	 0,	     REG(31),
					 0x80, 0x80, 0xa0, 0x01, 0x18,	     0x00,
					 0x22, 0x02, 0x08, 0x00, NAME_SLURMD };
	const unsigned char fixed[] = { HEAD, 37,   0,	  0,	0,	    REG(31),
					0x80, 0x80, 0xa2, 0x00, 0x18,	    0x00,
					0x22, 0x02, 0x08, 0x00, NAME_SLURMD };
	const unsigned char other[] = { HEAD, 37,   0,	  0,	0,	   REG(31),
					0x80, 0x80, 0xa0, 0x01, 0x18,	   0x00,
					0x22, 0x02, 0x08, 0x00, NAME_OTHER };
	/* flags 0x8000: not with O_PATH */
	const unsigned char plain[] = { HEAD, 36,   0,	  0,	0,    REG(30), 0x80, 0x80,
					0x02, 0x18, 0x00, 0x22, 0x02, 0x08,    0x00, NAME_SLURMD };
	/* the length of the name reaches beyond the entry */
	unsigned char beyond[sizeof(slurmd)];
	unsigned char changed[sizeof(slurmd)];
	unsigned wrong = 0, n;
	struct errbuf err = { 0 };

	is_int(O_PATH | O_CLOEXEC, 0x280000,
	       "the flags of the binary's descriptor have the expected number");
	fix("entry of slurmd", slurmd, sizeof(slurmd), 0, 1, fixed);
	fix("entry of a user's file", other, sizeof(other), 0, 0, other);
	fix("entry without O_PATH", plain, sizeof(plain), 0, 0, plain);
	fix("no entry", slurmd, 8, 0, 0, slurmd);
	memcpy(beyond, slurmd, sizeof(beyond));
	beyond[sizeof(beyond) - 17] = 17;
	fix("name beyond its entry", beyond, sizeof(beyond), -1, 0, beyond);
	fix("another image", slurmd + 1, sizeof(slurmd) - 1, -1, 0, slurmd + 1);
	for (size_t len = 0; len < sizeof(slurmd); len++) { /* cut anywhere: the sanitizer looks */
		memcpy(changed, slurmd, len);
		wrong += len != 8 && move_image_fix(changed, len, names, 2, &n, &err) == 0;
	}
	is_int(wrong, 0, "an image that is cut is refused at every length");
	for (size_t i = 0; i < sizeof(slurmd); i++) /* every byte 0xff */ {
		memcpy(changed, slurmd, sizeof(slurmd));
		changed[i] = 0xff;
		(void)move_image_fix(changed, sizeof(changed), names, 2, &n, &err);
	}
	return tap_done();
}
