/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_site.h"

#include <string.h>

#include "base/test/tap.h"

static void test_resize_site_mems(void)
{
	struct errbuf err = { 0 };
	struct conf conf;

	conf_defaults(&conf);
	is_int(resize_check_mems(&conf, "/c", &err), -1,
	       "resize_check_mems: refuses changes by default");
	ok(strstr(err.text, "(resize_mems in /c)") != NULL,
	   "resize_check_mems: the message names the key: %s", err.text);
	conf.resize_mems = true;
	is_int(resize_check_mems(&conf, "/c", &err), 0,
	       "resize_check_mems: allows changes with resize_mems = yes");
}

static void test_resize_site_users(void)
{
	static const struct {
		const char *conf;
		uid_t uid;
		bool cpus, mems;
		int want;
	} row[] = {
		{ "", 1001, true, true, 0 },
		{ "allow_mems = users: 1001", 1001, true, true, 0 },
		{ "allow_mems = users: 1001", 1002, false, true, -1 },
		{ "allow_mems = users: 1001", 1002, true, false, 0 },
		{ "allow_cpus = users: 1001", 1002, true, false, -1 },
		{ "allow_cpus = users: 1001", 1002, false, true, 0 },
		{ "allow_cpus = users: 1001", 0, true, false, -1 },
		{ "allow_cpus = no", 1001, true, false, -1 },
		{ "allow_cpus = accounts: a", 1001, true, false, 0 },
		{ "allow_mems = partitions: p", 1001, false, true, 0 },
		{ "allow_sched = no", 1001, true, true, 0 },
	};
	struct errbuf err = { 0 };
	struct conf conf;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (conf_parse(&conf, "/c", row[i].conf, strlen(row[i].conf), &err) < 0)
			bail("%s", err.text);
		is_int(resize_check_user(&conf, "/c", row[i].uid, row[i].cpus, row[i].mems, &err),
		       row[i].want, "uid %u %s change%s%s with \"%s\"", (unsigned)row[i].uid,
		       row[i].want ? "may not" : "may", row[i].cpus ? " CPUs" : "",
		       row[i].mems ? " memory nodes" : "", row[i].conf);
	}
	conf_parse(&conf, "/c", row[2].conf, strlen(row[2].conf), &err);
	resize_check_user(&conf, "/c", 1002, false, true, &err);
	ok(strstr(err.text, "mems is only for users 1001") &&
		   strstr(err.text, "(allow_mems in /c)"),
	   "resize_check_user: the message names list and key: %s", err.text);
}

static void test_launched(void)
{
	static const struct {
		const char *conf;
		enum mems_kind kind;
		int want;
	} row[] = {
		{ "", MEMS_UNSET, 0 },
		{ "allow_mems = users: 1001", MEMS_UNSET, 0 },
		{ "allow_mems = accounts: a", MEMS_UNSET, -1 },
		{ "allow_mems = accounts: a", MEMS_COUNT, 0 },
		{ "allow_mems = accounts: a", MEMS_SIZE, 0 },
		{ "allow_mems = partitions: p", MEMS_UNSET, -1 },
		{ "allow_mems = partitions: p", MEMS_COUNT, 0 },
		{ "allow_cpus = accounts: a", MEMS_UNSET, 0 },
	};
	struct requested_container ask = { .name = "sim", .cpus = 2 };
	struct errbuf err = { 0 };
	struct conf conf;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (conf_parse(&conf, "/c", row[i].conf, strlen(row[i].conf), &err) < 0)
			bail("%s", err.text);
		ask.mems_kind = row[i].kind;
		is_int(resize_check_launched(&conf, "/c", &ask, &err), row[i].want,
		       "a container launched with%s memory nodes %s get new ones with \"%s\"",
		       row[i].kind == MEMS_UNSET ? "out" : "", row[i].want ? "may not" : "may",
		       row[i].conf);
	}
	ask.mems_kind = MEMS_UNSET;
	conf_parse(&conf, "/c", row[2].conf, strlen(row[2].conf), &err);
	resize_check_launched(&conf, "/c", &ask, &err);
	ok(strstr(err.text, "container sim was launched without memory nodes") &&
		   strstr(err.text, "(allow_mems in /c lists accounts or partitions)") &&
		   strstr(err.text, "ask for mems in the next job's manifest"),
	   "resize_check_launched: the message names container, key and remedy: %s", err.text);
}

int main(void)
{
	test_resize_site_mems();
	test_launched();
	test_resize_site_users();
	return tap_done();
}
