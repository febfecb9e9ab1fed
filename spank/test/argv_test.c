/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/argv.h"

#include "topology/test/tap.h"

static struct argv_view view(const char *line)
{
	struct argv_view v;
	static char text[256];
	int len = snprintf(text, sizeof(text), "srun %s", line) + 1;

	for (int i = 0; i < len; i++)
		if (text[i] == ' ')
			text[i] = '\0';
	argv_view_make(&v, text, len);
	return v;
}

int main(void)
{
	ok(!view("-n 4 app").names_container, "a plain srun");
	ok(view("--nodeos-container=vda app").names_container, "--nodeos-container=");
	ok(view("--nodeos-container vda app").names_container, "--nodeos-container, value apart");
	ok(view("--nodeos-con vda app").names_container, "abbreviated");
	ok(!view("--nodeos-cpus=4 app").names_container, "--nodeos-cpus is another option");
	ok(view("--nodeos-cpus=4 app").uses_nodeos, "which makes a container");
	ok(view("--nodeos-sched=idle app").uses_nodeos, "as --nodeos-sched does");
	ok(!view("--nodeos=off app").uses_nodeos, "--nodeos=off does not");
	ok(!view("--nodeos-report=x app").uses_nodeos, "nor does --nodeos-report");
	ok(view("--exact app").shapes_step, "--exact");
	ok(view("--exclusive app").shapes_step, "--exclusive");
	ok(view("--overlap app").shapes_step, "--overlap");
	ok(view("--gres=gpu:1 app").shapes_step, "--gres");
	ok(view("--gpus-per-task=1 app").shapes_step, "--gpus-per-task");
	ok(view("-G 1 app").shapes_step, "-G");
	ok(!view("-n4 -c2 --export=ALL app").shapes_step, "--export is not --exact");
	ok(!view("--job-name=7 app").job, "--job-name is no --jobid");
	is(view("--jobid=28 app").job, "28", "--jobid=");
	is(view("-N1 --jobid 28 app").job, "28", "--jobid, value apart");
	ok(view("-K app").kill_given, "-K");
	ok(view("--kill-on-bad-exit=0 app").kill_given, "--kill-on-bad-exit");
	ok(!view("-n 2 --nodeos-container=sim ./app -K 5").kill_given, "the program's own -K");
	ok(!view("-N2 --nodeos-container=sim ./app --exclusive -G 1").shapes_step, "the program's own --exclusive");
	ok(!view("--label ./app --nodeos-cpus=4").uses_nodeos, "the program's own --nodeos-cpus, behind a flag");
	ok(!view("-N2 -n4 app --nodeos-cpus=4").uses_nodeos, "behind values that need no word");
	ok(!view("-n 2 -- --nodeos-cpus=4").uses_nodeos, "behind --");
	ok(view("-n 2 -c 2 --cpu-bind cores --nodeos-cpus=4 app").uses_nodeos, "behind values apart");
	ok(view("--nodeos=off app").off, "--nodeos=off");
	ok(!view("--nodeos-sched=off app").off, "which is no value of another option");
	ok(view("--nodeos off app").off, "--nodeos off, in two words");
	ok(!view("--comment off app").off, "not another option's value");
	ok(view("-n2 --multi-prog map.json").multi_prog, "--multi-prog");
	is(view("-vo out.json ./app").program, "./app", "short options in one word, the last with a value");
	is(view("-lO out.json ./app").program, "out.json", "flags in one word");
	is(view("-n4 out.json ./app").program, "out.json", "a value in its option's word");
	is(view("-n 2 -c2 --label coupled.json -x").program, "coupled.json", "the program");
	is(view("-n 2 -- coupled.json -x").program, "coupled.json", "the program behind --");
	ok(!view("-n 2 --").program, "no program behind --");
	ok(!view("-n 2").program, "no program at all");
	return tap_done();
}
