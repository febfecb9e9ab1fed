/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/submit.h"

#include <fcntl.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static void wishes(void)
{
	static const struct {
		struct submit_wish wish;
		const char *words; /* in the message */
	} bad[] = {
		{ { .cpus = "0" }, "--nodeos-cpus=0: expected a number of hardware threads" },
		{ { .cpus = "+4" }, "--nodeos-cpus=+4" },
		{ { .cpus = "4x" }, "--nodeos-cpus=4x" },
		{ { .cpus = "99999999999999999999" }, "--nodeos-cpus=9999" },
		{ { .cpus = "" }, "--nodeos-cpus=" },
		{ { .mems = "many" }, "--nodeos-mems" },
		{ { .sched = "fast" }, "--nodeos-sched" },
		{ { .sched = "fifo:100" }, "--nodeos-sched" },
	};
	const struct submit_wish all = { .cpus = "8", .mems = "2", .sched = "hpc" };
	struct errbuf err = { 0 };
	struct request r;

	is_int(submit_request(&r, "step", &all, &err), 0, "all three options: %s", err.text);
	ok(r.n == 1 && r.container[0].cpus == 8 && r.container[0].mems == 2, "make one container");
	is(r.container[0].name, "step", "with the name that is given");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(submit_request(&r, "job", &bad[i].wish, &err), -1, "%s is refused",
		       bad[i].words);
		ok(strstr(err.text, bad[i].words) != NULL, "by its name: %s", err.text);
	}
}

static void site(void)
{
	struct request r = {
		.n = 2, .container = { { .name = "sim", .cpus = 2 }, { .name = "vda", .cpus = 2 } }
	};
	struct errbuf err = { 0 };
	char path[64] = "/tmp/submit_test.XXXXXX";
	int fd = mkstemp(path);

	ok(fd >= 0 && dprintf(fd, "max_containers = 1\n") > 0 && fchmod(fd, 0644) == 0,
	   "a site with one container a job");
	close(fd);
	is_int(submit_check_site(&r, path, &err), -1, "refuses two");
	if (geteuid() == 0)
		ok(strstr(err.text, "2 containers, at most 1") && strstr(err.text, path),
		   "and names the file: %s", err.text);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ok(fd >= 0 && dprintf(fd, "allow_mems = no\nallow_cpus = accounts: a\n") > 0,
	   "a site without memory nodes, and cpus by account");
	close(fd);
	if (geteuid() == 0) {
		is_int(submit_check_site(&r, path, &err), 0,
		       "allows what is not asked for, and leaves the account to the nodes: %s",
		       err.text);
		r.container[1].mems_kind = MEMS_COUNT;
		r.container[1].mems = 1;
		ok(submit_check_site(&r, path, &err) == -1 &&
			   strstr(err.text, "container vda: mems is not allowed"),
		   "and refuses what is: %s", err.text);
	}
	unlink(path);
}

static void names(void)
{
	const struct request r = {
		.n = 2, .container = { { .name = "sim", .cpus = 2 }, { .name = "vda", .cpus = 2 } }
	};
	struct errbuf err = { 0 };

	is_int(submit_check_container(&r, NULL, true, false, &err), 0, "no --nodeos-container");
	is_int(submit_check_container(&r, "vda", true, false, &err), 0, "one of the manifest's: %s",
	       err.text);
	is_int(submit_check_container(&r, "vad", true, false, &err), -1, "another");
	ok(strstr(err.text, "sim") && strstr(err.text, "vda"),
	   "the message has those that there are: %s", err.text);
	is_int(submit_check_container(NULL, "sim", true, false, &err), 0,
	       "of a job whose containers only its nodes know");
	is_int(submit_check_container(NULL, "sim", true, true, &err), -1,
	       "of a new job, which has none");
	is_int(submit_check_container(NULL, "none", true, true, &err), 0, "but none");
	is_int(submit_check_container(&r, "sim:0,vda:1", false, false, &err), -1,
	       "containers by rank are for srun alone");
	ok(strstr(err.text, "say this to srun") != NULL, "which the message says: %s", err.text);
}

static void components(void)
{
	const char *const name[] = { "nodeos-cpus", "nodeos-mems" };
	const char *const one[] = { "2", NULL }, *const other[] = { "4", NULL },
			  *const more[] = { "2", "1" };
	struct submit_component c = { 0 };
	struct errbuf err = { 0 };

	is_int(submit_same_options(&c, one, name, 2, &err), 0,
	       "a first component says what it likes");
	is_int(submit_same_options(&c, one, name, 2, &err), 0, "a second one the same");
	is_int(submit_same_options(&c, other, name, 2, &err), -1, "another value is refused");
	ok(strstr(err.text, "--nodeos-cpus differs") != NULL, "by its name: %s", err.text);
	is_int(submit_same_options(&c, more, name, 2, &err), -1,
	       "an option that the first has not, too");
	free(c.first[0]);
}

int main(void)
{
	wishes();
	site();
	names();
	components();
	return tap_done();
}
