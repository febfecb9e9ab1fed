/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the properties on which the tables of machine.c rely. Release builds of hwloc do not check
 * them, and load trees that break any of them, from HWLOC_XMLFILE or from an unusual kernel.
 */
#include "topology/machine_impl.h"

/* Check that SET is finite and has only ids below IDSET_MAX. */
static int machine_check_check_set(hwloc_const_bitmap_t set, const char *what, struct errbuf *err)
{
	int last = set ? hwloc_bitmap_last(set) : -1;

	if (!set || (last < 0 && !hwloc_bitmap_iszero(set)))
		return errprintf(err, "a set of %ss is missing or infinite", what);
	if (last >= IDSET_MAX)
		return errprintf(err, "%s %d is beyond the %d ids that NodeOS handles", what, last,
				 IDSET_MAX);
	return 0;
}

static int check_pu(hwloc_obj_t pu, struct idset *seen, struct errbuf *err)
{
	if (pu->os_index >= IDSET_MAX || hwloc_bitmap_weight(pu->cpuset) != 1 ||
	    !hwloc_bitmap_isset(pu->cpuset, pu->os_index))
		return errprintf(err, "CPU %u: its cpuset must have this CPU alone", pu->os_index);
	if (idset_has(seen, pu->os_index))
		return errprintf(err, "CPU %u occurs twice", pu->os_index);
	idset_add(seen, pu->os_index);
	if (pu->first_child)
		return errprintf(err, "CPU %u has objects with CPUs below it", pu->os_index);
	return 0;
}

/* Check that OBJ's CPUs are those of the PUs below it, and that no two children share a CPU. */
static int machine_check_check_object(hwloc_obj_t obj, struct idset *seen, struct errbuf *err)
{
	hwloc_bitmap_t left;
	int first;

	if (machine_check_check_set(obj->cpuset, "CPU", err) < 0 ||
	    machine_check_check_set(obj->complete_cpuset, "CPU", err) < 0)
		return -1;
	if (obj->type == HWLOC_OBJ_PU)
		return check_pu(obj, seen, err);
	left = hwloc_bitmap_dup(obj->cpuset);
	if (!left)
		return errprintf(err, "out of memory");
	for (hwloc_obj_t child = obj->first_child; child; child = child->next_sibling) {
		if (machine_check_check_object(child, seen, err) < 0) {
			hwloc_bitmap_free(left);
			return -1;
		}
		if (!hwloc_bitmap_isincluded(child->cpuset, left)) {
			hwloc_bitmap_free(left);
			return errprintf(err,
					 "a %s has CPUs that are not in its parent (%s), or are in "
					 "one of its siblings, too",
					 hwloc_obj_type_string(child->type),
					 hwloc_obj_type_string(obj->type));
		}
		hwloc_bitmap_andnot(left, left, child->cpuset);
	}
	first = hwloc_bitmap_first(left);
	hwloc_bitmap_free(left);
	if (first >= 0)
		return errprintf(
			err, "a %s has CPU %d in its cpuset, but no PU (hardware thread) for it",
			hwloc_obj_type_string(obj->type), first);
	return 0;
}

static int check_nodes(hwloc_topology_t topo, struct errbuf *err)
{
	hwloc_obj_t obj = NULL;
	struct idset seen;

	idset_zero(&seen);
	while ((obj = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, obj))) {
		if (machine_check_check_set(obj->nodeset, "memory node", err) < 0)
			return -1;
		if (obj->os_index >= IDSET_MAX || !hwloc_bitmap_isset(obj->nodeset, obj->os_index))
			return errprintf(err, "memory node %u: its nodeset does not have this node",
					 obj->os_index);
		if (idset_has(&seen, obj->os_index))
			return errprintf(err, "memory node %u occurs twice", obj->os_index);
		if (!obj->attr || !obj->parent)
			return errprintf(err, "memory node %u belongs to no object", obj->os_index);
		idset_add(&seen, obj->os_index);
	}
	return 0;
}

int machine_check(hwloc_topology_t topo, struct errbuf *err)
{
	struct idset seen;

	idset_zero(&seen);
	if (machine_check_check_set(hwloc_topology_get_topology_cpuset(topo), "CPU", err) < 0 ||
	    machine_check_check_set(hwloc_topology_get_allowed_cpuset(topo), "CPU", err) < 0 ||
	    machine_check_check_set(hwloc_topology_get_topology_nodeset(topo), "memory node", err) <
		    0 ||
	    machine_check_check_set(hwloc_topology_get_allowed_nodeset(topo), "memory node", err) <
		    0)
		return -1;
	return machine_check_check_object(hwloc_get_root_obj(topo), &seen, err) < 0
		       ? -1
		       : check_nodes(topo, err);
}
