/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages that have bytes of a user must reach the terminal as one printable line. */
#include "tools/tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "tools/check.h"

#define HOSTILE "a\nnodeosctl: forged\033[2J\377\303\257"
#define SHOWN "a?nodeosctl: forged?[2J?\303\257"

static int kept, fd;

static void capture(void)
{
	fflush(NULL);
	kept = dup(STDERR_FILENO);
	fd = memfd_create("errors", 0);
	if (kept < 0 || fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		bail("no file for standard error");
}

static const char *captured(void)
{
	static char text[16384];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(fd);
	return text;
}

int main(void)
{
	static char large[65536];
	char check[] = "check", missing[] = "/nonexistent/" HOSTILE;
	char option[] = "--jso-n", *wrong[] = { check, option, NULL };
	char *argv[] = { check, missing, NULL };
	int status;

	capture();
	status = tool_error(3, "%s is unknown", HOSTILE);
	is(captured(), "nodeosctl: " SHOWN " is unknown\n",
	   "tool_error: prints one line without ESC");
	is_int(status, 3, "tool_error: returns the given status");
	capture();
	status = tool_wrong("list", "unexpected \"%s\"", HOSTILE);
	is(captured(), "nodeosctl: list: unexpected \"" SHOWN "\" (see nodeosctl list --help)\n",
	   "tool_wrong: prints one line without ESC");
	is_int(status, 2, "tool_wrong: returns 2");
	capture();
	status = tool_message(1, "%s:1:2: wrong", HOSTILE);
	is(captured(), SHOWN ":1:2: wrong\n", "tool_message: prints one line without ESC");
	is_int(status, 1, "tool_message: returns the given status");
	tool_set_program("nodeos-script");
	capture();
	tool_wrong("ignored", "no file");
	tool_error(1, "no memory");
	is(captured(),
	   "nodeos-script: no file (see nodeos-script --help)\nnodeos-script: no memory\n",
	   "tool_set_program: error messages name the program");
	capture();
	status = tool_check(2, wrong);
	is(captured(),
	   "nodeos-script: unrecognized option '--jso-n'\nnodeos-script: see nodeos-script "
	   "--help\n",
	   "tool_set_program: messages about options name the program");
	is_int(status, 2, "tool_set_program: a wrong option gives status 2");
	tool_set_program(NULL);
	memset(large, 'x', sizeof(large) - 1);
	capture();
	tool_error(1, "%s", large);
	is_int((long long)strlen(captured()), (long long)strlen("nodeosctl: ") + 4095 + 1,
	       "tool_error: cuts a message of 64 KiB to 4 KiB");
	capture();
	status = tool_check(2, argv);
	is(captured(), "/nonexistent/" SHOWN ": cannot open: No such file or directory\n",
	   "check: shows the name of a manifest on one line, without ESC");
	is_int(status, 1, "check: a missing manifest fails");
	return tap_done();
}
