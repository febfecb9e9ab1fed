/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_MESSAGE_H
#define NODEOS_VNODE_MESSAGE_H

/* Print "nodeosctl: vnode: TEXT" in one line to standard error. Returns STATUS. */
int vnode_message(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
