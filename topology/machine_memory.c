/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the kinds of memory nodes, and which nodes are ordinary. doc/planner.md has the rules. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/huge_pages.h"
#include "topology/machine_impl.h"

#include <hwloc/memattrs.h>

/* hwloc's subtypes of memory nodes. Other subtypes that begin with "CXL" are expanders. */
static const struct {
	const char *subtype;
	enum memory_kind kind;
} known[] = {
	{ "DRAM", MEMORY_DRAM },	 { "HBM", MEMORY_HBM }, { "MCDRAM", MEMORY_HBM },
	{ "GPUMemory", MEMORY_GPU },	 { "NVM", MEMORY_NVM }, { "SPM", MEMORY_SPM },
	{ "CXL-GPUMemory", MEMORY_GPU },
};

static enum memory_kind kind_by_subtype(const char *subtype)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcasecmp(subtype, known[i].subtype) == 0)
			return known[i].kind;
	return strncasecmp(subtype, "CXL", 3) == 0 ? MEMORY_CXL : MEMORY_UNKNOWN;
}

/* Return the kind of the node by hwloc's data: by its device, or by its subtype, or else DRAM. */
static enum memory_kind kind_by_name(hwloc_obj_t obj)
{
	const char *dax = hwloc_obj_get_info_by_name(obj, "DAXType");

	if (hwloc_obj_get_info_by_name(obj, "PCIBusID"))
		return MEMORY_GPU;
	if (hwloc_obj_get_info_by_name(obj, "CXLDevice"))
		return MEMORY_CXL;
	if (dax && strcmp(dax, "NVM") == 0)
		return MEMORY_NVM;
	if (obj->subtype)
		return kind_by_subtype(obj->subtype);
	if (dax && strcmp(dax, "SPM") == 0)
		return MEMORY_SPM;
	return dax || hwloc_obj_get_info_by_name(obj, "DAXDevice") ? MEMORY_UNKNOWN : MEMORY_DRAM;
}

/*
 * Return whether a driver (DAX) has added the node OBJ. The subtype of OBJ does not show this:
 * hwloc may have guessed it from the bandwidth.
 */
static bool is_added(hwloc_obj_t obj)
{
	return hwloc_obj_get_info_by_name(obj, "DAXType") ||
	       hwloc_obj_get_info_by_name(obj, "DAXDevice");
}

/* Return whether a memory node that may have CPUs is at or below OBJ. SIZED: ignore empty nodes. */
static bool holds_memory(hwloc_obj_t obj, bool sized)
{
	for (hwloc_obj_t child = obj->memory_first_child; child; child = child->next_sibling)
		if (holds_memory(child, sized))
			return true;
	return obj->type == HWLOC_OBJ_NUMANODE && (obj->attr->numanode.local_memory || !sized) &&
	       kind_by_name(obj) <= MEMORY_HBM && !is_added(obj);
}

static bool parts_hold_memory(hwloc_obj_t obj, bool sized)
{
	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling)
		if (!hwloc_bitmap_iszero(child->cpuset) &&
		    (holds_memory(child, sized) || parts_hold_memory(child, sized)))
			return true;
	return false;
}

bool machine_parts_have_memory(hwloc_obj_t root)
{
	return parts_hold_memory(root, root->total_memory > 0);
}

uint64_t machine_huge_bytes(hwloc_obj_t obj)
{
	const struct hwloc_numanode_attr_s *attr = &obj->attr->numanode;
	uint64_t base = UINT64_MAX, sum = 0;

	for (unsigned i = 0; i < attr->page_types_len; i++)
		if (attr->page_types[i].size && attr->page_types[i].size < base)
			base = attr->page_types[i].size;
	for (unsigned i = 0; i < attr->page_types_len; i++) {
		uint64_t size = attr->page_types[i].size, count = attr->page_types[i].count;

		if (size <= base)
			continue;
		if (count > (UINT64_MAX - sum) / size)
			return UINT64_MAX;
		sum += count * size;
	}
	return sum;
}

void machine_note_huge_pages(struct machine *m, const char *root)
{
	for (unsigned i = 0; i < m->n_nodes; i++) {
		struct memnode *node = &m->node[i];
		uint64_t huge = huge_pages_of(root, node->os);
		uint64_t left = node->bytes > huge ? node->bytes - huge : 0;

		node->usable = left < node->usable ? left : node->usable;
	}
}

static bool is_block(const struct memnode *n)
{
	return n->home != n->os;
}

static bool is_local(const struct memnode *n)
{
	return n->first_core < n->end_core;
}

static hwloc_obj_t object_of(const struct machine *m, unsigned i)
{
	return hwloc_get_obj_by_type(m->topo, HWLOC_OBJ_NUMANODE, i);
}

/* Return the bandwidth in MB/s from the CPUs of node I to the node, or 0 if unknown. */
static uint64_t bandwidth(const struct machine *m, unsigned i)
{
	hwloc_obj_t obj = object_of(m, i);
	struct hwloc_location from = { .type = HWLOC_LOCATION_TYPE_CPUSET };
	hwloc_uint64_t value = 0;

	if (!obj || hwloc_bitmap_iszero(obj->cpuset))
		return 0;
	from.location.cpuset = obj->cpuset;
	if (hwloc_memattr_get_value(m->topo, HWLOC_MEMATTR_ID_BANDWIDTH, obj, &from, 0, &value) < 0)
		return 0;
	return value;
}

/*
 * Correct the kind of node I. OWN is the own node of the CPUs of the object to which both are
 * attached. hwloc gives a node without CPUs the cpuset of a nearby node, and guesses DRAM or HBM
 * from bandwidths. So compare distance and bandwidth with those of OWN.
 */
static void judge_kind(struct machine *m, unsigned i, unsigned own)
{
	struct memnode *node = &m->node[i];
	uint64_t slow = bandwidth(m, own), fast = bandwidth(m, i);
	uint64_t here = m->latency ? m->latency[(size_t)own * m->n_nodes + own] : UINT64_MAX;
	uint64_t there = m->latency ? m->latency[(size_t)own * m->n_nodes + i] : UINT64_MAX;

	if (node->kind != MEMORY_DRAM)
		return;
	/* do not compare bandwidths if hwloc has already named OWN by its bandwidth */
	if (m->node[own].kind != MEMORY_DRAM)
		slow = fast = 0;
	if (slow && fast > slow && fast - slow > slow)
		node->kind = MEMORY_HBM;
	else if (fast && slow > fast && slow - fast > fast)
		node->kind = MEMORY_UNKNOWN;
	else if (there != UINT64_MAX && here < there)
		node->kind = MEMORY_UNKNOWN;
}

/* Return the entry in FIRST of the object to which node N is attached. */
static unsigned *place_of(const struct machine *m, unsigned *first, const struct memnode *n)
{
	return &first[n->core != NONE ? m->n_domains + n->core : n->domain];
}

/* Return whether N may be the node that the kernel assigns to the CPUs of N's object. */
static bool may_be_own(const struct memnode *n)
{
	return is_local(n) && !is_block(n) && !n->empty && n->kind <= MEMORY_UNKNOWN;
}

/*
 * Correct the kinds of nodes that are attached to the same object as another node. The kernel
 * numbers nodes with CPUs first, so the lowest node of an object is the own node of its CPUs.
 * Returns 0, or -1 if out of memory.
 */
static int judge_by_place(struct machine *m)
{
	size_t places = (size_t)m->n_domains + m->n_cores;
	unsigned *first = malloc(places * sizeof(*first));

	if (!first)
		return -1;
	for (size_t i = 0; i < places; i++)
		first[i] = NONE;
	for (unsigned i = 0; i < m->n_nodes; i++) {
		unsigned *at;

		if (!may_be_own(&m->node[i]))
			continue;
		at = place_of(m, first, &m->node[i]);
		if (*at == NONE || m->node[i].os < m->node[*at].os)
			*at = i;
	}
	for (unsigned i = 0; i < m->n_nodes; i++) {
		struct memnode *n = &m->node[i];
		unsigned own = is_local(n) ? *place_of(m, first, n) : NONE;

		if (!is_local(n) && n->kind == MEMORY_DRAM)
			n->kind = MEMORY_UNKNOWN;
		else if (own != NONE && own != i)
			judge_kind(m, i, own);
	}
	free(first);
	return 0;
}

/* Give each block, which has no CPUs that would show its kind, the kind of its physical node. */
static void judge_blocks(struct machine *m)
{
	for (unsigned i = 0; i < m->n_nodes; i++)
		for (unsigned k = 0; is_block(&m->node[i]) && k < m->n_nodes; k++)
			if (m->node[k].os == m->node[i].home && !is_block(&m->node[k])) {
				m->node[i].kind = m->node[k].kind;
				m->node[i].added = m->node[k].added;
			}
}

int machine_index_memory(struct machine *m, struct errbuf *err)
{
	enum memory_kind ordinary = MEMORY_KINDS;
	bool added = true; /* whether drivers have added all nodes that are not empty */
	bool sized = hwloc_get_root_obj(m->topo)->total_memory > 0;

	for (unsigned i = 0; i < m->n_nodes; i++) {
		m->node[i].kind = kind_by_name(object_of(m, i));
		m->node[i].added = is_added(object_of(m, i));
		m->node[i].empty = sized && !m->node[i].bytes;
		if (m->node[i].empty)
			idset_add(&m->empty, m->node[i].os);
	}
	idset_andnot(&m->mems, &m->empty);
	if (judge_by_place(m) < 0)
		return errprintf(err, "out of memory");
	judge_blocks(m);
	for (unsigned i = 0; i < m->n_nodes; i++)
		added &= m->node[i].empty || m->node[i].added;
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (!m->node[i].empty && (added || !m->node[i].added) && m->node[i].kind < ordinary)
			ordinary = m->node[i].kind;
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (!m->node[i].empty && (added || !m->node[i].added) &&
		    m->node[i].kind == ordinary)
			idset_add(&m->ordinary, m->node[i].os);
	return 0;
}

const struct idset *machine_ordinary(const struct machine *m)
{
	return &m->ordinary;
}

void machine_of_kind(const struct machine *m, enum memory_kind kind, struct idset *out)
{
	idset_zero(out);
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (m->node[i].kind == kind)
			idset_add(out, m->node[i].os);
}

unsigned machine_kinds(const struct machine *m, const struct idset *mems)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < m->n_nodes; i++)
		if (idset_has(mems, m->node[i].os))
			kinds |= MEMORY_KIND_BIT(m->node[i].kind);
	return kinds;
}
