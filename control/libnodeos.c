/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/libnodeos_at.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "control/changes.h"
#include "control/protocol.h"
#include "host/affinity.h"

/* The caller's container, from nodeosd's answer. */
struct have {
	char container[REQUEST_NAME_MAX];
	unsigned job;
	struct idset cpus, rank_cpus, mems;
	char cpulist[IDSET_LIST_MAX], rank_cpulist[IDSET_LIST_MAX], memlist[IDSET_LIST_MAX];
};

struct nodeos {
	struct have have;
	struct errbuf err;
	const char *socket_path, *changes_path;
	int fd; /* inotify descriptor; -1: nodeos_fd() was never called */
	bool behind; /* HAVE may be out of date although FD does not show a change */
};

/* Take a line "WORD VALUE". */
static int libnodeos_take_line(struct have *h, const char *word, const char *value,
			       struct errbuf *err)
{
	struct {
		const char *word;
		struct idset *set;
		char *list;
	} list[] = { { "cpus", &h->cpus, h->cpulist },
		     { "rank_cpus", &h->rank_cpus, h->rank_cpulist },
		     { "mems", &h->mems, h->memlist } };

	if (strcmp(word, "container") == 0)
		snprintf(h->container, sizeof(h->container), "%s", value);
	if (strcmp(word, "job") == 0)
		h->job = (unsigned)strtoul(value, NULL, 10);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(word, list[i].word) == 0) {
			if (idset_parse(list[i].set, value, err) < 0)
				return errwrap(err,
					       "this version does not know nodeosd's answer: %s",
					       word);
			idset_format(list[i].set, list[i].list, IDSET_LIST_MAX);
		}
	return 0;
}

static int libnodeos_take_answer(struct have *h, char *answer, struct errbuf *err)
{
	char *save = NULL;

	memset(h, 0, sizeof(*h));
	for (char *line = strtok_r(answer, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(line, ' ');

		if (!blank)
			continue; /* skip lines of later releases */
		*blank = '\0';
		if (libnodeos_take_line(h, line, blank + 1, err) < 0)
			return -1;
	}
	if (!*h->container || idset_empty(&h->cpus))
		return errprintf(
			err, "nodeosd's answer has no container; is nodeosd of another version?");
	return 0;
}

/*
 * Send A to nodeosd. Returns the answer, which the caller frees, or NULL with the reason in N->err.
 */
static char *libnodeos_ask(nodeos_t *n, const struct ask *a)
{
	char *answer = NULL;
	size_t len;
	FILE *f = open_memstream(&answer, &len);
	int rc;

	errclear(&n->err);
	if (!f) {
		errprintf(&n->err, "out of memory");
		return NULL;
	}
	rc = ask_node(a, n->socket_path, f, &n->err);
	if (fclose(f) != 0 && rc == 0)
		rc = errprintf(&n->err, "out of memory");
	if (rc == 0)
		return answer;
	free(answer);
	return NULL;
}

int nodeos_refresh(nodeos_t *n)
{
	struct ask a = { .operation = ASK_QUERY };
	char *answer = libnodeos_ask(n, &a);
	struct have *h = answer ? malloc(sizeof(*h)) : NULL;
	int rc = -1;

	if (h)
		rc = libnodeos_take_answer(h, answer, &n->err);
	else if (answer)
		errprintf(&n->err, "out of memory");
	if (rc == 0)
		n->have = *h;
	n->behind = rc < 0;
	free(h);
	free(answer);
	return rc;
}

nodeos_t *nodeos_open_at(const char *socket_path, const char *changes_path)
{
	nodeos_t *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->fd = -1;
	n->socket_path = socket_path;
	n->changes_path = changes_path;
	nodeos_refresh(n);
	return n;
}

nodeos_t *nodeos_open(void)
{
	return nodeos_open_at(ASK_SOCKET, CHANGES_FILE);
}

void nodeos_close(nodeos_t *n)
{
	if (n && n->fd >= 0)
		close(n->fd);
	free(n);
}

const char *nodeos_error(const nodeos_t *n)
{
	return n->err.text;
}

const char *nodeos_container(const nodeos_t *n)
{
	return n->have.container;
}

unsigned nodeos_job(const nodeos_t *n)
{
	return n->have.job;
}

const char *nodeos_cpulist(const nodeos_t *n)
{
	return n->have.cpulist;
}

unsigned nodeos_cpus(const nodeos_t *n)
{
	return idset_count(&n->have.cpus);
}

const char *nodeos_rank_cpulist(const nodeos_t *n)
{
	return n->have.rank_cpulist;
}

unsigned nodeos_rank_cpus(const nodeos_t *n)
{
	return idset_count(&n->have.rank_cpus);
}

const char *nodeos_memlist(const nodeos_t *n)
{
	return n->have.memlist;
}

unsigned nodeos_mems(const nodeos_t *n)
{
	return idset_count(&n->have.mems);
}

int nodeos_resize(nodeos_t *n, const char *cpus, const char *mems)
{
	struct ask a = { .operation = ASK_RESIZE, .job = n->have.job };
	char *answer;

	errclear(&n->err);
	if (!*n->have.container)
		return errprintf(&n->err, "this process is in no container");
	if ((cpus && ask_parse_amount(&a.cpus, cpus, false) < 0) ||
	    (mems && ask_parse_mems(&a.mems, mems) < 0))
		return errprintf(&n->err, "wrong size: expected a number above 0, +N or -N; for "
					  "memory nodes also a size, such as 16G");
	if (!a.cpus.given && !a.mems.given)
		return 0;
	memcpy(a.container, n->have.container, sizeof(a.container));
	answer = libnodeos_ask(n, &a);
	free(answer);
	return answer ? nodeos_refresh(n) : -1;
}

int nodeos_fd(nodeos_t *n)
{
	errclear(&n->err);
	if (n->fd >= 0)
		return n->fd;
	n->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (n->fd < 0)
		return errprintf(&n->err, "cannot use inotify: %s", strerror(errno));
	/* nodeosd created the file before it answered the first request */
	if (inotify_add_watch(n->fd, n->changes_path, IN_MODIFY) < 0) {
		errprintf(&n->err, "%s: %s", n->changes_path, strerror(errno));
		close(n->fd);
		n->fd = -1;
		return -1;
	}
	/*
	 * The container may have changed before the watch began. So make the descriptor readable
	 * once: a second watch that ends gives an event (inotify(7), IN_IGNORED).
	 */
	n->behind = true;
	inotify_rm_watch(n->fd, inotify_add_watch(n->fd, "/", IN_DELETE_SELF));
	return n->fd;
}

int nodeos_changed(nodeos_t *n)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct idset cpus = n->have.cpus, rank_cpus = n->have.rank_cpus, mems = n->have.mems;

	if (nodeos_fd(n) < 0)
		return -1;
	while (read(n->fd, events, sizeof(events)) > 0)
		n->behind = true;
	if (!n->behind)
		return 0;
	if (nodeos_refresh(n) < 0)
		return -1;
	return !idset_equal(&cpus, &n->have.cpus) || !idset_equal(&rank_cpus, &n->have.rank_cpus) ||
	       !idset_equal(&mems, &n->have.mems);
}

int nodeos_bind_memory(nodeos_t *n)
{
	errclear(&n->err);
	if (idset_empty(&n->have.mems))
		return errprintf(&n->err, "this process is in no container");
	return membind_set(&n->have.mems, &n->err);
}
