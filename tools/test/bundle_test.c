/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/bundle.h"

#include <errno.h>
#include <glob.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/subprocess.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "tools/bundle_node.h"

static char output[256], tmp[256];

static const char *in_scratch(const char *name)
{
	static char path[4][256];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", scratch, name);
	return path[next];
}

static struct bundle *begin(void)
{
	struct errbuf err = { 0 };
	struct bundle *b = NULL;

	if (bundle_begin(&b, output, tmp, "name", &err) < 0)
		bail("%s", err.text);
	return b;
}

/* What a program prints. */
static char *printed(const char *a, const char *b, const char *c, const char *d)
{
	const char *argv[] = { a, b, c, d, NULL };
	struct subprocess h = { .argv = argv,
				.uid = (uid_t)-1,
				.extra_fd = -1,
				.join_stderr = true,
				.timeout = 60,
				.output_max = 16u << 20 };
	struct errbuf err;
	char *text = NULL;

	if (subprocess_run(&h, &text, &err) < 0)
		bail("%s", err.text);
	return text;
}

/* One file of the archive. */
static char *held(const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "name/%s", file);
	return printed("/bin/tar", "-xzOf", output, path);
}

static void holds(const char *file, const char *want, const char *what)
{
	char *text = held(file);

	is(text, want, "%s", what);
	free(text);
}

static bool manifest_has(const char *line)
{
	char *text = held("MANIFEST");
	bool has = strstr(text, line);

	if (!has)
		diag("%s", text);
	free(text);
	return has;
}

static bool nothing_left(void)
{
	glob_t g = { 0 };
	bool none = glob(in_scratch("tmp/*"), GLOB_PERIOD, NULL, &g) != 0 || g.gl_pathc <= 2; /* .
												 and
												 ..
											       */

	globfree(&g);
	return none && access(output, F_OK) < 0;
}

static void refuses(const char *at, const char *below, const char *words, const char *what)
{
	struct errbuf err = { 0 };
	struct bundle *b = NULL;

	is_int(bundle_begin(&b, at, below, "name", &err), -1, "%s", what);
	ok(strstr(err.text, words), "says so: %s", err.text);
}

static void no_output(void)
{
	char *text;

	scratch_file("there", "mine");
	refuses(in_scratch("there"), tmp, "there: File exists", "an archive that is there");
	text = printed("/bin/cat", in_scratch("there"), NULL, NULL);
	is(text, "mine", "is left as it was");
	free(text);
	if (symlink(in_scratch("elsewhere"), in_scratch("link")) < 0)
		bail("symlink");
	refuses(in_scratch("link"), tmp, "link: File exists", "a symbolic link to nothing");
	ok(access(in_scratch("elsewhere"), F_OK) < 0, "is not followed");
	refuses(in_scratch("none/a.tar.gz"), tmp, "none: No such file",
		"a directory that is not there");
	refuses("/proc/a.tar.gz", tmp, "/proc/a.tar.gz: ", "one in which nobody may write");
	refuses(output, in_scratch("no-tmp"), "no-tmp: No such file", "no directory to gather in");
	ok(nothing_left(), "leaves no archive");
}

static void whole(void)
{
	static const char *const fails[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL };
	static const char *const none[] = { "no-such-program", "x", NULL };
	static const char *const mute[] = { "false", NULL };
	static const char *const slow[] = { "sleep", "30", NULL };
	/* leaves one that writes for ever; "tmp" is where the bundle's directory is */
	const char *const leaves[] = { "sh", "-c",
				       "cd \"$0\"/nodeos-bundle.*; for i in $(seq 2000); do mkdir "
				       "-p \"$PWD/more\"; done 2>/dev/null & sleep 30",
				       tmp, NULL };
	struct bundle_sum sum = { 0 };
	struct errbuf err = { 0 };
	struct bundle *b;
	struct stat st;
	char *list;

	umask(0);
	b = begin();
	umask(022);
	is_int(bundle_text(b, "a.txt", "by hand", "A=1\nAuthAltParameters=xyz\n", BUNDLE_MASK,
			   &err),
	       0, "a masked text");
	is_int(bundle_text(b, "d/e/b.txt", "by hand", "Pass=1\n", 0, &err), 0,
	       "one that is not, in directories");
	is_int(bundle_text(b, "a.txt", "again", "B=2\n", 0, &err), 0,
	       "a file that is there already");
	is_int(bundle_file(b, "etc", "/no/such/file", 0, &err), 0,
	       "a file that is not there stops nothing");
	is_int(bundle_file(b, "fifo", in_scratch("fifo"), 0, &err), 0, "nor does a pipe");
	is_int(bundle_file(b, "dir", "/", 0, &err), 0, "nor a directory");
	is_int(bundle_program(b, "fails.txt", fails, 20, 0, &err), 0, "a program that fails");
	is_int(bundle_program(b, "out.txt", fails, 20, BUNDLE_STDOUT, &err), 0,
	       "without its standard error");
	is_int(bundle_program(b, "none.txt", none, 20, 0, &err), 0, "one that is not there");
	is_int(bundle_program(b, "mute.txt", mute, 20, 0, &err), 0, "one that says nothing");
	is_int(bundle_program(b, "slow.txt", slow, 1, 0, &err), 0, "one that does not end");
	is_int(bundle_program(b, "leaves.txt", leaves, 1, 0, &err), 0,
	       "and what that has started neither");
	is_int(bundle_end(b, "About.\n", &sum, &err), 0, "the archive: %s", err.text);
	is_int(sum.held, 5, "a, b, fails, out, MANIFEST");
	is_int(sum.missing, 7, "etc, fifo, dir, none, mute, slow, leaves");
	is_int(stat(output, &st), 0, "it is there");
	is_int(st.st_mode & 07777, 0600, "for nobody else");
	is_int(st.st_size, sum.bytes, "as large as told");
	bundle_free(b);
	is_int(access(output, F_OK), 0, "it stays");
	holds("a.txt", "A=1\nAuthAltParameters=(masked)\n", "what was masked is");
	holds("d/e/b.txt", "Pass=1\n", "what was not is not");
	holds("fails.txt", "out\nerr\n", "both outputs");
	holds("out.txt", "out\n", "one of them");
	ok(manifest_has("About.\n"), "MANIFEST begins with what it was told");
	ok(manifest_has("a.txt  31  by hand\n") && !manifest_has("again"), "it has what is held");
	ok(manifest_has("fails.txt  8  sh -c echo out; echo err >&2; exit 3 (exit status 3)\n"),
	   "and how a program ended");
	ok(manifest_has("etc  /no/such/file: No such file or directory\n"), "and what is not");
	ok(manifest_has("fifo  ") && manifest_has("dir  /: not a regular file\n"),
	   "that was no file");
	ok(manifest_has("none.txt  no-such-program x: /usr/bin/no-such-program: not installed\n"),
	   "a program that is not installed");
	ok(manifest_has("mute.txt  false (exit status 1): it printed nothing\n"),
	   "one that printed nothing");
	ok(manifest_has("slow.txt  sleep 30: "), "one that was killed");
	list = printed("/bin/tar", "-tvzf", output, NULL);
	ok(strstr(list, "drwx------") && strstr(list, "-rw-------") && !strstr(list, "rw-r--"),
	   "what is in it is for nobody else, too: %s", list);
	free(list);
	unlink(output);
	ok(nothing_left(), "the directory is gone");
}

static void long_files(void)
{
	size_t size = BUNDLE_FILE_MAX + 5000;
	char *text = malloc(size + 1), *got;
	struct bundle *b = begin();
	struct bundle_sum sum;
	struct errbuf err = { 0 };

	for (size_t i = 0; i < size; i++)
		text[i] = i % 100 == 99 ? '\n' : "0123456789"[i / 100 % 10];
	text[size] = '\0';
	memcpy(text, "first", 5);
	memcpy(text + size - 5, "last\n", 5);
	scratch_file("long", text);
	is_int(bundle_file(b, "head", in_scratch("long"), 0, &err), 0, "a long file");
	is_int(bundle_file(b, "tail", in_scratch("long"), BUNDLE_TAIL, &err), 0, "and its end");
	is_int(bundle_end(b, "", &sum, &err), 0, "are held: %s", err.text);
	got = held("head");
	ok(strlen(got) == BUNDLE_FILE_MAX && strncmp(got, text, BUNDLE_FILE_MAX) == 0, "its start");
	free(got);
	got = held("tail");
	ok(strlen(got) < BUNDLE_FILE_MAX && strlen(got) > BUNDLE_FILE_MAX - 200 && *got == '\n' &&
		   strcmp(got, text + size - strlen(got)) == 0,
	   "its end, in whole lines");
	free(got);
	ok(manifest_has("long (its start)\n") && manifest_has("long (its end)\n"),
	   "MANIFEST says so");
	bundle_free(b);
	unlink(output);
	free(text);
}

static void given_up(void)
{
	struct errbuf err = { 0 };
	struct bundle *b = begin();

	bundle_text(b, "a", "b", "c", 0, &err);
	bundle_free(b);
	ok(nothing_left(), "one that is given up leaves nothing");
	b = begin();
	unlink(output);
	scratch_file("a.tar.gz", "another's");
	bundle_free(b);
	is_int(access(output, F_OK), 0, "a file that took the archive's place stays");
	unlink(output);
}

/* One that runs out of time leaves somebody who goes on to write where tar reads. */
static void left_behind(void)
{
	static const char *const slow[] = {
		"/bin/sh", "-c",
		"cd \"$WHERE\"/*/* && (while :; do echo more >>growing; done) & sleep 60", NULL
	};
	struct errbuf err = { 0 };
	struct bundle_sum sum;
	struct bundle *b = begin();

	setenv("WHERE", tmp, 1);
	is_int(bundle_program(b, "slow.txt", slow, 1, 0, &err), 0,
	       "a program that runs out of time, and what it has started");
	ok(access("/proc/thread-self/children", F_OK) == 0 && waitpid(-1, NULL, WNOHANG) < 0 &&
		   errno == ECHILD,
	   "nobody of them is left");
	is_int(bundle_end(b, "", &sum, &err), 0, "the archive is made: %s", err.text);
	bundle_free(b);
	unlink(output);
	ok(nothing_left(), "nothing else is left");
}

/* Bytes that gzip cannot make smaller. */
static char *noise(size_t size)
{
	char *text = malloc(size + 1);
	uint64_t x = 88172645463325252u;

	for (size_t i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		text[i] = (char)(33 + x % 90);
	}
	text[size] = '\0';
	return text;
}

static void full_disk(void)
{
	const char *small = in_scratch("small");
	struct errbuf err = { 0 };
	struct bundle *b = NULL;
	struct bundle_sum sum;
	char *text, at[256], full[256];
	FILE *fill;

	scratch_dir("small");
	if (mount("tmpfs", small, "tmpfs", 0, "size=64k") < 0) {
		skip(11, "a small tmpfs cannot be mounted: %s", strerror(errno));
		return;
	}
	text = noise(300000);
	snprintf(at, sizeof(at), "%s/a.tar.gz", small);
	is_int(bundle_begin(&b, at, tmp, "name", &err), 0, "an archive on a small disk");
	bundle_text(b, "noise", "by hand", text, 0, &err);
	is_int(bundle_end(b, "", &sum, &err), -1, "does not fit");
	ok(strstr(err.text, at) && strstr(err.text, "No space left on device"), "which is told: %s",
	   err.text);
	bundle_free(b);
	ok(access(at, F_OK) < 0 && nothing_left(), "nothing is left of it");
	snprintf(full, sizeof(full), "%s/fill", small);
	fill = fopen(full, "w");
	setvbuf(fill, NULL, _IONBF, 0);
	while (fputs(text, fill) >= 0)
		;
	fclose(fill);
	is_int(bundle_begin(&b, at, tmp, "name", &err), -1,
	       "where there is no room at all, nothing is gathered");
	ok(strstr(err.text, at) && strstr(err.text, "No space left on device"), "which is told: %s",
	   err.text);
	ok(access(at, F_OK) < 0 && nothing_left(), "nothing is left of it");
	unlink(full);
	is_int(bundle_begin(&b, output, small, "name", &err), 0, "a small disk to gather on");
	is_int(bundle_text(b, "noise", "by hand", text, 0, &err), -1, "does not hold it");
	ok(strstr(err.text, small) && strstr(err.text, "noise: No space left on device"),
	   "which is told: %s", err.text);
	bundle_free(b);
	ok(nothing_left() && rmdir(in_scratch("small/x")) < 0 && errno == ENOENT,
	   "nothing is left of it");
	free(text);
	umount(small);
}

static void configuration(void)
{
	struct errbuf err = { 0 };
	struct bundle_sum sum;
	struct bundle *b = begin();
	char file[300], path[300];

	scratch_dir("etc/conf.d");
	scratch_file("etc/slurm.conf", "StoragePass=one\n Include conf.d/*.conf # all\ninclude "
				       "\"../etc/loop.conf\"\nIncluded=no\n");
	scratch_file("etc/loop.conf", "include loop.conf\nLoopKey=two\n");
	scratch_file("etc/conf.d/a.conf", "A=1\n");
	scratch_file("etc/conf.d/b.conf", "B=1\ninclude /no/such/*.conf\n");
	scratch_file("etc/conf.d/c.txt", "C=1\n");
	snprintf(path, sizeof(path), "%s/etc/../etc/slurm.conf", scratch);
	is_int(bundle_config_file(b, path, 0, &err), 0, "a file that includes others");
	is_int(bundle_config_file(b, "/no/such/slurm.conf", 0, &err), 0, "one that is not there");
	is_int(bundle_end(b, "", &sum, &err), 0, "are held: %s", err.text);
	is_int(sum.held, 5, "slurm.conf, loop.conf, a.conf, b.conf, MANIFEST");
	snprintf(file, sizeof(file), "files%s/etc/slurm.conf", scratch);
	holds(file,
	      "StoragePass=(masked)\n Include conf.d/*.conf # all\ninclude "
	      "\"../etc/loop.conf\"\nIncluded=no\n",
	      "without its secret");
	snprintf(file, sizeof(file), "files%s/etc/loop.conf", scratch);
	holds(file, "include loop.conf\nLoopKey=(masked)\n", "and that of one that it includes");
	snprintf(file, sizeof(file), "files%s/etc/conf.d/b.conf", scratch);
	holds(file, "B=1\ninclude /no/such/*.conf\n", "relative to the file");
	bundle_free(b);
	unlink(output);
}

/* Whoever has a cgroup of his own, or lets a log grow. */
static void flood(void)
{
	static const char *const much[] = { "/bin/sh", "-c",
					    "echo first; head -c 9000000 /dev/zero | tr '\\0' x",
					    NULL };
	struct errbuf err = { 0 };
	struct bundle_sum sum;
	struct bundle *b = begin();
	char name[512], *text;

	scratch_dir("full/user.slice/user-7.slice");
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%s/full/user.slice/user-7.slice/slurm%0240u", scratch,
			 i);
		if (mkdir(name, 0700) < 0)
			bail("%s", name);
	}
	is_int(bundle_cgroups(b, in_scratch("full"), "", &err), 0, "a very large tree of cgroups");
	is_int(bundle_program(b, "logs/much.txt", much, 60, 0, &err), 0,
	       "a program that says very much");
	is_int(bundle_end(b, "", &sum, &err), 0, "are held: %s", err.text);
	text = held("cgroups.txt");
	ok(strlen(text) > BUNDLE_FILE_MAX / 2 && strlen(text) < BUNDLE_FILE_MAX + 8192,
	   "the tree as far as it fits into a file: %zu bytes", strlen(text));
	free(text);
	text = held("logs/much.txt");
	ok(strncmp(text, "first\nxxx", 9) == 0 && strlen(text) >= BUNDLE_FILE_MAX / 2,
	   "its start, and not nothing: %zu bytes", strlen(text));
	free(text);
	ok(manifest_has("(its start)") && manifest_has("answer longer than"),
	   "which the list tells");
	bundle_free(b);
	unlink(output);
}

static void node(void)
{
	struct errbuf err = { 0 };
	struct bundle_sum sum;
	struct bundle *b = begin();
	char cgroup[CGROUP_PATH_MAX];

	scratch_dir("state");
	scratch_file("state/job-77", "not a ledger entry\n");
	scratch_file("state/lock", "");
	scratch_file("state/.new", "half");
	scratch_file("state/machine.xml", "<topology/>\n");
	scratch_file("state/job-5",
		     "nodeos-ledger 1\njob 9 uid 7 inode 5\ncgroup a/job_9\nend-of-entry\n");
	scratch_dir("cgroup/system.slice/n0_slurmstepd.scope/job_9/step_0");
	scratch_dir("cgroup/system.slice/other.service/deep");
	scratch_file("cgroup/cgroup.controllers", "cpuset memory\n");
	scratch_file("cgroup/cpuset.cpus.effective", "0-3\n");
	scratch_file("cgroup/system.slice/n0_slurmstepd.scope/job_9/step_0/cpuset.cpus", "0-1\n");
	scratch_file("cgroup/system.slice/n0_slurmstepd.scope/job_9/step_0/memory.events",
		     "low 0\noom 2\n");
	scratch_file("cgroup/system.slice/n0_slurmstepd.scope/job_9/step_0/cgroup.procs",
		     "12345\n");
	scratch_file("cgroup/system.slice/other.service/deep/cpuset.cpus", "7\n");
	scratch_dir("cgroup/user.slice/user-7.slice/a\033[2Jslurm");
	is_int(bundle_ledger(b, in_scratch("state"), 0, cgroup, &err), 0, "the state directory");
	is(cgroup, "", "of no job");
	is_int(bundle_ledger(b, in_scratch("no-state"), 0, cgroup, &err), 0,
	       "one that is not there");
	is_int(bundle_cgroups(b, in_scratch("cgroup"), "", &err), 0, "the cgroups");
	is_int(bundle_buffers(b, &err), 0, "the buffers");
	is_int(bundle_libraries(b, &err), 0, "the libraries");
	is_int(bundle_end(b, "", &sum, &err), 0, "are held: %s", err.text);
	holds("ledger/job-77", "not a ledger entry\n", "an entry as it is, readable or not");
	holds("topology/machine.xml", "<topology/>\n", "the topology");
	holds("cgroups.txt",
	      "== /\ncgroup.controllers cpuset memory\ncpuset.cpus.effective 0-3\n"
	      "== /system.slice\n"
	      "== /system.slice/n0_slurmstepd.scope\n"
	      "== /system.slice/n0_slurmstepd.scope/job_9\n"
	      "== /system.slice/n0_slurmstepd.scope/job_9/step_0\ncpuset.cpus 0-1\nmemory.events "
	      "low 0;oom 2\n"
	      "== /user.slice\n== /user.slice/user-7.slice/a?[2Jslurm\n",
	      "Slurm's cgroups, without the processes, and no control characters of a user's");
	ok(!manifest_has("lock") && !manifest_has(".new"), "neither lock nor what is half written");
	bundle_free(b);
	unlink(output);
	b = begin();
	is_int(bundle_ledger(b, in_scratch("state"), 8, cgroup, &err), 0,
	       "of job 8, which has no entry");
	is(cgroup, "", "no cgroup is known");
	is_int(bundle_cgroups(b, in_scratch("cgroup"), "system.slice/n0_slurmstepd.scope/job_9",
			      &err),
	       0, "one job's cgroups");
	is_int(bundle_end(b, "", &sum, &err), 0, "are held: %s", err.text);
	ok(!manifest_has("job-5 ") && manifest_has("job-77 "),
	   "another job's entry is not, one that nobody can read is");
	holds("cgroups.txt",
	      "== /system.slice/n0_slurmstepd.scope/job_9\n"
	      "== /system.slice/n0_slurmstepd.scope/job_9/step_0\ncpuset.cpus 0-1\nmemory.events "
	      "low 0;oom 2\n",
	      "that job's only");
	bundle_free(b);
	unlink(output);
	b = begin();
	is_int(bundle_ledger(b, in_scratch("state"), 9, cgroup, &err), 0, "of job 9");
	is(cgroup, "a/job_9", "its cgroup is known");
	bundle_free(b);
}

int main(void)
{
	scratch_make();
	snprintf(output, sizeof(output), "%s/a.tar.gz", scratch);
	snprintf(tmp, sizeof(tmp), "%s/tmp", scratch);
	scratch_dir("tmp");
	if (mkfifo(in_scratch("fifo"), 0600) < 0)
		bail("mkfifo");
	no_output();
	whole();
	long_files();
	given_up();
	left_behind();
	full_disk();
	configuration();
	flood();
	node();
	return tap_done();
}
