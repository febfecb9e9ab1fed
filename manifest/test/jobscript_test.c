/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/jobscript.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"
#include "manifest/app_exec.h"
#include "manifest/manifest.h"

static void extract(const char *text, unsigned lines, const char *want)
{
	char *copy = strdup(text);

	is_int(script_count(text, strlen(text)), lines,
	       "script_count: counts the #NODEOS lines of %.20s", text);
	is_int(script_extract(copy, strlen(copy)), lines,
	       "script_extract: counts the #NODEOS lines of %.20s", text);
	is(copy, want, "script_extract: leaves only the manifest of %.20s", text);
	free(copy);
}

static void test_extraction(void)
{
	extract("#!/bin/sh\n#NODEOS {\n# x\n#NODEOS }\ntrue\n#NODEOS late\n", 2,
		"         \n        {\n   \n        }\n    \n            \n");
	extract("#!/bin/sh\n#NODEOSX {\n #NODEOS {\n#nodeos {\n", 0,
		"         \n          \n          \n         \n");
	extract("#!/bin/sh\n\n\t\n#SBATCH -n1\n#NODEOS\n#NODEOS{}", 2,
		"         \n\n \n           \n       \n       {}");
	extract("", 0, "");
	extract("#NODEOS {}", 1, "        {}");
	is_int(script_stray("#!/bin/sh\n#NODEOS {\n#NODEOS }\ntrue\n# NODEOS is fine\n", 51), 0,
	       "script_stray: returns 0 without a stray line");
	is_int(script_stray("#!/bin/sh\ntrue\n#NODEOS {}\n", 27), 3,
	       "script_stray: finds a #NODEOS line after the first command");
	is_int(script_stray("#!/bin/sh\n# NODEOS {}\ntrue\n", 28), 2,
	       "script_stray: finds a line with a blank before the word");
	ok(script_is("#!", 2) && !script_is("#", 1) && !script_is("{}", 2),
	   "script_is: only \"#!\" begins a script");
}

static const char good[] =
	"#!/bin/bash\n"
	"#SBATCH -N2\n"
	"#NODEOS {\"acKind\":\"ImageManifest\",\"acVersion\":\"0.6.0\",\"name\":\"sim\",\n"
	"#NODEOS  \"app\":{\"isolators\":[\n"
	"# between\n"
	"#NODEOS   {\"name\":\"container\",\"value\":{\"cpus\":%s}}]}}\n"
	"srun true\n";

static void test_manifests(void)
{
	struct errbuf err = { 0 };
	struct request r;
	char text[512];

	snprintf(text, sizeof(text), good, "4");
	is_int(manifest_load(&r, NULL, "job.sh", text, strlen(text), &err), 0,
	       "manifest_load: loads a script's manifest %s", err.text);
	is_int(r.container[0].cpus, 4, "manifest_load: reads cpus of a script's manifest");
	snprintf(text, sizeof(text), good, "\"x\"");
	ok(manifest_load(&r, NULL, "job.sh", text, strlen(text), &err) < 0,
	   "manifest_load: refuses a bad manifest in a script");
	ok(strncmp(err.text, "job.sh:6:47: ", 13) == 0,
	   "manifest_load: line and column are those of the script: %s", err.text);
	ok(manifest_load(&r, NULL, "job.sh", "#!/bin/sh\ntrue\n", 15, &err) < 0,
	   "manifest_load: refuses a script without a manifest");
	is(err.text, "job.sh:1:1: a script without #NODEOS lines before its first command",
	   "manifest_load: the message says that a script has no manifest");
	snprintf(text, sizeof(text), "#!/bin/sh\ntrue\n#NODEOS {}\n");
	ok(manifest_load(&r, NULL, "job.sh", text, strlen(text), &err) < 0,
	   "manifest_load: refuses a manifest after the first command");
	is(err.text, "job.sh:3:1: a script without #NODEOS lines before its first command",
	   "manifest_load: the message has the line that comes too late");
	ok(manifest_load(&r, NULL, "m", "#!", 2, &err) < 0,
	   "manifest_load: refuses a text that is only \"#!\"");
	is(err.text, "m:1:1: a script without #NODEOS lines before its first command",
	   "manifest_load: the message about a text of only \"#!\" has a position");
}

static const char pod[] =
	"{\"acKind\":\"PodManifest\",\"acVersion\":\"0.6.0\",\"apps\":["
	"{\"name\":\"sim\",\"app\":{\"exec\":[\"./a "
	"b\",\"50%\",\"\"],\"workingDirectory\":\"/tmp\","
	"\"environment\":[{\"name\":\"A\",\"value\":\"1 2\\n3\"},{\"name\":\"B\",\"value\":\"\"}],"
	"\"isolators\":[{\"name\":\"container\",\"value\":{\"cpus\":4}}]}},"
	"{\"name\":\"vda\",\"app\":{\"isolators\":[{\"name\":\"container\",\"value\":{\"cpus\":2}}]"
	"}}]}";

static void test_commands(void)
{
	struct manifest_info info;
	struct errbuf err = { 0 };
	struct app_exec x;
	struct request r;

	is_int(manifest_load(&r, &info, "m", pod, strlen(pod), &err), 0,
	       "manifest_load: loads a pod %s", err.text);
	is(info.apps, "sim d=/tmp e=A=1%202%0A3 e=B= x=./a%20b x=50%25 x=\n",
	   "manifest_load: only the app with exec has a command");
	info.apps[strlen(info.apps) - 1] = '\0';
	is_int(app_exec_parse(&x, info.apps + 4, &err), 0,
	       "app_exec_parse: parses the command of an app %s", err.text);
	ok(x.n_words == 3 && x.n_env == 2, "app_exec_parse: counts three words and two variables");
	is(x.word[0], "./a b", "app_exec_parse: decodes a word with a blank");
	is(x.word[1], "50%", "app_exec_parse: decodes a word with a percent sign");
	is(x.word[2], "", "app_exec_parse: decodes an empty word");
	ok(!x.word[3], "app_exec_parse: puts NULL after the last word");
	is(x.env[0], "A=1 2\n3", "app_exec_parse: decodes a variable with a newline");
	is(x.dir, "/tmp", "app_exec_parse: decodes the directory");
	app_exec_free(&x);
	free(info.apps);
}

static void test_damage(void)
{
	static const char *const bad[] = { "",	      "x",	  "x=%",
					   "x=%2",    "x=%zz",	  "x=%00",
					   "y=a x=b", "e=A x=b",  "d=/a d=/b x=c",
					   "d=/tmp",  "x=a  x=b", " x=a" };
	static char longest[APP_EXEC_MAX + 1];
	struct errbuf err;
	struct app_exec x;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(app_exec_parse(&x, bad[i], &err) < 0, "app_exec_parse: refuses damaged \"%s\"",
		   bad[i]);
	memset(longest, 'a', APP_EXEC_MAX);
	ok(app_exec_parse(&x, longest, &err) < 0 && strstr(err.text, "more than"),
	   "app_exec_parse: refuses a text that is too long: %s", err.text);
}

int main(void)
{
	test_extraction();
	test_manifests();
	test_commands();
	test_damage();
	return tap_done();
}
