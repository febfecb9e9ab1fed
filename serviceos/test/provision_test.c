/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * provision and unprovision on a tree of files in place of /proc, /sys and /run: killed at every
 * single change, run again, and undone.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/affinity.h"
#include "serviceos/journal.h"
#include "serviceos/provision.h"
#include "serviceos/state.h"
#include "serviceos/units.h"

static int root, state;
static struct conf conf;
static bool refuse;
static int reloads;
static pid_t kthread, daemon_pid;

static void put(const char *path, const char *text, mode_t mode)
{
	char dir[512];
	int fd;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	scratch_dir(dir);
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fchmod(fd, mode) < 0)
		bail("%s: %s", path, strerror(errno));
	close(fd);
}

static const char *get(const char *path)
{
	static char text[4][2048];
	static int next;
	int fd = openat(root, path, O_RDONLY);
	ssize_t n;

	next = (next + 1) % 4;
	if (fd < 0)
		return NULL;
	n = read(fd, text[next], sizeof(text[0]) - 1);
	close(fd);
	text[next][n > 0 ? n : 0] = '\0';
	text[next][strcspn(text[next], "\n")] = '\0';
	return text[next];
}

/*
 * Write the status of process PID, or of thread PID of process TASK of the same tree, as
 * fs/proc/array.c of a kernel before 6.8 prints it. UIDS: the four uids.
 */
static void put_status_of(pid_t pid, pid_t task, const char *name, const char *uids,
			  const char *sets)
{
	bool kernel = pid == kthread || pid == 14;
	char path[64], text[512];

	snprintf(path, sizeof(path), task ? "proc/%d/task/%d/status" : "proc/%d/status",
		 task ? (int)task : (int)pid, (int)pid);
	snprintf(text, sizeof(text),
		 "Name:\t%s\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nUid:\t%s\n"
		 "%sThreads:\t1\n%s",
		 name, task ? (int)task : (int)pid, (int)pid, kernel ? 2 : 1, uids,
		 kernel ? "" : "VmSize:\t    8192 kB\n", sets);
	put(path, text, 0444);
}

/* Write the status of our child PID, with its present affinity. */
static void put_one_status(pid_t pid, bool task)
{
	struct errbuf err;
	struct idset cpus;
	char text[256];

	if (affinity_get(pid, &cpus, &err) < 0)
		bail("%s", err.text);
	snprintf(text, sizeof(text), "Cpus_allowed_list:\t%s\nMems_allowed_list:\t0\n",
		 list_of(&cpus));
	put_status_of(pid, task ? pid : 0, pid == kthread ? "kswapd) 0" : "munged", "0\t0\t0\t0",
		      text);
}

static void put_status(void)
{
	put_one_status(kthread, false);
	put_one_status(daemon_pid, false);
	put_one_status(daemon_pid, true);
}

/*
 * In the tree's /proc, show one child as a kernel thread and the other child as a process of the
 * system. Also show a pinned kernel thread and a job's process, which do not exist.
 */
static void put_thread(void)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", (int)kthread);
	snprintf(text, sizeof(text),
		 "%d (kswapd) 0) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n",
		 (int)kthread);
	put(path, text, 0444);
	/* pinned: PF_NO_SETAFFINITY */
	put("proc/14/stat",
	    "14 (migration/1) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n", 0444);
	put_status_of(14, 0, "migration/1", "0\t0\t0\t0",
		      "Cpus_allowed_list:\t1\nMems_allowed_list:\t0\n");
	/* a process of a job, and a process of the system, which is a child of this test, too */
	put_status_of(900, 0, "bash", "0\t0\t0\t0",
		      "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n");
	put("proc/900/cgroup", "0::/system.slice/slurmstepd.scope/job_1\n", 0444);
	snprintf(path, sizeof(path), "proc/%d", (int)daemon_pid);
	scratch_dir(path);
	snprintf(path, sizeof(path), "proc/%d/cgroup", (int)daemon_pid);
	put(path, "0::/system.slice/munge.service\n", 0444);
	for (int task = 0; task < 2; task++) {
		snprintf(path, sizeof(path), task ? "proc/%d/task/%d/stat" : "proc/%d/stat",
			 (int)daemon_pid, (int)daemon_pid);
		snprintf(text, sizeof(text),
			 "%d (munged) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 78 0 0\n",
			 (int)daemon_pid);
		put(path, text, 0444);
	}
	put_status();
}

static void test_tree(void)
{
	put("proc/irq/default_smp_affinity", "ffff\n", 0644);
	put("proc/irq/24/smp_affinity_list", "0-15\n", 0644);
	scratch_dir("proc/irq/24/virtio0-config");
	put("proc/irq/25/smp_affinity_list", "3\n", 0444); /* managed: read-only */
	put("proc/irq/26/smp_affinity_list", "0\n", 0644); /* needs no change */
	put("proc/sys/kernel/watchdog_cpumask", "0-15\n", 0644);
	put("proc/sys/kernel/timer_migration", "0\n", 0644);
	put("proc/sys/vm/stat_interval", "60\n", 0644); /* larger than wanted */
	put("sys/devices/virtual/workqueue/cpumask", "ffff\n", 0644);
	put("sys/devices/virtual/workqueue/writeback/cpumask", "ffff\n", 0644);
	put("sys/class/net/eth0/queues/rx-0/rps_cpus", "0000\n", 0644);
	put("sys/class/net/eth0/queues/tx-0/rps_cpus", "ffff\n", 0644);
	scratch_dir("run/systemd/system/scope.d");
	put("run/systemd/system/scope.d/other.conf", "[Scope]\n", 0644);
	scratch_dir("sys/fs/cgroup/user.slice/user-1000.slice/session-1.scope");
	put("sys/fs/cgroup/init.scope/cpuset.cpus", "\n", 0644);
	put("sys/fs/cgroup/system.slice/cpuset.cpus", "\n", 0644);
	put("sys/fs/cgroup/system.slice/munge.service/cpuset.cpus", "\n", 0644);
	put("sys/fs/cgroup/system.slice/munge.service/cpuset.mems", "\n", 0644);
	put("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/cpuset.mems", "2-3\n",
	    0644);
	put("sys/fs/cgroup/system.slice/slurmstepd.scope/cpuset.mems", "\n", 0644);
	put("sys/devices/system/cpu/possible", "0-15\n", 0444);
	put("sys/devices/system/node/possible", "0-3\n", 0444);
	put("sys/fs/cgroup/system.slice/slurmd.service/cpuset.cpus", "\n", 0644);
	put("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/cpuset.cpus", "3\n",
	    0644);
	put("sys/fs/cgroup/system.slice/slurmstepd.scope/cpuset.cpus", "\n", 0644);
	put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_1/cpuset.cpus", "2-3\n", 0644);
	put_thread();
}

/* Return the whole tree as text: names, and the contents of files. */
static char *image(void)
{
	char command[256], *text = NULL;
	size_t size = 0, n;
	FILE *f, *out = open_memstream(&text, &size);
	char buf[4096];

	snprintf(command, sizeof(command),
		 "cd %s && find . -path ./run/nodeos -prune -o -print | sort | while read -r f; do "
		 "echo \"$f\"; [ -d \"$f\" ] || echo \"$(head -n 1 \"$f\")\"; done",
		 scratch);
	f = popen(command, "r");
	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		fwrite(buf, 1, n, out);
	if (f)
		pclose(f);
	fclose(out);
	return text;
}

static int keep(const struct provision *p, struct errbuf *err)
{
	if (refuse)
		return errprintf(err, "a container is in the way");
	return service_state_save(p->dir, &p->set, err);
}

static int reload(struct errbuf *err)
{
	(void)err;
	reloads++;
	return 0;
}

static const char munge_cpus[] = "sys/fs/cgroup/system.slice/munge.service/cpuset.cpus";
static bool populated; /* munge.service has processes: the kernel then refuses an empty cpuset */

static void count(const struct service_item *it, const char *to, void *arg)
{
	(void)arg;
	put_status();
	if (populated && to && !*to && strcmp(it->name, munge_cpus) == 0)
		put(munge_cpus, "0-15\n", 0644); /* provision then writes the list of all CPUs */
}

static void ignore(const struct service_item *it, const char *why, void *arg)
{
	(void)it;
	(void)why;
	(void)arg;
}

static struct provision provision(bool dry)
{
	return (struct provision){
		.root = root,
		.dir = state,
		.conf = &conf,
		.dry = dry,
		.reload = reload,
		.save = keep,
		.say = count,
		.cannot = ignore,
		.set = { .cpus = set_of("0"), .mems = set_of("0-1"), .own_mems = true },
	};
}

static int apply(bool dry, unsigned *changed)
{
	struct provision p = provision(dry);
	struct errbuf err = { 0 };
	int rc = provision_apply(&p, &err);

	if (rc < 0)
		diag("%s", err.text);
	if (changed)
		*changed = p.changed;
	return rc;
}

static int undo(unsigned *changed)
{
	struct provision p = provision(false);
	struct errbuf err = { 0 };
	int rc = provision_undo(&p, &err);

	if (rc < 0)
		diag("%s", err.text);
	if (changed)
		*changed = p.changed;
	return rc;
}

/*
 * Return whether traced PID is about to change something. An open with O_TRUNC empties the plain
 * file that stands for a kernel file here, so the open counts as the change, and the first write
 * after the open does not count again.
 */
static bool changes(pid_t pid, bool *opened)
{
	struct __ptrace_syscall_info info;
	bool was_opened = *opened;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
		bail("PTRACE_GET_SYSCALL_INFO: %s", strerror(errno));
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return false;
	switch (info.entry.nr) {
	case SYS_openat:
		*opened = (info.entry.args[2] & (O_CREAT | O_TRUNC)) == O_TRUNC;
		return info.entry.args[2] & (O_CREAT | O_TRUNC);
	case SYS_write:
		*opened = false;
		return !was_opened;
	case SYS_ftruncate:
	case SYS_unlinkat:
	case SYS_mkdirat:
	case SYS_renameat:
	case SYS_renameat2:
	case SYS_sched_setaffinity:
		return true;
	default:
		return false;
	}
}

/*
 * Run WORK in a process that is killed before its Nth change. Returns true when WORK ends before
 * that.
 */
static bool die_at(int n, int (*work)(void))
{
	bool opened = false;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			bail("PTRACE_TRACEME: %s", strerror(errno));
		raise(SIGSTOP);
		_exit(work() < 0 ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (; WIFSTOPPED(status); waitpid(pid, &status, 0)) {
		if (WSTOPSIG(status) != (SIGTRAP | 0x80) || !changes(pid, &opened) || n-- > 0)
			ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		else
			kill(pid, SIGKILL);
	}
	put_status();
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int do_apply(void)
{
	return apply(false, NULL);
}

static int do_undo(void)
{
	return undo(NULL);
}

static void check_applied(const char *when)
{
	struct idset cpus;
	struct errbuf err;

	is(get("proc/irq/24/smp_affinity_list"), "0", "%s: an IRQ is moved to the ServiceOS's CPUs",
	   when);
	is(get("proc/irq/25/smp_affinity_list"), "3", "%s: a managed IRQ stays", when);
	is(get("proc/irq/default_smp_affinity"), "1", "%s: new IRQs have the ServiceOS's CPUs",
	   when);
	is(get("sys/devices/virtual/workqueue/cpumask"), "1",
	   "%s: unbound workqueues have the ServiceOS's CPUs", when);
	is(get("sys/devices/virtual/workqueue/writeback/cpumask"), "1",
	   "%s: the writeback workqueue has the ServiceOS's CPUs", when);
	is(get("proc/sys/kernel/timer_migration"), "1", "%s: timers may migrate", when);
	is(get("proc/sys/vm/stat_interval"), "60", "%s: a larger stat_interval stays", when);
	is(get("sys/class/net/eth0/queues/rx-0/rps_cpus"), "0000",
	   "%s: an rps_cpus mask of 0 stays 0", when);
	is(get("sys/fs/cgroup/init.scope/cpuset.cpus"), "",
	   "%s: init's cpuset stays unset, because it could not be restored", when);
	is(get("sys/fs/cgroup/system.slice/cpuset.cpus"), "",
	   "%s: system.slice has no cpuset of its own", when);
	is(get("sys/fs/cgroup/system.slice/munge.service/cpuset.mems"), "0-1",
	   "%s: a service has the ServiceOS's memory nodes", when);
	is(get("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/cpuset.mems"),
	   "0-1", "%s: a service in a nested slice has the ServiceOS's memory nodes", when);
	is(get("sys/fs/cgroup/system.slice/slurmstepd.scope/cpuset.cpus"), "",
	   "%s: the scope of jobs has no cpuset of its own", when);
	is(get("sys/fs/cgroup/system.slice/slurmstepd.scope/job_1/cpuset.cpus"), "2-3",
	   "%s: a job's cpuset stays", when);
	is(get("sys/fs/cgroup/system.slice/slurmd.service/cpuset.cpus"), "",
	   "%s: slurmd has no cpuset of its own", when);
	ok(get("run/systemd/system/service.d/" UNITS_DROPIN) &&
		   get("run/systemd/system/slurmstepd.scope.d/" UNITS_DROPIN),
	   "%s: the drop-ins exist", when);
	ok(affinity_get(kthread, &cpus, &err) == 0 &&
		   idset_equal(&cpus, &(struct idset){ .word = { 1 } }),
	   "%s: a kernel thread is moved to the ServiceOS's CPUs", when);
	ok(affinity_get(daemon_pid, &cpus, &err) == 0 &&
		   idset_equal(&cpus, &(struct idset){ .word = { 1 } }),
	   "%s: a daemon is moved to the ServiceOS's CPUs", when);
}

static void check_undone(const char *before, const char *when)
{
	struct idset cpus, mine;
	struct errbuf err;
	char *now = image();

	is(now, before, "%s: the tree is as before", when);
	free(now);
	affinity_get(kthread, &cpus, &err);
	affinity_get(0, &mine, &err);
	ok(idset_equal(&cpus, &mine), "%s: the kernel thread's affinity is as before", when);
	affinity_get(daemon_pid, &cpus, &err);
	ok(idset_equal(&cpus, &mine), "%s: the daemon's affinity is as before", when);
	ok(faccessat(state, UNDO_FILE_NAME, F_OK, 0) < 0 &&
		   faccessat(state, SERVICE_STATE_FILE, F_OK, 0) < 0,
	   "%s: the journal and the state are gone", when);
}

static void once(const char *before)
{
	struct provision p = provision(false);
	struct service_set set;
	unsigned would, did, again;
	struct errbuf err;
	char *now;

	is_int(undo(NULL), 1, "provision_undo: returns 1 when nothing is provisioned");
	is_int(apply(true, &would), 0, "provision_apply: a dry run succeeds");
	now = image();
	is(now, before, "provision_apply: a dry run changes nothing");
	free(now);
	is_int(apply(false, &did), 0, "provision_apply: succeeds");
	ok(would == did && did > 10, "provision_apply: the dry run reports every change: %u and %u",
	   would, did);
	p.dry = p.as_new = true;
	is_int(provision_apply(&p, &err), 0, "provision_apply: a dry run with as_new succeeds");
	is_int(p.changed, did, "provision_apply: a dry run with as_new reports every change");
	check_applied("provisioned");
	is_int(service_state_load(&set, conf.state_dir, &err), 1,
	       "service_state_load: finds the state");
	is(list_of(&set.cpus), "0", "service_state_load: reads the CPUs");
	is(list_of(&set.mems), "0-1", "service_state_load: reads the memory nodes");
	is_int(reloads, 1, "provision_apply: systemd is notified once");
	is_int(apply(false, &again), 0, "provision_apply: a second run succeeds");
	is_int(again, 0, "provision_apply: a second run changes nothing");
	is_int(reloads, 1, "provision_apply: a second run does not notify systemd");
	put("proc/irq/27/smp_affinity_list", "0\n", 0644); /* a new IRQ, by the new default */
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	is(get("proc/irq/27/smp_affinity_list"), "0-15",
	   "provision_undo: a new IRQ gets the old default");
	put("proc/irq/27/smp_affinity_list", "0\n", 0644);
}

/* A thread that is allowed on every online CPU is allowed on all possible ones. */
static void offline(const char *before)
{
	struct errbuf err = { 0 };
	struct idset mine;
	char list[IDSET_LIST_MAX], name[64];
	struct undo u;
	unsigned n = 0;

	affinity_get(0, &mine, &err);
	idset_format(&mine, list, sizeof(list));
	strcat(list, "\n");
	put("sys/devices/system/cpu/online", list, 0444);
	put("sys/devices/system/cpu/possible", "0-1023\n", 0444);
	is_int(apply(false, NULL), 0, "provision_apply: succeeds with CPUs offline");
	is_int(undo_open(&u, state, UNDO_READ, &err), 0,
	       "undo_open: opens the journal of a provision with CPUs offline");
	snprintf(name, sizeof(name), "%d 77", (int)kthread);
	is(undo_find(&u, UNDO_THREAD, name)->text, "0-1023",
	   "provision_apply: records all possible CPUs for a thread without restriction");
	is(undo_find(&u, UNDO_THREAD, "14 5") ? "noted" : "not", "not",
	   "provision_apply: does not record a pinned thread");
	undo_close(&u);
	is_int(undo(&n), 0, "provision_undo: succeeds");
	ok(n > 10 && n < 40, "provision_undo: each item is restored once: %u", n);
	put("sys/devices/system/cpu/possible", "0-15\n", 0444);
	unlinkat(root, "sys/devices/system/cpu/online", 0);
	check_undone(before, "undone with CPUs offline");
}

/* systemd, with the drop-ins, gives a unit its CPUs. */
static void apply_with_systemd(void)
{
	apply(false, NULL);
	put(munge_cpus, "0\n", 0644);
}

/* A restored item counts once, however many rounds unprovision needs. */
static void counted(const char *before)
{
	unsigned plain, full;

	apply_with_systemd();
	is_int(undo(&plain), 0, "provision_undo: succeeds");
	apply_with_systemd();
	populated = true;
	is_int(undo(&full), 0,
	       "provision_undo: succeeds if a cgroup cannot get its empty cpuset again");
	populated = false;
	is(get(munge_cpus), "0-15",
	   "provision_undo: a cgroup that cannot get its empty cpuset has all CPUs");
	is_int(full, plain,
	       "provision_undo: a cgroup that cannot get its empty cpuset counts once");
	put(munge_cpus, "\n", 0644);
	check_undone(before, "undone except for a cgroup that cannot get its empty cpuset again");
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	while (pid == 0)
		pause();
	return pid;
}

/* A daemon, which is a child of this process, makes a thread after provision. */
static void new_thread(const char *before)
{
	char path[64], text[128];
	struct idset cpus, mine;
	struct errbuf err;
	pid_t thread;

	is_int(apply(false, NULL), 0, "provision_apply: succeeds");
	thread = sleeper();
	affinity_get(0, &mine, &err);
	idset_zero(&cpus);
	idset_add(&cpus, 0);
	affinity_set(thread, &cpus, &err);
	snprintf(path, sizeof(path), "proc/%d/stat",
		 (int)thread); /* a thread that is listed below its process only */
	snprintf(text, sizeof(text),
		 "%d (worker) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0\n", (int)thread);
	put(path, text, 0444);
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)daemon_pid, (int)thread);
	put(path, text, 0444);
	put_status_of(thread, daemon_pid, "worker", "0\t0\t0\t0",
		      "Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n");
	put_status_of(thread, 0, "worker", "0\t0\t0\t0", "Cpus_allowed_list:\t0\n");
	snprintf(path, sizeof(path), "proc/%d/task/%d/status", (int)daemon_pid, (int)thread);
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	affinity_get(thread, &cpus, &err);
	ok(idset_equal(&cpus, &mine),
	   "provision_undo: a new thread gets the affinity that its process had");
	kill(thread, SIGKILL);
	unlinkat(root, path, 0);
	strcpy(strrchr(path, '/'), "/stat");
	unlinkat(root, path, 0);
	*strrchr(path, '/') = '\0';
	unlinkat(root, path, AT_REMOVEDIR);
	snprintf(path, sizeof(path), "proc/%d/status", (int)thread);
	unlinkat(root, path, 0);
	strcpy(strrchr(path, '/'), "/stat");
	unlinkat(root, path, 0);
	*strrchr(path, '/') = '\0';
	unlinkat(root, path, AT_REMOVEDIR);
	check_undone(before, "undone with a new thread");
}

static void in_the_way(const char *before)
{
	struct provision p = provision(false);
	struct errbuf err = { 0 };

	refuse = true;
	is_int(provision_apply(&p, &err), -1, "provision_apply: fails for a container in the way");
	is(err.text, "a container is in the way",
	   "provision_apply: gives the message about a container in the way");
	refuse = false;
	check_undone(before, "refused");
}

static void remove_irq27(void)
{
	unlinkat(root, "proc/irq/27/smp_affinity_list", 0);
	unlinkat(root, "proc/irq/27", AT_REMOVEDIR);
}

/* Return the case's name: THIS was killed before its Nth change, and NEXT ran after it. */
static const char *case_of(const char *this, int n, const char *next)
{
	static char text[80];

	snprintf(text, sizeof(text), "%s killed at change %d, then %s", this, n, next);
	return text;
}

static void killed(const char *before)
{
	/* every 7th change, unless the variable has another number */
	const char *word = getenv("NODEOS_TEST_EVERY");
	int every = word ? atoi(word) : 7, n;

	for (n = 0; n < 1000 && !die_at(n, do_apply); n += every) {
		ok(apply(false, NULL) == 0, "%s: succeeds", case_of("provision", n, "provision"));
		check_applied(case_of("provision", n, "provision"));
		undo(NULL);
		check_undone(before, case_of("provision", n, "provision and undo"));
		die_at(n, do_apply);
		/* 1: nothing has changed yet */
		ok(undo(NULL) >= 0, "%s: succeeds", case_of("provision", n, "undo"));
		check_undone(before, case_of("provision", n, "undo"));
	}
	ok(n > 50 && n < 1000, "provision is killed at changes up to number %d", n);
	undo(NULL);
	apply(false, NULL);
	for (n = 0; n < 1000 && !die_at(n, do_undo); n += every) {
		ok(undo(NULL) >= 0, "%s: succeeds", case_of("undo", n, "undo"));
		check_undone(before, case_of("undo", n, "undo"));
		apply(false, NULL);
		die_at(n, do_undo);
		ok(apply(false, NULL) == 0, "%s: succeeds", case_of("undo", n, "provision"));
		check_applied(case_of("undo", n, "provision"));
		undo(NULL);
		check_undone(before, case_of("undo", n, "provision and undo"));
		apply(false, NULL);
	}
	ok(n > 50 && n < 1000, "undo is killed at changes up to number %d", n);
	check_undone(before, "an undo that ends before it would be killed");
}

/* nodeos.conf changes, and accidents happen, between provision and unprovision. */
static void meanwhile(const char *before)
{
	struct provision p = provision(false);
	struct errbuf err = { 0 };

	is_int(apply(false, NULL), 0, "provision_apply: succeeds");
	strcpy(conf.service_except, "munge.service");
	is_int(undo(NULL), 0, "provision_undo: succeeds with an exception made since provision");
	conf.service_except[0] = '\0';
	check_undone(before, "undone with an exception made since provision");

	put("sys/fs/cgroup/system.slice/other_slurmstepd.scope/cpuset.cpus", "0\n", 0644);
	is_int(apply(false, NULL), 0,
	       "provision_apply: succeeds beside a confined scope of slurmstepd");
	is(get("sys/fs/cgroup/system.slice/other_slurmstepd.scope/cpuset.cpus"), "0-15",
	   "provision_apply: opens a confined scope of slurmstepd");
	ok(get("run/systemd/system/other_slurmstepd.scope.d/" UNITS_DROPIN) != NULL,
	   "provision_apply: makes a confined scope of slurmstepd an exception");
	unlinkat(root, "sys/fs/cgroup/system.slice/other_slurmstepd.scope/cpuset.cpus", 0);
	unlinkat(root, "sys/fs/cgroup/system.slice/other_slurmstepd.scope", AT_REMOVEDIR);

	renameat(state, UNDO_FILE_NAME, state, "lost");
	is_int(provision_apply(&p, &err), -1,
	       "provision_apply: refuses to run with a lost journal: %s", err.text);
	is_int(provision_undo(&p, &err), -1,
	       "provision_undo: refuses to run with a lost journal: %s", err.text);
	renameat(state, "lost", state, UNDO_FILE_NAME);
	is_int(undo(NULL), 0, "provision_undo: succeeds with the journal restored");
	check_undone(before, "undone with a restored journal");
}

static void test_journal(void)
{
	struct errbuf err = { 0 };
	struct undo u;
	int fd;

	ok(undo_open(&u, state, UNDO_WRITE, &err) == 1, "undo_open: returns 1 without a journal");
	ok(undo_open(&u, state, UNDO_MAKE, &err) == 0 && u.n == 0,
	   "undo_open: makes an empty journal");
	ok(undo_note(&u, UNDO_MASK, "a", "0-3", &err) == 0 &&
		   undo_note(&u, UNDO_MASK, "a", "7", &err) == 0,
	   "undo_note: accepts a name twice");
	ok(undo_note(&u, UNDO_MASK, "b\nc", "7", &err) == -1,
	   "undo_note: refuses a newline in a name");
	undo_close(&u);
	fd = openat(state, UNDO_FILE_NAME, O_WRONLY | O_APPEND);
	ok(write(fd, "m b\t0-", 6) == 6, "the test writes half a line, as a killed run does");
	close(fd);
	ok(undo_open(&u, state, UNDO_MAKE, &err) == 0 && u.n == 1,
	   "undo_open: ignores half a line");
	is(undo_find(&u, UNDO_MASK, "a")->text, "0-3", "undo_find: gives the first text of a name");
	ok(undo_note(&u, UNDO_MASK, "b", "0-15", &err) == 0,
	   "undo_note: adds a line after half a line");
	undo_close(&u);
	ok(undo_open(&u, state, UNDO_MAKE, &err) == 0 && u.n == 2, "undo_open: reads two lines");
	ok(undo_remove(&u, &err) == 0, "undo_remove: removes the journal");
	undo_close(&u);
	fd = openat(state, UNDO_FILE_NAME, O_WRONLY | O_CREAT, 0600);
	ok(write(fd, "what?\n", 6) == 6, "the test writes a file that is not a journal");
	close(fd);
	ok(undo_open(&u, state, UNDO_MAKE, &err) == -1 && strstr(err.text, "what?"),
	   "undo_open: refuses a file that is not a journal: %s", err.text);
	unlinkat(state, UNDO_FILE_NAME, 0);
}

static void test_exempt(void)
{
	struct conf c;

	conf_defaults(&c);
	strcpy(c.service_except, "lustre.service x.scope");
	is(service_exempt("/system.slice/slurmstepd.scope/job_1", &c), "Slurm's",
	   "service_exempt: a job is exempt");
	is(service_exempt("/system.slice/n0_slurmstepd.scope/system", &c), "Slurm's",
	   "service_exempt: a job of one of several slurmds is exempt");
	is(service_exempt("/nodeos.slice/slurmstepd.scope", &c), "Slurm's",
	   "service_exempt: a job in another slice is exempt");
	is(service_exempt("/system.slice/lustre.service", &c), "serviceos_except",
	   "service_exempt: a unit of serviceos_except is exempt");
	is(service_exempt("/a.slice/a-b.slice/x.scope/y", &c), "serviceos_except",
	   "service_exempt: a scope of serviceos_except is exempt");
	is(service_exempt("/user.slice/x.scope/y", &c), NULL,
	   "service_exempt: a scope below user.slice, whose name a login may choose, is not "
	   "exempt");
	is(service_exempt(
		   "/user.slice/user-1000.slice/user@1000.service/app.slice/slurmstepd.scope", &c),
	   NULL, "service_exempt: a user's unit with Slurm's name is not exempt");
	is(service_exempt("/system.slice/x.service/slurmstepd.scope", &c), NULL,
	   "service_exempt: a service's cgroup with Slurm's name is not exempt");
	is(service_exempt("/system.slice/slurmd.service", &c), "Slurm's",
	   "service_exempt: slurmd is exempt");
	is(service_exempt("/system.slice/munge.service", &c), NULL,
	   "service_exempt: another service is not exempt");
	is(service_exempt("/user.slice/slurmstepd.scope.evil", &c), NULL,
	   "service_exempt: a service with a longer name is not exempt");
	is(service_exempt("/user.slice/user-1000.slice/my.lustre.service", &c), NULL,
	   "service_exempt: a name with a prefix is not exempt");
	is(service_exempt("/init.scope", &c), NULL, "service_exempt: init is not exempt");
}

/* Write the status of process 777, a user's; UIDS: its four uids. */
static void put_status_777(char letter, unsigned threads, const char *uids)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "Name:\tsleep\nState:\t%c (x)\nTgid:\t777\nPid:\t777\nPPid:\t1\nUid:\t%s\n"
		 "VmSize:\t    8192 kB\nThreads:\t%u\n"
		 "Cpus_allowed_list:\t0\nMems_allowed_list:\t0-1\n",
		 letter, uids, threads);
	put("proc/777/status", text, 0444);
}

static void put_state(char letter, unsigned threads)
{
	put_status_777(letter, threads, "1000\t0\t0\t0");
}

/* Let /proc show a user's process in CGROUP; its real uid counts, whichever user it runs as. */
static void put_user(const char *cgroup)
{
	char text[256];

	put_state('S', 1);
	put("proc/777/stat", "777 (sleep) S 1 0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n",
	    0444);
	snprintf(text, sizeof(text), "0::%s\n", cgroup);
	put("proc/777/cgroup", text, 0444);
}

static void remove_user(void)
{
	unlinkat(root, "proc/777/stat", 0);
	unlinkat(root, "proc/777/status", 0);
	unlinkat(root, "proc/777/cgroup", 0);
	unlinkat(root, "proc/777", AT_REMOVEDIR);
}

static const char session[] = "/user.slice/user-1000.slice/session-1.scope";
static const char munge_mems[] = "sys/fs/cgroup/system.slice/munge.service/cpuset.mems";
static const char munge_dropin[] = "run/systemd/system/munge.service.d/" UNITS_DROPIN;
static const char service_dropin[] = "run/systemd/system/service.d/" UNITS_DROPIN;

static bool text_has(const char *path, const char *line)
{
	char text[2048];
	int fd = openat(root, path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, line) != NULL;
}

/*
 * Return whether the drop-in of services has LINE. The next functions do this for the drop-ins of
 * the users' slices.
 */
static bool dropin_has(const char *line)
{
	return text_has(service_dropin, line);
}

static bool bar_has(const char *line)
{
	return text_has(UNITS_BAR_DROPIN, line);
}

static bool users_have(const char *line)
{
	return text_has(UNITS_USERS_DROPIN, line);
}

/* Return whether a process in CGROUP whose Uid: line has UIDS ("1 1 1 1") delays memory nodes. */
static bool waits(const char *cgroup, const char *uids)
{
	struct provision p = provision(true);
	struct errbuf err = { 0 };

	put_user(cgroup);
	put_status_777('S', 1, uids);
	if (provision_apply(&p, &err) < 0)
		diag("%s", err.text);
	remove_user();
	return p.waiting;
}

/* Uids that may be a user's, so that memory nodes wait for them. */
static void accounts(void)
{
	static const struct {
		const char *defs, *uid;
		bool waits;
	} account[] = {
		{ "", "999", false },
		{ "", "1000", true },
		{ "", "60000", true },
		{ "", "60001", true },
		{ "", "61183", true },
		/*
		 * systemd has 61184, a package 64045, and 65534 is the user "nobody"; any other uid
		 * from here on may be a user's in a directory service
		 */
		{ "", "61184", false },
		{ "", "64045", false },
		{ "", "61185", true },
		{ "", "65519", true },
		{ "", "65520", true },
		{ "", "65533", true },
		{ "", "65534", false },
		{ "", "65536", true },
		{ "", "1000000", true },
		{ "UID_MIN 500\n", "500", true },
		{ "UID_MIN 500\n", "499", false },
		{ "UID_MIN 500\nSYS_UID_MAX 999\n", "500", true },
		{ "UID_MIN 1000\nSYS_UID_MAX 499\n", "500", true },
		{ "UID_MIN 1000\nSYS_UID_MAX 499\n", "499", false },
	};
	char uids[64];

	put("run/systemd/dynamic-uid/61184", "app\n", 0644);
	put("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nceph:x:64045:64045::/:/bin/false\n",
	    0644);
	for (size_t i = 0; i < sizeof(account) / sizeof(account[0]); i++) {
		const char *uid = account[i].uid;

		put("etc/login.defs", account[i].defs, 0644);
		snprintf(uids, sizeof(uids), "%s %s %s %s", uid, uid, uid, uid);
		ok(waits(session, uids) == account[i].waits, "provision_apply: uid %s counts as %s",
		   uid, account[i].waits ? "a user's" : "a system account's");
	}
	unlinkat(root, "run/systemd/dynamic-uid/61184", 0);
	unlinkat(root, "run/systemd/dynamic-uid", AT_REMOVEDIR);
	unlinkat(root, "etc/passwd", 0);
	put("etc/login.defs", "", 0644);
	ok(waits(session, "1000 65534 65534 65534"),
	   "provision_apply: a user's program with effective uid 65534 counts as a user's");
	ok(!waits("/system.slice/slurmctld.service", "1001 1001 1001 1001"),
	   "provision_apply: slurmctld counts as the system's with any uid");
	ok(!waits("/system.slice/slurmdbd.service", "1001 1001 1001 1001"),
	   "provision_apply: slurmdbd counts as the system's with any uid");
	ok(waits("/user.slice/slurmctld.service", "1001 1001 1001 1001"),
	   "provision_apply: a user's unit named slurmctld counts as a user's");
}

static void many_groups(unsigned n)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs("Name:\tsleep\nState:\tS (sleeping)\nTgid:\t777\nPid:\t777\nPPid:\t1\n"
	      "Uid:\t1000\t1000\t1000\t1000\nGroups:\t",
	      f);
	while (n-- > 0)
		fprintf(f, "%u ", 4000000000U + n);
	fputs("\nThreads:\t1\nCpus_allowed_list:\t0\nMems_allowed_list:\t0-1\n", f);
	fclose(f);
	put("proc/777/status", text, 0444);
	free(text);
}

/*
 * A user who is logged in could keep the kernel waiting forever: memory nodes of all units that may
 * hold the user's processes stay.
 */
static void logged_in(const char *before)
{
	struct provision p = provision(false);
	struct errbuf err = { 0 };
	unsigned changed;
	char *now;

	put_user(session);
	is_int(provision_apply(&p, &err), 0, "provision_apply: succeeds with a user logged in");
	ok(p.waiting, "provision_apply: memory nodes wait for a user");
	ok(dropin_has("AllowedCPUs=0") && !dropin_has("AllowedMemoryNodes"),
	   "provision_apply: drop-ins have CPUs only while a user is logged in");
	is(get(munge_mems), "0-1",
	   "provision_apply: a service without a user's process has its memory nodes at once");
	is_int(apply(false, &changed), 0,
	       "provision_apply: a second run with a user logged in succeeds");
	is_int(changed, 0, "provision_apply: a second run with a user logged in changes nothing");
	remove_user();
	p = provision(false);
	is_int(provision_apply(&p, &err), 0, "provision_apply: succeeds after the user's logout");
	ok(!p.waiting && dropin_has("AllowedMemoryNodes=0-1") && dropin_has("AllowedCPUs=0"),
	   "provision_apply: drop-ins have CPUs and memory nodes after the logout");

	put_user("/system.slice/munge.service/session");
	p = provision(false);
	ok(provision_undo(&p, &err) < 0 && p.waiting &&
		   strstr(err.text, "users' processes keep their memory nodes"),
	   "provision_undo: fails while a user's process keeps memory nodes: %s", err.text);
	ok(!dropin_has("AllowedCPUs") && !dropin_has("CPUAffinity") &&
		   dropin_has("AllowedMemoryNodes=0-1"),
	   "provision_undo: units keep the memory nodes and have all CPUs while a user is there");
	is(get(munge_mems), "0-1",
	   "provision_undo: the service with the user's process keeps its memory nodes");
	ok(get("run/systemd/system/slurmstepd.scope.d/" UNITS_DROPIN) != NULL,
	   "provision_undo: Slurm's scope stays an exception, since jobs would otherwise have "
	   "these nodes");
	is(get("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/cpuset.mems"),
	   "2-3", "provision_undo: a service without a user's process has its own nodes again");
	remove_user();
	is_int(undo(NULL), 0, "provision_undo: succeeds after the user's logout");
	now = image();
	is(now, before, "provision_undo: the tree is as before after the logout");
	free(now);

	strcpy(conf.service_except, "munge.service");
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && get(munge_dropin),
	   "provision_apply: makes a unit's exception");
	put_user("/system.slice/munge.service/session");
	conf.service_except[0] = '\0';
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && p.waiting && get(munge_dropin),
	   "provision_apply: keeps an exception while a user's process is in the unit");
	remove_user();
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && !p.waiting && !get(munge_dropin),
	   "provision_apply: removes an exception once no user's process is in the unit");
	is_int(undo(NULL), 0, "provision_undo: succeeds");

	put_user(session);
	put_state('Z', 1);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && !p.waiting,
	   "provision_apply: memory nodes do not wait for a process that has ended");
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	put_state('Z', 2);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && p.waiting,
	   "provision_apply: memory nodes wait for a process whose first thread alone has ended");
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	many_groups(9000);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && p.waiting,
	   "provision_apply: memory nodes wait for a user of 9,000 groups");
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	many_groups(200000);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && p.waiting,
	   "provision_apply: memory nodes wait for a process that cannot be read");
	is_int(undo(NULL), 0, "provision_undo: succeeds");

	/* with this UID_MIN, the process's uid 1000 is a system account */
	put("etc/login.defs", "# UID_MIN 1\nUID_MIN\t\t  1001\n", 0644);
	put_user(session);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && !p.waiting && dropin_has("AllowedMemoryNodes=0-1"),
	   "provision_apply: UID_MIN of login.defs is the first uid of users");
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	remove_user();
	accounts();
	unlinkat(root, "etc/login.defs", 0);
	unlinkat(root, "etc", AT_REMOVEDIR);
}

/*
 * A user's own directory must not have the cpuset controller: the user could hang the host by
 * moving a process that holds its address space locked from one cpuset to another.
 */
static void test_users_slice(void)
{
	static const char mems[] = "sys/fs/cgroup/user.slice/cpuset.mems";
	static const char on[] = "sys/fs/cgroup/user.slice/user-1000.slice/cgroup.subtree_control";
	struct errbuf err = { 0 };
	struct provision p = provision(false);
	unsigned changed;

	put_user(session);
	is_int(provision_apply(&p, &err), 0,
	       "provision_apply: succeeds on slices with a user logged in");
	ok(users_have("[Slice]\nAllowedCPUs=\nAllowedCPUs=0\n"),
	   "provision_apply: user.slice gives sessions the system's CPUs");
	ok(bar_has("[Slice]\nDisableControllers=cpuset\n"),
	   "provision_apply: switches cpusets off below a user's own slice");
	ok(!users_have("AllowedMemoryNodes"), "provision_apply: memory nodes of sessions wait");
	remove_user();
	is_int(apply(false, &changed), 0, "provision_apply: succeeds on slices after the logout");
	ok(users_have("\nAllowedMemoryNodes=0-1\n"),
	   "provision_apply: user.slice has memory nodes after the logout");
	put_user(session);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && p.waiting && !users_have("AllowedMemoryNodes") &&
		   users_have("AllowedCPUs=0"),
	   "provision_apply: memory lines are removed when a user logs in before systemd applies "
	   "them");
	remove_user();
	is_int(apply(false, &changed), 0,
	       "provision_apply: succeeds on slices after a second logout");
	put(mems, "0-1\n", 0644);
	put_user(session);
	is_int(apply(false, &changed), 0,
	       "provision_apply: succeeds when a user logs in after systemd has applied memory "
	       "lines");
	ok(users_have("AllowedMemoryNodes=0-1"), "provision_apply: applied memory lines stay");
	p = provision(false);
	ok(provision_undo(&p, &err) < 0 && p.waiting && !users_have("AllowedCPUs") &&
		   users_have("AllowedMemoryNodes=0-1") && bar_has("DisableControllers=cpuset"),
	   "provision_undo: cpusets stay off below users' slices as long as units have memory "
	   "nodes");
	remove_user();
	is_int(undo(NULL), 0, "provision_undo: succeeds on slices after the logout");
	ok(!get(UNITS_USERS_DROPIN) && !get(UNITS_BAR_DROPIN),
	   "provision_undo: the slices' files are gone");
	unlinkat(root, mems, 0);

	put(on, "cpuset cpu memory pids\n", 0644);
	put_user(session);
	p = provision(false);
	ok(provision_apply(&p, &err) == 0 && p.waiting && !bar_has("DisableControllers"),
	   "provision_apply: existing cpusets are not switched off above a user's processes");
	is_int(apply(false, &changed), 0,
	       "provision_apply: a second run with a user logged in succeeds");
	is_int((int)changed, 0, "provision_apply: a second run leaves these cpusets");
	remove_user();
	is_int(apply(false, &changed), 0,
	       "provision_apply: succeeds beside existing cpusets after the logout");
	ok(bar_has("DisableControllers=cpuset"),
	   "provision_apply: cpusets are switched off after the logout");
	put_user(session);
	is_int(apply(false, &changed), 0,
	       "provision_apply: succeeds when the user is back before systemd switches cpusets "
	       "off");
	ok(!bar_has("DisableControllers=cpuset"),
	   "provision_apply: the line that switches cpusets off is removed when the user is back");
	remove_user();
	is_int(undo(NULL), 0, "provision_undo: succeeds");
	unlinkat(root, on, 0);

	/* an earlier version without UNITS_BAR_DROPIN has provisioned the node, and a job runs */
	is_int(apply(false, &changed), 0, "provision_apply: succeeds");
	unlinkat(root, UNITS_BAR_DROPIN, 0);
	put_user("/system.slice/slurmstepd.scope/job_1/step_0/user/task_0");
	is_int(apply(false, &changed), 0,
	       "provision_apply: succeeds with a user's process in a job only");
	ok(bar_has("DisableControllers=cpuset"),
	   "provision_apply: cpusets are switched off without waiting for a job");
	remove_user();
	is_int(undo(NULL), 0, "provision_undo: succeeds");
}

int main(void)
{
	char *before;

	scratch_make();
	root = open(scratch, O_RDONLY | O_DIRECTORY);
	conf_defaults(&conf);
	snprintf(conf.state_dir, sizeof(conf.state_dir), "%s/run/nodeos", scratch);
	scratch_dir("run/nodeos");
	state = open(conf.state_dir, O_RDONLY | O_DIRECTORY);
	kthread = sleeper();
	daemon_pid = sleeper();
	test_tree();
	before = image();
	test_journal();
	test_exempt();
	once(before);
	remove_irq27();
	check_undone(before, "unprovisioned");
	in_the_way(before);
	counted(before);
	offline(before);
	new_thread(before);
	meanwhile(before);
	logged_in(before);
	test_users_slice();
	killed(before);
	free(before);
	kill(kthread, SIGKILL);
	kill(daemon_pid, SIGKILL);
	return tap_done();
}
