/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/child.h"

#define VIRTIOFSD "/usr/libexec/virtiofsd"

/*
 * Make a listening socket and a socket that is connected to it. The name of the first is in a
 * directory that other users cannot enter, and is removed at once.
 */
static int make_listener(int *listener, int *connected, struct errbuf *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/nodeos-guest.XXXXXX";
	int rc = -1;

	*listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*listener >= 0 && *connected >= 0 && mkdtemp(dir)) {
		snprintf(name.sun_path, sizeof(name.sun_path), "%s/files", dir);
		if (bind(*listener, (struct sockaddr *)&name, sizeof(name)) == 0 &&
		    listen(*listener, 1) == 0)
			rc = connect(*connected, (struct sockaddr *)&name, sizeof(name));
		if (rc < 0)
			errprintf(err, "a socket for virtiofsd: %s", strerror(errno));
		unlink(name.sun_path);
		rmdir(dir);
	} else {
		errprintf(err, "a socket for virtiofsd: %s", strerror(errno));
	}
	return rc;
}

pid_t guest_files_start(int *fd, const char *path, struct errbuf *err)
{
	char option[32];
	const char *words[] = {
		path ? path : VIRTIOFSD,   "--shared-dir=/",	"--sandbox=none", "--cache=auto",
		"--no-announce-submounts", "--log-level=error", option,		  NULL
	};
	pid_t pid = -1;
	int listener;

	if (access(words[0], X_OK) < 0) {
		*fd = -1;
		return errprintf(err, "%s: %s (Debian's package virtiofsd, from 13 on)", words[0],
				 strerror(errno));
	}
	if (make_listener(&listener, fd, err) == 0) {
		snprintf(option, sizeof(option), "--fd=%d", listener);
		pid = child_start((char *const *)words, &listener, 1, err);
	}
	if (listener >= 0)
		close(listener);
	if (pid < 0 && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return pid;
}
