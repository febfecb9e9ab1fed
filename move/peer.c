/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/peer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.h"
#include "move/site.h"

#define ASK_TURNS 20 /* seconds for another receiver to end */

int peer_connect(struct peer *p, struct errbuf *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return errprintf(err, "%s: %s", p->host, strerror(errno));
	p->pid = fork();
	if (p->pid == 0) {
		dup2(pair[1], 0);
		dup2(pair[1], 1);
		signal(SIGPIPE, SIG_DFL);
		execv(p->command[0], (char *const *)p->command);
		_exit(127);
	}
	close(pair[1]);
	if (p->pid < 0) {
		close(pair[0]);
		p->pid = 0;
		return errprintf(err, "%s: %s", p->host, strerror(errno));
	}
	wire_open(&p->wire, pair[0], pair[0], MOVE_SECONDS);
	return 0;
}

void peer_close(struct peer *p)
{
	if (!p->pid)
		return;
	close(p->wire.in);
	for (unsigned i = 0; i < 100; i++) {
		if (waitpid(p->pid, NULL, WNOHANG) != 0) {
			p->pid = 0;
			return;
		}
		usleep(20000);
	}
	kill(p->pid, SIGTERM);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
}

int peer_hear_ok(struct peer *p, unsigned seconds, struct errbuf *err)
{
	char line[WIRE_LINE_MAX], text[400];
	int rc;

	p->wire.seconds = seconds;
	rc = wire_hear(&p->wire, line, err);
	p->wire.seconds = MOVE_SECONDS;
	if (rc < 0)
		return errwrap(err, "%s", p->host);
	if (rc > 0)
		return errprintf(err, "%s: the connection has ended", p->host);
	if (strncmp(line, "ok", 2) == 0)
		return 0;
	printable(text, sizeof(text), strncmp(line, "no ", 3) == 0 ? line + 3 : line);
	return errprintf(err, "%s: %s", p->host, text);
}

/*
 * Ask in the open connection. NEW: nothing was asked in it before; otherwise answers to earlier
 * requests may come first. *BUSY: the receiver refuses because another one holds the vnode's lock.
 */
static enum move_state ask_peer_once(struct peer *p, const char *token, bool abort, bool new,
				     bool *busy)
{
	char line[WIRE_LINE_MAX];

	if (new &&wire_say(&p->wire, NULL, "ask 1 %s", p->name) < 0)
		return MOVE_STATES;
	if (wire_say(&p->wire, NULL, "%s %s", abort ? "abort" : "state", token) < 0)
		return MOVE_STATES;
	for (unsigned i = 0; i < 8; i++) {
		if (wire_hear(&p->wire, line, NULL) != 0)
			break;
		*busy = new &&strncmp(line, "no ", 3) == 0;
		if (strncmp(line, "state ", 6) == 0)
			return move_state_parse(line + 6);
		if (*busy)
			break;
	}
	return MOVE_STATES;
}

enum move_state peer_ask(struct peer *p, const char *token, bool abort)
{
	enum move_state state = MOVE_STATES;
	bool busy = false;

	if (p->pid)
		state = ask_peer_once(p, token, abort, false, &busy);
	/* an earlier receiver may be about to end */
	for (unsigned i = 0; i < ASK_TURNS && state == MOVE_STATES; i++) {
		peer_close(p);
		if (i > 0 && !busy)
			break;
		if (i > 0)
			sleep(1);
		if (peer_connect(p, NULL) < 0)
			break;
		busy = false;
		state = ask_peer_once(p, token, abort, true, &busy);
	}
	return state;
}
