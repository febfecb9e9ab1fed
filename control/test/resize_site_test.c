/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_site.h"

#include <string.h>

#include "base/test/tap.h"

static void mems(void)
{
	struct errbuf err = { 0 };
	struct conf conf;

	conf_defaults(&conf);
	is_int(resize_check_mems(&conf, "/c", &err), -1, "memory nodes stay by default");
	ok(strstr(err.text, "(resize_mems in /c)") != NULL, "the message names the key: %s",
	   err.text);
	conf.resize_mems = true;
	is_int(resize_check_mems(&conf, "/c", &err), 0, "resize_mems lets them change");
}

static void users(void)
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
	ok(strstr(err.text, "mems is for users 1001 only") &&
		   strstr(err.text, "(allow_mems in /c)"),
	   "the message names list and key: %s", err.text);
}

int main(void)
{
	mems();
	users();
	return tap_done();
}
