/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/host_cpus.h"

#include <hwloc.h>

static hwloc_obj_t above(hwloc_topology_t t, hwloc_obj_type_t type, hwloc_obj_t pu)
{
	return hwloc_get_ancestor_obj_by_type(t, type, pu);
}

/*
 * Return the number of the last-level cache above PU; of its package if there is no such cache;
 * otherwise 0.
 */
static unsigned cache_number(hwloc_topology_t t, hwloc_obj_t pu)
{
	hwloc_obj_t cache = above(t, HWLOC_OBJ_L3CACHE, pu);

	if (!cache)
		cache = above(t, HWLOC_OBJ_PACKAGE, pu);
	return cache ? cache->logical_index : 0;
}

static int find_node(const struct guest_shape *shape, unsigned host)
{
	for (unsigned i = 0; i < shape->nodes; i++)
		if (shape->node[i].host == host)
			return (int)i;
	return -1;
}

/*
 * Return the index in SHAPE of a node near PU. If SHAPE has none, return -1, and set *OTHER to the
 * host's number of a node near PU.
 */
static int near_node(hwloc_topology_t t, const struct guest_shape *shape, hwloc_obj_t pu,
		     unsigned *other)
{
	hwloc_obj_t node = NULL;

	*other = 0;
	while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node))) {
		int i;

		if (!hwloc_bitmap_isincluded(pu->cpuset, node->cpuset))
			continue;
		i = find_node(shape, node->os_index);
		if (i >= 0)
			return i;
		*other = node->os_index;
	}
	return -1;
}

static int add_node(struct guest_shape *shape, unsigned host, struct errbuf *err)
{
	if (shape->nodes == GUEST_NODES_MAX)
		return errprintf(err, "a guest has at most %d memory nodes", GUEST_NODES_MAX);
	shape->node[shape->nodes++] = (struct guest_node){ .host = host };
	return 0;
}

static int add_cpu(struct guest_shape *shape, hwloc_topology_t t, unsigned number,
		   struct errbuf *err)
{
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(t, number), package, core;
	struct guest_cpu *cpu;
	unsigned host_node;
	int node;

	if (!pu)
		return errprintf(err, "CPU %u is not in this host's topology", number);
	if (shape->cpus == GUEST_CPUS_MAX)
		return errprintf(err, "a guest has at most %d CPUs", GUEST_CPUS_MAX);
	node = near_node(t, shape, pu, &host_node);
	if (node < 0) {
		node = (int)shape->nodes;
		if (add_node(shape, host_node, err) < 0)
			return -1;
	}
	package = above(t, HWLOC_OBJ_PACKAGE, pu);
	core = above(t, HWLOC_OBJ_CORE, pu);
	cpu = &shape->cpu[shape->cpus++];
	*cpu = (struct guest_cpu){
		.host = number,
		.package = package ? package->logical_index : 0,
		.cache = cache_number(t, pu),
		.core = core ? core->logical_index : pu->logical_index,
		.node = (unsigned)node,
	};
	return 0;
}

/* Return the distance from node A to node B, 0 if D does not have it. */
static uint64_t distance_of(struct hwloc_distances_s *d, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < d->nbobjs; i++)
		for (unsigned k = 0; k < d->nbobjs; k++)
			if (d->objs[i]->os_index == a && d->objs[k]->os_index == b)
				return d->values[i * d->nbobjs + k];
	return 0;
}

static bool take_distances(struct guest_shape *shape, struct hwloc_distances_s *d)
{
	for (unsigned i = 0; i < shape->nodes; i++)
		for (unsigned k = 0; k < shape->nodes; k++) {
			uint64_t value = distance_of(d, shape->node[i].host, shape->node[k].host);

			if (value < GUEST_DISTANCE_LOCAL || value > GUEST_DISTANCE_MAX ||
			    (i == k) != (value == GUEST_DISTANCE_LOCAL))
				/* ACPI's table, which QEMU makes of these values, cannot have it */
				return false;
			shape->distance[i][k] = (uint8_t)value;
		}
	return true;
}

static void load_distances(struct guest_shape *shape, hwloc_topology_t t)
{
	struct hwloc_distances_s *d;
	unsigned n = 1;

	if (shape->nodes < 2 ||
	    hwloc_distances_get_by_type(t, HWLOC_OBJ_NUMANODE, &n, &d,
					HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
	    !n)
		return;
	shape->distances = take_distances(shape, d);
	hwloc_distances_release(t, d);
}

int guest_host_shape(struct guest_shape *shape, unsigned *memory, const struct machine *m,
		     const struct idset *cpus, const struct idset *mems, struct errbuf *err)
{
	hwloc_topology_t t = machine_topology(m);
	struct idset with_memory = *mems;

	memset(shape, 0, sizeof(*shape));
	idset_and(&with_memory, machine_mems(m));
	for (int i = idset_next(&with_memory, -1); i >= 0; i = idset_next(&with_memory, i))
		if (add_node(shape, (unsigned)i, err) < 0)
			return -1;
	*memory = shape->nodes;
	if (!*memory)
		return errprintf(err, "there is no memory node for the guest");
	for (int i = idset_next(cpus, -1); i >= 0; i = idset_next(cpus, i))
		if (add_cpu(shape, t, (unsigned)i, err) < 0)
			return -1;
	load_distances(shape, t);
	return 0;
}
