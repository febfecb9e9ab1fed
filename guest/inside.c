/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/inside.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/textfile.h"
#include "guest/agent/frames.h"
#include "guest/cpio.h"
#include "guest/modules.h"

#define FILE_MAX (16u << 20) /* bytes of the agent, or of a module */
#define LIST_MAX (8u << 20) /* bytes of modules.builtin and modules.dep */
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

/* The modules of a kernel that its guest needs to reach the host's files. */
struct drivers {
	char directory[PATH_MAX]; /* of the kernel's modules */
	char *dep; /* the text of modules.dep; NULL: not read */
	struct guest_modules list;
};

static int read_list(char **text, const char *directory, const char *name, struct errbuf *err)
{
	char path[PATH_MAX + 32];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return textfile_read(text, &len, path, LIST_MAX, err);
}

/* Find those of the needed drivers that are modules. Refuse a kernel that lacks a driver. */
static int find_drivers(struct drivers *d, const char *kernel, const char *modules,
			struct errbuf *err)
{
	char release[RELEASE_MAX], *builtin;
	int rc = 0;

	if (find_release(release, kernel, err) < 0)
		return -1;
	if (modules)
		snprintf(d->directory, sizeof(d->directory), "%s", modules);
	else
		snprintf(d->directory, sizeof(d->directory), "/lib/modules/%s", release);
	if (read_list(&builtin, d->directory, "modules.builtin", err) < 0)
		return -1;
	for (unsigned i = 0; rc == 0 && needed[i]; i++) {
		if (guest_kernel_has(builtin, needed[i]))
			continue;
		if (!d->dep)
			rc = read_list(&d->dep, d->directory, "modules.dep", err);
		if (rc == 0 && guest_modules_add(&d->list, d->dep, needed[i]) < 0)
			rc = errprintf(err,
				       "kernel %s (%s) has %s neither built in nor as a module",
				       release, kernel, needed[i]);
	}
	free(builtin);
	return rc;
}

/* Put a file of the host into the archive, under another name. */
static int put_file(FILE *f, const char *name, const char *path, struct errbuf *err)
{
	struct cpio_entry entry = { .name = name, .mode = S_IFREG | 0755 };
	char *data;

	if (textfile_read(&data, &entry.size, path, FILE_MAX, err) < 0)
		return -1;
	entry.data = data;
	cpio_put(f, &entry);
	free(data);
	return 0;
}

/* Put the modules into the archive. Their names are numbers in the order of loading. */
static int put_drivers(FILE *f, const struct drivers *d, struct errbuf *err)
{
	static const struct cpio_entry directory = { .name = "modules", .mode = S_IFDIR | 0755 };
	char name[32], path[2 * PATH_MAX];

	if (d->list.n)
		cpio_put(f, &directory);
	for (unsigned i = 0; i < d->list.n; i++) {
		const struct guest_module_path *p = &d->list.path[i];

		snprintf(name, sizeof(name), "modules/%02u", i);
		snprintf(path, sizeof(path), "%s/%.*s", d->directory, (int)p->length, p->text);
		if (put_file(f, name, path, err) < 0)
			return -1;
	}
	return 0;
}

static int put_initrd(FILE *f, const char *agent, const struct drivers *d, struct errbuf *err)
{
	static const struct cpio_entry fixed[] = {
		{ .name = "dev", .mode = S_IFDIR | 0755 },
		{ .name = "dev/console", .mode = S_IFCHR | 0600, .major = 5, .minor = 1 },
	};

	for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		cpio_put(f, &fixed[i]);
	if (put_file(f, "init", agent, err) < 0 || put_drivers(f, d, err) < 0)
		return -1;
	cpio_end(f);
	return ferror(f) ? errprintf(err, "initrd: %s", strerror(errno)) : 0;
}

static int make_initrd(const char *agent, const struct drivers *d, struct errbuf *err)
{
	int fd = memfd_create("nodeos-guest-initrd", MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : dup(fd), rc;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	rc = f ? put_initrd(f, agent, d, err) : errprintf(err, "initrd: %s", strerror(errno));
	if (f && fclose(f) != 0 && rc == 0)
		rc = errprintf(err, "initrd: %s", strerror(errno));
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
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
	struct drivers drivers = { .dep = NULL };
	struct utsname host;

	if (program->kernel)
		image->kernel = strdup(program->kernel);
	else if (uname(&host) < 0 || asprintf(&image->kernel, "/boot/vmlinuz-%s", host.release) < 0)
		image->kernel = NULL;
	if (!image->kernel)
		return errprintf(err, "out of memory");
	*initrd_fd = -1;
	if (find_drivers(&drivers, image->kernel, program->modules, err) == 0)
		*initrd_fd = make_initrd(program->agent, &drivers, err);
	free(drivers.dep);
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

#define LIMITS_TEXT (RLIM_NLIMITS * 48)

static void list_limits(char text[LIMITS_TEXT])
{
	size_t used = 0;

	*text = '\0';
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
			used += (size_t)snprintf(text + used, LIMITS_TEXT - used, "%d %llu %llu ",
						 i, (unsigned long long)limit.rlim_cur,
						 (unsigned long long)limit.rlim_max);
	}
}

/*
 * Set variables for a client of PMIx: it can neither map the memory of its server, which is outside
 * of the guest, nor ask munge.
 */
static void set_client_of_pmix(void)
{
	if (!getenv("PMIX_NAMESPACE"))
		return;
	setenv("PMIX_MCA_gds", "hash", 0);
	setenv("PMIX_MCA_psec", "native", 0);
}

long guest_program_start(unsigned char **out, char *const *argv, const char *cpus,
			 struct errbuf *err)
{
	char host[HOST_NAME_MAX + 1] = "", directory[PATH_MAX], limits[LIMITS_TEXT];
	mode_t mask = umask(0);
	struct agent_start start = {
		.uid = getuid(),
		.gid = getgid(),
		.umask = mask,
		.host = host,
		.directory = directory,
		.cpus = (char *)cpus,
		.limits = limits,
		.argv = (char **)argv,
	};
	uint32_t *group;
	long n = -1;

	umask(mask);
	*out = NULL;
	list_limits(limits);
	set_client_of_pmix();
	start.env = environ;
	if (gethostname(host, sizeof(host) - 1) < 0 || !getcwd(directory, sizeof(directory)) ||
	    own_groups(&start, &group) < 0)
		return errprintf(err,
				 "cannot read the host's name, the working directory or the "
				 "groups: %s",
				 strerror(errno));
	n = agent_start_pack(out, &start);
	free(group);
	return n < 0 ? errprintf(err,
				 "the program's arguments and environment are longer than "
				 "%u bytes",
				 FRAME_START_MAX)
		     : n;
}
