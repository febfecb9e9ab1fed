/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/quiet.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hexmask.h"
#include "serviceos/item.h"
#include "serviceos/journal.h"

#define IDLE_US "10" /* the deepest idle state that a CPU of a partition may enter */

struct claim {
	int root;
	uint32_t words;
	const struct idset *cpus;
	struct idset others; /* CPUs of no partition */
	struct undo undo;
	struct errbuf *err;
	int rc;
};

static bool read_online(struct idset *out, int root)
{
	char text[IDSET_LIST_MAX + 2];
	struct errbuf ignored;

	return file_read(root, "sys/devices/system/cpu/online", text, sizeof(text), &ignored) >=
		       0 &&
	       idset_parse(out, text, &ignored) == 0;
}

static bool is_mask(const char *name)
{
	return strcmp(name, "proc/irq/default_smp_affinity") == 0;
}

/* Parse TEXT, a mask or a list of CPUs as the item NAME has it. */
static bool parse_cpus(struct idset *out, const char *name, const char *text)
{
	struct errbuf ignored;

	return (is_mask(name) ? hexmask_parse(out, text, &ignored)
			      : idset_parse(out, text, &ignored)) == 0;
}

/*
 * Write to WANTED the CPUs in TEXT, the value of item NAME, without CLAIMED; if none is left, write
 * OTHERS. Returns false if OTHERS is empty, too.
 */
static bool leave_cpus(char wanted[ITEM_TEXT_MAX], const char *name, const char *text,
		       const struct idset *claimed, const struct idset *others)
{
	struct idset cpus;

	if (!parse_cpus(&cpus, name, text))
		return false;
	idset_andnot(&cpus, claimed);
	if (idset_empty(&cpus))
		cpus = *others;
	if (idset_empty(&cpus))
		return false;
	if (is_mask(name))
		hexmask_format(&cpus, wanted);
	else
		idset_format(&cpus, wanted, ITEM_TEXT_MAX);
	return true;
}

/* Record the earlier value of IT and write WANTED. */
static int change_item(struct claim *c, const struct service_item *it, const char *wanted)
{
	enum undo_kind kind = it->kind == ITEM_THREAD ? UNDO_THREAD : UNDO_MASK;
	struct errbuf ignored;

	if (strcmp(it->found, wanted) == 0)
		return 0;
	c->rc = undo_note(&c->undo, kind, it->name, it->found, c->err);
	/* a managed interrupt cannot be moved; a thread may have ended */
	if (c->rc == 0)
		service_item_set(c->root, it, wanted, &ignored);
	return c->rc;
}

/* For service_each_kernel_item(). */
static int quiet_claim_item(const struct service_item *it, void *arg)
{
	struct claim *c = arg;
	char wanted[ITEM_TEXT_MAX];
	struct idset now;
	bool irq = strncmp(it->name, "proc/irq/", 9) == 0;

	if (it->fixed ||
	    !(irq ? c->words >> QUIET_IRQS & 1
		  : it->kind == ITEM_THREAD && c->words >> QUIET_KTHREADS & 1) ||
	    !parse_cpus(&now, it->name, it->found) || !idset_intersects(&now, c->cpus) ||
	    !leave_cpus(wanted, it->name, it->found, c->cpus, &c->others))
		return 0;
	return change_item(c, it, wanted);
}

/* For service_each_kernel_item(). */
static int quiet_note_thread(const struct service_item *it, void *arg)
{
	struct claim *c = arg;

	if (it->kind == ITEM_THREAD && !it->fixed)
		c->rc = undo_note(&c->undo, UNDO_THREAD, it->name, it->found, c->err);
	return c->rc;
}

int quiet_note(int root, int dir, uint32_t words, struct errbuf *err)
{
	const struct service_set none = { 0 };
	const struct service_items in = { .root = root, .set = &none };
	struct claim c = { .err = err };

	if (!(words >> QUIET_KTHREADS & 1))
		return 0;
	if (undo_open_file(&c.undo, dir, QUIET_FILE, UNDO_MAKE, err) < 0)
		return -1;
	if (service_each_kernel_item(&in, quiet_note_thread, &c, err) < 0)
		c.rc = -1;
	undo_close(&c.undo);
	return c.rc;
}

/* Set the file NAME, which has one word, to WANTED, if this kernel has the file. */
static int claim_file(struct claim *c, const char *name, const char *wanted)
{
	struct service_item it = { .kind = ITEM_NUMBER };
	struct errbuf ignored;

	snprintf(it.name, sizeof(it.name), "%s", name);
	if (file_read(c->root, name, it.found, sizeof(it.found), &ignored) < 0)
		return 0;
	it.found[strcspn(it.found, "\n")] = '\0';
	return change_item(c, &it, wanted);
}

#define IDLE_FORMAT "sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us"

static int claim_files(struct claim *c)
{
	char name[128];
	int rc = 0;

	if (c->words >> QUIET_MEMORY & 1)
		rc = claim_file(c, "proc/sys/kernel/numa_balancing", "0") < 0 ||
				     claim_file(c, "proc/sys/vm/compaction_proactiveness", "0") < 0
			     ? -1
			     : 0;
	for (int cpu = -1;
	     rc == 0 && c->words >> QUIET_IDLE & 1 && (cpu = idset_next(c->cpus, cpu)) >= 0;) {
		snprintf(name, sizeof(name), IDLE_FORMAT, cpu);
		rc = claim_file(c, name, IDLE_US);
	}
	return rc;
}

int quiet_claim(int root, int dir, uint32_t words, const struct idset *cpus, struct errbuf *err)
{
	const struct service_set none = { 0 };
	const struct service_items in = { .root = root, .set = &none };
	struct claim c = { .root = root, .words = words, .cpus = cpus, .err = err };

	if (!words || idset_empty(cpus) || !read_online(&c.others, root))
		return 0;
	idset_andnot(&c.others, cpus);
	if (undo_open_file(&c.undo, dir, QUIET_FILE, UNDO_MAKE, err) < 0)
		return -1;
	if (words >> QUIET_IRQS & 1 || words >> QUIET_KTHREADS & 1)
		service_each_kernel_item(&in, quiet_claim_item, &c, err);
	if (c.rc == 0)
		c.rc = claim_files(&c);
	undo_close(&c.undo);
	return c.rc;
}

/*
 * Write to WANTED the value that LINE's item must get while CLAIMED are the CPUs of live
 * partitions. Returns false if the item stays as it is.
 */
static bool value_now(char wanted[ITEM_TEXT_MAX], const struct undo_line *line,
		      const struct idset *claimed, const struct idset *others)
{
	int cpu, end = 0;

	snprintf(wanted, ITEM_TEXT_MAX, "%s", line->text);
	if (idset_empty(claimed))
		return true;
	if (line->kind == UNDO_THREAD || strncmp(line->name, "proc/irq/", 9) == 0)
		return leave_cpus(wanted, line->name, line->text, claimed, others);
	/* the node's other settings stay as long as a partition lives */
	return sscanf(line->name, IDLE_FORMAT "%n", &cpu, &end) == 1 && end > 0 &&
	       !idset_has(claimed, (unsigned)cpu);
}

static void write_earlier_value(int root, const struct undo_line *line, const char *wanted)
{
	struct service_item it = { .kind = line->kind == UNDO_THREAD ? ITEM_THREAD : ITEM_NUMBER };
	struct errbuf ignored;

	snprintf(it.name, sizeof(it.name), "%s", line->name);
	if (it.kind == ITEM_THREAD)
		it.pid = (int)strtol(it.name, NULL, 10);
	/* an interrupt or a thread may be gone */
	service_item_set(root, &it, wanted, &ignored);
}

int quiet_return(int root, int dir, const struct idset *cpus, struct errbuf *err)
{
	char wanted[ITEM_TEXT_MAX];
	struct idset others;
	struct undo u;
	int rc = undo_open_file(&u, dir, QUIET_FILE, UNDO_WRITE, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (!read_online(&others, root))
		idset_zero(&others);
	idset_andnot(&others, cpus);
	for (unsigned i = 0; i < u.n; i++)
		if (value_now(wanted, u.line[i], cpus, &others))
			write_earlier_value(root, u.line[i], wanted);
	if (idset_empty(cpus))
		rc = undo_remove(&u, err);
	undo_close(&u);
	return rc;
}
