/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find ranks in trees that replace /proc, /sys and the cgroups; this test chooses each number in
 * them.
 */
#include "contention/ranks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/test/tap.h"
#include "container/step_id.h"
#include "container/test/ledger_fixture.h"
#include "contention/process.h"
#include "contention/ranks_impl.h"
#include "host/contention_record.h"

#define SCOPE "system.slice/slurmstepd.scope/"

static int proc_fd, sys_fd;

static void __attribute__((format(printf, 2, 3)))
write_file(const char *text, const char *name, ...)
{
	char path[256], dir[256];
	va_list ap;

	va_start(ap, name);
	vsnprintf(path, sizeof(path), name, ap);
	va_end(ap);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	scratch_dir(dir);
	scratch_file(path, text);
}

static void remove_file(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct fake {
	int pid, parent;
	const char *command, *task; /* COMMAND: its name; TASK: its directory, JOB/STEP/user/TASK */
	unsigned long start, ticks;
	unsigned threads, pages, policy;
	char state;
	const char *cpus;
	const char *title; /* of a process of root's; NULL: a process of user 1000 */
};

/* Return COMMAND as the kernel writes it, with two characters, "\" and "n", for a newline. */
static const char *escape_name(const char *command)
{
	static char out[64];
	size_t n = 0;

	for (; *command; command++) {
		if (*command == '\n' || *command == '\\')
			out[n++] = '\\';
		out[n++] = *command == '\n' ? 'n' : *command;
	}
	out[n] = '\0';
	return out;
}

/* Write the files of process F. For members of F that are 0, use defaults. */
static void put_process(struct fake f)
{
	char text[1024];
	int uid = f.title ? 0 : 1000;

	if (f.title)
		write_file(f.title, "proc/%d/cmdline", f.pid);
	snprintf(text, sizeof(text),
		 "%d (a ) S 9 (b) %c %d 0 0 0 -1 4194304 0 0 0 0 %lu 0 9 9 20 0 %u 0 %lu 1000 %u 0 "
		 "0 0 0 0 "
		 "0 "
		 "0 0 0 0 0 0 0 17 0 0 %u 0 0 0\n",
		 f.pid, f.state ? f.state : 'R', f.parent, f.ticks, 77u, f.start ? f.start : 1000,
		 77u, f.policy);
	write_file(text, "proc/%d/stat", f.pid);
	snprintf(text, sizeof(text), "12:misc:/x\n0::/" SCOPE "%s\n", f.task);
	write_file(text, "proc/%d/cgroup", f.pid);
	snprintf(text, sizeof(text),
		 "Name:\t%s\nUmask:\t0022\nState:\t%c (some)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\n"
		 "PPid:\t%d\nTracerPid:\t0\nUid:\t%d\t0\t0\t0\n"
		 "Gid:\t100\t100\t100\t100\nVmSize:\t     99 kB\nVmRSS:\t    %u kB\n"
		 "RssAnon:\t     99 kB\nThreads:\t%u\nCpus_allowed:\tff\n"
		 "Cpus_allowed_list:\t%s\n",
		 escape_name(f.command ? f.command : "app"), f.state ? f.state : 'R', f.pid, f.pid,
		 f.parent, uid, 4 * f.pages, f.threads ? f.threads : 1, f.cpus ? f.cpus : "0-7");
	write_file(text, "proc/%d/status", f.pid);
}

static void put_procs(const char *task, const char *pids)
{
	write_file(pids, "cg/" SCOPE "%s/cgroup.procs", task);
}

static struct ranks *ranks;
static struct observed_node node;
static struct errbuf bad;
static const char *ledger_dir_name;
static bool all_steps;
static bool (*wanted)(const char *request, const char *container, void *arg);

static void begin_test(void)
{
	struct ranks_conf conf = { .state_dir = ledger_dir_name,
				   .cgroup_fd = root,
				   .proc_fd = proc_fd,
				   .sys_fd = sys_fd,
				   .all_steps = all_steps,
				   .wanted = wanted };
	struct errbuf err;

	if (ranks_open(&ranks, &conf, &node, &err) < 0)
		bail("%s", err.text);
}

static void end_test(void)
{
	ranks_close(ranks);
	observed_free(&node);
}

/* Return the ranks of step I as "KIND RANK PID CONTAINER, ..." */
static const char *list_ranks(unsigned i)
{
	static char out[4096];
	int n = 0;

	*out = '\0';
	for (unsigned k = 0; i < node.n_steps && k < node.step[i].n && k < 16; k++) {
		const struct observed_rank *r = &node.step[i].rank[k];

		n += snprintf(out + n, sizeof(out) - (size_t)n, "%s%s %d %d%s%s", k ? ", " : "",
			      observed_kind_name(r->kind), r->rank, (int)r->pid,
			      *r->container ? " " : "", r->container);
	}
	return out;
}

static const char *scan_ranks(void)
{
	ranks_scan(ranks, &node, &bad);
	if (*bad.text)
		diag("%s", bad.text);
	return list_ranks(0);
}

static int announce_ranks(uint32_t job, uint32_t step, unsigned n, struct contention_rank *rank,
			  struct errbuf *err)
{
	struct contention_message m = { .job = job,
					.step = step,
					.het_job = 40,
					.uid = 1000,
					.gid = 100,
					.n = n,
					.rank = rank };

	errclear(err);
	return ranks_announce(ranks, &node, &m, err);
}

/* A message of slurmstepd is accepted if it agrees with the cgroups. */
static void test_announced(void)
{
	struct contention_rank rank[4] = {
		{ 0, 501, "sim" }, { 1, 502, "sim" }, { 2, 503, "vda" }, { 3, 504, "sim" }
	};
	unsigned descriptors;
	struct errbuf err;

	put_procs("job_41/step_0/user/task_0", "501\n");
	put_procs("job_41/step_0/user/task_1", "502\n");
	put_procs("job_9/step_0/user/task_2", "503\n");
	put_procs("job_41/step_7/user/task_3", "504\n");
	put_process((struct fake){ .pid = 501, .task = "job_41/step_0/user/task_0" });
	put_process((struct fake){ .pid = 502, .task = "job_41/step_0/user/task_1" });
	put_process((struct fake){ .pid = 503, .task = "job_9/step_0/user/task_2" });
	put_process((struct fake){ .pid = 504, .task = "job_41/step_7/user/task_3" });
	begin_test();
	descriptors = open_descriptors();
	is_int(announce_ranks(41, 0, 4, rank, &err), 2,
	       "ranks_announce: accepts ranks of this job and step");
	is(list_ranks(0), "task 0 501 sim, task 1 502 sim",
	   "ranks_announce: adds the step's ranks");
	ok(node.n_steps == 1 && node.step[0].job == 41 && node.step[0].step == 0 &&
		   node.step[0].het_job == 40 && node.step[0].uid == 1000 &&
		   node.step[0].gid == 100 && node.step[0].contained && node.step[0].started > 0,
	   "ranks_announce: sets job, step and owner");
	is_int(announce_ranks(41, 0, 2, rank, &err), 2,
	       "ranks_announce: counts known ranks of a repeated message");
	is(list_ranks(0), "task 0 501 sim, task 1 502 sim",
	   "ranks_announce: adds no rank of a repeated message");
	is_int(announce_ranks(41, 0, 1, &rank[2], &err), -1,
	       "ranks_announce: refuses a process of another job");
	is(err.text, "process 503 is in the directory of another job: job_9",
	   "ranks_announce: the refusal names the other job");
	is_int(announce_ranks(41, 0, 1, &rank[3], &err), -1,
	       "ranks_announce: refuses a process of another step");
	rank[0].pid = 599;
	is_int(announce_ranks(41, 0, 1, rank, &err), -1,
	       "ranks_announce: refuses a process that does not exist");
	is(err.text, "process 599 does not exist",
	   "ranks_announce: the refusal names the missing process");
	put_process((struct fake){ .pid = 505, .task = "job_41/step_0/slurm" });
	rank[0].pid = 505;
	is_int(announce_ranks(41, 0, 1, rank, &err), -1,
	       "ranks_announce: refuses slurmstepd itself");
	is_int(announce_ranks(41, 0, 0, rank, &err), 0,
	       "ranks_announce: accepts a message without ranks");
	is(scan_ranks(), "task 0 501 sim, task 1 502 sim", "ranks_scan: finds the announced ranks");

	/* another process gets pid 502 */
	put_process(
		(struct fake){ .pid = 502, .task = "job_41/step_0/user/task_1", .start = 2000 });
	is(scan_ranks(), "task 0 501 sim, task 1 502 sim",
	   "ranks_scan: finds a new process with an old pid");
	ok(node.step[0].rank[0].start == 1000 && node.step[0].rank[1].start == 2000,
	   "ranks_scan: the new process replaces the old rank");
	put_process((struct fake){ .pid = 502, .task = "job_41/step_0/user/task_1", .state = 'Z' });
	is(scan_ranks(), "task 0 501 sim", "ranks_scan: drops a zombie");
	put_process((struct fake){
		.pid = 501, .task = "job_41/step_0/user/task_0", .state = 'Z', .threads = 3 });
	is(scan_ranks(), "task 0 501 sim",
	   "ranks_scan: a process whose first thread has ended stays a rank");
	put_procs("job_41/step_0/user/task_0", "");
	put_procs("job_41/step_0/user/task_1", "");
	is(scan_ranks(), "task 0 501 sim",
	   "ranks_scan: keeps the ranks when the last process of a step has ended");
	ok(!node.step[0].ended, "ranks_scan: a step has not ended while its directory exists");
	remove_file("cg/" SCOPE "job_41/step_0");
	is(scan_ranks(), "task 0 501 sim",
	   "ranks_scan: keeps the ranks for the last document of an ended step");
	ok(node.step[0].ended, "ranks_scan: marks a step as ended when its directory is removed");
	observed_remove_step(&node, 0);
	is(scan_ranks(), "",
	   "ranks_scan: a step that was removed from the node is not found again");
	is_int((int)open_descriptors(), (int)descriptors,
	       "ranks_scan: closes all descriptors of a step that was removed from the node");
	end_test();
	remove_file("cg/system.slice");
}

/* Slurm 22.05 numbers the directories of each node from 0. */
static void test_numbered(void)
{
	struct contention_rank rank = { 5, 801, "" };
	const char *task = "job_41/step_2/user/task_1";
	struct errbuf err;

	put_procs(task, "801\n");
	put_process((struct fake){ .pid = 801, .task = task });
	begin_test();
	is_int(announce_ranks(41, 2, 1, &rank, &err), 1,
	       "ranks_announce: accepts a rank of a second node");
	is(list_ranks(0), "task 5 801",
	   "ranks_announce: the rank of a second node has its number in the step");
	put_process((struct fake){ .pid = 802, .task = task, .start = 2000 });
	put_procs(task, "802\n");
	is(scan_ranks(), "task 5 802", "ranks_scan: a task's next process has the task's number");
	end_test();
	remove_file("cg/system.slice");
}

/* Children of launchers are ranks, and so are busy programs of users. */
static void test_launchers(void)
{
	struct contention_rank rank = { 0, 600, "" };
	struct errbuf err;
	const char *task = "job_41/step_1/user/task_0";

	put_procs(task, "600\n");
	put_process((struct fake){ .pid = 600, .task = task, .command = "slurmstepd" });
	begin_test();
	is_int(announce_ranks(41, 1, 1, &rank, &err), 1,
	       "ranks_announce: accepts a rank before its exec");
	put_process((struct fake){ .pid = 600, .task = task, .command = "bash" });
	put_process((struct fake){ .pid = 601, .parent = 600, .task = task, .start = 1001 });
	put_procs(task, "601\n600\n");
	is(scan_ranks(), "task 0 600",
	   "ranks_scan: other processes of a task are no ranks of their own");
	is(node.step[0].rank[0].command, "bash",
	   "ranks_scan: takes the name that the process has after its exec");

	put_process((struct fake){
		.pid = 601, .parent = 600, .task = task, .start = 1001, .command = "prted" });
	for (int pid = 610; pid < 614; pid++)
		put_process(
			(struct fake){ .pid = pid, .parent = 601, .task = task, .start = 1002 });
	put_process((struct fake){ .pid = 612,
				   .parent = 601,
				   .task = task,
				   .start = 1002,
				   .command = "hydra_pmi_proxy" });
	put_process((struct fake){
		.pid = 613, .parent = 601, .task = task, .start = 1002, .command = "srun" });
	put_process((struct fake){ .pid = 620, .parent = 612, .task = task, .start = 1003 });
	put_process((struct fake){ .pid = 621, .parent = 610, .task = task, .start = 1003 });
	put_procs(task, "600\n601\n610\n611\n612\n613\n620\n621\n");
	is(scan_ranks(), "child -1 610, child -1 611, child -1 620",
	   "ranks_scan: children of launchers are ranks; launchers, srun, shells and children of "
	   "shells are not");
	put_procs(task, "600\n610\n611\n620\n621\n");
	is(scan_ranks(), "child -1 610, child -1 611, child -1 620",
	   "ranks_scan: children stay ranks after their launcher has ended");
	put_process((struct fake){ .pid = 610,
				   .parent = 1,
				   .task = task,
				   .start = 1002,
				   .command = "a) R 1 (\n) Z 2" });
	is(scan_ranks(), "child -1 610, child -1 611, child -1 620",
	   "ranks_scan: finds a process with brackets and a newline in its name");
	is(node.step[0].rank[0].command, "a) R 1 (\n) Z 2",
	   "ranks_scan: keeps brackets and newline of a name");
	is_int(node.step[0].rank[0].threads, 1,
	       "ranks_scan: reads the fields after a name with brackets");

	/* between the scans, 621 uses a second of CPU time, and 600 uses none */
	usleep(20000);
	put_process((struct fake){
		.pid = 621, .parent = 610, .task = task, .start = 1003, .ticks = 100 });
	is(scan_ranks(), "child -1 610, child -1 611, child -1 620, busy -1 621",
	   "ranks_scan: a process that uses more than half a CPU is a rank");
	usleep(20000);
	is(scan_ranks(), "child -1 610, child -1 611, child -1 620, busy -1 621",
	   "ranks_scan: a busy process stays a rank when it is idle");
	put_process((struct fake){
		.pid = 621, .parent = 610, .task = task, .start = 3000, .ticks = 9000 });
	is(scan_ranks(), "child -1 610, child -1 611, child -1 620",
	   "ranks_scan: a new process with the pid of a busy one is no rank yet");
	end_test();
	remove_file("cg/system.slice");
}

/* The batch script is no task of srun. */
static void test_batch_script(void)
{
	struct contention_rank rank = { 0, 700, "sim" };
	const char *task = "job_41/step_batch/user/task_0";
	struct errbuf err;

	put_procs(task, "700\n701\n");
	put_process((struct fake){ .pid = 700, .task = task, .command = "slurm_script" });
	put_process((struct fake){ .pid = 701, .parent = 700, .task = task });
	begin_test();
	is_int(announce_ranks(41, STEP_ID_BATCH, 1, &rank, &err), 0,
	       "ranks_announce: refuses the batch script");
	is(scan_ranks(), "", "ranks_scan: neither the batch script nor its children are ranks");
	ok(node.n_steps == 1 && node.step[0].step == STEP_ID_BATCH,
	   "ranks_announce: adds the step of the batch script");
	usleep(20000);
	put_process((struct fake){ .pid = 701, .parent = 700, .task = task, .ticks = 100 });
	is(scan_ranks(), "busy -1 701 sim",
	   "ranks_scan: a busy process of the batch script is a rank");
	end_test();
	remove_file("cg/system.slice");
}

static uint64_t job_inode(const char *dir)
{
	char path[256];

	snprintf(path, sizeof(path), SCOPE "%s", dir);
	return cgroup_dir(path);
}

static void plan_container(struct job_plan *plan, const char *name, const char *cpus,
			   unsigned asked)
{
	struct planned_container *c = job_plan_add(plan, name);

	c->cpus = c->reserved = set_of(cpus);
	c->mems = set_of("0");
	c->asked = asked;
	strcpy(c->why, "because");
	if (job_plan_add_core(plan, &c->cpus) < 0)
		abort();
}

static void write_ledger(void)
{
	struct ledger_job *job = job_in(SCOPE "job_50", 50, 1007);
	static const char *const place[] = { "sim", "vda", LEDGER_REST };
	struct ledger_step *s = ledger_job_add_step(job);
	struct errbuf err;
	struct ledger *l;

	s->inode = job_inode("job_50/step_3");
	s->step_id = 3;
	s->ranks = 3;
	snprintf(s->cgroup, sizeof(s->cgroup), SCOPE "job_50/step_3");
	ledger_step_set_places(s, "sim,vda,-");
	s->request = strdup("nodeos 1;c=sim cpus=2;c=vda cpus=1;");
	s->plan = job_plan_new();
	plan_container(s->plan, "sim", "0-1", 2);
	plan_container(s->plan, "vda", "2", 1);
	for (unsigned i = 0; i < 3; i++) {
		struct ledger_rank *r = ledger_step_add_rank(s);

		snprintf(r->task, sizeof(r->task), "task_%u", i);
		snprintf(r->place, sizeof(r->place), "%s", place[i]);
		r->cpus = set_of("0-1");
	}
	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		bail("%s", err.text);
	ledger_close(l);
	ledger_job_free(job);
}

static char asked[128];

static bool want_vda(const char *request, const char *container, void *arg)
{
	(void)arg;
	snprintf(asked, sizeof(asked), "%s", request);
	return strcmp(container, "vda") == 0;
}

struct record_search {
	uint64_t inode;
	bool seen;
};

static void see_record(uint64_t inode, const struct contention_message *m, void *arg)
{
	struct record_search *look = arg;

	(void)m;
	look->seen = look->seen || inode == look->inode;
}

static bool has_record(uint64_t inode)
{
	struct record_search look = { .inode = inode };

	return contention_record_each(state, see_record, &look, NULL) == 0 && look.seen;
}

/* Use records on the host of test_by_ledger(), where ledger and nodeos.conf select other steps. */
static void test_by_records(void)
{
	struct contention_rank one[] = { { 7, 802, "" } }, gone[] = { { 0, 999, "" } };
	struct contention_message off = { .job = 51 };
	struct contention_message observe = {
		.job = 50, .step = 3, .uid = 1001, .gid = 101, .n = 1, .rank = one
	};
	struct contention_message killed = { .job = 52, .n = 1, .rank = gone };
	uint64_t planned = job_inode("job_50/step_3"), plain = job_inode("job_51/step_0");
	struct errbuf err;

	is_int(contention_record_write(state, planned, &observe, &err), 0,
	       "contention_record_write: writes a record");
	is_int(contention_record_write(state, plain, &off, &err), 0,
	       "contention_record_write: writes a record without ranks");
	is_int(contention_record_write(state, 77, &killed, &err), 0,
	       "contention_record_write: writes a record of a killed step");
	begin_test();
	scan_ranks();
	is_int(node.n_steps, 1, "ranks_scan: does not observe a step whose record has no ranks");
	is(scan_ranks(), "task 7 802", "ranks_scan: finds only the ranks in the record of a step");
	is_int(node.step[0].uid, 1001, "ranks_scan: takes the owner from the record");
	ok(has_record(planned) && has_record(plain), "ranks_scan: keeps records of live steps");
	ok(!has_record(77), "ranks_scan: removes a record whose ranks have all ended");
	end_test();
}

static uint64_t raced; /* inode of a step */

/*
 * Write a record, as slurmstepd does. Called when a scan has read the records, but not the tree of
 * cgroups.
 */
static bool want_while_recording(const char *request, const char *container, void *arg)
{
	struct contention_message off = { .job = 51 };
	struct errbuf err;

	(void)request, (void)container, (void)arg;
	if (contention_record_write(state, raced, &off, &err) < 0)
		bail("%s", err.text);
	return false;
}

/* Return the observed step of job JOB, or NULL. */
static const struct observed_step *observed_of(uint32_t job)
{
	for (unsigned i = 0; i < node.n_steps; i++)
		if (node.step[i].job == job)
			return &node.step[i];
	return NULL;
}

/* On the same host, the record of a step with --nodeos-contention=off is written during a scan. */
static void test_late_records(void)
{
	struct contention_message off = { .job = 51 };
	const struct observed_step *step;
	struct errbuf err;

	raced = job_inode("job_51/step_0");
	contention_record_remove(state, raced);
	contention_record_remove(state, job_inode("job_50/step_3"));
	wanted = want_while_recording;
	begin_test();
	scan_ranks();
	ok(has_record(raced) && !observed_of(51) && observed_of(50),
	   "ranks_scan: does not observe a step that gets a record without ranks during the scan");
	scan_ranks();
	ok(!observed_of(51), "ranks_scan: the next scan does not observe a step that got a record "
			     "without ranks, either");
	end_test();

	contention_record_remove(state, raced);
	wanted = want_vda;
	begin_test();
	scan_ranks();
	step = observed_of(51);
	ok(step && step->n == 1 && !step->ended,
	   "ranks_scan: a step that has no record yet is observed");
	is_int(contention_record_write(state, raced, &off, &err), 0,
	       "contention_record_write: writes a late record");
	scan_ranks();
	step = observed_of(51);
	ok(step && step->ended,
	   "ranks_scan: a record without ranks ends the observation of a step");
	for (unsigned i = node.n_steps; i-- > 0;)
		if (node.step[i].ended)
			observed_remove_step(&node, i);
	scan_ranks();
	ok(!observed_of(51) && observed_of(50),
	   "ranks_scan: a step with a record without ranks is not observed again");
	end_test();
}

/* Directories of the components of a heterogeneous step, as Slurm before 26.05 names them. */
static void test_components(void)
{
	static const struct {
		const char *name;
		int step; /* -1: refused */
	} dir[] = {
		{ "step_0+0", 0 },   { "step_0+1", 0 },	 { "step_7+12", 7 },   { "step_7", 7 },
		{ "step_0+", -1 },   { "step_0+x", -1 }, { "step_0+1x", -1 },  { "step_+1", -1 },
		{ "step_0++1", -1 }, { "step_0-1", -1 }, { "step_0+1+1", -1 }, { "step_0 1", -1 },
	};
	struct contention_rank rank = { 5, 820, "" };
	struct errbuf err;
	char task[64];

	all_steps = true;
	for (unsigned i = 0; i < sizeof(dir) / sizeof(dir[0]); i++) {
		snprintf(task, sizeof(task), "job_53/%s/user/task_5", dir[i].name);
		put_procs(task, "820\n");
		put_process((struct fake){ .pid = 820, .task = task });
		begin_test();
		scan_ranks();
		if (dir[i].step < 0)
			ok(!node.n_steps, "ranks_scan: %s is no step", dir[i].name);
		else
			ok(node.n_steps == 1 && node.step[0].job == 53 &&
				   (int)node.step[0].step == dir[i].step &&
				   strcmp(list_ranks(0), "task 5 820") == 0,
			   "ranks_scan: %s is step %d", dir[i].name, dir[i].step);
		end_test();
		begin_test();
		is_int(announce_ranks(53, 0, 1, &rank, &err), dir[i].step == 0 ? 1 : -1,
		       "ranks_announce: accepts a rank of step 0 only in a directory of step 0");
		end_test();
		remove_file("cg/system.slice");
	}
	all_steps = false;
}

static void test_by_ledger(void)
{
	char task[64];

	for (int i = 0; i < 3; i++) {
		char pid[8];

		snprintf(task, sizeof(task), "job_50/step_3/user/task_%d", i);
		snprintf(pid, sizeof(pid), "%d\n", 800 + i);
		put_procs(task, pid);
		put_process((struct fake){
			.pid = 800 + i, .task = task, .command = i ? "app" : "slurmstepd" });
	}
	write_ledger();
	ledger_dir_name = state;
	begin_test();
	is(scan_ranks(), "task 1 801 vda",
	   "ranks_scan: finds ranks of the ledger that have a container and an owner");
	is(scan_ranks(), "task 1 801 vda, task 0 800 sim",
	   "ranks_scan: finds all ranks of the ledger once each has an owner");
	ok(node.step[0].job == 50 && node.step[0].step == 3 && node.step[0].uid == 1007 &&
		   node.step[0].gid == 100 && node.step[0].contained,
	   "ranks_scan: sets job, step and uid of a step from the ledger, its gid from a process");
	end_test();

	wanted = want_vda;
	begin_test();
	is(scan_ranks(), "task 1 801 vda", "ranks_scan: finds only ranks in wanted containers");
	is(asked, "nodeos 1;c=sim cpus=2;c=vda cpus=1;",
	   "ranks_scan: passes the request to wanted()");
	end_test();

	all_steps = true;
	put_procs("job_51/step_0/user/task_0", "810\n");
	put_process((struct fake){ .pid = 810, .task = "job_51/step_0/user/task_0" });
	put_procs("s12345/step_0/user/task_0", "811\n");
	put_procs("system", "1\n");
	put_procs("job_52", "");
	write_file("populated 0\nfrozen 0\n", "cg/" SCOPE "job_52/cgroup.events");
	begin_test();
	scan_ranks();
	is_int(node.n_steps, 2, "ranks_scan: finds all steps in the tree of cgroups");
	is(bad.text,
	   "the name of a job's cgroup, s12345, lacks the job's number; steps without a container "
	   "are not observed with this build of Slurm",
	   "ranks_scan: reports a job's directory whose name lacks the job's number");
	is_int(ranks_count_jobs(root), 3, "ranks_count_jobs: counts jobs with processes");
	remove_file("cg/" SCOPE "s12345");
	is_int(ranks_count_jobs(root), 2,
	       "ranks_count_jobs: does not count the scope's own process");
	ranks_scan(ranks, &node, &bad);
	is(bad.text, "", "ranks_scan: does not report the directory of the scope's own process");
	scan_ranks();
	is(list_ranks(0), "task 1 801 vda, task 2 802, task 0 800",
	   "ranks_scan: finds all tasks of a step, with or without container");
	is(list_ranks(1), "task 0 810", "ranks_scan: finds a step without a container");
	ok(!node.step[1].contained && node.step[1].job == 51 && node.step[1].uid == 1000,
	   "ranks_scan: sets job and owner of a step in the tree of cgroups");
	end_test();
	test_by_records();
	test_late_records();
	all_steps = false;
	wanted = NULL;
	ledger_dir_name = NULL;
	remove_file("cg/system.slice");
	remove_file("state");
}

static void put_usage(const char *task, const char *usage, const char *memory, const char *io)
{
	char text[128];

	snprintf(text, sizeof(text), "usage_usec %s\nuser_usec 1\nsystem_usec 1\n", usage);
	write_file(text, "cg/" SCOPE "%s/cpu.stat", task);
	if (memory)
		write_file(memory, "cg/" SCOPE "%s/memory.current", task);
	if (io)
		write_file(io, "cg/" SCOPE "%s/io.stat", task);
}

static void test_used_by_tasks(void)
{
	struct contention_rank rank[] = { { 0, 900, "" }, { 1, 901, "" } };
	const char *a = "job_60/step_0/user/task_0", *b = "job_60/step_0/user/task_1";
	struct observed_rank *r;
	struct errbuf err;

	put_procs(a, "900\n");
	put_procs(b, "901\n");
	put_usage(a, "5000000", "4096\n",
		  "8:0 rbytes=100 wbytes=7 rios=1 wios=1 dbytes=0 dios=0\n");
	put_usage(b, "0", NULL, NULL);
	write_file("0-2\n", "cg/" SCOPE "%s/cpuset.cpus.effective", a);
	put_process((struct fake){ .pid = 900, .task = a, .cpus = "1-3", .threads = 5 });
	put_process(
		(struct fake){ .pid = 901, .task = b, .pages = 3, .policy = 48, .cpus = "2,6" });
	begin_test();
	is_int(announce_ranks(60, 0, 2, rank, &err), 2, "ranks_announce: accepts two ranks");
	r = node.step[0].rank;
	is(list_of(&r[0].cpus), "1-2",
	   "ranks_announce: a rank has the CPUs of its process that are in the cpuset");
	is_int(r[0].domain, 0, "ranks_announce: sets the domain");
	ok(!r[0].quiet && r[1].quiet, "ranks_announce: a rank of policy hpc is quiet");
	is_int(r[1].domain, OBSERVED_NO_DOMAIN,
	       "ranks_announce: sets no domain if the CPUs are in two domains");
	is_int(r[0].threads, 5, "ranks_announce: sets the number of threads");
	ranks_sample(ranks, &node, 1000);
	ok(r[0].cpu == OBSERVED_UNKNOWN,
	   "ranks_sample: the share of a CPU is unknown before the second sample");
	is_int((long long)r[0].memory, 4096,
	       "ranks_sample: reads the memory of a task's directory");
	is_int((long long)r[1].memory, 3 * 4096,
	       "ranks_sample: reads resident memory if the directory has no number");
	is_int((long long)r[0].read, 0,
	       "ranks_sample: bytes read count from when the rank was first seen");
	ok(r[0].sent == OBSERVED_UNKNOWN && r[0].received == OBSERVED_UNKNOWN,
	   "ranks_sample: traffic is unknown if it is not counted");
	put_usage(a, "6750000", "8192\n",
		  "8:0 rbytes=300 wbytes=7 rios=1\n8:16 rbytes=50 wbytes=43 rios=1\n");
	put_usage(b, "1000", NULL, NULL);
	ranks_sample(ranks, &node, 2000);
	is_int((long long)r[0].cpu, 875, "ranks_sample: sets thousandths of a CPU");
	is_int((long long)r[1].cpu, 0, "ranks_sample: less than a thousandth of a CPU is 0");
	ok(r[0].read == 250 && r[0].written == 43, "ranks_sample: adds the bytes of all disks");
	ok(r[1].read == OBSERVED_UNKNOWN,
	   "ranks_sample: bytes of storage are unknown without io.stat");
	is_int((long long)r[0].memory, 4096, "ranks_sample: reads memory once after each scan");
	put_usage(a, "1000", "8192\n", NULL);
	ranks_sample(ranks, &node, 1000);
	ok(r[0].cpu == OBSERVED_UNKNOWN,
	   "ranks_sample: the share of a CPU is unknown if the CPU time decreases");
	write_file("1\n", "sys/devices/system/cpu/nohz_full");
	scan_ranks();
	ok(node.step[0].rank[0].quiet, "ranks_scan: a rank on a quiet CPU is quiet");
	ranks_sample(ranks, &node, 1000);
	is_int((long long)node.step[0].rank[0].memory, 8192,
	       "ranks_sample: reads memory again after a scan");
	remove_file("sys/devices/system/cpu/nohz_full");
	end_test();
	remove_file("cg/system.slice");
}

static void test_used_by_children(void)
{
	struct contention_rank rank = { 0, 910, "" };
	const char *task = "job_61/step_0/user/task_0";
	struct observed_rank *r;
	struct errbuf err;

	put_procs(task, "910\n911\n");
	put_usage(task, "77", "4096\n", NULL);
	put_process((struct fake){ .pid = 910, .task = task, .command = "orted" });
	put_process((struct fake){ .pid = 911, .parent = 910, .task = task, .pages = 2 });
	begin_test();
	announce_ranks(61, 0, 1, &rank, &err);
	is(scan_ranks(), "child -1 911",
	   "ranks_scan: finds children of a launcher that was announced as a rank");
	ranks_sample(ranks, &node, 1000);
	put_process((struct fake){
		.pid = 911, .parent = 910, .task = task, .pages = 2, .ticks = 50, .threads = 2 });
	ranks_sample(ranks, &node, 1000);
	r = node.step[0].rank;
	is_int((long long)r->cpu, 50000 / sysconf(_SC_CLK_TCK),
	       "ranks_sample: the CPU time of a child is that of its process");
	is_int((long long)r->memory, 2 * 4096,
	       "ranks_sample: the memory of a child is that of its process");
	ok(r->sent == OBSERVED_UNKNOWN, "ranks_sample: traffic of a child is unknown");
	end_test();
	remove_file("cg/system.slice");
}

/* A step has more processes than a scan reads. */
static void test_too_many(void)
{
	const char *task = "job_62/step_0/user/task_0";
	unsigned n = RANKS_STEP_PROCESSES_MAX + 10;
	struct contention_rank rank = { 0, 10000, "" };
	char *pids = malloc(n * 8 + 1);
	struct errbuf err;
	size_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		used += (size_t)snprintf(pids + used, 9, "%u\n", 10000 + i);
		put_process((struct fake){ .pid = (int)(10000 + i),
					   .parent = 10000,
					   .task = task,
					   .command = i ? "app" : "prted" });
	}
	put_procs(task, pids);
	free(pids);
	begin_test();
	announce_ranks(62, 0, 1, &rank, &err);
	scan_ranks();
	ok(node.step[0].n <= RANKS_STEP_PROCESSES_MAX,
	   "ranks_scan: reads at most 4,096 processes of a step");
	is(bad.text,
	   "job 62 has too many processes: only 4096 of a step and 65536 in total are read, so "
	   "some of its ranks may be missing",
	   "ranks_scan: reports that a step has too many processes");
	end_test();
	remove_file("cg/system.slice");
}

static void test_damaged_status(void)
{
	struct process_seen p;

	is_int(process_seen_parse(&p, ""), -1, "process_seen_parse: refuses an empty text");
	is_int(process_seen_parse(&p, "Name:\ta\nState:\tR (running)\n"), -1,
	       "process_seen_parse: refuses a text that is too short");
	is_int(process_seen_parse(&p, "Name:\ta"), -1,
	       "process_seen_parse: refuses a text that ends in the name");
	is_int(process_seen_parse(&p, "12 (a) R 1 2 3\n"), -1,
	       "process_seen_parse: refuses the text of another file");
	is_int(process_seen_parse(&p, "Name:\tPid:\t1\\nState:\\\\Z\nState:\tR (running)\n"
				      "Pid:\t12\nPPid:\t1\nThreads:\t2\n"),
	       0, "process_seen_parse: accepts a name that looks like lines");
	is(p.command, "Pid:\t1\nState:\\Z", "process_seen_parse: gives the name without escapes");
	ok(p.pid == 12 && !p.ended && p.memory == 0,
	   "process_seen_parse: reads values from lines, not from the name");
}

/* Step 60 has so many processes that none of step 61 is read. */
static void test_crowded_out(void)
{
	static char pids[RANKS_STEP_PROCESSES_MAX * 8 + 1];
	char task[64];

	all_steps = true;
	put_procs("job_60/step_0/user/task_0", "810\n");
	put_process((struct fake){ .pid = 810, .task = "job_60/step_0/user/task_0" });
	begin_test();
	scan_ranks();
	put_procs("job_61/step_batch/user/task_0", "900\n901\n");
	put_process((struct fake){
		.pid = 900, .command = "mpirun", .task = "job_61/step_batch/user/task_0" });
	put_process((struct fake){
		.pid = 901, .parent = 900, .task = "job_61/step_batch/user/task_0" });
	scan_ranks();
	is(list_ranks(1), "child -1 901", "ranks_scan: a child of a launcher is a rank");
	for (unsigned i = 0; i < RANKS_STEP_PROCESSES_MAX; i++)
		snprintf(pids + i * 8, 9, "%u\n", 2000000 + i);
	for (unsigned i = 1; i <= RANKS_PROCESSES_MAX / RANKS_STEP_PROCESSES_MAX; i++) {
		snprintf(task, sizeof(task), "job_60/step_0/user/task_%u", i);
		put_procs(task, pids);
	}
	scan_ranks();
	ok(strstr(bad.text, "too many processes"),
	   "ranks_scan: the number of processes has a limit: %s", bad.text);
	is(list_ranks(1), "child -1 901",
	   "ranks_scan: keeps a rank when another job has too many processes");
	put_process((struct fake){
		.pid = 901, .parent = 900, .state = 'Z', .task = "job_61/step_batch/user/task_0" });
	scan_ranks();
	is(list_ranks(1), "",
	   "ranks_scan: drops an ended rank even when another job has too many processes");
	end_test();
	all_steps = false;
	remove_file("cg/system.slice");
}

/* While no descriptor is free, no rank counts as ended. */
static void test_no_descriptors(void)
{
	const char *task = "job_41/step_3/user/task_0", *batch = "job_42/step_batch/user/task_0";
	struct contention_rank rank = { 0, 501, "sim" };
	struct rlimit files, none;
	struct errbuf err;

	all_steps = true;
	put_procs(task, "501\n");
	put_process((struct fake){ .pid = 501, .task = task });
	put_procs(batch, "900\n901\n");
	put_process((struct fake){ .pid = 900, .command = "mpirun", .task = batch });
	put_process((struct fake){ .pid = 901, .parent = 900, .task = batch });
	begin_test();
	announce_ranks(41, 3, 1, &rank, &err);
	scan_ranks();
	is(list_ranks(1), "child -1 901", "ranks_scan: finds a child of the batch script's mpirun");
	node.step[1].rank[0].misses = 77;
	getrlimit(RLIMIT_NOFILE, &files);
	none = files;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	ranks_scan(ranks, &node, &bad);
	setrlimit(RLIMIT_NOFILE, &files);
	ok(strstr(bad.text, "LimitNOFILE"), "ranks_scan: says that no descriptor is free: %s",
	   bad.text);
	is(list_ranks(1), "child -1 901",
	   "ranks_scan: keeps a rank if no descriptor is free to read it");
	put_process((struct fake){ .pid = 502, .start = 2000, .task = task });
	put_procs(task, "502\n");
	all_steps = false;
	is(scan_ranks(), "task 0 502 sim",
	   "ranks_scan: keeps a task if no descriptor is free for its directory");
	is_int((long long)node.step[1].rank[0].misses, 77,
	       "ranks_scan: a rank that could not be read keeps its totals");
	end_test();
	remove_file("cg/system.slice");
}

/* Write the directory of vnode7, with processes PIDS. */
static void put_vnode(const char *pids)
{
	write_file(pids, "cg/vnode.slice/nodeos-vnode@vnode7.service/vnode/cgroup.procs");
}

/* A step of a vnode has no cgroup; its processes are those that descend from its slurmstepd. */
static void test_vnode(void)
{
	const char *none = "none";

	all_steps = true;
	put_vnode("1100\n1101\n1102\n1110\n1111\n1112\n1113\n1120\n1121\n1130\n1131\n1132\n");
	put_process((struct fake){ .pid = 1100,
				   .task = none,
				   .command = "nodeos-vnode-in",
				   .title = "nodeos-vnode-init" });
	put_process((struct fake){
		.pid = 1101, .parent = 1100, .task = none, .command = "slurmd",
		.title = "slurmd" });
	/* not in a step: an orphan of a job, and a user's program with the name of slurmstepd */
	put_process((struct fake){ .pid = 1102, .parent = 1100, .task = none });
	put_process((struct fake){ .pid = 1110,
				   .parent = 1101,
				   .task = none,
				   .command = "slurmstepd",
				   .title = "slurmstepd: [41.0]" });
	/* parents may have larger pids than their children */
	put_process((struct fake){ .pid = 1113, .parent = 1110, .task = none });
	put_process((struct fake){ .pid = 1111, .parent = 1113, .task = none });
	put_process((struct fake){ .pid = 1112,
				   .parent = 1110,
				   .task = none,
				   .command = "slurmstepd",
				   .title = "slurmstepd: [41.0]" });
	put_process((struct fake){ .pid = 1120,
				   .parent = 1101,
				   .task = none,
				   .command = "slurmstepd",
				   .start = 1001,
				   .title = "slurmstepd: [42.batch]" });
	put_process(
		(struct fake){ .pid = 1121, .parent = 1120, .task = none, .command = "prterun" });
	put_process((struct fake){ .pid = 1130, .parent = 1121, .task = none });
	put_process((struct fake){
		.pid = 1131, .parent = 1121, .task = none, .cpus = "4-5",
		.command = "slurmstepd" });
	write_file("slurmstepd: [43.0]", "proc/1131/cmdline");
	put_process((struct fake){ .pid = 1132, .parent = 1131, .task = none });
	write_file("1120\n", "cg/vnode.slice/other.service/vnode/cgroup.procs");
	begin_test();
	scan_ranks();
	is_int(node.n_steps, 2, "ranks_scan: finds the steps of a vnode by their slurmstepd");
	ok(node.n_steps == 2 && node.step[0].job == 41 && node.step[0].step == 0 &&
		   node.step[0].uid == 1000 && node.step[0].gid == 100 && node.step[1].job == 42 &&
		   node.step[1].step == STEP_ID_BATCH,
	   "ranks_scan: sets job, step and owner of a step in a vnode");
	is(list_ranks(0), "child -1 1113",
	   "ranks_scan: ranks in a vnode are the programs that are children of slurmstepd");
	is(list_ranks(1), "child -1 1130, child -1 1131",
	   "ranks_scan: ranks of a batch script in a vnode are the children of its launcher");
	is_int(node.step[1].rank[1].domain, 1, "ranks_scan: sets the domain of a rank in a vnode");
	put_process((struct fake){ .pid = 1112, .parent = 1110, .task = none });
	is(scan_ranks(), "child -1 1113, child -1 1112",
	   "ranks_scan: finds a rank in a vnode after its exec");
	node.step[0].rank[0].misses = 77;
	put_vnode("1100\n1101\n1110\n1113\n1120\n1121\n");
	is(scan_ranks(), "child -1 1113", "ranks_scan: drops a rank of a vnode that has ended");
	is_int((long long)node.step[0].rank[0].misses, 77,
	       "ranks_scan: the remaining rank of the vnode keeps its totals");
	/* the job has a second vnode on this host */
	write_file("1140\n1141\n", "cg/vnode.slice/nodeos-vnode@vnode8.service/vnode/cgroup.procs");
	put_process((struct fake){ .pid = 1140,
				   .parent = 1101,
				   .task = none,
				   .command = "slurmstepd",
				   .title = "slurmstepd: [41.0]" });
	put_process((struct fake){ .pid = 1141, .parent = 1140, .task = none });
	is(scan_ranks(), "child -1 1113, child -1 1141",
	   "ranks_scan: a step of two vnodes of the host is one step");
	is(node.step[0].rank[1].task, "vnode8", "ranks_scan: names the vnode of a rank");
	/* another process gets the pid of the slurmstepd */
	put_process((struct fake){ .pid = 1110,
				   .parent = 1101,
				   .task = none,
				   .start = 1002,
				   .command = "slurmstepd",
				   .title = "slurmstepd: [44.3]" });
	is(scan_ranks(), "child -1 1141",
	   "ranks_scan: a step goes on in one vnode after its end in another");
	ok(node.n_steps == 3 && node.step[2].job == 44 && node.step[2].step == 3,
	   "ranks_scan: a new slurmstepd with an old pid has a step of its own");
	remove_file("cg/vnode.slice/nodeos-vnode@vnode8.service");
	remove_file("proc/1140");
	scan_ranks();
	ok(node.step[0].ended && !node.step[1].ended,
	   "ranks_scan: a step in vnodes ends with its last slurmstepd");
	is(list_ranks(0), "child -1 1141",
	   "ranks_scan: keeps the ranks of an ended step in a vnode for its last document");
	end_test();
	all_steps = false;
	begin_test();
	scan_ranks();
	is_int(node.n_steps, 0, "ranks_scan: finds steps of vnodes only with all_steps");
	end_test();
	remove_file("cg/vnode.slice");
}

static void test_titles(void)
{
	static const struct {
		const char *title;
		uint32_t job, step;
	} row[] = {
		{ "slurmstepd: [41.0]", 41, 0 },
		{ "slurmstepd: [41.12]", 41, 12 },
		{ "slurmstepd: [7.batch]", 7, STEP_ID_BATCH },
		{ "slurmstepd: [7.interactive]", 7, STEP_ID_INTERACTIVE },
		{ "slurmstepd: [7+1.0]", 7, 0 },
		{ "slurmstepd: [7.0+1]", 7, 0 },
		{ "slurmstepd: [7.]", 0, 0 },
		{ "slurmstepd: [.0]", 0, 0 },
		{ "slurmstepd: [0.0]", 0, 0 },
		{ "slurmstepd: [7+.0]", 0, 0 },
		{ "slurmstepd: [7.0", 0, 0 },
		{ "slurmstepd: [99999999999.0]", 0, 0 },
		{ "slurmstepd: [7.0000000000000000000000000000000000]", 0, 0 },
		{ "slurmstepd: [-7.0]", 0, 0 },
		{ "slurmd: [7.0]", 0, 0 },
		{ "", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint32_t job = 0, step = 0;
		int rc = ranks_parse_title(row[i].title, &job, &step);

		ok(row[i].job ? rc == 0 && job == row[i].job && step == row[i].step : rc < 0,
		   "ranks_parse_title: %s \"%s\"", row[i].job ? "reads" : "refuses", row[i].title);
	}
}

/* The status of a process is long if its user is in many groups. */
static void test_many_groups(void)
{
	struct process_source source = { .fd = proc_fd };
	static char text[40000];
	struct process_seen p;
	int n;

	put_process((struct fake){ .pid = 503, .task = "job_41/step_0/user/task_0" });
	n = snprintf(text, sizeof(text),
		     "Name:\tapp\nState:\tR (running)\nPid:\t503\nPPid:\t7\nGroups:\t");
	for (unsigned i = 0; i < 3000; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u ", 1200000000 + i);
	snprintf(text + n, sizeof(text) - (size_t)n, "\nVmRSS:\t    8 kB\nThreads:\t5\n");
	write_file(text, "proc/%d/status", 503);
	is_int(process_seen_read(&p, &source, 503), 0,
	       "process_seen_read: reads a process whose user is in 3,000 groups");
	ok(p.threads == 5 && p.memory == 8192,
	   "process_seen_read: reads the lines behind a long list of groups");
}

int main(void)
{
	struct rlimit files = { 4096, 4096 };
	char path[256];

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	ledger_fixture();
	scratch_dir("proc");
	write_file("0-7\n", "sys/devices/system/cpu/online");
	for (unsigned i = 0; i < 8; i++)
		write_file(i < 4 ? "0\n" : "1\n",
			   "sys/devices/system/cpu/cpu%u/topology/"
			   "physical_package_id",
			   i);
	snprintf(path, sizeof(path), "%s/proc", scratch);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/sys", scratch);
	sys_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_announced();
	test_numbered();
	test_launchers();
	test_batch_script();
	test_components();
	test_by_ledger();
	test_used_by_tasks();
	test_used_by_children();
	test_too_many();
	test_crowded_out();
	test_damaged_status();
	test_no_descriptors();
	test_many_groups();
	test_vnode();
	test_titles();
	return tap_done();
}
