/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* kill */
#include "base/trial.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"

#ifdef __SANITIZE_ADDRESS__
static const bool limited = false;
#else
static const bool limited = true;
#endif

static void nothing(void *arg)
{
	(void)arg;
}

static void change(void *arg)
{
	*(int *)arg = 1;
}

static void crash(void *arg)
{
	raise(*(int *)arg);
}

static void spin(void *arg)
{
	for (volatile unsigned n = 0; !arg; n++)
		;
}

static void sleep_on(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		sleep(60);
}

/* Touch this much memory, or crash where there is less. */
static void take(void *arg)
{
	volatile char *p = malloc(*(size_t *)arg);

	if (p)
		p[0] = 1;
	_exit(p ? 0 : 1);
}

static void leave(void *arg)
{
	_exit(*(int *)arg);
}

int main(void)
{
	int number = 0, sig = SIGSEGV, code = 3;
	size_t some = (size_t)1 << 30, much = (size_t)16 << 30;
	/* a busy machine may give the process only a small part of a CPU */
	struct trial_limits patient = { .cpu_seconds = 1, .elapsed_seconds = 600 };
	time_t started;
	struct errbuf err = { 0 };

	ok(trial(nothing, NULL, 5, &err) == 0, "trial: 0 for a function that returns");
	ok(trial(change, &number, 5, &err) == 0 && number == 0,
	   "trial: a change of memory does not reach the caller");
	ok(trial(crash, &sig, 5, &err) < 0 && strstr(err.text, "died of signal 11 ("),
	   "trial: a crash is reported: %s", err.text);
	sig = SIGABRT;
	ok(trial(crash, &sig, 5, &err) < 0 && strstr(err.text, "died of signal 6 ("),
	   "trial: a failed assertion is reported: %s", err.text);
	signal(SIGSEGV, SIG_IGN);
	sig = SIGSEGV;
	ok(trial(crash, &sig, 5, &err) < 0,
	   "trial: a crash is reported where the caller ignores SIGSEGV");
	signal(SIGSEGV, SIG_DFL);
	ok(trial(leave, &code, 5, &err) < 0 && strstr(err.text, "crashed (exit status 3)"),
	   "trial: an exit status is reported: %s", err.text);
	ok(trial_within(patient, spin, NULL, &err) < 0 && strstr(err.text, "more than 1 seconds"),
	   "trial: a function that uses too much CPU time is stopped: %s", err.text);
	err.text[0] = '\0';
	started = time(NULL);
	is_int(trial(sleep_on, NULL, 1, &err), -1,
	       "trial: a function that sleeps without end is given up");
	is(err.text, "the process had not ended after 5 seconds",
	   "trial: the message says after how long");
	ok(time(NULL) - started < 300,
	   "trial: a function that sleeps is given up within 300 seconds");
	is_int(trial(take, &some, 5, &err), 0, "trial: a function may use a gigabyte");
	if (limited)
		is_int(trial(take, &much, 5, &err), -1, "trial: a function may not use 16 GiB");
	else
		skip(1, "trial: a sanitizer has memory of its own");
	return tap_done();
}
