/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the planner's tables from a loaded hwloc topology. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine_impl.h"

#if HWLOC_API_VERSION >= 0x00020400
#include <hwloc/cpukinds.h>
#endif
#include <hwloc/distances.h>

const char *const level_name[LEVELS] = { "package", "NUMA locality", "L3" };

static void copy_bitmap(struct idset *to, hwloc_const_bitmap_t from)
{
	idset_zero(to);
	for (int id = hwloc_bitmap_first(from); id >= 0; id = hwloc_bitmap_next(from, id))
		idset_add(to, (unsigned)id);
}

static void copy_sets(struct machine *m)
{
	copy_bitmap(&m->all_cpus, hwloc_topology_get_topology_cpuset(m->topo));
	copy_bitmap(&m->cpus, hwloc_topology_get_allowed_cpuset(m->topo));
	copy_bitmap(&m->all_mems, hwloc_topology_get_topology_nodeset(m->topo));
	copy_bitmap(&m->mems, hwloc_topology_get_allowed_nodeset(m->topo));
	idset_and(&m->cpus, &m->all_cpus);
	idset_and(&m->mems, &m->all_mems);
}

static bool machine_is_unit(hwloc_obj_t obj)
{
	return obj->type == HWLOC_OBJ_CORE || obj->type == HWLOC_OBJ_PU;
}

/* Return whether an object with CPUs below OBJ has memory of its own. */
static bool has_inner_memory(hwloc_obj_t obj)
{
	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling)
		if (!hwloc_bitmap_iszero(child->cpuset) &&
		    (child->memory_arity || has_inner_memory(child)))
			return true;
	return false;
}

/* Return the levels of the domain OBJ. A locality is the innermost object with its own memory. */
static unsigned levels_of(hwloc_obj_t obj)
{
	unsigned levels = 0;

	if (obj->type == HWLOC_OBJ_PACKAGE)
		levels |= 1u << LEVEL_PACKAGE;
	if (obj->type == HWLOC_OBJ_L3CACHE)
		levels |= 1u << LEVEL_L3;
	if (obj->memory_arity && !has_inner_memory(obj))
		levels |= 1u << LEVEL_NUMA;
	return levels;
}

static void add_pus(struct machine *m, hwloc_obj_t obj)
{
	if (obj->type == HWLOC_OBJ_PU)
		m->pu[m->n_pus++] = obj->os_index;
	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling)
		add_pus(m, child);
}

/* Add a core. userdata of OBJ, which only this room uses, points to its entry for place_node(). */
static void machine_add_core(struct machine *m, hwloc_obj_t obj)
{
	struct core *core = &m->core[m->n_cores++];

	obj->userdata = core;
	core->first_pu = m->n_pus;
	add_pus(m, obj);
	core->n_pus = m->n_pus - core->first_pu;
	core->n_complete = (unsigned)hwloc_bitmap_weight(obj->complete_cpuset);
	for (unsigned l = 0; l < LEVELS; l++)
		core->of[l] = NONE;
}

/*
 * Add OBJ, which holds CPUs, and the objects below it, in logical order. The recursion is as deep
 * as hwloc's tree, about ten levels.
 */
static void add_object(struct machine *m, hwloc_obj_t obj)
{
	unsigned levels = levels_of(obj);
	unsigned index = m->n_domains;
	bool keep = !machine_is_unit(obj) && (levels || obj->memory_arity || index == 0);

	if (machine_is_unit(obj)) {
		machine_add_core(m, obj);
		return;
	}
	if (keep) {
		obj->userdata = &m->domain[index];
		m->domain[index].first_core = m->n_cores;
		m->domain[index].levels = levels;
		for (unsigned l = 0; l < LEVELS; l++)
			if (levels & 1u << l)
				m->domain[index].number[l] = m->n_domains_of[l]++;
		m->n_domains++;
	}
	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling)
		if (!hwloc_bitmap_iszero(child->cpuset))
			add_object(m, child);
	if (keep) {
		m->domain[index].end_core = m->n_cores;
		m->domain[index].end = m->n_domains;
		for (unsigned c = m->domain[index].first_core; c < m->n_cores; c++)
			for (unsigned l = 0; l < LEVELS; l++)
				if (levels & 1u << l)
					m->core[c].of[l] = index;
	}
}

static unsigned count_objects(hwloc_obj_t obj)
{
	unsigned n = 1;

	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling)
		n += count_objects(child);
	return n;
}

/*
 * Set in NODE the cores to which the memory node OBJ is local. hwloc also attaches a node to the
 * whole machine if it does not know where the node is. So a node of the whole machine counts as
 * local to all cores only if no part of the machine has memory of its own.
 */
static void place_node(struct machine *m, struct memnode *node, hwloc_obj_t obj)
{
	hwloc_obj_t owner = obj->parent;
	hwloc_obj_t unit;

	while (hwloc_obj_type_is_memory(owner->type))
		owner = owner->parent;
	node->domain = node->core = NONE;
	if (hwloc_bitmap_iszero(owner->cpuset) ||
	    (!owner->parent && machine_parts_have_memory(owner)))
		return;
	for (unit = owner; unit && !(machine_is_unit(unit) && unit->userdata); unit = unit->parent)
		;
	if (unit) {
		node->core = (unsigned)((struct core *)unit->userdata - m->core);
		node->first_core = node->core;
		node->end_core = node->core + 1;
	} else {
		struct domain *domain = owner->userdata;

		node->domain = (unsigned)(domain - m->domain);
		node->first_core = domain->first_core;
		node->end_core = domain->end_core;
	}
	for (unsigned c = node->first_core; c < node->end_core; c++)
		if (m->core[c].of[LEVEL_PACKAGE] != NONE)
			idset_add(&node->packages,
				  m->domain[m->core[c].of[LEVEL_PACKAGE]].number[LEVEL_PACKAGE]);
}

/*
 * Return the physical node of the memory node OBJ. machine_load_this() has noted it in the
 * topology, and XML files keep the note.
 */
static unsigned home_of(hwloc_obj_t obj)
{
	const char *text = hwloc_obj_get_info_by_name(obj, MACHINE_INFO_HOME);

	return text && *text >= '0' && *text <= '9' ? (unsigned)strtoul(text, NULL, 10)
						    : obj->os_index;
}

/*
 * Return how many bytes of the memory node OBJ programs can use: all bytes without huge pages, or
 * the bytes noted by machine_note_usable() if these are fewer. The note of an XML file may be too
 * high.
 */
static uint64_t machine_usable_of(hwloc_obj_t obj)
{
	const char *text = hwloc_obj_get_info_by_name(obj, MACHINE_INFO_USABLE);
	uint64_t all = obj->attr->numanode.local_memory, huge = machine_huge_bytes(obj);
	uint64_t bytes = all > huge ? all - huge : 0;
	unsigned long long usable = text && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10)
									 : bytes;

	return usable < bytes ? usable : bytes;
}

static void add_nodes(struct machine *m)
{
	hwloc_obj_t obj = NULL;

	while ((obj = hwloc_get_next_obj_by_type(m->topo, HWLOC_OBJ_NUMANODE, obj))) {
		struct memnode *node = &m->node[m->n_nodes++];

		node->os = obj->os_index;
		node->home = home_of(obj);
		node->bytes = obj->attr->numanode.local_memory;
		node->usable = machine_usable_of(obj);
		place_node(m, node, obj);
	}
}

static unsigned node_index(const struct machine *m, unsigned os)
{
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (m->node[i].os == os)
			return i;
	return NONE;
}

static int copy_latency(struct machine *m, const struct hwloc_distances_s *dist, struct errbuf *err)
{
	size_t *at = calloc(dist->nbobjs + 1u, sizeof(*at));
	size_t n = m->n_nodes;

	if (!at)
		return errprintf(err, "out of memory");
	for (unsigned i = 0; i < dist->nbobjs; i++)
		at[i] = dist->objs[i] ? node_index(m, dist->objs[i]->os_index) : NONE;
	for (size_t i = 0; i < dist->nbobjs; i++)
		for (size_t j = 0; j < dist->nbobjs; j++)
			if (at[i] != NONE && at[j] != NONE)
				m->latency[at[i] * n + at[j]] = dist->values[i * dist->nbobjs + j];
	free(at);
	return 0;
}

/* Fill the latencies. Pairs of nodes outside of the matrix get UINT64_MAX, the largest distance. */
static int add_latency(struct machine *m, struct errbuf *err)
{
	struct hwloc_distances_s *dist = NULL;
	unsigned nr = 1;
	size_t n = m->n_nodes;

	if (hwloc_distances_get_by_type(m->topo, HWLOC_OBJ_NUMANODE, &nr, &dist,
					HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
	    nr == 0)
		return 0;
	m->latency = malloc(n * n * sizeof(*m->latency));
	if (!m->latency) {
		hwloc_distances_release(m->topo, dist);
		return errprintf(err, "out of memory");
	}
	for (size_t i = 0; i < n * n; i++)
		m->latency[i] = UINT64_MAX;
	if (copy_latency(m, dist, err) < 0) {
		hwloc_distances_release(m->topo, dist);
		return -1;
	}
	hwloc_distances_release(m->topo, dist);
	return 0;
}

/* Fill the CPU kinds of cores. Cores to which hwloc gives no kind are one more kind. */
static int add_kinds(struct machine *m, struct errbuf *err)
{
#if HWLOC_API_VERSION >= 0x00020400
	int n = hwloc_cpukinds_get_nr(m->topo, 0);
	hwloc_bitmap_t pu = n > 1 ? hwloc_bitmap_alloc() : NULL;

	if (n <= 1)
		return 0;
	if (!pu)
		return errprintf(err, "out of memory");
	m->n_kinds = (unsigned)n + 1;
	m->kinds_ranked = true;
	for (int k = 0, efficiency; k < n; k++)
		if (hwloc_cpukinds_get_info(m->topo, (unsigned)k, NULL, &efficiency, NULL, NULL,
					    0) < 0 ||
		    efficiency < 0)
			m->kinds_ranked = false;
	for (unsigned c = 0; c < m->n_cores; c++) {
		int kind = -1;

		if (hwloc_bitmap_only(pu, m->pu[m->core[c].first_pu]) == 0)
			kind = hwloc_cpukinds_get_by_cpuset(m->topo, pu, 0);
		m->core[c].kind = kind >= 0 ? (unsigned)kind : (unsigned)n;
		m->kinds_ranked &= kind >= 0;
		m->fastest = m->core[c].kind > m->fastest ? m->core[c].kind : m->fastest;
	}
	hwloc_bitmap_free(pu);
#else
	(void)m;
	(void)err;
#endif
	return 0;
}

int machine_index(struct machine *m, struct errbuf *err)
{
	hwloc_obj_t root = hwloc_get_root_obj(m->topo);
	int pus = hwloc_get_nbobjs_by_type(m->topo, HWLOC_OBJ_PU);
	int nodes = hwloc_get_nbobjs_by_type(m->topo, HWLOC_OBJ_NUMANODE);
	unsigned objects;

	if (pus <= 0 || nodes <= 0)
		return errprintf(err, "%d CPUs and %d memory nodes: a machine needs both", pus,
				 nodes);
	if (machine_check(m->topo, err) < 0)
		return -1;
	copy_sets(m);
	if (idset_empty(&m->cpus) || idset_empty(&m->mems))
		return errprintf(err, "none of the machine's %ss is allowed (allowed_%s)",
				 idset_empty(&m->cpus) ? "CPU" : "memory node",
				 idset_empty(&m->cpus) ? "cpuset" : "nodeset");
	objects = count_objects(root);
	m->pu = calloc((size_t)pus, sizeof(*m->pu));
	m->core = calloc((size_t)pus, sizeof(*m->core));
	m->domain = calloc(objects, sizeof(*m->domain));
	m->node = calloc((size_t)nodes, sizeof(*m->node));
	if (!m->pu || !m->core || !m->domain || !m->node)
		return errprintf(err, "out of memory");
	add_object(m, root);
	add_nodes(m);
	if (add_kinds(m, err) < 0 || add_latency(m, err) < 0)
		return -1;
	return machine_index_memory(m, err);
}

struct hwloc_topology *machine_topology(const struct machine *m)
{
	return m->topo;
}

const struct idset *machine_cpus(const struct machine *m)
{
	return &m->cpus;
}

const struct idset *machine_mems(const struct machine *m)
{
	return &m->mems;
}

/* Write the threads of C that are in CPUS to OUT. Returns how many there are. */
static unsigned core_threads(const struct machine *m, const struct core *c,
			     const struct idset *cpus, struct plan_core *out)
{
	unsigned threads = 0;

	idset_zero(&out->cpus);
	for (unsigned i = c->first_pu; i < c->first_pu + c->n_pus; i++) {
		if (!idset_has(cpus, m->pu[i]))
			continue;
		idset_add(&out->cpus, m->pu[i]);
		threads++;
	}
	out->whole = threads == c->n_complete;
	return threads;
}

int machine_cores(const struct machine *m, const struct idset *cpus, struct plan_core **out,
		  unsigned *n, struct errbuf *err)
{
	struct plan_core *list = malloc(m->n_cores * sizeof(*list));
	unsigned used = 0;

	if (!list)
		return errprintf(err, "out of memory");
	for (unsigned c = 0; c < m->n_cores; c++)
		if (core_threads(m, &m->core[c], cpus, &list[used]))
			used++;
	*out = list;
	*n = used;
	return 0;
}

int machine_note_usable(struct machine *m, unsigned os, uint64_t bytes)
{
	hwloc_obj_t obj = hwloc_get_numanode_obj_by_os_index(m->topo, os);
	unsigned i = node_index(m, os);
	char text[24];

	if (!obj || i == NONE)
		return 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	if (!hwloc_obj_get_info_by_name(obj, MACHINE_INFO_USABLE) &&
	    hwloc_obj_add_info(obj, MACHINE_INFO_USABLE, text) < 0)
		return -1;
	m->node[i].usable = machine_usable_of(obj);
	return 0;
}

void machine_homes(const struct machine *m, struct idset *out)
{
	idset_zero(out);
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (m->node[i].home != m->node[i].os && idset_has(&m->all_mems, m->node[i].home))
			idset_add(out, m->node[i].home);
}

bool machine_uniform(const struct machine *m)
{
	hwloc_obj_t obj = hwloc_get_obj_by_type(m->topo, HWLOC_OBJ_NUMANODE, 0);
	const char *text = obj ? hwloc_obj_get_info_by_name(obj, MACHINE_INFO_HOME) : NULL;

	return text && strstr(text, MACHINE_HOME_UNIFORM);
}

uint64_t machine_usable(const struct machine *m, const struct idset *mems)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < m->n_nodes; i++)
		sum += idset_has(mems, m->node[i].os) ? m->node[i].usable : 0;
	return sum;
}

void machine_withheld(const struct machine *m, struct idset *out)
{
	machine_homes(m, out);
	if (idset_empty(out))
		return;
	for (unsigned i = 0; i < m->n_nodes; i++)
		if (m->node[i].usable < m->node[i].bytes / 2)
			idset_add(out, m->node[i].os);
}
