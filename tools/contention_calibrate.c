/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/contention_calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostname.h"
#include "base/json_out.h"
#include "contention/domains.h"
#include "contention/ranks.h"
#include "counters/calibrate.h"
#include "host/affinity.h"
#include "host/cgroup.h"
#include "host/conf.h"
#include "tools/tool.h"

#define DOMAIN_SECONDS 4 /* about how long one domain takes, in seconds */

/* The host whose domains are calibrated. */
struct calibration_host {
	int sys_fd, cgroup_fd;
	char peaks_dir[PATH_MAX];
	unsigned n;
	struct calibrate_domain *domain; /* n entries, owned */
};

static int calibration_open(struct calibration_host *h, const char *root, struct errbuf *err)
{
	char path[PATH_MAX];

	*h = (struct calibration_host){ .sys_fd = -1, .cgroup_fd = -1 };
	snprintf(h->peaks_dir, sizeof(h->peaks_dir), "%s" PEAKS_DIR, root);
	snprintf(path, sizeof(path), "%s/sys", root);
	h->sys_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->sys_fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup", root);
	h->cgroup_fd = cgroup_open_root(*root ? path : NULL, err);
	return h->cgroup_fd < 0 ? -1 : 0;
}

static void calibration_close(struct calibration_host *h)
{
	if (h->sys_fd >= 0)
		close(h->sys_fd);
	if (h->cgroup_fd >= 0)
		close(h->cgroup_fd);
	free(h->domain);
}

static int find_domains(struct calibration_host *h, struct errbuf *err)
{
	struct observed_node node = { .n_domains = 0 };

	if (domains_read(&node, h->sys_fd, err) < 0)
		return -1;
	h->domain = calloc(node.n_domains, sizeof(*h->domain));
	for (unsigned i = 0; h->domain && i < node.n_domains; i++)
		h->domain[h->n++] = (struct calibrate_domain){
			.id = node.domain[i].id,
			.cpus = node.domain[i].cpus,
			.cache = domains_cache_bytes(h->sys_fd, &node.domain[i]),
		};
	observed_free(&node);
	return h->domain ? 0 : errprintf(err, "out of memory");
}

/* Refuse to calibrate while jobs run: they would become slow, and their misses would count. */
static int refuse_jobs(const struct calibration *o, const struct calibration_host *h,
		       struct errbuf *err)
{
	unsigned jobs = ranks_count_jobs(h->cgroup_fd);
	char node[NODE_NAME_MAX];

	if (!jobs || o->force)
		return 0;
	hostname_short(node);
	return errprintf(err,
			 "%u job%s on this node: calibration would slow jobs down, and count their "
			 "misses: drain the node (scontrol update NodeName=%s State=DRAIN "
			 "Reason=calibration), or use --force",
			 jobs, jobs == 1 ? " runs" : "s run", node);
}

static bool may_use(const struct idset *cpus)
{
	struct errbuf ignored;
	struct idset now;

	return affinity_set(0, cpus, &ignored) == 0 && affinity_get(0, &now, &ignored) == 0 &&
	       idset_subset(cpus, &now);
}

/*
 * If this process cannot use all CPUs, move it to the root cgroup: a ServiceOS keeps root's shell
 * off the CPUs of jobs. If this process still cannot use a CPU, the measurement fails.
 */
static void reach_cpus(const struct calibration_host *h)
{
	struct errbuf ignored;
	struct idset cpus;

	idset_zero(&cpus);
	for (unsigned i = 0; i < h->n; i++)
		idset_or(&cpus, &h->domain[i].cpus);
	if (!may_use(&cpus))
		cgroup_write(h->cgroup_fd, ".", "cgroup.procs", "0", &ignored);
}

/* Write a rate that is in thousandths, as in struct rank_sample. */
static void put_rate(struct json_out *j, const char *key, uint32_t rate)
{
	jout_parts(j, key, rate, CLASSIFY_RATE_UNIT);
}

static void put_calibrated_domain(struct json_out *j, const struct calibrate_domain *d)
{
	jout_open(j, NULL, '{');
	jout_signed(j, "cache", d->id);
	jout_set(j, "cpus", &d->cpus);
	if (d->cache)
		jout_number(j, "cache_bytes", d->cache);
	else
		jout_string(j, "cache_bytes", NULL);
	jout_open(j, "loads", '[');
	for (unsigned i = 0; i < CALIBRATE_LOADS; i++) {
		enum calibrate_load load = (enum calibrate_load)i;

		jout_open(j, NULL, '{');
		jout_string(j, "load", calibrate_load_name(load));
		put_rate(j, "expected", calibrate_load_rate(load));
		put_rate(j, "measured", d->rate[i]);
		jout_bool(j, "differs", calibrate_differs(load, d->rate[i]));
		jout_close(j, '}');
	}
	jout_close(j, ']');
	jout_number(j, "peak_misses_per_second", d->peak);
	jout_close(j, '}');
}

static void print_calibration(FILE *f, const struct calibration_host *h, const struct counters *c)
{
	struct json_out j = { .f = f };
	struct counters_about about;
	char host[NODE_NAME_MAX];

	counters_about(c, &about);
	hostname_short(host);
	jout_open(&j, NULL, '{');
	jout_number(&j, "schema", 1);
	jout_string(&j, "kind", "calibration");
	jout_string(&j, "host", host);
	jout_string(&j, "row", about.row->name);
	jout_string(&j, "quality", events_quality_name(about.row->quality));
	jout_bool(&j, "simulated", about.simulated);
	jout_open(&j, "domains", '[');
	for (unsigned i = 0; i < h->n; i++)
		put_calibrated_domain(&j, &h->domain[i]);
	jout_close(&j, ']');
	jout_close(&j, '}');
}

static unsigned count_different(const struct calibration_host *h)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->n; i++)
		for (unsigned k = 0; k < CALIBRATE_LOADS; k++)
			n += calibrate_differs((enum calibrate_load)k, h->domain[i].rate[k]);
	return n;
}

/* Measure all domains, and write the file of peaks. */
static int calibrate_host(const struct calibration *o, struct calibration_host *h,
			  struct counters *c, FILE *out, struct errbuf *err)
{
	struct contention_peaks peaks;
	struct errbuf ignored;
	int rc;

	if (calibrate_check(c, err) < 0 || calibration_open(h, o->root, err) < 0 ||
	    refuse_jobs(o, h, err) < 0 || find_domains(h, err) < 0)
		return -1;
	reach_cpus(h);
	tool_error(0,
		   "contention: calibrating %u domain%s in turn: this loads their CPUs, and takes "
		   "about %u seconds in all",
		   h->n, h->n == 1 ? "" : "s", DOMAIN_SECONDS * h->n);
	/* a damaged file is no error: the new peaks replace it */
	contention_peaks_read(&peaks, h->peaks_dir, geteuid(), &ignored);
	rc = calibrate_domains(o->json ? stderr : out, c, h->domain, h->n, &peaks, err);
	if (rc == 0 && peaks.n)
		rc = contention_peaks_write(&peaks, h->peaks_dir, err);
	if (rc == 0 && peaks.n && !o->json)
		fprintf(out,
			"The peaks are in %s/" PEAKS_FILE ". systemctl reload nodeos-contend lets a"
			" running daemon use them.\n",
			h->peaks_dir);
	contention_peaks_free(&peaks);
	return rc;
}

int calibration_measure(const struct calibration *o, struct counters *c, FILE *out)
{
	struct calibration_host h = { .sys_fd = -1, .cgroup_fd = -1 };
	struct errbuf err = { 0 };
	unsigned different;
	int status = 0;

	if (calibrate_host(o, &h, c, out, &err) < 0) {
		status = tool_error(1, "contention: --calibrate: %s", err.text);
	} else {
		if (o->json)
			print_calibration(out, &h, c);
		different = count_different(&h);
		if (different)
			status = tool_error(
				3,
				"contention: %u figure%s from the expected rates of the loads: "
				"classes may be wrong on this node (nodeos-events(5))",
				different, different == 1 ? " differs" : "s differ");
	}
	calibration_close(&h);
	return status;
}

int calibration_run(const struct calibration *o)
{
	struct conf *conf;
	struct counters *c = NULL;
	struct errbuf err = { 0 };
	int status;

	if (geteuid() != 0)
		return tool_error(1, "contention: only root calibrates a node");
	conf = calloc(1, sizeof(*conf));
	if (!conf)
		return tool_error(1, "contention: out of memory");
	status = conf_load(conf, o->conf, 0, &err);
	if (status == 0) {
		/* use the same counters as nodeos-contend */
		const struct counters_conf counters = { .source = conf->contention.source,
							.row = conf->contention.events,
							.user_only = conf->contention.user_only };

		status = counters_open(&c, &counters, &err);
	}
	if (status < 0)
		status = tool_error(1, "contention: --calibrate: %s", err.text);
	else
		status = calibration_measure(o, c, stdout);
	counters_close(c);
	free(conf);
	return status;
}
