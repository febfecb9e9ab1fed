/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/command_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vnode/message.h"
#include "vnode/slurm_nodes.h"
#include "vnode/state.h"

/* Read the state of NAME; its phase is VNODE_ABSENT if run_dir is missing. Returns 0, or -1. */
static int read_state(struct vnode_state *out, const struct vnode_site *site, const char *name,
		      struct errbuf *err)
{
	int run, rc;

	memset(out, 0, sizeof(*out));
	if (access(site->run_dir, F_OK) < 0)
		return 0;
	run = vnode_run_open(site->run_dir, err);
	if (run < 0)
		return -1;
	rc = vnode_state_read(out, run, name, err);
	close(run);
	return rc;
}

/* Write to LIST the CPUs or memory nodes in FILE of the vnode's cgroup; "-" if it has no cgroup. */
static void read_share(char list[IDSET_LIST_MAX], const struct vnode_state *s, const char *file)
{
	struct errbuf ignored;
	struct idset set;
	int root;

	strcpy(list, "-");
	if (!*s->cgroup)
		return;
	root = cgroup_open_root(NULL, &ignored);
	if (root < 0)
		return;
	if (cgroup_read_set(root, s->cgroup, file, &set, &ignored) == 0)
		idset_format(&set, list, IDSET_LIST_MAX);
	close(root);
}

int vnode_command_list(const struct vnode_site *site)
{
	struct vnode_conf *conf = calloc(1, sizeof(*conf));
	static char cpus[IDSET_LIST_MAX];
	char(*names)[VNODE_NAME_MAX];
	struct vnode_state state;
	struct errbuf err = { 0 };
	unsigned n;
	int status = 0;

	if (!conf || vnode_conf_list(&names, &n, site->conf_dir, &err) < 0) {
		free(conf);
		return vnode_message(1, "%s", conf ? err.text : "out of memory");
	}
	printf("%-12s  %-8s  %-18s  %s\n", "NAME", "STATE", "ADDRESS", "CPUS");
	for (unsigned i = 0; i < n; i++) {
		if (vnode_conf_load(conf, site->conf_dir, names[i], 0, &err) < 0 ||
		    read_state(&state, site, names[i], &err) < 0) {
			status = vnode_message(1, "%s", err.text);
			continue;
		}
		read_share(cpus, &state, "cpuset.cpus.effective");
		printf("%-12s  %-8s  %-18s  %s\n", names[i], vnode_phase_name(state.phase),
		       conf->address, cpus);
	}
	free(names);
	free(conf);
	return status;
}

int vnode_command_show(const struct vnode_site *site, const char *name)
{
	struct vnode_conf *conf = calloc(1, sizeof(*conf));
	static char list[IDSET_LIST_MAX];
	struct vnode_state state;
	struct errbuf err = { 0 };

	if (!conf || vnode_conf_load(conf, site->conf_dir, name, 0, &err) < 0 ||
	    read_state(&state, site, name, &err) < 0) {
		free(conf);
		return vnode_message(1, "%s", err.text);
	}
	printf("name: %s\nstate: %s\naddress: %s\nmac: %s\nbridge: %s\n", name,
	       vnode_phase_name(state.phase), conf->address, conf->mac, conf->bridge);
	if (state.pid)
		printf("pid: %d\n", (int)state.pid);
	if (*state.link)
		printf("link: %s\n", state.link);
	if (*state.cgroup)
		printf("cgroup: /%s\n", state.cgroup);
	read_share(list, &state, "cpuset.cpus.effective");
	printf("cpus: %s\n", list);
	read_share(list, &state, "cpuset.mems.effective");
	printf("mems: %s\n", list);
	free(conf);
	return 0;
}

int vnode_command_slurm_conf(const struct vnode_site *site)
{
	char(*names)[VNODE_NAME_MAX];
	struct vnode_conf *conf;
	struct errbuf err = { 0 };
	unsigned n;
	int rc = 0;

	if (vnode_conf_list(&names, &n, site->conf_dir, &err) < 0)
		return vnode_message(1, "%s", err.text);
	conf = calloc(n ? n : 1, sizeof(*conf));
	for (unsigned i = 0; conf && rc == 0 && i < n; i++)
		rc = vnode_conf_load(&conf[i], site->conf_dir, names[i], 0, &err);
	if (!conf || n == 0)
		rc = errprintf(&err, "%s",
			       conf ? "there is no vnode: vnode.d has no file" : "out of memory");
	if (rc == 0)
		vnode_slurm_print(stdout, conf, n);
	free(conf);
	free(names);
	return rc < 0 ? vnode_message(1, "%s", err.text) : 0;
}
