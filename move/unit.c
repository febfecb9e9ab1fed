/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "base/subprocess.h"

#define STOP_SECONDS 60
#define RESTORE_PROGRAM "nodeos-vnode-restore"

/*
 * Start the program of ARGV without the caller's descriptors of the connection. Returns its pid, or
 * -1.
 */
static pid_t start_apart(const char *const *argv, struct errbuf *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid < 0 ? errprintf(err, "%s: %s", argv[0], strerror(errno)) : pid;
}

pid_t move_unit_start(const char *unit, struct errbuf *err)
{
	char program[PROGRAM_PATH_MAX];
	const char *argv[] = { program, "start", unit, NULL };

	if (!program_find("systemctl", program))
		return errprintf(err, "%s is missing", program);
	return start_apart(argv, err);
}

pid_t move_unit_bare(const struct move_site *s, struct errbuf *err)
{
	char self[PROGRAM_PATH_MAX];
	const char *argv[] = { self,	     "--bare",	   "--run",  s->places.run_dir,
			       "--state",    s->state_dir, "--conf", s->places.conf_dir,
			       s->conf.name, NULL };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - sizeof(RESTORE_PROGRAM));

	if (n <= 0)
		return errprintf(err, "/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	strcpy(strrchr(self, '/') + 1, RESTORE_PROGRAM);
	return start_apart(argv, err);
}

void move_unit_stop(const char *unit)
{
	char program[PROGRAM_PATH_MAX], *text = NULL;
	const char *argv[] = { program, "stop", unit, NULL };
	struct subprocess p = { .argv = argv,
				.uid = (uid_t)-1,
				.extra_fd = -1,
				.join_stderr = true,
				.timeout = STOP_SECONDS,
				.output_max = 4096 };
	struct errbuf ignored;

	if (program_find("systemctl", program))
		(void)subprocess_run(&p, &text, &ignored);
	free(text);
}
