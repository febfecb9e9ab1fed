/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection of mover and receiver: images of files, and a hostile other end. */
#include "move/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static int from_dir, to_dir;

static void put(int dir, const char *name, const void *data, size_t len)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		bail("%s", name);
	close(fd);
}

/* The other end writes TEXT of LEN bytes and ends. */
static void hear_from(struct wire *w, const char *text, size_t len)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    write(pair[1], text, len) != (ssize_t)len)
		bail("socketpair");
	close(pair[1]);
	wire_open(w, pair[0], pair[0], 5);
}

static void send_and_take(void)
{
	struct wire a, b;
	struct errbuf err = { 0 };
	char line[WIRE_LINE_MAX], *big = malloc(3000000), *back = malloc(3000000);
	struct stat st;
	int pair[2], fd;
	pid_t child;

	for (unsigned i = 0; i < 3000000; i++)
		big[i] = (char)(i * 7 + i / 251);
	put(from_dir, "pages-1.img", big, 3000000);
	put(from_dir, "empty.img", "", 0);
	put(from_dir, "nodeos-record", "record", 6);
	put(from_dir, "nodeos-held", "12", 2);
	put(from_dir, "dump.log", "log", 3);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		bail("socketpair");
	child = fork();
	if (child == 0) {
		wire_open(&a, pair[0], pair[0], 10);
		_exit(wire_send_image(&a, from_dir, NULL, NULL) < 0 ||
		      wire_say(&a, NULL, "after\nit") < 0);
	}
	close(pair[0]);
	wire_open(&b, pair[1], pair[1], 10);
	is_int(wire_hear(&b, line, &err), 0, "image: a line announces it");
	is(line, "image 3 3000006", "image: logs and notes of the source are not sent");
	is_int(wire_take_image(&b, line, to_dir, 3000006, &err), 0, "image: arrives %s", err.text);
	fd = openat(to_dir, "pages-1.img", O_RDONLY);
	ok(fd >= 0 && read(fd, back, 3000000) == 3000000 && memcmp(big, back, 3000000) == 0,
	   "image: three million bytes are the same");
	ok(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0600, "image: only root can read it");
	close(fd);
	is_int(wire_hear(&b, line, &err), 0, "a line after the image arrives");
	is(line, "after it", "a newline in a line becomes a blank");
	is_int(wire_hear(&b, line, &err), 1, "the end of the connection is reported");
	waitpid(child, NULL, 0);
	free(big);
	free(back);
}

static void refuse(const char *what, const char *head, const char *text, uint64_t max)
{
	struct errbuf err = { 0 };
	struct wire w;

	hear_from(&w, text, strlen(text));
	is_int(wire_take_image(&w, head, to_dir, max, &err), -1, "refused: %s: %s", what, err.text);
	close(w.in);
}

static void hostile(void)
{
	char line[WIRE_LINE_MAX], *longest = malloc(100000);
	struct errbuf err = { 0 };
	struct wire w;

	put(to_dir, "there.img", "x", 1);
	if (symlinkat("/tmp/nodeos-target", to_dir, "link.img") < 0)
		bail("symlink");
	refuse("a name with a slash", "image 1 1", "1 ../x.img\nx", 10);
	refuse("a name that begins with a dot", "image 1 1", "1 .x\nx", 10);
	refuse("a note of the gate", "image 1 1", "1 nodeos-go\nx", 10);
	refuse("a log", "image 1 1", "1 restore.log\nx", 10);
	refuse("a file twice", "image 2 2", "1 there.img\nx", 10);
	refuse("a file through a link", "image 1 1", "1 link.img\nx", 10);
	refuse("more than was announced to the host", "image 1 11", "11 a.img\nxxxxxxxxxxx", 10);
	refuse("a file that is larger than the image", "image 1 1", "2 a1.img\nxx", 10);
	refuse("files that are smaller than the image", "image 1 2", "1 a2.img\nx", 10);
	refuse("an end in the middle", "image 1 9", "9 a3.img\nx", 10);
	refuse("a word in place of a number", "image x 1", "1 a4.img\nx", 10);
	refuse("too many files", "image 4000000000 1", "1 a5.img\nx", 10);
	memset(longest, 'x', 100000);
	hear_from(&w, longest, 100000);
	is_int(wire_hear(&w, line, &err), -1, "a line without an end is refused: %s", err.text);
	close(w.in);
	hear_from(&w, "ok\0no\n", 6);
	is_int(wire_hear(&w, line, &err), -1, "a line with a NUL is refused: %s", err.text);
	close(w.in);
	hear_from(&w, "half", 4);
	is_int(wire_hear(&w, line, &err), -1,
	       "an end of the connection within a line is an error: %s", err.text);
	close(w.in);
	free(longest);
}

static void patience(void)
{
	char line[WIRE_LINE_MAX];
	struct errbuf err = { 0 };
	struct wire w;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		bail("socketpair");
	wire_open(&w, pair[0], pair[0], 1);
	is_int(wire_hear(&w, line, &err), -1, "no answer within the limit is an error: %s",
	       err.text);
}

int main(void)
{
	int top = open(scratch_make(), O_RDONLY | O_DIRECTORY);

	signal(SIGPIPE, SIG_IGN);
	if (mkdirat(top, "from", 0700) < 0 || mkdirat(top, "to", 0700) < 0)
		bail("mkdir");
	from_dir = openat(top, "from", O_RDONLY | O_DIRECTORY);
	to_dir = openat(top, "to", O_RDONLY | O_DIRECTORY);
	send_and_take();
	hostile();
	patience();
	return tap_done();
}
