/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing of vnode.d/NAME.conf. Expected values are from the page vnode.d(5). */
#include "vnode/conf.h"

#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "base/textfile.h"

#define NEEDED "address = 10.77.0.2/24\nbridge = br0\ncpus = 8\nmemory = 4G\n"

static void good(void)
{
	static const char text[] = NEEDED
		"gateway = 10.77.0.1\nmac = 02:00:00:00:00:07\nmtu = 9000\nhosts = a, b.site\n"
		"mounts = /home /scratch/x\nmounts_ro = /usr\ntmpfs = /var/spool/slurmd "
		"/var/log/slurm\n"
		"devices = /dev/fuse\nmunge_key = /etc/m.key\nslurm_conf = /etc/v/slurm.conf\n"
		"stop_timeout = 5\n";
	struct vnode_conf c;
	struct errbuf err = { 0 };

	ok(vnode_conf_parse(&c, "vnode7", "f", NEEDED, strlen(NEEDED), &err) == 0,
	   "the four required keys are enough: %s", err.text);
	is(c.name, "vnode7", "the vnode has the name of its file");
	is(c.address, "10.77.0.2/24", "the address is taken with its prefix length");
	is(c.mac, "02:4e:0a:4d:00:02", "the hardware address is derived from 10.77.0.2");
	is(c.bridge, "br0", "the bridge is taken");
	is_int(c.cpus, 8, "the number of CPUs is taken");
	is_int(c.memory, 4096, "memory = 4G is kept as 4096 MiB");
	is(c.gateway, "", "by default there is no gateway");
	is(c.hosts, "", "by default all hosts may run the vnode");
	is(c.mounts, "", "by default there are no mounts");
	is(c.tmpfs, "/var/spool/slurmd", "slurmd's spool directory is a tmpfs by default");
	is(c.munge_key, "/etc/munge/munge.key", "the default of munge_key is Debian's path");
	is_int(c.mtu, 0, "the default of mtu is the kernel's, kept as 0");
	is_int(c.stop_timeout, 20, "the default of stop_timeout is 20 s");
	ok(vnode_conf_parse(&c, "v-7", "f", text, sizeof(text) - 1, &err) == 0,
	   "a file with every key is accepted: %s", err.text);
	is(c.hosts, "a b.site", "a list of two hosts is taken");
	is(c.mounts, "/home /scratch/x", "a list of two mounts is taken");
	is(c.mac, "02:00:00:00:00:07", "a hardware address in the file is kept");
	is_int(c.mtu, 9000, "an MTU of 9000 is taken");
	ok(vnode_allows_host(&c, "a") && vnode_allows_host(&c, "a.site") &&
		   vnode_allows_host(&c, "b"),
	   "host names are compared up to the first dot");
	ok(!vnode_allows_host(&c, "c") && !vnode_allows_host(&c, "ab"),
	   "hosts that the file does not name are not allowed");
}

static void refused(void)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ "", "f: address is missing" },
		{ "address = 10.77.0.2\n", "f:1: address: \"10.77.0.2\"" },
		{ "address = 10.77.0.2/0\n", "f:1: address: " },
		{ "address = 10.77.0.2/32\n", "f:1: address: " },
		{ "address = 10.77.0.256/24\n", "f:1: address: " },
		{ "address = fd00::2/64\n", "f:1: address: " },
		{ "bridge = -br0\n", "f:1: bridge: " },
		{ "bridge = a b\n", "f:1: bridge: " },
		{ "bridge = abcdefghijklmnop\n", "f:1: bridge: " },
		{ "cpus = 0\n", "f:1: cpus: " },
		{ "memory = 127M\n", "f:1: memory: " },
		{ "memory = 17T\n", "f:1: memory: " },
		{ "mac = 01:00:00:00:00:07\n", "f:1: mac: " },
		{ "mac = 02:00:00:00:00\n", "f:1: mac: " },
		{ "mtu = 100\n", "f:1: mtu: " },
		{ "mounts = home\n", "f:1: mounts: " },
		{ "mounts = /\n", "f:1: mounts: " },
		{ "mounts = /a/../b\n", "f:1: mounts: " },
		{ "mounts = /run/x\n", "f:1: mounts: " },
		{ "tmpfs = /dev/shm\n", "f:1: tmpfs: " },
		{ "devices = /etc/passwd\n", "f:1: devices: " },
		{ "devices = /dev/../etc/passwd\n", "f:1: devices: " },
		{ "hosts = a;b\n", "f:1: hosts: " },
		{ "mount = /home\n", "f:1: \"mount\": unknown key, did you mean \"mounts\"?" },
		{ "cpus = 1\ncpus = 2\n",
		  "f:2: cpus: given a second time: the first is at line 1" },
		{ "cpus\n", "f:1: \"cpus\": expected \"key = value\"" },
	};
	static const char *const name[] = { "",	  "7v",	     "Vnode",	      "vnode/7",
					    "..", "vnode.7", "vnode123456789" };
	struct vnode_conf c = { .cpus = 99 };
	struct errbuf err;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		errclear(&err);
		ok(vnode_conf_parse(&c, "v", "f", row[i].text, strlen(row[i].text), &err) < 0 &&
			   strncmp(err.text, row[i].want, strlen(row[i].want)) == 0,
		   "the file is refused with \"%s\"", row[i].want);
		if (strncmp(err.text, row[i].want, strlen(row[i].want)) != 0)
			diag("%s", err.text);
	}
	is_int(c.cpus, 99, "a refused file changes nothing");
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		ok(vnode_conf_parse(&c, name[i], "f", NEEDED, strlen(NEEDED), &err) < 0,
		   "name \"%s\" is refused", name[i]);
}

static void files(void)
{
	const char *dir = scratch_make();
	char(*names)[VNODE_NAME_MAX];
	struct vnode_conf c;
	struct errbuf err = { 0 };
	unsigned n;

	scratch_file("vnode10.conf", NEEDED);
	scratch_file("vnode9.conf", NEEDED);
	scratch_file("vnode8.conf.rpmsave", NEEDED);
	scratch_file("README", "");
	ok(vnode_conf_list(&names, &n, dir, &err) == 0, "the vnodes of a directory are listed");
	is_int(n, 2, "only files named NAME.conf are listed");
	if (n == 2) {
		is(names[0], "vnode9", "vnode9 is listed before vnode10");
		is(names[1], "vnode10", "vnode10 is listed after vnode9");
	}
	free(names);
	ok(vnode_conf_load(&c, dir, "vnode9", getuid(), &err) == 0,
	   "the file of a vnode is loaded: %s", err.text);
	ok(vnode_conf_load(&c, dir, "vnode8", getuid(), &err) < 0,
	   "a vnode without a file is refused");
	ok(strstr(err.text, "there is no vnode vnode8") != NULL,
	   "the message names the vnode without a file");
	ok(vnode_conf_load(&c, dir, "../vnode9", getuid(), &err) < 0,
	   "a path in place of a vnode's name is refused");
	names = NULL;
	ok(vnode_conf_list(&names, &n, "/nonexistent/vnode.d", &err) == 0 && n == 0,
	   "a missing directory has no vnodes");
	free(names);
}

/* Check that vnode.d(5) has each key, with its default or "Required". */
static void page(void)
{
	const char *source = getenv("NODEOS_SOURCE");
	const struct vnode_key *key;
	char path[512], item[64], want[128], *text;
	struct errbuf err = { 0 };
	size_t len;

	snprintf(path, sizeof(path), "%s/doc/vnode.d.5", source ? source : ".");
	if (textfile_read(&text, &len, path, 1 << 20, &err) < 0)
		bail("%s", err.text);
	for (unsigned i = 0; (key = vnode_key_at(i)); i++) {
		const char *at, *end;

		snprintf(item, sizeof(item), "\n.It Ic %s\n", key->name);
		snprintf(want, sizeof(want), "Default:\n.Cm %s .\n", key->otherwise);
		at = strstr(text, item);
		if (!ok(at != NULL, "vnode.d(5) has the key %s", key->name))
			continue;
		end = strstr(at + 1, "\n.It Ic ");
		at = strstr(at, key->otherwise ? want : "\nRequired.\n");
		ok(at && (!end || at < end), "vnode.d(5) has the right default of %s", key->name);
	}
	free(text);
}

int main(void)
{
	good();
	refused();
	files();
	page();
	return tap_done();
}
