/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/test/tap.h"
#include "manifest/request.h"

/*
 * Return the names of the isolators that container I of R requests, or that R requests if I is
 * negative.
 */
static const char *wanted(const struct request *r, int i)
{
	static char names[100];

	names[0] = '\0';
	for (int id = 0; id < ISOLATOR_COUNT; id++)
		if (i < 0 ? request_wants(r, (enum isolator_id)id)
			  : request_container_wants(&r->container[i], (enum isolator_id)id))
			sprintf(names + strlen(names), "%s ", isolator_name((enum isolator_id)id));
	return names;
}

static const struct {
	const char *fields, *wants;
} table[] = {
	{ "", "cpus " },
	{ " cpus=2 smt=1", "cpus " },
	{ " mems=1", "cpus mems " },
	{ " mems=17179869184b", "cpus mems " },
	{ " policy=other", "cpus sched " },
	{ " policy=hpc prio=1 quantum=0", "cpus sched " },
	{ " partition=root", "cpus partition " },
	{ " dimmap=1048576 dimmap_source=/a", "cpus dimmap " },
	{ " ignored=power,resource/cpu", "cpus " },
	{ " oom=0", "cpus oom " },
	{ " guest=64", "cpus guest " },
	{ " contention=observe", "cpus contention " },
	{ " contention=off", "cpus contention " },
	{ " memory=1048576", "cpus limits " },
	{ " bandwidth=4096", "cpus limits " },
	{ " iops=1 thp=never", "cpus limits thp " },
	{ " lwk=16777216", "cpus lwk " },
	{ " ignored=resource/memory", "cpus " },
	{ " ignored=os/linux/oom-score-adj", "cpus " },
	{ " cpus=4 mems=2 policy=rr partition=isolated dimmap=1048576 dimmap_source=/a",
	  "cpus mems sched partition dimmap " },
};

int main(void)
{
	static struct request r;
	struct errbuf err;

	is(wanted(&r, -1), "", "request_wants: a request without containers requests no isolator");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[200];

		snprintf(text, sizeof(text), "nodeos 1;c=a%s;", table[i].fields);
		is_int(request_parse(&r, text, &err), 0, "request_parse: takes %s", text);
		is(wanted(&r, 0), table[i].wants,
		   "request_container_wants: the container requests %s", table[i].wants);
		is(wanted(&r, -1), table[i].wants,
		   "request_wants: the request with %s requests the isolators of its container",
		   table[i].fields);
	}
	is_int(request_parse(&r,
			     "nodeos 1;c=dimmap=1 mems=1;c=b cpus=1 dimmap=1048576 "
			     "dimmap_source=/partition=root;",
			     &err),
	       -1, "request_parse: a container's name has no \"=\"");
	is_int(request_parse(&r,
			     "nodeos 1;c=a mems=1;c=b cpus=1 dimmap=1048576 "
			     "dimmap_source=/partition=root;",
			     &err),
	       0, "request_parse: takes two containers");
	is(wanted(&r, 0), "cpus mems ",
	   "request_container_wants: the first container requests memory nodes");
	is(wanted(&r, 1), "cpus dimmap ",
	   "request_container_wants: the second container requests a buffer; the buffer's path is "
	   "no isolator");
	is(wanted(&r, -1), "cpus mems dimmap ",
	   "request_wants: the request has the isolators of both containers");
	ok(!request_container_wants(&r.container[0], ISOLATOR_COUNT) &&
		   !request_wants(&r, ISOLATOR_COUNT),
	   "request_container_wants: false for an isolator that does not exist");
	return tap_done();
}
