/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/kernel_cmdline.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/json_out.h"
#include "container/container_json.h"
#include "host/buffer.h"
#include "host/policy.h"

#define GRES_NAME "fgmn" /* of blocks of memory, and of their feature */
#define MIB (UINT64_C(1) << 20)
#define KERNEL_LINE_MAX 4096 /* bytes, no architecture's kernel takes more */

/* Memory nodes that jobs can have for themselves; none where the kernel has not divided any. */
static struct idset nodes_for_jobs(const struct machine *m, const struct service_set *set)
{
	struct idset withheld, mems = *machine_mems(m);

	machine_withheld(m, &withheld);
	if (idset_empty(&withheld)) {
		idset_zero(&mems);
		return mems;
	}
	idset_andnot(&mems, &withheld);
	idset_and(&mems, machine_ordinary(m));
	if (set->own_mems)
		idset_andnot(&mems, &set->mems);
	return mems;
}

/*
 * What Slurm keeps from jobs: the system's own nodes, or the paper's share of all (under 5 %). Of a
 * divided machine, all that jobs cannot use of these nodes, or Slurm would promise it.
 */
static uint64_t spec_mib(const struct machine *m, const struct service_set *set,
			 const struct idset *for_jobs)
{
	uint64_t bytes = service_bytes(m, &set->mems);

	if (!idset_empty(for_jobs))
		bytes = service_bytes(m, machine_mems(m)) - machine_usable(m, for_jobs);
	else if (!set->own_mems)
		bytes /= 20;
	return (bytes + MIB - 1) / MIB;
}

/* Appends to BUF the word of the kernel's command line that begins like that, if there is one. */
static void append_word(char *buf, size_t size, const char *line, const char *begin)
{
	for (const char *word = line; *word; word += strcspn(word, " "), word += strspn(word, " "))
		if (strncmp(word, begin, strlen(begin)) == 0)
			snprintf(buf + strlen(buf), size - strlen(buf), " %.*s",
				 (int)strcspn(word, " "), word);
}

/* " fgmn=SPECIFICATION" and what belongs to it as this kernel has them, so that the line above
 * holds all. */
static int fgmn_parameters(char *buf, size_t size, struct errbuf *err)
{
	char text[KERNEL_LINE_MAX];

	if (file_read_line("/sys/kernel/mm/fgmn/spec", text, sizeof(text)) == 0) {
		if (strlen(text) == sizeof(text) - 1)
			return errprintf(err, "/sys/kernel/mm/fgmn/spec: longer than %d bytes",
					 KERNEL_LINE_MAX - 2);
		snprintf(buf, size, " fgmn=%s", text);
	}
	if (file_read_line("/proc/cmdline", text, sizeof(text)) == 0) {
		append_word(buf, size, text, "fgmn_opt=");
		append_word(buf, size, text, "movable_node");
	}
	return 0;
}

int cmdline_print(const struct machine *m, const struct service_set *set, bool here, bool json,
		  struct errbuf *err)
{
	struct json_out j = { .f = stdout };
	char service[IDSET_LIST_MAX], others[IDSET_LIST_MAX], slurm[IDSET_LIST_MAX],
		node[256] = "NAME";
	char kernel[3 * IDSET_LIST_MAX + 2 * KERNEL_LINE_MAX + 128], line[IDSET_LIST_MAX + 480];
	char by_core[IDSET_LIST_MAX], fgmn[2 * KERNEL_LINE_MAX] = "", gres[300] = "";
	struct idset rest = *machine_cpus(m), numbers, cores, for_jobs = nodes_for_jobs(m, set);
	unsigned blocks = idset_count(&for_jobs);
	const char *feature[] = { blocks ? GRES_NAME : NULL,
				  here && policy_supported(POLICY_HPC) ? HPC_FEATURE : NULL,
				  here && buffer_supported() ? BUFFER_FEATURE : NULL };
	bool any = false;
	bool lacks = here && access("/sys/devices/system/cpu/nohz_full", F_OK) < 0;

	if (service_slurm_cpus(&numbers, m, &set->cpus, 0, err) < 0 ||
	    service_slurm_cpus(&cores, m, &set->cpus, 1, err) < 0)
		return -1;
	idset_andnot(&rest, &set->cpus);
	idset_format(&set->cpus, service, sizeof(service));
	idset_format(&rest, others, sizeof(others));
	idset_format(&numbers, slurm, sizeof(slurm));
	idset_format(&cores, by_core, sizeof(by_core));
	if (here && gethostname(node, sizeof(node) - 1) == 0)
		node[strcspn(node, ".")] = '\0';
	if (blocks && here && fgmn_parameters(fgmn, sizeof(fgmn), err) < 0)
		return -1;
	snprintf(kernel, sizeof(kernel), "nohz_full=%s rcu_nocbs=%s irqaffinity=%s%s", others,
		 others, service, fgmn);
	snprintf(line, sizeof(line), "NodeName=%s CpuSpecList=%s MemSpecLimit=%llu", node, slurm,
		 (unsigned long long)spec_mib(m, set, &for_jobs));
	for (size_t i = 0; i < sizeof(feature) / sizeof(feature[0]); i++)
		if (feature[i]) {
			snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s",
				 any ? "," : " Features=", feature[i]);
			any = true;
		}
	if (blocks) {
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " Gres=" GRES_NAME ":%u",
			 blocks);
		snprintf(gres, sizeof(gres),
			 "NodeName=%s Name=" GRES_NAME " Count=%u Flags=CountOnly", node, blocks);
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
	printf("# kernel command line: the tick, RCU's callbacks and new interrupts leave the "
	       "containers' CPUs%s\n",
	       *fgmn ? ";\n# the blocks of memory are those of this boot" : "");
	if (lacks)
		puts("# (this kernel is built without CONFIG_NO_HZ_FULL and takes no notice of "
		     "nohz_full)");
	puts(kernel);
	puts("# slurm.conf: add to the node's line (CpuSpecList counts as Slurm does, not as the "
	     "kernel)");
	puts(line);
	if (!idset_equal(&numbers, &cores))
		printf("# (where that line has CPUs= no more than the cores, Slurm counts cores: "
		       "CpuSpecList=%s)\n",
		       by_core);
	puts("# and, beside other flags that are there:\nPrologFlags=Contain");
	if (blocks)
		printf("# blocks of memory, so that sbatch --gres=" GRES_NAME
		       ":N waits for them: slurm.conf, beside other types that are there\n"
		       "GresTypes=" GRES_NAME "\n# gres.conf\n%s\n",
		       gres);
	return 0;
}
