/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of a request before the job exists: in sbatch, salloc and srun, with the user's rights. */
#include "launch/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/isolator.h"
#include "host/conf.h"
#include "manifest/choice.h"

static int parse_guest(struct rank_value *mib, const char *text, struct errbuf *err)
{
	const struct rank_number *limits = &rank_numbers[RANK_NUMBER_GUEST];
	uint64_t bytes;

	if (request_parse_bytes(text, &bytes) < 0 || bytes % (UINT64_C(8) << 20) ||
	    bytes >> 20 < (uint64_t)limits->min || bytes >> 20 > (uint64_t)limits->max)
		return errprintf(err,
				 "--nodeos-guest=%.60s: expected the memory of a guest, a multiple "
				 "of 8M from 64M to 16T",
				 text);
	*mib = (struct rank_value){ .set = true, .value = (int)(bytes >> 20) };
	return 0;
}

int submit_request(struct request *r, const char *name, const struct submit_wish *wish,
		   struct errbuf *err)
{
	struct requested_container *c = &r->container[0];

	memset(r, 0, sizeof(*r));
	r->n = 1;
	snprintf(c->name, sizeof(c->name), "%s", name);
	if (wish->cpus) {
		char *end;
		unsigned long n = strtoul(wish->cpus, &end, 10);

		if (*wish->cpus < '1' || *wish->cpus > '9' || *end || n > REQUEST_CPUS_MAX)
			return errprintf(err,
					 "--nodeos-cpus=%.60s: expected a number of hardware "
					 "threads from 1 to %d",
					 wish->cpus, REQUEST_CPUS_MAX);
		c->cpus = (unsigned)n;
	}
	if (wish->mems && request_parse_mems(c, wish->mems, err) < 0)
		return errwrap(err, "--nodeos-mems");
	if (wish->placement) {
		c->placement = placement_word_by_name(wish->placement);
		if (c->placement == PLACEMENT_UNSET)
			return errprintf(err, "--nodeos-placement=%.60s: expected one of %s",
					 wish->placement, PLACEMENT_WORDS);
	}
	if (wish->limits && request_parse_limits(&c->limits, wish->limits, err) < 0)
		return errwrap(err, "--nodeos-limits");
	if (wish->lwk && request_parse_lwk(&c->lwk, wish->lwk, err) < 0)
		return errwrap(err, "--nodeos-lwk");
	if (wish->guest && parse_guest(&c->number[RANK_NUMBER_GUEST], wish->guest, err) < 0)
		return -1;
	if (wish->sched && request_parse_sched(c, wish->sched, err) < 0)
		return errwrap(err, "--nodeos-sched");
	if (wish->contention)
		c->contention = contention_policy_by_name(wish->contention);
	return request_check(r, err);
}

int submit_check_site(const struct request *r, const char *conf_path, struct errbuf *err)
{
	const struct conf_user user = { .uid = getuid(), .undecided = true };
	struct conf conf;

	if (conf_load(&conf, conf_path, 0, err) < 0)
		return -1;
	if (r->n > conf.max_containers)
		return errprintf(err,
				 "%u containers are requested, at most %u are allowed at this site "
				 "(max_containers in %s)",
				 r->n, conf.max_containers, conf_path);
	for (unsigned i = 0; i < r->n; i++)
		if (isolators_allowed(&r->container[i], &conf, conf_path, err) < 0)
			return -1;
	return isolators_user_may(r, &conf, &user, conf_path, err);
}

int submit_check_contention(const char *value, const char *conf_path, struct errbuf *err)
{
	const struct conf_user user = { .uid = getuid(), .undecided = true };
	enum contention_policy p = contention_policy_by_name(value);
	struct conf conf;

	if (p == CONTENTION_UNSET)
		return errprintf(
			err, "--nodeos-contention=%.60s: expected one of " CONTENTION_NAMES, value);
	if (p == CONTENTION_OFF)
		return 0;
	if (conf_load(&conf, conf_path, 0, err) < 0 ||
	    conf_check_isolator(&conf, ISOLATOR_CONTENTION, &user, conf_path, err) < 0)
		return errwrap(err, "--nodeos-contention");
	return 0;
}

int submit_check_container(const struct request *r, const char *text, bool is_srun, bool new_job,
			   struct errbuf *err)
{
	static struct choice choice;

	if (!text || (!r && strcmp(text, CHOICE_NONE) == 0))
		return 0;
	if (choice_parse(&choice, text, err) < 0)
		return errwrap(err, "--nodeos-container");
	if (choice.by_rank && !is_srun)
		return errprintf(err,
				 "--nodeos-container=%.64s: containers are selected for the ranks "
				 "of a step: give this "
				 "option to srun",
				 text);
	if (!r && new_job)
		return errprintf(err,
				 "--nodeos-container=%.64s: this job has no containers; describe "
				 "them with --nodeos-manifest",
				 text);
	return r ? choice_check_names(&choice, r, err) : 0;
}

int submit_same_options(struct submit_component *c, const char *const value[],
			const char *const name[], unsigned n, struct errbuf *err)
{
	for (unsigned i = 0; i < n && i < SUBMIT_OPTIONS_MAX; i++) {
		const char *first = c->first[i];

		if (!c->seen && value[i])
			c->first[i] = strdup(value[i]);
		else if (c->seen && (value[i] || first) &&
			 (!value[i] || !first || strcmp(value[i], first) != 0))
			return errprintf(err,
					 "--%s differs between the components of this "
					 "heterogeneous job: give all of them the same value",
					 name[i]);
	}
	c->seen = true;
	return 0;
}
