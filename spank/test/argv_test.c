/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/argv.h"

#include "base/test/tap.h"

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

/* Does LINE have no option of NodeOS? */
static bool plain(const char *line)
{
	struct argv_view v = view(line);

	return !v.names_container && !v.uses_nodeos && !v.off;
}

static void test_own_options(void)
{
	ok(view("--nodeos-container=vda app").names_container,
	   "argv_view: --nodeos-container= is found");
	ok(view("--nodeos-container vda app").names_container,
	   "argv_view: --nodeos-container with its value in the next word is found");
	ok(view("--nodeos-conta vda app").names_container,
	   "argv_view: --nodeos-container abbreviated is found");
	ok(!view("--nodeos-cpus=4 app").names_container,
	   "argv_view: --nodeos-cpus names no container");
	ok(view("--nodeos-cpus=4 app").uses_nodeos, "argv_view: --nodeos-cpus makes a container");
	ok(view("--nodeos-sched=idle app").uses_nodeos,
	   "argv_view: --nodeos-sched makes a container");
	ok(view("--nodeos-limits=memory:1G app").limits &&
		   view("--nodeos-limits=memory:1G app").uses_nodeos,
	   "argv_view: --nodeos-limits makes a container");
	ok(view("--nodeos-lwk=4G app").lwk && view("--nodeos-lwk=4G app").uses_nodeos,
	   "argv_view: --nodeos-lwk makes a container");
	ok(view("--nodeos-guest=4G app").guest && view("--nodeos-guest=4G app").uses_nodeos,
	   "argv_view: --nodeos-guest makes a container");
	ok(!view("--nodeos-lwk app --nodeos-cpus=4").cpus,
	   "argv_view: the word after --nodeos-lwk is not its value");
	ok(view("--nodeos-manifest m.json app").uses_nodeos,
	   "argv_view: --nodeos-manifest makes containers");
	ok(view("--nodeos-contention=observe app").names_contention &&
		   view("--nodeos-conte off app").names_contention,
	   "argv_view: --nodeos-contention is found, also abbreviated");
	ok(!view("--nodeos-contention=observe app").uses_nodeos &&
		   !view("--nodeos-contention=observe app").names_container &&
		   !view("--nodeos-container=a app").names_contention,
	   "argv_view: --nodeos-contention makes and names no container");
	ok(!view("--nodeos-report=x app").uses_nodeos,
	   "argv_view: --nodeos-report makes no container");
	ok(view("-n 2 --label -c 2 --cpu-bind cores --nodeos-cpus=4 app").uses_nodeos,
	   "argv_view: our options are found after any options of srun");
	ok(view("--nodeos=off app").off, "argv_view: --nodeos=off is found");
	ok(view("--nodeos off app").off, "argv_view: --nodeos off in two words is found");
	ok(!view("--nodeos-sched=off app").off,
	   "argv_view: off as the value of another option of ours does not count");
	ok(!view("--comment off app").off,
	   "argv_view: off as the value of an option of srun's does not count");
}

static void test_argv_shapes(void)
{
	static const char *const shaping[] = {
		"--exact",	     "--exa",	"--exclusive",	"--excl",
		"--overlap",	     "--overl", "--gres=gpu:1", "--gres gpu:1",
		"--gpus-per-task=1", "-G 1",	"-G1",		"--tres-per-task=gres/gpu:1",
	};
	static const char *const other[] = { "--export=ALL", "-n4 -c2", "--ex", "--gid=1",
					     "--threads-per-core=1" };

	for (size_t i = 0; i < sizeof(shaping) / sizeof(shaping[0]); i++)
		ok(view(shaping[i]).shapes_step, "%s shapes the step", shaping[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		ok(!view(other[i]).shapes_step, "%s does not shape the step", other[i]);
	ok(!view("--nodeos-container=sim ./app --exclusive").shapes_step,
	   "an argument of the program does not shape the step");
	ok(!view("--nodeos-container=sim -- ./app --exclusive").shapes_step,
	   "an argument after -- does not shape the step");
}

/*
 * Lines without options of NodeOS. The search knows no grammar of srun: it treats flags, values,
 * abbreviations and options of later Slurm releases alike.
 */
static void test_plain_lines(void)
{
	static const char *const line[] = {
		"-n 4 app",
		"--bcast ./app input.json",
		"--preserve-env ./app input.json",
		"--immediate ./app input.json",
		"--unbuff ./app input.json",
		"--test-only ./app input.json",
		"--hold ./app --exclusive",
		"--multi-prog map.json",
		"--some-option-to-come ./app input.json",
		"-vlO out.json ./app",
	};

	for (size_t i = 0; i < sizeof(line) / sizeof(line[0]); i++)
		ok(plain(line[i]), "srun %s has no option of NodeOS", line[i]);
	ok(plain("-n 2 -- app --nodeos-cpus=4"),
	   "an option of ours after -- belongs to the program");
	ok(plain(""), "an empty command line has no option of NodeOS");
}

/* Words after the program are not options of srun, if it is certain which word is the program. */
static void test_argv_arguments(void)
{
	static const char *const line[] = {
		"app --nodeos-cpus=4",
		"-n4 app --nodeos-cpus=4",
		"-n 4 app --nodeos-cpus=4",
		"--async app --nodeos-cpus=4",
		"--ntasks=4 app --nodeos-cpus=4",
		"--overlap --async --parsable app --nodeos-cpus=4",
		"-n4 -- app --nodeos-cpus=4",
		"--label -- app --nodeos-cpus=4",
		"-lN2 app --nodeos=off",
	};
	static const char *const own[] = {
		"--comment app --nodeos-cpus=4 app", "-lJ app --nodeos-cpus=4 app",
		"-J : --nodeos-cpus=4 app",	     "-n1 app : --nodeos-cpus=4 app",
		"-n1 -- app : --nodeos-cpus=4 app",  "--comment -- --nodeos-cpus=4 app",
		"-i - --nodeos-cpus=4 app",	     "--label app --nodeos-cpus=4",
	};

	for (size_t i = 0; i < sizeof(line) / sizeof(line[0]); i++)
		ok(plain(line[i]), "srun %s: the option belongs to the program", line[i]);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		ok(!plain(own[i]), "srun %s: the option may belong to srun", own[i]);
}

static int options_len(const char *line, int options)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "srun %s", line) + 1;

	for (int i = 0; i < len; i++)
		if (text[i] == ' ')
			text[i] = '\0';
	return argv_options_len(text, len, options);
}

static void test_argv_exact(void)
{
	is_int(options_len("-n 4 app --async", 3), 5 + 3 + 2,
	       "argv_options_len: gives the exact length of srun's options");
	is_int(options_len("-n4", 2), 5 + 4,
	       "argv_options_len: gives the length of options without a program");
	is_int(options_len("app", 1), 5,
	       "argv_options_len: gives the length of srun's name without options");
	is_int(options_len("app", 0), -1,
	       "argv_options_len: the length is unknown before srun has parsed its options");
	is_int(options_len("app", 3), -1,
	       "argv_options_len: the length is unknown if srun has more words than the command "
	       "line");
	is_int(options_len("-n4 app : -n2 app", 2), -1,
	       "argv_options_len: the length is unknown for a heterogeneous step");
}

static void test_argv_others(void)
{
	ok(view("--jobid=28 app").names_job, "argv_view: --jobid= is found");
	ok(view("-N1 --jobid 28 app").names_job,
	   "argv_view: --jobid with its value in the next word is found");
	ok(view("--jobid=28 app").job == 28 && view("--jobid 28 app").job == 28,
	   "argv_view: --jobid gives the job's number");
	ok(view("--jobid=28 --jobid=29 app").job == 29,
	   "argv_view: the last of two --jobid counts");
	ok(!view("--jobid=28_1 app").job && !view("--jobid=28+1 app").job && !view("--jobid").job,
	   "argv_view: a --jobid that is no plain number gives no job");
	ok(!view("--job-name=7 app").names_job, "argv_view: --job-name is not taken for --jobid");
	ok(view("--async app").async && view("--asy app").async, "argv_view: --async is found");
	ok(!view("--account=x app").async, "argv_view: --account is not taken for --async");
	ok(view("-n2 coupled.json -x").json,
	   "argv_view: a word that ends in .json may be a manifest");
	ok(view("-n2 -- coupled.json").json,
	   "argv_view: a word after -- that ends in .json may be a manifest");
	ok(!view("-n2 app input.jsonl .json").json,
	   "argv_view: words that do not end in .json are no manifests");
}

int main(void)
{
	test_own_options();
	test_argv_shapes();
	test_plain_lines();
	test_argv_arguments();
	test_argv_exact();
	test_argv_others();
	return tap_done();
}
