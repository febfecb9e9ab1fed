/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/interference.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/proc.h"
#include "host/affinity.h"

static int is_numbered(const struct dirent *e)
{
	return isdigit((unsigned char)e->d_name[0]);
}

static int is_directory(const struct dirent *e)
{
	return e->d_name[0] != '.' && e->d_type == DT_DIR;
}

/* List the entries of PATH below ROOT by number. Returns -1 if PATH cannot be read. */
static int list_entries(struct dirent ***e, int root, const char *path,
			int (*filter)(const struct dirent *e))
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n;

	*e = NULL;
	if (fd < 0)
		return -1;
	n = scandirat(fd, ".", e, filter, versionsort);
	close(fd);
	return n;
}

static void free_entries(struct dirent **e, int n)
{
	for (int i = 0; i < n; i++)
		free(e[i]);
	free(e);
}

static int interference_add(struct noise *n, const struct noise_source *one)
{
	struct noise_source *more;

	/* grow by powers of two: a large node has tens of thousands of kernel threads */
	if ((n->n & (n->n + 1)) == 0) {
		more = reallocarray(n->source, 2 * (size_t)n->n + 2, sizeof(*more));
		if (!more)
			return -1;
		n->source = more;
	}
	n->source[n->n++] = *one;
	return 0;
}

/*
 * Write the names of the IRQ's handlers, each of which has a directory: "ahci", "eth0-rx,eth0-tx".
 * Returns false if the IRQ has no handler, since no interrupt arrives then.
 */
static bool name_irq(char name[NOISE_NAME_MAX], int root, const char *path)
{
	struct dirent **e;
	int n = list_entries(&e, root, path, is_directory);
	size_t used = 0;

	name[0] = '\0';
	for (int i = 0; i < n && used < NOISE_NAME_MAX; i++)
		used += (size_t)snprintf(name + used, NOISE_NAME_MAX - used, "%s%s", i ? "," : "",
					 e[i]->d_name);
	free_entries(e, n);
	/* drivers choose the names, possibly from devices that users plug in */
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return n > 0;
}

static int interference_add_irq(struct noise *n, int root, const char *number)
{
	static const char *const files[] = { "effective_affinity_list", "smp_affinity_list" };
	struct noise_source one = { .irq = (int)strtol(number, NULL, 10) };
	char path[300], text[IDSET_LIST_MAX + 2];
	struct errbuf ignored;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "proc/irq/%.200s/%s", number, files[i]);
		/* the effective list is empty until the interrupt is started */
		if (file_read(root, path, text, sizeof(text), &ignored) < 0 ||
		    idset_parse(&one.cpus, text, &ignored) < 0 || idset_empty(&one.cpus))
			continue;
		snprintf(path, sizeof(path), "proc/irq/%.200s", number);
		return name_irq(one.name, root, path) ? interference_add(n, &one) : 0;
	}
	return 0;
}

/* Shorten "kworker/3:1H" to "kworker" and "migration/3" to "migration"; "irq/24-ahci" stays. */
static void name_thread(char name[NOISE_NAME_MAX], const char *comm)
{
	size_t len = strncmp(comm, "irq/", 4) == 0 ? strlen(comm) : strcspn(comm, "/");

	snprintf(name, NOISE_NAME_MAX, "%.*s", (int)len, comm);
}

static int interference_add_thread(struct noise *n, int root, const char *pid)
{
	struct noise_source one = { .irq = -1 };
	struct process_facts p;
	struct errbuf ignored;
	struct idset mems;

	if (process_read_facts(&p, root, pid) < 0 || !p.kernel || p.ended ||
	    process_identify(&p, root, pid) < 0 || !p.kernel || !p.pinned ||
	    status_sets_at(root, pid, &one.cpus, &mems, &ignored) < 0)
		return 0;
	name_thread(one.name, p.comm);
	return interference_add(n, &one);
}

static int interference_each(struct noise *n, int root, const char *path, bool *known,
			     int (*fn)(struct noise *n, int root, const char *name))
{
	struct dirent **e;
	int count = list_entries(&e, root, path, is_numbered), rc = 0;

	*known = count >= 0;
	for (int i = 0; i < count && rc == 0; i++)
		rc = fn(n, root, e[i]->d_name);
	free_entries(e, count);
	return rc;
}

int noise_read(struct noise *out, int root, struct errbuf *err)
{
	char text[IDSET_LIST_MAX + 2];
	struct errbuf ignored;

	memset(out, 0, sizeof(*out));
	/* without the boot parameter the file contains "(null)" */
	if (file_read(root, "sys/devices/system/cpu/nohz_full", text, sizeof(text), &ignored) >= 0)
		idset_parse(&out->no_tick, text + strspn(text, " "), &ignored);
	if (interference_each(out, root, "proc/irq", &out->irqs_known, interference_add_irq) == 0 &&
	    interference_each(out, root, "proc", &out->threads_known, interference_add_thread) == 0)
		return 0;
	noise_free(out);
	return errprintf(err, "out of memory");
}

void noise_free(struct noise *n)
{
	free(n->source);
	memset(n, 0, sizeof(*n));
}

static void count_thread(struct noise_on *out, const struct noise_source *s)
{
	unsigned i = 0;

	out->threads++;
	while (i < out->n_threads && strcmp(out->thread[i].name, s->name) != 0)
		i++;
	if (i == NOISE_NAMES)
		return;
	if (i == out->n_threads)
		out->thread[out->n_threads++] = (struct noise_line){ .name = s->name, .irq = -1 };
	out->thread[i].count++;
	idset_or(&out->thread[i].cpus, &s->cpus);
}

static void count_irq(struct noise_on *out, const struct noise_source *s, const struct idset *cpus)
{
	struct noise_line *line;

	out->irqs++;
	if (out->n_irqs == NOISE_NAMES)
		return;
	line = &out->irq[out->n_irqs++];
	*line = (struct noise_line){ .name = s->name, .irq = s->irq, .cpus = s->cpus };
	idset_and(&line->cpus, cpus);
}

void noise_on(struct noise_on *out, const struct noise *n, const struct idset *cpus)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < n->n; i++) {
		const struct noise_source *s = &n->source[i];

		if (s->irq < 0 ? idset_empty(&s->cpus) || !idset_subset(&s->cpus, cpus)
			       : !idset_intersects(&s->cpus, cpus))
			continue;
		if (s->irq < 0)
			count_thread(out, s);
		else
			count_irq(out, s, cpus);
	}
	out->tick = *cpus;
	idset_andnot(&out->tick, &n->no_tick);
}
