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

/* Run "nodeosctl check ARGS" in a child; its exit status, its output in out and errors. */
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

static void json(void)
{
	struct json_object *root, *list, *one, *value;

	is_int(run("--json", "coupled.json", "nothing.json"), 1,
	       "--json, one good and one missing");
	root = json_tokener_parse(out);
	if (!ok(json_object_object_get_ex(root, "manifests", &list) &&
			json_object_array_length(list) == 2,
		"two manifests"))
		return;
	one = json_object_array_get_idx(list, 0);
	ok(json_object_object_get_ex(one, "ok", &value) && json_object_get_boolean(value),
	   "the first is ok");
	ok(json_object_object_get_ex(one, "containers", &value) &&
		   json_object_array_length(value) == 2,
	   "with two containers");
	one = json_object_array_get_idx(list, 1);
	ok(json_object_object_get_ex(one, "ok", &value) && !json_object_get_boolean(value),
	   "the second is not");
	ok(json_object_object_get_ex(one, "error", &value), "and says why");
	is(errors, "nothing.json: cannot open: No such file or directory\n",
	   "as standard error does");
	json_object_put(root);
}

/* Members of the container and the names of its isolators in --json of every-key.json. */
static void accepted(void)
{
	static const char want[] =
		"name cpus smt mems policy priority quantum_ms partition dimmap oom_score_adj "
		"isolators container=accepted scheduler=accepted dimmap=accepted "
		"os/linux/oom-score-adj=accepted ";
	struct json_object *root, *one, *list, *name, *outcome;
	char got[512] = "";

	is_int(run("--json", "every-key.json", NULL), 0, "--json, every key");
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
	is(got, want, "its members and isolators");
	json_object_put(root);
}

/* A fault as "LINE:COLUMN: PATH: MESSAGE", of the members of --json. */
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

static void faults(void)
{
	is(fault("{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\n\"app\":{"
		 "\"isolators\":[{\"name\":\"container\",\"value\":{\"cpus\":0}}]}}"),
	   "2:57: app.isolators[0].value.cpus: \"0\" (allowed: a whole number from 1 to 1048576; "
	   "without \"cpus\", all that are left)",
	   "--json has the place of a bad value");
	is(fault("{\"acKind\": \"a: b\"}"),
	   "1:12: acKind: \"a: b\" (allowed: ImageManifest, PodManifest)",
	   "a value with a colon does not move it");
	is(fault("{\n1"), "2:1: : unexpected \"1\": expected a key in double quotes",
	   "a text that is no JSON");
	is(fault("#!/bin/sh\ntrue\n"),
	   "1:1: : a script without #NODEOS lines before its first command", "a script");
	is(fault("{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\"app\":{"
		 "\"isolators\":[{\"name\":\"container\",\"value\":{}}]}}"),
	   "", "a good manifest has no fault");
}

int main(void)
{
	const char *top = getenv("NODEOS_SOURCE");
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/etc/examples", top ? top : ".");
	if (!ok(chdir(dir) == 0, "in %s", dir))
		return tap_done();
	faults();
	is_int(run("coupled.json", NULL, NULL), 0, "a good manifest");
	is(out, "coupled.json: ok: 2 containers: sim cpus=12 mems=3, vda cpus=2 mems=1\n",
	   "its line");
	is(errors, "", "no error");
	is_int(run("figure3.json", "argo.json", NULL), 0, "two");
	is(out,
	   "figure3.json: ok: 1 container: mycontainer cpus=48 mems=1 policy=hpc\n"
	   "argo.json: ok: 1 container: argo-example cpus=4 mems=1 policy=other, "
	   "ignored: perfwrapper, power, resource/memory\n",
	   "two lines");
	is_int(run("--request", "rest.json", NULL), 0, "--request");
	is(out, "nodeos 1;c=sim smt=1;c=vda cpus=2 mems=1073741824b policy=batch;\n",
	   "the request alone");
	is_int(run("../nodeos.conf", "small.json", NULL), 1, "a bad one and a good one");
	ok(strncmp(errors, "../nodeos.conf:1:1: unexpected \"#\"", 34) == 0,
	   "the bad one's line: %s", strtok(errors, "\n"));
	is(out, "small.json: ok: 1 container: small cpus=2\n", "the good one's line");
	is_int(run("outofcore.json", NULL, NULL), 0, "one with a buffer");
	is(out,
	   "outofcore.json: ok: 1 container: outofcore cpus=4 mems=1 dimmap=4294967296 "
	   "dimmap_source=/dev/nvme0n1 dimmap_fill=65536\n",
	   "its line");
	is_int(run("--json", "outofcore.json", NULL), 0, "as JSON");
	ok(strstr(out, "\"size_bytes\": 4294967296") &&
		   strstr(out, "\"source\": \"/dev/nvme0n1\"") &&
		   strstr(out, "\"fill_bytes\": 65536") && strstr(out, "\"access\": \"rw\"") &&
		   strstr(out, "\"name\": \"dimmap\""),
	   "the buffer and its isolator: %s", out);
	is_int(run("every-key.json", "rest.json", NULL), 0, "every key, and what is left");
	is(out,
	   "every-key.json: ok: 1 container: every-key cpus=2 smt=2 mems=1 policy=hpc prio=2 "
	   "quantum=20 partition=root dimmap=1073741824 dimmap_source=/dev/nvme0n1 "
	   "dimmap_policy=sieve dimmap_fill=65536 dimmap_access=ro oom=500\n"
	   "rest.json: ok: 2 containers: sim cpus=rest smt=1, vda cpus=2 mems=1073741824b "
	   "policy=batch\n",
	   "their lines");
	accepted();
	json();
	is_int(run("--help", NULL, NULL), 0, "--help");
	ok(strncmp(out, "Usage: nodeosctl check", 22) == 0 && !errors[0], "on standard output");
	is_int(run(NULL, NULL, NULL), 2, "no manifest");
	is(errors, "nodeosctl: check: which MANIFEST? (see nodeosctl check --help)\n",
	   "one line says what is missing");
	is(out, "", "and nothing on standard output");
	is_int(run("--json", "--request", "small.json"), 2, "two outputs");
	is(errors,
	   "nodeosctl: check: --json, --request and --launch: expected one of them (see nodeosctl "
	   "check --help)\n",
	   "which may not both be");
	is_int(run("--frob", "small.json", NULL), 2, "an unknown option");
	is(errors,
	   "nodeosctl: check: unrecognized option '--frob'\nnodeosctl: see nodeosctl check "
	   "--help\n",
	   "named, with the command, not the whole usage");
	return tap_done();
}
