/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/cmdline.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "container/fileio.h"
#include "container/json_out.h"
#include "container/report.h"

#define GRES_NAME "fgmn" /* of blocks of memory, and of the feature */
#define MIB (UINT64_C(1) << 20)

/* What Slurm keeps from jobs: the system's own nodes, or the paper's share of all (under 5 %). */
static uint64_t spec_mib(const struct machine *m, const struct service_set *set)
{
	uint64_t bytes = service_bytes(m, &set->mems);
	struct idset homes, blocks = *machine_mems(m);

	if (!set->own_mems)
		return (bytes / 20 + MIB - 1) / MIB;
	/* and what nobody can use of blocks, or Slurm would promise it */
	machine_homes(m, &homes);
	if (!idset_empty(&homes)) {
		idset_andnot(&blocks, &set->mems);
		bytes += service_bytes(m, &blocks) - machine_usable(m, &blocks);
	}
	return (bytes + MIB - 1) / MIB;
}

/* Memory nodes that jobs can have for themselves; 0 where the kernel has not divided any. */
static unsigned blocks_for_jobs(const struct machine *m, const struct service_set *set)
{
	struct idset withheld, mems = *machine_mems(m);

	machine_withheld(m, &withheld);
	if (idset_empty(&withheld))
		return 0;
	idset_andnot(&mems, &withheld);
	if (set->own_mems)
		idset_andnot(&mems, &set->mems);
	return idset_count(&mems);
}

/* " fgmn=SPECIFICATION" as this kernel has it, so that the line above holds all. */
static void fgmn_parameter(char *buf, size_t size)
{
	char spec[256];

	if (file_read_line("/sys/kernel/mm/fgmn/spec", spec, sizeof(spec)) == 0)
		snprintf(buf, size, " fgmn=%s", spec);
}

int cmdline_print(const struct machine *m, const struct service_set *set, bool here, bool json, struct errbuf *err)
{
	struct json_out j = { .f = stdout };
	char service[IDSET_LIST_MAX], others[IDSET_LIST_MAX], slurm[IDSET_LIST_MAX], node[256] = "NAME";
	char kernel[3 * IDSET_LIST_MAX + 428], line[IDSET_LIST_MAX + 480];
	char by_core[IDSET_LIST_MAX], fgmn[300] = "", gres[300] = "";
	unsigned blocks = blocks_for_jobs(m, set);
	struct idset rest = *machine_cpus(m), numbers, cores;
	bool lacks = here && access("/sys/devices/system/cpu/nohz_full", F_OK) < 0;

	if (service_slurm_cpus(&numbers, m, &set->cpus, 0, err) < 0 || service_slurm_cpus(&cores, m, &set->cpus, 1, err) < 0)
		return -1;
	idset_andnot(&rest, &set->cpus);
	idset_format(&set->cpus, service, sizeof(service));
	idset_format(&rest, others, sizeof(others));
	idset_format(&numbers, slurm, sizeof(slurm));
	idset_format(&cores, by_core, sizeof(by_core));
	if (here && gethostname(node, sizeof(node) - 1) == 0)
		node[strcspn(node, ".")] = '\0';
	if (blocks && here)
		fgmn_parameter(fgmn, sizeof(fgmn));
	snprintf(kernel, sizeof(kernel), "nohz_full=%s rcu_nocbs=%s irqaffinity=%s%s", others, others, service, fgmn);
	snprintf(line, sizeof(line), "NodeName=%s CpuSpecList=%s MemSpecLimit=%llu", node, slurm, (unsigned long long)spec_mib(m, set));
	if (blocks) {
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " Gres=" GRES_NAME ":%u Features=" GRES_NAME, blocks);
		snprintf(gres, sizeof(gres), "NodeName=%s Name=" GRES_NAME " Count=%u Flags=CountOnly", node, blocks);
	}
	if (json) {
		jout_open(&j, NULL, '{');
		jout_number(&j, "schema", REPORT_SCHEMA);
		report_serviceos(&j, set);
		jout_string(&j, "kernel", kernel);
		jout_bool(&j, "kernel_has_nohz_full", !lacks);
		jout_open(&j, "slurm.conf", '[');
		jout_string(&j, NULL, line);
		jout_string(&j, NULL, "PrologFlags=Contain");
		if (blocks)
			jout_string(&j, NULL, "GresTypes=" GRES_NAME);
		jout_close(&j, ']');
		jout_number(&j, "blocks", blocks);
		jout_string(&j, "gres.conf", blocks ? gres : NULL);
		jout_string(&j, "cpuspeclist_by_core", by_core);
		jout_close(&j, '}');
		return 0;
	}
	puts("# kernel command line: the tick, RCU's callbacks and new interrupts leave the containers' CPUs");
	if (lacks)
		puts("# (this kernel is built without CONFIG_NO_HZ_FULL and takes no notice of nohz_full)");
	puts(kernel);
	puts("# slurm.conf: add to the node's line (CpuSpecList counts as Slurm does, not as the kernel)");
	puts(line);
	if (!idset_equal(&numbers, &cores))
		printf("# (where that line has CPUs= no more than the cores, Slurm counts cores: CpuSpecList=%s)\n", by_core);
	puts("# and, beside other flags that are there:\nPrologFlags=Contain");
	if (blocks)
		printf("# blocks of memory, so that sbatch --gres=" GRES_NAME ":N waits for them: slurm.conf, beside other types that are there\n"
		       "GresTypes=" GRES_NAME "\n# gres.conf\n%s\n", gres);
	return 0;
}
