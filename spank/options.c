/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/log.h"

/* Longest value that is kept: file names and patterns are shorter. */
#define VALUE_MAX 4096
/* has_arg of an option that can be given without a value, as for getopt_long(3) */
#define OPTIONAL 2

static int options_take(int id, const char *value, int remote);

static struct spank_option table[OPT_COUNT + 1] = {
	[OPT_NODEOS] = { "nodeos", "off|help",
			 "[nodeos] off: as if NodeOS were not installed; help: list these options",
			 1, OPT_NODEOS, options_take },
	[OPT_MANIFEST] = { "nodeos-manifest", "FILE",
			   "[nodeos] make the containers of this AppC manifest on every node", 1,
			   OPT_MANIFEST, options_take },
	[OPT_CONTAINER] = { "nodeos-container", "NAME|NAME:RANKS,...",
			    "[nodeos] run in container NAME (none: in no container), or these "
			    "ranks of "
			    "the step",
			    1, OPT_CONTAINER, options_take },
	[OPT_SCHED] = { "nodeos-sched", "POLICY",
			"[nodeos] policy: other, batch, idle, fifo[:PRIO], rr[:PRIO], "
			"hpc[:user|rr|topo][,quantum:MS]",
			1, OPT_SCHED, options_take },
	[OPT_CPUS] = { "nodeos-cpus", "N",
		       "[nodeos] one container of N hardware threads (whole cores)", 1, OPT_CPUS,
		       options_take },
	[OPT_MEMS] = { "nodeos-mems", "N|SIZE",
		       "[nodeos] with N memory nodes, or with enough of them for SIZE (16G)", 1,
		       OPT_MEMS, options_take },
	[OPT_PLACEMENT] = { "nodeos-placement", "pack|spread[:LEVEL]",
			    "[nodeos] cores close together, or spread over each package, numa or "
			    "l3",
			    1, OPT_PLACEMENT, options_take },
	[OPT_LIMITS] = { "nodeos-limits", "LIMIT,...",
			 "[nodeos] memory:SIZE, bandwidth:SIZE and iops:N (a second, of each block "
			 "device), thp:never|always",
			 1, OPT_LIMITS, options_take },
	[OPT_LWK] = { "nodeos-lwk", "SIZE[,page=2M|1G][,loose]",
		      "[nodeos] each rank runs in a machine of its own, with SIZE of huge pages, "
		      "or a share of the memory",
		      OPTIONAL, OPT_LWK, options_take },
	[OPT_GUEST] = { "nodeos-guest", "SIZE",
			"[nodeos] the program runs in a guest of QEMU with SIZE of memory, one on "
			"each node",
			1, OPT_GUEST, options_take },
	[OPT_REPORT] = { "nodeos-report", "PATTERN",
			 "[nodeos] leave a JSON report per node and step (%j job, %s step, %N "
			 "node)",
			 1, OPT_REPORT, options_take },
	[OPT_CONTENTION] = { "nodeos-contention", "observe|dino|off",
			     "[nodeos] observe how ranks use the last-level caches; dino: separate "
			     "those that disturb others (for srun in a container of all CPUs, if "
			     "there is no other)",
			     1, OPT_CONTENTION, options_take },
	SPANK_OPTIONS_TABLE_END,
};

static char *given[OPT_COUNT];

static void print_help(void)
{
	printf("NodeOS options of sbatch, salloc and srun:\n");
	for (struct spank_option *o = table; o->name; o++) {
		char left[64];

		snprintf(left, sizeof(left), o->has_arg == OPTIONAL ? "--%s[=%s]" : "--%s=%s",
			 o->name, o->arginfo);
		printf("  %-30s %s\n", left, o->usage + strlen("[nodeos] "));
	}
	printf("A manifest describes several containers; see nodeos-manifest(5), nodeos(7).\n");
}

const char *option_as_given(enum option_id id, const char *value)
{
	/* Slurm writes NULL as "(null)" to the variables of a job's steps */
	if (table[id].has_arg == OPTIONAL && (!value || strcmp(value, "(null)") == 0))
		return "";
	return value;
}

/*
 * Slurm may call this several times (script, environment, command line): the last value wins. Slurm
 * ignores a failing remote callback, so other code checks the value.
 */
static int options_take(int id, const char *value, int remote)
{
	/* check here, because srun without a command calls no later hook */
	if (id == OPT_NODEOS && !remote && value && strcmp(value, "help") == 0) {
		print_help();
		exit(0);
	}
	if (id < 0 || id >= OPT_COUNT)
		return -1;
	value = option_as_given((enum option_id)id, value);
	if (!value)
		return -1;
	if (strlen(value) >= VALUE_MAX) {
		log_error("nodeos: --%s: longer than %d bytes", table[id].name, VALUE_MAX - 1);
		return -1;
	}
	free(given[id]);
	given[id] = strdup(value);
	return given[id] ? 0 : -1;
}

int options_register(spank_t sp)
{
	for (struct spank_option *o = table; o->name; o++)
		if (spank_option_register(sp, o) != ESPANK_SUCCESS) {
			log_error("nodeos: cannot register option --%s", o->name);
			return -1;
		}
	return 0;
}

const char *option_value(enum option_id id)
{
	return given[id];
}

const char *option_name(enum option_id id)
{
	return table[id].name;
}

void option_env_name(enum option_id id, char *buf, size_t size)
{
	int n = snprintf(buf, size, "SLURM_SPANK__SLURM_SPANK_OPTION_nodeos_%s", table[id].name);

	for (int i = 0; i < n && (size_t)i < size - 1; i++)
		if (!isalnum((unsigned char)buf[i]))
			buf[i] = '_';
}

bool options_make_request(void)
{
	return given[OPT_MANIFEST] || given[OPT_SCHED] || given[OPT_CPUS] || given[OPT_MEMS] ||
	       given[OPT_PLACEMENT] || given[OPT_LIMITS] || given[OPT_LWK] || given[OPT_GUEST];
}

bool options_off(void)
{
	return given[OPT_NODEOS] && strcmp(given[OPT_NODEOS], "off") == 0;
}
