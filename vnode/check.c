/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostname.h"
#include "base/program.h"
#include "host/conf.h"
#include "host/slurm_conf.h"
#include "vnode/devices.h"
#include "vnode/link.h"
#include "vnode/root.h"
#include "vnode/slurm_nodes.h"
#include "vnode/state.h"

void vnode_site_default(struct vnode_site *out)
{
	static char host[NODE_NAME_MAX];

	if (gethostname(host, sizeof(host)) < 0)
		host[0] = '\0';
	host[sizeof(host) - 1] = '\0';
	*out = (struct vnode_site){
		.conf = NODEOS_CONF_PATH,
		.conf_dir = NODEOS_VNODE_DIR,
		.run_dir = VNODE_RUN_DIR,
		.host = host,
		.ask_slurm = true,
	};
}

static int check_host_conf(const struct vnode_site *site, struct errbuf *err)
{
	struct conf *conf = malloc(sizeof(*conf));
	int rc = conf ? conf_load(conf, site->conf, 0, err) : errprintf(err, "out of memory");

	if (rc == 0 && !conf->vnode)
		rc = errprintf(err, "vnodes are not allowed on this host (key vnode in %s)",
			       site->conf);
	free(conf);
	return rc;
}

static int check_time_namespaces(struct errbuf *err)
{
	if (access("/proc/self/ns/time_for_children", F_OK) < 0)
		return errprintf(err, "the kernel has no time namespaces (Linux 5.6, "
				      "CONFIG_TIME_NS)");
	return 0;
}

static int check_programs(const struct vnode_conf *c, struct errbuf *err)
{
	static const char *const needed[] = { "ip", "munged", "slurmd" };
	char path[PROGRAM_PATH_MAX];

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!program_find(needed[i], path))
			return errprintf(err, "program %s is missing", needed[i]);
	if (access(NODEOS_LIBEXECDIR "/nodeos-vnode", X_OK) < 0)
		return errprintf(
			err,
			"the package nodeos-vnode is not installed (there is no " NODEOS_LIBEXECDIR
			"/nodeos-vnode)");
	if (access(c->munge_key, R_OK) < 0)
		return errprintf(err, "munge_key: there is no %s", c->munge_key);
	if (access(c->slurm_conf, R_OK) < 0)
		return errprintf(err, "slurm_conf: there is no %s", c->slurm_conf);
	return 0;
}

/* Refuse an address that another vnode has: each of the two would lose packets to the other. */
static int check_addresses(const struct vnode_conf *c, const struct vnode_site *site,
			   char (*names)[VNODE_NAME_MAX], unsigned n, struct errbuf *err)
{
	struct vnode_conf *other = malloc(sizeof(*other));
	size_t len = strcspn(c->address, "/");
	struct errbuf ignored;
	int rc = other ? 0 : errprintf(err, "out of memory");

	for (unsigned i = 0; rc == 0 && i < n; i++) {
		if (strcmp(names[i], c->name) == 0 ||
		    vnode_conf_load(other, site->conf_dir, names[i], 0, &ignored) < 0)
			continue;
		if (strcmp(other->mac, c->mac) == 0 ||
		    (strcspn(other->address, "/") == len &&
		     memcmp(other->address, c->address, len) == 0))
			rc = errprintf(err, "vnode %s has the address of vnode %s", c->name,
				       names[i]);
	}
	free(other);
	return rc;
}

static int check_slurm(const struct vnode_conf *c, const struct vnode_site *site,
		       char (*names)[VNODE_NAME_MAX], unsigned n, struct errbuf *err)
{
	char *config, *nodes;
	int rc = -1;

	config = slurm_show("config", NULL, err);
	if (!config)
		return -1;
	nodes = slurm_show("node", NULL, err);
	if (nodes && vnode_slurm_check_config(config, err) == 0)
		rc = vnode_slurm_check(c, nodes, site->host, (const char(*)[VNODE_NAME_MAX])names,
				       n, err);
	free(config);
	free(nodes);
	return rc;
}

/* Check that the bridge, mounts, directories, devices and programs that C names exist. */
static int check_parts(const struct vnode_conf *c, struct errbuf *err)
{
	struct vnode_device device[VNODE_DEVICES_MAX];

	if (vnode_link_check_bridge(c->bridge, err) < 0 || vnode_root_check(c, err) < 0 ||
	    vnode_devices(device, c, err) < 0)
		return -1;
	return check_programs(c, err);
}

int vnode_check(struct vnode_conf *out, const struct vnode_site *site, const char *name,
		struct errbuf *err)
{
	char(*names)[VNODE_NAME_MAX];
	unsigned n;
	int rc = -1;

	if (check_host_conf(site, err) < 0 ||
	    vnode_conf_load(out, site->conf_dir, name, 0, err) < 0)
		return -1;
	if (!vnode_allows_host(out, site->host))
		return errprintf(err, "vnode %s may not run on this host (hosts: %.200s)", name,
				 out->hosts);
	if (check_time_namespaces(err) < 0 || check_parts(out, err) < 0 ||
	    vnode_conf_list(&names, &n, site->conf_dir, err) < 0)
		return -1;
	if (check_addresses(out, site, names, n, err) == 0)
		rc = site->ask_slurm ? check_slurm(out, site, names, n, err) : 0;
	free(names);
	return rc;
}
