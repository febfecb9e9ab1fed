/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"
#include "manifest/request_field.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char text[REQUEST_TEXT_MAX + 64];

static void test_request_names(void)
{
	static const char *const good[] = {
		"sim",
		"a",
		"0",
		"vda-2",
		"example.com/app",
		"a.b-c_d~e/f",
		"123",
		"none2",
		"a1b2",
		"123456789012345678901234567890123456789012345678901234567890123",
	};
	static const char *const bad[] = {
		"",
		"none",
		"Sim",
		"SIM",
		"-a",
		"a-",
		".a",
		"a.",
		"a..b",
		"a/-b",
		"a--b",
		"_",
		"/",
		"~x",
		"a b",
		"a;b",
		"a=b",
		"a,b",
		"\xc3\xa9t\xc3\xa9",
		"a\n",
		"../x",
		"a/../b",
		"a:b",
		"1234567890123456789012345678901234567890123456789012345678901234",
	};
	struct errbuf err;

	for (size_t i = 0; i < COUNT(good); i++)
		is_int(request_check_name(good[i], &err), 0, "request_check_name: takes \"%s\"",
		       good[i]);
	for (size_t i = 0; i < COUNT(bad); i++) {
		err.text[0] = '\0';
		ok(request_check_name(bad[i], &err) == -1 && err.text[0] && !strchr(err.text, '\n'),
		   "request_check_name: refuses bad name %zu: %s", i, err.text);
	}
}

/* Each text is canonical: it parses, and the parsed request formats to the same text. */
static void test_round_trips(void)
{
	static const char *const good[] = {
		"nodeos 1;c=sim cpus=44 mems=44 policy=hpc;c=vda cpus=2 smt=1 mems=17179869184b "
		"ignored=power,monitoring;",
		"nodeos 1;c=a;",
		"nodeos 1;c=a cpus=1048576 smt=64 mems=4096 policy=rr prio=99;",
		"nodeos 1;c=a mems=1152921504606846976b;",
		"nodeos 1;c=a mems=1b policy=fifo;",
		"nodeos 1;c=a policy=fifo prio=2;",
		"nodeos 1;c=a policy=hpc prio=2;",
		"nodeos 1;c=a;c=b cpus=1;",
		"nodeos 1;c=a cpus=2 policy=fifo prio=2 partition=isolated ignored=power;",
		"nodeos 1;c=a partition=root;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/dev/nvme0n1;",
		"nodeos 1;c=a partition=root dimmap=8796093022208 dimmap_source=/a "
		"dimmap_policy=sieve dimmap_fill=2097152 dimmap_access=ro ignored=power;",
		"nodeos 1;c=a dimmap=4194304 dimmap_source=/s/.x/..y/a=b,c'd dimmap_fill=4096;",
		"nodeos 1;c=a ignored=perfwrapper,resource/cpu,os/unix/sysctl;",
		"nodeos 1;c=a oom=0;",
		"nodeos 1;c=a oom=0 guest=64 contention=off;",
		"nodeos 1;c=a ignored=power,os/linux/oom-score-adj oom=1000;",
		"nodeos 1;c=a contention=observe;",
		"nodeos 1;c=a contention=observe placement=pack;",
		"nodeos 1;c=a cpus=1 placement=spread;c=b placement=spread:l3;",
		"nodeos 1;c=a contention=dino;",
		"nodeos 1;c=a contention=di;c=b cpus=1 contention=spread;",
		"nodeos 1;c=a oom=1 contention=off;c=b cpus=1;",
		"nodeos 1;c=a memory=1048576;",
		"nodeos 1;c=a mems=dram:1;",
		"nodeos 1;c=a mems=dram:4096,hbm:1b,gpu:1152921504606846976b "
		"mems_policy=weighted-interleave cores=fast;",
		"nodeos 1;c=a mems=1 mems_policy=preferred-many;",
		"nodeos 1;c=a cores=efficient;c=b cpus=1 cores=any;",
		"nodeos 1;c=a placement=pack memory=1152921504606846976 memory_request=1 "
		"bandwidth=4096 iops=4294967295 thp=never;",
		"nodeos 1;c=a ignored=resource/memory thp=always;",
		"nodeos 1;c=a lwk=16777216;",
		"nodeos 1;c=a lwk=1 lwk_page=2M;",
		"nodeos 1;c=a cores=any lwk=274877906944 lwk_page=1G lwk_loose=yes;",
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		struct request r;
		struct errbuf err = { 0 };
		int length;

		is_int(request_parse(&r, good[i], &err), 0, "request_parse: accepts text %zu %s", i,
		       err.text);
		length = request_format(&r, text, sizeof(text), &err);
		is_int(length, (long long)strlen(good[i]),
		       "request_format: returns the length of text %zu", i);
		is(text, good[i], "request_format: writes text %zu again", i);
	}
}

static void test_fields(void)
{
	struct request r;
	struct errbuf err;

	request_parse(&r,
		      "nodeos 1;c=sim cpus=44 mems=3 policy=hpc prio=1;c=vda smt=1 mems=8192b "
		      "ignored=power;",
		      &err);
	is_int(r.n, 2, "request_parse: reads two containers");
	is_int(request_find(&r, "vda"), 1, "request_find: finds a container by its name");
	is_int(request_find(&r, "vd"), -1, "request_find: a part of a name finds nothing");
	is(r.container[0].name, "sim", "request_parse: reads name");
	is_int(r.container[0].cpus, 44, "request_parse: reads cpus");
	is_int(r.container[0].smt, 0, "request_parse: smt is 0 without the field");
	is_int(r.container[0].mems_kind, MEMS_COUNT, "request_parse: mems is a count");
	is_int((long long)r.container[0].mems, 3, "request_parse: reads mems as a number of nodes");
	is_int(r.container[0].policy, POLICY_HPC, "request_parse: reads policy");
	is_int(r.container[0].priority, 1, "request_parse: reads the priority");
	is_int(r.container[1].cpus, 0, "request_parse: cpus is 0 without the field");
	is_int(r.container[1].smt, 1, "request_parse: reads smt");
	is_int(r.container[1].mems_kind, MEMS_SIZE, "request_parse: mems is a size");
	is_int((long long)r.container[1].mems, 8192, "request_parse: reads mems as bytes");
	is_int(r.container[1].policy, POLICY_UNSET,
	       "request_parse: policy is unset without the field");
	is_int(r.container[1].ignored, 1 << request_ignored_index("power"),
	       "request_parse: reads ignored");
}

static void test_request_refused(void)
{
	static const char *const bad[] = {
		"",
		"nodeos",
		"nodeos 1",
		"nodeos 1;",
		"nodeos 2;c=a;",
		"nodeos 01;c=a;",
		"Nodeos 1;c=a;",
		" nodeos 1;c=a;",
		"nodeos 1;c=a",
		"nodeos 1;c=a ;",
		"nodeos 1; c=a;",
		"nodeos 1;c=a;;",
		"nodeos 1;;c=a;",
		"nodeos 1;c=;",
		"nodeos 1;cpus=4;",
		"nodeos 1;cpus=4 c=a;",
		"nodeos 1;c=a c=b;",
		"nodeos 1;c=a c=a;",
		"nodeos 1;c=a;c=a;",
		"nodeos 1;c=a\n;",
		"nodeos 1;c=a;\n",
		"nodeos 1;c=a\tcpus=1;",
		"nodeos 1;c=\xc3\xa9;",
		"nodeos 1;c=none;",
		"nodeos 1;c=a  cpus=4;",
		"nodeos 1;c=a cpus=;",
		"nodeos 1;c=a cpus;",
		"nodeos 1;c=a cpus=0;",
		"nodeos 1;c=a cpus=04;",
		"nodeos 1;c=a cpus=-4;",
		"nodeos 1;c=a cpus=+4;",
		"nodeos 1;c=a cpus=4.0;",
		"nodeos 1;c=a cpus=1048577;",
		"nodeos 1;c=a cpus=4294967297;",
		"nodeos 1;c=a cpus=99999999999999999999999;",
		"nodeos 1;c=a cpus=0x4;",
		"nodeos 1;c=a cpus=4 cpus=4;",
		"nodeos 1;c=a CPUS=4;",
		"nodeos 1;c=a cpu=4;",
		"nodeos 1;c=a quantum=5;",
		"nodeos 1;c=a policy=fifo quantum=5;",
		"nodeos 1;c=a policy=hpc quantum=10001;",
		"nodeos 1;c=a policy=hpc quantum=;",
		"nodeos 1;c=a policy=hpc quantum=05;",
		"nodeos 1;c=a policy=hpc quantum=-1;",
		"nodeos 1;c=a policy=hpc quantum=5 prio=1;",
		"nodeos 1;c=a policy=hpc quantum=5 quantum=5;",
		"nodeos 1;c=a policy=other quantum=0;",
		"nodeos 1;c=a partition=member;",
		"nodeos 1;c=a partition=;",
		"nodeos 1;c=a partition=isolate;",
		"nodeos 1;c=a partition=isolatedisolatedisolated;",
		"nodeos 1;c=a partition=root prio=1;",
		"nodeos 1;c=a smt=1 cpus=4;",
		"nodeos 1;c=a smt=0;",
		"nodeos 1;c=a smt=65;",
		"nodeos 1;c=a mems=0;",
		"nodeos 1;c=a mems=0b;",
		"nodeos 1;c=a mems=4097;",
		"nodeos 1;c=a mems=1152921504606846977b;",
		"nodeos 1;c=a mems=18446744073709551617b;",
		"nodeos 1;c=a mems=1G;",
		"nodeos 1;c=a mems=1bb;",
		"nodeos 1;c=a mems=b;",
		"nodeos 1;c=a policy=;",
		"nodeos 1;c=a policy=SCHED_HPC;",
		"nodeos 1;c=a policy=unset;",
		"nodeos 1;c=a policy=deadline;",
		"nodeos 1;c=a policy=otherotherotherother;",
		"nodeos 1;c=a prio=1;",
		"nodeos 1;c=a policy=other prio=1;",
		"nodeos 1;c=a policy=hpc prio=3;",
		"nodeos 1;c=a policy=hpc prio=0;",
		"nodeos 1;c=a policy=fifo prio=100;",
		"nodeos 1;c=a policy=fifo prio=1;",
		"nodeos 1;c=a policy=fifo prio=0;",
		"nodeos 1;c=a prio=1 policy=hpc;",
		"nodeos 1;c=a oom=;",
		"nodeos 1;c=a oom=-1;",
		"nodeos 1;c=a oom=1001;",
		"nodeos 1;c=a guest=63;",
		"nodeos 1;c=a guest=16777217;",
		"nodeos 1;c=a oom=00;",
		"nodeos 1;c=a oom=1 ignored=power;",
		"nodeos 1;c=a contention=;",
		"nodeos 1;c=a placement=;",
		"nodeos 1;c=a placement=spread:core;",
		"nodeos 1;c=a placement=spread:a-very-long-word;",
		"nodeos 1;c=a placement=pack contention=off;",
		"nodeos 1;c=a contention=unset;",
		"nodeos 1;c=a memory=0;",
		"nodeos 1;c=a mems=dram;",
		"nodeos 1;c=a mems=dram:;",
		"nodeos 1;c=a mems=dram:0;",
		"nodeos 1;c=a mems=dram:4097;",
		"nodeos 1;c=a mems=dram:1,;",
		"nodeos 1;c=a mems=dram:1,dram:1;",
		"nodeos 1;c=a mems=hbm:1,dram:1;",
		"nodeos 1;c=a mems=mcdram:1;",
		"nodeos 1;c=a mems=1,dram:1;",
		"nodeos 1;c=a mems=a-very-long-word-of-no-kind:1;",
		"nodeos 1;c=a mems=hbm:1152921504606846977b;",
		"nodeos 1;c=a mems_policy=preferred-many;",
		"nodeos 1;c=a mems=1 mems_policy=bind;",
		"nodeos 1;c=a mems=1 mems_policy=interleave;",
		"nodeos 1;c=a cores=slow;",
		"nodeos 1;c=a cores=;",
		"nodeos 1;c=a memory=1048575;",
		"nodeos 1;c=a memory=1152921504606846977;",
		"nodeos 1;c=a memory=1G;",
		"nodeos 1;c=a memory_request=1;",
		"nodeos 1;c=a memory=1048576 memory_request=1048577;",
		"nodeos 1;c=a bandwidth=4095;",
		"nodeos 1;c=a iops=4294967296;",
		"nodeos 1;c=a iops=-1;",
		"nodeos 1;c=a iops=1 bandwidth=4096;",
		"nodeos 1;c=a lwk=16777215;",
		"nodeos 1;c=a lwk=2;",
		"nodeos 1;c=a lwk=17825792;",
		"nodeos 1;c=a lwk=274877906946;",
		"nodeos 1;c=a lwk=276974993408;",
		"nodeos 1;c=a lwk=16M;",
		"nodeos 1;c=a lwk_page=2M;",
		"nodeos 1;c=a lwk_loose=yes;",
		"nodeos 1;c=a lwk=16777216 lwk_page=1G;",
		"nodeos 1;c=a lwk=16777216 lwk_page=4K;",
		"nodeos 1;c=a lwk=16777216 lwk_loose=no;",
		"nodeos 1;c=a thp=;",
		"nodeos 1;c=a thp=madvise;",
		"nodeos 1;c=a thp=a-very-long-word-here;",
		"nodeos 1;c=a contention=devil;",
		"nodeos 1;c=a contention=observe-and-a-long-word;",
		"nodeos 1;c=a contention=observe oom=1;",
		"nodeos 1;c=a ignored=;",
		"nodeos 1;c=a ignored=monitoring,power;",
		"nodeos 1;c=a ignored=power,power;",
		"nodeos 1;c=a ignored=power,;",
		"nodeos 1;c=a ignored=,power;",
		"nodeos 1;c=a ignored=container;",
		"nodeos 1;c=a ignored=argo/power;",
		"nodeos 1;c=a ignored=pow;",
		"nodeos 1;c=a;c=b;",
		"nodeos 1;c=a =;",
		"nodeos 1;c=a =4;",
		"nodeos 1;c=1234567890123456789012345678901234567890123456789012345678901234;",
		"nodeos 1;c=a cpus=1 dimmap=1048576 dimmap_source=/a;c=b cpus=1 dimmap=2097152 "
		"dimmap_source=/a;",
		"nodeos 1;c=a dimmap=1048575 dimmap_source=/a;",
		"nodeos 1;c=a dimmap=1048576;",
		"nodeos 1;c=a dimmap_source=/a;",
		"nodeos 1;c=a dimmap=0 dimmap_source=/a;",
		"nodeos 1;c=a dimmap=1M dimmap_source=/a;",
		"nodeos 1;c=a dimmap=1152921504606846977 dimmap_source=/a;",
		"nodeos 1;c=a dimmap=01048576 dimmap_source=/a;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=a;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a/;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=//a;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a/../b;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/./a;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a b;",
		"nodeos 1;c=a dimmap_source=/a dimmap=1048576;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_policy=lru;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_policy=;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_fill=4095;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_fill=12288;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_fill=4194304;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_fill=0;",
		"nodeos 1;c=a dimmap=1048576 dimmap_source=/a dimmap_access=rw;",
		"nodeos 1;c=a dimmap_access=ro;",
		"nodeos 1;c=a dimmap_fill=4096;",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct request r, before;
		struct errbuf err = { 0 };

		memset(&before, 0x5a, sizeof(before));
		memcpy(&r, &before, sizeof(r));
		ok(request_parse(&r, bad[i], &err) == -1 && memcmp(&r, &before, sizeof(r)) == 0 &&
			   err.text[0] && !strchr(err.text, '\n'),
		   "request_parse: refuses text %zu and leaves the request untouched: %s", i,
		   err.text);
	}
}

static void test_request_limits(void)
{
	struct request r;
	struct errbuf err = { 0 };
	char *p;

	/* the largest valid request fits, and its text can be parsed */
	memset(&r, 0, sizeof(r));
	r.n = REQUEST_CONTAINERS_MAX;
	for (unsigned i = 0; i < r.n; i++) {
		struct requested_container *c = &r.container[i];

		memset(c->name, 'x', sizeof(c->name) - 1);
		c->name[0] = (char)('0' + i / 10);
		c->name[1] = (char)('0' + i % 10);
		c->cpus = REQUEST_CPUS_MAX;
		c->smt = REQUEST_SMT_MAX;
		c->mems_kind = MEMS_WANTS;
		c->n_wants = MEMS_WANTS_MAX;
		for (unsigned k = 0; k < MEMS_WANTS_MAX; k++)
			c->want[k] =
				(struct mems_want){ (enum memory_kind)k, true, REQUEST_BYTES_MAX };
		c->mems_policy = MEMS_WEIGHTED_INTERLEAVE;
		c->cores = CORES_EFFICIENT;
		c->policy = i % 2 ? POLICY_FIFO : POLICY_HPC;
		c->priority = i % 2 ? 99 : 2;
		c->quantum_named = i % 2 == 0;
		c->quantum = i % 2 ? 0 : HPC_QUANTUM_MAX;
		c->partition = PARTITION_ISOLATED;
		c->dimmap = (struct request_dimmap){ .size = REQUEST_DIMMAP_MAX,
						     .policy = 4,
						     .fill = REQUEST_FILL_MAX,
						     .read_only = true };
		memset(c->dimmap.source, '/', 1);
		memset(c->dimmap.source + 1, 'y', sizeof(c->dimmap.source) - 2);
		/* the containers' sources must differ */
		c->dimmap.source[1] = c->name[0];
		c->dimmap.source[2] = c->name[1];
		for (unsigned k = 0; request_ignored_name[k]; k++)
			c->ignored |= UINT32_C(1) << k;
		c->number[RANK_NUMBER_OOM] = (struct rank_value){ true, 1000 };
		c->contention = CONTENTION_OBSERVE;
		c->placement = PLACEMENT_SPREAD_PACKAGE;
		c->limits = (struct request_limits){ REQUEST_BYTES_MAX, REQUEST_BYTES_MAX,
						     REQUEST_BYTES_MAX, REQUEST_IOPS_MAX,
						     THP_ALWAYS };
	}
	ok(request_format(&r, text, REQUEST_TEXT_MAX, &err) > 0,
	   "request_format: the largest request fits: %s", err.text);
	is_int(request_parse(&r, text, &err), 0, "request_parse: parses the largest request: %s",
	       err.text);
	is_int(r.n, REQUEST_CONTAINERS_MAX,
	       "request_parse: the largest request has all containers");
	is_int((long long)strlen(r.container[63].dimmap.source), REQUEST_SOURCE_MAX - 1,
	       "request_parse: the largest request has the longest source");
	r.container[63].dimmap.source[REQUEST_SOURCE_MAX - 1] = 'y';
	is_int(request_check(&r, &err), -1, "request_check: refuses a source without its NUL");

	/* one more container is refused */
	strcpy(text, "nodeos 1;");
	for (unsigned i = 0; i <= REQUEST_CONTAINERS_MAX; i++)
		sprintf(text + strlen(text), "c=x%u cpus=1;", i);
	is_int(request_parse(&r, text, &err), -1, "request_parse: refuses 65 containers");
	is(err.text, "request: too many containers (allowed: 64)",
	   "request_parse: the message says that 65 containers are too many");
	r.n = REQUEST_CONTAINERS_MAX + 1;
	is_int(request_check(&r, &err), -1, "request_check: refuses 65 containers");
	r.n = 0;
	is_int(request_check(&r, &err), -1, "request_check: refuses a request without containers");

	/* a text that is too long, and a text without a NUL */
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	is_int(request_parse(&r, text, &err), -1, "request_parse: refuses a text that is too long");
	p = malloc(REQUEST_TEXT_MAX);
	memset(p, ';', REQUEST_TEXT_MAX);
	is_int(request_parse(&r, p, &err), -1,
	       "request_parse: the limit ends the search for a NUL");
	free(p);
}

static void test_format_fails(void)
{
	struct request r;
	struct errbuf err;
	static const char want[] = "nodeos 1;c=a cpus=4;";

	memset(&r, 0, sizeof(r));
	r.n = 1;
	strcpy(r.container[0].name, "a");
	r.container[0].cpus = 4;
	for (size_t size = 0; size < sizeof(want); size++) {
		memset(text, '#', sizeof(text));
		ok(request_format(&r, text, size, &err) == -1 && text[size] == '#' &&
			   (!size || !text[0]),
		   "request_format: fails in %zu bytes and writes no more", size);
	}
	is_int(request_format(&r, text, sizeof(want), &err), sizeof(want) - 1,
	       "request_format: the exact size is enough");
	is(text, want, "request_format: writes the text into a buffer of the exact size");
	r.container[0].policy = POLICY_FIFO;
	r.container[0].priority = 1;
	request_format(&r, text, sizeof(text), &err);
	is(text, "nodeos 1;c=a cpus=4 policy=fifo;",
	   "request_format: priority 1 of fifo is written as 0");
	r.container[0].policy = POLICY_COUNT;
	is_int(request_check(&r, &err), -1, "request_check: refuses an unknown policy");
	r.container[0].policy = POLICY_UNSET;
	r.container[0].priority = 0;
	r.container[0].ignored = UINT32_C(1) << 31;
	is_int(request_check(&r, &err), -1, "request_check: refuses an unknown bit of ignored");
	r.container[0].ignored = 0;
	r.container[0].mems = 3;
	is_int(request_check(&r, &err), -1, "request_check: refuses mems without a kind");
	r.container[0].mems_kind = (enum mems_kind)7;
	is_int(request_check(&r, &err), -1, "request_check: refuses mems of an unknown kind");
	memset(r.container[0].name, 'a', sizeof(r.container[0].name));
	is_int(request_check(&r, &err), -1, "request_check: refuses a name without its NUL");
}

static void test_request_mems(void)
{
	static const struct {
		const char *text;
		int kind; /* MEMS_UNSET: refused */
		unsigned long long value;
	} table[] = {
		{ "1", MEMS_COUNT, 1 },
		{ "4096", MEMS_COUNT, 4096 },
		{ "64k", MEMS_SIZE, 65536 },
		{ "64K", MEMS_SIZE, 65536 },
		{ "16G", MEMS_SIZE, 17179869184 },
		{ "16Gi", MEMS_SIZE, 17179869184 },
		{ "512MiB", MEMS_SIZE, 536870912 },
		{ "2t", MEMS_SIZE, 2199023255552 },
		{ "1E", MEMS_SIZE, 1152921504606846976 },
		{ "1024P", MEMS_SIZE, 1152921504606846976 },
		{ "17179869184b", MEMS_SIZE, 17179869184 },
		{ "8192B", MEMS_SIZE, 8192 },
		{ "", MEMS_UNSET, 0 },
		{ "0", MEMS_UNSET, 0 },
		{ "0G", MEMS_UNSET, 0 },
		{ "4097", MEMS_UNSET, 0 },
		{ "01", MEMS_UNSET, 0 },
		{ "01G", MEMS_UNSET, 0 },
		{ "-1", MEMS_UNSET, 0 },
		{ "+1", MEMS_UNSET, 0 },
		{ " 1", MEMS_UNSET, 0 },
		{ "1 ", MEMS_UNSET, 0 },
		{ "1 G", MEMS_UNSET, 0 },
		{ "1.5G", MEMS_UNSET, 0 },
		{ "16GB", MEMS_UNSET, 0 }, /* GB could mean 10^9 or 2^30 */
		{ "16Gib", MEMS_UNSET, 0 },
		{ "16GiBx", MEMS_UNSET, 0 },
		{ "G", MEMS_UNSET, 0 },
		{ "2E", MEMS_UNSET, 0 },
		{ "1025P", MEMS_UNSET, 0 },
		{ "18446744073709551616", MEMS_UNSET, 0 },
		{ "18446744073709551617b", MEMS_UNSET, 0 },
		{ "99999999999999999999999999999999999999999999999999999999999999999999999999G",
		  MEMS_UNSET, 0 },
		{ "0x10", MEMS_UNSET, 0 },
		{ "1e3", MEMS_UNSET, 0 },
		{ "all", MEMS_UNSET, 0 },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct requested_container c = { .mems_kind = MEMS_UNSET };
		struct errbuf err = { 0 };
		int result = request_parse_mems(&c, table[i].text, &err);

		ok((int)c.mems_kind == table[i].kind && c.mems == table[i].value &&
			   result == (table[i].kind == MEMS_UNSET ? -1 : 0),
		   "request_parse_mems: \"%s\" gives the right kind and value, or is refused %s",
		   table[i].text, err.text);
	}
}

/*
 * Values of --nodeos-mems with kinds and a policy, and the canonical text of each; NULL: refused.
 */
static void test_wants(void)
{
	static const char *const table[][2] = {
		{ "hbm:16G", "nodeos 1;c=a mems=hbm:17179869184b;" },
		{ "hbm:512MiB,dram:2", "nodeos 1;c=a mems=dram:2,hbm:536870912b;" },
		{ "2,policy:weighted-interleave",
		  "nodeos 1;c=a mems=2 mems_policy=weighted-interleave;" },
		{ "policy:preferred-many,gpu:1",
		  "nodeos 1;c=a mems=gpu:1 mems_policy=preferred-many;" },
		{ "16G,policy:bind", "nodeos 1;c=a mems=17179869184b;" },
		{ "hbm", NULL },
		{ "hbm:", NULL },
		{ "hbm:0", NULL },
		{ "hbm:4097", NULL },
		{ "hbm:2E", NULL },
		{ "mcdram:1", NULL },
		{ "hbm:1,hbm:2", NULL },
		{ "hbm:1,2", NULL },
		{ "2,hbm:1", NULL },
		{ "1,1", NULL },
		{ "hbm:1,", NULL },
		{ ",hbm:1", NULL },
		{ "policy:bind", NULL },
		{ "1,policy:interleave", NULL },
		{ "hbm:1,dram:1,a-very-long-word-of-more-than-sixty-three-bytes-which-is-no-kind:1",
		  NULL },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct request r = { .n = 1, .container = { { .name = "a" } } };
		struct errbuf err = { 0 };
		int result = request_parse_mems(&r.container[0], table[i][0], &err);

		is_int(result, table[i][1] ? 0 : -1, "request_parse_mems: %s is %s: %s",
		       table[i][0], table[i][1] ? "accepted" : "refused", err.text);
		if (table[i][1] && request_format(&r, text, sizeof(text), &err) > 0)
			is(text, table[i][1], "request_parse_mems: the request of %s is right",
			   table[i][0]);
		else
			is_int(r.container[0].mems_kind, MEMS_UNSET,
			       "request_parse_mems: %s changes nothing", table[i][0]);
	}
}

/* Values of --nodeos-sched, and the canonical text of the container that each makes. */
static void test_sched(void)
{
	static const struct {
		const char *text;
		const char *want; /* NULL: refused */
	} table[] = {
		{ "other", " policy=other" },
		{ "idle", " policy=idle" },
		{ "fifo", " policy=fifo" },
		{ "fifo:1", " policy=fifo" },
		{ "fifo:10", " policy=fifo prio=10" },
		{ "rr:99", " policy=rr prio=99" },
		{ "SCHED_RR:99", " policy=rr prio=99" },
		{ "hpc", " policy=hpc prio=2" },
		{ "SCHED_HPC", " policy=hpc prio=2" },
		{ "hpc:user", " policy=hpc" },
		{ "hpc:rr", " policy=hpc prio=1" },
		{ "hpc:topo", " policy=hpc prio=2" },
		{ "hpc:0", " policy=hpc" },
		{ "hpc:1", " policy=hpc prio=1" },
		{ "hpc,quantum:20", " policy=hpc prio=2 quantum=20" },
		{ "hpc,quantum:0", " policy=hpc prio=2 quantum=0" },
		{ "hpc:user,quantum:10000", " policy=hpc quantum=10000" },
		{ "", NULL },
		{ "hpc:", NULL },
		{ "hpc:3", NULL },
		{ "hpc:top", NULL },
		{ "hpc:topology", NULL },
		{ "hpc:abcdefghijklmnopqrstuvwxyz", NULL },
		{ "hpc:rr:topo", NULL },
		{ "hpc,", NULL },
		{ "hpc,quantum", NULL },
		{ "hpc,quantum:", NULL },
		{ "hpc,quantum:10001", NULL },
		{ "hpc,quantum:1s", NULL },
		{ "hpc,quantum:1,quantum:1", NULL },
		{ "hpc,rr", NULL },
		{ "hpc:topo quantum:1", NULL },
		{ "quantum:10", NULL },
		{ "HPC", NULL },
		{ "fifo:user", NULL },
		{ "fifo:100", NULL },
		{ "fifo:-1", NULL },
		{ "fifo:1x", NULL },
		{ "fifo,quantum:10", NULL },
		{ "other:1", NULL },
		{ "unset", NULL },
		{ "deadline", NULL },
		{ "otherotherotherotherotherotherotherother", NULL },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct request r = { .n = 1, .container = { { .name = "a" } } };
		struct errbuf err = { 0 };
		char want[128] = "";

		if (request_parse_sched(&r.container[0], table[i].text, &err) == 0)
			request_format(&r, text, sizeof(text), &err);
		else
			strcpy(text, r.container[0].policy == POLICY_UNSET && *err.text
					     ? ""
					     : "the container changed, or there is no reason");
		if (table[i].want)
			sprintf(want, "nodeos 1;c=a%s;", table[i].want);
		is(text, want,
		   "request_parse_sched: \"%s\" gives the right record, or is refused %s",
		   table[i].text, err.text);
	}
}

/* Numbers of ranks may be negative where a row of RANK_NUMBERS allows it. */
static void test_signed_numbers(void)
{
	static const char *const bad[] = { "",	  "-",	 "-0",		"--1",	       "+1",
					   "01",  "-01", " 1",		"1 ",	       "21",
					   "-21", "1.0", "99999999999", "-99999999999" };
	static const char *const good[] = { "-20", "-1", "0", "20" };
	static const int want[] = { -20, -1, 0, 20 };
	int n;

	for (size_t i = 0; i < COUNT(good); i++) {
		n = 7;
		is_int(request_field_signed(&n, good[i], good[i] + strlen(good[i]), -20, 20), 0,
		       "request_field_signed: takes \"%s\"", good[i]);
		is_int(n, want[i], "request_field_signed: reads the value of \"%s\"", good[i]);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		n = 7;
		is_int(request_field_signed(&n, bad[i], bad[i] + strlen(bad[i]), -20, 20), -1,
		       "request_field_signed: refuses \"%s\" for -20 to 20", bad[i]);
		is_int(n, 7, "request_field_signed: \"%s\" leaves the value untouched", bad[i]);
	}
}

static void test_limits(void)
{
	static const struct {
		const char *text;
		struct request_limits want;
	} good[] = {
		{ "memory:16G", { .memory = UINT64_C(17179869184) } },
		{ "memory:1048576", { .memory = 1048576 } },
		{ "iops:500,bandwidth:100M,thp:never",
		  { .iops = 500, .bandwidth = 104857600, .thp = THP_NEVER } },
		{ "thp:always", { .thp = THP_ALWAYS } },
	};
	static const char *const bad[] = {
		"",	    "memory",	   "memory:",	 "memory:0",
		"memory:1", "memory:16G,", "iops:0",	 "bandwidth:1",
		"thp:",	    "thp:madvise", "cpus:1",	 ",iops:1",
		"iops:x",   "iops:8G",	   "memory=16G", "memory_request:1M",
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		struct request_limits l;
		struct errbuf err = { 0 };

		is_int(request_parse_limits(&l, good[i].text, &err), 0,
		       "request_parse_limits: takes %s: %s", good[i].text, err.text);
		ok(l.memory == good[i].want.memory && l.bandwidth == good[i].want.bandwidth &&
			   l.iops == good[i].want.iops && l.thp == good[i].want.thp &&
			   !l.memory_request,
		   "request_parse_limits: reads the values of %s", good[i].text);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct request_limits l = { .iops = 3 };
		struct errbuf err = { 0 };

		is_int(request_parse_limits(&l, bad[i], &err), -1,
		       "request_parse_limits: refuses \"%s\"", bad[i]);
		ok(*err.text && l.iops == 3,
		   "request_parse_limits: gives a reason and keeps the limits: %s", err.text);
	}
}

static void test_lwk(void)
{
	static const struct {
		const char *text;
		struct request_lwk want;
	} good[] = {
		{ "16M", { 16 << 20, LWK_PAGE_UNSET, false } },
		{ "", { REQUEST_LWK_SHARE, LWK_PAGE_UNSET, false } },
		{ "share", { REQUEST_LWK_SHARE, LWK_PAGE_UNSET, false } },
		{ "loose", { REQUEST_LWK_SHARE, LWK_PAGE_UNSET, true } },
		{ "share,page=1G", { REQUEST_LWK_SHARE, LWK_PAGE_1G, false } },
		{ "4G,page=1G", { UINT64_C(4) << 30, LWK_PAGE_1G, false } },
		{ "512MiB,loose,page=2M", { 512 << 20, LWK_PAGE_2M, true } },
	};
	static const char *const bad[] = {
		"1",	     "15M",	   "17M",	   "257G",     "4G,",	  "4G,page",
		"4G,page=",  "4G,page=4K", "512M,page=1G", "shares",   "4G,fast", ",4G",
		"4G,,loose", "page=1G,4G", "loose,share",  "4G,share", ",",
	};
	struct errbuf err = { 0 };

	for (size_t i = 0; i < COUNT(good); i++) {
		struct request_lwk l;

		is_int(request_parse_lwk(&l, good[i].text, &err), 0,
		       "request_parse_lwk: takes %s: %s", good[i].text, err.text);
		ok(l.memory == good[i].want.memory && l.page == good[i].want.page &&
			   l.loose == good[i].want.loose,
		   "request_parse_lwk: reads the values of %s", good[i].text);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct request_lwk l = { .memory = 3 };

		errclear(&err);
		is_int(request_parse_lwk(&l, bad[i], &err), -1, "request_parse_lwk: refuses \"%s\"",
		       bad[i]);
		ok(*err.text && l.memory == 3,
		   "request_parse_lwk: gives a reason and keeps the memory: %s", err.text);
	}
}

static void test_unknown_field(void)
{
	struct request r;
	struct errbuf err;

	request_parse(&r, "nodeos 1;c=a cpu=4;", &err);
	is(err.text,
	   "request: container 1: unknown field \"cpu=4\" (allowed: c=, cpus=, smt=, mems=, "
	   "policy=, prio=, quantum=, partition=, dimmap=, dimmap_source=, dimmap_policy=, "
	   "dimmap_fill=, dimmap_access=, ignored=, oom=, guest=, contention=, placement=, "
	   "memory=, memory_request=, bandwidth=, iops=, thp=, mems_policy=, cores=, "
	   "lwk=, lwk_page=, lwk_loose=)",
	   "request_parse: the message about an unknown field lists the allowed ones in order");
	request_parse(&r, "nodeos 1;c=a cpus=x;", &err);
	is(err.text, "request: container 1: bad value in \"cpus=x\"",
	   "request_parse: the message names the field with a bad value");
}

/* The list of all ignored isolators is the longest value of a field. */
static void test_all_ignored(void)
{
	static struct request r = { .n = 1, .container = { { .name = "a" } } };
	struct request again;
	struct errbuf err = { 0 };
	unsigned n = 0;

	while (request_ignored_name[n])
		r.container[0].ignored |= UINT32_C(1) << n++;
	ok(request_format(&r, text, sizeof(text), &err) > 0 &&
		   request_parse(&again, text, &err) == 0 &&
		   again.container[0].ignored == r.container[0].ignored,
	   "request_format: a request with all %u ignored isolators fits and parses: %s", n,
	   err.text);
}

int main(void)
{
	test_limits();
	test_lwk();
	test_wants();
	test_unknown_field();
	test_signed_numbers();
	test_all_ignored();
	test_sched();
	test_request_names();
	test_round_trips();
	test_fields();
	test_request_refused();
	test_request_limits();
	test_format_fails();
	test_request_mems();
	return tap_done();
}
