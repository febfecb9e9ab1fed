/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/idset.h"
#include "base/monotonic.h"
#include "base/notify.h"
#include "contend/launch_socket.h"
#include "contend/log.h"
#include "contend/output.h"
#include "contend/watch.h"
#include "counters/peaks.h"
#include "migration/mover.h"

/* milliseconds from a launch to the next scan, in which an MPI launcher starts its ranks */
#define LAUNCHED_MS 2000
#define SAVE_MS 5000 /* milliseconds between writes of the state */
#define LAUNCHES_MAX 64 /* messages of slurmstepd that are handled before any other event */

struct loop {
	const struct loop_options *opt;
	struct watch_host host;
	char proc[PATH_MAX], peaks_dir[PATH_MAX]; /* paths of "/proc" and PEAKS_DIR */
	struct conf *conf; /* the settings that WATCH uses; owned */
	struct watch watch;
	struct output output;
	struct mover *mover; /* NULL: ranks are not placed */
	int run_fd, epoll_fd, timer_fd, signal_fd, launch_fd;
	/* CPUs that were online when the domains were read; "": not read yet */
	char online[IDSET_LIST_MAX + 2];
	unsigned armed; /* period of the timer in milliseconds */
	/* monotonic milliseconds: the last scan, the next scan, and the last save of the state */
	long scanned, next_scan, saved;
	bool ends;
	struct contend_state scan_state, sample_state, save_state, output_state, launch_state,
		move_state;
};

/* ------------------------------------------------------------ the daemon's files */

static int open_below(const char *root, const char *name, struct errbuf *err)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root ? root : "", name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? errprintf(err, "%s: %s", path, strerror(errno)) : fd;
}

static int open_host(struct watch_host *h, const char *root, struct errbuf *err)
{
	char cgroup[PATH_MAX];

	snprintf(cgroup, sizeof(cgroup), "%s/sys/fs/cgroup", root ? root : "");
	h->proc_fd = open_below(root, "/proc", err);
	h->sys_fd = h->proc_fd < 0 ? -1 : open_below(root, "/sys", err);
	h->cgroup_fd = h->sys_fd < 0 ? -1 : cgroup_open_root(root ? cgroup : NULL, err);
	return h->cgroup_fd < 0 ? -1 : 0;
}

/*
 * Open the directory of the socket and the documents, after creating it if it is missing. Only the
 * daemon's user may write to it; all users may read it.
 */
static int open_run_dir(const char *path, struct errbuf *err)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return errprintf(err, "%s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		errprintf(err, "%s: %s", path, strerror(errno));
	else if (st.st_uid != geteuid() || (st.st_mode & 022))
		errprintf(err,
			  "%s must be a directory that belongs to user %u and that no other user "
			  "can write to",
			  path, (unsigned)geteuid());
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Lock the directory for this daemon: two daemons would take launches and files from each other.
 * Other users cannot open the locked file. The lock ends with the process.
 */
static int lock_run_dir(int run_fd, const char *path, struct errbuf *err)
{
	int fd = openat(run_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errprintf(err, "%s/lock: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0; /* FD stays open as long as the process lives */
	if (errno == EWOULDBLOCK)
		errprintf(err, "%s: another nodeos-contend uses this directory", path);
	else
		errprintf(err, "%s/lock: %s", path, strerror(errno));
	close(fd);
	return -1;
}

static int load_settings(struct conf **out, const char *path, struct errbuf *err)
{
	struct conf *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return errprintf(err, "out of memory");
	if (conf_load(c, path, geteuid(), err) < 0) {
		free(c);
		return -1;
	}
	*out = c;
	return 0;
}

static void log_source(const struct watch *w)
{
	const struct counters_about *about = &w->about;

	if (*about->why)
		contend_log("classes are unknown, since this host has no counters of misses: %s",
			    about->why);
	else
		contend_log("source %s%s%s%s", about->provider, about->row ? ", events " : "",
			    about->row ? about->row->name : "",
			    about->simulated ? ", of a simulated cache" : "");
	if (*ranks_no_traffic(w->ranks))
		contend_log("traffic of ranks is unknown: %s", ranks_no_traffic(w->ranks));
}

/* ------------------------------------------------------------- its events */

/*
 * Set the timer to the interval of samples if there are steps, otherwise to the interval of scans.
 */
static void arm_timer(struct loop *l)
{
	unsigned period = l->watch.node.n_steps ? l->watch.node.interval : WATCH_SCAN_MS;
	struct itimerspec t = { .it_interval = { period / 1000, period % 1000 * 1000000L } };

	if (period == l->armed)
		return;
	l->armed = period;
	t.it_value = t.it_interval;
	timerfd_settime(l->timer_fd, 0, &t, NULL);
}

static void save_state(struct loop *l)
{
	struct errbuf err = { 0 };

	saved_write(l->run_fd, &l->watch.node, &err);
	contend_log_state(&l->save_state, "state", err.text);
	l->saved = monotonic_ms();
}

static void write_output(struct loop *l)
{
	struct errbuf err = { 0 };
	int rc = output_write(&l->output, &l->watch.node, &l->conf->contention, &err);

	contend_log_state(&l->output_state, "output", rc < 0 ? err.text : "");
}

static void configure_output(struct loop *l)
{
	struct errbuf err = { 0 };

	if (output_configure(&l->output, &l->conf->contention, &err) < 0)
		contend_log("records of jobs are not written (contention_report_user in %s): %s",
			    l->opt->conf, err.text);
}

/* Start to observe the host according to CONF. Returns 0, or -1 with the old watch unchanged. */
static int renew_watch(struct loop *l, const struct conf *conf, struct errbuf *err)
{
	struct saved *saved = saved_of(&l->watch.node);
	struct watch fresh;

	if (watch_open(&fresh, conf, &l->host, saved, err) < 0) {
		saved_free(saved);
		return -1;
	}
	watch_close(&l->watch);
	l->watch = fresh;
	l->scanned = l->next_scan = l->saved = 0;
	log_source(&l->watch);
	return 0;
}

/* Read the domains again if other CPUs are online now: the domains depend on them. */
static void follow_cpus(struct loop *l)
{
	char online[IDSET_LIST_MAX + 2];
	struct errbuf err = { 0 };

	if (file_read(l->host.sys_fd, "devices/system/cpu/online", online, sizeof(online), &err) <
		    0 ||
	    strcmp(online, l->online) == 0)
		return;
	if (*l->online && renew_watch(l, l->conf, &err) < 0)
		contend_log("the domains of caches are not updated: %s", err.text);
	strcpy(l->online, online);
}

/* Decide which ranks should move to other cores. */
static void decide_moves(struct loop *l)
{
	struct errbuf bad;

	if (!l->mover)
		return;
	mover_decide(l->mover, &l->watch.node, l->conf, &bad);
	contend_log_state(&l->move_state, "placing", bad.text);
}

static void check_moves(struct loop *l)
{
	struct errbuf bad;
	bool moved;

	if (!l->mover)
		return;
	moved = mover_check(l->mover, &l->watch.node, &bad);
	if (*bad.text)
		contend_log("%s", bad.text);
	if (!moved)
		return;
	/* let the pages of moved ranks follow now: the next scan may be 30 s later */
	decide_moves(l);
	mover_check(l->mover, &l->watch.node, &bad);
	if (*bad.text)
		contend_log("%s", bad.text);
}

/*
 * If the next scan is due later than AT, in monotonic milliseconds, make it due at AT, or as soon
 * after AT as the cost of scans allows.
 */
static void advance_scan(struct loop *l, long at)
{
	long least = l->scanned + watch_scan_least(&l->watch);

	if (at < least)
		at = least;
	if (l->next_scan > at)
		l->next_scan = at;
}

static void handle_tick(struct loop *l)
{
	long now = monotonic_ms();
	struct errbuf bad;

	/* 100 ms less than WATCH_SCAN_MS: the timer may be some milliseconds early */
	if (watch_sample(&l->watch, &bad))
		advance_scan(l, l->scanned + WATCH_SCAN_MS - 100);
	contend_log_state(&l->sample_state, "counters", bad.text);
	if (now >= l->next_scan) {
		follow_cpus(l);
		watch_scan(&l->watch, &bad);
		l->scanned = now;
		l->next_scan = now + watch_scan_pause(&l->watch) - 100;
		contend_log_state(&l->scan_state, "scan", bad.text);
		output_update(&l->output, &l->watch.node);
		decide_moves(l);
	}
	check_moves(l);
	write_output(l);
	watch_forget_ended(&l->watch);
	if (!l->saved || now - l->saved >= SAVE_MS)
		save_state(l);
	arm_timer(l);
	notify_manager("WATCHDOG=1");
}

/*
 * Handle slurmstepd's messages. As slurmstepd waits, first open counters and answer, then do the
 * rest.
 */
static void handle_launches(struct loop *l)
{
	struct launch_request r;
	struct errbuf err = { 0 };
	int got;

	for (unsigned i = 0; i < LAUNCHES_MAX; i++) {
		errclear(&err);
		got = launch_socket_receive(&r, l->launch_fd, &err);
		if (got == 0)
			break;
		if (got > 0) {
			launch_socket_accept(l->launch_fd, &r,
					     watch_count(&l->watch, &r.message, &err));
			watch_add(&l->watch, &r.message, &err);
			contention_message_free(&r.message);
			advance_scan(l, monotonic_ms() + LAUNCHED_MS);
		}
		if (*err.text)
			contend_log_state(&l->launch_state, "launch", err.text);
	}
	arm_timer(l);
}

static void reload_settings(struct loop *l)
{
	struct errbuf err = { 0 };
	struct conf *conf, *old = l->conf;

	notify_manager("RELOADING=1");
	if (load_settings(&conf, l->opt->conf, &err) == 0) {
		if (renew_watch(l, conf, &err) == 0) {
			l->conf = conf;
			free(old);
			configure_output(l);
			handle_tick(l);
			notify_manager("READY=1");
			return;
		}
		free(conf);
	}
	contend_log("the old settings stay: %s", err.text);
	notify_manager("READY=1");
}

static void handle_signal(struct loop *l)
{
	struct signalfd_siginfo s;

	while (read(l->signal_fd, &s, sizeof(s)) == sizeof(s))
		if (s.ssi_signo == SIGHUP)
			reload_settings(l);
		else
			l->ends = true;
}

/* ------------------------------------------------------------------------- epoll and its files */

static int poll_file(struct loop *l, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data = { .fd = fd } };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

static int open_files(struct loop *l, struct errbuf *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->epoll_fd < 0 || l->timer_fd < 0 || l->signal_fd < 0)
		return errprintf(err, "epoll: %s", strerror(errno));
	l->launch_fd = launch_socket_open(l->opt->run_dir, LAUNCH_SOCKET, err);
	if (l->launch_fd < 0)
		return -1;
	if (poll_file(l, l->launch_fd) < 0 || poll_file(l, l->timer_fd) < 0 ||
	    poll_file(l, l->signal_fd) < 0)
		return errprintf(err, "epoll: %s", strerror(errno));
	return 0;
}

/* Return whether one of the N events in E is of FD. */
static bool has_event(const struct epoll_event *e, int n, int fd)
{
	for (int i = 0; i < n; i++)
		if (e[i].data.fd == fd)
			return true;
	return false;
}

static void wait_and_handle(struct loop *l)
{
	struct epoll_event e[3];
	uint64_t times;
	int n = epoll_wait(l->epoll_fd, e, 3, -1);

	/* handle launches first: slurmstepd waits */
	if (has_event(e, n, l->launch_fd))
		handle_launches(l);
	if (has_event(e, n, l->signal_fd))
		handle_signal(l);
	if (has_event(e, n, l->timer_fd) && read(l->timer_fd, &times, sizeof(times)) > 0)
		handle_tick(l);
}

static int begin_loop(struct loop *l, struct errbuf *err)
{
	struct errbuf why = { 0 };
	struct mover_host mover_host;
	struct jobs_host jobs_host;
	struct saved *saved;

	if (load_settings(&l->conf, l->opt->conf, err) < 0 ||
	    open_host(&l->host, l->opt->root, err) < 0)
		return -1;
	l->run_fd = open_run_dir(l->opt->run_dir, err);
	snprintf(l->peaks_dir, sizeof(l->peaks_dir), "%s" PEAKS_DIR,
		 l->opt->root ? l->opt->root : "");
	l->host.peaks_dir = l->peaks_dir;
	snprintf(l->proc, sizeof(l->proc), "%s/proc", l->opt->root ? l->opt->root : "");
	jobs_host = (struct jobs_host){ .cgroup_fd = l->host.cgroup_fd, .proc = l->proc };
	if (l->run_fd < 0 || lock_run_dir(l->run_fd, l->opt->run_dir, err) < 0 ||
	    output_open(&l->output, l->run_fd, &jobs_host, err) < 0)
		return -1;
	mover_host = (struct mover_host){ .cgroup_fd = l->host.cgroup_fd,
					  .run_fd = l->run_fd,
					  .about = &l->watch.about };
	/* move no rank with --once, or with --root, which is for tests */
	l->mover = l->opt->once || l->opt->root ? NULL : mover_new(&mover_host);
	if (saved_read(&saved, l->run_fd, &why) < 0)
		contend_log("classes and totals of the earlier daemon are lost: %s", why.text);
	if (watch_open(&l->watch, l->conf, &l->host, saved, err) < 0) {
		saved_free(saved);
		return -1;
	}
	log_source(&l->watch);
	configure_output(l);
	return l->opt->once ? 0 : open_files(l, err);
}

int loop_run(const struct loop_options *opt, struct errbuf *err)
{
	struct loop *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return errprintf(err, "out of memory");
	l->opt = opt;
	rc = begin_loop(l, err);
	if (rc == 0) {
		handle_tick(l);
		notify_manager("READY=1");
		while (!opt->once && !l->ends)
			wait_and_handle(l);
		notify_manager("STOPPING=1");
		mover_finish(l->mover, &l->watch.node);
		save_state(l);
	}
	watch_close(&l->watch);
	output_close(&l->output);
	mover_free(l->mover);
	free(l->conf);
	free(l);
	return rc;
}
