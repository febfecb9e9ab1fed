/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/item.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hexmask.h"
#include "base/proc.h"
#include "host/affinity.h"
#include "serviceos/units.h"

struct each {
	const struct service_items *in;
	int (*fn)(const struct service_item *it, void *arg);
	void *arg;
	struct service_item it;
};

void service_all(int root, const char *name, char wanted[ITEM_TEXT_MAX])
{
	bool mems = strcmp(strrchr(name, '/'), "/cpuset.mems") == 0;
	struct errbuf ignored;

	if (file_read(root,
		      mems ? "sys/devices/system/node/possible" : "sys/devices/system/cpu/possible",
		      wanted, ITEM_TEXT_MAX, &ignored) < 0)
		strcpy(wanted, "0");
	wanted[strcspn(wanted, "\n")] = '\0';
}

/*
 * Fill WANTED and OK of an item that is a kernel's file, from FOUND. Returns false for any other
 * item.
 */
static bool item_judge(struct each *e, unsigned least)
{
	struct service_item *it = &e->it;
	const struct idset *cpus = &e->in->set->cpus;
	struct errbuf ignored;
	struct idset now;

	it->found[strcspn(it->found, "\n")] = '\0';
	switch (it->kind) {
	case ITEM_NUMBER:
		snprintf(it->wanted, sizeof(it->wanted), "%u", least);
		it->ok = isdigit((unsigned char)it->found[0]) &&
			 strtoul(it->found, NULL, 10) >= least;
		return true;
	case ITEM_MASK:
		hexmask_format(cpus, it->wanted);
		if (hexmask_parse(&now, it->found, &ignored) < 0)
			return false;
		break;
	case ITEM_CPUSET:
		if (strcmp(strrchr(it->name, '/'), "/cpuset.mems") == 0)
			cpus = &e->in->set->mems;
		/* fall through */
	default:
		idset_format(cpus, it->wanted, sizeof(it->wanted));
		if (idset_parse(&now, it->found, &ignored) < 0)
			return false;
	}
	it->ok = idset_subset(&now, cpus);
	if (it->open) {
		it->ok = idset_empty(&now) || !it->ok ||
			 (it->kind == ITEM_CPUSET && cpus == &e->in->set->mems &&
			  !e->in->set->own_mems);
		service_all(e->in->root, it->name, it->wanted);
		return true;
	}
	if (it->kind == ITEM_CPUSET)
		it->ok = cpus == &e->in->set->cpus || (it->ok && !idset_empty(&now));
	return true;
}

/* Call FN for a file of the kernel, if this kernel has the file. */
static int give_file(struct each *e, enum item_kind kind, const char *path, unsigned least,
		     const char *label)
{
	struct errbuf ignored;
	struct stat st;

	if (fstatat(e->in->root, path, &st, 0) < 0)
		return 0;
	e->it.kind = kind;
	e->it.fixed = !(st.st_mode & S_IWUSR);
	snprintf(e->it.name, sizeof(e->it.name), "%s", path);
	snprintf(e->it.label, sizeof(e->it.label), "%s", label);
	/* an IRQ or a device may disappear at any time */
	if (file_read(e->in->root, path, e->it.found, sizeof(e->it.found), &ignored) < 0 ||
	    !item_judge(e, least))
		return 0;
	return e->fn(&e->it, e->arg);
}

/* Call GIVE for each entry of the directory PATH, sorted by name, where 9 comes before 10. Stops
 * when GIVE returns non-zero, and returns that value. */
static int each_entry(struct each *e, const char *path,
		      int (*give)(struct each *e, const char *name))
{
	struct dirent **entry = NULL;
	int n = scandirat(e->in->root, path, &entry, NULL, versionsort), rc = 0;

	for (int i = 0; i < n; i++) {
		if (rc == 0 && entry[i]->d_name[0] != '.')
			rc = give(e, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

/* ------------------------------------------------------------------------ files */

static int give_irq(struct each *e, const char *name)
{
	char path[300], label[128];
	DIR *dir;
	int fd;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	snprintf(label, sizeof(label), "IRQ %.16s", name);
	snprintf(path, sizeof(path), "proc/irq/%.200s", name);
	fd = openat(e->in->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	/* each handler of the interrupt has a directory */
	for (struct dirent *d; dir && (d = readdir(dir)) != NULL;)
		if (d->d_type == DT_DIR && d->d_name[0] != '.') {
			snprintf(label + strlen(label), sizeof(label) - strlen(label), " (%.60s)",
				 d->d_name);
			break;
		}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "proc/irq/%.200s/smp_affinity_list", name);
	return give_file(e, ITEM_LIST, path, 0, label);
}

static int give_workqueue(struct each *e, const char *name)
{
	char path[400], label[128];

	snprintf(path, sizeof(path), "sys/devices/virtual/workqueue/%.255s/cpumask", name);
	snprintf(label, sizeof(label), "workqueue %.64s", name);
	return give_file(e, ITEM_MASK, path, 0, label);
}

/*
 * Give the file rps_cpus of a receive queue: CPUs to which its packets are handed (none by
 * default).
 */
static int give_queue(struct each *e, const char *device, const char *queue)
{
	char path[ITEM_NAME_MAX], label[128];

	if (strncmp(queue, "rx-", 3) != 0)
		return 0;
	snprintf(path, sizeof(path), "sys/class/net/%.100s/queues/%.100s/rps_cpus", device, queue);
	snprintf(label, sizeof(label), "packets of %.32s %.32s", device, queue);
	return give_file(e, ITEM_MASK, path, 0, label);
}

static int give_device(struct each *e, const char *device)
{
	char path[ITEM_NAME_MAX];
	struct dirent **entry = NULL;
	int n, rc = 0;

	snprintf(path, sizeof(path), "sys/class/net/%.200s/queues", device);
	n = scandirat(e->in->root, path, &entry, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = give_queue(e, device, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

static int give_files(struct each *e)
{
	static const struct {
		enum item_kind kind;
		const char *path, *label;
		unsigned least;
	} file[] = {
		{ ITEM_MASK, "proc/irq/default_smp_affinity", "new IRQs", 0 },
		{ ITEM_MASK, "sys/devices/virtual/workqueue/cpumask", "unbound workqueues", 0 },
		{ ITEM_LIST, "proc/sys/kernel/watchdog_cpumask", "lockup detectors", 0 },
		/* move timers off idle CPUs; update memory statistics seldom (tuned's values) */
		{ ITEM_NUMBER, "proc/sys/kernel/timer_migration", "timers", 1 },
		{ ITEM_NUMBER, "proc/sys/vm/stat_interval", "memory statistics", 10 },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(file) / sizeof(file[0]); i++)
		rc = give_file(e, file[i].kind, file[i].path, file[i].least, file[i].label);
	if (rc == 0)
		rc = each_entry(e, "sys/devices/virtual/workqueue", give_workqueue);
	if (rc == 0)
		rc = each_entry(e, "proc/irq", give_irq);
	return rc == 0 ? each_entry(e, "sys/class/net", give_device) : rc;
}

/* ---------------------------------------------------------------------- threads */

/*
 * Call FN for a thread. NAME is as in process_read_facts(); PROCESS is its process's pid, 0 for a
 * thread of the kernel.
 */
static int give_thread(struct each *e, const char *name, int process)
{
	struct process_facts p;
	struct idset cpus, mems;
	struct errbuf ignored;

	e->it.hangs = process_identify(&p, e->in->root, name) < 0;
	if ((e->it.hangs && errno != ETIME) ||
	    status_sets_at(e->in->root, name, &cpus, &mems, &ignored) < 0)
		return 0;
	e->it.kind = ITEM_THREAD;
	e->it.pid = p.pid;
	e->it.process = process;
	e->it.fixed = p.pinned || e->it.hangs;
	if (e->it.hangs)
		snprintf(e->it.name, sizeof(e->it.name), "%d", p.pid);
	else
		snprintf(e->it.name, sizeof(e->it.name), "%d %" PRIu64, p.pid, p.number);
	if (process)
		snprintf(e->it.label, sizeof(e->it.label), "process %d (%s)", process, p.comm);
	else
		snprintf(e->it.label, sizeof(e->it.label), "kthread %s", p.comm);
	idset_format(&cpus, e->it.found, sizeof(e->it.found));
	idset_format(&e->in->set->cpus, e->it.wanted, sizeof(e->it.wanted));
	e->it.ok = idset_subset(&cpus, &e->in->set->cpus);
	return e->fn(&e->it, e->arg);
}

static int give_kernel_thread(struct each *e, const char *name)
{
	struct process_facts p;

	return isdigit((unsigned char)name[0]) && process_read_facts(&p, e->in->root, name) == 0 &&
			       p.kernel
		       ? give_thread(e, name, 0)
		       : 0;
}

static int give_process(struct each *e, const char *name)
{
	char path[64], thread[64], cgroup[4096];
	struct dirent **entry = NULL;
	struct process_facts p;
	int n, rc = 0;

	if (!isdigit((unsigned char)name[0]) || process_read_facts(&p, e->in->root, name) < 0)
		return 0;
	if (p.kernel)
		return give_thread(e, name, 0);
	if (process_cgroup(cgroup, sizeof(cgroup), e->in->root, name) < 0 ||
	    service_exempt(cgroup, e->in->conf))
		return 0;
	snprintf(path, sizeof(path), "proc/%.16s/task", name);
	n = scandirat(e->in->root, path, &entry, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		snprintf(thread, sizeof(thread), "%.16s/task/%.16s", name, entry[i]->d_name);
		if (rc == 0 && isdigit((unsigned char)entry[i]->d_name[0]))
			rc = give_thread(e, thread, p.pid);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

/* ------------------------------------------------------------------------ units */

static int give_unit(struct service_item *it, void *arg)
{
	struct each *e = arg;
	struct errbuf ignored;

	it->fixed = false;
	it->there = faccessat(e->in->root, it->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (file_read(e->in->root, it->name, it->found, sizeof(it->found), &ignored) < 0)
		it->found[0] = '\0';
	else if (*it->found)
		it->found[strlen(it->found) - 1] = '\0';
	it->ok = strcmp(it->found, it->wanted) == 0;
	return e->fn(it, e->arg);
}

static int give_cgroup(struct service_item *it, void *arg)
{
	struct each *e = arg;
	char name[ITEM_NAME_MAX], label[sizeof(it->label)];
	int rc;

	strcpy(name, it->name);
	strcpy(label, it->label);
	e->it.open = it->open;
	rc = give_file(e, ITEM_CPUSET, name, 0, label);
	e->it.open = false;
	return rc;
}

/* Make the walk of IN with FN; the caller frees it. NULL: out of memory. */
static struct each *new_walk(const struct service_items *in,
			     int (*fn)(const struct service_item *it, void *arg), void *arg,
			     struct errbuf *err)
{
	struct each *e = calloc(1, sizeof(*e));

	if (!e) {
		errprintf(err, "out of memory");
		return NULL;
	}
	e->in = in;
	e->fn = fn;
	e->arg = arg;
	return e;
}

int service_each_item(const struct service_items *in,
		      int (*fn)(const struct service_item *it, void *arg), void *arg,
		      struct errbuf *err)
{
	struct each *e = new_walk(in, fn, arg, err);
	int rc;

	if (!e)
		return -1;
	rc = service_each_unit(in, give_unit, e);
	if (rc == 0)
		rc = service_each_cgroup(in, give_cgroup, e);
	if (rc == 0)
		rc = give_files(e);
	if (rc == 0)
		rc = each_entry(e, "proc", give_process);
	free(e);
	return rc;
}

int service_each_kernel_item(const struct service_items *in,
			     int (*fn)(const struct service_item *it, void *arg), void *arg,
			     struct errbuf *err)
{
	struct each *e = new_walk(in, fn, arg, err);
	int rc;

	if (!e)
		return -1;
	rc = give_files(e);
	if (rc == 0)
		rc = each_entry(e, "proc", give_kernel_thread);
	free(e);
	return rc;
}

const char *service_item_shown(const struct service_item *it, const char *text,
			       char buf[IDSET_LIST_MAX])
{
	struct errbuf ignored;
	struct idset cpus;

	if (it->kind != ITEM_MASK || hexmask_parse(&cpus, text, &ignored) < 0)
		return text;
	return idset_format(&cpus, buf, IDSET_LIST_MAX) > 0 ? buf : "none";
}

const char *service_item_fixed(const struct service_item *it)
{
	if (it->kind != ITEM_THREAD)
		/* a managed interrupt, or an interrupt without a driver */
		return "the kernel allows no write";
	if (it->hangs)
		return "it is executing a program, and waits in execve()";
	if (strncmp(it->label, "kthread kworker/u", 17) == 0)
		return "it follows the workqueues";
	return strncmp(it->label, "kthread kworker/R", 17) == 0
		       ? "it works only when memory runs out"
		       : "it belongs to one CPU";
}

static int set_thread(int root, const struct service_item *it, const char *text, struct errbuf *err)
{
	struct process_facts p;
	char name[32], now[64];
	struct idset cpus;

	/* /proc/TID exists for every thread, though a listing of /proc has processes only */
	snprintf(name, sizeof(name), "%d", it->pid);
	if (process_identify(&p, root, name) < 0)
		/* otherwise the thread has ended */
		return errno == ETIME ? errprintf(err, "thread %d waits in execve()", it->pid) : 0;
	snprintf(now, sizeof(now), "%d %" PRIu64, p.pid, p.number);
	if (strcmp(now, it->name) != 0)
		return 0; /* another thread has this PID now */
	if (idset_parse(&cpus, text, err) < 0)
		return -1;
	return affinity_set(it->pid, &cpus, err) < 0 && errno != ESRCH ? -1 : 0;
}

int service_item_set(int root, const struct service_item *it, const char *text, struct errbuf *err)
{
	int fd, saved;

	if (it->kind == ITEM_THREAD)
		return set_thread(root, it, text, err);
	fd = openat(root, it->name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return 0;
	/* write(2) of no bytes does nothing: a newline is the empty set */
	if (fd < 0 || write_all(fd, *text ? text : "\n", strlen(*text ? text : "\n")) < 0) {
		saved = errno;
		if (fd >= 0)
			close(fd);
		errprintf(err, "%s: %s", it->name, strerror(saved));
		errno = saved;
		return -1;
	}
	close(fd);
	return 0;
}
