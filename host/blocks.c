/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/huge_pages.h"

#define HEAD "nodeos-blocks 1\n"
#define TEXT_MAX (256u << 10)
#define ROOT_PATH_MAX 512
#define NODE_DIR "/sys/devices/system/node"

/* Read the first line of ROOT/PATH, without its newline. Returns 0, or -1 if there is none. */
static int blocks_first_line(char *buf, size_t size, const char *root, const char *path)
{
	char whole[ROOT_PATH_MAX];

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) >= sizeof(whole))
		return -1;
	return file_read_line(whole, buf, size);
}

/* Read the first line of a file of memory node NODE. */
static int line_of_node(char *buf, size_t size, const char *root, unsigned node, const char *file)
{
	char path[384];

	snprintf(path, sizeof(path), NODE_DIR "/node%u/%s", node, file);
	return blocks_first_line(buf, size, root, path);
}

bool blocks_are_on(const char *root)
{
	return node_division(root) != NODES_WHOLE;
}

static struct block *blocks_find(const struct blocks *b, unsigned node)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->block[i].node == node)
			return &b->block[i];
	return NULL;
}

static int blocks_add(struct blocks *b, const struct block *one)
{
	struct block *more = reallocarray(b->block, b->n + 1u, sizeof(*more));

	if (!more)
		return -1;
	b->block = more;
	b->block[b->n++] = *one;
	return 0;
}

/* Sort the nodes into homes and the sets of blocks. */
static void sort_out(struct blocks *b)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->block[i].home != b->block[i].node)
			idset_add(&b->homes, b->block[i].home);
	for (unsigned i = 0; i < b->n; i++) {
		const struct block *one = &b->block[i];

		if (idset_has(&b->homes, one->node))
			continue;
		if (one->usable < one->present / 2) {
			idset_add(&b->taken, one->node);
			continue;
		}
		idset_add(&b->nodes, one->node);
		if (one->usable < one->present / 10 * 9)
			idset_add(&b->poor, one->node);
	}
}

/*
 * Withhold from containers the memory nodes without a near CPU (those of expanders and GPUs),
 * divided or not.
 */
static void leave_special(struct blocks *b, const char *root)
{
	char text[4096];

	for (unsigned i = 0; i < b->n; i++) {
		const struct block *one = &b->block[i];

		if (!idset_has(&b->nodes, one->node) ||
		    line_of_node(text, sizeof(text), root, one->home, "cpulist") < 0 || *text)
			continue;
		idset_del(&b->nodes, one->node);
		idset_del(&b->poor, one->node);
		idset_add(&b->special, one->node);
	}
}

/*
 * Read the zones' "high 123", "present 456" and "managed 789", in pages, from the indented lines
 * below "Node 4, zone   Normal".
 */
static int read_zones(struct blocks *b, const char *root, struct errbuf *err)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char path[ROOT_PATH_MAX], line[256];
	struct block *one = NULL;
	uint64_t high = 0, pages;
	unsigned node;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/zoneinfo", root);
	f = fopen(path, "re");
	if (!f)
		return errprintf(err, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %u, zone", &node) == 1) {
			one = blocks_find(b, node);
			high = 0;
		} else if (one && sscanf(line, " high %" SCNu64, &pages) == 1) {
			high = pages;
		} else if (one && sscanf(line, " present %" SCNu64, &pages) == 1) {
			one->present += pages * page;
		} else if (one && sscanf(line, " managed %" SCNu64, &pages) == 1) {
			one->usable += pages > high ? (pages - high) * page : 0;
		}
	}
	fclose(f);
	return 0;
}

/*
 * Return the sum of the numbers after "Node NODE FIELD" in the node's meminfo; FIELD[] ends with
 * NULL.
 */
static uint64_t sum_of_node(const char *root, unsigned node, const char *const *field)
{
	char path[ROOT_PATH_MAX], line[256], name[64];
	uint64_t number, sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s" NODE_DIR "/node%u/meminfo", root, node);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		for (unsigned i = 0;
		     field[i] && sscanf(line, "Node %*u %63s %" SCNu64, name, &number) == 2; i++)
			if (strcmp(name, field[i]) == 0)
				sum += number;
	if (f)
		fclose(f);
	return sum;
}

static void take_huge_pages(struct blocks *b, const char *root)
{
	for (unsigned i = 0; i < b->n; i++) {
		uint64_t huge = huge_pages_of(root, b->block[i].node);

		b->block[i].usable -= huge < b->block[i].usable ? huge : b->block[i].usable;
	}
}

static int read_nodes(struct blocks *b, const char *root, struct errbuf *err)
{
	char text[4096];
	struct idset all;

	if (blocks_first_line(text, sizeof(text), root, NODE_DIR "/has_memory") < 0)
		return errprintf(err, "%s" NODE_DIR "/has_memory: %s", root, strerror(errno));
	if (idset_parse(&all, text, err) < 0)
		return errwrap(err, "%s" NODE_DIR "/has_memory", root);
	for (int node = idset_next(&all, -1); node >= 0; node = idset_next(&all, node)) {
		struct block one = { .node = (unsigned)node, .home = (unsigned)node };

		one.home = physical_node(root, b->how, one.node);
		if (blocks_add(b, &one) < 0)
			return errprintf(err, "out of memory");
	}
	return 0;
}

int blocks_read(struct blocks *out, const char *root, struct errbuf *err)
{
	struct blocks b = { .how = node_division(root) };

	b.on = b.how != NODES_WHOLE;
	if (b.on && (read_nodes(&b, root, err) < 0 || read_zones(&b, root, err) < 0)) {
		blocks_free(&b);
		return -1;
	}
	take_huge_pages(&b, root);
	sort_out(&b);
	leave_special(&b, root);
	*out = b;
	return 0;
}

void blocks_free(struct blocks *b)
{
	free(b->block);
	memset(b, 0, sizeof(*b));
}

int blocks_save(int dir, const struct blocks *b, struct errbuf *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (!f)
		return errprintf(err, "out of memory");
	fputs(HEAD, f);
	for (unsigned i = 0; i < b->n; i++)
		fprintf(f, "node %u home %u usable %" PRIu64 " present %" PRIu64 "\n",
			b->block[i].node, b->block[i].home, b->block[i].usable,
			b->block[i].present);
	fputs("end\n", f);
	if (fclose(f) != 0) {
		free(text);
		return errprintf(err, "out of memory");
	}
	rc = file_replace(dir, BLOCKS_FILE, text, 0600, err);
	free(text);
	return rc;
}

static int blocks_parse(struct blocks *b, const char *text, struct errbuf *err)
{
	int n;

	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return errprintf(err, "written by another version of NodeOS");
	for (text += strlen(HEAD); strncmp(text, "node ", 5) == 0; text += n) {
		struct block one;

		n = -1;
		sscanf(text, "node %u home %u usable %" SCNu64 " present %" SCNu64 "\n%n",
		       &one.node, &one.home, &one.usable, &one.present, &n);
		if (n < 0 || one.node >= IDSET_MAX || one.home >= IDSET_MAX ||
		    one.usable > one.present || blocks_find(b, one.node))
			return errprintf(err, "bad line \"%.60s\"", text);
		if (blocks_add(b, &one) < 0)
			return errprintf(err, "out of memory");
	}
	return strcmp(text, "end\n") == 0 ? 0
					  : errprintf(err, "it is truncated, or has unknown lines");
}

int blocks_load(struct blocks *out, const char *state_dir, const char *root, struct errbuf *err)
{
	struct blocks b = { .how = node_division(root) };
	char path[DIR_PATH_MAX + sizeof(BLOCKS_FILE) + 1];
	struct errbuf ignored;
	char *text;
	int rc;

	b.on = b.how != NODES_WHOLE;
	snprintf(path, sizeof(path), "%s/" BLOCKS_FILE, state_dir);
	if (!b.on || (access(path, F_OK) < 0 && errno == ENOENT))
		return blocks_read(out, root, err);
	text = malloc(TEXT_MAX);
	if (!text)
		return errprintf(err, "out of memory");
	rc = file_read(AT_FDCWD, path, text, TEXT_MAX, err);
	if (rc >= 0 && blocks_parse(&b, text, err) < 0)
		rc = errwrap(err, "%s (remove it and run nodeosctl discover)", path);
	free(text);
	if (rc < 0) {
		blocks_free(&b);
		/* without a valid file, read the kernel's files, which some users may not read */
		return blocks_read(out, root, &ignored);
	}
	sort_out(&b);
	leave_special(&b, root);
	*out = b;
	return 0;
}

uint64_t blocks_usable(const struct blocks *b, const struct idset *nodes)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < b->n; i++)
		if (idset_has(nodes, b->block[i].node))
			sum += b->block[i].usable;
	return sum;
}

/*
 * Return the bytes that the kernel cannot reclaim, from lines such as "Node 4 KernelStack: 16 kB":
 * the kernel's own memory, and files in memory, which outlive the processes that made them.
 */
static uint64_t held_by_kernel(const char *root, unsigned node)
{
	static const char *const field[] = { "SUnreclaim:",    "KernelStack:", "PageTables:",
					     "SecPageTables:", "Shmem:",       NULL };

	return sum_of_node(root, node, field) << 10;
}

/*
 * Return the bytes usable at boot, or fewer if huge pages have taken memory or the node was
 * removed.
 */
static uint64_t block_capacity(const char *root, const struct block *one)
{
	static const char *const field[] = { "MemTotal:", NULL };
	uint64_t total = sum_of_node(root, one->node, field) << 10;
	uint64_t huge = huge_pages_of(root, one->node);
	uint64_t left = total > huge ? total - huge : 0;

	return left < one->usable ? left : one->usable;
}

uint64_t blocks_usable_now(const struct blocks *b, const char *root, const struct idset *nodes)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const struct block *one = &b->block[i];
		uint64_t usable, held;

		if (!idset_has(nodes, one->node))
			continue;
		usable = block_capacity(root, one);
		held = held_by_kernel(root, one->node);
		sum += held < usable ? usable - held : 0;
	}
	return sum;
}

void blocks_near(const struct blocks *b, const char *root, const struct idset *nodes,
		 const struct idset *cpus, struct idset *out)
{
	char text[4096];
	struct idset of_home;
	struct errbuf ignored;

	idset_zero(out);
	for (unsigned i = 0; i < b->n; i++)
		if (idset_has(nodes, b->block[i].node) &&
		    line_of_node(text, sizeof(text), root, b->block[i].home, "cpulist") == 0 &&
		    idset_parse(&of_home, text, &ignored) == 0 && idset_intersects(&of_home, cpus))
			idset_add(out, b->block[i].node);
}

uint64_t blocks_largest(const struct blocks *b, const struct idset *nodes)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < b->n; i++)
		if (idset_has(nodes, b->block[i].node) && b->block[i].usable > most)
			most = b->block[i].usable;
	return most;
}

void blocks_gone(const struct blocks *b, const char *root, struct idset *nodes)
{
	for (unsigned i = 0; i < b->n; i++)
		if (block_capacity(root, &b->block[i]))
			idset_del(nodes, b->block[i].node);
}

void blocks_clean(const struct blocks *b, const char *root, const struct idset *nodes,
		  struct idset *out)
{
	static const char *const field[] = { "MemFree:", "Active(file):", "Inactive(file):",
					     "SReclaimable:", NULL };

	idset_zero(out);
	for (unsigned i = 0; i < b->n; i++) {
		const struct block *one = &b->block[i];

		if (idset_has(nodes, one->node) &&
		    sum_of_node(root, one->node, field) << 10 >= one->usable / 10 * 9)
			idset_add(out, one->node);
	}
}
