/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "topology/machine_impl.h"

static unsigned package_of(const struct machine *m, unsigned core)
{
	unsigned domain = m->core[core].of[LEVEL_PACKAGE];

	return domain == NONE ? 0 : m->domain[domain].number[LEVEL_PACKAGE];
}

/*
 * Return the part in which the memory node NODE is drawn: the part of the first core to which NODE
 * is local. A node that is local to no core is drawn with its physical node, or else in the first
 * part.
 */
static struct machine_part *parts_part_of(const struct machine *m, const unsigned *part_of_core,
					  struct machine_part *part, const struct memnode *node)
{
	for (unsigned i = 0; node->first_core == node->end_core && i < m->n_nodes; i++)
		if (m->node[i].os == node->home && m->node[i].first_core < m->node[i].end_core)
			node = &m->node[i];
	return &part[node->first_core < node->end_core ? part_of_core[node->first_core] : 0];
}

int machine_parts(const struct machine *m, struct machine_part **out, unsigned *n,
		  struct errbuf *err)
{
	struct machine_part *part = calloc(m->n_cores + 1u, sizeof(*part));
	unsigned *of_core = calloc(m->n_cores + 1u, sizeof(*of_core));

	*n = 0;
	if (!part || !of_core) {
		free(part);
		free(of_core);
		return errprintf(err, "out of memory");
	}
	for (unsigned c = 0; c < m->n_cores; c++) {
		const struct core *core = &m->core[c];

		if (c == 0 || package_of(m, c) != package_of(m, c - 1) ||
		    core->of[LEVEL_NUMA] != m->core[c - 1].of[LEVEL_NUMA])
			part[(*n)++].package = package_of(m, c);
		of_core[c] = *n - 1;
		for (unsigned p = core->first_pu; p < core->first_pu + core->n_pus; p++)
			idset_add(&part[*n - 1].cpus, m->pu[p]);
	}
	for (unsigned i = 0; *n && i < m->n_nodes; i++)
		idset_add(&parts_part_of(m, of_core, part, &m->node[i])->mems, m->node[i].os);
	free(of_core);
	*out = part;
	return 0;
}

int machine_domains(const struct machine *m, struct idset **out, unsigned *n, struct errbuf *err)
{
	struct idset *set = calloc(m->n_domains + 1u, sizeof(*set));

	*n = 0;
	if (!set)
		return errprintf(err, "out of memory");
	for (unsigned d = 0; d < m->n_domains; d++) {
		const struct domain *domain = &m->domain[d];

		if (!domain->levels)
			continue;
		for (unsigned c = domain->first_core; c < domain->end_core; c++)
			for (unsigned i = 0; i < m->core[c].n_pus; i++)
				idset_add(&set[*n], m->pu[m->core[c].first_pu + i]);
		(*n)++;
	}
	*out = set;
	return 0;
}
