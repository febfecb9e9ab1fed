/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/node_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/affinity.h"

static int keep_job(const struct ledger_job *job, void *arg)
{
	struct node_state *s = arg;
	struct errbuf unknown;
	struct ledger_job **more = reallocarray(s->job, s->n_jobs + 1u, sizeof(*more));

	if (!more)
		return -1;
	s->job = more;
	if (!*s->bad.text && ledger_job_of_later_release(job, &unknown))
		s->bad = unknown;
	/* the result 1 says that S owns JOB's contents now */
	s->job[s->n_jobs] = malloc(sizeof(*job));
	if (!s->job[s->n_jobs])
		return -1;
	memcpy(s->job[s->n_jobs++], job, sizeof(*job));
	return 1;
}

/* Load everything except the jobs. 1: no container was made since boot. */
static int load_node(struct node_state *out, struct errbuf *err)
{
	memset(out, 0, sizeof(*out));
	out->cgroup_fd = -1;
	if (geteuid() != 0)
		return errprintf(err, "only root may read the ledger of this node (your own "
				      "containers: nodeosctl show)");
	if (conf_load(&out->conf, NODEOS_CONF_PATH, 0, err) < 0)
		return -1;
	service_state_load(&out->service, out->conf.state_dir, &out->bad);
	if (blocks_load(&out->blocks, out->conf.state_dir, "", err) < 0 && !*out->bad.text)
		out->bad = *err;
	out->cgroup_fd = cgroup_open_root(NULL, err);
	if (out->cgroup_fd < 0)
		return -1;
	/* the file exists if cgroups have the cpuset controller */
	if (cgroup_read_set(out->cgroup_fd, ".", "cpuset.cpus.effective", &out->node_cpus, err) <
		    0 ||
	    cgroup_node_cpus(&out->node_cpus, err) < 0)
		return errwrap(
			err,
			"no containers are possible here (nodeosctl features --site says why)");
	return access(out->conf.state_dir, F_OK) < 0 && errno == ENOENT;
}

int node_state_lock(struct node_state *out, uid_t uid, unsigned long job, struct ledger **lock,
		    struct errbuf *err)
{
	const struct ledger_whose whose = { uid, job };
	int rc = load_node(out, err);

	*lock = NULL;
	if (rc > 0)
		return 0;
	if (rc == 0 &&
	    ledger_open(lock, out->conf.state_dir, out->cgroup_fd, out->conf.helper_timeout, err) ==
		    0 &&
	    ledger_each_of(*lock, &whose, keep_job, out, &out->bad, err) == 0)
		return 0;
	ledger_close(*lock);
	*lock = NULL;
	node_state_free(out);
	return -1;
}

int node_state_load(struct node_state *out, struct errbuf *err)
{
	struct ledger *l;

	if (node_state_lock(out, (uid_t)-1, 0, &l, err) < 0)
		return -1;
	ledger_close(l);
	return 0;
}

int node_state_look(struct node_state *out, uid_t uid, unsigned long job, struct errbuf *err)
{
	const struct ledger_whose whose = { uid ? uid : (uid_t)-1, job };
	int rc = load_node(out, err);

	out->own = uid != 0;
	if (rc == 0) {
		const struct ledger_at at = { out->conf.state_dir, out->cgroup_fd };

		rc = ledger_read_unlocked(&at, &whose, keep_job, out, &out->bad, err);
	}
	if (rc >= 0)
		return 0;
	node_state_free(out);
	return -1;
}

void node_state_free(struct node_state *s)
{
	for (unsigned i = 0; i < s->n_jobs; i++)
		ledger_job_free(s->job[i]);
	free(s->job);
	blocks_free(&s->blocks);
	if (s->cgroup_fd >= 0)
		close(s->cgroup_fd);
	s->cgroup_fd = -1;
	s->job = NULL;
	s->n_jobs = 0;
}

void node_state_keep(struct node_state *s, uid_t uid, unsigned long job)
{
	s->own = uid != (uid_t)-1;
	for (unsigned i = 0; i < s->n_jobs;) {
		if ((uid == (uid_t)-1 || s->job[i]->uid == uid) &&
		    (!job || s->job[i]->job_id == job)) {
			i++;
			continue;
		}
		ledger_job_free(s->job[i]);
		s->job[i] = s->job[--s->n_jobs];
	}
}

bool node_state_alone(const struct node_state *s, const struct ledger_job *job)
{
	struct errbuf ignored;
	struct idset cpus, all = s->node_cpus;

	idset_andnot(&all, &s->service.cpus);
	return cgroup_read_set(s->cgroup_fd, job->cgroup, "cpuset.cpus", &cpus, &ignored) == 0 &&
	       idset_subset(&all, &cpus);
}

struct gather {
	struct process_state *p;
	unsigned n;
};

static void add_process(pid_t pid, void *arg)
{
	struct gather *g = arg;
	struct process_state *more = reallocarray(g->p, g->n + 1u, sizeof(*more));
	struct sched_param param = { 0 };
	struct process_state *p;
	struct errbuf ignored;
	char name[32];

	if (!more)
		return;
	g->p = more;
	p = &g->p[g->n];
	snprintf(name, sizeof(name), "%ld", (long)pid);
	p->pid = pid;
	p->policy = sched_getscheduler(pid);
	p->priority = sched_getparam(pid, &param) == 0 ? param.sched_priority : 0;
	/* the process may have ended since it was listed */
	if (p->policy >= 0 && status_sets(name, &p->cpus, &p->mems, &ignored) == 0)
		g->n++;
}

int node_state_each_task(const struct node_state *s, const struct ledger_step *step,
			 void (*fn)(const char *task, const struct process_state *p, unsigned n,
				    void *arg),
			 void *arg, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 300];
	struct dirent **e = NULL;
	struct errbuf ignored;
	int n, fd;

	snprintf(path, sizeof(path), "%s/user", step->cgroup);
	fd = openat(s->cgroup_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errprintf(err, "cgroup %s: %s", path, strerror(errno));
	n = scandirat(fd, ".", &e, NULL, versionsort);
	close(fd);
	for (int i = 0; i < n; i++) {
		struct gather g = { NULL, 0 };

		if (strncmp(e[i]->d_name, "task_", 5) == 0) {
			snprintf(path, sizeof(path), "%s/user/%s", step->cgroup, e[i]->d_name);
			if (cgroup_each_pid(s->cgroup_fd, path, add_process, &g, &ignored) == 0 &&
			    g.n)
				fn(e[i]->d_name + 5, g.p, g.n, arg);
		}
		free(g.p);
		free(e[i]);
	}
	free(e);
	return 0;
}
