/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read files of events.d by counters/events.c, for events_check.py.
 *   events_driver FILE...                  prints each row as one line
 *   events_driver --find IDENTITY... -- FILE...
 *                                          prints for each processor the name of its row, or "-"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/textfile.h"
#include "counters/events.h"

static int load_file(struct events_table *t, const char *path)
{
	struct errbuf err = { 0 };
	char *text = NULL;
	size_t len;
	int rc = textfile_read(&text, &len, path, EVENTS_FILE_MAX, &err);

	if (rc == 0)
		rc = events_table_add(t, path, text, len, &err);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	free(text);
	return rc;
}

static int print_row(const struct events_table *t, const char *identity)
{
	const struct events_row *row;
	struct cpu_identity cpu;
	struct errbuf err = { 0 };

	if (cpu_identity_parse(&cpu, identity, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	row = events_table_find(t, &cpu);
	puts(row ? row->name : "-");
	return 0;
}

int main(int argc, char **argv)
{
	bool finding = argc > 1 && strcmp(argv[1], "--find") == 0;
	struct events_table t = { .n = 0 };
	int files = finding ? 2 : 1, rc = 0;

	while (finding && files < argc && strcmp(argv[files++], "--") != 0)
		;
	for (int i = files; i < argc && rc == 0; i++)
		rc = load_file(&t, argv[i]);
	if (finding)
		for (int i = 2; i < files - 1 && rc == 0; i++)
			rc = print_row(&t, argv[i]);
	else
		for (unsigned i = 0; i < t.n && rc == 0; i++)
			events_row_print(stdout, &t.row[i]);
	events_table_free(&t);
	return rc < 0 ? 1 : 0;
}
