/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/call_limit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* interval of the signals: one that arrives between two calls interrupts neither */
#define AGAIN_NS 5000000

static void handle_limit(int signal)
{
	(void)signal;
}

int call_limit_open(struct call_limit *l, struct errbuf *err)
{
	struct sigaction action = { .sa_handler =
					    handle_limit }; /* no SA_RESTART: the call must fail */
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX };
	sigset_t set;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	if (sigaction(SIGRTMAX, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, &l->timer) < 0)
		return errprintf(err, "cannot set up a timer: %s", strerror(errno));
	return 0;
}

void call_limit_close(struct call_limit *l)
{
	timer_delete(l->timer);
}

void call_limit_begin(const struct call_limit *l, unsigned milliseconds)
{
	struct itimerspec t = { .it_interval = { 0, AGAIN_NS },
				.it_value = { milliseconds / 1000,
					      milliseconds % 1000 * 1000000L } };

	timer_settime(l->timer, 0, &t, NULL);
}

void call_limit_end(const struct call_limit *l)
{
	struct itimerspec none = { .it_value = { 0, 0 } };

	timer_settime(l->timer, 0, &none, NULL);
}
