/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"
#include "inventory/record.h"
#include "inventory/reopen.h"
#include "move/flow.h"
#include "move/images.h"
#include "move/unit.h"

static enum move_state state_of_token(struct receive *r, const char *token)
{
	struct move_entry e;

	return move_journal_find(&e, r->site.state, r->site.journal, token, NULL) < 0 ? MOVE_STATES
										      : e.state;
}

static int step_to(struct receive *r, enum move_state from, enum move_state to, struct errbuf *err)
{
	struct move_entry e = { .state = to };

	snprintf(e.token, sizeof(e.token), "%s", r->token);
	snprintf(e.peer, sizeof(e.peer), "%s", r->peer);
	return move_journal_step(r->site.state, r->site.journal, from, &e, err);
}

static void drop_images(struct receive *r)
{
	if (r->images >= 0)
		close(r->images);
	r->images = -1;
	move_images_wipe(r->site.images);
}

/* Return whether the vnode's supervisor has recorded that the vnode runs here: then nothing needs
 * the image. */
static bool is_recorded(struct receive *r)
{
	struct vnode_state vnode;

	return move_site_read_state(&r->site, &vnode, NULL) == 0 && vnode.phase == VNODE_RUNNING;
}

/* End the restore of the vnode. The journal must have MOVE_ABORTED, or the lock must be free. */
static void end_restore(struct receive *r)
{
	if (r->start)
		(void)move_criu_wait_end(&r->start, MOVE_SECONDS, NULL);
	if (!r->bare)
		move_unit_stop(r->unit);
	(void)unlinkat(r->site.run, VNODE_INCOMING_FILE, 0);
}

/*
 * Recover from the early end of a receiver or of CRIU, and set *STATE to the new state. After
 * MOVE_LIVE, CRIU may still be about to let the tree run.
 */
static int settle_end(struct receive *r, enum move_state *state, struct errbuf *err)
{
	bool whole = r->images >= 0 && faccessat(r->images, GATE_RECORD, F_OK, 0) == 0, held;
	long end = monotonic_ms() + 1000l * MOVE_SECONDS;
	enum move_state next;

	while (whole && *state == MOVE_LIVE && monotonic_ms() < end &&
	       move_criu_lock_held(r->site.state, r->site.conf.name))
		usleep(GATE_TURN_MS * 1000);
	held = whole && !move_criu_lock_held(r->site.state, r->site.conf.name) &&
	       faccessat(r->images, GATE_WAITS, F_OK, 0) == 0;
	next = move_dest_recover(*state, whole, held);
	if (next == *state)
		return 0;
	if (*state == MOVE_LIVE)
		end_restore(r);
	if (step_to(r, *state, next, err) < 0)
		return -1;
	*state = next;
	if (next == MOVE_ABORTED)
		end_restore(r);
	return 0;
}

/* Open the vnode NAME, and clean up what an earlier receiver has left. */
static int open_vnode(struct receive *r, const char *name, struct errbuf *err)
{
	struct move_entry e;

	if (r->only && strcmp(r->only, name) != 0)
		return errprintf(err, "this connection is for another vnode");
	if (move_site_open(&r->site, name, err) < 0)
		return -1;
	r->open = true;
	if (!r->unit) {
		snprintf(r->unit_text, sizeof(r->unit_text), "nodeos-vnode@%s.service", name);
		r->unit = r->unit_text;
	}
	if (move_journal_read(&e, r->site.state, r->site.journal, err) < 0)
		return -1;
	r->images = move_images_open(r->site.images, NULL);
	snprintf(r->token, sizeof(r->token), "%s", e.token);
	snprintf(r->peer, sizeof(r->peer), "%s", e.peer);
	if (settle_end(r, &e.state, err) < 0)
		return -1;
	if (e.state == MOVE_ABORTED || (e.state == MOVE_LIVE && is_recorded(r)))
		drop_images(r);
	return 0;
}

/* Check what can be checked before an image arrives: vnode, CRIU, memory. */
static int check_offer(struct receive *r, const char *version, struct errbuf *err)
{
	char own[MOVE_VERSION_MAX];
	struct vnode_state vnode;

	if (!vnode_allows_host(&r->site.conf, r->site.places.host))
		return errprintf(err, "vnode.d/%s.conf does not have this host in \"hosts\"",
				 r->site.conf.name);
	if (!r->bare && vnode_check(&r->site.conf, &r->site.places, r->site.conf.name, err) < 0)
		return -1;
	if (move_site_read_state(&r->site, &vnode, err) < 0)
		return -1;
	if (vnode.phase != VNODE_ABSENT && vnode.phase != VNODE_CREATED)
		return errprintf(err, "%s is on this host already (%s)", r->site.conf.name,
				 vnode_phase_name(vnode.phase));
	if (move_criu_probe(own, err) < 0 || move_criu_check_pair(version, own, err) < 0)
		return -1;
	drop_images(r);
	r->images = move_images_make(r->site.images, move_image_size(r->bytes), MOVE_MEMORY_RESERVE,
				     err);
	return r->images < 0 ? -1 : 0;
}

/* Take "hello 1 NAME TOKEN HOST CRIU BYTES": the offer of a move. */
static int take_hello(struct receive *r, const char *line, struct errbuf *err)
{
	char name[64], token[MOVE_TOKEN_LEN + 2], host[MOVE_HOST_MAX], version[MOVE_VERSION_MAX];
	struct move_entry e;

	if (r->open ||
	    sscanf(line, "hello 1 %63s %33s %255s %63s %" SCNu64, name, token, host, version,
		   &r->bytes) != 5 ||
	    !move_token_valid(token) || r->bytes > UINT64_MAX / 4)
		return errprintf(err, "this release does not understand the offer");
	if (open_vnode(r, name, err) < 0 ||
	    move_journal_read(&e, r->site.state, r->site.journal, err) < 0)
		return -1;
	if (e.state == MOVE_RECEIVED || e.state == MOVE_RESTORED)
		return errprintf(err,
				 "the image of an earlier move from %s is still here: recover that "
				 "move first",
				 e.peer);
	if (!move_state_final(e.state))
		return errprintf(err, "a move of this vnode is at \"%s\" here",
				 move_state_word(e.state));
	if (state_of_token(r, token) != MOVE_IDLE)
		return errprintf(err, "the token was used before");
	if (check_offer(r, version, err) < 0)
		return -1;
	memcpy(r->token, token, sizeof(r->token));
	snprintf(r->peer, sizeof(r->peer), "%s", host);
	return step_to(r, e.state, MOVE_OFFERED, err);
}

/* Take "flags ...": compare the flags of this host's first processor with those of the source. */
static int take_flags(const char *line, struct errbuf *err)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char *own = NULL;
	size_t size = 0;
	int rc = errprintf(err, "/proc/cpuinfo has no flags");

	while (f && getline(&own, &size, f) > 0)
		if (strncmp(own, "flags", 5) == 0) {
			rc = move_cpu_check(line + strlen("flags "), own, err);
			break;
		}
	free(own);
	if (f)
		fclose(f);
	return rc;
}

/* Take "check BYTES": read the record, and open each file in it once. */
static int receive_record(struct receive *r, const char *line, struct errbuf *err)
{
	struct move_record record;
	size_t len;
	char *text;
	int rc;

	if (sscanf(line, "check %zu", &len) != 1 || len > MOVE_RECORD_MAX)
		return errprintf(err, "record of open files: too long");
	text = malloc(len + 1);
	if (!text)
		return errprintf(err, "%s", strerror(errno));
	text[len] = '\0';
	rc = wire_take(&r->wire, text, len, err);
	if (rc == 0)
		rc = move_record_parse(&record, text, len, err);
	free(text);
	if (rc == 0) {
		rc = move_reopen_check(&record, err);
		move_record_free(&record);
	}
	return rc;
}

static int take_image(struct receive *r, const char *line, struct errbuf *err)
{
	if (!r->token[0] || state_of_token(r, r->token) != MOVE_OFFERED || r->images < 0)
		return errprintf(err, "no image was announced");
	if (wire_take_image(&r->wire, line, r->images, move_image_size(r->bytes), err) < 0)
		return -1;
	return step_to(r, MOVE_OFFERED, MOVE_RECEIVED, err);
}

/*
 * Start the vnode's unit. The unit finds a note that the vnode comes by a move, and restores the
 * vnode.
 */
static int restore_tree(struct receive *r, struct errbuf *err)
{
	char note[MOVE_SITE_PATH_MAX];

	if (!r->token[0] || state_of_token(r, r->token) != MOVE_RECEIVED || r->images < 0)
		return errprintf(err, "no image is here");
	(void)unlinkat(r->images, GATE_HELD, 0);
	(void)unlinkat(r->images, GATE_GO, 0);
	(void)unlinkat(r->images, GATE_WAITS, 0);
	(void)unlinkat(r->images, GATE_REASON, 0);
	snprintf(note, sizeof(note), "%s\n", r->site.state_dir);
	if (file_replace(r->site.run, VNODE_INCOMING_FILE, note, 0600, err) < 0)
		return -1;
	r->start = r->bare ? move_unit_bare(&r->site, err) : move_unit_start(r->unit, err);
	if (r->start < 0) {
		r->start = 0;
		return -1;
	}
	if (move_criu_wait_held(&r->start, r->images, "restore.log", move_step_seconds(r->bytes),
				err) < 0)
		return -1;
	return step_to(r, MOVE_RECEIVED, MOVE_RESTORED, err);
}

/* Take "go TOKEN": the source has handed the tree over. */
static int take_go(struct receive *r, const char *line, struct errbuf *err)
{
	char token[MOVE_TOKEN_LEN + 2];
	enum move_state state;
	int status;

	if (!r->open || sscanf(line, "go %33s", token) != 1 || strcmp(token, r->token) != 0)
		return errprintf(err, "no image of this move is here");
	state = state_of_token(r, token);
	if (state == MOVE_LIVE)
		return 0;
	if (state == MOVE_RECEIVED && restore_tree(r, err) < 0)
		return -1;
	if (!r->start || state_of_token(r, token) != MOVE_RESTORED)
		return errprintf(err, "the tree is not restored");
	if (file_replace(r->images, GATE_GO, "go\n", 0600, err) < 0)
		return -1;
	/* the gate writes MOVE_LIVE, CRIU lets the tree run, and the supervisor records it */
	status = move_criu_wait_end(&r->start, MOVE_SECONDS, err);
	state = state_of_token(r, token);
	if (status != 0 && state == MOVE_LIVE && settle_end(r, &state, err) < 0)
		return -1;
	if (status != 0 || state != MOVE_LIVE)
		return errprintf(err, "criu did not let the tree run");
	drop_images(r);
	return 0;
}

/* Abort the move if the tree has not begun to run: its gate reads the journal, and ends the tree.
 * Returns the state. */
static enum move_state abort_move(struct receive *r, const char *token)
{
	enum move_state state = state_of_token(r, token);

	while (state != MOVE_IDLE && state != MOVE_STATES && !move_state_final(state) &&
	       strcmp(token, r->token) == 0) {
		if (step_to(r, state, MOVE_ABORTED, NULL) == 0) {
			end_restore(r);
			drop_images(r);
		}
		state = state_of_token(r, token);
	}
	return state;
}

/* Take "state TOKEN" or "abort TOKEN", and answer with the state. */
static int take_question(struct receive *r, const char *line, struct errbuf *err)
{
	char token[MOVE_TOKEN_LEN + 2] = "";
	enum move_state state = MOVE_STATES;

	if (r->open && sscanf(line, "%*s %33s", token) == 1 && move_token_valid(token))
		state = line[0] == 'a' ? abort_move(r, token) : state_of_token(r, token);
	if (state == MOVE_STATES)
		return wire_say(&r->wire, err, "state unknown");
	return wire_say(&r->wire, err, "state %s", move_state_word(state));
}

/* Do what LINE asks. Returns 0, or -1: it is refused. */
static int do_request(struct receive *r, const char *line, struct errbuf *err)
{
	char name[64];

	if (strncmp(line, "hello ", 6) == 0)
		return take_hello(r, line, err);
	if (!r->open && sscanf(line, "ask 1 %63s", name) == 1)
		return open_vnode(r, name, err);
	if (!r->open)
		return errprintf(err, "no vnode was named");
	if (strncmp(line, "flags ", 6) == 0)
		return take_flags(line, err);
	if (strncmp(line, "check ", 6) == 0)
		return receive_record(r, line, err);
	if (strncmp(line, "image ", 6) == 0)
		return take_image(r, line, err);
	if (strcmp(line, "restore") == 0)
		return restore_tree(r, err);
	if (strncmp(line, "go ", 3) == 0)
		return take_go(r, line, err);
	return errprintf(err, "unknown request");
}

/* The mover has gone. A restored tree ends when this program frees its lock; its image is kept. */
static void end_connection(struct receive *r)
{
	if (!r->open)
		return;
	if (r->start) {
		/* the gate ends the tree when it sees the lock free */
		close(r->site.lock);
		r->site.lock = -1;
		end_restore(r);
		if (state_of_token(r, r->token) == MOVE_RESTORED)
			(void)step_to(r, MOVE_RESTORED, MOVE_RECEIVED, NULL);
	}
	if (r->images >= 0)
		close(r->images);
	move_site_close(&r->site);
}

int receive_serve(struct receive *r, struct errbuf *err)
{
	char line[WIRE_LINE_MAX];
	int rc;

	r->images = -1;
	for (;;) {
		struct errbuf why = { 0 };

		r->wire.seconds = 24 * 3600; /* the mover may be busy on its own host */
		rc = wire_hear(&r->wire, line, err);
		r->wire.seconds = MOVE_SECONDS;
		if (rc != 0)
			break;
		if (strncmp(line, "state ", 6) == 0 || strncmp(line, "abort ", 6) == 0)
			rc = take_question(r, line, err);
		else if (do_request(r, line, &why) == 0)
			rc = strncmp(line, "ask ", 4) == 0 ? 0 : wire_say(&r->wire, err, "ok");
		else
			rc = wire_say(&r->wire, err, "no %s", why.text);
		if (rc < 0)
			break;
	}
	end_connection(r);
	return rc < 0 ? -1 : 0;
}
