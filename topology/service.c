/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/service.h"

#include "topology/machine_impl.h"

static void service_core_cpus(struct idset *out, const struct machine *m, const struct core *c)
{
	idset_zero(out);
	for (unsigned i = 0; i < c->n_pus; i++)
		idset_add(out, m->pu[c->first_pu + i]);
}

static int take_counted(struct idset *out, const struct machine *m, const struct service_ask *ask,
			struct errbuf *err)
{
	const enum level level = ask->kind == SERVICE_PER_L3	 ? LEVEL_L3
				 : ask->kind == SERVICE_PER_NUMA ? LEVEL_NUMA
								 : LEVEL_PACKAGE;
	unsigned unit = NONE, taken = 0, most = 0;
	struct idset cpus;

	for (unsigned i = 0; i < m->n_cores; i++) {
		const struct core *c = &m->core[i];

		if (ask->kind != SERVICE_PER_NODE && c->of[level] != unit) {
			unit = c->of[level];
			taken = 0;
		}
		service_core_cpus(&cpus, m, c);
		if (taken == ask->cores || !idset_intersects(&cpus, &m->cpus))
			continue;
		idset_or(out, &cpus);
		most = ++taken > most ? taken : most;
	}
	if (most < ask->cores)
		return errprintf(err, "serviceos: %u/%s: this machine has %u cores%s%s", ask->cores,
				 service_unit(ask->kind), most,
				 ask->kind == SERVICE_PER_NODE ? "" : " in each ",
				 ask->kind == SERVICE_PER_NODE ? "" : service_unit(ask->kind));
	return 0;
}

static int take_listed(struct idset *out, const struct machine *m, const struct service_ask *ask,
		       struct errbuf *err)
{
	struct idset whole, cpus;
	char a[128], b[128];

	if (!idset_subset(&ask->cpus, &m->cpus))
		return errprintf(err, "serviceos: CPUs %s: this machine has %s",
				 idset_brief(a, &ask->cpus), idset_brief(b, &m->cpus));
	idset_zero(&whole);
	for (unsigned i = 0; i < m->n_cores; i++) {
		service_core_cpus(&cpus, m, &m->core[i]);
		if (idset_intersects(&cpus, &ask->cpus))
			idset_or(&whole, &cpus);
	}
	if (!idset_equal(&whole, &ask->cpus))
		return errprintf(err,
				 "serviceos: CPUs %s are not whole cores: write %s, with all "
				 "threads of these cores, or a number of cores (1/node, 1/socket)",
				 idset_brief(a, &ask->cpus), idset_brief(b, &whole));
	*out = whole;
	return 0;
}

/*
 * Check that an ordinary node is left for containers, since they get special memory only if they
 * name its kind.
 */
static int leave_ordinary(const struct machine *m, const struct idset *wanted, struct errbuf *err)
{
	struct idset left = m->mems, ordinary = m->mems;
	char a[128], b[128], c[128];

	idset_andnot(&left, wanted);
	idset_and(&ordinary, &m->ordinary);
	if (idset_intersects(&left, &ordinary))
		return 0;
	return errprintf(
		err,
		"serviceos_mems: memory nodes %s leave only special memory (%s), which only "
		"containers that name its kind get: leave at least one of %s, or write \"all\" "
		"(shared with containers)",
		idset_brief(a, wanted), idset_brief(b, &left), idset_brief(c, &ordinary));
}

static int service_take_mems(struct service_set *out, const struct machine *m,
			     const struct service_ask *ask, struct errbuf *err)
{
	struct idset wanted;
	char a[128], b[128];

	out->mems = m->mems;
	out->own_mems = ask->own_mems;
	if (!ask->own_mems)
		return 0;
	wanted = ask->mems;
	if (ask->homes)
		machine_homes(m, &wanted);
	if (ask->homes && idset_empty(&wanted))
		return errprintf(err, "serviceos_mems: homes: no memory node of this machine is "
				      "divided (the boot parameter fgmn= divides them)");
	if (idset_empty(&wanted) || !idset_subset(&wanted, &m->mems))
		return errprintf(err,
				 "serviceos_mems: memory nodes %s: this machine has memory in %s",
				 idset_brief(a, &wanted), idset_brief(b, &m->mems));
	if (idset_equal(&wanted, &m->mems))
		return errprintf(err,
				 "serviceos_mems: memory nodes %s are all that this machine has: "
				 "none would be left for containers (write \"all\" to share them "
				 "with containers)",
				 idset_brief(a, &wanted));
	if (leave_ordinary(m, &wanted, err) < 0)
		return -1;
	out->mems = wanted;
	return 0;
}

int service_choose(struct service_set *out, const struct machine *m, const struct service_ask *ask,
		   struct errbuf *err)
{
	struct service_set s = { 0 };
	char a[128];

	if (ask->kind == SERVICE_NONE)
		goto done;
	if ((ask->kind == SERVICE_CPUS ? take_listed : take_counted)(&s.cpus, m, ask, err) < 0)
		return -1;
	idset_and(&s.cpus, &m->cpus);
	if (idset_equal(&s.cpus, &m->cpus))
		return errprintf(err,
				 "serviceos: CPUs %s are all that this machine has: none would be "
				 "left for containers",
				 idset_brief(a, &s.cpus));
	if (service_take_mems(&s, m, ask, err) < 0)
		return -1;
done:
	*out = s;
	return 0;
}

int service_slurm_cpus(struct idset *out, const struct machine *m, const struct idset *cpus,
		       unsigned cpus_of_node, struct errbuf *err)
{
	unsigned threads = 1;
	struct idset core;

	for (unsigned i = 0; i < m->n_cores; i++)
		if (m->core[i].n_complete > threads && (!cpus_of_node || cpus_of_node > m->n_cores))
			threads = m->core[i].n_complete;
	if ((uint64_t)m->n_cores * threads > IDSET_MAX)
		return errprintf(err,
				 "Slurm's numbers of this machine's CPUs exceed NodeOS's %d ids",
				 IDSET_MAX);
	idset_zero(out);
	for (unsigned i = 0; i < m->n_cores; i++) {
		service_core_cpus(&core, m, &m->core[i]);
		for (unsigned k = 0; idset_intersects(&core, cpus) && k < threads; k++)
			idset_add(out, i * threads + k);
	}
	return 0;
}

uint64_t service_bytes(const struct machine *m, const struct idset *mems)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < m->n_nodes; i++)
		if (idset_has(mems, m->node[i].os) && idset_has(&m->ordinary, m->node[i].os))
			sum += m->node[i].bytes;
	return sum;
}
