/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_GATE_H
#define NODEOS_MOVE_GATE_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "move/journal.h"

/*
 * The gate: a program that CRIU runs as its action script. At the source, it runs when the dump is
 * complete and the tree still frozen (post-dump); at the destination, when the tree is restored and
 * nothing of it has run (post-restore). The gate holds the tree until the journal says what becomes
 * of it. It lives on when mover or receiver have ended. Its exit status is an order for CRIU. At
 * the source, 0 kills the dumped tree, and any other status lets it run on. At the destination, 0
 * lets the restored tree run, and any other status kills it.
 *
 * The mover and the receiver set these variables in the gate's environment, and share files in the
 * image's directory with it.
 */
#define GATE_STATE_DIR "NODEOS_MOVE_STATE" /* path of the directory of the journal and the lock */
#define GATE_NAME "NODEOS_MOVE_NAME" /* name of the vnode */
#define GATE_TOKEN "NODEOS_MOVE_TOKEN"
#define GATE_PEER "NODEOS_MOVE_PEER"
#define GATE_IMAGES "NODEOS_MOVE_IMAGES" /* path of the image's directory */
#define GATE_LINK "NODEOS_MOVE_LINK" /* the host's end of the vnode's veth; "" */
#define GATE_GROUP "NODEOS_MOVE_GROUP" /* path of the vnode's cgroup below the mount; "": none */
/* mount points of shared file systems, separated by blanks */
#define GATE_SHARED "NODEOS_MOVE_SHARED"

#define GATE_RECORD "nodeos-record" /* the record of open files; travels with the image */
/* made when the tree is held; contains the PID of its first process on this host */
#define GATE_HELD "nodeos-held"
#define GATE_REASON "nodeos-reason" /* why the gate has refused; one line */
/* exists from the restore until CRIU lets the tree run (action "pre-resume") */
#define GATE_WAITS "nodeos-waits"
#define GATE_GO "nodeos-go" /* written by the receiver: the source allows the tree to run */

#define GATE_TURN_MS 10 /* milliseconds between two looks at journal and files */

/* Write the name of the journal of vnode NAME, "NAME.move", to BUF, and return it. */
#define GATE_FILE_MAX 300
const char *move_journal_name(char buf[GATE_FILE_MAX], const char *name);

/*
 * Take the lock of vnode NAME below DIR: one mover, receiver or recovery holds it at a time.
 * Returns its descriptor, or -1 with the reason; ERR->code is 1 if another process holds it.
 */
int move_lock_take(int dir, const char *name, struct errbuf *err);

/* Return whether a mover or receiver holds the lock, and so lives. */
bool move_lock_held(int dir, const char *name);

/*
 * Take the lock "NAME.criu" below DIR. CRIU holds it from its start to its end, whatever becomes of
 * mover and receiver. Returns its descriptor, or -1: an earlier CRIU still runs.
 */
int move_criu_lock_take(int dir, const char *name, struct errbuf *err);
bool move_criu_lock_held(int dir, const char *name);

#endif
