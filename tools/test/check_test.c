/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/check.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"

static char out[65536], errors[65536];

static void take(int fd, char *buf, size_t size)
{
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	n = read(fd, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	close(fd);
}

/*
 * Run "nodeosctl check A B C" in a child process. Returns its exit status. Its standard output is
 * in out, its standard error in errors.
 */
static int run(const char *a, const char *b, const char *c)
{
	char *argv[] = { (char *)(uintptr_t) "check", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
			 (char *)(uintptr_t)c, NULL };
	int fd = memfd_create("out", 0), err_fd = memfd_create("errors", 0);
	int argc = 1, status = -1;
	pid_t child;

	while (argv[argc])
		argc++;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(err_fd, STDERR_FILENO);
		status = tool_check(argc, argv);
		fflush(NULL);
		_exit(status);
	}
	waitpid(child, &status, 0);
	take(fd, out, sizeof(out));
	take(err_fd, errors, sizeof(errors));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_check_json(void)
{
	struct json_object *root, *list, *one, *value;

	is_int(run("--json", "coupled.json", "nothing.json"), 1,
	       "check --json: a valid and a missing manifest fail");
	root = json_tokener_parse(out);
	if (!ok(json_object_object_get_ex(root, "manifests", &list) &&
			json_object_array_length(list) == 2,
		"check --json: lists two manifests"))
		return;
	one = json_object_array_get_idx(list, 0);
	ok(json_object_object_get_ex(one, "ok", &value) && json_object_get_boolean(value),
	   "check --json: the valid manifest is ok");
	ok(json_object_object_get_ex(one, "containers", &value) &&
		   json_object_array_length(value) == 2,
	   "check --json: the valid manifest has two containers");
	one = json_object_array_get_idx(list, 1);
	ok(json_object_object_get_ex(one, "ok", &value) && !json_object_get_boolean(value),
	   "check --json: the missing manifest is not ok");
	ok(json_object_object_get_ex(one, "error", &value),
	   "check --json: the missing manifest has an error");
	is(errors, "nothing.json: cannot open: No such file or directory\n",
	   "check --json: standard error names the missing file");
	json_object_put(root);
}

/* check --json must show each member of a container, and each isolator, of every-key.json. */
static void test_check_accepted(void)
{
	static const char want[] =
		"name cpus smt cores mems mems_policy policy priority quantum_ms partition "
		"dimmap contention memory_limit_bytes block_bandwidth block_iops thp "
		"lwk oom_score_adj guest_mib isolators container=accepted scheduler=accepted "
		"dimmap=accepted "
		"contention=accepted resource/memory=accepted resource/block-bandwidth=accepted "
		"resource/block-iops=accepted thp=accepted lwk=accepted "
		"os/linux/oom-score-adj=accepted guest=accepted ";
	struct json_object *root, *one, *list, *name, *outcome;
	char got[512] = "";

	is_int(run("--json", "every-key.json", NULL), 0,
	       "check --json: a manifest with every key is valid");
	root = json_tokener_parse(out);
	json_object_object_get_ex(root, "manifests", &list);
	one = json_object_array_get_idx(list, 0);
	json_object_object_get_ex(one, "containers", &list);
	one = json_object_array_get_idx(list, 0);
	json_object_object_foreach(one, key, value)
	{
		(void)value;
		strcat(strcat(got, key), " ");
	}
	json_object_object_get_ex(one, "isolators", &list);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		one = json_object_array_get_idx(list, i);
		json_object_object_get_ex(one, "name", &name);
		json_object_object_get_ex(one, "outcome", &outcome);
		sprintf(got + strlen(got), "%s=%s ", json_object_get_string(name),
			json_object_get_string(outcome));
	}
	is(got, want, "check --json: shows all members and isolators of a manifest with every key");
	json_object_put(root);
}

/* Run check --json on TEXT. Returns the fault as "LINE:COLUMN: PATH: MESSAGE", or "" if none. */
static const char *fault(const char *text)
{
	static char got[1024];
	struct json_object *root, *list, *one, *part[4] = { NULL };
	static const char *const names[] = { "line", "column", "path", "message" };
	char path[] = "/tmp/nodeos-check-XXXXXX";
	int fd = mkstemp(path), n = 0;

	got[0] = '\0';
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return "no file";
	close(fd);
	run("--json", path, NULL);
	unlink(path);
	root = json_tokener_parse(out);
	if (json_object_object_get_ex(root, "manifests", &list)) {
		one = json_object_array_get_idx(list, 0);
		for (int i = 0; i < 4; i++)
			n += json_object_object_get_ex(one, names[i], &part[i]);
	}
	if (n == 4)
		snprintf(got, sizeof(got), "%d:%d: %s: %s", json_object_get_int(part[0]),
			 json_object_get_int(part[1]), json_object_get_string(part[2]),
			 json_object_get_string(part[3]));
	json_object_put(root);
	return got;
}

static void test_faults(void)
{
	is(fault("{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\n\"app\":{"
		 "\"isolators\":[{\"name\":\"container\",\"value\":{\"cpus\":0}}]}}"),
	   "2:57: app.isolators[0].value.cpus: \"0\" (allowed: a whole number from 1 to 1048576; "
	   "without \"cpus\", all that are left)",
	   "check --json: gives the place of an invalid value");
	is(fault("{\"acKind\": \"a: b\"}"),
	   "1:12: acKind: \"a: b\" (allowed: ImageManifest, PodManifest)",
	   "check --json: gives the place of an invalid value that has a colon");
	is(fault("{\n1"), "2:1: : unexpected \"1\": expected a key in double quotes",
	   "check --json: gives the place of a syntax error");
	is(fault("#!/bin/sh\ntrue\n"),
	   "1:1: : a script without #NODEOS lines before its first command",
	   "check --json: refuses a script without #NODEOS lines");
	is(fault("{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\"app\":{"
		 "\"isolators\":[{\"name\":\"container\",\"value\":{}}]}}"),
	   "", "check --json: accepts a valid manifest");
}

int main(void)
{
	const char *top = getenv("NODEOS_SOURCE");
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/etc/examples", top ? top : ".");
	if (!ok(chdir(dir) == 0, "the test can change to directory %s", dir))
		return tap_done();
	test_faults();
	is_int(run("coupled.json", NULL, NULL), 0, "check: accepts a valid manifest");
	is(out, "coupled.json: ok: 2 containers: sim cpus=12 mems=3, vda cpus=2 mems=1\n",
	   "check: prints a line for a valid manifest");
	is(errors, "", "check: prints no error for a valid manifest");
	is_int(run("figure3.json", "argo.json", NULL), 0, "check: accepts two valid manifests");
	is(out,
	   "figure3.json: ok: 1 container: mycontainer cpus=48 mems=1 policy=hpc\n"
	   "argo.json: ok: 1 container: argo-example cpus=4 mems=1 policy=other "
	   "memory=4294967296, ignored: perfwrapper, power\n",
	   "check: prints a line for each of two manifests");
	is_int(run("--request", "rest.json", NULL), 0, "check --request: accepts a valid manifest");
	is(out, "nodeos 1;c=sim smt=1;c=vda cpus=2 mems=1073741824b policy=batch;\n",
	   "check --request: prints the request alone");
	is_int(run("../nodeos.conf", "small.json", NULL), 1,
	       "check: an invalid and a valid manifest fail");
	ok(strncmp(errors, "../nodeos.conf:1:1: unexpected \"#\"", 34) == 0,
	   "check: the error names the invalid manifest and the place: %s", strtok(errors, "\n"));
	is(out, "small.json: ok: 1 container: small cpus=2\n",
	   "check: prints the line of the valid manifest");
	is_int(run("outofcore.json", NULL, NULL), 0, "check: accepts a manifest with a buffer");
	is(out,
	   "outofcore.json: ok: 1 container: outofcore cpus=4 mems=1 dimmap=4294967296 "
	   "dimmap_source=/dev/nvme0n1 dimmap_fill=65536\n",
	   "check: prints the line of a manifest with a buffer");
	is_int(run("--json", "outofcore.json", NULL), 0,
	       "check --json: accepts a manifest with a buffer");
	ok(strstr(out, "\"size_bytes\": 4294967296") &&
		   strstr(out, "\"source\": \"/dev/nvme0n1\"") &&
		   strstr(out, "\"fill_bytes\": 65536") && strstr(out, "\"access\": \"rw\"") &&
		   strstr(out, "\"name\": \"dimmap\""),
	   "check --json: shows the buffer and its isolator: %s", out);
	is_int(run("every-key.json", "rest.json", NULL), 0,
	       "check: accepts manifests with every key, and with all CPUs left over");
	is(out,
	   "every-key.json: ok: 1 container: every-key cpus=2 smt=2 mems=1 policy=hpc prio=2 "
	   "quantum=20 partition=root dimmap=1073741824 dimmap_source=/dev/nvme0n1 "
	   "dimmap_policy=sieve dimmap_fill=65536 dimmap_access=ro oom=500 "
	   "guest=4096 contention=observe placement=spread:l3 memory=2147483648 "
	   "memory_request=1000000000 "
	   "bandwidth=100000000 iops=2000 thp=never mems_policy=weighted-interleave cores=any "
	   "lwk=2147483648 lwk_page=1G lwk_loose=yes\n"
	   "rest.json: ok: 2 containers: sim cpus=rest smt=1, vda cpus=2 mems=1073741824b "
	   "policy=batch\n",
	   "check: prints the lines of manifests with every key, and with all CPUs left over");
	test_check_accepted();
	test_check_json();
	is_int(run("--help", NULL, NULL), 0, "check --help: succeeds");
	ok(strncmp(out, "Usage: nodeosctl check", 22) == 0 && !errors[0],
	   "check --help: prints on standard output only");
	is_int(run(NULL, NULL, NULL), 2, "check: a call without a manifest is wrong usage");
	is(errors, "nodeosctl: check: no MANIFEST given (see nodeosctl check --help)\n",
	   "check: the message names the missing argument");
	is(out, "", "check: prints nothing on standard output without a manifest");
	is_int(run("--json", "--request", "small.json"), 2,
	       "check: --json with --request is refused");
	is(errors,
	   "nodeosctl: check: --json, --request and --launch: expected one of them (see nodeosctl "
	   "check --help)\n",
	   "check: the message names the options that exclude each other");
	is_int(run("--frob", "small.json", NULL), 2, "check: an unknown option is wrong usage");
	is(errors,
	   "nodeosctl: check: unrecognized option '--frob'\nnodeosctl: see nodeosctl check "
	   "--help\n",
	   "check: the message names the unknown option and the command, without the usage");
	return tap_done();
}
