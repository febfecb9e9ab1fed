/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares_driver MACHINE N [CPUS]: prints the share of each of N vnodes of the machine, one list of
 * CPUs a line. shares_oracle.py checks the lists.
 */
#include <stdio.h>
#include <stdlib.h>

#include "topology/machine.h"
#include "vnode/shares.h"

int main(int argc, char **argv)
{
	struct errbuf err = { 0 };
	struct machine *m;
	struct idset cpus, *share;
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	static char list[IDSET_LIST_MAX];

	if (argc < 3 || machine_load_arg(&m, argv[1], &err) < 0) {
		printf("error %s\n", err.text);
		return 2;
	}
	cpus = *machine_cpus(m);
	share = calloc(n + 1, sizeof(*share));
	if (!share || (argc > 3 && idset_parse(&cpus, argv[3], &err) < 0) ||
	    vnode_shares(share, n, m, &cpus, &err) < 0) {
		printf("error %s\n", err.text);
		return 1;
	}
	for (unsigned i = 0; i < n; i++) {
		idset_format(&share[i], list, sizeof(list));
		puts(list);
	}
	free(share);
	machine_free(m);
	return 0;
}
