/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * lriot: a load generator for files that are read and written through memory mappings, after LRIOT,
 * with which Van Essen et al. measure DI-MMAP: processes, threads and patterns of access, by
 * mapping, direct or standard I/O, and contents that show each lost or misplaced write.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dimmap/load/lriot/report.h"

int main(int argc, char **argv)
{
	static struct outcome out;
	struct options o;
	struct errbuf err;
	int parsed = lriot_options_parse(&o, argc, argv, &err);

	if (parsed > 0) {
		fputs(options_usage, stdout);
		return 0;
	}
	if (parsed < 0) {
		fprintf(stderr, "nodeos-lriot: %s\nnodeos-lriot --help lists the options.\n",
			err.text);
		return 2;
	}
	if (lriot_run(&o, &out, &err) < 0) {
		fprintf(stderr, "nodeos-lriot: %s\n", err.text);
		return 1;
	}
	(o.json ? report_json : report_text)(&o, &out);
	if (fflush(stdout) != 0) {
		perror("nodeos-lriot: standard output");
		return 1;
	}
	if (out.found.n || out.disturbed.died)
		return 1;
	return errors_all(&out.errors) ? 3 : 0;
}
