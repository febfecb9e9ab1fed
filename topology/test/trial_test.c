/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* kill */
#include "topology/trial.h"

#include <signal.h>
#include <unistd.h>

#include "topology/test/tap.h"

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

static void leave(void *arg)
{
	_exit(*(int *)arg);
}

int main(void)
{
	int number = 0, sig = SIGSEGV, code = 3;
	struct errbuf err = { "" };

	ok(trial(nothing, NULL, 5, &err) == 0, "what returns");
	ok(trial(change, &number, 5, &err) == 0 && number == 0,
	   "what changes memory changes its own");
	ok(trial(crash, &sig, 5, &err) < 0 && strstr(err.text, "it ends in signal 11 ("), "%s",
	   err.text);
	sig = SIGABRT;
	ok(trial(crash, &sig, 5, &err) < 0 && strstr(err.text, "it ends in signal 6 ("),
	   "a failed assertion: %s", err.text);
	signal(SIGSEGV, SIG_IGN);
	sig = SIGSEGV;
	ok(trial(crash, &sig, 5, &err) < 0, "also where the caller ignores it");
	signal(SIGSEGV, SIG_DFL);
	ok(trial(leave, &code, 5, &err) < 0 && strstr(err.text, "it crashes (exit status 3)"), "%s",
	   err.text);
	ok(trial(spin, NULL, 1, &err) < 0 && strstr(err.text, "more than 1 seconds"), "%s",
	   err.text);
	return tap_done();
}
