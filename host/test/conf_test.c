/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/conf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/tap.h"

/* The lines around the table of keys in doc/nodeos.conf.5. */
#define PAGE_BEGIN ".\\\" The table of keys: NODEOS_WRITE=1 host/test/conf_test writes it.\n"
#define PAGE_END ".\\\" End of the table of keys.\n"
#define NUMBERS_BEGIN \
	".\\\" Keys of RANK_NUMBERS: NODEOS_WRITE=1 host/test/conf_test writes them.\n"
#define NUMBERS_END ".\\\" End of the keys of RANK_NUMBERS.\n"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse_text(struct conf *c, const char *text, struct errbuf *err)
{
	return conf_parse(c, "f", text, strlen(text), err);
}

static int same_values(const struct conf *a, const struct conf *b)
{
	return a->allow_policies == b->allow_policies &&
	       a->allow_partitions == b->allow_partitions && a->strict == b->strict &&
	       a->default_policy == b->default_policy && a->default_mems == b->default_mems &&
	       a->max_rt_priority == b->max_rt_priority && a->helper_timeout == b->helper_timeout &&
	       strcmp(a->state_dir, b->state_dir) == 0 && a->max_containers == b->max_containers &&
	       a->service.kind == b->service.kind && a->service.own_mems == b->service.own_mems &&
	       strcmp(a->service_except, b->service_except) == 0;
}

static void test_defaults(void)
{
	struct conf c, parsed;
	struct errbuf err = { 0 };

	conf_defaults(&c);
	ok(conf_allows_policy(&c, POLICY_OTHER) && conf_allows_policy(&c, POLICY_BATCH) &&
		   conf_allows_policy(&c, POLICY_IDLE) && conf_allows_policy(&c, POLICY_HPC),
	   "conf_defaults: allow other, batch, idle and hpc");
	ok(!conf_allows_policy(&c, POLICY_FIFO) && !conf_allows_policy(&c, POLICY_RR),
	   "conf_defaults: do not allow fifo and rr");
	ok(!conf_allows_policy(&c, POLICY_UNSET) && !conf_allows_policy(&c, POLICY_COUNT),
	   "conf_allows_policy: false for numbers that are no policy");
	ok(conf_allows_partition(&c, PARTITION_MEMBER) &&
		   !conf_allows_partition(&c, PARTITION_ROOT) &&
		   !conf_allows_partition(&c, PARTITION_ISOLATED) &&
		   !conf_allows_partition(&c, PARTITION_COUNT),
	   "conf_defaults: allow no partition except member");
	ok(c.strict, "conf_defaults: strict is yes");
	is_int(c.default_policy, POLICY_OTHER, "conf_defaults: default_policy is other");
	is_int(c.default_mems, MEMS_ALL, "conf_defaults: default_mems is all");
	is_int(c.max_rt_priority, 50, "conf_defaults: max_rt_priority is 50");
	is_int(c.helper_timeout, 10, "conf_defaults: helper_timeout is 10");
	is(c.state_dir, "/run/nodeos", "conf_defaults: state_dir is /run/nodeos");
	is_int(c.max_containers, 64, "conf_defaults: max_containers is 64");
	ok(c.contention.policy == CONTENTION_OFF && !c.contention.all_steps &&
		   c.contention.interval == 1 && c.contention.interval_quiet == 30 &&
		   c.contention.report_interval == 60,
	   "conf_defaults: nothing is observed");
	ok(c.contention.when == CONTENTION_WHEN_CONTENDED && c.contention.busy == 50 &&
		   c.contention.min_move == 10 && c.contention.pages == CONTENTION_PAGES_AUTO &&
		   c.contention.page_rate == 256,
	   "conf_defaults: contention_when, _busy, _min_move, _pages, _page_rate are as "
	   "documented");
	ok(c.contention.turtle == 30 && c.contention.devil == 45 && c.contention.delta == 10 &&
		   c.contention.window == 10 && c.contention.majority == 5,
	   "conf_defaults: bounds of classes are as documented");
	is(c.contention.source, "auto", "conf_defaults: contention_source is auto");
	ok(!c.contention.user_only, "conf_defaults: instructions of the kernel count");
	ok(!*c.contention.events && !*c.contention.metrics_dir && !*c.contention.report_dir &&
		   !*c.contention.report_user && !c.contention.record && !c.contention.node_extra,
	   "conf_defaults: contention writes no reports");
	ok(c.service.kind == SERVICE_NONE && !c.service.own_mems && !*c.service_except,
	   "conf_defaults: there is no ServiceOS");
	ok(!c.vnode, "conf_defaults: no vnode may run here");
	ok(parse_text(&parsed, "", &err) == 0 && same_values(&c, &parsed),
	   "conf_parse: an empty file gives the defaults");
}

static void check_contention(const struct conf_contention *c)
{
	ok(c->policy == CONTENTION_OBSERVE && c->all_steps,
	   "conf_parse: reads contention, contention_steps");
	ok(c->when == CONTENTION_WHEN_ALWAYS && c->busy == 100 && c->min_move == 3600,
	   "conf_parse: reads contention_when, contention_busy, contention_min_move");
	ok(c->pages == CONTENTION_PAGES_NEVER && c->page_rate == 65536,
	   "conf_parse: reads contention_pages, contention_page_rate");
	is(c->source, "replay:/var/lib/trace", "conf_parse: reads contention_source");
	is(c->events, "model 6; misses 0x412e", "conf_parse: reads contention_events");
	ok(c->user_only, "conf_parse: reads contention_count");
	ok(c->interval == 60 && c->interval_quiet == 60 && c->report_interval == 3600,
	   "conf_parse: reads contention_interval, contention_interval_quiet, "
	   "contention_report_interval");
	ok(c->turtle == 46 && c->devil == 47 && c->delta == 0 && c->window == 32 &&
		   c->majority == 32,
	   "conf_parse: reads contention_turtle, contention_devil, contention_delta, "
	   "contention_window, contention_majority");
	is(c->metrics_dir, "/var/lib/node_exporter", "conf_parse: reads contention_metrics_dir");
	is(c->report_dir, "/shared/nodeos", "conf_parse: reads contention_report_dir");
	is(c->report_user, "slurm", "conf_parse: reads contention_report_user");
	ok(c->record && c->node_extra,
	   "conf_parse: reads contention_record, contention_node_extra");
}

static void test_conf_good(void)
{
	static const char text[] =
		"# a comment: x = y\n"
		"\n"
		"   \t\n"
		"allow_policies = other,fifo , rr\t,SCHED_HPC # and why\n"
		"allow_partitions = isolated, member\n"
		"partition_quiet = irqs,idle\n"
		"strict=no\r\n"
		"  default_policy\t=\tfifo\n"
		"default_mems = local\n"
		"max_rt_priority = 99\n"
		"hpc_fallback = batch\n"
		"helper_timeout = 60\n"
		"state_dir = /var/lib/node.os/..x\n"
		"max_containers = 1\n"
		"serviceos = 2/socket\n"
		"serviceos_mems = 0,2-3\n"
		"dimmap_devices = /dev/nvme?n1p[12], /dev/disk/by-id/nvme-*\n"
		"dimmap_files = yes\n"
		"dimmap_max = 16G\n"
		"lwk = yes\n"
		"lwk_max = 64G\n"
		"lwk_fallback = native\n"
		"contention_turtle = 46\n"
		"contention = observe\n"
		"contention_steps = all\n"
		"contention_when = always\n"
		"contention_busy = 100\n"
		"contention_min_move = 3600\n"
		"contention_pages = never\n"
		"contention_page_rate = 65536\n"
		"contention_source = replay:/var/lib/trace\n"
		"contention_events = model 6; misses 0x412e\n"
		"contention_count = user\n"
		"contention_interval = 60\n"
		"contention_interval_quiet = 60\n"
		"contention_devil = 47\n"
		"contention_delta = 0\n"
		"contention_majority = 32\n"
		"contention_window = 32\n"
		"contention_metrics_dir = /var/lib/node_exporter\n"
		"contention_report_dir = /shared/nodeos\n"
		"contention_report_user = slurm\n"
		"contention_report_interval = 3600\n"
		"contention_record = yes\n"
		"contention_node_extra = yes\n"
		"vnode = yes\n"
		"serviceos_except = lustre.service,  mnt-a\\x2db.mount\ta@b.socket";
	struct conf c;
	struct errbuf err = { 0 };

	is_int(parse_text(&c, text, &err), 0, "conf_parse: accepts every key %s", err.text);
	ok(c.vnode, "conf_parse: reads vnode");
	ok(conf_allows_policy(&c, POLICY_FIFO) && conf_allows_policy(&c, POLICY_RR) &&
		   conf_allows_policy(&c, POLICY_HPC) && !conf_allows_policy(&c, POLICY_BATCH),
	   "conf_parse: reads allow_policies");
	ok(conf_allows_partition(&c, PARTITION_ISOLATED) &&
		   !conf_allows_partition(&c, PARTITION_ROOT),
	   "conf_parse: reads allow_partitions");
	is_int(c.partition_quiet, 1 << QUIET_IRQS | 1 << QUIET_IDLE,
	       "conf_parse: reads partition_quiet");
	ok(!c.strict, "conf_parse: reads strict");
	is_int(c.default_policy, POLICY_FIFO, "conf_parse: reads default_policy");
	is_int(c.default_mems, MEMS_LOCAL, "conf_parse: reads default_mems");
	is_int(c.max_rt_priority, 99, "conf_parse: reads max_rt_priority");
	ok(c.hpc_fallback == POLICY_BATCH && !c.hpc_partition, "conf_parse: reads hpc_fallback");
	is_int(c.helper_timeout, 60, "conf_parse: reads helper_timeout");
	is(c.state_dir, "/var/lib/node.os/..x", "conf_parse: reads state_dir");
	is_int(c.max_containers, 1, "conf_parse: reads max_containers");
	ok(c.service.kind == SERVICE_PER_SOCKET && c.service.cores == 2,
	   "conf_parse: reads serviceos");
	ok(c.service.own_mems && c.service.mems.word[0] == 13, "conf_parse: reads serviceos_mems");
	is(c.service_except, "lustre.service mnt-a\\x2db.mount a@b.socket",
	   "conf_parse: reads serviceos_except");
	is(c.dimmap_devices, "/dev/nvme?n1p[12] /dev/disk/by-id/nvme-*",
	   "conf_parse: reads dimmap_devices");
	ok(c.dimmap_files, "conf_parse: reads dimmap_files");
	ok(c.dimmap_max == UINT64_C(16) << 30, "conf_parse: reads dimmap_max");
	ok(c.lwk == LWK_YES && c.lwk_native && c.lwk_max == UINT64_C(64) << 30,
	   "conf_parse: reads the keys of machines");
	check_contention(&c.contention);
	is_int(parse_text(&c, "serviceos = 0,32\nserviceos_mems = all\nserviceos_except = none",
			  &err),
	       0, "conf_parse: accepts other forms of values %s", err.text);
	ok(c.service.kind == SERVICE_CPUS && c.service.cpus.word[0] == 0x100000001,
	   "conf_parse: reads serviceos as a list");
	ok(!c.service.own_mems && !*c.service_except,
	   "conf_parse: reads serviceos_mems = all, serviceos_except = none");
	is_int(parse_text(&c, "hpc_fallback = none", &err), 0,
	       "conf_parse: accepts hpc_fallback = none %s", err.text);
	ok(c.hpc_fallback == POLICY_UNSET && !c.hpc_partition,
	   "conf_parse: reads hpc_fallback = none");
	is_int(parse_text(&c, "hpc_fallback = partition", &err), 0,
	       "conf_parse: accepts hpc_fallback = partition %s", err.text);
	ok(c.hpc_fallback == POLICY_OTHER && c.hpc_partition,
	   "conf_parse: hpc_fallback = partition is policy other in a partition");
	is_int(parse_text(&c, "hpc_fallback = hpc", &err), -1,
	       "conf_parse: refuses hpc as its own fallback: %s", err.text);
	is_int(parse_text(&c, "hpc_fallback = ", &err), -1,
	       "conf_parse: refuses an empty fallback: %s", err.text);
	is_int(parse_text(&c, "serviceos_mems = homes", &err), 0, "conf_parse: accepts homes %s",
	       err.text);
	ok(c.service.own_mems && c.service.homes, "conf_parse: reads serviceos_mems = homes");
}

static void test_conf_refused(void)
{
	static const struct {
		const char *text;
		const char *message; /* the beginning of the message */
	} table[] = {
		{ "strict", "f:1: \"strict\": expected \"key = value\"" },
		{ "\n= yes", "f:2: \"= yes\": expected \"key = value\"" },
		{ "strict yes", "f:1: \"strict yes\": expected" },
		{ "[section]", "f:1: \"[section]\": expected" },
		{ "strict = \n", "f:1: strict: \"\" (allowed: yes, no)" },
		{ "strict = Yes", "f:1: strict: \"Yes\" (allowed: yes, no)" },
		{ "strict = \"yes\"", "f:1: strict: \"\"yes\"\" (allowed: yes, no)" },
		{ "strict = yes no", "f:1: strict: \"yes no\" (allowed" },
		{ "strict = yes = no", "f:1: strict: \"yes = no\" (allowed" },
		{ "# x\nstrikt = yes", "f:2: \"strikt\": unknown key, did you mean \"strict\"? "
				       "(allowed: allow_policies, " },
		{ "Strict = yes", "f:1: \"Strict\": unknown key, did you mean \"strict\"?" },
		{ "allow_policy = other",
		  "f:1: \"allow_policy\": unknown key, did you mean \"allow_policies\"?" },
		{ "zzz = 1", "f:1: \"zzz\": unknown key (allowed: allow_policies, " },
		{ "strict = no\n\nstrict = no",
		  "f:3: strict: given a second time: the first is at line 1" },
		{ "allow_policies =",
		  "f:1: allow_policies: \"\" (allowed: a list of other, batch" },
		{ "allow_policies = other,", "f:1: allow_policies: \"other,\" (allowed" },
		{ "allow_policies = ,other", "f:1: allow_policies: \",other\" (allowed" },
		{ "allow_policies = other batch", "f:1: allow_policies: \"other batch\" (allowed" },
		{ "allow_policies = other,other", "f:1: allow_policies: \"other,other\" (allowed" },
		{ "allow_policies = other,deadline",
		  "f:1: allow_policies: \"other,deadline\" (allowed" },
		{ "allow_policies = all", "f:1: allow_policies: \"all\" (allowed" },
		{ "default_policy = fifo", "f:1: default_policy: \"fifo\" is not one of "
					   "allow_policies (allowed: other, batch, idle, hpc)" },
		{ "\nallow_policies = hpc",
		  "f:2: default_policy: \"other\" is not one of allow_policies (allowed: hpc)" },
		{ "default_policy = unset",
		  "f:1: default_policy: \"unset\" (allowed: one of allow_policies)" },
		{ "partition_quiet = irqs, irq", "f:1: partition_quiet: \"irqs, irq\" (allowed" },
		{ "partition_quiet = none, irqs", "f:1: partition_quiet: \"none, irqs\" (allowed" },
		{ "allow_partitions = isolated", "f:1: allow_partitions: \"isolated\" (allowed: a "
						 "list of member, root, isolated, with member)" },
		{ "allow_partitions = member, roots",
		  "f:1: allow_partitions: \"member, roots\" (allowed" },
		{ "default_mems = none", "f:1: default_mems: \"none\" (allowed: all, local)" },
		{ "max_rt_priority = 0", "f:1: max_rt_priority: \"0\" (allowed: 1 to 99)" },
		{ "max_rt_priority = 100", "f:1: max_rt_priority: \"100\" (allowed: 1 to 99)" },
		{ "max_rt_priority = 05", "f:1: max_rt_priority: \"05\" (allowed" },
		{ "max_rt_priority = +5", "f:1: max_rt_priority: \"+5\" (allowed" },
		{ "max_rt_priority = 5.0", "f:1: max_rt_priority: \"5.0\" (allowed" },
		{ "helper_timeout = 0", "f:1: helper_timeout: \"0\" (allowed: 1 to 60)" },
		{ "helper_timeout = 61", "f:1: helper_timeout: \"61\" (allowed: 1 to 60)" },
		{ "helper_timeout = 10s", "f:1: helper_timeout: \"10s\" (allowed" },
		{ "helper_timeout = 4294967306", "f:1: helper_timeout: \"4294967306\" (allowed" },
		{ "max_containers = 65", "f:1: max_containers: \"65\" (allowed: 1 to 64)" },
		{ "serviceos = 0/node", "f:1: serviceos: \"0/node\" (allowed: none, N/node, "
					"N/socket, N/numa or N/l3 cores, or a list of CPUs, "
					"such as 0,32)" },
		{ "serviceos = 1/l2", "f:1: serviceos: \"1/l2\" (allowed" },
		{ "serviceos = 1/l3x", "f:1: serviceos: \"1/l3x\" (allowed" },
		{ "serviceos = 1/core", "f:1: serviceos: \"1/core\" (allowed" },
		{ "serviceos = -1/node", "f:1: serviceos: \"-1/node\" (allowed" },
		{ "serviceos = 99999999/node", "f:1: serviceos: \"99999999/node\" (allowed" },
		{ "serviceos = 3-1", "f:1: serviceos: \"3-1\" (allowed" },
		{ "serviceos = one", "f:1: serviceos: \"one\" (allowed" },
		{ "serviceos_mems = 1GiB",
		  "f:1: serviceos_mems: \"1GiB\" (allowed: all, homes (the rests of "
		  "nodes divided by fgmn=), or a list of memory nodes, such as 0-1)" },
		{ "dimmap_devices = /dev", "f:1: dimmap_devices: \"/dev\" (allowed: none, or a "
					   "list of block devices below /dev" },
		{ "dimmap_devices = /tmp/x", "f:1: dimmap_devices: \"/tmp/x\" (allowed" },
		{ "dimmap_devices = /dev/../tmp/x",
		  "f:1: dimmap_devices: \"/dev/../tmp/x\" (allowed" },
		{ "dimmap_devices = /dev/*/scratch",
		  "f:1: dimmap_devices: \"/dev/*/scratch\" (allowed" },
		{ "dimmap_devices = /dev/shm/x", "f:1: dimmap_devices: \"/dev/shm/x\" (allowed" },
		{ "dimmap_devices = ,", "f:1: dimmap_devices: \",\" (allowed" },
		{ "dimmap_files = maybe", "f:1: dimmap_files: \"maybe\" (allowed: yes, no)" },
		{ "dimmap_max = 0",
		  "f:1: dimmap_max: \"0\" (allowed: none, or a size from 1M to 8T, such as 16G)" },
		{ "dimmap_max = 9T", "f:1: dimmap_max: \"9T\" (allowed" },
		{ "dimmap_devices = /dev/nvme[0", "f:1: dimmap_devices: \"/dev/nvme[0\" (allowed" },
		{ "lwk = on", "f:1: lwk: \"on\" (allowed: auto, yes, no)" },
		{ "lwk_fallback = yes", "f:1: lwk_fallback: \"yes\" (allowed: no, native)" },
		{ "lwk_max = 0", "f:1: lwk_max: \"0\" (allowed: none" },
		{ "dimmap_max = 16X", "f:1: dimmap_max: \"16X\" (allowed" },
		{ "serviceos_except = lustre", "f:1: serviceos_except: \"lustre\" (allowed: none, "
					       "or a list of full names of units" },
		{ "serviceos_except = a.slice", "f:1: serviceos_except: \"a.slice\" (allowed" },
		{ "serviceos_except = a@.service",
		  "f:1: serviceos_except: \"a@.service\" (allowed" },
		{ "serviceos_except = user@1000.service",
		  "f:1: serviceos_except: \"user@1000.service\" (allowed" },
		{ "serviceos_except = session-9.scope",
		  "f:1: serviceos_except: \"session-9.scope\" (allowed" },
		{ "serviceos_except = ../a.service",
		  "f:1: serviceos_except: \"../a.service\" (allowed" },
		{ "serviceos_except = ,a.service",
		  "f:1: serviceos_except: \",a.service\" (allowed" },
		{ "serviceos_except = .service", "f:1: serviceos_except: \".service\" (allowed" },
		{ "contention = devil",
		  "f:1: contention: \"devil\" (allowed: off, observe, dino, di, spread)" },
		{ "contention_when = never",
		  "f:1: contention_when: \"never\" (allowed: contended, always)" },
		{ "contention_busy = 101", "f:1: contention_busy: \"101\" (allowed: 1 to 100)" },
		{ "contention_min_move = 0",
		  "f:1: contention_min_move: \"0\" (allowed: 1 to 3600)" },
		{ "contention_pages = yes",
		  "f:1: contention_pages: \"yes\" (allowed: auto, always, never)" },
		{ "contention_page_rate = 0",
		  "f:1: contention_page_rate: \"0\" (allowed: 1 to 65536)" },
		{ "contention_steps = none",
		  "f:1: contention_steps: \"none\" (allowed: containers, all)" },
		{ "contention_source = replay:trace",
		  "f:1: contention_source: \"replay:trace\" (allowed: auto, perf, none, or "
		  "replay:FILE)" },
		{ "contention_source = replay:", "f:1: contention_source: \"replay:\" (allowed" },
		{ "contention_source = replay:/a/../b",
		  "f:1: contention_source: \"replay:/a/../b\" (allowed" },
		{ "contention_source = msr", "f:1: contention_source: \"msr\" (allowed" },
		{ "contention_events = a\tb",
		  "f:1: contention_events: \"a\\x09b\" (allowed: none, or a row" },
		{ "contention_events =", "f:1: contention_events: \"\" (allowed" },
		{ "contention_count = kernel",
		  "f:1: contention_count: \"kernel\" (allowed: all, user)" },
		{ "contention_interval = 0", "f:1: contention_interval: \"0\" (allowed: 1 to 60)" },
		{ "contention_interval = 61", "f:1: contention_interval: \"61\" (allowed" },
		{ "contention_interval_quiet = 3601",
		  "f:1: contention_interval_quiet: \"3601\" (allowed: 1 to 3600)" },
		{ "contention_interval = 31", "f:1: contention_interval: 31: expected at most "
					      "contention_interval_quiet, which is 30" },
		{ "\ncontention_interval_quiet = 40\ncontention_report_interval = "
		  "10\ncontention_interval = 11",
		  "f:4: contention_interval: 11: expected at most contention_report_interval, "
		  "which is "
		  "10" },
		{ "contention_turtle = 100001",
		  "f:1: contention_turtle: \"100001\" (allowed: 0 to 100000)" },
		{ "contention_turtle = 45", "f:1: contention_turtle: 45: expected a number below "
					    "contention_devil, which is 45" },
		{ "\ncontention_devil = 30", "f:2: contention_turtle: 30: expected a number below "
					     "contention_devil, which is 30" },
		{ "contention_devil = 0", "f:1: contention_devil: \"0\" (allowed: 1 to 100000)" },
		{ "contention_delta = -1", "f:1: contention_delta: \"-1\" (allowed: 0 to 100000)" },
		{ "contention_window = 33", "f:1: contention_window: \"33\" (allowed: 1 to 32)" },
		{ "contention_window = 4",
		  "f:1: contention_majority: 5: expected at most contention_window, which is 4" },
		{ "contention_majority = 0", "f:1: contention_majority: \"0\" (allowed: 1 to 32)" },
		{ "contention_metrics_dir = metrics",
		  "f:1: contention_metrics_dir: \"metrics\" (allowed: none, or an absolute path" },
		{ "contention_metrics_dir = /", "f:1: contention_metrics_dir: \"/\" (allowed" },
		{ "contention_metrics_dir = /tmp",
		  "f:1: contention_metrics_dir: \"/tmp\" (allowed" },
		{ "contention_report_dir = /dev/shm/x",
		  "f:1: contention_report_dir: \"/dev/shm/x\" (allowed" },
		{ "contention_report_dir = /shared/../etc",
		  "f:1: contention_report_dir: \"/shared/../etc\" (allowed" },
		{ "contention_report_dir = /a b", "f:1: contention_report_dir: \"/a b\" (allowed" },
		{ "contention_report_user = a:b",
		  "f:1: contention_report_user: \"a:b\" (allowed: none (root), or a user's name" },
		{ "contention_report_user = 01", "f:1: contention_report_user: \"01\" (allowed" },
		{ "contention_report_user = slurm",
		  "f:1: contention_report_user: \"slurm\" needs contention_report_dir" },
		{ "contention_report_interval = 9",
		  "f:1: contention_report_interval: \"9\" (allowed: 10 to 3600)" },
		{ "contention_record = yes",
		  "f:1: contention_record: \"yes\" needs contention_report_dir" },
		{ "contention_node_extra = yes",
		  "f:1: contention_node_extra: \"yes\" needs contention_report_dir" },
		{ "state_dir = run", "f:1: state_dir: \"run\" (allowed: an absolute path" },
		{ "state_dir = /", "f:1: state_dir: \"/\" (allowed" },
		{ "state_dir = /run/", "f:1: state_dir: \"/run/\" (allowed" },
		{ "state_dir = //run", "f:1: state_dir: \"//run\" (allowed" },
		{ "state_dir = /run/../etc", "f:1: state_dir: \"/run/../etc\" (allowed" },
		{ "state_dir = /run/.", "f:1: state_dir: \"/run/.\" (allowed" },
		{ "state_dir = /run/a b", "f:1: state_dir: \"/run/a b\" (allowed" },
		{ "state_dir = /r\xc3\xa9", "f:1: state_dir: \"/r\\xc3\\xa9\" (allowed" },
		{ "state_dir = "
		  "/123456789/123456789/123456789/123456789/123456789/123456789/123456789/"
		  "123456789/"
		  "123456789/123456789/123456789/123456789/1234567",
		  "f:1: state_dir: \"/123456789/" },
	};
	char big[1200];
	struct conf c, before;
	struct errbuf err;

	memset(&before, 0x5a, sizeof(before));
	for (size_t i = 0; i < COUNT(table); i++) {
		memcpy(&c, &before, sizeof(c));
		ok(parse_text(&c, table[i].text, &err) == -1 &&
			   strncmp(err.text, table[i].message, strlen(table[i].message)) == 0 &&
			   !strchr(err.text, '\n') && memcmp(&c, &before, sizeof(c)) == 0,
		   "conf_parse: refuses bad text %zu: %s", i, err.text);
	}
	memset(big, 'x', sizeof(big));
	memcpy(big, "contention_events = ", 20);
	is_int(conf_parse(&c, "f", big, 20 + 1023, &err), 0,
	       "conf_parse: accepts a row of events of 1,023 bytes %s", err.text);
	is_int((int)strlen(c.contention.events), 1023, "conf_parse: keeps a row of events whole");
	is_int(conf_parse(&c, "f", big, 20 + 1024, &err), -1,
	       "conf_parse: refuses a row of events of 1,024 bytes: %s", err.text);
	is_int(conf_parse(&c, "f", "strict\0 = no", 12, &err), -1, "conf_parse: refuses a NUL: %s",
	       err.text);
	memset(big, 'x', sizeof(big));
	is_int(conf_parse(&c, "f", big, sizeof(big), &err), -1,
	       "conf_parse: refuses a long line: %s", err.text);
	memset(big, '#', sizeof(big));
	is_int(conf_parse(&c, "f", big, sizeof(big), &err), 0,
	       "conf_parse: accepts a long comment");
}

/* conf_parse() reads back any values that conf_print() writes. */
static void test_print(void)
{
	static const char odd[] =
		"allow_policies = rr, hpc\nstrict = no\ndefault_policy = rr\ndefault_mems = local\n"
		"max_rt_priority = 1\nhelper_timeout = 59\nstate_dir = /x\nmax_containers = "
		"7\nallow_partitions = member, root\n";
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct conf c, again;
	struct conf_key key;
	struct errbuf err = { 0 };

	is_int(parse_text(&c, odd, &err), 0, "conf_parse: accepts unusual values %s", err.text);
	conf_print(f, &c, "");
	fclose(f);
	ok(conf_parse(&again, "f", text, len, &err) == 0 && same_values(&c, &again),
	   "conf_parse: reads back unusual values that conf_print() wrote %s", err.text);
	/* undo the wrapping of comments */
	for (char *p = text; (p = strstr(p, "\n# ")) != NULL;)
		memmove(p, p + 2, strlen(p + 2) + 1);
	for (unsigned i = 0; conf_key_at(&key, i); i++)
		ok(strstr(text, key.name) && strstr(text, key.comment),
		   "conf_print: %s has its comment", key.name);
	free(text);
}

/* Return the text of a file of the source tree, or NULL. */
static char *read_source(const char *name)
{
	const char *top = getenv("NODEOS_SOURCE");
	char *text = calloc(1, CONF_SIZE_MAX);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	f = fopen(path, "r");
	if (!ok(f && fread(text, 1, CONF_SIZE_MAX - 1, f) > 0, "the test can read %s", path)) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* The installed file changes nothing: its keys are comments, with the defaults of the table. */
static void test_installed_file(void)
{
	char *text = read_source("etc/nodeos.conf");
	struct conf c, want;
	struct conf_key key;
	struct errbuf err = { 0 };
	unsigned keys = 0;

	if (!text)
		return;
	conf_defaults(&want);
	ok(conf_parse(&c, "etc/nodeos.conf", text, strlen(text), &err) == 0 &&
		   same_values(&c, &want),
	   "etc/nodeos.conf gives the defaults %s", err.text);
	/* uncomment "#key = value"; prose has a blank after '#' */
	for (char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (p[0] == '#' && p[1] >= 'a' && p[1] <= 'z') {
			p[0] = ' ';
			keys++;
		}
	ok(conf_parse(&c, "etc/nodeos.conf", text, strlen(text), &err) == 0 &&
		   same_values(&c, &want),
	   "etc/nodeos.conf with all keys uncommented gives the defaults %s", err.text);
	for (unsigned i = 0; conf_key_at(&key, i); i++)
		keys--;
	is_int(keys, 0, "etc/nodeos.conf has every key once");
	free(text);
}

/*
 * Check that the file NAME of the source tree has WANT between the lines BEGIN and END (NULL: up to
 * the file's end). With NODEOS_WRITE=1, write WANT there.
 */
static void check_generated(const char *name, const char *begin, const char *end, const char *want,
			    const char *row)
{
	char *text = read_source(name), *from = text ? strstr(text, begin) : NULL, *to = NULL,
	     path[4096];
	const char *top = getenv("NODEOS_SOURCE");
	FILE *f;

	if (from) {
		from += strlen(begin);
		to = end ? strstr(from, end) : from + strlen(from);
	}
	if (!to || !getenv("NODEOS_WRITE")) {
		ok(to && (size_t)(to - from) == strlen(want) &&
			   strncmp(from, want, strlen(want)) == 0,
		   "%s", row);
		free(text);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	f = fopen(path, "w");
	if (ok(f != NULL, "the test can write %s", path)) {
		fprintf(f, "%.*s%s%s", (int)(from - text), text, want, to);
		fclose(f);
	}
	free(text);
}

/* Check etc/nodeos.conf after its first lines of prose. */
static void test_generated_file(void)
{
	char *want = NULL;
	struct conf c;
	size_t len = 0, longest = 0;
	FILE *f = open_memstream(&want, &len);

	conf_defaults(&c);
	conf_print(f, &c, "#");
	fclose(f);
	check_generated("etc/nodeos.conf", "\n\n", NULL, want,
			"etc/nodeos.conf matches the rows of host/conf_keys.c (NODEOS_WRITE=1 "
			"host/test/conf_test writes it)");
	for (const char *line = want; line && *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") > longest)
			longest = strcspn(line, "\n");
	ok(longest <= 100, "the longest line of etc/nodeos.conf has at most 100 columns: %zu",
	   longest);
	free(want);
}

/* Print TEXT as mdoc needs it. */
static void print_mdoc(FILE *f, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '-' || (*p == '.' && p == text))
			fputs(*p == '-' ? "\\-" : "\\&.", f);
		else if (*p == '\\')
			fputs("\\e", f);
		else if (*p == ' ' && p > text + 1 && strchr(".?", p[-1]) && p[-2] >= 'a')
			fputc('\n', f); /* a new line for each sentence */
		else
			fputc(*p, f);
	}
	fputc('\n', f);
}

/*
 * Check the table of keys in nodeos.conf(5), without the prose after it, which is written by hand.
 */
static void test_generated_table(void)
{
	char *want = NULL;
	struct conf_key key;
	size_t len = 0;
	FILE *f = open_memstream(&want, &len);

	fputs(".Bl -tag -width Ds -compact\n", f);
	for (unsigned i = 0; conf_key_at(&key, i); i++) {
		fprintf(f, ".It Ic %s No = ", key.name);
		print_mdoc(f, key.otherwise);
		print_mdoc(f, key.comment);
		fputs(".br\nallowed: ", f);
		print_mdoc(f, key.allowed);
	}
	fputs(".El\n", f);
	fclose(f);
	check_generated("doc/nodeos.conf.5", PAGE_BEGIN, PAGE_END, want,
			"nodeos.conf(5) has the table of keys");
	free(want);
}

/*
 * Check the entries allow_NAME of isolators whose value is one number: they differ only in names.
 */
static void test_generated_numbers(void)
{
	char *want = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&want, &len);

	for (const struct rank_number *n = rank_numbers; n < rank_numbers + RANK_NUMBER_COUNT; n++)
		fprintf(f, ".It Ic allow_%s\nThe same for\n.Cm %s .\nDefault:\n.Cm yes .\n",
			isolator_name(n->isolator), n->name);
	fclose(f);
	check_generated("doc/nodeos.conf.5", NUMBERS_BEGIN, NUMBERS_END, want,
			"nodeos.conf(5) has allow_NAME of each isolator whose value is one number");
	free(want);
}

/* Values of allow_NAME, and the users that each of them allows. */
static void test_allow(void)
{
	static const char *const bad[] = {
		"maybe",	  "yes no",	"users",     "users:",
		"users: ,",	  "users: a:b", "users: 01", "users: 4294967295",
		"accounts: \x01", "Users: a",	"users a",   "partitions:,"
	};
	struct conf_user root = { .uid = 0 },
			 job = { .uid = 1, .account = "Physics", .partition = "p" };
	struct conf_user early = { .uid = 1, .undecided = true };
	struct errbuf err = { 0 };
	char text[300];
	struct conf c;

	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(text, sizeof(text), "allow_mems = %s", bad[i]);
		ok(parse_text(&c, text, &err) == -1 && !strchr(err.text, '\n'),
		   "conf_parse: refuses a value of allow_mems: %s", err.text);
	}
	is_int(parse_text(&c,
			  "allow_mems = users: no-user-x, root\nallow_sched = accounts: "
			  "a,physics\nallow_dimmap = partitions: p2\nallow_partition = "
			  "no\nallow_cpus = "
			  "users: 1",
			  &err),
	       0, "conf_parse: accepts lists of users, accounts and partitions %s", err.text);
	is_int(conf_check_isolator(&c, ISOLATOR_MEMS, &root, "/c", &err), 0,
	       "conf_check_isolator: finds root's name after an unknown user");
	ok(conf_check_isolator(&c, ISOLATOR_MEMS, &job, "/c", &err) == -1 &&
		   strstr(err.text, "only for users no-user-x root, and uid 1 is none of them "
				    "(allow_mems in /c)"),
	   "conf_check_isolator: refuses a user outside the list: %s", err.text);
	is_int(conf_check_isolator(&c, ISOLATOR_CPUS, &job, "/c", &err), 0,
	       "conf_check_isolator: finds a numeric uid");
	is_int(conf_check_isolator(&c, ISOLATOR_SCHED, &job, "/c", &err), 0,
	       "conf_check_isolator: finds an account in any letter case");
	ok(conf_check_isolator(&c, ISOLATOR_DIMMAP, &job, "/c", &err) == -1 &&
		   strstr(err.text, "this job's is \"p\""),
	   "conf_check_isolator: refuses another partition: %s", err.text);
	ok(conf_check_isolator(&c, ISOLATOR_SCHED, &root, "/c", &err) == -1 &&
		   strstr(err.text, "is unknown"),
	   "conf_check_isolator: refuses an unknown account: %s", err.text);
	is_int(conf_check_isolator(&c, ISOLATOR_SCHED, &early, "/c", &err), 0,
	       "conf_check_isolator: a submission leaves accounts to the nodes");
	is_int(conf_check_isolator(&c, ISOLATOR_MEMS, &early, "/c", &err), -1,
	       "conf_check_isolator: a submission checks users: %s", err.text);
	is_int(conf_check_isolator(&c, ISOLATOR_PARTITION, &root, "/c", &err), -1,
	       "conf_check_isolator: with \"no\" refuses all users: %s", err.text);
	memset(text, 'a', sizeof(text));
	memcpy(text, "allow_cpus = users: ", 20);
	text[120] = '\0';
	is_int(parse_text(&c, text, &err), -1, "conf_parse: refuses a name of 100 bytes: %s",
	       err.text);
}

static void test_manual_page(void)
{
	char *text = read_source("doc/nodeos.conf.5");

	struct conf_key key;

	for (unsigned i = 0; text && conf_key_at(&key, i); i++) {
		char item[64];

		snprintf(item, sizeof(item), "\n.It Ic %s\n", key.name);
		ok(strstr(text, item) != NULL, "nodeos.conf(5) has %s", key.name);
	}
	free(text);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
		   fchmod(fd, mode) == 0,
	   "the test can write a file of mode %04o", (unsigned)mode);
	close(fd);
}

static void refuse_file(const char *path, uid_t owner, const char *says)
{
	struct conf c;
	struct errbuf err = { 0 };

	ok(conf_load(&c, path, owner, &err) == -1 && strncmp(err.text, path, strlen(path)) == 0 &&
		   strstr(err.text, says),
	   "conf_load: refuses a file: %s", err.text);
}

/* Images shared by several nodes may have symbolic links in /etc. */
static void check_links(const char *dir, const char *path, const char *link)
{
	char sub[80], inner[96];
	struct errbuf err = { 0 };
	struct conf c;

	snprintf(sub, sizeof(sub), "%s/sub", dir);
	snprintf(inner, sizeof(inner), "%s/sub/nodeos.conf", dir);
	ok(symlink(path, link) == 0 && conf_load(&c, link, geteuid(), &err) == 0 && !c.strict,
	   "conf_load: follows the owner's link %s", err.text);
	unlink(link);
	ok(symlink("nodeos.conf", link) == 0 && conf_load(&c, link, geteuid(), &err) == 0 &&
		   !c.strict,
	   "conf_load: follows a relative link %s", err.text);
	if (geteuid() == 0) {
		ok(lchown(link, 65534, (gid_t)-1) == 0, "the test can give the link away");
		refuse_file(link, 0, "the link link: belongs to uid 65534 (allowed: root)");
		ok(lchown(link, 0, (gid_t)-1) == 0 && chown(path, 65534, (gid_t)-1) == 0,
		   "the test can give the file away");
		refuse_file(link, 0,
			    "the file that it leads to: belongs to uid 65534 (allowed: root)");
		ok(chown(path, 0, (gid_t)-1) == 0, "the test can take the file back");
	}
	ok(chmod(path, 0666) == 0, "the test can let all users write the file");
	refuse_file(link, geteuid(),
		    "the file that it leads to: group or others can write it (mode 0666)");
	unlink(link);
	ok(chmod(path, 0644) == 0 && mkdir(sub, 0755) == 0 &&
		   symlink("../nodeos.conf", inner) == 0 && symlink("sub/nodeos.conf", link) == 0,
	   "the test can make a link to a link in another directory");
	ok(conf_load(&c, link, geteuid(), &err) == 0 && !c.strict,
	   "conf_load: follows a link to a link in another directory %s", err.text);
	ok(chmod(sub, 0777) == 0, "the test can let all users write the directory");
	refuse_file(link, geteuid(),
		    "a directory on the way: group or others can write it (mode 0777)");
	if (geteuid() == 0) {
		ok(chmod(sub, 0755) == 0 && chown(sub, 65534, (gid_t)-1) == 0,
		   "the test can give the directory away");
		refuse_file(link, 0, "a directory on the way: belongs to uid 65534");
	}
	unlink(link);
	ok(symlink("link", link) == 0, "the test can make a link to itself");
	refuse_file(link, geteuid(), "Too many levels of symbolic links");
	unlink(link);
	ok(symlink("nowhere", link) == 0, "the test can make a link to nowhere");
	refuse_file(link, geteuid(), "No such file");
	unlink(link);
	unlink(inner);
	rmdir(sub);
}

static void test_conf_files(void)
{
	char dir[] = "/tmp/nodeos-conf-XXXXXX";
	char path[64], link[64];
	struct conf c, want;
	struct errbuf err = { 0 };
	FILE *f;

	if (!mkdtemp(dir)) {
		ok(0, "the test can make a directory");
		return;
	}
	conf_defaults(&want);
	snprintf(path, sizeof(path), "%s/nodeos.conf", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	ok(conf_load(&c, path, geteuid(), &err) < 0 && strstr(err.text, "No such file"),
	   "conf_load: a file named by the caller must exist: %s", err.text);
	if (access(NODEOS_CONF_PATH, F_OK) < 0)
		ok(conf_load(&c, NODEOS_CONF_PATH, geteuid(), &err) == 0 && same_values(&c, &want),
		   "conf_load: a missing default file gives the defaults");

	write_file(path, "strict = no\n", 0644);
	ok(conf_load(&c, path, geteuid(), &err) == 0 && !c.strict, "conf_load: loads a file %s",
	   err.text);
	if (geteuid() == 0) {
		ok(chown(path, 65534, (gid_t)-1) == 0, "the test can give the file away");
		refuse_file(path, 0, "belongs to uid 65534 (allowed: root)");
		is_int(conf_load(&c, path, 65534, &err), 0,
		       "conf_load: accepts a file of the given owner");
		ok(chown(path, 0, (gid_t)-1) == 0, "the test can take the file back");
	} else {
		refuse_file(path, 0, "(allowed: root)");
	}
	check_links(dir, path, link);
	ok(mkfifo(link, 0600) == 0, "the test can make a named pipe");
	refuse_file(link, geteuid(), "is not a regular file");
	unlink(link);
	refuse_file(dir, geteuid(), "is not a regular file");
	write_file(path, "", 0664);
	refuse_file(path, geteuid(), "(mode 0664): run chmod go-w on it");
	write_file(path, "", 0646);
	refuse_file(path, geteuid(), "(mode 0646)");
	write_file(path, "strict = maybe\n", 0600);
	refuse_file(path, geteuid(), "nodeos.conf:1: strict: \"maybe\" (allowed: yes, no)");

	f = fopen(path, "w");
	for (int i = 0; i < CONF_SIZE_MAX; i++)
		putc('\n', f);
	fflush(f);
	is_int(conf_load(&c, path, geteuid(), &err), 0,
	       "conf_load: loads a file of the largest size %s", err.text);
	putc('\n', f);
	fclose(f);
	refuse_file(path, geteuid(), "too large (allowed: 65536 bytes)");
	unlink(path);
	rmdir(dir);
}

/* Sources of buffers that a site can allow. */
static void test_conf_sources(void)
{
	static const struct {
		const char *source;
		/*
		 * results of conf_check_source() if devices are allowed, if files are, and if
		 * neither is
		 */
		int device, files, neither;
	} row[] = {
		{ "/dev/nvme0n1p1", 0, -1, -1 },
		{ "/dev/nvme0n1p3", -1, -1, -1 },
		{ "/dev/nvme10n1p1", -1, -1, -1 },
		{ "/dev/disk/by-id/nvme-x", 0, -1, -1 },
		{ "/dev/disk/by-id/nvme-x/y", -1, -1, -1 },
		{ "/dev/sda", -1, -1, -1 },
		{ "/devices", -1, 0, -1 },
		{ "/scratch/a", -1, 0, -1 },
	};
	struct conf devices, files, neither;
	struct errbuf err;

	parse_text(&devices, "dimmap_devices = /dev/nvme?n1p[12], /dev/disk/by-id/nvme-*", &err);
	parse_text(&files, "dimmap_files = yes", &err);
	conf_defaults(&neither);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		is_int(conf_check_source(&devices, row[i].source, "f", &err), row[i].device,
		       "conf_check_source: gives the expected result for %s if devices are allowed",
		       row[i].source);
		is_int(conf_check_source(&files, row[i].source, "f", &err), row[i].files,
		       "conf_check_source: gives the expected result for %s if files are allowed",
		       row[i].source);
		is_int(conf_check_source(&neither, row[i].source, "f", &err), row[i].neither,
		       "conf_check_source: gives the expected result for %s if neither is allowed",
		       row[i].source);
	}
	is(err.text,
	   "source \"/scratch/a\": buffers of files are not allowed at this site (dimmap_files in "
	   "f)",
	   "conf_check_source: the message names the key for files");
	conf_check_source(&devices, "/dev/sda", "f", &err);
	is(err.text,
	   "source \"/dev/sda\": buffers of that device are not allowed at this site (allowed: "
	   "/dev/nvme?n1p[12] /dev/disk/by-id/nvme-*; dimmap_devices in f)",
	   "conf_check_source: the message lists the allowed devices");
}

int main(void)
{
	test_conf_sources();
	test_defaults();
	test_conf_good();
	test_conf_refused();
	test_print();
	test_installed_file();
	test_generated_file();
	test_generated_table();
	test_generated_numbers();
	test_allow();
	test_manual_page();
	test_conf_files();
	return tap_done();
}
