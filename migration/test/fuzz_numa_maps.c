/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: any bytes as a line of numa_maps and of maps. If a line is parsed, its bytes
 * add up and an extent has a length; if it is refused, the reason is one printable line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/fuzz.h"
#include "migration/numa_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct numa_mapping m;
	struct errbuf err = { 0 };
	struct maps_extent extent;
	char *line = malloc(size + 1);
	uint64_t sum = 0;

	check(line != NULL);
	memcpy(line, data, size);
	line[size] = '\0';
	if (numa_mapping_parse(&m, line, &err) == 0) {
		check(m.n <= NUMA_MAPS_NODES);
		for (unsigned i = 0; i < m.n; i++) {
			check(m.on[i].node < IDSET_MAX && m.on[i].bytes <= UINT64_MAX - sum);
			sum += m.on[i].bytes;
		}
		check(m.policy == NUMA_POLICY_NODES || idset_empty(&m.nodes));
		check(m.policy != NUMA_POLICY_ANY || numa_mapping_allows(&m, 0));
	} else {
		check_refusal(&err);
	}
	if (maps_extent_parse(&extent, line, &err) == 0)
		check(extent.start < extent.end);
	else
		check_refusal(&err);
	free(line);
	return 0;
}
