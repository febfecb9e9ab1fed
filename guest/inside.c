/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/inside.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/textfile.h"
#include "guest/agent/frames.h"
#include "guest/cpio.h"

#define AGENT_MAX (16u << 20)
#define BUILTIN_MAX (1u << 20)
#define RELEASE_MAX 128
#define HEAD_MAX (64u << 10) /* bytes of a bzImage in which its version is */
#define HEAD_MAGIC 0x202 /* Documentation/arch/x86/boot.rst: "HdrS", then versions */
#define HEAD_VERSION 0x20e
#define HEAD_BEGIN 0x200

static const char *const needed[] = { "virtio_pci", "virtiofs", "virtio_console", NULL };

int guest_kernel_release(char *buf, size_t size, const unsigned char *head, size_t n)
{
	size_t at, used = 0;

	if (n < HEAD_VERSION + 2 || memcmp(head + HEAD_MAGIC, "HdrS", 4) != 0)
		return -1;
	at = HEAD_BEGIN + head[HEAD_VERSION] + ((size_t)head[HEAD_VERSION + 1] << 8);
	while (at < n && head[at] > ' ' && head[at] < 0x7f && head[at] != '/' && used + 1 < size)
		buf[used++] = (char)head[at++];
	buf[used] = '\0';
	return used && at < n && head[at] == ' ' ? 0 : -1;
}

static bool is_module(const char *name, const char *word, size_t n)
{
	if (strlen(name) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((word[i] == '-' ? '_' : word[i]) != name[i])
			return false;
	return true;
}

bool guest_kernel_has(const char *builtin, const char *name)
{
	while (*builtin) {
		size_t line = strcspn(builtin, "\n"), begin = line, end;

		while (begin && builtin[begin - 1] != '/')
			begin--;
		end = begin;
		while (end < line && builtin[end] != '.')
			end++;
		if (is_module(name, builtin + begin, end - begin))
			return true;
		builtin += line + (builtin[line] == '\n');
	}
	return false;
}

static int find_release(char release[RELEASE_MAX], const char *kernel, struct errbuf *err)
{
	unsigned char *head = malloc(HEAD_MAX);
	int n = head ? file_read_head(kernel, (char *)head, HEAD_MAX) : -1, rc = 0;

	if (n < 0)
		rc = errprintf(err, "kernel %s: %s", kernel, strerror(errno));
	else if (guest_kernel_release(release, RELEASE_MAX, head, (size_t)n) < 0)
		rc = errprintf(err, "kernel %s: not a bzImage of Linux", kernel);
	free(head);
	return rc;
}

/* The guest has no modules: is all that it needs in the kernel itself? */
static int check_guest_kernel(const char *kernel, const char *modules, struct errbuf *err)
{
	char release[RELEASE_MAX], path[PATH_MAX], *text;
	size_t len;
	int rc = 0;

	if (find_release(release, kernel, err) < 0)
		return -1;
	if (modules)
		snprintf(path, sizeof(path), "%s/modules.builtin", modules);
	else
		snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin", release);
	if (textfile_read(&text, &len, path, BUILTIN_MAX, err) < 0)
		return -1;
	for (unsigned i = 0; rc == 0 && needed[i]; i++)
		if (!guest_kernel_has(text, needed[i]))
			rc = errprintf(err, "kernel %s (%s) does not have %s built in", release,
				       kernel, needed[i]);
	free(text);
	return rc;
}

static int make_initrd(const char *agent, struct errbuf *err)
{
	static const struct cpio_entry fixed[] = {
		{ .name = "dev", .mode = S_IFDIR | 0755 },
		{ .name = "dev/console", .mode = S_IFCHR | 0600, .major = 5, .minor = 1 },
	};
	struct cpio_entry init = { .name = "init", .mode = S_IFREG | 0755 };
	char *data;
	int fd, copy;
	bool bad;
	FILE *f;

	if (textfile_read(&data, &init.size, agent, AGENT_MAX, err) < 0)
		return -1;
	init.data = data;
	fd = memfd_create("nodeos-guest-initrd", MFD_CLOEXEC);
	copy = fd < 0 ? -1 : dup(fd);
	f = copy < 0 ? NULL : fdopen(copy, "w");
	for (unsigned i = 0; f && i < sizeof(fixed) / sizeof(fixed[0]); i++)
		cpio_put(f, &fixed[i]);
	if (f)
		cpio_put(f, &init);
	if (f)
		cpio_end(f);
	bad = f && ferror(f);
	if (!f || fclose(f) != 0 || bad) {
		errprintf(err, "initrd: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	free(data);
	return fd;
}

static char *make_append(const struct guest_shape *shape, bool ticks)
{
	char *text, quiet[64] = "";

	/* the first CPU keeps the time of all */
	if (!ticks && shape->cpus > 1)
		snprintf(quiet, sizeof(quiet), " nohz_full=1-%u rcu_nocbs=1-%u", shape->cpus - 1,
			 shape->cpus - 1);
	if (asprintf(&text, "console=ttyS0 panic=-1 quiet nowatchdog no_timer_check%s", quiet) < 0)
		return NULL;
	return text;
}

int guest_program_image(struct guest_image *image, int *initrd_fd,
			const struct guest_program *program, const struct guest_shape *shape,
			struct errbuf *err)
{
	struct utsname host;

	if (program->kernel)
		image->kernel = strdup(program->kernel);
	else if (uname(&host) < 0 || asprintf(&image->kernel, "/boot/vmlinuz-%s", host.release) < 0)
		image->kernel = NULL;
	if (!image->kernel)
		return errprintf(err, "out of memory");
	if (check_guest_kernel(image->kernel, program->modules, err) < 0)
		return -1;
	*initrd_fd = make_initrd(program->agent, err);
	if (*initrd_fd < 0)
		return -1;
	image->append = make_append(shape, program->ticks);
	if (asprintf(&image->initrd, "/proc/self/fd/%d", *initrd_fd) < 0)
		image->initrd = NULL;
	return image->append && image->initrd ? 0 : errprintf(err, "out of memory");
}

/* Fill *GROUP, which the caller frees, with this process's groups. */
static int own_groups(struct agent_start *start, uint32_t **group)
{
	int n = getgroups(0, NULL);
	gid_t *list = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*list));

	*group = list ? calloc((size_t)n + 1, sizeof(**group)) : NULL;
	n = *group ? getgroups(n, list) : -1;
	for (int i = 0; i < n; i++)
		(*group)[i] = list[i];
	free(list);
	start->groups = n < 0 ? 0 : (uint32_t)n;
	start->group = *group;
	return n < 0 ? -1 : 0;
}

long guest_program_start(unsigned char **out, const struct guest_program *program,
			 struct errbuf *err)
{
	char host[HOST_NAME_MAX + 1] = "", directory[PATH_MAX];
	mode_t mask = umask(0);
	struct agent_start start = {
		.uid = getuid(),
		.gid = getgid(),
		.umask = mask,
		.host = host,
		.directory = directory,
		.argv = (char **)program->argv,
		.env = environ,
	};
	uint32_t *group;
	long n = -1;

	umask(mask);
	*out = NULL;
	if (gethostname(host, sizeof(host) - 1) < 0 || !getcwd(directory, sizeof(directory)) ||
	    own_groups(&start, &group) < 0)
		return errprintf(err, "the working directory or the groups: %s", strerror(errno));
	n = agent_start_pack(out, &start);
	free(group);
	return n < 0 ? errprintf(err,
				 "the program's arguments and environment are longer than "
				 "%u bytes",
				 FRAME_START_MAX)
		     : n;
}
