/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"
#include "base/program.h"
#include "base/secret.h"
#include "base/subprocess.h"

#define MANIFEST "MANIFEST"
#define PACK_TIMEOUT 120 /* seconds */
#define ORPHANS_MS 2000 /* that they are given to die when killed */

struct bundle {
	char output[PATH_MAX];
	const char *base; /* OUTPUT's last part */
	int parent_fd; /* of the directory that OUTPUT is in, whatever becomes of its name */
	int fd; /* OUTPUT */
	bool done;
	char top[PATH_MAX]; /* made by mkdtemp; "": not yet */
	char dir[PATH_MAX]; /* TOP/NAME */
	char name[BUNDLE_NAME_MAX];
	FILE *held, *missing; /* lines of MANIFEST */
	char *held_text, *missing_text;
	size_t held_size, missing_size;
	unsigned n_held, n_missing;
};

/* ------------------------------------------------------------- begin and end */

static int open_output(struct bundle *b, struct errbuf *err)
{
	char *slash = strrchr(b->output, '/');
	char parent[PATH_MAX] = ".";
	static const char page[4096];

	b->base = slash ? slash + 1 : b->output;
	if (slash)
		snprintf(parent, sizeof(parent), "%.*s",
			 slash == b->output ? 1 : (int)(slash - b->output), b->output);
	b->parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->parent_fd < 0)
		return errprintf(err, "%s: %s", parent, strerror(errno));
	b->fd = openat(b->parent_fd, b->base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (b->fd < 0)
		return errprintf(err, "%s: %s%s", b->output, strerror(errno),
				 errno == EEXIST ? ": name another one" : "");
	/* gathering takes minutes: a disk that is full is told before it */
	if (fchmod(b->fd, 0600) < 0 || write_all(b->fd, page, sizeof(page)) < 0 ||
	    ftruncate(b->fd, 0) < 0 || lseek(b->fd, 0, SEEK_SET) < 0)
		return errprintf(err, "%s: %s", b->output, strerror(errno));
	return 0;
}

static int make_dir(struct bundle *b, const char *tmp, struct errbuf *err)
{
	if (snprintf(b->top, sizeof(b->top), "%s/nodeos-bundle.XXXXXX", tmp) >=
	    (int)sizeof(b->top) - BUNDLE_NAME_MAX) {
		b->top[0] = '\0';
		return errprintf(err, "%s: name too long", tmp);
	}
	if (!mkdtemp(b->top)) {
		b->top[0] = '\0';
		return errprintf(err, "%s: %s", tmp, strerror(errno));
	}
	snprintf(b->dir, sizeof(b->dir), "%.*s/%s", PATH_MAX - BUNDLE_NAME_MAX - 2, b->top,
		 b->name);
	if (mkdir(b->dir, 0700) < 0)
		return errprintf(err, "%s: %s", b->dir, strerror(errno));
	b->held = open_memstream(&b->held_text, &b->held_size);
	b->missing = open_memstream(&b->missing_text, &b->missing_size);
	return b->held && b->missing ? 0 : errprintf(err, "out of memory");
}

int bundle_begin(struct bundle **out, const char *output, const char *tmp, const char *name,
		 struct errbuf *err)
{
	struct bundle *b = calloc(1, sizeof(*b));

	if (!b)
		return errprintf(err, "out of memory");
	b->fd = b->parent_fd = -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (strlen(output) >= sizeof(b->output) || strlen(name) >= sizeof(b->name)) {
		bundle_free(b);
		return errprintf(err, "%.100s...: name too long", output);
	}
	strcpy(b->output, output);
	strcpy(b->name, name);
	if (open_output(b, err) < 0 || make_dir(b, tmp, err) < 0) {
		bundle_free(b);
		return -1;
	}
	*out = b;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

/* MAX of our children at the most, into PID; returns how many. */
static int children(pid_t *pid, int max)
{
	char list[4096];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC), n = 0;
	ssize_t got = fd < 0 ? 0 : read(fd, list, sizeof(list) - 1);

	if (fd >= 0)
		close(fd);
	list[got > 0 ? got : 0] = '\0';
	for (char *at = list, *next; n < max; at = next) {
		long one = strtol(at, &next, 10);

		if (next == at)
			break;
		pid[n++] = (pid_t)one;
	}
	return n;
}

/*
 * What a program that was killed had started has become our child (bundle_begin), and is killed,
 * too: it would go on to write where nobody removes it any more, or while tar reads. One that waits
 * for a device does not die: it is left.
 */
static void end_orphans(void)
{
	const struct timespec pause = { 0, 20000000 };
	long end = monotonic_ms() + ORPHANS_MS;
	pid_t pid[128];
	int n;

	while ((n = children(pid, 128)) > 0) {
		int died = 0;

		for (int i = 0; i < n; i++) {
			pid_t got = waitpid(pid[i], NULL, WNOHANG);

			died += got == pid[i];
			/* a child still, and so its number is nobody else's */
			if (got == 0)
				kill(pid[i], SIGKILL);
		}
		if (!died && monotonic_ms() > end)
			return;
		if (!died)
			nanosleep(&pause, NULL);
	}
}

void bundle_free(struct bundle *b)
{
	struct stat mine, there;

	if (!b)
		return;
	end_orphans();
	/* more than once: somebody may be late in dying */
	for (int i = 0; i < 5 && *b->top && access(b->top, F_OK) == 0; i++)
		nftw(b->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	/* whoever else may write in that directory could have put another file there meanwhile */
	if (b->fd >= 0 && !b->done && fstat(b->fd, &mine) == 0 &&
	    fstatat(b->parent_fd, b->base, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
		unlinkat(b->parent_fd, b->base, 0);
	if (b->fd >= 0)
		close(b->fd);
	if (b->parent_fd >= 0)
		close(b->parent_fd);
	if (b->held)
		fclose(b->held);
	if (b->missing)
		fclose(b->missing);
	free(b->held_text);
	free(b->missing_text);
	free(b);
}

/* The first line of what tar and gzip say, which may begin with an empty one; cuts TEXT. */
static const char *bundle_first_line(char *text)
{
	text += strspn(text, "\n");
	text[strcspn(text, "\n")] = '\0';
	return *text ? text : "no reason told";
}

static int bundle_pack(struct bundle *b, struct errbuf *err)
{
	char tar[PROGRAM_PATH_MAX];
	const char *argv[] = { tar, "-C", b->top, "-czf", "/dev/fd/3", b->name, NULL };
	struct subprocess h = { .argv = argv,
				.uid = (uid_t)-1,
				.extra_fd = b->fd,
				.join_stderr = true,
				.timeout = PACK_TIMEOUT,
				.output_max = 1 << 20 };
	char *said = NULL;
	int status;

	program_find("tar", tar);
	status = subprocess_run(&h, &said, err);
	if (status < 0)
		return errwrap(err, "%s", b->output);
	if (status > 0)
		errprintf(err, "%s: %s", b->output, bundle_first_line(said));
	free(said);
	if (status > 0)
		return -1;
	/* a file system of another machine may say only now that it is full */
	return fsync(b->fd) < 0 ? errprintf(err, "%s: %s", b->output, strerror(errno)) : 0;
}

static int write_manifest(struct bundle *b, const char *about, struct errbuf *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (!f || fflush(b->held) != 0 || fflush(b->missing) != 0)
		return errprintf(err, "out of memory");
	fprintf(f,
		"%s\nHeld (file, bytes, from where):\n%s\n"
		"Not to be had (file, from where, why):\n%s",
		about, b->held_text, b->n_missing ? b->missing_text : "nothing\n");
	if (ferror(f) | fclose(f)) {
		free(text);
		return errprintf(err, "out of memory");
	}
	rc = bundle_text(b, MANIFEST, "this list", text, 0, err);
	free(text);
	return rc;
}

int bundle_end(struct bundle *b, const char *about, struct bundle_sum *sum, struct errbuf *err)
{
	struct stat st;

	if (write_manifest(b, about, err) < 0 || bundle_pack(b, err) < 0)
		return -1;
	if (fstat(b->fd, &st) < 0)
		return errprintf(err, "%s: %s", b->output, strerror(errno));
	*sum = (struct bundle_sum){ .held = b->n_held,
				    .missing = b->n_missing,
				    .missing_lines = b->missing_text,
				    .bytes = st.st_size };
	b->done = true;
	return 0;
}

/* -------------------------------------------------------------------- files */

void bundle_scratch(const struct bundle *b, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s", b->top);
}

void bundle_dir(const struct bundle *b, const char *dir, char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/%s", b->dir, dir) >= PATH_MAX ||
	    (mkdir(path, 0700) < 0 && errno != EEXIST))
		path[0] = '\0';
}

/* Open the new FILE of the archive, with the directories that it is in; -1 with errno. */
static int open_new(struct bundle *b, const char *file, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", b->dir, file);

	if (n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *slash = strchr(path + strlen(b->dir) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		int rc;

		*slash = '\0';
		rc = mkdir(path, 0700);
		*slash = '/';
		if (rc < 0 && errno != EEXIST)
			return -1;
	}
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int bundle_text(struct bundle *b, const char *file, const char *what, const char *text,
		unsigned how, struct errbuf *err)
{
	char *masked = how & BUNDLE_MASK ? secret_mask(text) : NULL;
	const char *put = masked ? masked : text;
	char path[PATH_MAX];
	int fd, rc = 0;

	if (!masked && how & BUNDLE_MASK)
		return errprintf(err, "out of memory");
	fd = open_new(b, file, path);
	if (fd < 0 && errno != EEXIST)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	if (fd >= 0 && write_all(fd, put, strlen(put)) < 0)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = errprintf(err, "%s: %s", path, strerror(errno));
	if (fd >= 0 && rc == 0) {
		b->n_held++;
		fprintf(b->held, "%s  %zu  %s\n", file, strlen(put), what);
	}
	free(masked);
	return rc;
}

int bundle_missing(struct bundle *b, const char *file, const char *what, const char *why,
		   struct errbuf *err)
{
	b->n_missing++;
	return fprintf(b->missing, "%s  %s: %s\n", file, what, why) < 0
		       ? errprintf(err, "out of memory")
		       : 0;
}

int bundle_made(struct bundle *b, const char *file, const char *what, struct errbuf *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", b->dir, file) >= (int)sizeof(path) ||
	    lstat(path, &st) < 0)
		return bundle_missing(b, file, what, "not made", err);
	b->n_held++;
	fprintf(b->held, "%s  %lld  %s\n", file, (long long)st.st_size, what);
	return 0;
}

/* Up to SIZE bytes of FD; how many, or -1 with errno. */
static ssize_t bundle_read_some(int fd, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < size) {
		n = read(fd, buf + used, size - used);
		if (n < 0 && errno == EINTR)
			n = 1;
		else
			used += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -1 : (ssize_t)used;
}

/* Malloc'ed text of PATH; NULL with errno (EINVAL: no regular file). *CUT: it is not all. */
static char *bundle_read_text(const char *path, bool tail, bool *cut)
{
	char *text = malloc(BUNDLE_FILE_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = -1;
	struct stat st;

	if (text && fd >= 0 && fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			errno = EINVAL;
		else if (!tail || st.st_size <= (off_t)BUNDLE_FILE_MAX ||
			 lseek(fd, st.st_size - (off_t)BUNDLE_FILE_MAX, SEEK_SET) >= 0)
			n = bundle_read_some(fd, text, BUNDLE_FILE_MAX);
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = '?';
	text[n] = '\0';
	*cut = n == BUNDLE_FILE_MAX;
	/* half a line may have lost the name of its secret */
	if (*cut && tail)
		memmove(text, strchrnul(text, '\n'), strlen(strchrnul(text, '\n')) + 1);
	return text;
}

int bundle_file(struct bundle *b, const char *file, const char *path, unsigned how,
		struct errbuf *err)
{
	char what[PATH_MAX + 64];
	bool cut = false;
	char *text;
	int rc;

	text = bundle_read_text(path, how & BUNDLE_TAIL, &cut);
	if (!text)
		return bundle_missing(b, file, path,
				      errno == EINVAL ? "not a regular file" : strerror(errno),
				      err);
	snprintf(what, sizeof(what), "%s%s", path,
		 !cut		     ? ""
		 : how & BUNDLE_TAIL ? " (its end)"
				     : " (its start)");
	rc = bundle_text(b, file, what, text, how, err);
	free(text);
	return rc;
}

/* ARGV as a person would type it, cut to what fits. */
static void bundle_put_words(char *buf, size_t size, const char *const *argv)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; *argv && used < size; argv++) {
		const char *slash = used ? NULL : strrchr(*argv, '/');

		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "",
					 slash ? slash + 1 : *argv);
	}
}

int bundle_program(struct bundle *b, const char *file, const char *const *argv, unsigned timeout,
		   unsigned how, struct errbuf *err)
{
	struct subprocess h = {
		.uid = (uid_t)-1,
		.extra_fd = -1,
		.join_stderr = !(how & BUNDLE_STDOUT),
		.timeout = timeout,
		.output_max = BUNDLE_FILE_MAX,
		.keep_partial = true,
	};
	const char *words[32];
	char program[PROGRAM_PATH_MAX], what[512];
	struct errbuf why = { 0 };
	char *text = NULL;
	size_t n = 0;
	int status, rc;

	while (n + 1 < sizeof(words) / sizeof(words[0]) && argv[n]) {
		words[n] = argv[n];
		n++;
	}
	words[n] = NULL;
	if (*argv[0] != '/') {
		program_find(argv[0], program);
		words[0] = program;
	}
	h.argv = words;
	bundle_put_words(what, sizeof(what) - 32, argv);
	status = subprocess_run(&h, &text, &why);
	end_orphans();
	/* whoever lets a log grow must not keep all of it out */
	if (status < 0 && text && *text) {
		rc = bundle_missing(b, file, "the rest of it", why.text, err);
		if (rc == 0)
			rc = bundle_text(b, file, strcat(what, " (its start)"), text, how, err);
		free(text);
		return rc;
	}
	if (status < 0) {
		free(text);
		return bundle_missing(b, file, what, why.text, err);
	}
	if (status > 0)
		sprintf(what + strlen(what), " (exit status %d)", status);
	/* one that failed without a word has told nothing */
	if (status > 0 && !*text)
		rc = bundle_missing(b, file, what, "it printed nothing", err);
	else
		rc = bundle_text(b, file, what, text, how, err);
	free(text);
	return rc;
}
