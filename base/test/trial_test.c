/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* for kill() */
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

static void do_nothing(void *arg)
{
	(void)arg;
}

static void change_number(void *arg)
{
	*(int *)arg = 1;
}

static void raise_signal(void *arg)
{
	raise(*(int *)arg);
}

static void use_cpu(void *arg)
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

/* Allocate *ARG bytes of memory; exit with status 1 if that fails. */
static void touch_memory(void *arg)
{
	volatile char *p = malloc(*(size_t *)arg);

	if (p)
		p[0] = 1;
	_exit(p ? 0 : 1);
}

static void exit_with(void *arg)
{
	_exit(*(int *)arg);
}

int main(void)
{
	int number = 0, sig = SIGSEGV, code = 3;
	size_t some = (size_t)1 << 30, much = (size_t)16 << 30;
	/* on a busy machine the process may get little CPU time */
	struct trial_limits patient = { .cpu_seconds = 1, .elapsed_seconds = 600 };
	time_t started;
	struct errbuf err = { 0 };

	ok(trial(do_nothing, NULL, 5, &err) == 0, "trial: returns 0 when the function returns");
	ok(trial(change_number, &number, 5, &err) == 0 && number == 0,
	   "trial: the function cannot change the caller's memory");
	ok(trial(raise_signal, &sig, 5, &err) < 0 && strstr(err.text, "died of signal 11 ("),
	   "trial: reports a crash: %s", err.text);
	sig = SIGABRT;
	ok(trial(raise_signal, &sig, 5, &err) < 0 && strstr(err.text, "died of signal 6 ("),
	   "trial: reports a failed assertion: %s", err.text);
	signal(SIGSEGV, SIG_IGN);
	sig = SIGSEGV;
	ok(trial(raise_signal, &sig, 5, &err) < 0,
	   "trial: reports a crash if the caller ignores SIGSEGV");
	signal(SIGSEGV, SIG_DFL);
	ok(trial(exit_with, &code, 5, &err) < 0 && strstr(err.text, "crashed (exit status 3)"),
	   "trial: reports an exit status: %s", err.text);
	ok(trial_within(patient, use_cpu, NULL, &err) < 0 &&
		   strstr(err.text, "more than 1 seconds"),
	   "trial: stops a function that uses too much CPU time: %s", err.text);
	err.text[0] = '\0';
	started = time(NULL);
	is_int(trial(sleep_on, NULL, 1, &err), -1,
	       "trial: fails if the function sleeps without end");
	is(err.text, "the process had not ended after 5 seconds",
	   "trial: the message gives the elapsed time");
	ok(time(NULL) - started < 300,
	   "trial: stops a function that sleeps without end in less than 300 seconds");
	is_int(trial(touch_memory, &some, 5, &err), 0, "trial: allows a gigabyte of memory");
	if (limited)
		is_int(trial(touch_memory, &much, 5, &err), -1, "trial: refuses 16 GiB of memory");
	else
		skip(1, "trial sets no memory limit with a sanitizer");
	return tap_done();
}
