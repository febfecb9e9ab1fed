/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "inventory/record.h"
#include "move/saved.h"
#include "move/site.h"

static enum move_state kept_state(struct keeper *k, const char *token)
{
	struct move_entry e;

	return move_journal_find(&e, k->saved.dir, k->saved.journal, token, NULL) < 0 ? MOVE_STATES
										      : e.state;
}

static int step_kept(struct keeper *k, enum move_state from, enum move_state to, struct errbuf *err)
{
	struct move_entry e = { .state = to };

	snprintf(e.token, sizeof(e.token), "%s", k->token);
	snprintf(e.peer, sizeof(e.peer), "%s", k->peer);
	return move_journal_step(k->saved.dir, k->saved.journal, from, &e, err);
}

/* Take "hello 1 NAME TOKEN HOST CRIU BYTES". */
static int take_offer(struct keeper *k, const char *line, struct errbuf *err)
{
	char name[64], token[MOVE_TOKEN_LEN + 2];
	struct move_entry e;

	if (sscanf(line, "hello 1 %63s %33s %255s %*s %" SCNu64, name, token, k->peer, &k->bytes) !=
		    4 ||
	    !move_token_valid(token) || strcmp(name, k->saved.name) != 0 ||
	    k->bytes > UINT64_MAX / 4)
		return errprintf(err, "this release does not understand the offer");
	if (move_journal_read(&e, k->saved.dir, k->saved.journal, err) < 0)
		return -1;
	if (e.state == MOVE_OFFERED) { /* the mover of that offer has ended */
		memcpy(k->token, e.token, sizeof(k->token));
		if (step_kept(k, MOVE_OFFERED, MOVE_ABORTED, err) < 0)
			return -1;
		e.state = MOVE_ABORTED;
	}
	if (!move_state_final(e.state))
		return errprintf(err, "an earlier save or restore is at \"%s\": recover it first",
				 move_state_word(e.state));
	if (k->saved.images >= 0 && (e.state == MOVE_LIVE || e.state == MOVE_BACK))
		return errprintf(err, "a saved vnode %s is here: restore it, or remove it first",
				 name);
	if (saved_make_image(&k->saved, move_image_size(k->bytes), err) < 0 ||
	    file_replace(k->saved.images, SAVED_OFFER, line, 0600, err) < 0)
		return -1;
	memcpy(k->token, token, sizeof(k->token));
	return step_kept(k, e.state, MOVE_OFFERED, err);
}

/* Read the record that the mover sends for a check, and drop it: the image has it, too. */
static int skip_record(struct keeper *k, const char *line, struct errbuf *err)
{
	static char block[1 << 16];
	size_t len;

	if (sscanf(line, "check %zu", &len) != 1 || len > MOVE_RECORD_MAX)
		return errprintf(err, "record of open files: too long");
	while (len) {
		size_t n = len < sizeof(block) ? len : sizeof(block);

		if (wire_take(&k->wire, block, n, err) < 0)
			return -1;
		len -= n;
	}
	return 0;
}

static int keep_image(struct keeper *k, const char *line, struct errbuf *err)
{
	if (!k->token[0] || kept_state(k, k->token) != MOVE_OFFERED)
		return errprintf(err, "no image was announced");
	if (wire_take_image(&k->wire, line, k->saved.images, move_image_size(k->bytes), err) < 0)
		return -1;
	if (syncfs(k->saved.images) < 0)
		return errprintf(err, "%s: %s", k->saved.folder, strerror(errno));
	return step_kept(k, MOVE_OFFERED, MOVE_RECEIVED, err);
}

/* Take "go TOKEN": from now on the vnode is in this directory, and on no host. */
static int own_image(struct keeper *k, const char *line, struct errbuf *err)
{
	char token[MOVE_TOKEN_LEN + 2];
	enum move_state state;

	if (sscanf(line, "go %33s", token) != 1 || !move_token_valid(token))
		return errprintf(err, "no image of this move is here");
	memcpy(k->token, token, sizeof(k->token));
	state = kept_state(k, token);
	if (state == MOVE_LIVE)
		return 0;
	if (state == MOVE_RECEIVED && step_kept(k, state, MOVE_RESTORED, err) < 0)
		return -1;
	if (kept_state(k, token) != MOVE_RESTORED)
		return errprintf(err, "no image of this move is here");
	return step_kept(k, MOVE_RESTORED, MOVE_LIVE, err);
}

/* Answer "state TOKEN" or "abort TOKEN". */
static int answer_question(struct keeper *k, const char *line, struct errbuf *err)
{
	char token[MOVE_TOKEN_LEN + 2] = "";
	enum move_state state;

	if (sscanf(line, "%*s %33s", token) != 1 || !move_token_valid(token))
		return wire_say(&k->wire, err, "state unknown");
	memcpy(k->token, token, sizeof(k->token));
	state = kept_state(k, token);
	if (line[0] == 'a' && state != MOVE_IDLE && state != MOVE_STATES &&
	    !move_state_final(state) && step_kept(k, state, MOVE_ABORTED, NULL) == 0) {
		saved_drop_image(&k->saved);
		state = MOVE_ABORTED;
	}
	return wire_say(&k->wire, err, "state %s",
			state == MOVE_STATES ? "unknown" : move_state_word(state));
}

/* Do what LINE asks. Returns 0, or -1: it is refused. */
static int keep_request(struct keeper *k, const char *line, struct errbuf *err)
{
	if (strncmp(line, "hello ", 6) == 0 && !k->token[0])
		return take_offer(k, line, err);
	if (strncmp(line, "go ", 3) == 0)
		return own_image(k, line, err);
	if (k->saved.images < 0)
		return errprintf(err, "no vnode was offered");
	if (strncmp(line, "flags ", 6) == 0)
		return file_replace(k->saved.images, SAVED_FLAGS, line, 0600, err);
	if (strncmp(line, "check ", 6) == 0)
		return skip_record(k, line, err);
	if (strncmp(line, "image ", 6) == 0)
		return keep_image(k, line, err);
	if (strcmp(line, "restore") == 0)
		return step_kept(k, MOVE_RECEIVED, MOVE_RESTORED, err);
	return errprintf(err, "unknown request");
}

/* Set the peer of the move in the journal's last entry, which an earlier keeper has written. */
static int resume_keeper(struct keeper *k, struct errbuf *err)
{
	struct move_entry e;

	if (move_journal_read(&e, k->saved.dir, k->saved.journal, err) < 0)
		return -1;
	snprintf(k->peer, sizeof(k->peer), "%s", *e.peer ? e.peer : "saved");
	return 0;
}

int keeper_serve(struct keeper *k, struct errbuf *err)
{
	char line[WIRE_LINE_MAX];
	int rc = resume_keeper(k, err);

	while (rc == 0) {
		struct errbuf why = { 0 };

		k->wire.seconds = 24 * 3600; /* the mover may be busy on its own host */
		rc = wire_hear(&k->wire, line, err);
		k->wire.seconds = MOVE_SECONDS;
		if (rc != 0 || strncmp(line, "ask ", 4) == 0)
			continue;
		if (strncmp(line, "state ", 6) == 0 || strncmp(line, "abort ", 6) == 0)
			rc = answer_question(k, line, err);
		else if (keep_request(k, line, &why) == 0)
			rc = wire_say(&k->wire, err, "ok");
		else
			rc = wire_say(&k->wire, err, "no %s", why.text);
	}
	return rc < 0 ? -1 : 0;
}
