/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

#define SAVED_NEW "." SAVED_FILE ".new"
#define MAGIC "nodeos-contend 1"

struct saved_rank {
	uint64_t inode; /* inode of the step's directory */
	uint64_t start;
	int32_t pid;
	int32_t used; /* 1: already given to a rank; 0 in the file */
	int32_t rank; /* number of the rank, which slurmstepd reports only once; see ranks_keep() */
	int32_t padding; /* always 0 */
	uint64_t instructions, misses, remote, interrupts;
	uint64_t moves, pages;
	double moved;
	double since, started;
	struct rank_state state;
};

struct saved_domain {
	int32_t id;
	uint64_t peak;
};

/* The file consists of this head, the domains, and the ranks. */
struct saved_head {
	char magic[sizeof(MAGIC)];
	uint32_t sizes
		/*
		 * sizes of the file's three structs, which another build of the daemon may have
		 * changed
		 */
		[3];
	struct classify_conf bounds;
	char row[EVENTS_NAME_MAX]; /* name of the row whose events the totals count */
	uint32_t n_domains, n_ranks;
};

struct saved {
	struct saved_head head;
	struct saved_domain *domain;
	struct saved_rank *rank; /* sorted by inode, pid and start */
};

static int compare_saved(const void *a, const void *b)
{
	const struct saved_rank *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

void saved_free(struct saved *saved)
{
	if (!saved)
		return;
	free(saved->domain);
	free(saved->rank);
	free(saved);
}

static struct saved *saved_new(const struct saved_head *head)
{
	struct saved *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->head = *head;
	out->domain = calloc(head->n_domains + 1, sizeof(*out->domain));
	out->rank = calloc(head->n_ranks + 1, sizeof(*out->rank));
	if (out->domain && out->rank)
		return out;
	saved_free(out);
	return NULL;
}

static void fill_head(struct saved_head *head, const struct observed_node *node)
{
	*head = (struct saved_head){ .magic = MAGIC,
				     .sizes = { sizeof(struct saved_head),
						sizeof(struct saved_domain),
						sizeof(struct saved_rank) } };
	head->bounds = node->bounds;
	memcpy(head->row, node->row, sizeof(head->row));
	head->n_domains = node->n_domains;
}

static void fill_rank(struct saved_rank *out, const struct observed_step *step,
		      const struct observed_rank *rank)
{
	*out = (struct saved_rank){ .inode = step->inode,
				    .start = rank->start,
				    .pid = rank->pid,
				    .rank = rank->rank,
				    .instructions = rank->instructions,
				    .misses = rank->misses,
				    .remote = rank->remote,
				    .interrupts = rank->interrupts,
				    .moves = rank->moves,
				    .pages = rank->pages,
				    .moved = rank->moved,
				    .since = rank->since,
				    .started = step->started,
				    .state = rank->state };
}

struct saved *saved_of(const struct observed_node *node)
{
	struct saved_head head;
	struct saved *out;
	unsigned n = 0;

	fill_head(&head, node);
	for (unsigned s = 0; s < node->n_steps; s++)
		n += node->step[s].n;
	head.n_ranks = n < SAVED_RANKS_MAX ? n : SAVED_RANKS_MAX;
	out = saved_new(&head);
	if (!out)
		return NULL;
	for (unsigned d = 0; d < node->n_domains; d++)
		out->domain[d] = (struct saved_domain){ .id = node->domain[d].id,
							.peak = node->domain[d].peak };
	n = 0;
	for (unsigned s = 0; s < node->n_steps; s++)
		for (unsigned i = 0; i < node->step[s].n && n < head.n_ranks; i++)
			fill_rank(&out->rank[n++], &node->step[s], &node->step[s].rank[i]);
	qsort(out->rank, n, sizeof(*out->rank), compare_saved);
	return out;
}

static int write_pieces(int fd, const struct saved *s)
{
	if (write_all(fd, &s->head, sizeof(s->head)) < 0 ||
	    write_all(fd, s->domain, s->head.n_domains * sizeof(*s->domain)) < 0)
		return -1;
	return write_all(fd, s->rank, s->head.n_ranks * sizeof(*s->rank));
}

int saved_write(int dir_fd, const struct observed_node *node, struct errbuf *err)
{
	struct saved *s = saved_of(node);
	int fd, rc;

	if (!s)
		return errprintf(err, "out of memory");
	unlinkat(dir_fd, SAVED_NEW, 0);
	fd = openat(dir_fd, SAVED_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -1 : write_pieces(fd, s);
	if (fd >= 0 && close(fd) < 0)
		rc = -1;
	if (rc == 0)
		rc = renameat(dir_fd, SAVED_NEW, dir_fd, SAVED_FILE);
	if (rc < 0) {
		errprintf(err, SAVED_FILE ": %s", strerror(errno));
		unlinkat(dir_fd, SAVED_NEW, 0);
	}
	saved_free(s);
	return rc;
}

static int read_all(int fd, void *data, size_t len)
{
	char *p = data;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int check_head(const struct saved_head *head, int fd, struct errbuf *err)
{
	const struct observed_node none = { 0 };
	struct saved_head ours;
	struct stat st;

	fill_head(&ours, &none);
	if (memcmp(head->magic, ours.magic, sizeof(ours.magic)) != 0 ||
	    memcmp(head->sizes, ours.sizes, sizeof(ours.sizes)) != 0)
		return errprintf(err, SAVED_FILE ": another release has written this file");
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return errprintf(err,
				 SAVED_FILE ": users other than the daemon's can open this file");
	if (head->n_ranks > SAVED_RANKS_MAX || head->n_domains > IDSET_MAX ||
	    (uint64_t)st.st_size != sizeof(*head) + head->n_domains * sizeof(struct saved_domain) +
					    head->n_ranks * sizeof(struct saved_rank))
		return errprintf(err, SAVED_FILE ": damaged");
	return 0;
}

/* Return whether the byte at B is 0 or 1. To read another value as a bool is undefined. */
static bool saved_is_flag(const bool *b)
{
	return *(const unsigned char *)b <= 1;
}

/* Return whether T is a Unix time; false for NaN. */
static bool is_time(double t)
{
	return t >= 0 && t < 1e11;
}

/* Return whether fill_rank() can have made all ranks of S. */
static bool are_ranks(const struct saved *s)
{
	for (unsigned i = 0; i < s->head.n_ranks; i++) {
		const struct saved_rank *r = &s->rank[i];
		const struct rank_state *t = &r->state;

		if (r->used || !is_time(r->since) || !is_time(r->started) ||
		    t->next >= CLASSIFY_WINDOW_MAX || (unsigned)t->class > RANK_DEVIL ||
		    !saved_is_flag(&t->has_adopted) || !saved_is_flag(&t->idle))
			return false;
	}
	return true;
}

int saved_read(struct saved **out, int dir_fd, struct errbuf *err)
{
	int fd = openat(dir_fd, SAVED_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct saved_head head;

	*out = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : errprintf(err, SAVED_FILE ": %s", strerror(errno));
	if (read_all(fd, &head, sizeof(head)) < 0)
		errprintf(err, SAVED_FILE ": damaged");
	else if (check_head(&head, fd, err) == 0) {
		*out = saved_new(&head);
		if (!*out)
			errprintf(err, "out of memory");
		else if (read_all(fd, (*out)->domain, head.n_domains * sizeof(*(*out)->domain)) <
				 0 ||
			 read_all(fd, (*out)->rank, head.n_ranks * sizeof(*(*out)->rank)) < 0 ||
			 !are_ranks(*out)) {
			errprintf(err, SAVED_FILE ": damaged");
			saved_free(*out);
			*out = NULL;
		}
	}
	close(fd);
	return *out ? 0 : -1;
}

static void give_rank(struct saved *saved, struct observed_step *step, struct observed_rank *rank,
		      bool same_row, bool same_bounds)
{
	struct saved_rank key = { .inode = step->inode, .pid = rank->pid, .start = rank->start };
	struct saved_rank *found = bsearch(&key, saved->rank, saved->head.n_ranks,
					   sizeof(*saved->rank), compare_saved);

	if (!found || found->used)
		return;
	found->used = 1;
	step->started = found->started;
	if (rank->kind == OBSERVED_TASK && found->rank >= 0)
		rank->rank = found->rank;
	if (!same_row)
		return;
	rank->instructions = found->instructions;
	rank->misses = found->misses;
	rank->remote = found->remote;
	rank->interrupts = found->interrupts;
	rank->moves = (unsigned)found->moves;
	rank->pages = found->pages;
	rank->moved = found->moved;
	if (same_bounds) {
		rank->state = found->state;
		rank->since = found->since;
	}
}

void saved_give(struct saved *saved, struct observed_node *node)
{
	bool same_row, same_bounds;

	if (!saved || !saved->head.n_ranks)
		return;
	saved->head.row[sizeof(saved->head.row) - 1] = '\0';
	same_row = strcmp(saved->head.row, node->row) == 0;
	same_bounds = memcmp(&saved->head.bounds, &node->bounds, sizeof(node->bounds)) == 0;
	for (unsigned d = 0; same_row && d < node->n_domains; d++)
		for (unsigned i = 0; i < saved->head.n_domains; i++)
			if (saved->domain[i].id == node->domain[d].id &&
			    saved->domain[i].peak > node->domain[d].peak &&
			    !node->domain[d].calibrated)
				node->domain[d].peak = saved->domain[i].peak;
	for (unsigned s = 0; s < node->n_steps; s++)
		for (unsigned i = 0; i < node->step[s].n; i++)
			give_rank(saved, &node->step[s], &node->step[s].rank[i], same_row,
				  same_bounds);
}
