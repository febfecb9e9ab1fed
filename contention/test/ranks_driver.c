/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Print ranks of this host, for tests with real processes and to measure the cost of scans.
 *
 *   ranks_driver JOB SCANS SAMPLES PID...
 *
 * The processes are those of step 0 of JOB, in directories job_JOB/step_0/user/task_N of cgroup v2.
 * The program scans SCANS times, each time with SAMPLES samples, without pauses. With one scan and
 * no sample, it takes three samples a second apart and prints a line for each rank.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "contention/ranks.h"
#include "host/cgroup.h"

static void print_number(const char *name, uint64_t n)
{
	if (n == OBSERVED_UNKNOWN)
		printf(" %s=-", name);
	else
		printf(" %s=%" PRIu64, name, n);
}

static void print_ranks(const struct observed_node *node)
{
	for (unsigned i = 0; i < node->n_steps; i++)
		for (unsigned k = 0; k < node->step[i].n; k++) {
			const struct observed_rank *r = &node->step[i].rank[k];
			char cpus[128];

			printf("%s rank=%d pid=%d cpus=%s domain=%d threads=%u",
			       observed_kind_name(r->kind), r->rank, (int)r->pid,
			       idset_brief(cpus, &r->cpus), r->domain, r->threads);
			print_number("cpu", r->cpu);
			print_number("memory", r->memory);
			print_number("sent", r->sent);
			print_number("received", r->received);
			print_number("read", r->read);
			print_number("written", r->written);
			printf("\n");
		}
}

int main(int argc, char **argv)
{
	struct ranks_conf conf = { .proc_fd = open("/proc", O_RDONLY | O_DIRECTORY),
				   .sys_fd = open("/sys", O_RDONLY | O_DIRECTORY) };
	int scans = argc > 3 ? atoi(argv[2]) : 0, samples = argc > 3 ? atoi(argv[3]) : 0;
	struct contention_message m = { .uid = getuid(), .gid = getgid() };
	struct observed_node node = { .n_steps = 0 };
	struct errbuf err, bad = { 0 };
	struct ranks *r;

	if (argc < 5)
		return 2;
	m.job = (uint32_t)atoi(argv[1]);
	m.n = (unsigned)argc - 4;
	m.rank = calloc(m.n, sizeof(*m.rank));
	for (unsigned i = 0; m.rank && i < m.n; i++)
		m.rank[i] = (struct contention_rank){ .rank = i, .pid = atoi(argv[4 + i]) };
	conf.cgroup_fd = cgroup_open_root(NULL, &err);
	if (!m.rank || conf.cgroup_fd < 0 || ranks_open(&r, &conf, &node, &err) < 0 ||
	    ranks_announce(r, &node, &m, &err) != (int)m.n) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 0; i < scans; i++) {
		ranks_scan(r, &node, &bad);
		for (int k = 0; k < samples; k++)
			ranks_sample(r, &node, 1000);
	}
	if (scans == 1 && !samples) {
		ranks_sample(r, &node, 1000);
		sleep(1);
		ranks_scan(r, &node, &bad);
		ranks_sample(r, &node, 1000);
		sleep(1);
		ranks_sample(r, &node, 1000);
		print_ranks(&node);
		printf("# traffic: %s\n", ranks_no_traffic(r));
	}
	ranks_close(r);
	observed_free(&node);
	free(m.rank);
	return *bad.text ? 1 : 0;
}
