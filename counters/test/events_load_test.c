/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters/events_load.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define EVENTS " A\n\tinstructions 0xc0\n\tmisses 0x1\n"

static char etc[128], usr[128];
static const char *dirs[] = { etc, usr, NULL };
static const struct cpu_identity cpu = { .vendor = "Test", .family = 6, .model = 0x6a };

/* Return the result with ROW of nodeos.conf: the name of a row, "none", or the error. */
static const char *find_row(const char *row)
{
	static char text[600];
	const struct events_places places = { .row = row, .dirs = dirs, .owner = getuid() };
	struct events_row out;
	struct errbuf err = { 0 };

	switch (events_load(&out, &places, &cpu, &err)) {
	case 1:
		return strcpy(text, out.name);
	case 0:
		return "none";
	default:
		snprintf(text, sizeof(text), "%s",
			 strncmp(err.text, scratch, strlen(scratch)) == 0
				 ? err.text + strlen(scratch)
				 : err.text);
		return text;
	}
}

static void set_mode(const char *path, mode_t mode)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", scratch, path);
	if (chmod(full, mode) < 0)
		bail("chmod %s", full);
}

static void delete_file(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", scratch, path);
	unlink(full);
}

static void test_order(void)
{
	is(find_row(""), "none", "missing directories have no rows");
	scratch_dir("etc");
	scratch_dir("usr");
	is(find_row(""), "none", "empty directories have no rows");
	scratch_file("usr/b.tab", "Test-6-6A second" EVENTS);
	is(find_row(""), "second", "a row of the installation is found");
	scratch_file("usr/a.tab", "Test-6-6B other" EVENTS "Test-6-6A first" EVENTS);
	is(find_row(""), "first", "files are read in the order of their names");
	scratch_file("etc/z.tab", "Test-6-6C site" EVENTS);
	is(find_row(""), "first", "a site's row for another processor is skipped");
	scratch_file("etc/z.tab", "Test-6-6A first" EVENTS);
	scratch_file("usr/a.tab", "broken");
	is(find_row(""), "first",
	   "a site's row has precedence over the installation's row of the same name");
	scratch_file("usr/a.tab", "Test-6-6A first" EVENTS);
	delete_file("etc/z.tab");
	scratch_file("usr/.hidden.tab", "broken");
	scratch_file("usr/a.tab~", "broken");
	scratch_file("usr/README", "broken");
	is(find_row(""), "first", "other files of the directory are not read");
}

static void test_row_of_conf(void)
{
	is(find_row("Test-6-6A mine B; instructions 0xc0; misses 0x2"), "mine",
	   "a row of nodeos.conf has precedence over all files");
	is(find_row("Test-6-1 mine B; instructions 0xc0; misses 0x2"), "first",
	   "a row of nodeos.conf for another processor is skipped");
	is(find_row("Test-6-6A mine"),
	   "contention_events: line 1, column 15: the clause ends here: expected a quality: A, A-, "
	   "B, B-, C or X",
	   "a wrong row of nodeos.conf is refused");
}

static void test_hostile(void)
{
	char *text = malloc(EVENTS_FILE_MAX + 2), full[256];

	scratch_file("etc/a.tab", "Test-6-6A mine A\n\tmises 0x1\n");
	is(find_row(""),
	   "/etc/a.tab:2:2: \"mises\": expected instructions, misses, remote, sample, note; did "
	   "you mean"
	   " \"misses\"?",
	   "a wrong file is refused by name, line and column");
	scratch_file("etc/a.tab", "Test-6-6A mine" EVENTS);
	set_mode("etc/a.tab", 0664);
	ok(strstr(find_row(""), "group or others can write it"),
	   "a file that its group can write is refused");
	set_mode("etc/a.tab", 0644);
	is(find_row(""), "mine", "a file that all can read is read");
	set_mode("etc", 0777);
	ok(strstr(find_row(""), "/etc: users other than root can change this") == find_row(""),
	   "a directory that all can write to is refused");
	set_mode("etc", 0755);
	memset(text, '#', EVENTS_FILE_MAX + 1);
	text[EVENTS_FILE_MAX + 1] = '\0';
	scratch_file("etc/a.tab", text);
	is(find_row(""), "/etc/a.tab: File too large", "a file above the limit is refused");
	text[EVENTS_FILE_MAX] = '\0';
	scratch_file("etc/a.tab", text);
	is(find_row(""), "first", "a file at the limit is read");
	free(text);
	delete_file("etc/a.tab");
	scratch_dir("etc/a.tab");
	snprintf(full, sizeof(full), "%s/a.tab", etc);
	is(find_row(""), "/etc/a.tab: is not a regular file",
	   "a directory named as a file of events is refused");
	rmdir(full);
}

static void test_owner(void)
{
	char path[256];

	if (getuid() != 0) {
		skip(2, "needs root: files of another user");
		return;
	}
	snprintf(path, sizeof(path), "%s/usr/a.tab", scratch);
	if (chown(path, 12345, 0) < 0)
		bail("chown");
	ok(strstr(find_row(""), "belongs to uid 12345"), "another user's file is refused");
	if (chown(path, 0, 0) < 0 || chown(usr, 12345, 0) < 0)
		bail("chown");
	ok(strstr(find_row(""), "/usr: users other than root can change this") == find_row(""),
	   "another user's directory is refused");
}

int main(void)
{
	scratch_make();
	snprintf(etc, sizeof(etc), "%s/etc", scratch);
	snprintf(usr, sizeof(usr), "%s/usr", scratch);
	test_order();
	test_row_of_conf();
	test_hostile();
	test_owner();
	return tap_done();
}
