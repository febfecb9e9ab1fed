/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/observe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "host/cgroup.h"
#include "host/contention_message.h"
#include "host/contention_record.h"
#include "launch/step_impl.h"

bool observe_plain_steps(const char *conf_path)
{
	struct errbuf ignored;
	struct conf conf;

	return conf_load(&conf, conf_path, 0, &ignored) == 0 &&
	       request_is_observed(NULL, NULL, &conf);
}

/*
 * Return the value of --nodeos-contention; with allow_contention = no, each word except "off"
 * counts as unset.
 */
static enum contention_policy wish_of(const struct step_input *in, const struct conf *conf)
{
	if (contention_observes(in->contention) &&
	    conf->allow[ISOLATOR_CONTENTION].kind == ALLOW_NO)
		return CONTENTION_UNSET;
	return in->contention;
}

static bool is_observed(enum contention_policy wish, const struct request *r, const char *container,
			const struct conf *conf)
{
	if (wish != CONTENTION_UNSET)
		return contention_observes(wish);
	return request_is_observed(r, container, conf);
}

/*
 * Report the ranks of M, if there are any, to the daemon. If --nodeos-contention is given (WISH),
 * also write a record for a daemon that starts later. INODE is the inode of the step's cgroup.
 * Returns the number of ranks that the daemon counts, or -1 with the reason. If the record cannot
 * be written, ERR has the reason whatever the return value is.
 */
static int name_ranks(const struct contention_message *m, enum contention_policy wish,
		      uint64_t inode, const struct conf *conf, struct errbuf *err)
{
	struct errbuf why = { 0 };
	int kept = 0, counted = 0;

	if (wish != CONTENTION_UNSET && inode)
		kept = contention_record_write(conf->state_dir, inode, m, &why);
	if (m->n)
		counted = contention_message_send(m, CONTENTION_SOCKET, err);
	if (kept < 0)
		errappend(err, "%s%s", counted < 0 ? "; " : "", why.text);
	return counted;
}

/* ------------------------------------------------------------------ plain steps */

struct plain_ranks {
	struct step_input in;
	struct conf conf;
	unsigned seen;
	uint64_t recorded; /* inode of the step's cgroup; 0: the step has no record */
	struct contention_rank rank[]; /* IN.n_ranks elements */
};

int plain_ranks_new(struct plain_ranks **out, const struct step_input *in, struct errbuf *err)
{
	struct plain_ranks *p;

	*out = NULL;
	if (in->n_ranks == 0 || in->n_ranks > STEP_RANKS_MAX)
		return errprintf(err,
				 "the step has %u ranks on this node (allowed: 1 to %d), so none "
				 "is observed at"
				 " its start",
				 in->n_ranks, STEP_RANKS_MAX);
	p = calloc(1, sizeof(*p) + in->n_ranks * sizeof(p->rank[0]));
	if (!p)
		return errprintf(err, "out of memory");
	p->in = *in;
	for (unsigned i = 0; i < in->n_ranks; i++)
		p->rank[i].rank = in->global_rank[i];
	p->in.global_rank = NULL; /* belongs to the caller */
	p->in.conf_path = strdup(in->conf_path);
	if (!p->in.conf_path) {
		free(p);
		return errprintf(err, "out of memory");
	}
	*out = p;
	return 0;
}

/* Return the inode of the cgroup directory of PID's step, or 0. */
static uint64_t step_inode_of(pid_t pid)
{
	struct cgroup_place place = { .step_inode = 0 };
	struct errbuf ignored;
	int fd = cgroup_open_root(NULL, &ignored);

	if (fd < 0)
		return 0;
	if (cgroup_find_place(&place, fd, "/proc", pid, &ignored) < 0)
		place.step_inode = 0;
	close(fd);
	return place.step_inode;
}

/* Report the ranks of a plain step, after all of them are forked. */
static void name_plain_ranks(struct plain_ranks *p)
{
	struct contention_message m = {
		.job = p->in.job_id,
		.step = p->in.step_id,
		.uid = p->in.uid,
		.gid = p->in.gid,
		.rank = p->rank,
	};
	long start = monotonic_ms();
	enum contention_policy wish;
	struct errbuf err = { 0 };
	int counted;

	/* as root, since the user may be unable to read nodeos.conf */
	if (conf_load(&p->conf, p->in.conf_path, 0, &err) < 0) {
		STEP_LOG(p, "observe", "%s", err.text);
		return;
	}
	wish = m.policy = wish_of(&p->in, &p->conf);
	if (is_observed(wish, NULL, NULL, &p->conf))
		m.n = p->in.n_ranks;
	/* slurmstepd's cgroup belongs to the same step as those of its ranks */
	if (wish != CONTENTION_UNSET)
		p->recorded = step_inode_of(getpid());
	counted = name_ranks(&m, wish, p->recorded, &p->conf, &err);
	if (m.n)
		STEP_LOG(p, "observe", "%d of %u ranks have counters after %ld ms%s%s",
			 counted < 0 ? 0 : counted, m.n, monotonic_ms() - start,
			 *err.text ? ": " : "", err.text);
}

void plain_ranks_add(struct plain_ranks *p, unsigned rank, pid_t pid)
{
	if (rank >= p->in.n_ranks || p->rank[rank].pid)
		return;
	p->rank[rank].pid = pid;
	if (++p->seen == p->in.n_ranks)
		name_plain_ranks(p);
}

void plain_ranks_end(struct plain_ranks *p)
{
	if (!p)
		return;
	if (p->recorded)
		contention_record_remove(p->conf.state_dir, p->recorded);
	free((char *)p->in.conf_path);
	free(p);
}

/* ------------------------------------------------------- steps with containers */

void observe_step(const struct step *s)
{
	enum contention_policy wish = wish_of(&s->in, &s->conf);
	struct contention_message m = {
		.job = s->in.job_id,
		.step = s->in.step_id,
		.uid = s->in.uid,
		.gid = s->in.gid,
		.policy = wish,
		.rank = calloc(s->in.n_ranks, sizeof(*m.rank)),
	};
	long start = monotonic_ms();
	struct errbuf err = { 0 };
	int counted;

	for (unsigned i = 0; m.rank && i < s->in.n_ranks; i++) {
		const struct step_rank *r = &s->shared->rank[i];
		const struct step_part *part = &s->shared->part[r->part];

		if (!is_observed(wish, s->request, part->container, &s->conf))
			continue;
		m.rank[m.n].rank = r->global_rank;
		m.rank[m.n].pid = r->pid;
		strcpy(m.rank[m.n++].container, part->container);
	}
	if (m.rank && (m.n || wish != CONTENTION_UNSET)) {
		counted = name_ranks(&m, wish, s->step_inode, &s->conf, &err);
		STEP_LOG(s, "observe", "%d of %u ranks have counters after %ld ms%s%s",
			 counted < 0 ? 0 : counted, m.n, monotonic_ms() - start,
			 *err.text ? ": " : "", err.text);
	}
	contention_message_free(&m);
}

void observe_step_end(const struct step *s)
{
	if (s->in.contention != CONTENTION_UNSET)
		contention_record_remove(s->conf.state_dir, s->step_inode);
}
