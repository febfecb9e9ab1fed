/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that records the state of a vnode on this host. */
#include "vnode/state.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"

static void round_trip(int run)
{
	struct vnode_state s = { .phase = VNODE_RUNNING,
				 .pid = 4711,
				 .number = 12345678901234,
				 .supervisor = 4710,
				 .supervisor_number = 7,
				 .cgroup = "vnode.slice/nodeos-vnode@v7.service/vnode",
				 .link = "vn-v7" };
	struct vnode_state got;
	struct errbuf err = { 0 };
	char(*names)[VNODE_NAME_MAX];
	unsigned n;

	ok(vnode_state_read(&got, run, "v7", &err) == 0 && got.phase == VNODE_ABSENT,
	   "a vnode without a record is absent");
	ok(vnode_state_write(&s, run, "v7", &err) == 0, "the record of vnode v7 is written: %s",
	   err.text);
	ok(vnode_state_read(&got, run, "v7", &err) == 0, "the record of vnode v7 is read: %s",
	   err.text);
	is_int(got.phase, VNODE_RUNNING, "the phase is read as written");
	ok(got.pid == s.pid && got.number == s.number && got.supervisor == s.supervisor &&
		   got.supervisor_number == s.supervisor_number,
	   "pids and process numbers are read as written");
	is(got.cgroup, s.cgroup, "the cgroup is read as written");
	is(got.link, s.link, "the link is read as written");
	ok(vnode_state_list(&names, &n, run, &err) == 0 && n == 1 && strcmp(names[0], "v7") == 0,
	   "a vnode with a record is listed");
	free(names);
	ok(vnode_state_remove(run, "v7", &err) == 0, "the record of vnode v7 is removed");
	names = NULL;
	ok(vnode_state_list(&names, &n, run, &err) == 0 && n == 0,
	   "the vnode's directory is removed with its record");
	free(names);
	ok(vnode_state_remove(run, "v7", &err) == 0, "a second removal succeeds");
}

static void other_texts(int run)
{
	struct vnode_state got;
	struct errbuf err = { 0 };

	scratch_dir("run/v8");
	scratch_file("run/v8/state", "phase = running\nboot = 0-1\npid = 1\n");
	ok(vnode_state_read(&got, run, "v8", &err) == 0 && got.phase == VNODE_ABSENT && !got.pid,
	   "a record of another boot counts as none");
	scratch_file("run/v8/state", "phase = walking\n");
	ok(vnode_state_read(&got, run, "v8", &err) < 0, "an unknown phase is refused");
	scratch_file("run/v8/state", "phase = running\npid = -3\n");
	ok(vnode_state_read(&got, run, "v8", &err) < 0, "a negative pid is refused");
	ok(vnode_state_read(&got, run, "../x", &err) < 0,
	   "a path in place of a vnode's name is refused");
}

static void processes(void)
{
	uint64_t number = process_number(getpid());

	ok(vnode_process_lives(getpid(), number),
	   "a running process with its own number counts as alive");
	ok(!number || !vnode_process_lives(getpid(), number + 1),
	   "a pid with another process number counts as another process");
	ok(!vnode_process_lives(0, 0), "the pid 0 counts as no process");
}

int main(void)
{
	struct errbuf err = { 0 };
	char path[128];
	struct stat st;
	int run;

	snprintf(path, sizeof(path), "%s/run", scratch_make());
	run = vnode_run_open(path, &err);
	ok(run >= 0, "the directory of states is made: %s", err.text);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700,
	   "only the owner may enter the directory of states");
	round_trip(run);
	other_texts(run);
	processes();
	close(run);
	return tap_done();
}
