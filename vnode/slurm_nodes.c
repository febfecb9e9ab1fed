/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/slurm_nodes.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "host/slurm_conf.h"

#define VALUE_MAX 256

/* Settings of slurm.conf that a vnode needs, since its slurmd makes no cgroups. */
static const struct setting {
	const char *key, *value, *why;
} settings[] = {
	{ "ProctrackType", "proctrack/linuxproc", "a vnode has no cgroup for each job" },
	{ "JobAcctGatherType", "jobacct_gather/none", "a vnode has no cgroup for each job" },
};

/* The fields of one Slurm node that the check needs. */
struct slurm_node {
	char name[VALUE_MAX], address[VALUE_MAX], host[VALUE_MAX];
};

/* Copy the value of the word "KEY=VALUE" in the record from AT to END; "" if there is none. */
static void read_node_value(char out[VALUE_MAX], const char *at, const char *end, const char *key)
{
	size_t len = strlen(key);

	out[0] = '\0';
	for (const char *p = at; p + len < end; p++) {
		if ((p > at && p[-1] != ' ' && p[-1] != '\n') || memcmp(p, key, len) != 0 ||
		    p[len] != '=')
			continue;
		p += len + 1;
		snprintf(out, VALUE_MAX, "%.*s", (int)strcspn(p, " \n"), p);
		return;
	}
}

/* Read the next record from *AT on, and set *AT to its end. Returns false after the last one. */
static bool next_slurm_node(struct slurm_node *out, const char **at)
{
	const char *from = strstr(*at, "NodeName="), *end;

	if (!from)
		return false;
	/* a line of another node begins with its name; lines of the same node are indented */
	end = strstr(from, "\nNodeName=");
	end = end ? end + 1 : from + strlen(from);
	read_node_value(out->name, from, end, "NodeName");
	read_node_value(out->address, from, end, "NodeAddr");
	read_node_value(out->host, from, end, "NodeHostName");
	*at = end;
	return true;
}

/* Are the host names A and B equal up to their first dots? */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n == strcspn(b, ".") && n > 0 && strncasecmp(a, b, n) == 0;
}

static bool is_vnode(const char *name, const char (*names)[VNODE_NAME_MAX], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int vnode_slurm_check(const struct vnode_conf *c, const char *nodes, const char *host,
		      const char (*names)[VNODE_NAME_MAX], unsigned n, struct errbuf *err)
{
	size_t len = strcspn(c->address, "/");
	struct slurm_node node;
	bool found = false;

	for (const char *at = nodes; next_slurm_node(&node, &at);) {
		if (strcmp(node.name, c->name) == 0) {
			found = true;
			if (strlen(node.address) != len || memcmp(node.address, c->address, len))
				return errprintf(err,
						 "slurm.conf: node %s has the address %.64s, but "
						 "vnode.d/%s.conf has %.*s",
						 c->name, node.address, c->name, (int)len,
						 c->address);
		} else if (!is_vnode(node.name, names, n) &&
			   (same_host(node.name, host) || same_host(node.host, host) ||
			    same_host(node.address, host))) {
			return errprintf(err,
					 "slurm.conf has another node on the CPUs of this host: "
					 "%.64s; remove that node: Slurm would give the CPUs to "
					 "jobs twice",
					 node.name);
		}
	}
	if (!found)
		return errprintf(
			err,
			"slurm.conf has no node %s; nodeosctl vnode slurm-conf prints its line",
			c->name);
	return 0;
}

int vnode_slurm_check_config(const char *config, struct errbuf *err)
{
	char value[VALUE_MAX];

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const struct setting *s = &settings[i];

		slurm_value(config, s->key, value, sizeof(value));
		/* newer releases of Slurm print "(null)" in place of ".../none" */
		if (strcmp(value, s->value) != 0 &&
		    !(strstr(s->value, "/none") && strcmp(value, "(null)") == 0))
			return errprintf(err,
					 "slurm.conf: %s = %.64s, but %s; set it to %s (nodeosctl "
					 "vnode slurm-conf prints all settings)",
					 s->key, value, s->why, s->value);
	}
	return 0;
}

void vnode_slurm_print(FILE *f, const struct vnode_conf *c, unsigned n)
{
	fputs("# slurm.conf\n", f);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		fprintf(f, "%s=%s\n", settings[i].key, settings[i].value);
	fputs("TaskPlugin=task/none\n"
	      "SlurmdParameters=config_overrides\n"
	      "SlurmdPidFile=/run/slurmd.pid\n"
	      "SlurmdSpoolDir=/var/spool/slurmd\n",
	      f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "NodeName=%s NodeAddr=%.*s CPUs=%u RealMemory=%u State=UNKNOWN\n",
			c[i].name, (int)strcspn(c[i].address, "/"), c[i].address, c[i].cpus,
			c[i].memory);
	fputs("# cgroup.conf\nCgroupPlugin=disabled\n", f);
}
