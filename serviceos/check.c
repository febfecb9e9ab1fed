/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/check.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "host/affinity.h"
#include "host/slurm_conf.h"
#include "serviceos/item.h"
#include "serviceos/journal.h"
#include "serviceos/state.h"
#include "serviceos/units.h"
#include "topology/machine.h"

struct checking {
	const struct service_set *set;
	const struct conf *conf;
	void (*fn)(const struct service_finding *f, void *arg);
	void *arg;
	int root;
	/* NULL if the machine could not be loaded; the next member has the reason */
	const struct machine *m;
	const char *no_machine;
	struct undo undo;
	unsigned kept;
	/* CPUs and memory nodes of the ServiceOS, as lists */
	char cpus[IDSET_LIST_MAX], mems[IDSET_LIST_MAX];
};

static void check_found(struct checking *c, enum service_verdict verdict, const char *what,
			const char *expected, const char *is, const char *why)
{
	struct service_finding f = { verdict, what, expected, is, why };

	c->fn(&f, c->arg);
}

static const char provision_it[] = "nodeosctl provision";

static int check_item(const struct service_item *it, void *arg)
{
	struct checking *c = arg;
	const struct undo_line *fixed = undo_find(&c->undo, UNDO_FIXED, it->name);
	char what[sizeof(it->label) + sizeof(it->name) + 8], wanted[IDSET_LIST_MAX],
		is[IDSET_LIST_MAX];

	if (it->kind == ITEM_THREAD && it->process)
		return 0; /* check_processes() checks threads and their memory nodes */
	if (it->ok) {
		c->kept++;
		return 0;
	}
	if (it->kind == ITEM_DROPIN) {
		snprintf(what, sizeof(what), "/%s (%s)", it->name, it->label);
		check_found(c, SERVICE_DRIFT, what, "as provision writes it",
			    it->there ? "another text" : "missing", provision_it);
		return 0;
	}
	if (it->kind == ITEM_THREAD)
		snprintf(what, sizeof(what), "%s, pid %d", it->label, it->pid);
	else
		snprintf(what, sizeof(what), "%s", it->label);
	if (it->fixed || (fixed && *fixed->text))
		check_found(c, SERVICE_FIXED, what, service_item_shown(it, it->wanted, wanted),
			    service_item_shown(it, it->found, is),
			    it->fixed ? service_item_fixed(it) : fixed->text);
	else
		check_found(c, SERVICE_DRIFT, what, service_item_shown(it, it->wanted, wanted),
			    service_item_shown(it, it->found, is), provision_it);
	return 0;
}

/* CPUs and memory nodes of all threads of a process. */
struct reach {
	struct idset cpus, mems;
	unsigned threads;
};

static void check_add_thread(struct reach *r, const char *name)
{
	struct idset cpus, mems;
	struct errbuf ignored;

	if (status_sets(name, &cpus, &mems, &ignored) < 0)
		return;
	idset_or(&r->cpus, &cpus);
	idset_or(&r->mems, &mems);
	r->threads++;
}

/* Report a live process whose state cannot be read. */
static void report_unreadable(struct checking *c, int pid)
{
	char name[32], what[64];
	struct process_facts p;

	snprintf(name, sizeof(name), "%d", pid);
	if (process_read_facts(&p, c->root, name) < 0 || p.kernel || p.ended)
		return;
	snprintf(what, sizeof(what), "process %d (%s)", p.pid, p.comm);
	check_found(c, SERVICE_DRIFT, what, c->cpus, "cannot be read in /proc", NULL);
}

/*
 * Return why provision could not change the affinity of process PID, or what to do. If a user makes
 * threads of the process hang, this waits for at most one of them (base/proc.h).
 */
static const char *check_advise(struct checking *c, int pid)
{
	const struct undo_line *tried;
	struct process_facts p;
	char name[48];

	snprintf(name, sizeof(name), "%d", pid);
	if (process_identify(&p, c->root, name) < 0)
		return errno == ETIME ? "it is executing a program, and waits in execve()"
				      : provision_it;
	snprintf(name, sizeof(name), "%d %" PRIu64, p.pid, p.number);
	tried = undo_find(&c->undo, UNDO_FIXED, name);
	return tried && *tried->text ? tried->text : provision_it;
}

static void check_judge(struct checking *c, const struct process_facts *p, const char *cgroup,
			const struct reach *r)
{
	char what[512], list[IDSET_LIST_MAX];
	bool cpus_ok = idset_subset(&r->cpus, &c->set->cpus);
	bool mems_ok = !c->set->own_mems || idset_subset(&r->mems, &c->set->mems);

	/* a process that cannot be read does not count as KEPT */
	if (!r->threads) {
		report_unreadable(c, p->pid);
		return;
	}
	if (cpus_ok && mems_ok) {
		c->kept++;
		return;
	}
	snprintf(what, sizeof(what), "process %d (%s) in %.300s: %s", p->pid, p->comm, cgroup,
		 cpus_ok ? "memory nodes" : "CPUs");
	idset_format(cpus_ok ? &r->mems : &r->cpus, list, sizeof(list));
	check_found(c, SERVICE_DRIFT, what, cpus_ok ? c->mems : c->cpus, list,
		    check_advise(c, p->pid));
}

/*
 * Threads are in their process's cgroup, unless that cgroup is threaded. Each thread has an
 * affinity of its own.
 */
static void check_process(struct checking *c, const char *pid)
{
	char cgroup[4096], path[64], name[64];
	struct reach reach = { .threads = 0 };
	struct process_facts p;
	struct dirent **e = NULL;
	int n;

	if (process_read_facts(&p, c->root, pid) < 0 || p.kernel)
		return;
	if (process_cgroup(cgroup, sizeof(cgroup), c->root, pid) < 0) {
		report_unreadable(c, p.pid);
		return;
	}
	if (service_exempt(cgroup, c->conf))
		return;
	snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	n = scandir(path, &e, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		if (isdigit((unsigned char)e[i]->d_name[0])) {
			snprintf(name, sizeof(name), "%.16s/task/%.16s", pid, e[i]->d_name);
			check_add_thread(&reach, name);
		}
		free(e[i]);
	}
	free(e);
	check_judge(c, &p, cgroup, &reach);
}

static void check_processes(struct checking *c)
{
	struct dirent **e = NULL;
	int n = scandir("/proc", &e, NULL, versionsort);

	for (int i = 0; i < n; i++) {
		if (isdigit((unsigned char)e[i]->d_name[0]))
			check_process(c, e[i]->d_name);
		free(e[i]);
	}
	free(e);
}

/* Check that slurmctld reserves the ServiceOS's cores, too. */
static void check_slurm_cores(struct checking *c)
{
	static const char what[] = "Slurm: CpuSpecList of this node";
	struct idset want, is;
	struct errbuf err = { 0 };
	unsigned cpus_of_node;
	char wanted[IDSET_LIST_MAX], list[IDSET_LIST_MAX];

	if (!c->m || slurm_spec_cpus(&is, &cpus_of_node, &err) < 0 ||
	    service_slurm_cpus(&want, c->m, &c->set->cpus, cpus_of_node, &err) < 0) {
		check_found(c, SERVICE_UNKNOWN, what, NULL, NULL, c->m ? err.text : c->no_machine);
		return;
	}
	if (idset_equal(&want, &is)) {
		c->kept++;
		return;
	}
	idset_format(&want, wanted, sizeof(wanted));
	idset_format(&is, list, sizeof(list));
	check_found(c, SERVICE_DRIFT, what, wanted, *list ? list : "none",
		    "slurm.conf, see nodeosctl provision --cmdline and nodeos-spank(8)");
}

/* Check that the node is provisioned as nodeos.conf says. */
static void check_conf(struct checking *c)
{
	static const char what[] = "nodeos.conf";
	struct service_set want;
	struct errbuf err = { 0 };
	char wanted[2 * IDSET_LIST_MAX + 64], is[sizeof(wanted)], list[IDSET_LIST_MAX];

	if (c->m && !idset_subset(&c->set->cpus, machine_cpus(c->m))) {
		want.cpus = c->set->cpus;
		idset_andnot(&want.cpus, machine_cpus(c->m));
		idset_format(&want.cpus, list, sizeof(list));
		snprintf(wanted, sizeof(wanted), "CPUs %s of the ServiceOS", list);
		check_found(c, SERVICE_DRIFT, wanted, "online", "offline",
			    "bring them online, or nodeosctl unprovision");
		return;
	}
	if (!c->m || service_choose(&want, c->m, &c->conf->service, &err) < 0) {
		snprintf(wanted, sizeof(wanted), NODEOS_CONF_PATH ": %.200s",
			 c->m ? err.text : c->no_machine);
		check_found(c, SERVICE_DRIFT, wanted, "a ServiceOS that fits this machine",
			    "another", "correct the file, then nodeosctl provision");
		return;
	}
	if (service_same(&want, c->set)) {
		c->kept++;
		return;
	}
	idset_format(&want.cpus, list, sizeof(list));
	snprintf(wanted, sizeof(wanted), "%s%s", *list ? "cpus " : "no ServiceOS", list);
	snprintf(is, sizeof(is), "%s%s", *c->cpus ? "cpus " : "not provisioned", c->cpus);
	if (want.own_mems || c->set->own_mems) {
		idset_format(&want.mems, list, sizeof(list));
		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), " mems %s%s",
			 want.own_mems ? "" : "shared ", list);
		snprintf(is + strlen(is), sizeof(is) - strlen(is), " mems %s%s",
			 c->set->own_mems ? "" : "shared ", c->mems);
	}
	check_found(c, SERVICE_DRIFT, what, wanted, is,
		    idset_empty(&want.cpus) ? "nodeosctl unprovision" : provision_it);
}

static int check_node_config(struct checking *c, struct errbuf *err)
{
	struct service_items in;
	char kept[32];
	int dir, rc = -1;

	c->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = open(c->conf->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->root < 0 || dir < 0) {
		errprintf(err, "%s: %s", dir < 0 ? c->conf->state_dir : "/", strerror(errno));
	} else if (undo_open(&c->undo, dir, UNDO_READ, err) >= 0) {
		in = (struct service_items){ c->root, c->set, c->conf };
		rc = service_each_item(&in, check_item, c, err);
		if (rc == 0) {
			check_processes(c);
			check_slurm_cores(c);
			snprintf(kept, sizeof(kept), "%u", c->kept);
			check_found(c, SERVICE_KEPT, "the ServiceOS", c->cpus, kept, NULL);
		}
		undo_close(&c->undo);
	}
	if (c->root >= 0)
		close(c->root);
	if (dir >= 0)
		close(dir);
	return rc;
}

int service_check(const struct service_set *set, const struct conf *conf,
		  void (*fn)(const struct service_finding *f, void *arg), void *arg,
		  struct errbuf *err)
{
	struct checking *c = calloc(1, sizeof(*c));
	struct errbuf no_machine = { 0 };
	struct machine *m = NULL;
	int rc = 0;

	if (!c)
		return errprintf(err, "out of memory");
	c->set = set;
	c->conf = conf;
	c->fn = fn;
	c->arg = arg;
	machine_load_whole(&m, &no_machine);
	c->m = m;
	c->no_machine = no_machine.text;
	idset_format(&set->cpus, c->cpus, sizeof(c->cpus));
	idset_format(&set->mems, c->mems, sizeof(c->mems));
	check_conf(c);
	if (!idset_empty(&set->cpus))
		rc = check_node_config(c, err);
	machine_free(m);
	free(c);
	return rc;
}
