/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without a daemon, reports of a plain step's ranks do not wait, and the log has the reason. */
#include "launch/observe.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/contention_message.h"

static char logged[2000];

__attribute__((format(printf, 1, 2))) static void log_line(const char *fmt, ...)
{
	size_t len = strlen(logged);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(logged + len, sizeof(logged) - len, fmt, ap);
	va_end(ap);
}

static char conf_path[150];

static void write_conf(const char *text)
{
	FILE *f = fopen(conf_path, "w");

	fprintf(f, "state_dir = %s/state\n%s\n", scratch, text);
	fclose(f);
}

/* Place the two ranks of a step with --nodeos-contention WISH. Returns the log. */
static const char *place_ranks(const char *conf, enum contention_policy wish)
{
	const uint32_t global[2] = { 4, 5 };
	const struct step_input in = { .job_id = 41,
				       .step_id = 7,
				       .n_ranks = 2,
				       .global_rank = global,
				       .contention = wish,
				       .conf_path = conf_path,
				       .log_debug = log_line };
	long start = monotonic_ms();
	struct plain_ranks *p;
	struct errbuf err = { 0 };

	write_conf(conf);
	logged[0] = '\0';
	is_int(plain_ranks_new(&p, &in, &err), 0, "plain_ranks_new: accepts two ranks %s",
	       err.text);
	plain_ranks_add(p, 0, getpid());
	plain_ranks_add(p, 0, getpid()); /* the second call for a rank has no effect */
	plain_ranks_add(p, 9, getpid());
	is(logged, "", "plain_ranks_add: sends nothing for the first rank");
	plain_ranks_add(p, 1, getpid());
	plain_ranks_end(p);
	ok(monotonic_ms() - start < CONTENTION_WAIT_MS, "plain_ranks_add: does not wait");
	return logged;
}

static void check_log(const char *conf, enum contention_policy wish, const char *begin)
{
	place_ranks(conf, wish);
	ok(strncmp(logged, begin, strlen(begin)) == 0 && !*begin == !*logged,
	   "plain_ranks_add: the log begins with \"%s\": %s", begin, logged);
}

int main(void)
{
	static const char sent[] = "nodeos: observe: step 41.7: 0 of 2 ranks have counters after ";
	const struct step_input none = { .n_ranks = 0 };
	struct plain_ranks *p;
	struct errbuf err = { 0 };

	if (geteuid() != 0 || access(CONTENTION_SOCKET, F_OK) == 0) {
		printf("1..0 # SKIP needs root, who must own nodeos.conf, and no nodeos-contend\n");
		return 0;
	}
	snprintf(conf_path, sizeof(conf_path), "%s/nodeos.conf", scratch_make());
	check_log("", CONTENTION_OBSERVE, sent);
	check_log("", CONTENTION_OFF, "");
	check_log("", CONTENTION_UNSET, "");
	check_log("contention = observe", CONTENTION_UNSET, "");
	check_log("contention = observe\ncontention_steps = all", CONTENTION_UNSET, sent);
	check_log("contention = observe\ncontention_steps = all", CONTENTION_OFF, "");
	check_log("allow_contention = no", CONTENTION_OBSERVE, "");
	check_log("contention = maybe", CONTENTION_OBSERVE, "nodeos: observe: step 41.7: ");
	write_conf("contention = observe\ncontention_steps = all");
	ok(observe_plain_steps(conf_path), "observe_plain_steps: true with contention_steps = all");
	write_conf("contention = observe");
	ok(!observe_plain_steps(conf_path), "observe_plain_steps: false for containers only");
	write_conf("contention = maybe\ncontention_steps = all");
	ok(!observe_plain_steps(conf_path),
	   "observe_plain_steps: false with a faulty configuration");
	is_int(plain_ranks_new(&p, &none, &err), -1,
	       "plain_ranks_new: refuses a step without ranks: %s", err.text);
	plain_ranks_end(NULL);
	return tap_done();
}
