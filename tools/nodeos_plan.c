/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * nodeos-plan: the planner in a separate process. The plugin in slurmstepd runs it with the rights
 * of the job's user, so that root trusts neither hwloc nor hwloc's input. Standard input:
 * plan_input text. fd 3, if open: this machine's topology as XML. Standard output: a job plan, or
 * "error TEXT" and, with a code, "refusal WORD".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobplan/planner.h"

/*
 * Return the *LEN bytes of FD and a NUL, which the caller frees; NULL on an error, or if FD has
 * more than MAX bytes.
 */
static char *slurp(int fd, size_t max, size_t *len)
{
	size_t used = 0, room = 1u << 16;
	char *buf = malloc(room);

	while (buf) {
		ssize_t n = read(fd, buf + used, room - used - 1);
		char *more;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (n == 0) {
			buf[used] = '\0';
			*len = used;
			return buf;
		}
		used += (size_t)n;
		if (room - used > 1)
			continue;
		more = room < max ? realloc(buf, room * 2) : NULL;
		if (!more)
			break;
		buf = more;
		room *= 2;
	}
	free(buf);
	return NULL;
}

static int helper_load(struct machine **m, struct errbuf *err)
{
	struct stat st;
	size_t len = 0;
	char *xml;
	int rc;

	if (fstat(3, &st) < 0)
		return machine_load_this(m, err);
	xml = slurp(3, 64u << 20, &len);
	if (!xml)
		return errprintf(err,
				 "this node's machine.xml cannot be read (run nodeosctl discover)");
	rc = machine_load_xml_buffer(m, xml, len, err);
	free(xml);
	if (rc == 0)
		machine_note_huge_pages(*m, "");
	return rc < 0 ? errwrap(err, "this node's machine.xml is unusable (run nodeosctl discover)")
		      : 0;
}

static int tools_helper_run(struct job_plan **plan, struct errbuf *err)
{
	static struct request request;
	struct plan_input in;
	struct machine *m = NULL;
	size_t len;
	char *text = slurp(0, 1u << 20, &len);
	int rc;

	if (!text)
		return errprintf(err, "cannot read the planner's input");
	rc = plan_input_parse(&in, text, err);
	if (rc == 0)
		rc = request_parse(&request, in.request, err);
	if (rc == 0)
		rc = helper_load(&m, err);
	/* machine.xml is older than some of these CPUs or memory nodes: load the machine itself */
	if (rc == 0 && (!idset_subset(&in.cpus, machine_cpus(m)) ||
			!idset_subset(&in.mems, machine_mems(m)))) {
		machine_free(m);
		m = NULL;
		rc = machine_load_this(&m, err);
	}
	if (rc == 0)
		rc = in.resize ? planner_resize(plan, m, &request, &in, err)
			       : planner_make(plan, m, &request, &in, err);
	machine_free(m);
	free(text);
	return rc;
}

static const char plan_usage[] =
	"Usage: nodeos-plan <INPUT\n"
	"The plugin of Slurm and nodeosd run it, with the rights of the job's user, to plan a "
	"job's\n"
	"containers. For users, \"nodeosctl plan\" shows what a manifest would get.\n";

int main(int argc, char **argv)
{
	struct job_plan *plan = NULL;
	struct errbuf err = { 0 };
	bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);

	if (argc > 1) {
		fputs(plan_usage, help ? stdout : stderr);
		return help ? 0 : 2;
	}
	/*
	 * Load none of hwloc's plugins (libxml2, GPUs, X11). They add nothing about cores and
	 * memory, and would take five times as long as the planning. Without plugins, hwloc reads
	 * XML and Linux.
	 */
	setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
	if (tools_helper_run(&plan, &err) < 0) {
		job_plan_print_error(stdout, &err);
		return 1;
	}
	job_plan_print(stdout, plan);
	job_plan_free(plan);
	return fflush(stdout) == 0 ? 0 : 1;
}
