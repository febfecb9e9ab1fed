/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/bundle_node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/program.h"
#include "base/subprocess.h"
#include "container/ledger.h"
#include "host/buffer.h"

/* A text that is being put together in memory. */
struct memory_text {
	FILE *f; /* NULL: out of memory */
	char *text;
	size_t size;
};

static void memory_text_open(struct memory_text *d)
{
	d->text = NULL;
	d->f = open_memstream(&d->text, &d->size);
}

/* End the text and hold it. */
static int hold_text(struct bundle *b, const char *file, const char *what, struct memory_text *d,
		     unsigned how, struct errbuf *err)
{
	int rc;

	if (!d->f)
		return errprintf(err, "out of memory");
	rc = ferror(d->f) | fclose(d->f) ? errprintf(err, "out of memory")
					 : bundle_text(b, file, what, d->text, how, err);
	free(d->text);
	return rc;
}

/* -------------------------------------------------------------------- ledger */

/* Is this entry another job's than JOB? One that cannot be read may be anybody's. The cgroup of
 * JOB's goes to CGROUP. */
static bool of_another_job(const char *state_dir, const char *name, unsigned long job, char *cgroup)
{
	struct ledger_job *entry = NULL;
	struct errbuf ignored;
	bool other = false;

	if (ledger_peek(state_dir, strtoull(name + strlen("job-"), NULL, 10), &entry, &ignored) ==
		    0 &&
	    entry) {
		other = entry->job_id != job;
		if (!other)
			snprintf(cgroup, CGROUP_PATH_MAX, "%s", entry->cgroup);
	}
	ledger_job_free(entry);
	return other;
}

int bundle_ledger(struct bundle *b, const char *state_dir, unsigned long job,
		  char cgroup[CGROUP_PATH_MAX], struct errbuf *err)
{
	DIR *d = opendir(state_dir);
	struct dirent *e;
	int rc = 0;

	cgroup[0] = '\0';
	if (!d)
		return bundle_missing(b, "ledger", state_dir, strerror(errno), err);
	while (rc == 0 && (e = readdir(d))) {
		char path[PATH_MAX], file[PATH_MAX];

		if (e->d_name[0] == '.' || strcmp(e->d_name, "lock") == 0)
			continue;
		if (job && strncmp(e->d_name, "job-", 4) == 0 &&
		    of_another_job(state_dir, e->d_name, job, cgroup))
			continue;
		snprintf(path, sizeof(path), "%s/%s", state_dir, e->d_name);
		snprintf(file, sizeof(file),
			 strcmp(e->d_name, "machine.xml") == 0 ? "topology/%s" : "ledger/%s",
			 e->d_name);
		rc = bundle_file(b, file, path, 0, err);
	}
	closedir(d);
	return rc;
}

/* ------------------------------------------------------------------- cgroups */

static const char *const cgroup_file[] = {
	"cgroup.controllers",
	"cgroup.subtree_control",
	"cgroup.type",
	"cgroup.events",
	"cpuset.cpus",
	"cpuset.cpus.effective",
	"cpuset.cpus.exclusive",
	"cpuset.cpus.exclusive.effective",
	"cpuset.cpus.partition",
	"cpuset.cpus.isolated",
	"cpuset.mems",
	"cpuset.mems.effective",
	"memory.current",
	"memory.peak",
	"memory.min",
	"memory.low",
	"memory.high",
	"memory.max",
	"memory.swap.max",
	"memory.oom.group",
	"memory.events",
};

#define CGROUP_DEPTH_MAX 12

static void put_cgroup(FILE *f, int root, const char *path)
{
	struct errbuf ignored;
	char file[CGROUP_PATH_MAX + 64], text[4096];

	fputs("== /", f);
	/* users with a cgroup of their own name what is in it */
	for (const char *c = strcmp(path, ".") == 0 ? "" : path; *c; c++)
		putc(*c < ' ' || *c > '~' ? '?' : *c, f);
	putc('\n', f);
	for (size_t i = 0; i < sizeof(cgroup_file) / sizeof(cgroup_file[0]); i++) {
		snprintf(file, sizeof(file), "%s/%s", path, cgroup_file[i]);
		if (file_read(root, file, text, sizeof(text), &ignored) < 0)
			continue;
		fprintf(f, "%s ", cgroup_file[i]);
		/* one line a file */
		for (const char *c = text; *c; c++)
			putc(*c != '\n' ? *c : c[1] ? ';' : '\n', f);
		if (!*text)
			putc('\n', f);
	}
}

/* SHOWN: all of it and below; else the first two levels, and where the name has slurm. No more than
 * fits into a file. */
static void bundle_node_walk(FILE *f, int root, const char *path, bool shown, unsigned depth)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (shown || depth < 2)
		put_cgroup(f, root, path);
	while (ftell(f) < (long)BUNDLE_FILE_MAX && (e = readdir(d))) {
		char child[CGROUP_PATH_MAX];
		bool inside = shown || strstr(e->d_name, "slurm");

		if (e->d_name[0] == '.' || e->d_type != DT_DIR ||
		    depth + 1 > (inside ? CGROUP_DEPTH_MAX : 3))
			continue;
		if (snprintf(child, sizeof(child), "%s%s%s", depth ? path : "", depth ? "/" : "",
			     e->d_name) < (int)sizeof(child))
			bundle_node_walk(f, root, child, inside, depth + 1);
	}
	closedir(d);
}

int bundle_cgroups(struct bundle *b, const char *root, const char *only, struct errbuf *err)
{
	struct errbuf why = { 0 };
	int fd = cgroup_open_root(root, &why);
	struct memory_text d;
	bool cut;

	if (fd < 0)
		return bundle_missing(b, "cgroups.txt", "the cgroup tree", why.text, err);
	memory_text_open(&d);
	if (d.f)
		bundle_node_walk(d.f, fd, *only ? only : ".", *only, *only ? 1 : 0);
	close(fd);
	cut = d.f && ftell(d.f) >= (long)BUNDLE_FILE_MAX;
	return hold_text(b, "cgroups.txt",
			 cut	 ? "the cgroup tree (its start)"
			 : *only ? only
				 : "the cgroup tree: its top, and Slurm's",
			 &d, 0, err);
}

/* ------------------------------------------------------------------- buffers */

int bundle_buffers(struct bundle *b, struct errbuf *err)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	struct memory_text d;
	char *line = NULL;
	unsigned n = 0;
	size_t room = 0;

	if (!mounts)
		return bundle_missing(b, "buffers.txt", "/proc/self/mountinfo", strerror(errno),
				      err);
	memory_text_open(&d);
	while (d.f && getline(&line, &room, mounts) > 0) {
		char at[BUFFER_PATH_MAX], stats[8192];

		if (!strstr(line, " - dimmapfs ") || sscanf(line, "%*s %*s %*s %*s %191s", at) != 1)
			continue;
		n++;
		fprintf(d.f, "== %s%s\n", line,
			buffer_stats(at, stats, sizeof(stats)) == 0
				? stats
				: "it does not tell its counters");
	}
	free(line);
	fclose(mounts);
	if (d.f && n == 0)
		fputs("No buffer of dimmapfs is mounted here.\n", d.f);
	return hold_text(b, "buffers.txt", "the mounts of dimmapfs, and their .stats", &d, 0, err);
}

/* -------------------------------------------------------------------- kernel */

/* Options whose names begin so. */
static const char *const option[] = {
	"BLK_DEV_NVME",
	"CGROUP",
	"CMA",
	"CPUSETS",
	"CPU_ISOLATION",
	"DEBUG_VM",
	"DIMMAP",
	"HZ",
	"KASAN",
	"KCSAN",
	"LOCKDEP",
	"MEMCG",
	"MEMORY_HOTPLUG",
	"MIGRATION",
	"MODULE_SIG",
	"MODVERSIONS",
	"NODES_SHIFT",
	"NO_HZ",
	"NUMA",
	"PREEMPT",
	"PROVE_LOCKING",
	"PSI",
	"RCU_NOCB",
	"RT_GROUP_SCHED",
	"SCHED",
	"SMP",
	"TRANSPARENT_HUGEPAGE",
};

static const char *const log_word[] = { "nodeos",	    "fgmn",   "dimmap",	       "sched_hpc",
					"cpuset",	    "oom",    "out of memory", "hung task",
					"blocked for more", "lockup", "rcu:" };

static bool bundle_node_is_option(const char *line)
{
	const char *name = strstr(line, "CONFIG_");

	for (size_t i = 0; name && i < sizeof(option) / sizeof(option[0]); i++)
		if (strncmp(name + strlen("CONFIG_"), option[i], strlen(option[i])) == 0)
			return true;
	return false;
}

static bool is_ours(const char *line)
{
	for (size_t i = 0; i < sizeof(log_word) / sizeof(log_word[0]); i++)
		if (strcasestr(line, log_word[i]))
			return true;
	return false;
}

/* Those lines of TEXT, which is cut up, that WANTED wants. */
static int put_lines(struct bundle *b, const char *file, const char *what, char *text,
		     bool (*wanted)(const char *line), struct errbuf *err)
{
	struct memory_text d;
	char *next;

	memory_text_open(&d);
	for (char *line = text; d.f && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (wanted(line))
			fprintf(d.f, "%s\n", line);
	}
	return hold_text(b, file, what, &d, BUNDLE_MASK, err);
}

/* Of what the first of these programs prints that there is. */
static int put_printed(struct bundle *b, const char *file, const char *what,
		       const char *const *argv, bool (*wanted)(const char *line),
		       struct errbuf *err)
{
	char program[PROGRAM_PATH_MAX];
	const char *words[8] = { program };
	struct subprocess h = { .argv = words,
				.uid = (uid_t)-1,
				.extra_fd = -1,
				.timeout = 30,
				.output_max = 32u << 20 };
	struct errbuf why = { 0 };
	char *text = NULL;
	int rc;

	program_find(argv[0], program);
	for (size_t i = 1; argv[i] && i + 1 < sizeof(words) / sizeof(words[0]); i++)
		words[i] = argv[i];
	rc = subprocess_run(&h, &text, &why);
	if (rc == 0)
		rc = put_lines(b, file, what, text, wanted, err);
	else
		rc = bundle_missing(b, file, what, *why.text ? why.text : "it failed", err);
	free(text);
	return rc;
}

/* A word a line, so that one secret does not mask what is behind it. */
static int put_cmdline(struct bundle *b, struct errbuf *err)
{
	FILE *in = fopen("/proc/cmdline", "re");
	bool quoted = false;
	struct memory_text d;

	if (!in)
		return bundle_missing(b, "kernel/cmdline", "/proc/cmdline", strerror(errno), err);
	memory_text_open(&d);
	for (int c; d.f && (c = getc(in)) != EOF;) {
		quoted ^= c == '"';
		putc(c == ' ' && !quoted ? '\n' : c, d.f);
	}
	fclose(in);
	return hold_text(b, "kernel/cmdline", "/proc/cmdline, a word a line", &d, BUNDLE_MASK, err);
}

int bundle_kernel(struct bundle *b, bool log, struct errbuf *err)
{
	static const char *const unpack[] = { "gzip", "-dc", "/proc/config.gz", NULL };
	static const char *const dmesg[] = { "dmesg", NULL };
	struct utsname u;
	char path[sizeof(u.release) + 32];
	const char *const print[] = { "cat", path, NULL };
	bool built_in = access("/proc/config.gz", R_OK) == 0;

	uname(&u);
	snprintf(path, sizeof(path), "/boot/config-%s", u.release);
	if (put_cmdline(b, err) < 0 ||
	    put_printed(b, "kernel/config", built_in ? unpack[2] : path, built_in ? unpack : print,
			bundle_node_is_option, err) < 0)
		return -1;
	return log ? put_printed(b, "kernel/log.txt",
				 "dmesg, the lines on NodeOS, cpusets and memory", dmesg, is_ours,
				 err)
		   : 0;
}

int bundle_libraries(struct bundle *b, struct errbuf *err)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL, last[PATH_MAX] = "";
	struct memory_text d;
	size_t room = 0;

	if (!maps)
		return bundle_missing(b, "libraries.txt", "/proc/self/maps", strerror(errno), err);
	memory_text_open(&d);
	while (d.f && getline(&line, &room, maps) > 0) {
		const char *path = strchr(line, '/');

		/* the parts of one file follow each other */
		if (!path || !strstr(path, ".so") || strcmp(path, last) == 0)
			continue;
		snprintf(last, sizeof(last), "%s", path);
		fputs(path, d.f);
	}
	free(line);
	fclose(maps);
	return hold_text(b, "libraries.txt", "the libraries that nodeosctl runs with", &d, 0, err);
}
