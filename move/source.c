/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hostname.h"
#include "base/monotonic.h"
#include "base/proc.h"
#include "host/slurm_conf.h"
#include "inventory/scan.h"
#include "move/freeze.h"
#include "move/images.h"
#include "move/link.h"
#include "vnode/blackout.h"

#define SETTLE_SECONDS 120 /* limit for CRIU to kill or resume the tree */
#define SUPERVISOR_TURNS 300 /* tenths of a second for the vnode's supervisor to end */

static void print_progress(struct source *s, const char *phase, uint64_t bytes, uint64_t of)
{
	long ms = monotonic_ms() - s->start;

	if (!s->progress)
		return;
	fprintf(s->progress, "%4ld.%03ld s  %-10s", ms / 1000, ms % 1000, phase);
	if (of)
		fprintf(s->progress, " %" PRIu64 " of %" PRIu64 " MiB", bytes >> 20, of >> 20);
	fputc('\n', s->progress);
	fflush(s->progress);
}

/* Read the words of "flags" of the first processor. */
static int read_cpu_flags(char *buf, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t room = 0;
	int rc = -1;

	while (f && rc < 0 && getline(&line, &room, f) > 0)
		if (strncmp(line, "flags", 5) == 0 && strchr(line, ':')) {
			line[strcspn(line, "\n")] = '\0';
			rc = snprintf(buf, size, "%s", strchr(line, ':') + 2) < (int)size ? 0 : -1;
		}
	free(line);
	if (f)
		fclose(f);
	return rc;
}

/* Compare the expected pause with slurmctld's limits. */
static int check_slurm_limits(const struct source *s, uint64_t ms, struct errbuf *err)
{
	char value[64], *config;
	unsigned limit[2];
	int rc;

	/* a vnode that is saved in a directory does not answer until it is restored */
	if (!s->site->places.ask_slurm || s->move.now.peer[0] == '/')
		return 0;
	config = slurm_show("config", NULL, err);
	if (!config)
		return -1;
	slurm_value(config, "SlurmdTimeout", value, sizeof(value));
	limit[0] = (unsigned)strtoul(value, NULL, 10);
	slurm_value(config, "MessageTimeout", value, sizeof(value));
	limit[1] = (unsigned)strtoul(value, NULL, 10);
	free(config);
	rc = vnode_blackout_check(ms, limit[0], limit[1], err);
	if (rc > 0 && s->progress)
		fprintf(s->progress, "%s\n", err->text);
	return rc < 0 ? -1 : 0;
}

/* Check what this host can check while the tree runs, and fill R. */
static int check_here(struct source *s, struct move_record *r, struct errbuf *err)
{
	struct move_scan scan = { .init = s->vnode.pid,
				  .shared = s->site->mount,
				  .n = s->site->mounts };
	struct vnode_forecast forecast;
	uint64_t ms;

	if (s->vnode.phase != VNODE_RUNNING || !vnode_process_lives(s->vnode.pid, s->vnode.number))
		return errprintf(err, "%s does not run on this host", s->site->conf.name);
	if (move_scan_apart(r, &scan, MOVE_SCAN_SECONDS, err) < 0)
		return -1;
	s->bytes = scan.bytes;
	if (move_record_check(r, err) < 0) {
		move_record_free(r);
		return -1;
	}
	forecast = (struct vnode_forecast){ .bytes = scan.bytes, .processes = scan.processes };
	ms = vnode_blackout_ms(&forecast);
	if (s->progress)
		fprintf(s->progress,
			"%u processes with %" PRIu64 " MiB; expected pause %" PRIu64 ".%01" PRIu64
			" s and the time of the stream\n",
			scan.processes, scan.bytes >> 20, ms / 1000, ms % 1000 / 100);
	if (check_slurm_limits(s, ms, err) < 0) {
		move_record_free(r);
		return -1;
	}
	return 0;
}

/* Send the record, which the destination compares with its own files. */
static int offer_record(struct source *s, const struct move_record *r, struct errbuf *err)
{
	char *text;
	size_t len;
	int rc = move_record_print(r, &text, &len, err);

	if (rc < 0)
		return -1;
	rc = wire_say(&s->peer.wire, err, "check %zu", len);
	if (rc == 0)
		rc = wire_put(&s->peer.wire, text, len, err);
	if (rc == 0)
		rc = peer_hear_ok(&s->peer, MOVE_SECONDS, err);
	free(text);
	return rc;
}

static int source_offer(void *arg, struct errbuf *err)
{
	struct source *s = arg;
	char version[MOVE_VERSION_MAX], flags[WIRE_LINE_MAX - 16];
	struct move_record r;
	int rc;

	if (move_criu_probe(version, err) < 0 || check_here(s, &r, err) < 0)
		return -1;
	rc = peer_connect(&s->peer, err);
	if (rc == 0)
		rc = wire_say(&s->peer.wire, err, "hello 1 %s %s %s %s %" PRIu64,
			      s->site->conf.name, s->move.now.token, s->host, version, s->bytes);
	if (rc == 0)
		rc = peer_hear_ok(&s->peer, MOVE_SECONDS, err);
	if (rc == 0 && read_cpu_flags(flags, sizeof(flags)) == 0) {
		rc = wire_say(&s->peer.wire, err, "flags %s", flags);
		if (rc == 0)
			rc = peer_hear_ok(&s->peer, MOVE_SECONDS, err);
	}
	if (rc == 0)
		rc = offer_record(s, &r, err);
	move_record_free(&r);
	if (rc == 0) {
		s->images = move_images_make(s->site->images, move_image_size(s->bytes),
					     MOVE_MEMORY_RESERVE, err);
		rc = s->images < 0 ? -1 : 0;
	}
	return rc;
}

static int set_phase(struct source *s, enum vnode_phase phase, struct errbuf *err)
{
	s->vnode.phase = phase;
	return move_site_write_state(s->site, &s->vnode, err);
}

static int source_freeze(void *arg, struct errbuf *err)
{
	struct source *s = arg;
	struct criu_run run = { .images = s->site->images,
				.link = s->vnode.link,
				.shared = s->site->shared,
				.init = s->vnode.pid,
				.env = s->site->env };

	move_site_env(s->site, s->move.now.token, s->move.now.peer, &s->vnode);
	run.hold = move_criu_lock_take(s->site->state, s->site->conf.name, err);
	if (run.hold < 0)
		return -1;
	s->frozen = monotonic_ms();
	s->criu = set_phase(s, VNODE_MOVING, err) < 0 ? -1 : move_criu_dump(&run, err);
	close(run.hold);
	if (s->criu < 0) {
		s->criu = 0;
		return -1;
	}
	return move_criu_wait_held(&s->criu, s->images, "dump.log", move_step_seconds(s->bytes),
				   err);
}

static void count_sent(void *arg, uint64_t bytes, uint64_t of)
{
	struct source *s = arg;
	static uint64_t last;

	if (bytes < last)
		last = 0;
	if ((bytes == of && last != of) || bytes - last >= 256ull << 20) {
		last = bytes;
		print_progress(s, "sending", bytes, of);
	}
}

static int source_send(void *arg, struct errbuf *err)
{
	struct source *s = arg;
	const struct wire_progress progress = { count_sent, s };

	if (wire_send_image(&s->peer.wire, s->images, &progress, err) < 0)
		return errwrap(err, "%s", s->peer.host);
	return peer_hear_ok(&s->peer, MOVE_SECONDS, err);
}

static int source_restore(void *arg, struct errbuf *err)
{
	struct source *s = arg;

	if (wire_say(&s->peer.wire, err, "restore") < 0)
		return errwrap(err, "%s", s->peer.host);
	return peer_hear_ok(&s->peer, move_step_seconds(s->bytes), err);
}

static int source_go(void *arg, struct errbuf *err)
{
	struct source *s = arg;

	if (wire_say(&s->peer.wire, err, "go %s", s->move.now.token) < 0)
		return errwrap(err, "%s", s->peer.host);
	return peer_hear_ok(&s->peer, move_step_seconds(s->bytes), err);
}

static enum move_state source_ask(void *arg, bool abort)
{
	struct source *s = arg;

	return peer_ask(&s->peer, s->move.now.token, abort);
}

/* Wait until the vnode's supervisor, which sees the end of the tree, has removed link and cgroup
 * (vnode/supervise.h); the mover itself removes the vnode's record. */
static void wait_for_supervisor(struct source *s)
{
	for (unsigned i = 0; i < SUPERVISOR_TURNS && s->vnode.supervisor > 0 &&
			     vnode_process_lives(s->vnode.supervisor, s->vnode.supervisor_number);
	     i++)
		usleep(100000);
}

/* A zombie counts as gone. */
static enum move_tree read_tree(pid_t pid)
{
	char path[64], text[4096];
	const char *at;
	int tracer = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(AT_FDCWD, path, text, sizeof(text), NULL) < 0 ||
	    strstr(text, "\nState:\tZ") || strstr(text, "\nState:\tX"))
		return MOVE_TREE_GONE;
	at = strstr(text, "\nTracerPid:");
	if (at)
		sscanf(at, "\nTracerPid: %d", &tracer);
	return tracer ? MOVE_TREE_FROZEN : MOVE_TREE_RUNS;
}

static enum move_tree source_tree(void *arg)
{
	struct source *s = arg;

	if (s->vnode.phase == VNODE_ABSENT || s->vnode.pid == 0 ||
	    !vnode_process_lives(s->vnode.pid, s->vnode.number))
		return MOVE_TREE_GONE;
	return read_tree(s->vnode.pid);
}

/* Return whether the tree has followed the journal to STATE, and CRIU has ended. */
static bool has_settled(struct source *s, enum move_state state)
{
	enum move_tree tree = source_tree(s);

	if (move_criu_lock_held(s->site->state, s->site->conf.name))
		return false;
	return state == MOVE_BACK ? tree != MOVE_TREE_FROZEN : tree == MOVE_TREE_GONE;
}

/* Do what CRIU and the gate have not done, if they ended before the journal's last state: then the
 * tree is frozen, and its link is down. */
static void follow_journal(struct source *s, enum move_state state)
{
	if (source_tree(s) == MOVE_TREE_GONE)
		return;
	if (state == MOVE_BACK) {
		if (*s->vnode.link)
			(void)move_link_set(s->vnode.link, true, NULL);
		(void)move_group_freeze(s->vnode.cgroup, false, NULL);
	} else {
		(void)move_group_kill(s->vnode.cgroup, NULL);
		kill(s->vnode.pid, SIGKILL);
	}
}

static void drop_source_image(struct source *s)
{
	if (s->images >= 0)
		close(s->images);
	s->images = -1;
	move_images_wipe(s->site->images);
}

static void source_settle(void *arg, enum move_state state)
{
	struct source *s = arg;
	long end = monotonic_ms() + 1000l * SETTLE_SECONDS;

	if (s->vnode.phase != VNODE_MOVING) { /* the tree was not stopped, or runs again */
		drop_source_image(s);
		return;
	}
	if (s->criu)
		(void)move_criu_wait_end(&s->criu, SETTLE_SECONDS, NULL);
	while (move_criu_lock_held(s->site->state, s->site->conf.name) && monotonic_ms() < end)
		usleep(GATE_TURN_MS * 1000);
	follow_journal(s, state);
	while (!has_settled(s, state) && monotonic_ms() < end)
		usleep(GATE_TURN_MS * 1000);
	if (!has_settled(s, state))
		return;
	drop_source_image(s);
	if (state != MOVE_BACK)
		wait_for_supervisor(s);
	(void)set_phase(s, state == MOVE_BACK ? VNODE_RUNNING : VNODE_ABSENT, NULL);
	if (s->frozen) {
		print_progress(s, state == MOVE_BACK ? "goes on" : "gone", 0, 0);
		s->frozen = 0;
	}
}

static void source_progress(void *arg, enum move_state state)
{
	print_progress(arg, move_state_word(state), 0, 0);
}

static const struct move_source_ops source_ops = {
	source_offer, source_freeze, source_send,   source_restore,  source_go,
	source_ask,   source_tree,   source_settle, source_progress,
};

int source_open(struct source *s, struct move_site *site, struct errbuf *err)
{
	struct utsname u;

	s->site = site;
	s->images = -1;
	s->start = monotonic_ms();
	s->move.dir = site->state;
	s->move.name = site->journal;
	s->move.ops = &source_ops;
	s->move.arg = s;
	s->peer.name = site->conf.name;
	if (uname(&u) < 0)
		return errprintf(err, "%s", strerror(errno));
	snprintf(s->host, sizeof(s->host), "%s", u.nodename);
	signal(SIGPIPE, SIG_IGN);
	return move_site_read_state(site, &s->vnode, err);
}

int source_move(struct source *s, const char *host, struct errbuf *err)
{
	int rc;

	if (snprintf(s->move.now.peer, sizeof(s->move.now.peer), "%s", host) >= MOVE_HOST_MAX ||
	    move_token_make(s->move.now.token, err) < 0)
		return -1;
	rc = move_source_run(&s->move, err);
	peer_close(&s->peer);
	return rc;
}

int source_recover(struct source *s, struct errbuf *err)
{
	int rc;

	if (move_journal_read(&s->move.now, s->move.dir, s->move.name, err) < 0)
		return -1;
	rc = move_source_recover(&s->move, err);
	peer_close(&s->peer);
	return rc;
}
