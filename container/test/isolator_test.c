/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/isolator.h"

#include <fcntl.h>
#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "container/step_id.h"
#include "host/cgroup.h"
#include "host/contention_message.h"

static struct conf conf;
static struct request request;
static struct planned_container placed = { .name = "sim" };

static const struct requested_container *parse_ask(const char *text)
{
	struct errbuf err;

	if (request_parse(&request, text, &err) < 0)
		printf("Bail out! %s: %s\n", text, err.text);
	return &request.container[0];
}

/* Return the JSON object with the members that WRITE writes. */
static const char *json_members(void (*write)(struct json_out *j,
					      const struct reported_container *c))
{
	static char text[2048];
	struct reported_container reported = { .ask = &request.container[0],
					       .got = &placed,
					       .conf = &conf };
	struct json_out j = { .f = fmemopen(text, sizeof(text), "w") };
	char *to = text;

	jout_open(&j, NULL, '{');
	write(&j, &reported);
	jout_close(&j, '}');
	fclose(j.f);
	for (const char *from = text; *from; from++)
		if (*from != ' ' && *from != '\n')
			*to++ = *from;
	*to = '\0';
	return text;
}

static void write_asked(struct json_out *j, const struct reported_container *c)
{
	isolators_asked(j, c->ask);
}

static void test_reports(void)
{
	struct isolator_outcome o[OUTCOMES_MAX];
	struct reported_container reported = { .ask = &request.container[0],
					       .got = &placed,
					       .conf = &conf };

	parse_ask("nodeos 1;c=sim cpus=2 smt=1 mems=1 policy=batch partition=root dimmap=1048576 "
		  "dimmap_source=/d ignored=power;");
	placed.cpus = set_of("0-1");
	placed.reserved = set_of("0-3");
	placed.mems = set_of("1");
	placed.asked = 2;
	placed.confined = true;
	is(json_members(write_asked),
	   "{\"cpus\":2,\"smt\":1,\"mems\":1,\"policy\":\"batch\",\"priority\":0,"
	   "\"partition\":\"root\",\"dimmap\":{\"size_bytes\":1048576,\"source\":\"/"
	   "d\",\"access\":\"rw\"}}",
	   "isolators_asked: each isolator writes its request");
	is(json_members(isolators_report),
	   "{\"cpus\":\"0-1\",\"reserved\":\"0-3\",\"mems\":\"1\",\"mems_confined\":true,"
	   "\"policy\":\"batch\",\"priority\":0,\"partition\":\"root\"}",
	   "isolators_report: each isolator writes its result");
	is_int(isolators_outcome(o, &reported), 4,
	       "isolators_outcome: a container with these isolators has four outcomes");
	is(o[0].isolator, "container",
	   "isolators_outcome: CPUs and memory nodes share the first outcome");
	is(o[1].isolator, "scheduler", "isolators_outcome: the second outcome is the policy's");
	is(o[2].isolator, "dimmap", "isolators_outcome: the third outcome is the buffer's");
	is(o[3].isolator, "power",
	   "isolators_outcome: the last outcome is of the ignored isolator");
	is_int(o[3].outcome, OUTCOME_IGNORED, "isolators_outcome: power is ignored");
}

static void test_isolator_site(void)
{
	struct errbuf err = { 0 };

	is_int(isolators_allowed(parse_ask("nodeos 1;c=sim cpus=2;"), &conf, "/c", &err), 0,
	       "isolators_allowed: CPUs need no key of nodeos.conf");
	is_int(isolators_allowed(parse_ask("nodeos 1;c=sim partition=root;"), &conf, "/c", &err),
	       -1, "isolators_allowed: a root partition is not allowed by default");
	is(err.text,
	   "container sim: partition \"root\" is not allowed at this site (allow_partitions in /c)",
	   "isolators_allowed: the message names the key");
	is_int(isolators_allowed(parse_ask("nodeos 1;c=sim dimmap=1048576 dimmap_source=/dev/x;"),
				 &conf, "/c", &err),
	       -1, "isolators_allowed: a buffer is not allowed by default");
	is_int(isolators_alone(&request, &conf, true), 0,
	       "isolators_alone: false for a container with a buffer");
	is_int(isolators_shown(&request), 1, "isolators_shown: true for a buffer");
	parse_ask("nodeos 1;c=sim partition=isolated;");
	is_int(isolators_alone(&request, &conf, true), 1,
	       "isolators_alone: true for a partition of a step of srun");
	is_int(isolators_alone(&request, &conf, false), 0,
	       "isolators_alone: false for a batch script, which becomes no partition");
	is_int(isolators_shown(&request), 0, "isolators_shown: false for a partition");
}

static void test_oom(void)
{
	const struct isolator_place at = { .container = "sim" };
	struct isolator_rank rank = { .number = 3 };
	struct rank_settings g = { .number[RANK_NUMBER_OOM] = { true, 700 } };
	struct isolator_outcome o[OUTCOMES_MAX];
	struct reported_container reported = { .ask = &request.container[0],
					       .got = &placed,
					       .conf = &conf };
	struct errbuf err = { 0 };

	parse_ask("nodeos 1;c=sim cpus=2 oom=700;");
	is(json_members(write_asked), "{\"cpus\":2,\"oom_score_adj\":700}",
	   "os/linux/oom-score-adj: \"asked\" has the requested score");
	ok(strstr(json_members(isolators_report), ",\"oom_score_adj\":700}"),
	   "os/linux/oom-score-adj: the report has the given score");
	is_int(isolators_outcome(o, &reported), 2,
	       "os/linux/oom-score-adj: CPUs and score have one outcome each");
	is(o[1].isolator, "os/linux/oom-score-adj",
	   "os/linux/oom-score-adj: the outcome has the isolator's name in manifests");
	is_int(o[1].outcome, OUTCOME_ENFORCED, "os/linux/oom-score-adj: the score is enforced");
	is_int(isolators_shown(&request), 1, "isolators_shown: true for a score");
	/* scores above 0 need no rights: every user may raise the score */
	is_int(isolator_oom.verify(&g, &rank, &err), -1,
	       "os/linux/oom-score-adj: verify refuses a rank with another score");
	ok(strstr(err.text, "rank 3 has oom_score_adj "),
	   "os/linux/oom-score-adj: the message has rank and score: %s", err.text);
	is_int(isolators_show(&g, &at, &err), 0,
	       "os/linux/oom-score-adj: a rank can set its score");
	is_int(isolator_oom.verify(&g, &rank, &err), 0,
	       "os/linux/oom-score-adj: verify accepts the score that the rank has set");
	g.number[RANK_NUMBER_OOM].value = 701;
	is_int(isolator_oom.verify(&g, &rank, &err), -1,
	       "os/linux/oom-score-adj: verify refuses a score that differs by 1");
	is(err.text, "rank 3 has oom_score_adj 700, not 701 as planned (another plugin?)",
	   "os/linux/oom-score-adj: the message has both scores");
	g.number[RANK_NUMBER_OOM] = (struct rank_value){ false, 0 };
	is_int(isolators_show(&g, &at, &err), 0,
	       "os/linux/oom-score-adj: show succeeds if no score was requested");
	is_int(isolator_oom.verify(&g, &rank, &err), 0,
	       "os/linux/oom-score-adj: verify accepts any score if none was requested");
	parse_ask("nodeos 1;c=sim cpus=2 ignored=os/linux/oom-score-adj;");
	is_int(isolators_outcome(o, &reported), 2,
	       "os/linux/oom-score-adj: a score that a request of an older release ignores has an "
	       "outcome");
	is_int(o[1].outcome, OUTCOME_IGNORED,
	       "os/linux/oom-score-adj: the outcome of a request of an older release is "
	       "\"ignored\"");
}

static void test_limits(int root)
{
	static struct rank_settings given[2];
	struct isolator_part part[] = {
		{ .given = &given[0], .name = "sim", .ranks = 2 },
		{ .given = &given[1], .name = "vda", .ranks = 1 },
	};
	const struct isolator_step step = { .cgroup_fd = root,
					    .user = "job_1/step_0/user",
					    .job_cgroup = "job_1",
					    .n = 1,
					    .part = part };
	struct reported_container judged = { .ask = &request.container[0],
					     .got = &placed,
					     .conf = &conf };
	struct isolator_step both = step;
	struct isolator_outcome o[OUTCOMES_MAX];
	struct errbuf err = { 0 };
	char text[32];

	parse_ask("nodeos 1;c=sim cpus=2 memory=4194304 memory_request=1 iops=7 thp=never;");
	is(json_members(write_asked),
	   "{\"cpus\":2,\"memory_limit_bytes\":4194304,\"block_iops\":7,\"thp\":\"never\"}",
	   "limits: \"asked\" has the requested limits");
	is_int(isolators_outcome(o, &judged), 4, "limits: each limit has an outcome");
	is(o[1].isolator, "resource/memory", "limits: the outcome has the name in manifests");
	is_int(o[1].outcome, OUTCOME_MODIFIED,
	       "limits: the memory limit is modified, because AppC's request is not reserved");
	is_int(o[2].outcome, OUTCOME_ENFORCED, "limits: the limit of operations is enforced");
	is_int(isolators_shown(&request), 0, "isolators_shown: false for limits");
	part[0].ask = &request.container[0];
	isolator_limits.give(&step, &part[0], &err);
	scratch_file("job_1/step_0/user/memory.max", "max\n");
	is_int(isolator_limits.step(&step, &err), 0, "limits: the step hook succeeds: %s",
	       err.text);
	cgroup_read(root, step.user, "memory.max", text, sizeof(text), &err);
	is(text, "4194304", "limits: the step's directory has the memory limit");
	ok(strstr(given[0].unlimited, "job_1 has no directory above it"),
	   "limits: if the io controller cannot be turned on, the reason is noted: %s",
	   given[0].unlimited);
	scratch_file("job_1/step_0/user/memory.max", "1048576\n");
	given[0].unlimited[0] = '\0';
	is_int(isolator_limits.step(&step, &err), 0,
	       "limits: a lower limit of Slurm is no failure");
	cgroup_read(root, step.user, "memory.max", text, sizeof(text), &err);
	is(text, "1048576", "limits: a lower limit of Slurm stays");
	ok(strstr(given[0].unlimited, "Slurm's limit of 1 MiB is lower"),
	   "limits: the reason says that Slurm's limit is lower: %s", given[0].unlimited);
	both.n = 2;
	scratch_dir("job_1/step_0/user/task_1");
	scratch_file("job_1/step_0/user/task_1/memory.max", "max\n");
	is_int(isolator_limits.rank(&step, &part[0], 0, "job_1/step_0/user/task_1", &err), 0,
	       "limits: the rank hook succeeds in a step with one container");
	cgroup_read(root, "job_1/step_0/user/task_1", "memory.max", text, sizeof(text), &err);
	is(text, "max", "limits: a rank of a step with one container has no limit of its own");
	is_int(isolator_limits.rank(&both, &part[0], 0, "job_1/step_0/user/task_1", &err), 0,
	       "limits: the rank hook succeeds in a step with two containers");
	cgroup_read(root, "job_1/step_0/user/task_1", "memory.max", text, sizeof(text), &err);
	is(text, "2097152", "limits: each of two ranks of a container gets half of the limit");
	parse_ask("nodeos 1;c=sim ignored=resource/memory memory=1048576;");
	is_int(isolators_outcome(o, &judged), 2,
	       "limits: a pod's limit has no outcome if the container has a limit");
	is(o[1].reason, "the limit of the whole pod is ignored",
	   "limits: the reason of the container's limit says that the pod's limit is ignored");
	parse_ask("nodeos 1;c=sim ignored=power,resource/memory;");
	is_int(isolators_outcome(o, &judged), 3,
	       "limits: a pod's limit has an outcome if the container has no limit");
	ok(o[1].outcome == OUTCOME_IGNORED && strcmp(o[1].reason, "not implemented here") == 0,
	   "limits: an isolator that no container can have is ignored: %s", o[1].reason);
	ok(o[2].outcome == OUTCOME_IGNORED &&
		   strcmp(o[2].reason, "no cgroup holds only the pod's containers") == 0,
	   "limits: a limit of the whole pod is ignored, with the reason: %s", o[2].reason);
}

static void test_guest(void)
{
	struct rank_settings g = { 0 };
	struct isolator_part part = {
		.given = &g, .ask = &request.container[0], .name = "sim", .ranks = 2
	};
	struct isolator_step step = { .step_id = 0, .n = 1, .part = &part };
	struct isolator_node node = { .job_memory = UINT64_C(4) << 30 };
	struct errbuf err = { 0 };
	struct sched_given sched;
	struct conf site;

	conf_defaults(&site);
	step.conf = &site;
	step.job_cpus = &g.cpus;
	site.allow_partitions |= 1u << PARTITION_ROOT;
	parse_ask("nodeos 1;c=sim cpus=2 guest=4096;");
	outcome_sched(&sched, part.ask, &site, true);
	ok(sched.partition == PARTITION_ROOT && sched.for_lwk,
	   "guest: the step is a partition if the site allows it");
	is_int(isolator_guest.possible(&request, &node, &err), -1,
	       "guest: a guest of all of the job's memory is refused: %s", err.text);
	node.job_memory += 1;
	is_int(isolator_guest.possible(&request, &node, &err), 0,
	       "guest: a guest of less than the job's memory is accepted");
	g.number[RANK_NUMBER_GUEST] = (struct rank_value){ true, 4096 };
	g.lwk.memory = 1 << 30;
	is_int(isolator_guest.step(&step, &err), -1,
	       "guest: a rank cannot have a machine (lwk), too: %s", err.text);
	step.step_id = STEP_ID_INTERACTIVE;
	is_int(isolator_guest.step(&step, &err), 0, "guest: the step hook accepts a job script");
	ok(!g.number[RANK_NUMBER_GUEST].set && *g.unlimited,
	   "guest: a job script gets no guest, and the reason is noted: %s", g.unlimited);
}

static void test_lwk(void)
{
	struct rank_settings g = { .limits.thp = THP_UNSET };
	struct isolator_part part = { .given = &g, .ask = &request.container[0] };
	struct isolator_step step = { .step_id = 0 };
	struct isolator_node node = { .job_memory = UINT64_C(1) << 30 };
	struct conf site;
	struct errbuf err = { 0 };
	struct sched_given sched;

	conf_defaults(&site);
	parse_ask("nodeos 1;c=sim cpus=2 lwk=1073741824 lwk_page=1G;");
	is(json_members(write_asked),
	   "{\"cpus\":2,\"lwk\":{\"memory_bytes\":1073741824,\"page\":\"1G\"}}",
	   "lwk: \"asked\" has size and page of the memory");
	ok(isolators_shown(&request), "isolators_shown: true for lwk");
	is_int(isolator_lwk.allowed(part.ask, &site, "f", &err), 0,
	       "lwk: machines are allowed by default");
	site.lwk_max = (UINT64_C(1) << 30) - 1;
	is_int(isolator_lwk.allowed(part.ask, &site, "f", &err), -1,
	       "lwk: an extent above lwk_max is refused");
	ok(strstr(err.text, "1024 MiB") && strstr(err.text, "lwk_max in f"),
	   "lwk: the message has the size and the key: %s", err.text);
	site.lwk_max = 0;
	site.lwk = LWK_NO;
	is_int(isolator_lwk.allowed(part.ask, &site, "f", &err), -1,
	       "lwk: machines are refused with lwk = no");
	is_int(isolator_lwk.possible(&request, &node, &err), -1,
	       "lwk: an extent of all of the job's memory is refused: %s", err.text);
	node.job_memory++;
	is_int(isolator_lwk.possible(&request, &node, &err), 0,
	       "lwk: an extent of less than the job's memory is accepted");
	errclear(&err);
	isolator_lwk.give(&step, &part, &err);
	ok(g.lwk.memory == 1 << 30 && !*g.unlimited,
	   "lwk: a rank of a step of srun gets a machine");
	is_int(isolator_lwk.verify(&g, &(struct isolator_rank){ .number = 5 }, &err), -1,
	       "lwk: verify refuses a rank without an extent: %s", err.text);
	memset(&g.lwk, 0, sizeof(g.lwk));
	step.step_id = STEP_ID_BATCH;
	isolator_lwk.give(&step, &part, &err);
	ok(!g.lwk.memory && *g.unlimited,
	   "lwk: a job script gets no machine, and the reason is noted: %s", g.unlimited);
	outcome_sched(&sched, part.ask, &site, true);
	ok(sched.partition == PARTITION_MEMBER && !sched.for_lwk,
	   "lwk: the step is no partition if the site allows none");
	site.allow_partitions |= 1u << PARTITION_ROOT | 1u << PARTITION_ISOLATED;
	outcome_sched(&sched, part.ask, &site, true);
	ok(sched.partition != PARTITION_MEMBER && sched.for_lwk,
	   "lwk: the step is a partition if the site allows it");
}

static void test_thp(void)
{
	struct isolator_rank rank = { .number = 3 };
	struct rank_settings g = { .limits = { .thp = THP_NEVER } };
	struct errbuf err = { 0 };

	is_int(isolator_thp.verify(&g, &rank, &err), -1,
	       "thp: with \"never\", verify refuses a rank that may have huge pages");
	is_int(isolator_thp.enter(&g, &rank, &err), 0, "thp: a rank can forbid huge pages: %s",
	       err.text);
	is_int(isolator_thp.verify(&g, &rank, &err), 0,
	       "thp: verify accepts a rank that has forbidden huge pages");
	g.limits.thp = THP_ALWAYS;
	is_int(isolator_thp.verify(&g, &rank, &err), -1,
	       "thp: with \"always\", verify refuses a rank that has forbidden huge pages");
	is_int(isolator_thp.enter(&g, &rank, &err), 0, "thp: a rank can allow huge pages again: %s",
	       err.text);
	is_int(isolator_thp.verify(&g, &rank, &err), 0,
	       "thp: verify accepts a rank that has allowed huge pages again");
}

static void test_contention(void)
{
	struct isolator_outcome o[OUTCOMES_MAX];
	struct reported_container reported = { .ask = &request.container[0],
					       .got = &placed,
					       .conf = &conf };
	struct conf before = conf;

	parse_ask("nodeos 1;c=sim cpus=2 contention=observe;");
	is(json_members(write_asked), "{\"cpus\":2,\"contention\":\"observe\"}",
	   "contention: \"asked\" has the requested word");
	ok(strstr(json_members(isolators_report), ",\"contention\":\"observe\"}"),
	   "contention: the report has the word in force");
	is_int(isolators_outcome(o, &reported), 2,
	       "contention: CPUs and contention have one outcome each");
	is(o[1].isolator, "contention", "contention: the outcome is named contention");
	is_int(o[1].outcome, OUTCOME_ENFORCED,
	       "contention: enforced in a dry run, which assumes that the daemon runs");
	reported.node.policy_known = true;
	isolators_outcome(o, &reported);
	if (access(CONTENTION_SOCKET, F_OK) < 0) {
		is_int(o[1].outcome, OUTCOME_IGNORED,
		       "contention: ignored on a node where the daemon does not run");
		is(o[1].reason, "nodeos-contend does not run on this node",
		   "contention: the reason says that the daemon does not run");
	}
	conf.contention.policy = CONTENTION_OBSERVE;
	parse_ask("nodeos 1;c=sim cpus=2 contention=off;");
	ok(strstr(json_members(isolators_report), ",\"contention\":\"off\"}"),
	   "contention: the report of a container with contention=off says off");
	isolators_outcome(o, &reported);
	is_int(o[1].outcome, OUTCOME_ENFORCED, "contention: off is enforced without the daemon");
	parse_ask("nodeos 1;c=sim cpus=2;");
	ok(strstr(json_members(isolators_report), ",\"contention\":\"observe\"}"),
	   "contention: without a request the site's default is in force");
	is_int(isolators_outcome(o, &reported), 1, "contention: the site's default has no outcome");
	conf = before;
	ok(!strstr(json_members(isolators_report), "contention"),
	   "contention: the report has no word if neither site nor user asks for one");
}

static struct rank_settings given[2];
static struct isolator_part part[2];
static struct idset job_cpus, step_cpus;

static struct isolator_step step_of(int root, unsigned n)
{
	static const struct blocks off;

	for (unsigned i = 0; i < n; i++)
		part[i] = (struct isolator_part){ .given = &given[i],
						  .ask = &request.container[i],
						  .plan = &placed,
						  .name = "sim" };
	return (struct isolator_step){ .conf = &conf,
				       .conf_path = "/c",
				       .blocks = &off,
				       .cgroup_fd = root,
				       .user = "job_1/step_0/user",
				       .step_cpus = &step_cpus,
				       .job_cpus = &job_cpus,
				       .job_cgroup = "job_1",
				       .inode = 7,
				       .n = n,
				       .part = part };
}

static void test_partitions(int root)
{
	struct ledger_step other = { .inode = 8, .step_id = 3, .places = (char *)"sim" };
	struct ledger_job job = { .n_steps = 0, .step = &other };
	struct isolator_step s = step_of(root, 1);
	struct errbuf err = { 0 };

	job_cpus = set_of("0-7");
	parse_ask("nodeos 1;c=sim cpus=4 partition=root oom=0;");
	is_int(isolators_give(&s, &part[0], &err), 0, "isolators_give: succeeds for a partition");
	is(list_of(&given[0].cpus), "0-1", "isolators_give: ranks get the CPUs of the plan");
	is_int(given[0].number[RANK_NUMBER_OOM].set, 1,
	       "isolators_give: an oom-score-adj of 0 counts as requested");
	is(list_of(&given[0].partition_cpus), "0-3",
	   "isolators_give: the partition includes idle siblings");
	is_int(isolators_accept(&s, &part[0], &job, &err), 0,
	       "a partition of half of the job's CPUs is accepted");
	job.n_steps = 1;
	is_int(isolators_accept(&s, &part[0], &job, &err), -1,
	       "a second step in a container with a partition is refused");
	is(err.text,
	   "container sim is a root partition, and step 3 runs in it: run one step at a time in it",
	   "the refusal of a second step in a partition names the first step");
	other.places = (char *)"vda";
	is_int(isolators_accept(&s, &part[0], &job, &err), 0,
	       "a step in another container is accepted beside a partition");
	job_cpus = set_of("0-3");
	is_int(isolators_accept(&s, &part[0], &job, &err), -1,
	       "a partition of all of the job's CPUs is refused");
	given[0].for_hpc = true;
	is_int(isolators_accept(&s, &part[0], &job, &err), 0,
	       "a partition of all of the job's CPUs that replaces policy hpc does not fail the "
	       "step");
	is_int(given[0].partition, PARTITION_MEMBER, "a step without its partition is a member");
	is(given[0].no_partition,
	   "policy \"hpc\": container sim: a root partition would take the job's last core on this "
	   "node; leave one core out of all partitions",
	   "the reason says why no partition replaces policy hpc");
	parse_ask("nodeos 1;c=sim policy=hpc;");
	given[0] = (struct rank_settings){ .partition = PARTITION_ROOT,
					   .for_hpc = true,
					   .cpus = set_of("0-3"),
					   .partition_cpus = set_of("0-3") };
	s.wanted = 4;
	isolators_accept(&s, &part[0], &job, &err);
	is_int(given[0].partition, PARTITION_MEMBER,
	       "policy hpc: ranks that need all CPUs of the job get no partition");
	given[0].partition = PARTITION_ROOT;
	*given[0].no_partition = '\0';
	s.wanted = 3;
	isolators_accept(&s, &part[0], &job, &err);
	ok(given[0].partition == PARTITION_ROOT && !*given[0].no_partition,
	   "policy hpc: ranks that need fewer than all CPUs of the job get a partition");
	is(list_of(&given[0].partition_cpus), "1-3",
	   "policy hpc: the job's first CPU stays outside of the partition");
	is(list_of(&given[0].cpus), "1-3", "policy hpc: the ranks have the partition's CPUs");
	job_cpus = set_of("0-7");
	isolators_accept(&s, &part[0], &job, &err);
	is(list_of(&given[0].partition_cpus), "1-3",
	   "policy hpc: no further CPU stays outside if the job has other CPUs");
	given[0].for_hpc = false;
	s.n = 2;
	is_int(isolators_accept(&s, &part[0], &job, &err), -1,
	       "a partition for a step in two places is refused");
	s.step_id = STEP_ID_BATCH;
	is_int(isolators_accept(&s, &part[0], &job, &err), 0,
	       "a batch script in a partition's container is accepted");
	is_int(given[0].partition, PARTITION_MEMBER,
	       "isolators_accept: a batch script becomes no partition");
	ok(*given[0].no_partition,
	   "isolators_accept: gives the reason why a batch script is no partition: %s",
	   given[0].no_partition);
}

static void test_cpus(int root)
{
	struct isolator_step s = step_of(root, 2);
	struct errbuf err = { 0 };
	struct idset now;

	memset(given, 0, sizeof(given));
	given[0].cpus = set_of("0-1");
	given[1].cpus = set_of("6");
	step_cpus = set_of("4-5");
	memset(part, 0, sizeof(part));
	part[0].given = &given[0];
	part[1] = (struct isolator_part){ .given = &given[1], .outside = true };
	is_int(isolators_step(&s, &err), 0,
	       "isolators_step: succeeds with ranks inside and outside: %s", err.text);
	cgroup_read_set(root, "job_1/step_0/user", "cpuset.cpus", &now, &err);
	is(list_of(&now), "0-1,4-6",
	   "isolators_step: the step's directory has its own CPUs and those of all places");
}

struct seen {
	char text[256];
};

static void append_variable(const char *name, const char *value, void *arg)
{
	struct seen *seen = arg;
	size_t used = strlen(seen->text);

	snprintf(seen->text + used, sizeof(seen->text) - used, "%s=%s ", name, value);
}

static void test_variables(void)
{
	struct idset chosen = set_of("3");
	struct isolator_rank rank = { .chosen = &chosen };
	struct rank_settings g = { .mems = set_of("0-1"), .buffer = "/b" };
	struct seen seen = { "" };

	g.kind_mems[MEMORY_HBM] = set_of("1");
	isolators_values(&g, &rank, append_variable, &seen);
	is(seen.text,
	   "NODEOS_CPUS=3 NODEOS_MEMS=0-1 NODEOS_POLICY=other NODEOS_DIMMAP=/b "
	   "NODEOS_MEMS_DRAM= NODEOS_MEMS_HBM=1 NODEOS_MEMS_SPM= NODEOS_MEMS_UNKNOWN= "
	   "NODEOS_MEMS_CXL= NODEOS_MEMS_NVM= NODEOS_MEMS_GPU= NODEOS_LWK= NODEOS_GUEST= ",
	   "a rank's environment variables have the values of its container");
	seen.text[0] = '\0';
	isolators_values(NULL, NULL, append_variable, &seen);
	is(seen.text,
	   "NODEOS_CPUS= NODEOS_MEMS= NODEOS_POLICY= NODEOS_DIMMAP= NODEOS_MEMS_DRAM= "
	   "NODEOS_MEMS_HBM= NODEOS_MEMS_SPM= NODEOS_MEMS_UNKNOWN= NODEOS_MEMS_CXL= "
	   "NODEOS_MEMS_NVM= NODEOS_MEMS_GPU= NODEOS_LWK= NODEOS_GUEST= ",
	   "a rank without a container gets empty environment variables");
}

/*
 * Plan real-time and SCHED_HPC containers beside live containers. RESERVED: the CPUs of a planned
 * container.
 */
static void test_isolator_planned(void)
{
	struct planned_container one = { .name = "sim", .reserved = set_of("0-3") };
	struct planned_container other = { .name = "vda", .reserved = set_of("4-5") };
	struct job_plan plan = { .n = 1, .container = &one };
	struct job_plan before = { .n = 1, .container = &other };
	struct idset node = set_of("0-7"), job_has = set_of("0-3");
	struct ledger_job job = { .plan = &before, .request = (char *)"nodeos 1;c=vda policy=rr;" };
	struct isolator_planning p = { .conf = &conf,
				       .conf_path = "/c",
				       .request = &request,
				       .node_cpus = &node,
				       .job_cpus = &job_has };
	struct errbuf err = { 0 };

	one.cpus = one.reserved;
	parse_ask("nodeos 1;c=sim policy=fifo;");
	is_int(isolators_planned(&p, &plan, &err), -1,
	       "real time on all CPUs of the job is refused");
	is(err.text,
	   "real-time containers would take every core of the job on this node; leave one core "
	   "out of them",
	   "the refusal of real time asks for one core without real time");
	one.reserved = set_of("0-2");
	is_int(isolators_planned(&p, &plan, &err), 0, "real time that leaves one core is accepted");
	job_has = set_of("0-5");
	one.reserved = set_of("0-3");
	is_int(isolators_planned(&p, &plan, &err), 0, "real time that leaves two CPUs is accepted");
	p.job = &job;
	is_int(isolators_planned(&p, &plan, &err), -1,
	       "real time is refused if a real-time container of the job's plan has the two CPUs "
	       "left");
	parse_ask("nodeos 1;c=sim policy=batch;");
	is_int(isolators_planned(&p, &plan, &err), 0,
	       "a container of a fair policy may take every CPU");

	one.cpus = one.reserved = set_of("3-4");
	parse_ask("nodeos 1;c=sim partition=root;");
	p.any_hpc = true;
	p.outside = set_of("3-4");
	is_int(isolators_planned(&p, &plan, &err), 0,
	       "a plan made earlier is not checked against other jobs");
	p.offered = true;
	is_int(isolators_planned(&p, &plan, &err), -1,
	       "a partition on all CPUs that other jobs leave is refused");
	is(err.text,
	   "no CPU of this node would be left outside of policy \"hpc\", real time and "
	   "partitions (with those of other jobs and steps); leave one CPU out for the system",
	   "the refusal of a partition asks for one CPU for the system");
	p.outside = set_of("3-5");
	is_int(isolators_planned(&p, &plan, &err), 0,
	       "a partition that leaves one CPU outside is accepted");
	p.any_hpc = false;
	p.outside = set_of("3-4");
	is_int(isolators_planned(&p, &plan, &err), 0,
	       "without policy hpc no CPU has to stay outside");

	parse_ask("nodeos 1;c=sim policy=batch;");
	p = (struct isolator_planning){ .conf = &conf,
					.request = &request,
					.node_cpus = &node,
					.job_cpus = &job_has,
					.cpus = set_of("0-7") };
	is_int(isolators_offer(&p, &err), 0, "isolators_offer: succeeds for a fair container");
	ok(p.offered && !p.kept, "isolators_offer: marks the plan as new, and withholds no CPU");
	is(list_of(&p.cpus), "0-7", "isolators_offer: offers all CPUs");
	is(list_of(&p.outside), "0-7",
	   "isolators_offer: without live containers all CPUs are outside");
}

static void test_changes(void)
{
	static const struct blocks off;
	struct planned_container before = placed, next = placed;
	struct isolator_change c = { .conf = &conf,
				     .blocks = &off,
				     .ask = &request.container[0],
				     .before = &before,
				     .next = &next,
				     .node_cpus = &job_cpus,
				     .job_cpus = &job_cpus };
	struct errbuf err = { 0 };

	parse_ask("nodeos 1;c=sim cpus=2 mems=2 dimmap=1048576 dimmap_source=/d;");
	before.mems = set_of("0-1");
	next.mems = set_of("0-2");
	is_int(isolators_resize(&c, &err), 0,
	       "resize: a container with a buffer may get more memory nodes: %s", err.text);
	next.mems = set_of("1-2");
	is_int(isolators_resize(&c, &err), -1,
	       "resize: a memory node with a buffer cannot be taken away");
	parse_ask("nodeos 1;c=sim cpus=2 mems=2;");
	is_int(isolators_resize(&c, &err), 0,
	       "resize: a memory node without a buffer may be taken away: %s", err.text);
}

int main(void)
{
	int root;

	scratch_make();
	scratch_dir("job_1/step_0/user");
	scratch_file("job_1/step_0/user/cpuset.cpus", "");
	root = open(scratch, O_PATH | O_DIRECTORY);
	conf_defaults(&conf);
	test_reports();
	test_isolator_site();
	test_oom();
	test_limits(root);
	test_thp();
	test_lwk();
	test_guest();
	test_contention();
	test_partitions(root);
	test_cpus(root);
	test_variables();
	test_isolator_planned();
	test_changes();
	return tap_done();
}
