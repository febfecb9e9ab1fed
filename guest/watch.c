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
#include "guest/control/serve.h"
#include "guest/files.h"
#include "guest/qmp.h"

#define LAST_LINES 60
#define BIND_MS 3000 /* from the start of the guest to its first instructions, on a slow host */
#define LOAD_MS 20 /* between two questions whether QEMU has read the saved guest */
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
	pid_t feeder; /* writes a saved guest to QEMU */
	struct qmp qmp;
	struct console console;
	struct serve serve;
	pid_t thread[GUEST_CPUS_MAX]; /* threads of the guest's CPUs */
	long bind_at; /* monotonic_ms() at which QEMU's threads are bound again; 0: they are */
	int signals; /* signalfd; -1: none */
	enum stop stop;
	int by; /* signal that began the stop */
	long since; /* monotonic_ms() when the stop began */
};

/* Start virtiofsd for programs. */
static int start_inside(struct watch *w, struct errbuf *err)
{
	struct guest_run *run = w->run;

	if (!run->ranks)
		return 0;
	w->files = guest_files_start(&run->plan.files_fd, run->virtiofsd, err);
	return w->files < 0 || guest_bind_helper(w->files, &run->rest, err) < 0 ? -1 : 0;
}

/* Close what only QEMU uses from now on, so that this process and the ranks see QEMU's end. */
static void close_of_qemu(struct guest_run *run)
{
	struct guest_plan *plan = &run->plan;

	close(plan->qmp_fd);
	close(plan->console_fd);
	if (plan->files_fd >= 0)
		close(plan->files_fd);
	if (plan->incoming)
		close(plan->incoming_fd);
	for (unsigned i = 0; i < run->ranks; i++) {
		close(run->rank[i].agent);
		run->rank[i].agent = -1;
	}
}

/* Write to KEEP the descriptors that QEMU's command line names. Returns their number. */
static unsigned list_kept(int *keep, const struct guest_plan *plan)
{
	unsigned n = 0;

	keep[n++] = plan->qmp_fd;
	keep[n++] = plan->console_fd;
	keep[n++] = plan->kvm_fd;
	keep[n++] = plan->files_fd;
	keep[n++] = plan->initrd_fd;
	keep[n++] = plan->incoming ? plan->incoming_fd : -1;
	for (unsigned i = 0; i < plan->memories; i++)
		keep[n++] = plan->memory_fd[i];
	for (unsigned i = 0; i < plan->agents; i++)
		keep[n++] = plan->agent_fd[i];
	return n;
}

/*
 * For a guest that boots, note what it sees of the machine, for a save. For a saved guest, check
 * that it sees the same machine again.
 */
static int check_saved(struct guest_run *run, char *const *words, struct errbuf *err)
{
	struct guest_saved *s = run->saved;

	if (!s)
		return 0;
	if (run->restore >= 0)
		return guest_saved_compare(s, words, err);
	s->shape = guest_saved_shape(words);
	if (!s->shape)
		return errprintf(err, "out of memory");
	return guest_saved_processor(&s->processor, err);
}

/* If a saved guest is to be restored, start the process that reads its file. */
static int open_incoming(struct watch *w, struct errbuf *err)
{
	struct guest_run *run = w->run;

	if (run->restore < 0)
		return 0;
	run->plan.incoming_fd = guest_saved_feed(run->restore, &w->feeder, err);
	run->plan.incoming = run->plan.incoming_fd >= 0;
	return run->plan.incoming ? 0 : -1;
}

static int start_qemu(struct watch *w, struct errbuf *err)
{
	struct guest_plan *plan = &w->run->plan;
	int keep[6 + GUEST_NODES_MAX + AGENT_PROGRAMS_MAX];
	bool image = !w->run->ranks;
	int qmp[2], console[2];
	char **words;

	if (open_incoming(w, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qmp) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, console) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	plan->qmp_fd = qmp[1];
	plan->console_fd = console[1];
	w->qmp.fd = qmp[0];
	console_open(&w->console, console[0], image ? 0 : -1, image ? 1 : -1);
	words = guest_command(plan, err);
	w->qemu = -1;
	if (words && check_saved(w->run, words, err) == 0)
		w->qemu = child_start(words, keep, list_kept(keep, plan), err);
	guest_command_free(words);
	close_of_qemu(w->run);
	return w->qemu < 0 ? -1 : 0;
}

static int place_threads(struct watch *w, struct errbuf *err)
{
	const struct guest_run *run = w->run;
	struct json_object *list = NULL;
	int rc = qmp_call(&w->qmp, "query-cpus-fast", &list, err);

	if (rc == 0)
		rc = qmp_cpu_threads(w->thread, run->plan.shape, list, err);
	json_object_put(list);
	return rc < 0 ? -1 : guest_bind(w->qemu, w->thread, run->plan.shape, &run->rest, err);
}

static void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* If a saved guest is restored, wait until QEMU has read all of it. */
static int load_guest(struct watch *w, struct errbuf *err)
{
	const struct guest_saved *s = w->run->saved;
	struct json_object *state = NULL, *status;
	bool loading = w->run->restore >= 0;

	if (loading && strcmp(s->qemu, w->qmp.version) != 0)
		return errprintf(err,
				 "the guest was saved by QEMU %s, and this is %s: restore it "
				 "where the former is",
				 s->qemu, w->qmp.version);
	while (loading) {
		if (qmp_call(&w->qmp, "query-status", &state, err) < 0)
			return errwrap(err, "QEMU cannot load the saved guest");
		loading = json_object_object_get_ex(state, "status", &status) &&
			  strcmp(json_object_get_string(status), "inmigrate") == 0;
		json_object_put(state);
		if (loading)
			poll(NULL, 0, LOAD_MS);
	}
	end_process(w->feeder);
	w->feeder = 0;
	return 0;
}

/* Let commands of nodeosctl guest connect to this process. */
static void open_serve(struct watch *w)
{
	const struct guest_run *run = w->run;
	struct errbuf err;

	w->serve.qmp = &w->qmp;
	w->serve.console = &w->console;
	w->serve.saved = run->saved;
	if (serve_open(&w->serve, &run->plan, run->ranks, w->qemu, &err) < 0)
		fprintf(run->says, "nodeos-guest: nodeosctl guest will not find this guest: %s\n",
			err.text);
}

/* Bind the threads that KVM has started with the guest. Returns milliseconds for poll(). */
static int place_again(struct watch *w)
{
	long left = w->bind_at - monotonic_ms();
	struct errbuf ignored;

	if (!w->bind_at)
		return -1;
	if (left > 0)
		return (int)left;
	w->bind_at = 0;
	guest_bind(w->qemu, w->thread, w->run->plan.shape, &w->run->rest, &ignored);
	return -1;
}

static int open_signals(struct errbuf *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
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

/* Ask QEMU to end when no rank waits for the guest any more. */
static void look_at_ranks(struct watch *w, const struct pollfd *polls)
{
	unsigned left = 0;

	for (unsigned i = 0; i < w->run->ranks; i++) {
		struct meet_rank *rank = &w->run->rank[i];
		char byte;

		if (rank->control >= 0 && polls[i].revents &&
		    recv(rank->control, &byte, 1, MSG_DONTWAIT) == 0) {
			close(rank->control);
			rank->control = -1;
		}
		left += rank->control >= 0;
	}
	if (left || w->stop || !w->run->ranks)
		return;
	w->stop = ASKED_TO_END;
	w->since = monotonic_ms();
	qmp_send(&w->qmp, "quit");
}

/* After a save that ends the guest, stop QEMU as for a signal. */
static void look_at_save_of_guest(struct watch *w)
{
	if (w->serve.save != SERVE_SAVED || w->stop)
		return;
	w->stop = ASKED_TO_END;
	w->since = monotonic_ms();
}

/* Forward the console and watch QEMU until it closes its monitor. */
static void watch_guest(struct watch *w)
{
	enum { CONSOLE = 2, SERVE = CONSOLE + CONSOLE_POLLS, RANKS = SERVE + SERVE_POLLS };
	bool runs = true;

	while (runs) {
		struct pollfd polls[RANKS + AGENT_PROGRAMS_MAX] = {
			{ .fd = w->qmp.fd, .events = POLLIN },
			{ .fd = w->signals, .events = POLLIN },
		};
		int ms = stop_further(w), again = place_again(w);

		if (again >= 0 && (ms < 0 || again < ms))
			ms = again;
		console_wants(&w->console, polls + CONSOLE);
		serve_wants(&w->serve, polls + SERVE);
		for (unsigned i = 0; i < w->run->ranks; i++)
			polls[RANKS + i] = (struct pollfd){
				.fd = w->run->rank[i].control,
				.events = POLLIN,
			};
		if (poll(polls, RANKS + w->run->ranks, ms) < 0 && errno != EINTR)
			break;
		console_forward(&w->console, polls + CONSOLE);
		look_at_ranks(w, polls + RANKS);
		if (polls[1].revents)
			take_signal(w);
		if (polls[0].revents)
			runs = qmp_read(&w->qmp) == 0;
		serve_forward(&w->serve, polls + SERVE);
		look_at_save_of_guest(w);
	}
}

static void drain_console(struct watch *w)
{
	long until = monotonic_ms() + DRAIN_MS;

	w->console.in = -1;
	w->console.waiting = 0;
	while (w->console.fd >= 0 && monotonic_ms() < until) {
		struct pollfd polls[CONSOLE_POLLS];

		console_wants(&w->console, polls);
		if (poll(polls, 1, DRAIN_MS) <= 0)
			break;
		console_forward(&w->console, polls);
	}
}

static int print_failure(const struct watch *w, const char *what)
{
	fprintf(w->run->says, "nodeos-guest: %s; the last lines of its console:\n", what);
	console_print_last(&w->console, LAST_LINES, "nodeos-guest: | ", w->run->says);
	return GUEST_EXIT_FAILED;
}

/* Return the exit code of a guest whose QEMU has ended with STATUS, of waitpid(). */
static int judge_end(const struct watch *w, int status)
{
	char text[128];

	if (w->serve.save == SERVE_SAVED) {
		fputs("nodeos-guest: the guest is saved, and has ended here\n", w->run->says);
		return 0;
	}
	if (w->run->ranks && w->stop)
		return 0; /* its programs have ended */
	switch (w->qmp.end) {
	case GUEST_POWEROFF:
		return w->run->ranks ? print_failure(w, "the guest's power went off") : 0;
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

/* Wait for the end of QEMU, which has closed its monitor. Kill it after GRACE. */
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

/* Do everything up to the guest's first instruction. Returns 0, or -1. */
static int begin_guest(struct watch *w, struct errbuf *err)
{
	if (start_inside(w, err) < 0 || start_qemu(w, err) < 0 ||
	    qmp_open(&w->qmp, w->qmp.fd, err) < 0 || load_guest(w, err) < 0 ||
	    place_threads(w, err) < 0)
		return -1;
	if (!w->run->ranks) {
		w->signals = open_signals(err);
		if (w->signals < 0)
			return -1;
	}
	return qmp_call(&w->qmp, "cont", NULL, err);
}

int guest_watch(struct guest_run *run, struct errbuf *err)
{
	struct watch w = {
		.run = run,
		.qmp = { .fd = -1 },
		.serve = { .in = -1, .facts = -1, .peer = { -1, -1, -1, -1 } },
		.signals = -1,
	};
	int rc;

	console_open(&w.console, -1, -1, -1);
	rc = begin_guest(&w, err);
	if (rc == 0) {
		w.bind_at = monotonic_ms() + BIND_MS;
		open_serve(&w);
		watch_guest(&w);
		drain_console(&w);
		rc = judge_end(&w, reap_qemu(&w));
	} else {
		end_process(w.qemu);
	}
	end_process(w.feeder);
	end_process(w.files);
	serve_close(&w.serve);
	qmp_close(&w.qmp);
	console_close(&w.console);
	if (w.signals >= 0)
		close(w.signals);
	return rc;
}
