/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "container/ledger_impl.h"

#define ENTRY_PREFIX "job-"

/*
 * Use a real-time policy while holding the lock. Otherwise, if SCHED_HPC or real-time ranks use all
 * CPUs of a job, its slurmstepd gets only a twentieth of the time, and holds the lock so much
 * longer while other launches wait. A caller without the right to real time keeps its policy.
 */
static void raise_own_priority(struct ledger *l)
{
	struct sched_param first = { .sched_priority = 1 };

	int now = sched_getscheduler(0);

	if ((now == SCHED_OTHER || now == SCHED_BATCH || now == SCHED_IDLE) &&
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0)
		l->policy = now;
}

static void restore_own_priority(const struct ledger *l)
{
	struct sched_param none = { 0 };

	if (l->policy >= 0)
		sched_setscheduler(0, l->policy, &none);
}

/* --------------------------------------------------------------- the directory */

/*
 * Return whether JOB's directory is gone or has no processes. step_extern runs as long as its job,
 * so a job without processes has ended.
 */
bool ledger_job_has_ended(const struct ledger *l, const struct ledger_job *job)
{
	return cgroup_is_gone(l->cgroup_fd, job->cgroup, job->inode) ||
	       cgroup_is_empty(l->cgroup_fd, job->cgroup);
}

bool ledger_step_has_ended(const struct ledger *l, const struct ledger_step *s)
{
	return cgroup_is_gone(l->cgroup_fd, s->cgroup, s->inode) ||
	       cgroup_is_empty(l->cgroup_fd, s->cgroup);
}

void ledger_entry_name(char *buf, size_t size, uint64_t inode)
{
	snprintf(buf, size, ENTRY_PREFIX "%" PRIu64, inode);
}

void ledger_entry_path(char *buf, size_t size, const char *state_dir, uint64_t inode)
{
	snprintf(buf, size, "%s/" ENTRY_PREFIX "%" PRIu64, state_dir, inode);
}

/* Read entry NAME. Returns its text, which the caller frees, or NULL with the reason and errno. */
static char *ledger_read_text(struct ledger *l, const char *name, struct errbuf *err)
{
	char *text = NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n = 1;
	int fd = openat(l->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error;

	/* an entry is only replaced as a whole, so the open file keeps this length */
	if (fd < 0 || fstat(fd, &st) < 0)
		goto bad;
	errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
	if (S_ISREG(st.st_mode) && st.st_size < (off_t)LEDGER_READ_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text && n > 0 && len < (size_t)st.st_size) {
		n = read(fd, text + len, (size_t)st.st_size - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (text && n > 0) {
		text[len] = '\0';
		close(fd);
		return text;
	}
bad:
	error = n == 0 ? ENODATA : errno;
	errprintf(err, "%s", n == 0 ? "the file was truncated while being read" : strerror(error));
	free(text);
	if (fd >= 0)
		close(fd);
	errno = error;
	return NULL;
}

int ledger_read_entry(struct ledger *l, const char *name, bool light, struct ledger_job **out,
		      struct errbuf *err)
{
	char *text = ledger_read_text(l, name, err);
	int rc = text ? ledger_parse(out, text, light, err) : -1;

	free(text);
	return rc < 0 ? errwrap(err, "ledger entry %s", name) : 0;
}

int ledger_read_head(struct ledger *l, const char *name, struct ledger_job *job, size_t *size)
{
	char head[LEDGER_HEAD_MAX + 1];
	const char *at = head;
	struct errbuf ignored;
	struct stat st;
	int fd = openat(l->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 || fstat(fd, &st) < 0 ? -1 : read(fd, head, LEDGER_HEAD_MAX);

	if (fd < 0)
		return -1;
	close(fd);
	errno = 0;
	if (n < 0)
		return -1;
	head[n] = '\0';
	memset(job, 0, sizeof(*job));
	if (size)
		*size = (size_t)st.st_size;
	return ledger_take_head(&at, job, &ignored);
}

/*
 * Add the memory nodes that TEXT mentions: in " mems 4-5" of confined containers, and in the share.
 * If a list is truncated, add the ids before the cut.
 */
static void add_named(const char *text, struct idset *out)
{
	static const char *const word[] = { " mems ", "\nshare " };
	struct errbuf ignored;
	struct idset nodes;

	for (size_t i = 0; text && i < sizeof(word) / sizeof(word[0]); i++)
		for (const char *at = strstr(text, word[i]); at; at = strstr(at, word[i])) {
			char list[IDSET_LIST_MAX];
			unsigned confined = 1;

			at += strlen(word[i]);
			snprintf(list, sizeof(list), "%.*s", (int)strspn(at, "0123456789,-"), at);
			sscanf(at + strlen(list), " asked %*u confined %u", &confined);
			if (confined && idset_parse(&nodes, list, &ignored) == 0)
				idset_or(out, &nodes);
		}
}

int ledger_each_name(struct ledger *l, void (*fn)(struct ledger *l, const char *name, void *arg),
		     void *arg, struct errbuf *err)
{
	int fd = openat(l->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **e = NULL;
	int n;

	/* read all names first: FN replaces and removes files of this directory */
	n = fd < 0 ? -1 : scandirat(fd, ".", &e, NULL, alphasort);
	if (n < 0)
		errprintf(err, "cannot read the state directory: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		if (strncmp(e[i]->d_name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) == 0)
			fn(l, e[i]->d_name, arg);
		free(e[i]);
	}
	free(e);
	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

static int wait_for_lock(int fd, unsigned timeout, struct errbuf *err)
{
	const struct timespec pause = { 0, 5000000 };

	for (unsigned i = 0; i <= timeout * 200; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errprintf(err, "cannot take the lock: %s", strerror(errno));
		nanosleep(&pause, NULL);
	}
	return errprintf(err, "another process has held the lock for %u s (find it with fuser)",
			 timeout);
}

int ledger_lock(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return errprintf(err, "out of memory");
	l->cgroup_fd = cgroup_fd;
	l->lock_fd = -1;
	l->policy = -1;
	l->dir = strdup(state_dir);
	l->dir_fd = l->dir ? dir_open_private(state_dir, err) : errprintf(err, "out of memory");
	if (l->dir_fd < 0)
		goto error;
	l->lock_fd = openat(l->dir_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->lock_fd < 0) {
		errprintf(err, "cannot open %s/lock: %s", state_dir, strerror(errno));
		goto error;
	}
	raise_own_priority(l);
	if (wait_for_lock(l->lock_fd, timeout, err) < 0) {
		errwrap(err, "%s", state_dir);
		goto error;
	}
	*out = l;
	return 0;
error:
	ledger_close(l);
	return -1;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	restore_own_priority(l);
	free(l->dir);
	free(l);
}

int ledger_peek(const char *state_dir, uint64_t inode, struct ledger_job **out, struct errbuf *err)
{
	struct ledger l = { .dir_fd = open(state_dir,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			    .lock_fd = -1,
			    .cgroup_fd = -1 };
	int rc;

	*out = NULL;
	if (l.dir_fd < 0)
		return errno == ENOENT ? 0 : errprintf(err, "%s: %s", state_dir, strerror(errno));
	rc = ledger_read(&l, inode, out, err);
	close(l.dir_fd);
	return rc;
}

int ledger_read(struct ledger *l, uint64_t inode, struct ledger_job **out, struct errbuf *err)
{
	char name[64];

	ledger_entry_name(name, sizeof(name), inode);
	*out = NULL;
	if (faccessat(l->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	if (ledger_read_entry(l, name, false, out, err) < 0)
		return -1;
	if ((*out)->inode != inode) {
		ledger_job_free(*out);
		*out = NULL;
		return errprintf(err, "ledger entry %s has another job's inode inside", name);
	}
	return 0;
}

struct sum {
	const struct ledger_job *but;
	size_t bytes;
};

static void ledger_add_size(struct ledger *l, const char *name, void *arg)
{
	struct sum *sum = arg;
	struct ledger_job head;
	size_t size;

	if (ledger_read_head(l, name, &head, &size) == 0 && head.uid == sum->but->uid &&
	    head.inode != sum->but->inode && size > LEDGER_FREE_MAX)
		sum->bytes += size;
}

/* Check that JOB's entry NAME may have SIZE bytes, or does not grow. */
static int check_bounds(struct ledger *l, const char *name, const struct ledger_job *job,
			size_t size, struct errbuf *err)
{
	struct sum sum = { .but = job, .bytes = size };
	struct stat now;

	if (size <= LEDGER_FREE_MAX && job->n_steps <= LEDGER_STEPS_MAX)
		return 0;
	if (fstatat(l->dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && size <= (size_t)now.st_size)
		return 0;
	if (job->n_steps > LEDGER_STEPS_MAX)
		return errcode(err, LEDGER_BOUND,
			       "this job has %u steps running on this node, and NodeOS allows "
			       "%u: start the next ones when some have ended",
			       job->n_steps, LEDGER_STEPS_MAX);
	if (size > LEDGER_ENTRY_MAX)
		return errcode(err, LEDGER_BOUND,
			       "the ledger entry of this job would be longer than %u bytes: "
			       "start the next steps when some have ended",
			       LEDGER_ENTRY_MAX);
	if (ledger_each_name(l, ledger_add_size, &sum, err) < 0)
		return -1;
	if (sum.bytes > LEDGER_USER_MAX)
		return errcode(err, LEDGER_BOUND,
			       "the ledger entries of this user's jobs on this node would be "
			       "longer than %u bytes: start the next steps when some have ended",
			       LEDGER_USER_MAX);
	return 0;
}

int ledger_write(struct ledger *l, const struct ledger_job *job, struct errbuf *err)
{
	char *text = job->light ? NULL : ledger_format(job), name[64];
	struct errbuf why;
	int rc;

	if (!text)
		return errprintf(err,
				 job->light ? "ledger: an entry cannot be written without its ranks"
					    : "out of memory");
	ledger_entry_name(name, sizeof(name), job->inode);
	rc = check_bounds(l, name, job, strlen(text), err);
	if (rc == 0 && file_replace(l->dir_fd, name, text, 0600, &why) < 0)
		rc = errprintf(err, "ledger: %s/%s", l->dir, why.text);
	free(text);
	return rc;
}

int ledger_remove(struct ledger *l, uint64_t inode, struct errbuf *err)
{
	char name[64];

	ledger_entry_name(name, sizeof(name), inode);
	if (unlinkat(l->dir_fd, name, 0) < 0 && errno != ENOENT)
		return errprintf(err, "ledger entry %s: %s", name, strerror(errno));
	return 0;
}

struct ledger_walk {
	int (*fn)(const struct ledger_job *job, void *arg);
	void *arg;
	struct idset *unread;
	struct errbuf *bad;
	const struct ledger_whose *whose; /* NULL: all entries, without their ranks */
	bool live; /* skip jobs and steps that have ended but are not swept yet */
	int rc;
};

/* Add the memory nodes in an entry's unreadable part, or in all of the entry if JOB is NULL. */
static void add_unread(struct ledger *l, const char *name, const struct ledger_job *job,
		       struct idset *out)
{
	struct errbuf ignored;
	char *text = job ? NULL : ledger_read_text(l, name, &ignored);

	add_named(text, out);
	free(text);
	if (job)
		add_named(job->unknown, out);
	for (unsigned i = 0; job && i < job->n_steps; i++)
		add_named(job->step[i].unknown, out);
}

/* Return whether E selects the entry NAME; false if the entry was removed meanwhile. */
static bool is_selected(struct ledger *l, const char *name, const struct ledger_walk *e)
{
	const struct ledger_whose *whose = e->whose;
	struct ledger_job job;

	if (!whose)
		return true;
	errno = 0;
	/* root's query for all users includes entries whose owner is unreadable */
	if (ledger_read_head(l, name, &job, NULL) < 0)
		return errno != ENOENT && whose->uid == (uid_t)-1;
	return (whose->uid == (uid_t)-1 || job.uid == whose->uid) &&
	       (!whose->job || job.job_id == whose->job) &&
	       !(e->live && ledger_job_has_ended(l, &job));
}

static void visit_entry(struct ledger *l, const char *name, void *arg)
{
	struct ledger_walk *e = arg;
	struct ledger_job *job = NULL;
	struct errbuf why;
	int rc;

	if (!is_selected(l, name, e))
		return;
	if (ledger_read_entry(l, name, !e->whose, &job, &why) < 0) {
		/* without the lock, another process may have removed the entry meanwhile */
		if (faccessat(l->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			*e->bad = why;
	}
	if (e->unread)
		add_unread(l, name, job, e->unread);
	if (!job)
		return;
	for (unsigned i = e->live ? job->n_steps : 0; i-- > 0;)
		if (ledger_step_has_ended(l, &job->step[i]))
			ledger_job_del_step(job, job->step[i].inode);
	rc = e->fn(job, e->arg);
	if (rc < 0)
		e->rc = -1;
	if (rc > 0)
		free(job);
	else
		ledger_job_free(job);
}

int ledger_each(struct ledger *l, int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		struct idset *unread, struct errbuf *bad, struct errbuf *err)
{
	struct ledger_walk e = { .fn = fn, .arg = arg, .unread = unread, .bad = bad };

	return ledger_each_name(l, visit_entry, &e, err) < 0 ? -1 : e.rc;
}

int ledger_each_of(struct ledger *l, const struct ledger_whose *whose,
		   int (*fn)(const struct ledger_job *job, void *arg), void *arg,
		   struct errbuf *bad, struct errbuf *err)
{
	struct ledger_walk e = { .fn = fn, .arg = arg, .bad = bad, .whose = whose };

	return ledger_each_name(l, visit_entry, &e, err) < 0 ? -1 : e.rc;
}

int ledger_read_unlocked(const struct ledger_at *at, const struct ledger_whose *whose,
			 int (*fn)(const struct ledger_job *job, void *arg), void *arg,
			 struct errbuf *bad, struct errbuf *err)
{
	struct ledger_walk e = { .fn = fn, .arg = arg, .bad = bad, .whose = whose, .live = true };
	struct ledger l = { .dir_fd = dir_open_private(at->state_dir, err),
			    .lock_fd = -1,
			    .cgroup_fd = at->cgroup_fd };
	int rc;

	if (l.dir_fd < 0)
		return -1;
	rc = ledger_each_name(&l, visit_entry, &e, err);
	close(l.dir_fd);
	return rc < 0 ? -1 : e.rc;
}

int ledger_dir(const struct ledger *l)
{
	return l->dir_fd;
}
