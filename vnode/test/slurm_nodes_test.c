/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of Slurm's nodes and settings. The texts are shortened output of scontrol 24.11. */
#include "vnode/slurm_nodes.h"

#include <string.h>

#include "base/test/tap.h"

#define NODE(name, addr, host)                                       \
	"NodeName=" name " CoresPerSocket=1 \n"                      \
	"   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.00\n"           \
	"   NodeAddr=" addr " NodeHostName=" host " Version=24.11\n" \
	"   State=IDLE ThreadsPerCore=1 \n   Reason=NodeHostName=hostA NodeAddr=hostA\n\n"

static const char names[2][VNODE_NAME_MAX] = { "vnode7", "vnode8" };

static void check_nodes(void)
{
	static const struct {
		const char *nodes, *want, *what;
	} row[] = {
		{ NODE("vnode7", "10.77.0.2", "vnode7") NODE("vnode8", "10.77.0.3", "vnode8"), NULL,
		  "a cluster that has only vnodes is accepted" },
		{ NODE("vnode7", "10.77.0.2", "vnode7") NODE("hostB", "hostB", "hostB"), NULL,
		  "the node of another host is accepted" },
		{ NODE("vnode7", "10.77.0.2", "vnode7") NODE("hostA2", "hostA2", "hostA2"), NULL,
		  "a node whose name begins with the host's name is accepted" },
		{ NODE("vnode7", "10.77.0.2", "vnode7") NODE("hostA", "hostA", "hostA"),
		  "slurm.conf has another node on the CPUs of this host: hostA;",
		  "the host's own node is refused" },
		{ NODE("hostA", "hostA", "hostA") NODE("vnode7", "10.77.0.2", "vnode7"),
		  "slurm.conf has another node on the CPUs of this host: hostA;",
		  "the host's own node is refused before the vnode, too" },
		{ NODE("n12", "10.0.0.9", "hostA.site") NODE("vnode7", "10.77.0.2", "vnode7"),
		  "slurm.conf has another node on the CPUs of this host: n12;",
		  "a node with the host's NodeHostName is refused" },
		{ NODE("n12", "hostA.site", "n12") NODE("vnode7", "10.77.0.2", "vnode7"),
		  "slurm.conf has another node on the CPUs of this host: n12;",
		  "a node with the host's NodeAddr is refused" },
		{ NODE("vnode8", "10.77.0.3", "vnode8"), "slurm.conf has no node vnode7",
		  "a vnode that Slurm does not know is refused" },
		{ "", "slurm.conf has no node vnode7", "a cluster without nodes is refused" },
		{ NODE("vnode7", "10.77.0.22", "vnode7"),
		  "slurm.conf: node vnode7 has the address 10.77.0.22, but vnode.d/vnode7.conf has "
		  "10.77.0.2",
		  "an address that differs from vnode.d is refused" },
		{ NODE("vnode7", "vnode7", "vnode7"),
		  "slurm.conf: node vnode7 has the address vnode7, but vnode.d/vnode7.conf has "
		  "10.77.0.2",
		  "a NodeAddr that is a name is refused" },
	};
	struct vnode_conf c = { .name = "vnode7", .address = "10.77.0.2/24" };
	struct errbuf err;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int rc;

		errclear(&err);
		rc = vnode_slurm_check(&c, row[i].nodes, "hostA.site", names, 2, &err);
		ok(row[i].want ? rc < 0 && strncmp(err.text, row[i].want, strlen(row[i].want)) == 0
			       : rc == 0,
		   "%s", row[i].what);
		if (*err.text)
			diag("%s", err.text);
	}
}

static void check_config(void)
{
	struct errbuf err = { 0 };

	ok(vnode_slurm_check_config("JobAcctGatherType       = (null)\n"
				    "ProctrackType           = proctrack/linuxproc\n",
				    &err) == 0,
	   "the settings of a cluster of vnodes are accepted: %s", err.text);
	ok(vnode_slurm_check_config("JobAcctGatherType = jobacct_gather/none\n"
				    "ProctrackType = proctrack/cgroup\n",
				    &err) < 0 &&
		   strstr(err.text, "ProctrackType = proctrack/cgroup"),
	   "proctrack/cgroup is refused");
	ok(vnode_slurm_check_config("ProctrackType = proctrack/linuxproc\n"
				    "JobAcctGatherType = jobacct_gather/cgroup\n",
				    &err) < 0,
	   "jobacct_gather/cgroup is refused");
}

static void check_print(void)
{
	static const struct vnode_conf c[] = {
		{ .name = "vnode7", .address = "10.77.0.2/24", .cpus = 8, .memory = 4096 },
		{ .name = "vnode8", .address = "10.77.0.3/24", .cpus = 4, .memory = 512 },
	};
	char text[2048] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	vnode_slurm_print(f, c, 2);
	fclose(f);
	ok(strstr(text, "\nNodeName=vnode7 NodeAddr=10.77.0.2 CPUs=8 RealMemory=4096 "
			"State=UNKNOWN\nNodeName=vnode8 NodeAddr=10.77.0.3 CPUs=4 RealMemory=512 "),
	   "slurm-conf prints a line for each vnode");
	ok(strstr(text, "\nProctrackType=proctrack/linuxproc\n") &&
		   strstr(text, "\nSlurmdParameters=config_overrides\n"),
	   "slurm-conf prints the settings of slurm.conf");
}

int main(void)
{
	check_nodes();
	check_config();
	check_print();
	return tap_done();
}
