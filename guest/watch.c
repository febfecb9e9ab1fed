/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/watch.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/printable.h"
#include "guest/bind.h"
#include "guest/child.h"
#include "guest/console.h"
#include "guest/files.h"
#include "guest/qmp.h"
#include "guest/relay.h"

#define LAST_LINES 60
#define DRAIN_MS 2000 /* for the rest of the console after QEMU's end */

enum stop {
	NOT_STOPPED,
	POWER_BUTTON,
	ASKED_TO_END,
	KILLED,
};

struct watch {
	struct guest_run *run;
	pid_t qemu, files; /* files: virtiofsd */
	struct qmp qmp;
	struct console console;
	struct relay relay; /* of a program inside */
	bool asked; /* QEMU to end, after the program */
	int signals; /* signalfd */
	enum stop stop;
	int by; /* the signal that began it */
	long since; /* monotonic_ms() then */
};

/* Make the sockets of a program inside, and start the server of its files. */
static int start_inside(struct watch *w, struct errbuf *err)
{
	struct guest_run *run = w->run;
	int agent[2];

	if (!run->start)
		return 0;
	w->files = guest_files_start(&run->plan.files_fd, run->virtiofsd, err);
	if (w->files < 0 || guest_bind_helper(w->files, &run->rest, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, agent) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	run->plan.agent_fd = agent[1];
	return relay_open(&w->relay, agent[0], run->start, run->start_len, err);
}

static int start_qemu(struct watch *w, struct errbuf *err)
{
	struct guest_plan *plan = &w->run->plan;
	int qmp[2], console[2];
	char **words;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, console) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	plan->qmp_fd = qmp[1];
	plan->console_fd = console[1];
	w->qmp.fd = qmp[0];
	console_open(&w->console, console[0], w->run->start ? -1 : 0, w->run->start ? -1 : 1);
	words = guest_command(plan, err);
	if (words) {
		const int keep[] = { qmp[1],	     console[1],     plan->memory_fd, plan->kvm_fd,
				     plan->files_fd, plan->agent_fd, plan->initrd_fd };

		w->qemu = child_start(words, keep, sizeof(keep) / sizeof(keep[0]), err);
	}
	guest_command_free(words);
	close(qmp[1]);
	close(console[1]);
	if (plan->files_fd >= 0)
		close(plan->files_fd);
	if (plan->agent_fd >= 0)
		close(plan->agent_fd);
	return w->qemu < 0 ? -1 : 0;
}

static int place_threads(struct watch *w, struct errbuf *err)
{
	const struct guest_run *run = w->run;
	pid_t thread[GUEST_CPUS_MAX];
	struct json_object *list = NULL;
	int rc = qmp_call(&w->qmp, "query-cpus-fast", &list, err);

	if (rc == 0)
		rc = qmp_cpu_threads(thread, run->plan.shape, list, err);
	json_object_put(list);
	return rc < 0 ? -1 : guest_bind(w->qemu, thread, run->plan.shape, &run->rest, err);
}

static int open_signals(bool inside, struct errbuf *err)
{
	static const int often[] = { SIGTERM, SIGINT, SIGHUP };
	static const int of_program[] = { SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGURG, SIGCONT };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(often) / sizeof(often[0]); i++)
		sigaddset(&set, often[i]);
	for (unsigned i = 0; inside && i < sizeof(of_program) / sizeof(of_program[0]); i++)
		sigaddset(&set, of_program[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return errprintf(err, "signalfd: %s", strerror(errno));
	return fd;
}

static void take_signal(struct watch *w)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != sizeof(info) || w->stop)
		return;
	if (w->run->start) {
		relay_signal(&w->relay, (int)info.ssi_signo);
		return;
	}
	w->by = (int)info.ssi_signo;
	w->stop = POWER_BUTTON;
	w->since = monotonic_ms();
	qmp_send(&w->qmp, "system_powerdown");
}

/* Go on with the next step of a stop when its time has come. Returns milliseconds for poll(). */
static int stop_further(struct watch *w)
{
	long grace = (long)w->run->grace * 1000, passed;

	if (w->stop == NOT_STOPPED)
		return -1;
	passed = monotonic_ms() - w->since;
	if (passed >= grace) {
		w->stop = KILLED;
		kill(w->qemu, SIGKILL);
		return -1;
	}
	if (passed < grace / 2)
		return (int)(grace / 2 - passed);
	if (w->stop == POWER_BUTTON) {
		w->stop = ASKED_TO_END;
		qmp_send(&w->qmp, "quit");
	}
	return (int)(grace - passed);
}

/* Forward the console and watch QEMU until it closes its monitor. */
static void watch_guest(struct watch *w)
{
	bool runs = true;

	while (runs) {
		struct pollfd polls[6] = {
			{ .fd = w->qmp.fd, .events = POLLIN },
			{ .fd = w->signals, .events = POLLIN },
		};
		int ms = stop_further(w);

		console_wants(&w->console, polls + 2);
		relay_wants(&w->relay, polls + 4);
		if (poll(polls, 6, ms) < 0 && errno != EINTR)
			break;
		console_forward(&w->console, polls + 2);
		relay_forward(&w->relay, polls + 4);
		if (w->relay.ended && !w->asked)
			w->asked = qmp_send(&w->qmp, "quit") == 0;
		if (polls[1].revents)
			take_signal(w);
		if (polls[0].revents)
			runs = qmp_read(&w->qmp) == 0;
	}
}

static void drain_console(struct watch *w)
{
	long until = monotonic_ms() + DRAIN_MS;

	w->console.in = -1;
	w->console.waiting = 0;
	while (w->console.fd >= 0 && monotonic_ms() < until) {
		struct pollfd polls[2];

		console_wants(&w->console, polls);
		if (poll(polls, 1, DRAIN_MS) <= 0)
			break;
		console_forward(&w->console, polls);
	}
}

static int print_failure(const struct watch *w, const char *what)
{
	fprintf(stderr, "nodeos-guest: %s; the last lines of its console:\n", what);
	console_print_last(&w->console, LAST_LINES, "nodeos-guest: | ", stderr);
	return GUEST_EXIT_FAILED;
}

/* The exit code of a program inside that has ended, or did not begin. */
static int judge_program(const struct watch *w)
{
	char line[PRINTABLE_LOG_MAX];
	int status = w->relay.status;

	if (*w->relay.failure) {
		fprintf(stderr, "nodeos-guest: in the guest: %s\n",
			printable(line, sizeof(line), w->relay.failure));
		return GUEST_EXIT_NEVER;
	}
	if (WIFSIGNALED(status)) {
		w->run->killed_by = WTERMSIG(status);
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

/* The exit code of a guest whose QEMU has ended with STATUS, of waitpid(). */
static int judge_end(const struct watch *w, int status)
{
	char text[128];

	if (w->relay.ended)
		return judge_program(w);
	switch (w->qmp.end) {
	case GUEST_POWEROFF:
		return w->run->start ? print_failure(w, "the guest's power went off") : 0;
	case GUEST_RESET:
		return print_failure(w, "the guest wanted to boot again");
	case GUEST_PANIC:
		return print_failure(w, "the guest panicked");
	case GUEST_QUIT:
	case GUEST_RUNS:
		break;
	}
	if (w->stop)
		return 128 + w->by;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "QEMU was killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "QEMU ended with code %d, not by the guest's power",
			 WEXITSTATUS(status));
	return print_failure(w, text);
}

/* Wait for QEMU, which has closed its monitor, and is killed at the end of the limit. */
static int reap_qemu(struct watch *w)
{
	long until = monotonic_ms() + (long)w->run->grace * 1000;
	int status = 0;

	while (waitpid(w->qemu, &status, WNOHANG) == 0) {
		if (monotonic_ms() > until)
			kill(w->qemu, SIGKILL);
		poll(NULL, 0, 5);
	}
	return status;
}

static void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int guest_watch(struct guest_run *run, struct errbuf *err)
{
	struct watch w = {
		.run = run,
		.qmp = { .fd = -1 },
		.console = { .fd = -1 },
		.relay = { .fd = -1 },
		.signals = -1,
	};
	int rc = start_inside(&w, err);

	if (rc == 0)
		rc = start_qemu(&w, err);
	if (rc == 0)
		rc = qmp_open(&w.qmp, w.qmp.fd, err);
	if (rc == 0)
		rc = place_threads(&w, err);
	if (rc == 0)
		rc = w.signals = open_signals(run->start, err);
	if (rc >= 0)
		rc = qmp_call(&w.qmp, "cont", NULL, err);
	if (rc == 0) {
		watch_guest(&w);
		drain_console(&w);
		rc = judge_end(&w, reap_qemu(&w));
	} else {
		end_process(w.qemu);
	}
	end_process(w.files);
	qmp_close(&w.qmp);
	console_close(&w.console);
	relay_close(&w.relay);
	if (w.signals >= 0)
		close(w.signals);
	return rc;
}
