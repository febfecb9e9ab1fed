/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of the whole program over back ends that lose writes, read what is old, fail, or lose their
 * pages: each has to be found as often as it was done, and a run over a good one finds nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "dimmap/load/lriot/backend.h"
#include "dimmap/load/lriot/run.h"

#define BLOCKS 256
#define PAGE 4096

static char path[256];
static struct outcome out;
static struct errbuf err;

/* What the faulty back end did, in memory that its processes share. */
static struct done {
	uint64_t reads, writes, faults;
	uint64_t last_good[BLOCKS], last_bad[BLOCKS]; /* number of the write */
} * done;

static const struct backend *good; /* below the faulty one */
static uint64_t every; /* so many of its calls are faulty */

static int open_good(struct target *t, struct errbuf *e)
{
	return good->open(t, e);
}

static int read_good(struct target *t, uint64_t *to, uint64_t offset, size_t len)
{
	return good->read(t, to, offset, len);
}

static int write_good(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	return good->write(t, from, offset, len);
}

static int sync_good(struct target *t)
{
	return good->sync(t);
}

/* Says that it has written. */
static int write_lost(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	bool lost = ++done->writes % every == 0;

	(lost ? done->last_bad : done->last_good)[offset / PAGE] = done->writes;
	done->faults += lost;
	return lost ? 0 : good->write(t, from, offset, len);
}

/* Half a page, and says that it is all. */
static int write_torn(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	bool torn = ++done->writes % every == 0;

	(torn ? done->last_bad : done->last_good)[offset / PAGE] = done->writes;
	done->faults += torn;
	return good->write(t, from, offset, torn ? len / 2 : len);
}

static int write_fails(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	if (++done->writes % every == 0) {
		done->faults++;
		good->write(t, from, offset, len / 2);
		return EIO;
	}
	return good->write(t, from, offset, len);
}

/* Of another page. */
static int read_elsewhere(struct target *t, uint64_t *to, uint64_t offset, size_t len)
{
	/* the checks before and after open it to read only */
	bool wrong = t->writes && ++done->reads % every == 0;

	done->faults += wrong;
	return good->read(t, to, wrong ? (offset + PAGE) % t->size : offset, len);
}

static int sync_fails(struct target *t)
{
	done->faults++;
	good->sync(t);
	return EIO;
}

/* Maps more than is left of it. */
static int open_cut(struct target *t, struct errbuf *e)
{
	return good->open(t, e) < 0 || truncate(path, BLOCKS / 2 * PAGE) < 0 ? -1 : 0;
}

static struct backend faulty = {
	"faulty", false, 0, 0, open_good, read_good, write_good, sync_good
};

/* The options that TEXT has, over the faulty back end; MODE is the good one below it. */
static int run_options(const char *mode, char *text, struct options *o)
{
	char *argv[32] = { "lriot" }, *rest = text;
	int argc = 1;

	for (char *word; (word = strsep(&rest, " ")) != NULL;)
		if (*word)
			argv[argc++] = word;
	argv[argc++] = "--file";
	argv[argc++] = path;
	if (lriot_options_parse(o, argc, argv, &err) != 0)
		bail("%s", err.text);
	memset(done, 0, sizeof(*done));
	good = backend_by_name(mode);
	faulty.maps = good->maps;
	faulty.advice = good->advice;
	o->backend = &faulty;
	return lriot_run(o, &out, &err);
}

static int run(const char *mode, const char *text)
{
	struct options o;
	char copy[256];
	int result;

	snprintf(copy, sizeof(copy), "%s", text);
	result = run_options(mode, copy, &o);
	if (result < 0)
		diag("%s", err.text);
	return result;
}

static void put_back(void)
{
	faulty = (struct backend){ "faulty",  false,	 0,	     0,
				   open_good, read_good, write_good, sync_good };
}

#define CREATE "--create --size=1M --verify "

static void nothing_wrong(void)
{
	static const char *const mode[] = { "mmap", "mmap-rand", "mmap-seq", "std" };

	for (size_t i = 0; i < sizeof(mode) / sizeof(mode[0]); i++) {
		ok(run(mode[i], CREATE
		       "--ops=2000 --procs=2 --threads=2 --read-percent=50 --sync=300") == 0 &&
			   out.found.n == 0 && errors_all(&out.errors) == 0,
		   "%s: nothing is wrong, and nothing is found", mode[i]);
		is_int((long long)(out.reads + out.writes), 8000, "as many accesses as asked for");
		is_int((long long)out.checked, (long long)out.reads, "each read is checked");
		is_int((long long)out.blocks_after, BLOCKS, "and each block at the end");
		ok(out.reads > 3776 && out.reads < 4224,
		   "half of them read, within 5 deviations: %" PRIu64, out.reads);
	}
	ok(run("mmap", CREATE "--secs=1.5 --threads=3 --read-percent=40 --mprotect --fork --remap "
			      "--bs=512 --sync=500") == 0 &&
		   out.found.n == 0 && errors_all(&out.errors) == 0 && out.disturbed.died == 0,
	   "blocks smaller than a page, and all that can be done to a mapping");
	ok(out.disturbed.protects > 10 && out.disturbed.forks > 10 && out.disturbed.remaps > 10 &&
		   out.disturbed.read_by_children > 100,
	   "%" PRIu64 " mprotect, %" PRIu64 " remap, %" PRIu64 " fork, whose children read %" PRIu64
	   " blocks",
	   (uint64_t)out.disturbed.protects, (uint64_t)out.disturbed.remaps,
	   (uint64_t)out.disturbed.forks, (uint64_t)out.disturbed.read_by_children);
	ok(run("mmap", "--verify --ops=500 --bs=512 --read-percent=0 --pattern=zipf:0.9") == 0 &&
		   out.found.n == 0 && out.blocks_before == 2048,
	   "another run over the same file, which knows nothing of the first");
}

/* The blocks whose last write was faulty, in the order in which the check finds them. */
static void same_as_done(const char *what)
{
	uint64_t page[BLOCKS];
	unsigned n = 0, same = 0, kept;

	for (unsigned b = 0; b < BLOCKS; b++)
		if (done->last_bad[b] > done->last_good[b])
			page[n++] = b;
	is_int((long long)out.found.n, n, "%s: each block that ended so is found", what);
	ok(n > 3, "there are some");
	kept = n < FINDINGS_KEPT ? n : FINDINGS_KEPT;
	for (unsigned i = 0; i < kept; i++)
		same += out.found.first[i].offset / PAGE == page[i];
	is_int(same, kept, "by its page");
}

static void lost_writes(const char *mode)
{
	every = 7;
	faulty.write = write_lost;
	ok(run(mode, CREATE "--ops=1000 --read-percent=0") == 0 && done->faults == 142,
	   "%s: 142 of 1000 writes are lost", mode);
	same_as_done("lost writes");
	ok(out.found.first[0].offset % PAGE == 0 &&
		   out.found.first[0].low == out.found.first[0].high,
	   "from the first word on");
	faulty.write = write_torn;
	ok(run(mode, CREATE "--ops=1000 --read-percent=0") == 0 && done->faults == 142,
	   "%s: 142 are done by half", mode);
	same_as_done("torn writes");
	is_int((long long)(out.found.first[0].offset % PAGE), PAGE / 2, "from the middle on");
	put_back();
	ok(run(mode, "--verify --ops=10") == 0 && out.found.n > 3 && !out.ran && out.reads == 0,
	   "who finds the file torn does not begin");
}

static void wrong_reads(const char *mode)
{
	every = 10;
	faulty.read = read_elsewhere;
	ok(run(mode, CREATE "--ops=1000 --read-percent=90") == 0 && done->faults > 50,
	   "%s: every tenth read is of another page", mode);
	/* system calls are tried again only while somebody writes the block, which nobody does with
	 * one thread */
	is_int((long long)out.found.n, (long long)done->faults, "each is found");
	is_int((long long)out.blocks_after, BLOCKS, "the file is right");
	put_back();
}

static void failures(void)
{
	every = 5;
	faulty.write = write_fails;
	ok(run("std", CREATE "--ops=1000 --threads=1 --read-percent=30") == 0 && out.found.n == 0,
	   "writes that fail, and say so, leave either epoch");
	is_int((long long)out.errors.n[ERROR_EIO], (long long)done->faults, "each is counted");
	ok(done->faults > 100, "there are some: %" PRIu64, done->faults);
	put_back();
	faulty.sync = sync_fails;
	ok(run("mmap", CREATE "--ops=1000 --read-percent=0 --sync=100") == 0 &&
		   out.errors.n[ERROR_EIO] == 11 && done->faults == 11,
	   "msync that fails: ten, and one at the end");
	put_back();
	faulty.open = open_cut;
	ok(run("mmap", "--create --size=1M --ops=512 --pattern=seq") == 0,
	   "half of the file goes away");
	is_int((long long)out.errors.n[ERROR_SIGBUS], 256,
	       "SIGBUS for each access to it, in two rounds");
	is_int((long long)out.reads, 512, "and no end of the program");
	put_back();
}

/* A process that dies is told, and nobody waits for it. */
static int write_dies(struct target *t, const uint64_t *from, uint64_t offset, size_t len)
{
	if (__atomic_add_fetch(&done->writes, 1, __ATOMIC_SEQ_CST) == 100)
		kill(getpid(), SIGKILL);
	return good->write(t, from, offset, len);
}

static int open_fails_once(struct target *t, struct errbuf *e)
{
	if (t->writes && __atomic_add_fetch(&done->reads, 1, __ATOMIC_SEQ_CST) == 2)
		return errprintf(e, "not this one");
	return good->open(t, e);
}

static void deaths(void)
{
	faulty.write = write_dies;
	ok(run("mmap", CREATE "--secs=30 --procs=3 --threads=2 --read-percent=0") < 0 &&
		   strstr(err.text, "died of signal 9"),
	   "a process dies: %s", err.text);
	put_back();
	faulty.open = open_fails_once;
	ok(run("mmap", CREATE "--secs=30 --procs=3 --read-percent=0") < 0 &&
		   strcmp(err.text, "not this one") == 0,
	   "one of three cannot begin: %s", err.text);
	put_back();
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/faults_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || done == MAP_FAILED)
		bail("%s cannot be made", path);
	close(fd);
	nothing_wrong();
	lost_writes("mmap");
	lost_writes("std");
	wrong_reads("mmap");
	wrong_reads("std");
	failures();
	deaths();
	unlink(path);
	return tap_done();
}
