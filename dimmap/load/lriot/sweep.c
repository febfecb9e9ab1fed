/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/lriot/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "dimmap/load/lriot/backend.h"
#include "dimmap/load/lriot/stamp.h"
#include "dimmap/load/mapped.h"

#define CHUNK (UINT64_C(1) << 20) /* a multiple of each block */

static int sweep_fill(int fd, uint64_t size)
{
	uint64_t *words = malloc(CHUNK);
	int error = words ? 0 : ENOMEM;

	for (uint64_t at = 0; at < size && !error; at += CHUNK) {
		size_t len = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

		stamp_fill(words, at, len, 0, 0);
		if (write_all(fd, words, len) < 0)
			error = errno;
	}
	free(words);
	return error;
}

static int create(const struct options *o, uint64_t size, struct errbuf *err)
{
	bool ours = access(o->file, F_OK) < 0;
	int fd = open(o->file, O_RDWR | O_CREAT | O_CLOEXEC, 0666), error = 0;
	struct stat st;

	if (fd < 0)
		return errprintf(err, "%s: cannot be made: %s", o->file, strerror(errno));
	/* a file of dimmapfs has the size of its device */
	if (fstat(fd, &st) < 0 ||
	    (S_ISREG(st.st_mode) && (uint64_t)st.st_size != size &&
	     ftruncate(fd, (off_t)size) < 0 && (errno != EPERM || (uint64_t)st.st_size < size)))
		error = errno;
	else
		error = sweep_fill(fd, size);
	if (!error && fsync(fd) < 0)
		error = errno;
	/* a run begins with nothing in memory */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	if (error && ours)
		unlink(o->file);
	return error ? errprintf(err, "%s: --create could not fill it: %s", o->file,
				 strerror(error))
		     : 0;
}

int file_prepare(struct options *o, struct errbuf *err)
{
	uint64_t wanted = o->size - o->size % o->block;
	int64_t has;
	int fd;

	if (o->create && create(o, wanted, err) < 0)
		return -1;
	fd = open(o->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errprintf(err, "%s: %s%s", o->file, strerror(errno),
				 errno == ENOENT ? ": --create makes it" : "");
	has = file_size(fd);
	close(fd);
	if (has < 0)
		return errprintf(err, "%s: %s", o->file,
				 errno == EINVAL ? "neither a regular file nor a block device"
						 : strerror(errno));
	if ((uint64_t)has < wanted)
		return errprintf(err,
				 "%s has %" PRId64 " bytes, --size wants %" PRIu64
				 ": --create makes it anew",
				 o->file, has, wanted);
	if (!wanted)
		wanted = (uint64_t)has - (uint64_t)has % o->block;
	if (!wanted)
		return errprintf(err,
				 "%s has %" PRId64 " bytes: less than one block (--bs=%" PRIu64 ")",
				 o->file, has, o->block);
	if (o->pattern.kind == PATTERN_STRIDE && o->pattern.stride > wanted / o->block)
		return errprintf(err, "--pattern=%s: the file has %" PRIu64 " blocks only",
				 o->pattern_text, wanted / o->block);
	o->size = wanted;
	return 0;
}

/* What the touched part of BLOCK must hold, from what its first word says. */
static uint32_t learn(struct epochs *e, uint64_t block, uint64_t offset, uint64_t word)
{
	uint32_t epoch;
	unsigned writer;

	if (!stamp_read(offset, word, &epoch, &writer) || epoch > EPOCH_MAX)
		epoch = 0; /* nor will the check like it */
	epochs_set(e, block, epoch);
	return epoch;
}

int file_sweep(const struct options *o, enum sweep kind, struct epochs *e,
	       const struct sweep_sum *sum, struct errbuf *err)
{
	uint64_t *words =
		aligned_alloc(4096, o->block < 4096 ? 4096 : (o->block + 4095) / 4096 * 4096);
	struct target t;

	if (!words || target_open(&t, o->backend, o->file, o->size, false, err) < 0) {
		free(words);
		return words ? -1 : errprintf(err, "out of memory");
	}
	for (uint64_t block = 0; block < o->size / o->block; block++) {
		uint64_t offset = block * o->block, low, high;
		struct finding wrong;
		int status = o->backend->read(&t, words, offset, o->block);

		errors_add(sum->errors, status);
		if (status)
			continue;
		++*sum->blocks;
		low = high = kind == SWEEP_LEARN ? learn(e, block, offset, words[0])
						 : epochs_low(e, block);
		if (kind == SWEEP_CHECK)
			high = epochs_high(e, block);
		/* what is behind the touched part is older, or as old */
		if (stamps_wrong(words, offset, o->touch, (uint32_t)low, (uint32_t)high, &wrong) ||
		    stamps_wrong(words + o->touch / 8, offset + o->touch, o->block - o->touch, 0,
				 (uint32_t)high, &wrong))
			findings_add(sum->found, &wrong);
	}
	target_close(&t);
	free(words);
	return 0;
}
