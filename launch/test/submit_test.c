/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/submit.h"

#include <fcntl.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static void test_wishes(void)
{
	static const struct {
		struct submit_wish wish;
		const char *words; /* text in the message */
	} bad[] = {
		{ { .cpus = "0" }, "--nodeos-cpus=0: expected a number of hardware threads" },
		{ { .cpus = "+4" }, "--nodeos-cpus=+4" },
		{ { .cpus = "4x" }, "--nodeos-cpus=4x" },
		{ { .cpus = "99999999999999999999" }, "--nodeos-cpus=9999" },
		{ { .cpus = "" }, "--nodeos-cpus=" },
		{ { .mems = "many" }, "--nodeos-mems" },
		{ { .placement = "spread:core" }, "--nodeos-placement" },
		{ { .limits = "memory:1" }, "--nodeos-limits" },
		{ { .lwk = "4G,page=4K" }, "--nodeos-lwk" },
		{ { .guest = "56M" }, "--nodeos-guest" },
		{ { .guest = "68M" }, "--nodeos-guest" },
		{ { .guest = "4" }, "--nodeos-guest" },
		{ { .guest = "17T" }, "--nodeos-guest" },
		{ { .sched = "fast" }, "--nodeos-sched" },
		{ { .sched = "fifo:100" }, "--nodeos-sched" },
	};
	const struct submit_wish all = {
		.cpus = "8",
		.mems = "2",
		.placement = "spread:numa",
		.limits = "memory:1G,thp:never",
		.lwk = "2G,page=1G",
		.guest = "4G",
		.sched = "hpc",
		.contention = "observe",
	};
	struct errbuf err = { 0 };
	struct request r;

	is_int(submit_request(&r, "step", &all, &err), 0, "submit_request: accepts all options: %s",
	       err.text);
	ok(r.n == 1 && r.container[0].cpus == 8 && r.container[0].mems == 2,
	   "submit_request: makes one container of all options");
	is_int(r.container[0].contention, CONTENTION_OBSERVE,
	       "submit_request: sets policy observe of contention");
	is_int(r.container[0].placement, PLACEMENT_SPREAD_NUMA,
	       "submit_request: sets placement spread-numa");
	ok(r.container[0].limits.memory == 1u << 30 && r.container[0].limits.thp == THP_NEVER,
	   "submit_request: sets the limits");
	ok(r.container[0].lwk.memory == UINT64_C(2) << 30 && r.container[0].lwk.page == LWK_PAGE_1G,
	   "submit_request: sets memory and page size of the ranks' machines");
	ok(r.container[0].number[RANK_NUMBER_GUEST].set &&
		   r.container[0].number[RANK_NUMBER_GUEST].value == 4096,
	   "submit_request: sets the guest's memory in MiB");
	is(r.container[0].name, "step", "submit_request: gives the container its name");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(submit_request(&r, "job", &bad[i].wish, &err), -1,
		       "submit_request: refuses %s", bad[i].words);
		ok(strstr(err.text, bad[i].words) != NULL,
		   "submit_request: the message names the option: %s", err.text);
	}
}

static void test_submit_site(void)
{
	struct request r = {
		.n = 2, .container = { { .name = "sim", .cpus = 2 }, { .name = "vda", .cpus = 2 } }
	};
	struct errbuf err = { 0 };
	char path[64] = "/tmp/submit_test.XXXXXX";
	int fd = mkstemp(path);

	ok(fd >= 0 && dprintf(fd, "max_containers = 1\n") > 0 && fchmod(fd, 0644) == 0,
	   "the test can write max_containers to nodeos.conf");
	close(fd);
	is_int(submit_check_site(&r, path, &err), -1, "submit_check_site: refuses two containers");
	if (geteuid() == 0)
		ok(strstr(err.text, "2 containers are requested, at most 1") &&
			   strstr(err.text, path),
		   "submit_check_site: the message names the file: %s", err.text);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ok(fd >= 0 && dprintf(fd, "allow_mems = no\nallow_cpus = accounts: a\n") > 0,
	   "the test can write allow_mems and allow_cpus to nodeos.conf");
	close(fd);
	if (geteuid() == 0) {
		is_int(submit_check_site(&r, path, &err), 0,
		       "submit_check_site: accepts a request without memory nodes, because nodes "
		       "check the account: %s",
		       err.text);
		r.container[1].mems_kind = MEMS_COUNT;
		r.container[1].mems = 1;
		ok(submit_check_site(&r, path, &err) == -1 &&
			   strstr(err.text, "container vda: mems is not allowed"),
		   "submit_check_site: refuses a request with memory nodes: %s", err.text);
	}
	is_int(submit_check_contention("off", path, &err), 0,
	       "submit_check_contention: accepts off at every site");
	is_int(submit_check_contention("devil", path, &err), -1,
	       "submit_check_contention: refuses another word");
	is(err.text, "--nodeos-contention=devil: expected one of observe, dino, di, spread, off",
	   "submit_check_contention: the message lists the words");
	if (geteuid() == 0) {
		is_int(submit_check_contention("observe", path, &err), 0,
		       "submit_check_contention: accepts observe %s", err.text);
		fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		dprintf(fd, "allow_contention = no\n");
		close(fd);
		is_int(submit_check_contention("observe", path, &err), -1,
		       "submit_check_contention: refuses observe with allow_contention = no");
		ok(strstr(err.text, "--nodeos-contention: contention is not allowed at this site "
				    "(allow_contention in ") != NULL,
		   "submit_check_contention: the message names the key: %s", err.text);
	}
	unlink(path);
}

static void test_submit_names(void)
{
	const struct request r = {
		.n = 2, .container = { { .name = "sim", .cpus = 2 }, { .name = "vda", .cpus = 2 } }
	};
	struct errbuf err = { 0 };

	is_int(submit_check_container(&r, NULL, true, false, &err), 0,
	       "submit_check_container: accepts a step without --nodeos-container");
	is_int(submit_check_container(&r, "vda", true, false, &err), 0,
	       "submit_check_container: accepts a container of the manifest: %s", err.text);
	is_int(submit_check_container(&r, "vad", true, false, &err), -1,
	       "submit_check_container: refuses a container outside of the manifest");
	ok(strstr(err.text, "sim") && strstr(err.text, "vda"),
	   "submit_check_container: the message lists the containers: %s", err.text);
	is_int(submit_check_container(NULL, "sim", true, false, &err), 0,
	       "submit_check_container: accepts any name if the job's containers are not known "
	       "here");
	is_int(submit_check_container(NULL, "sim", true, true, &err), -1,
	       "submit_check_container: refuses a name for a new job without containers");
	is_int(submit_check_container(NULL, "none", true, true, &err), 0,
	       "submit_check_container: accepts \"none\" for a new job without containers");
	is_int(submit_check_container(&r, "sim:0,vda:1", false, false, &err), -1,
	       "submit_check_container: refuses containers by rank for sbatch and salloc");
	ok(strstr(err.text, "give this option to srun") != NULL,
	   "submit_check_container: the message refers to srun: %s", err.text);
}

static void test_components(void)
{
	const char *const name[] = { "nodeos-cpus", "nodeos-mems" };
	const char *const one[] = { "2", NULL }, *const other[] = { "4", NULL },
			  *const more[] = { "2", "1" };
	struct submit_component c = { 0 };
	struct errbuf err = { 0 };

	is_int(submit_same_options(&c, one, name, 2, &err), 0,
	       "submit_same_options: accepts any values of the first component");
	is_int(submit_same_options(&c, one, name, 2, &err), 0,
	       "submit_same_options: accepts the same values of a second component");
	is_int(submit_same_options(&c, other, name, 2, &err), -1,
	       "submit_same_options: refuses another value of a second component");
	ok(strstr(err.text, "--nodeos-cpus differs") != NULL,
	   "submit_same_options: the message names the option: %s", err.text);
	is_int(submit_same_options(&c, more, name, 2, &err), -1,
	       "submit_same_options: refuses an option that the first component lacks");
	free(c.first[0]);
}

int main(void)
{
	test_wishes();
	test_submit_site();
	test_submit_names();
	test_components();
	return tap_done();
}
