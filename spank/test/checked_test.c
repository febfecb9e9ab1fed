/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Check which words in the place of srun's program are manifests. */
#include "spank/checked.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/tap.h"

static void put(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(name, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0 || chmod(name, mode) < 0)
		bail("cannot write %s", name);
}

int main(void)
{
	static const struct {
		const char *name, *text;
		mode_t mode;
		bool manifest;
		const char *what;
	} file[] = {
		{ "m.json", "{\"acKind\": \"PodManifest\"}\n", 0644, true,
		  "a JSON object with an acKind" },
		{ "blank.json", " \n\t{ \"acKind\": \"PodManifest\" }\n", 0644, true,
		  "a JSON object with an acKind, after blanks" },
		{ "broken.json", "{\"acKind\": broken", 0644, true,
		  "a broken object, whose mistake is then reported," },
		{ "share.json", "{\"acKind\": \"PodManifest\"}", 0755, true,
		  "a manifest that the file system marks as executable" },
		{ "script.json", "#!/bin/sh\necho {\n", 0755, false, "a script" },
		{ "script2.json", "#!/bin/sh\n", 0644, false, "a script that cannot be executed" },
		{ "data.json", "{\"a\": 1}\n", 0644, false, "a JSON object of another kind" },
		{ "list.json", "[1]\n", 0644, false, "a JSON array" },
		{ "multi.json", "0 {\n", 0644, false, "a list of programs (srun --multi-prog)" },
		{ "empty.json", "", 0644, false, "an empty file" },
		{ "m.txt", "{\"acKind\": \"PodManifest\"}", 0644, false,
		  "an object in a file of another name" },
		{ ".json", "{\"acKind\": \"PodManifest\"}", 0644, false,
		  "a file whose name is only the suffix" },
	};
	char dir[] = "/tmp/nodeos-checked-XXXXXX", bin[64];

	if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("bin", 0755) < 0 ||
	    mkdir("dir.json", 0755) < 0)
		bail("mkdtemp");
	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		put(file[i].name, file[i].text, file[i].mode);
		ok(checked_is_manifest(file[i].name) == file[i].manifest, "%s %s", file[i].what,
		   file[i].manifest ? "is a manifest" : "is a program");
	}
	ok(!checked_is_manifest("dir.json"), "a directory is no manifest");
	ok(!checked_is_manifest("nowhere.json"), "a file that does not exist here is a program");
	ok(!checked_is_manifest(""), "an empty name is a program");
	put("bin/m.json", "#!/bin/sh\n", 0755);
	snprintf(bin, sizeof(bin), "/usr/bin:%s/bin", dir);
	setenv("PATH", bin, 1);
	ok(!checked_is_manifest("m.json"),
	   "a program in PATH precedes a manifest in the directory");
	ok(checked_is_manifest("./m.json"), "a manifest named with ./ precedes a program in PATH");
	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++)
		unlink(file[i].name);
	unlink("bin/m.json");
	rmdir("bin");
	rmdir("dir.json");
	if (chdir("/") == 0)
		rmdir(dir);
	return tap_done();
}
