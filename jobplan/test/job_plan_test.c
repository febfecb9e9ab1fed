/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobplan/job_plan.h"

#include <stdlib.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "jobplan/planner_input.h"

#define GOOD                                                                              \
	"nodeos-plan 1\ncore 0,4\ncore 1,5\ncore 2,6\ncore 3,7\n"                         \
	"container sim cpus 0-1,4-5 reserved 0-1,4-5 mems 0 asked 4 confined 1 shared 0 " \
	"kinds dram\nwhy a\nwhy b\n"                                                      \
	"container hot cpus 3 reserved 3,7 mems 0,2-3 asked 1 confined 1 shared 0 "       \
	"kinds dram,hbm of 0;2-3\n"                                                       \
	"container vda cpus 2 reserved 2,6 mems 0-1 asked 1 confined 0 shared 1\nend\n"

#define KINDS \
	"nodeos-plan 1\ncontainer a cpus 0 reserved 0 mems 0 asked 1 confined 0 shared 0 kinds"

static void test_job_plan_round_trip(void)
{
	struct job_plan *p;
	struct errbuf err;
	const char *at = GOOD "rest";
	char *text;
	size_t size;
	FILE *f;

	is_int(job_plan_parse(&p, &at, &err), 0, "job_plan_parse: a good plan parses");
	is(at, "rest", "job_plan_parse: stops after the line \"end\"");
	is_int(p->n_cores, 4, "job_plan_parse: the plan has its cores");
	is_int(p->n, 3, "job_plan_parse: the plan has its containers");
	is(list_of(&p->container[2].reserved), "2,6",
	   "job_plan_parse: a container has its reserved CPUs");
	is(p->container[0].why, "a\nb", "job_plan_parse: a container has its explanation");
	ok(p->container[1].kinds == (MEMORY_KIND_BIT(MEMORY_DRAM) | MEMORY_KIND_BIT(MEMORY_HBM)),
	   "job_plan_parse: a container has its kinds of memory");
	is(list_of(&p->container[1].kind_mems[MEMORY_HBM]), "2-3",
	   "job_plan_parse: a container has the nodes of each kind");
	ok(p->container[0].kinds == MEMORY_KIND_BIT(MEMORY_DRAM) &&
		   idset_empty(&p->container[0].kind_mems[MEMORY_DRAM]),
	   "job_plan_parse: the nodes of a kind may be unknown");
	is_int(p->container[2].kinds, 0,
	       "job_plan_parse: kinds are unknown in a ledger of an earlier release");
	f = open_memstream(&text, &size);
	job_plan_print(f, p);
	fclose(f);
	is(text, GOOD, "job_plan_print: prints the text that was parsed");
	free(text);
	job_plan_free(p);
}

/* A deleted container has only the line with its name. */
static void test_deleted(void)
{
	static const char text[] = "nodeos-plan 1\ncore 0,4\ncontainer sim cpus 0 reserved 0,4 "
				   "mems 0 asked 1 confined 1 shared 0\ndeleted vda\nend\n";
	struct idset held, mems;
	struct job_plan *p;
	struct errbuf err;
	const char *at = text;
	char *again;
	size_t size;
	FILE *f;

	is_int(job_plan_parse(&p, &at, &err), 0,
	       "job_plan_parse: parses a plan with a deleted container");
	ok(p->n == 2 && !p->container[0].deleted && p->container[1].deleted,
	   "job_plan_parse: the second container is the deleted one");
	ok(job_plan_find(p, "vda") == &p->container[1], "job_plan_find: finds a deleted container");
	idset_zero(&held);
	idset_zero(&mems);
	job_plan_reserved(p, &held);
	job_plan_mems(p, false, &mems);
	is(list_of(&held), "0,4", "job_plan_reserved: a deleted container holds no CPU");
	is(list_of(&mems), "0", "job_plan_mems: a deleted container holds no memory node");
	f = open_memstream(&again, &size);
	job_plan_print(f, p);
	fclose(f);
	is(again, text, "job_plan_print: prints a deleted container as parsed");
	free(again);
	job_plan_free(p);
}

static void test_job_plan_refused(void)
{
	static const struct {
		const char *text, *what;
	} bad[] = {
		{ "nodeos-plan 1\ndeleted vda 0-3\nend\n",
		  "text after the name of a deleted container" },
		{ "nodeos-plan 1\ndeleted vda\ndeleted vda\nend\n", "a container deleted twice" },
		{ "", "nothing" },
		{ "nodeos-plan 2\nend\n", "another version" },
		{ "nodeos-plan 1\n", "a plan without \"end\"" },
		{ "nodeos-plan 1\ncore 0-\nend\n", "a bad set" },
		{ "nodeos-plan 1\nwhy early\nend\n", "why before a container" },
		{ "nodeos-plan 1\ncontainer A cpus 0 reserved 0 mems 0 asked 1 confined 0 shared "
		  "0\nend\n",
		  "a bad name of a container" },
		{ "nodeos-plan 1\ncontainer a cpus 0 mems 0 asked 1 confined 0 shared 0\nend\n",
		  "a missing field" },
		{ "nodeos-plan 1\ncontainer a cpus 0 reserved 0 mems 0 asked x confined 0 shared "
		  "0\nend\n",
		  "a letter in place of a number" },
		{ "nodeos-plan 1\ncontainer a cpus 0 reserved 0 mems 0 asked 1 confined 2 shared "
		  "0\nend\n",
		  "a flag above 1" },
		{ "nodeos-plan 1\ncontainer a cpus 0 reserved 0 mems 0 asked 1 confined 0 shared 0 "
		  "x\nend\n",
		  "text after a container without kinds" },
		{ KINDS "\nend\n", "kinds without a value" },
		{ KINDS " dram,ram\nend\n", "an unknown kind" },
		{ KINDS " dram,\nend\n", "an empty kind" },
		{ KINDS " dram x\nend\n", "text after kinds" },
		{ KINDS " dram of\nend\n", "kinds without their nodes" },
		{ KINDS " dram of 1\nend\n", "nodes of a kind outside of the container" },
		{ KINDS " dram of 0;0\nend\n", "nodes of one kind too many" },
		{ KINDS " dram,hbm of 0\nend\n", "nodes of one kind too few" },
		{ KINDS " dram,hbm of 0;\nend\n", "a kind without nodes" },
		{ KINDS " dram of 0 x\nend\n", "text after the nodes of kinds" },
		{ "nodeos-plan 1\ncontainer a cpus 0 reserved 0 mems 0 asked 1 confined 0 shared "
		  "0\n"
		  "container a cpus 1 reserved 1 mems 0 asked 1 confined 0 shared 0\nend\n",
		  "the same name twice" },
	};
	struct job_plan *p;
	struct errbuf err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *at = bad[i].text;

		is_int(job_plan_parse(&p, &at, &err), -1, "job_plan_parse: refuses %s",
		       bad[i].what);
	}
	const char *at = "error needs 9 cores\n";
	is_int(job_plan_parse(&p, &at, &err), -1,
	       "job_plan_parse: fails on an error that the helper reports");
	is(err.text, "needs 9 cores", "job_plan_parse: the helper's error becomes the message");
}

/* Refusals as the planning helper prints them, and as a user in control of the helper could. */
static void test_job_plan_refusals(void)
{
	static const struct {
		const char *text;
		int code;
		const char *what;
	} answer[] = {
		{ "error x\n", PLAN_OK, "no line for a refusal" },
		{ "error x\nrefusal no-cpus\n", PLAN_NO_CPUS, "too few CPUs" },
		{ "error x\nrefusal no-mems\n", PLAN_NO_MEMS, "too few memory nodes" },
		{ "error x\nrefusal no-offer\n", PLAN_NO_OFFER, "no CPUs to offer" },
		{ "error x\nrefusal bad-ask\n", PLAN_BAD_ASK, "a request that no node can meet" },
		{ "error x\nrefusal no-rank-cpus\n", PLAN_NO_RANK_CPUS, "too many ranks" },
		{ "error x\nrefusal later\n", PLAN_OK, "a word of a later release" },
		{ "error x\nrefusal no-cpus", PLAN_OK, "a truncated line" },
		{ "error x\nrefusal no-cpus\nmore\n", PLAN_OK, "text after the refusal" },
		{ "error x\nrefusal no-cpus \n", PLAN_OK, "a blank after the word" },
		{ "error x\nrefusal  no-cpus\n", PLAN_OK, "two blanks before the word" },
	};

	for (size_t i = 0; i < sizeof(answer) / sizeof(answer[0]); i++) {
		const char *at = answer[i].text;
		struct job_plan *p = NULL;
		struct errbuf err = { .code = 99 };

		is_int(job_plan_parse(&p, &at, &err), -1,
		       "job_plan_parse: fails for an error with %s", answer[i].what);
		is_int(err.code, answer[i].code, "job_plan_parse: gives the code of %s",
		       answer[i].what);
	}
	for (int code = PLAN_OK; code < PLAN_REFUSALS; code++) {
		struct job_plan *p = NULL;
		struct errbuf err = { 0 }, back = { 0 };
		char text[128] = "";
		const char *at = text;
		FILE *f = fmemopen(text, sizeof(text), "w");

		errcode(&err, code, "why");
		job_plan_print_error(f, &err);
		fclose(f);
		job_plan_parse(&p, &at, &back);
		is_int(back.code, code, "job_plan_print_error: code %d is printed and read back",
		       code);
	}
}

static void test_input(void)
{
	struct plan_input in = {
		.cores = set_of("0-7"),
		.cpus = set_of("1-7"),
		.mems = set_of("0-1"),
		.default_mems = MEMS_LOCAL,
		.apart = { .devils = UINT64_C(1) << 63 | 5, .cpus = set_of("2-3,6") },
		.request = "nodeos 1;c=a cpus=2;",
	};
	struct plan_input got;
	struct errbuf err;
	char *text = plan_input_format(&in);
	char cut[] = "cores 0-7\ncpus 0\n";
	char bad[] = "cores 0\ncpus 0\nmems 0\ntaken \ndefault_mems all\ndevils x 1\nrequest y\n";

	idset_zero(&in.mems_taken);
	is_int(plan_input_parse(&got, text, &err), 0,
	       "plan_input_parse: parses what plan_input_format() has written");
	ok(idset_equal(&got.cpus, &in.cpus) && idset_empty(&got.mems_taken),
	   "plan_input_parse: the sets of CPUs and memory nodes are the same");
	is_int(got.default_mems, MEMS_LOCAL, "plan_input_parse: default_mems is the same");
	is(got.request, in.request, "plan_input_parse: the request is the same");
	ok(got.apart.devils == in.apart.devils && idset_equal(&got.apart.cpus, &in.apart.cpus),
	   "plan_input_parse: the containers that had devils are the same");
	is_int(plan_input_parse(&got, cut, &err), -1, "plan_input_parse: refuses truncated input");
	is_int(plan_input_parse(&got, bad, &err), -1,
	       "plan_input_parse: refuses a line \"devils\" without a number");
	free(text);
	for (int k = MEMS_ALL; k <= MEMS_ORDINARY; k++) {
		in.default_mems = (enum mems_default)k;
		text = plan_input_format(&in);
		is_int(plan_input_parse(&got, text, &err), 0,
		       "plan_input_parse: parses default_mems number %d", k);
		is_int(got.default_mems, k, "plan_input_parse: default_mems number %d is the same",
		       k);
		free(text);
	}
}

int main(void)
{
	test_job_plan_round_trip();
	test_deleted();
	test_job_plan_refused();
	test_job_plan_refusals();
	test_input();
	return tap_done();
}
