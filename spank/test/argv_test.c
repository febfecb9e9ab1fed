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

/* Is nothing of ours in LINE? */
static bool plain(const char *line)
{
	struct argv_view v = view(line);

	return !v.names_container && !v.uses_nodeos && !v.off;
}

static void own_options(void)
{
	ok(view("--nodeos-container=vda app").names_container, "--nodeos-container=");
	ok(view("--nodeos-container vda app").names_container,
	   "--nodeos-container, its value in a word of its own");
	ok(view("--nodeos-con vda app").names_container, "--nodeos-container, abbreviated");
	ok(!view("--nodeos-cpus=4 app").names_container, "--nodeos-cpus names no container");
	ok(view("--nodeos-cpus=4 app").uses_nodeos, "--nodeos-cpus makes one");
	ok(view("--nodeos-sched=idle app").uses_nodeos, "--nodeos-sched makes one");
	ok(view("--nodeos-manifest m.json app").uses_nodeos, "--nodeos-manifest makes some");
	ok(!view("--nodeos-report=x app").uses_nodeos, "--nodeos-report makes none");
	ok(view("-n 2 --label -c 2 --cpu-bind cores --nodeos-cpus=4 app").uses_nodeos,
	   "options of ours behind any of srun's");
	ok(view("--nodeos=off app").off, "--nodeos=off");
	ok(view("--nodeos off app").off, "--nodeos off, in two words");
	ok(!view("--nodeos-sched=off app").off, "off as a value of another option");
	ok(!view("--comment off app").off, "off as a value of an option of srun's");
}

static void shapes(void)
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
		ok(!view(other[i]).shapes_step, "%s does not", other[i]);
	ok(!view("--nodeos-container=sim ./app --exclusive").shapes_step,
	   "an argument of the program does not");
	ok(!view("--nodeos-container=sim -- ./app --exclusive").shapes_step, "nor one behind --");
}

/* No grammar: flags, values, abbreviations and words that Slurm adds one day are all the same. */
static void plain_lines(void)
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
		ok(plain(line[i]), "srun %s has no word of ours", line[i]);
	ok(plain("-n 2 -- app --nodeos-cpus=4"), "nor has one with such a word behind --");
	ok(plain(""), "nor an empty one");
}

/* Words behind the program are not srun's, where it is certain which one that is. */
static void arguments(void)
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
		ok(plain(line[i]), "srun %s: the program's own word", line[i]);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		ok(!plain(own[i]), "srun %s: it is srun's, or may be", own[i]);
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

static void exact(void)
{
	is_int(options_len("-n 4 app --async", 3), 5 + 3 + 2, "srun's options, to a byte");
	is_int(options_len("-n4", 2), 5 + 4, "options alone");
	is_int(options_len("app", 1), 5, "no options");
	is_int(options_len("app", 0), -1, "srun has not parsed them");
	is_int(options_len("app", 3), -1, "it counts other words");
	is_int(options_len("-n4 app : -n2 app", 2), -1, "a heterogeneous step");
}

static void others(void)
{
	ok(view("--jobid=28 app").names_job, "--jobid=");
	ok(view("-N1 --jobid 28 app").names_job, "--jobid, its value in a word of its own");
	ok(view("--jobid=28 app").job == 28 && view("--jobid 28 app").job == 28, "its number");
	ok(view("--jobid=28 --jobid=29 app").job == 29, "of two the last counts");
	ok(!view("--jobid=28_1 app").job && !view("--jobid=28+1 app").job && !view("--jobid").job,
	   "what is no plain number has none");
	ok(!view("--job-name=7 app").names_job, "--job-name is another option");
	ok(view("--async app").async && view("--asy app").async, "--async");
	ok(!view("--account=x app").async, "--account is another option");
	ok(view("-n2 coupled.json -x").json, "a word that may be a manifest");
	ok(view("-n2 -- coupled.json").json, "also behind --");
	ok(!view("-n2 app input.jsonl .json").json, "words that are none");
}

int main(void)
{
	own_options();
	shapes();
	plain_lines();
	arguments();
	exact();
	others();
	return tap_done();
}
