/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks of a plain step without a daemon: what the log says, and that nothing waits. */
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

/* Place the two ranks of a step that says WISH; returns the log. */
static const char *place(const char *conf, enum contention_policy wish)
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
	is_int(plain_ranks_new(&p, &in, &err), 0, "plain_ranks_new: two ranks %s", err.text);
	plain_ranks_add(p, 0, getpid());
	plain_ranks_add(p, 0, getpid()); /* a rank counts once */
	plain_ranks_add(p, 9, getpid());
	is(logged, "", "plain_ranks_add: the first rank sends nothing");
	plain_ranks_add(p, 1, getpid());
	plain_ranks_end(p);
	ok(monotonic_ms() - start < CONTENTION_WAIT_MS, "plain_ranks_add: nothing waits");
	return logged;
}

static void says(const char *conf, enum contention_policy wish, const char *begin)
{
	place(conf, wish);
	ok(strncmp(logged, begin, strlen(begin)) == 0 && !*begin == !*logged,
	   "plain_ranks_add: the log has \"%s\": %s", begin, logged);
}

int main(void)
{
	static const char sent[] = "nodeos: observe: step 41.7: 0 of 2 ranks have counters, ";
	const struct step_input none = { .n_ranks = 0 };
	struct plain_ranks *p;
	struct errbuf err = { 0 };

	if (geteuid() != 0 || access(CONTENTION_SOCKET, F_OK) == 0) {
		printf("1..0 # SKIP needs root, whose nodeos.conf it is, and no nodeos-contend\n");
		return 0;
	}
	snprintf(conf_path, sizeof(conf_path), "%s/nodeos.conf", scratch_make());
	says("", CONTENTION_OBSERVE, sent);
	says("", CONTENTION_OFF, "");
	says("", CONTENTION_UNSET, "");
	says("contention = observe", CONTENTION_UNSET, "");
	says("contention = observe\ncontention_steps = all", CONTENTION_UNSET, sent);
	says("contention = observe\ncontention_steps = all", CONTENTION_OFF, "");
	says("allow_contention = no", CONTENTION_OBSERVE, "");
	says("contention = maybe", CONTENTION_OBSERVE, "nodeos: observe: step 41.7: ");
	write_conf("contention = observe\ncontention_steps = all");
	ok(observe_plain_steps(conf_path), "observe_plain_steps: all steps");
	write_conf("contention = observe");
	ok(!observe_plain_steps(conf_path), "observe_plain_steps: containers only");
	write_conf("contention = maybe\ncontention_steps = all");
	ok(!observe_plain_steps(conf_path), "observe_plain_steps: a faulty configuration");
	is_int(plain_ranks_new(&p, &none, &err), -1, "plain_ranks_new: refuses no rank: %s",
	       err.text);
	plain_ranks_end(NULL);
	return tap_done();
}
