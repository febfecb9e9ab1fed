/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/contention_message.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/words.h"

#define MAGIC "nodeos-contend 1"
#define NO_CONTAINER "-"
#define ANSWER_MAX 256 /* bytes with the final NUL */
#define NUMBER_MAX 16 /* bytes of a number with the final NUL */

/* ------------------------------------------------------------------ the text */

char *contention_message_print(const struct contention_message *m)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	bool failed;

	if (!f)
		return NULL;
	fprintf(f, MAGIC " job=%u step=%u uid=%u gid=%u het=%u", m->job, m->step, (unsigned)m->uid,
		(unsigned)m->gid, m->het_job);
	if (m->policy != CONTENTION_UNSET)
		fprintf(f, " policy=%s", contention_policy_name(m->policy));
	fputs(" ranks=", f);
	for (unsigned i = 0; i < m->n; i++)
		fprintf(f, "%s%u:%d:%s", i ? "," : "", m->rank[i].rank, (int)m->rank[i].pid,
			*m->rank[i].container ? m->rank[i].container : NO_CONTAINER);
	failed = ferror(f);
	if (fclose(f) != 0 || failed || len > CONTENTION_MESSAGE_MAX) {
		free(text);
		return NULL;
	}
	return text;
}

/* Parse the LEN bytes of TEXT as one number up to MAX. */
static int message_number(unsigned *out, const char *text, size_t len, unsigned max)
{
	char word[NUMBER_MAX];

	if (len >= sizeof(word))
		return -1;
	memcpy(word, text, len);
	word[len] = '\0';
	return word_parse_number(word, 0, max, out);
}

/* Parse the LEN bytes of TEXT, "RANK:PID:CONTAINER". */
static int parse_rank(struct contention_rank *out, const char *text, size_t len)
{
	const char *first = memchr(text, ':', len), *second;
	struct errbuf ignored;
	unsigned pid;
	size_t n;

	second = first ? memchr(first + 1, ':', len - (size_t)(first + 1 - text)) : NULL;
	if (!second || message_number(&out->rank, text, (size_t)(first - text), UINT_MAX) < 0 ||
	    message_number(&pid, first + 1, (size_t)(second - first - 1), INT_MAX) < 0 || pid == 0)
		return -1;
	out->pid = (pid_t)pid;
	n = len - (size_t)(second + 1 - text);
	if (n == 0 || n >= sizeof(out->container))
		return -1;
	memcpy(out->container, second + 1, n);
	out->container[n] = '\0';
	if (strcmp(out->container, NO_CONTAINER) == 0) {
		out->container[0] = '\0';
		return 0;
	}
	return request_check_name(out->container, &ignored);
}

/* Parse the ranks in the LEN bytes of TEXT, possibly none. */
static int message_ranks(struct contention_message *out, const char *text, size_t len)
{
	unsigned n = 1;

	if (len == 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		n += text[i] == ',';
	out->rank = calloc(n, sizeof(*out->rank));
	if (!out->rank)
		return -1;
	for (const char *end = text + len; out->n < n; out->n++) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		size_t size = (size_t)((comma ? comma : end) - text);

		if (parse_rank(&out->rank[out->n], text, size) < 0)
			return -1;
		text += size + 1;
	}
	return 0;
}

/*
 * Parse the LEN bytes of TEXT as a policy. An unknown word, of a later release, leaves the policy
 * unset.
 */
static void message_policy(struct contention_message *out, const char *text, size_t len)
{
	char word[NUMBER_MAX];

	if (len >= sizeof(word))
		return;
	memcpy(word, text, len);
	word[len] = '\0';
	out->policy = contention_policy_by_name(word);
}

enum message_word {
	WORD_JOB,
	WORD_STEP,
	WORD_UID,
	WORD_GID,
	WORD_HET,
	WORD_POLICY,
	WORD_RANKS,
	WORDS
};

/* Parse a word of LEN bytes, "NAME=VALUE". SEEN has a bit for each known word so far. */
static int message_take_word(struct contention_message *out, const char *word, size_t len,
			     unsigned *seen)
{
	static const char *const names[WORDS] = { "job=", "step=",   "uid=",  "gid=",
						  "het=", "policy=", "ranks=" };
	unsigned *const to[WORD_POLICY] = { &out->job, &out->step, &out->uid, &out->gid,
					    &out->het_job };
	unsigned i = 0;
	size_t n;

	while (i < WORDS && (len < strlen(names[i]) || memcmp(word, names[i], strlen(names[i]))))
		i++;
	if (i == WORDS)
		return 0;
	if (*seen >> i & 1)
		return -1;
	*seen |= 1u << i;
	n = strlen(names[i]);
	if (i == WORD_RANKS)
		return message_ranks(out, word + n, len - n);
	if (i == WORD_POLICY) {
		message_policy(out, word + n, len - n);
		return 0;
	}
	return message_number(to[i], word + n, len - n, UINT_MAX);
}

int contention_message_parse(struct contention_message *out, const char *text, size_t len,
			     struct errbuf *err)
{
	const char *end = text + len, *at = text + strlen(MAGIC);
	char quoted[WORD_QUOTE_MAX];
	unsigned seen = 0;

	memset(out, 0, sizeof(*out));
	if (len > 0 && text[len - 1] == '\n')
		end--;
	if (len > CONTENTION_MESSAGE_MAX || end - text < (ptrdiff_t)strlen(MAGIC) ||
	    memcmp(text, MAGIC, strlen(MAGIC)) != 0)
		return errprintf(err, "%s: expected \"" MAGIC " ...\" of up to %d bytes",
				 word_quote(quoted, text, len), CONTENTION_MESSAGE_MAX);
	for (const char *c = text; c < end; c++)
		if (*c < ' ' || *c > '~')
			return errprintf(err, "%s: expected one line of printable ASCII",
					 word_quote(quoted, text, len));
	while (at < end) {
		const char *blank;
		size_t n;

		if (*at++ != ' ')
			goto bad;
		blank = memchr(at, ' ', (size_t)(end - at));
		n = (size_t)((blank ? blank : end) - at);
		if (message_take_word(out, at, n, &seen) < 0)
			goto bad;
		at += n;
	}
	if ((seen | 1u << WORD_POLICY) == (1u << WORDS) - 1)
		return 0;
	contention_message_free(out);
	return errprintf(err, "a word is missing: expected job, step, uid, gid, het and ranks");
bad:
	contention_message_free(out);
	return errprintf(err, "%s: expected a word NAME=VALUE, each NAME once",
			 word_quote(quoted, at, (size_t)(end - at)));
}

void contention_message_free(struct contention_message *m)
{
	free(m->rank);
	memset(m, 0, sizeof(*m));
}

/* ---------------------------------------------------------------- the socket */

/* Returns a non-blocking socket that is connected to the daemon's, or -1 with errno. */
static int connect_daemon(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, error, size = CONTENTION_MESSAGE_MAX + 4096;

	if (strlen(path) >= sizeof(to.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/*
	 * the daemon answers to the address of this socket; a connected socket receives datagrams
	 * only from its peer, the daemon
	 */
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    bind(fd, (struct sockaddr *)&to, sizeof(to.sun_family)) < 0) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	/*
	 * the kernel doubles the size; without the larger buffer, messages up to the default size
	 * can still be sent
	 */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

/* Wait for EVENTS on FD until DEADLINE. Returns 0, or -1 with the reason. */
static int wait_daemon(int fd, short events, long deadline, struct errbuf *err)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		long left = deadline - monotonic_ms();
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (n > 0)
			return 0;
		if (n == 0)
			return errprintf(err, "nodeos-contend did not %s within %d ms",
					 events == POLLIN ? "answer" : "receive the message",
					 CONTENTION_WAIT_MS);
		if (errno != EINTR)
			return errprintf(err, "poll: %s", strerror(errno));
	}
}

static int send_text(int fd, const char *text, long deadline, struct errbuf *err)
{
	while (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
		/* the daemon's queue is full */
		if (errno == EAGAIN || errno == EINTR) {
			if (wait_daemon(fd, POLLOUT, deadline, err) < 0)
				return -1;
		} else {
			return errprintf(err, "cannot send to nodeos-contend: %s", strerror(errno));
		}
	}
	return 0;
}

/* Receive the answer for N ranks. Returns the number of counted ranks, or -1 with the reason. */
static int take_answer(int fd, unsigned n, long deadline, struct errbuf *err)
{
	char text[ANSWER_MAX], quoted[WORD_QUOTE_MAX];
	unsigned counted;
	ssize_t len;

	do {
		if (wait_daemon(fd, POLLIN, deadline, err) < 0)
			return -1;
		len = recv(fd, text, sizeof(text) - 1, 0);
	} while (len < 0 && (errno == EAGAIN || errno == EINTR));
	if (len < 0)
		return errprintf(err, "nodeos-contend ended without an answer: %s",
				 strerror(errno));
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, "ok ", 3) == 0 && word_parse_number(text + 3, 0, n, &counted) == 0)
		return (int)counted;
	if (strncmp(text, "no ", 3) == 0)
		return errprintf(err, "nodeos-contend refused the message: %s", text + 3);
	return errprintf(err, "nodeos-contend answered %s: expected \"ok N\" or \"no REASON\"",
			 word_quote(quoted, text, strlen(text)));
}

int contention_message_send(const struct contention_message *m, const char *socket,
			    struct errbuf *err)
{
	long deadline = monotonic_ms() + CONTENTION_WAIT_MS;
	int fd = connect_daemon(socket), rc = -1;
	char *text;

	if (fd < 0)
		return errprintf(err, "nodeos-contend does not run on this host (%s: %s)", socket,
				 strerror(errno));
	text = contention_message_print(m);
	if (!text)
		errprintf(err, "out of memory, or the message would have more than %d bytes",
			  CONTENTION_MESSAGE_MAX);
	else if (send_text(fd, text, deadline, err) == 0)
		rc = take_answer(fd, m->n, deadline, err);
	free(text);
	close(fd);
	return rc;
}

bool contention_is_running(const char *socket)
{
	int fd = connect_daemon(socket);

	if (fd < 0)
		return errno == EACCES || errno == EPERM;
	close(fd);
	return true;
}
