/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "container/hpc_room.h"
#include "topology/test/tap.h"

static struct conf conf;

static struct idset set_of(const char *list)
{
	struct errbuf err;
	struct idset s;

	idset_zero(&s);
	if (*list)
		idset_parse(&s, list, &err);
	return s;
}

/* What hpc_keep_one() leaves of OFFER. */
static const char *left(const char *offer, const char *outside, const char *request)
{
	static char list[256];
	static struct request r;
	struct idset o = set_of(offer), out = set_of(outside);
	struct errbuf err = { "" };
	unsigned before;
	bool kept;

	if (request_parse(&r, request, &err) < 0)
		return "bad request";
	before = idset_count(&o);
	kept = hpc_keep_one(&o, &out, &r, &conf, false);
	if (kept != (idset_count(&o) + 1 == before))
		return "what it says is not what it did";
	idset_format(&o, list, sizeof(list));
	return list;
}

int main(void)
{
	conf_defaults(&conf);
	is(left("0-7", "0-7", "nodeos 1;c=a policy=hpc;"), "1-7", "the whole node: its first CPU stays outside");
	is(left("0-7", "0-7", "nodeos 1;c=a policy=hpc;c=b cpus=2 policy=hpc;"), "1-7", "of two such containers, too");
	is(left("4-7", "4-7", "nodeos 1;c=a policy=hpc;"), "5-7", "or of what others have left");
	is(left("4-7", "3-7", "nodeos 1;c=a policy=hpc;"), "4-7", "not if there is another one outside");
	is(left("0-7", "0-7", "nodeos 1;c=a policy=hpc;c=b cpus=2;"), "0-7", "not if a container has another policy");
	is(left("0-7", "0-7", "nodeos 1;c=a policy=fifo;"), "0-7", "not with other policies");
	is(left("3", "3", "nodeos 1;c=a policy=hpc;"), "", "the last one is not given away");
	is(left("3", "", "nodeos 1;c=a policy=hpc;"), "3", "none outside: nothing to keep");
	conf.default_policy = POLICY_HPC;
	is(left("0-7", "0-7", "nodeos 1;c=a;"), "1-7", "the site's default policy counts");
	return tap_done();
}
