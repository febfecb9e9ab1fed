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
#include "container/step_id.h"

#define ENTRY_PREFIX "job-"

/*
 * Who has the lock must not lose the CPU: slurmstepd of a job whose CPUs all have SCHED_HPC or
 * real-time ranks runs for a twentieth of the time there, and other jobs' launches wait for it.
 * Without the right it goes on as it is.
 */
static void hurry(struct ledger *l)
{
	struct sched_param first = { .sched_priority = 1 };

	int now = sched_getscheduler(0);

	if ((now == SCHED_OTHER || now == SCHED_BATCH || now == SCHED_IDLE) &&
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0)
		l->policy = now;
}

static void calm_down(const struct ledger *l)
{
	struct sched_param none = { 0 };

	if (l->policy >= 0)
		sched_setscheduler(0, l->policy, &none);
}

static void free_step(struct ledger_step *s)
{
	free(s->placed);
	free(s->request);
	node_plan_free(s->plan);
}

void ledger_job_free(struct ledger_job *job)
{
	if (!job)
		return;
	for (unsigned i = 0; i < job->n_steps; i++)
		free_step(&job->step[i]);
	free(job->step);
	free(job->request);
	node_plan_free(job->plan);
	free(job);
}

struct ledger_job *ledger_job_new(const struct cgroup_place *place, uint32_t job_id, uid_t uid)
{
	struct ledger_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->inode = place->job_inode;
	job->job_id = job_id;
	job->uid = uid;
	snprintf(job->cgroup, sizeof(job->cgroup), "%s", place->job);
	return job;
}

struct ledger_step *ledger_job_step(struct ledger_job *job, uint64_t step_inode)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode == step_inode)
			return &job->step[i];
	return NULL;
}

struct ledger_step *ledger_job_add_step(struct ledger_job *job)
{
	struct ledger_step *s = reallocarray(job->step, job->n_steps + 1u, sizeof(*s));

	if (!s)
		return NULL;
	job->step = s;
	s = &job->step[job->n_steps++];
	memset(s, 0, sizeof(*s));
	return s;
}

struct ledger_rank *ledger_step_add_rank(struct ledger_step *s)
{
	struct ledger_rank *r = reallocarray(s->placed, s->n_placed + 1u, sizeof(*r));

	if (!r)
		return NULL;
	s->placed = r;
	r = &s->placed[s->n_placed++];
	memset(r, 0, sizeof(*r));
	return r;
}

void ledger_job_del_step(struct ledger_job *job, uint64_t step_inode)
{
	struct ledger_step *s = ledger_job_step(job, step_inode);

	if (!s)
		return;
	free_step(s);
	job->n_steps--;
	memmove(s, s + 1, (size_t)(&job->step[job->n_steps] - s) * sizeof(*s));
}

/* ------------------------------------------------------------ the text form */

static void print_plan(FILE *f, const char *request, const struct node_plan *plan)
{
	if (!request || !plan)
		return;
	fprintf(f, "request %s\n", request);
	node_plan_print(f, plan);
}

static void print_ranks(FILE *f, const struct ledger_step *s)
{
	char list[IDSET_LIST_MAX];

	for (unsigned i = 0; i < s->n_placed; i++)
		if (idset_format(&s->placed[i].cpus, list, sizeof(list)) > 0)
			fprintf(f, "rank %s %s %s\n", s->placed[i].task, s->placed[i].place, list);
}

static char *format_job(const struct ledger_job *job)
{
	char list[IDSET_LIST_MAX];
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "nodeos-ledger 1\njob %" PRIu32 " uid %u inode %" PRIu64 "\ncgroup %s\n",
		job->job_id, (unsigned)job->uid, job->inode, job->cgroup);
	print_plan(f, job->request, job->plan);
	if (idset_format(&job->share, list, sizeof(list)) > 0)
		fprintf(f, "share %s bytes %" PRIu64 "\n", list, job->share_bytes);
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *s = &job->step[i];

		fprintf(f, "step %" PRIu32 " inode %" PRIu64 " ranks %u container %s\ncgroup %s\n",
			s->step_id, s->inode, s->ranks, *s->places ? s->places : LEDGER_REST,
			s->cgroup);
		if (idset_format(&s->cpus, list, sizeof(list)) > 0)
			fprintf(f, "cpus %s\n", list);
		if (s->launching)
			fputs("launching\n", f);
		if (s->partition != PARTITION_MEMBER &&
		    idset_format(&s->fence, list, sizeof(list)) > 0)
			fprintf(f, "partition %s %s\n", partition_name(s->partition), list);
		print_ranks(f, s);
		print_plan(f, s->request, s->plan);
	}
	fputs("end-of-entry\n", f);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

void ledger_step_add(struct ledger_step *s, const char *place)
{
	size_t used = strlen(s->places);

	snprintf(s->places + used, sizeof(s->places) - used, "%s%s", used ? "," : "", place);
}

bool ledger_step_in(const struct ledger_step *s, const char *place)
{
	size_t len = strlen(place);

	for (const char *at = s->places; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && strncmp(at, place, len) == 0)
			return true;
	return false;
}

/* If the line at *TEXT starts with WORD: the malloc'ed rest of it, *TEXT moved on. */
static char *take_line(const char **text, const char *word)
{
	size_t len = strlen(word);
	const char *end = strchr(*text, '\n');
	char *rest;

	if (!end || strncmp(*text, word, len) != 0)
		return NULL;
	rest = strndup(*text + len, (size_t)(end - *text) - len);
	*text = end + 1;
	return rest;
}

static int take_cgroup(const char **text, char *out)
{
	char *path = take_line(text, "cgroup ");
	int rc = path && *path && *path != '/' && strlen(path) < CGROUP_PATH_MAX ? 0 : -1;

	if (rc == 0)
		strcpy(out, path);
	free(path);
	return rc;
}

/* The optional request and plan lines. */
static int take_plan(const char **text, char **request, struct node_plan **plan, struct errbuf *err)
{
	*request = take_line(text, "request ");
	if (!*request)
		return 0;
	return node_plan_parse(plan, text, err);
}

static int take_fence(const char **text, struct ledger_step *s, struct errbuf *err)
{
	char *line = take_line(text, "partition ");
	char *blank = line ? strchr(line, ' ') : NULL;
	int rc = 0;

	if (line) {
		if (blank)
			*blank = '\0';
		rc = partition_by_name(line);
		if (!blank || rc <= PARTITION_MEMBER || idset_parse(&s->fence, blank + 1, err) < 0)
			rc = errprintf(err, "bad partition line of step %" PRIu32, s->step_id);
		else
			s->partition = (enum partition)rc;
	}
	free(line);
	return rc < 0 ? -1 : 0;
}

#define LEDGER_RANK_WIDTHS "%23s %63s"
_Static_assert(LEDGER_TASK_MAX == 24 && REQUEST_NAME_MAX == 64,
	       "LEDGER_RANK_WIDTHS is the room for both less one");

static int take_ranks(const char **text, struct ledger_step *s, struct errbuf *err)
{
	struct ledger_rank *r;
	char *line;
	int rc = 0;

	while (rc == 0 && (line = take_line(text, "rank "))) {
		int n = -1;

		r = s->n_placed < STEP_RANKS_MAX ? ledger_step_add_rank(s) : NULL;
		if (r)
			sscanf(line, LEDGER_RANK_WIDTHS " %n", r->task, r->place, &n);
		/* the name of a directory that root will write into */
		if (n < 0 || strncmp(r->task, "task_", 5) != 0 || strchr(r->task, '/') ||
		    idset_parse(&r->cpus, line + n, err) < 0)
			rc = errprintf(err, "bad rank line of step %" PRIu32, s->step_id);
		free(line);
	}
	return rc;
}

#define LEDGER_PLACES_WIDTH "4223"
_Static_assert(LEDGER_PLACES_MAX == 4224, "LEDGER_PLACES_WIDTH is the room for places less one");

static int take_step(const char **text, struct ledger_job *job, struct errbuf *err)
{
	struct ledger_step *s = ledger_job_add_step(job);
	char *line = take_line(text, "step ");
	int n = -1;

	if (s && line)
		sscanf(line,
		       "%" SCNu32 " inode %" SCNu64 " ranks %u container %" LEDGER_PLACES_WIDTH
		       "s%n",
		       &s->step_id, &s->inode, &s->ranks, s->places, &n);
	if (n < 0 || line[n]) {
		free(line);
		return errprintf(err, "bad step line");
	}
	free(line);
	if (take_cgroup(text, s->cgroup) < 0)
		return errprintf(err, "bad cgroup line of step %" PRIu32, s->step_id);
	line = take_line(text, "cpus ");
	n = line ? idset_parse(&s->cpus, line, err) : 0;
	free(line);
	if (n < 0)
		return -1;
	line = take_line(text, "launching");
	s->launching = line != NULL;
	free(line);
	if (take_fence(text, s, err) < 0 || take_ranks(text, s, err) < 0)
		return -1;
	return take_plan(text, &s->request, &s->plan, err);
}

/* "4-5 bytes 123" */
static int take_share(char *line, struct ledger_job *job, struct errbuf *err)
{
	char *blank = strchr(line, ' ');
	int n = -1;

	if (blank)
		sscanf(blank, " bytes %" SCNu64 "%n", &job->share_bytes, &n);
	if (n < 0 || blank[n])
		return errprintf(err, "bad share line");
	*blank = '\0';
	return idset_parse(&job->share, line, err);
}

int ledger_take_head(const char **text, struct ledger_job *job, struct errbuf *err)
{
	static const char header[] = "nodeos-ledger 1\n";
	unsigned uid = 0;
	char *line;
	int n = -1;

	if (strncmp(*text, header, strlen(header)) != 0)
		return errprintf(err, "not a ledger entry of this version");
	*text += strlen(header);
	line = take_line(text, "job ");
	if (line)
		sscanf(line, "%" SCNu32 " uid %u inode %" SCNu64 "%n", &job->job_id, &uid,
		       &job->inode, &n);
	if (n >= 0 && line[n])
		n = -1;
	free(line);
	job->uid = uid;
	return n < 0 || take_cgroup(text, job->cgroup) < 0
		       ? errprintf(err, "bad job or cgroup line")
		       : 0;
}

static int parse_job(struct ledger_job **out, const char *text, struct errbuf *err)
{
	struct ledger_job *job = calloc(1, sizeof(*job));
	char *line = NULL;

	if (!job) {
		errprintf(err, "out of memory");
		goto bad;
	}
	if (ledger_take_head(&text, job, err) < 0)
		goto bad;
	if (take_plan(&text, &job->request, &job->plan, err) < 0)
		goto bad;
	line = take_line(&text, "share ");
	if (line && take_share(line, job, err) < 0)
		goto bad;
	while (strncmp(text, "step ", 5) == 0)
		if (take_step(&text, job, err) < 0)
			goto bad;
	if (strcmp(text, "end-of-entry\n") != 0) {
		errprintf(err, "the entry is cut or has unknown lines");
		goto bad;
	}
	free(line);
	*out = job;
	return 0;
bad:
	free(line);
	ledger_job_free(job);
	return -1;
}

/* --------------------------------------------------------------- the directory */

/* The directory is gone, or nothing is in it: not even step_extern, which lives as long as its job.
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

int ledger_read_entry(struct ledger *l, const char *name, struct ledger_job **out,
		      struct errbuf *err)
{
	char *text = malloc(LEDGER_READ_MAX);
	int rc;

	if (!text)
		return errprintf(err, "out of memory");
	rc = file_read(l->dir_fd, name, text, LEDGER_READ_MAX, err);
	if (rc >= 0 && parse_job(out, text, err) < 0)
		rc = errwrap(err, "ledger entry %s", name);
	free(text);
	return rc < 0 ? -1 : 0;
}

/* " mems 4-5" of plans, if they are confined to them, and the share: lists that are cut count as
 * far as they go. */
static void add_named(struct ledger *l, const char *name, struct idset *out)
{
	static const char *const word[] = { " mems ", "\nshare " };
	struct errbuf ignored;
	struct idset nodes;
	char *text = malloc(LEDGER_READ_MAX);

	if (text && file_read(l->dir_fd, name, text, LEDGER_READ_MAX, &ignored) >= 0)
		for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
			for (char *at = strstr(text, word[i]); at; at = strstr(at, word[i])) {
				char list[IDSET_LIST_MAX];
				unsigned confined = 1;

				at += strlen(word[i]);
				snprintf(list, sizeof(list), "%.*s",
					 (int)strspn(at, "0123456789,-"), at);
				sscanf(at + strlen(list), " asked %*u confined %u", &confined);
				if (confined && idset_parse(&nodes, list, &ignored) == 0)
					idset_or(out, &nodes);
			}
	free(text);
}

int ledger_each_name(struct ledger *l, void (*fn)(struct ledger *l, const char *name, void *arg),
		     void *arg, struct errbuf *err)
{
	int fd = openat(l->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **e = NULL;
	int n;

	/* all names first: FN replaces and removes files of this directory */
	n = fd < 0 ? -1 : scandirat(fd, ".", &e, NULL, alphasort);
	if (n < 0)
		errprintf(err, "state directory: %s", strerror(errno));
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

static int lock(int fd, unsigned timeout, struct errbuf *err)
{
	const struct timespec pause = { 0, 5000000 };

	for (unsigned i = 0; i <= timeout * 200; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errprintf(err, "lock: %s", strerror(errno));
		nanosleep(&pause, NULL);
	}
	return errprintf(err, "still locked by another process after %u s (see fuser)", timeout);
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
		errprintf(err, "%s/lock: %s", state_dir, strerror(errno));
		goto error;
	}
	hurry(l);
	if (lock(l->lock_fd, timeout, err) < 0) {
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
	calm_down(l);
	free(l->dir);
	free(l);
}

bool ledger_job_is_empty(const struct ledger_job *job)
{
	return !job->plan && !job->n_steps && idset_empty(&job->share);
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
	if (ledger_read_entry(l, name, out, err) < 0)
		return -1;
	if ((*out)->inode != inode) {
		ledger_job_free(*out);
		*out = NULL;
		return errprintf(err, "ledger entry %s: belongs to another job", name);
	}
	return 0;
}

int ledger_write(struct ledger *l, const struct ledger_job *job, struct errbuf *err)
{
	char *text = format_job(job);
	struct errbuf why;
	char name[64];
	int rc;

	if (!text)
		return errprintf(err, "out of memory");
	if (strlen(text) >= LEDGER_ENTRY_MAX) {
		free(text);
		return errprintf(err, "the ledger entry of this job would be longer than %u bytes",
				 LEDGER_ENTRY_MAX);
	}
	ledger_entry_name(name, sizeof(name), job->inode);
	rc = file_replace(l->dir_fd, name, text, 0600, &why);
	free(text);
	return rc < 0 ? errprintf(err, "ledger: %s/%s", l->dir, why.text) : 0;
}

int ledger_remove(struct ledger *l, uint64_t inode, struct errbuf *err)
{
	char name[64];

	ledger_entry_name(name, sizeof(name), inode);
	if (unlinkat(l->dir_fd, name, 0) < 0 && errno != ENOENT)
		return errprintf(err, "ledger entry %s: %s", name, strerror(errno));
	return 0;
}

struct each {
	int (*fn)(const struct ledger_job *job, void *arg);
	void *arg;
	struct idset *unread;
	struct errbuf *bad;
	bool live; /* leave out steps that have ended, which no sweep has taken out */
	int rc;
};

static void each_one(struct ledger *l, const char *name, void *arg)
{
	struct each *e = arg;
	struct ledger_job *job = NULL;
	struct errbuf why;
	int rc;

	if (ledger_read_entry(l, name, &job, &why) < 0) {
		/* without the lock it may have been removed meanwhile */
		if (faccessat(l->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			*e->bad = why;
		if (e->unread)
			add_named(l, name, e->unread);
		return;
	}
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
	struct each e = { fn, arg, unread, bad, false, 0 };

	if (ledger_each_name(l, each_one, &e, err) < 0)
		return -1;
	return e.rc;
}

struct look {
	struct each each;
	uid_t uid;
	unsigned long job;
};

/* Is the entry NAME one that L asks for? false: it has been removed meanwhile, too. */
static bool is_asked_for(const struct ledger *l, const char *name, const struct look *look)
{
	char head[LEDGER_HEAD_MAX + 1];
	struct ledger_job job = { .inode = 0 };
	const char *at = head;
	struct errbuf ignored;
	int fd = openat(l->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, LEDGER_HEAD_MAX);

	if (fd >= 0)
		close(fd);
	head[n > 0 ? n : 0] = '\0';
	if (fd < 0)
		return false;
	/* whose it is cannot be said: who asks for all is told */
	if (ledger_take_head(&at, &job, &ignored) < 0)
		return look->uid == (uid_t)-1;
	return (look->uid == (uid_t)-1 || job.uid == look->uid) &&
	       (!look->job || job.job_id == look->job) && !ledger_job_has_ended(l, &job);
}

static void look_at(struct ledger *l, const char *name, void *arg)
{
	struct look *look = arg;

	if (is_asked_for(l, name, look))
		each_one(l, name, &look->each);
}

int ledger_look(const char *state_dir, int cgroup_fd, uid_t uid, unsigned long job,
		int (*fn)(const struct ledger_job *job, void *arg), void *arg, struct errbuf *bad,
		struct errbuf *err)
{
	struct look look = { { fn, arg, NULL, bad, true, 0 }, uid, job };
	struct ledger l = { .dir_fd = dir_open_private(state_dir, err),
			    .lock_fd = -1,
			    .cgroup_fd = cgroup_fd };
	int rc;

	if (l.dir_fd < 0)
		return -1;
	rc = ledger_each_name(&l, look_at, &look, err);
	close(l.dir_fd);
	return rc < 0 ? -1 : look.each.rc;
}

int ledger_dir(const struct ledger *l)
{
	return l->dir_fd;
}
