/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/kernel_cmdline.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/json_out.h"
#include "base/physical_node.h"
#include "container/container_json.h"
#include "host/buffer.h"
#include "host/policy.h"
#include "report/blocks_text.h"

#define GRES_NAME "fgmn" /* name of the GRES of memory blocks, and of their feature */
#define MIB (UINT64_C(1) << 20)
#define KERNEL_LINE_MAX 4096 /* bytes; no architecture's kernel takes more */

/*
 * Memory nodes that jobs can have for themselves; empty if the kernel has not divided its memory
 * nodes.
 */
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
 * MiB of memory that Slurm must withhold from jobs: all of the system's own memory nodes or, if it
 * has none, 5 % of all memory (the Argo paper's ServiceOS has less). On a divided machine Slurm
 * must also withhold the unusable memory of the nodes for jobs.
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

/*
 * Write the parameters that made this kernel's blocks to BUF, for a complete command line: "
 * fgmn=SPECIFICATION", with fgmn_opt= and movable_node if this boot's command line has them, or "
 * numa=fake=NU".
 */
static int block_parameters(char *buf, size_t size, struct errbuf *err)
{
	char text[KERNEL_LINE_MAX];

	buf[0] = '\0';
	if (node_division("") == NODES_FAKE) {
		blocks_append_words(buf, size, "numa=fake=");
		return 0;
	}
	if (file_read_line("/sys/kernel/mm/fgmn/spec", text, sizeof(text)) == 0) {
		if (strlen(text) == sizeof(text) - 1)
			return errprintf(err, "/sys/kernel/mm/fgmn/spec: longer than %d bytes",
					 KERNEL_LINE_MAX - 2);
		snprintf(buf, size, " fgmn=%s", text);
	}
	blocks_append_words(buf, size, "fgmn_opt=");
	blocks_append_words(buf, size, "movable_node");
	return 0;
}

/* Lines for the administrator to add; "": none. */
struct lines {
	char kernel[3 * IDSET_LIST_MAX + 2 * KERNEL_LINE_MAX + 128];
	char blocks_of[2 * KERNEL_LINE_MAX]; /* the parameters in KERNEL that make blocks */
	char node[IDSET_LIST_MAX + 480]; /* the node's line in slurm.conf */
	char gres[300]; /* the line in gres.conf */
	unsigned blocks;
	struct idset numbers, cores; /* CpuSpecList as Slurm counts CPUs, or cores */
	bool lacks_nohz;
};

static void append_features(char *line, size_t size, const char *const feature[3])
{
	bool any = false;

	for (int i = 0; i < 3; i++)
		if (feature[i]) {
			snprintf(line + strlen(line), size - strlen(line), "%s%s",
				 any ? "," : " Features=", feature[i]);
			any = true;
		}
}

/* Make the node's lines of slurm.conf and gres.conf. */
static void make_slurm_lines(struct lines *l, const struct machine *m,
			     const struct service_set *set, bool here)
{
	struct idset for_jobs = nodes_for_jobs(m, set);
	const char *feature[3] = { l->blocks ? GRES_NAME : NULL,
				   here && policy_supported(POLICY_HPC) ? HPC_FEATURE : NULL,
				   here && buffer_supported() ? BUFFER_FEATURE : NULL };
	char slurm[IDSET_LIST_MAX], node[256] = "NAME";

	idset_format(&l->numbers, slurm, sizeof(slurm));
	if (here && gethostname(node, sizeof(node) - 1) == 0)
		node[strcspn(node, ".")] = '\0';
	snprintf(l->node, sizeof(l->node), "NodeName=%s CpuSpecList=%s MemSpecLimit=%llu", node,
		 slurm, (unsigned long long)spec_mib(m, set, &for_jobs));
	append_features(l->node, sizeof(l->node), feature);
	if (!l->blocks)
		return;
	snprintf(l->node + strlen(l->node), sizeof(l->node) - strlen(l->node),
		 " Gres=" GRES_NAME ":%u", l->blocks);
	snprintf(l->gres, sizeof(l->gres),
		 "NodeName=%s Name=" GRES_NAME " Count=%u Flags=CountOnly", node, l->blocks);
}

static int make_lines(struct lines *l, const struct machine *m, const struct service_set *set,
		      const struct cmdline_ask *ask, struct errbuf *err)
{
	struct idset rest = *machine_cpus(m), for_jobs = nodes_for_jobs(m, set);
	char service[IDSET_LIST_MAX], others[IDSET_LIST_MAX];

	l->blocks_of[0] = l->gres[0] = '\0';
	l->blocks = idset_count(&for_jobs);
	l->lacks_nohz = ask->here && access("/sys/devices/system/cpu/nohz_full", F_OK) < 0;
	if (service_slurm_cpus(&l->numbers, m, &set->cpus, 0, err) < 0 ||
	    service_slurm_cpus(&l->cores, m, &set->cpus, 1, err) < 0)
		return -1;
	idset_andnot(&rest, &set->cpus);
	idset_format(&set->cpus, service, sizeof(service));
	idset_format(&rest, others, sizeof(others));
	if (ask->block_bytes) {
		l->blocks_of[0] = ' ';
		if (blocks_parameter(l->blocks_of + 1, sizeof(l->blocks_of) - 1, m,
				     ask->block_bytes, err) < 0)
			return -1;
	} else if (l->blocks && ask->here &&
		   block_parameters(l->blocks_of, sizeof(l->blocks_of), err) < 0) {
		return -1;
	}
	snprintf(l->kernel, sizeof(l->kernel), "nohz_full=%s rcu_nocbs=%s irqaffinity=%s%s", others,
		 others, service, l->blocks_of);
	make_slurm_lines(l, m, set, ask->here);
	return 0;
}

static void print_lines_json(const struct lines *l, const struct service_set *set)
{
	struct json_out j = { .f = stdout };
	char by_core[IDSET_LIST_MAX];

	idset_format(&l->cores, by_core, sizeof(by_core));
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", REPORT_SCHEMA);
	report_serviceos(&j, set);
	jout_string(&j, "kernel", l->kernel);
	jout_bool(&j, "kernel_has_nohz_full", !l->lacks_nohz);
	jout_open(&j, "slurm.conf", '[');
	jout_string(&j, NULL, l->node);
	jout_string(&j, NULL, "PrologFlags=Contain");
	if (l->blocks)
		jout_string(&j, NULL, "GresTypes=" GRES_NAME);
	jout_close(&j, ']');
	jout_number(&j, "blocks", l->blocks);
	jout_string(&j, "gres.conf", l->blocks ? l->gres : NULL);
	jout_string(&j, "cpuspeclist_by_core", by_core);
	jout_close(&j, '}');
}

static void print_lines(const struct lines *l, const struct cmdline_ask *ask)
{
	char by_core[IDSET_LIST_MAX];

	printf("# kernel command line: keeps the tick, RCU callbacks and new interrupts off the "
	       "containers' CPUs%s\n",
	       !*l->blocks_of	  ? ""
	       : ask->block_bytes ? ";\n"
				    "# the last parameter makes the blocks: after the boot, "
				    "nodeosctl features shows them"
				  : ";\n# the last parameters make the same memory blocks as in "
				    "this boot");
	if (l->lacks_nohz)
		puts("# (this kernel is built without CONFIG_NO_HZ_FULL and ignores nohz_full)");
	puts(l->kernel);
	puts("# slurm.conf: add to the node's line (CpuSpecList counts as Slurm does, not as the "
	     "kernel)");
	puts(l->node);
	idset_format(&l->cores, by_core, sizeof(by_core));
	if (!idset_equal(&l->numbers, &l->cores))
		printf("# (if that line has no more CPUs= than cores, Slurm counts cores: "
		       "CpuSpecList=%s)\n",
		       by_core);
	puts("# also add, beside other flags of PrologFlags:\nPrologFlags=Contain");
	if (l->blocks)
		printf("# blocks of memory, so that sbatch --gres=" GRES_NAME
		       ":N waits for them: slurm.conf, beside other types of GresTypes\n"
		       "GresTypes=" GRES_NAME "\n# gres.conf\n%s\n",
		       l->gres);
}

int cmdline_print(const struct machine *m, const struct service_set *set,
		  const struct cmdline_ask *ask, bool json, struct errbuf *err)
{
	struct lines l;

	if (make_lines(&l, m, set, ask, err) < 0)
		return -1;
	if (json)
		print_lines_json(&l, set);
	else
		print_lines(&l, ask);
	return 0;
}
