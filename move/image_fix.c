/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/image_fix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* criu/include/magic.h and images/fdinfo.proto, regfile.proto of CRIU */
#define IMG_COMMON_MAGIC 0x54564319u
#define FILES_MAGIC 0x56303138u
#define FILE_ENTRY_REG 3 /* field of file_entry: reg_file_entry */
#define REG_FLAGS 2 /* fields of reg_file_entry */
#define REG_NAME 6
#define LARGEFILE 0100000u

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct field {
	unsigned number;
	enum wire wire;
	unsigned char *value; /* the bytes of a field of type BYTES, else the encoded number */
	size_t len;
};

/* Read a number of at most ten bytes at *AT, before END. Returns whether it is whole. */
static bool read_varint(unsigned char **at, const unsigned char *end, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
		unsigned char c = *(*at)++;

		if (shift < 64)
			*out |= (uint64_t)(c & 127) << shift;
		if (!(c & 128))
			return true;
	}
	return false;
}

static bool read_field(unsigned char **at, unsigned char *end, struct field *f)
{
	uint64_t tag, len;

	if (!read_varint(at, end, &tag))
		return false;
	f->number = (unsigned)(tag >> 3);
	f->wire = tag & 7;
	f->value = *at;
	switch (f->wire) {
	case VARINT:
		if (!read_varint(at, end, &len))
			return false;
		f->len = (size_t)(*at - f->value);
		return true;
	case BYTES:
		if (!read_varint(at, end, &len))
			return false;
		f->value = *at;
		break;
	case FIXED64:
		len = 8;
		break;
	case FIXED32:
		len = 4;
		break;
	default:
		return false;
	}
	if (len > (size_t)(end - *at))
		return false;
	f->len = (size_t)len;
	*at += len;
	return true;
}

static bool is_named(const struct field *name, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strlen(names[i]) == name->len && memcmp(names[i], name->value, name->len) == 0)
			return true;
	return false;
}

/* Clear O_PATH in the encoded number FLAGS, which keeps its length. */
static bool clear_path_flag(const struct field *flags)
{
	unsigned char *at = flags->value;
	uint64_t value;

	if (!read_varint(&at, flags->value + flags->len, &value) || !(value & O_PATH))
		return false;
	value = (value & ~(uint64_t)O_PATH) | LARGEFILE;
	for (size_t i = 0; i < flags->len; i++) {
		flags->value[i] = (unsigned char)((value & 127) | (i + 1 < flags->len ? 128 : 0));
		value >>= 7;
	}
	return true;
}

/* Fix the reg_file_entry between AT and END. Returns false when it is damaged. */
static bool fix_regular(unsigned char *at, unsigned char *end, const char *const *names, unsigned n,
			unsigned *fixed)
{
	struct field f, name = { 0 }, flags = { 0 };

	while (at < end) {
		if (!read_field(&at, end, &f))
			return false;
		if (f.number == REG_NAME && f.wire == BYTES)
			name = f;
		if (f.number == REG_FLAGS && f.wire == VARINT)
			flags = f;
	}
	if (name.value && flags.value && is_named(&name, names, n) && clear_path_flag(&flags))
		++*fixed;
	return true;
}

static uint32_t read_u32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int move_image_fix(unsigned char *data, size_t len, const char *const *names, unsigned n,
		   unsigned *fixed, struct errbuf *err)
{
	unsigned char *at = data + 8, *end = data + len;
	struct field f;

	*fixed = 0;
	if (len < 8 || read_u32(data) != IMG_COMMON_MAGIC || read_u32(data + 4) != FILES_MAGIC)
		return errprintf(err, "files.img: not an image of CRIU's open files");
	while (at < end) {
		unsigned char *stop;

		if (end - at < 4 || read_u32(at) > (size_t)(end - at) - 4)
			return errprintf(err, "files.img: cut at byte %zd", at - data);
		stop = at + 4 + read_u32(at);
		for (at += 4; at < stop;)
			if (!read_field(&at, stop, &f) ||
			    (f.number == FILE_ENTRY_REG && f.wire == BYTES &&
			     !fix_regular(f.value, f.value + f.len, names, n, fixed)))
				return errprintf(err, "files.img: damaged at byte %zd", at - data);
	}
	return 0;
}

int move_image_fix_file(int dir, const char *const *names, unsigned n, unsigned *fixed,
			struct errbuf *err)
{
	int fd = openat(dir, "files.img", O_RDWR | O_CLOEXEC | O_NOFOLLOW), rc = -1;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0) {
		errprintf(err, "files.img: %s", strerror(errno));
	} else {
		data = mmap(NULL, (size_t)st.st_size + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);
		if (data == MAP_FAILED) {
			errprintf(err, "files.img: %s", strerror(errno));
		} else {
			rc = move_image_fix(data, (size_t)st.st_size, names, n, fixed, err);
			munmap(data, (size_t)st.st_size + 1);
		}
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
