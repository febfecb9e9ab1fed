/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_ASK_ARGS_H
#define NODEOS_TOOLS_ASK_ARGS_H

#include "control/protocol.h"

/*
 * Parse the value of an option of COMMAND into A, the request that COMMAND sends to nodeosd.
 * Returns 0, or the exit status after an error message.
 */
int tool_ask_job(struct ask *a, const char *command, const char *text);
int tool_ask_step(struct ask *a, const char *command, const char *text); /* "STEP" or "JOB.STEP" */
int tool_ask_container(struct ask *a, const char *command, const char *name);

#endif
