/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"

/* options of QEMU whose values the guest sees */
static const char *const seen[] = { "-machine", "-cpu", "-smp", "-m", "-numa", "-device", NULL };

static bool is_seen(const char *word)
{
	for (const char *const *s = seen; *s; s++)
		if (strcmp(word, *s) == 0)
			return true;
	return false;
}

char *guest_saved_shape(char *const *words)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (char *const *w = words; w[0] && w[1]; w++)
		if (is_seen(w[0]))
			fprintf(f, "%s %s\n", w[0], w[1]);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* Find VALUE of the first line "KEY : VALUE" in TEXT, of /proc/cpuinfo. VALUE ends at a newline. */
static const char *cpu_value(const char *text, const char *key)
{
	const char *line = strstr(text, key), *colon = line ? strchr(line, ':') : NULL;

	return colon && colon[1] ? colon + 2 : "";
}

int guest_saved_processor(char **out, struct errbuf *err)
{
	char text[16384];
	uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a hash of the features */
	int n = file_read_head("/proc/cpuinfo", text, sizeof(text) - 1);
	const char *model;

	if (n <= 0)
		return errprintf(err, "/proc/cpuinfo: %s", strerror(errno));
	text[n] = '\0';
	for (const char *c = cpu_value(text, "\nflags"); *c && *c != '\n'; c++)
		sum = (sum ^ (unsigned char)*c) * UINT64_C(1099511628211);
	model = cpu_value(text, "\nmodel name");
	if (asprintf(out, "%.*s, features %016" PRIx64, (int)strcspn(model, "\n"), model, sum) < 0)
		return errprintf(err, "out of memory");
	return 0;
}

static int look_at_disk_file(int64_t *bytes, int64_t *changed, const char *path, struct errbuf *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	*bytes = st.st_size;
	*changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 0;
}

int guest_saved_look_at_disk(struct guest_saved *s, const struct guest_image *image,
			     struct errbuf *err)
{
	s->disk_bytes = s->disk_changed = 0;
	return image->disk ? look_at_disk_file(&s->disk_bytes, &s->disk_changed, image->disk, err)
			   : 0;
}

static void put_member_text(struct json_object *to, const char *key, const char *value)
{
	if (value)
		json_object_object_add(to, key, json_object_new_string(value));
}

/* Add the absolute name of the file VALUE, or VALUE itself if there is no such file. */
static void put_file_name(struct json_object *to, const char *key, const char *value)
{
	char *name = value ? realpath(value, NULL) : NULL;

	put_member_text(to, key, name ? name : value);
	free(name);
}

char *guest_saved_format(const struct guest_saved *s)
{
	struct json_object *all = json_object_new_object(), *image = json_object_new_object();
	char *text;

	put_file_name(image, "kernel", s->image.kernel);
	put_file_name(image, "initrd", s->image.initrd);
	put_member_text(image, "append", s->image.append);
	put_file_name(image, "disk", s->image.disk);
	put_file_name(image, "iso", s->image.iso);
	json_object_object_add(all, "image", image);
	json_object_object_add(all, "memory", json_object_new_int64((int64_t)s->memory));
	json_object_object_add(all, "emulated", json_object_new_boolean(s->emulated));
	put_member_text(all, "qemu", s->qemu);
	put_member_text(all, "processor", s->processor);
	put_member_text(all, "shape", s->shape);
	json_object_object_add(all, "disk_bytes", json_object_new_int64(s->disk_bytes));
	json_object_object_add(all, "disk_changed", json_object_new_int64(s->disk_changed));
	text = strdup(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
	return text;
}

/* Return the member KEY of OBJECT, NULL if it is missing or not of TYPE. */
static struct json_object *typed_member(struct json_object *object, const char *key,
					enum json_type type)
{
	struct json_object *value;

	if (json_object_is_type(object, json_type_object) &&
	    json_object_object_get_ex(object, key, &value) && json_object_is_type(value, type))
		return value;
	return NULL;
}

static char *copy_member_text(struct json_object *object, const char *key)
{
	struct json_object *value = typed_member(object, key, json_type_string);

	return value ? strdup(json_object_get_string(value)) : NULL;
}

static int64_t copy_number(struct json_object *object, const char *key)
{
	struct json_object *value = typed_member(object, key, json_type_int);

	return value ? json_object_get_int64(value) : -1;
}

int guest_saved_parse(struct guest_saved *out, const char *text, struct errbuf *err)
{
	struct json_object *all = json_tokener_parse(text);
	struct json_object *image = typed_member(all, "image", json_type_object);
	struct json_object *emulated = typed_member(all, "emulated", json_type_boolean);
	char *version = copy_member_text(all, "qemu");
	bool whole;

	*out = (struct guest_saved){
		.image = {
			.kernel = copy_member_text(image, "kernel"),
			.initrd = copy_member_text(image, "initrd"),
			.append = copy_member_text(image, "append"),
			.disk = copy_member_text(image, "disk"),
			.iso = copy_member_text(image, "iso"),
		},
		.memory = (uint64_t)copy_number(all, "memory"),
		.emulated = json_object_get_boolean(emulated),
		.processor = copy_member_text(all, "processor"),
		.shape = copy_member_text(all, "shape"),
		.disk_bytes = copy_number(all, "disk_bytes"),
		.disk_changed = copy_number(all, "disk_changed"),
	};
	if (version)
		snprintf(out->qemu, sizeof(out->qemu), "%s", version);
	whole = image && emulated && version && out->processor && out->shape &&
		(int64_t)out->memory > 0 && out->disk_bytes >= 0 && out->disk_changed >= 0;
	free(version);
	json_object_put(all);
	return whole ? 0 : errprintf(err, "its head does not describe a guest");
}

/* Check that the files of the image exist and that the disk has not changed since the save. */
static int check_files(const struct guest_saved *s, struct errbuf *err)
{
	const char *const name[] = { s->image.kernel, s->image.initrd, s->image.iso };
	struct guest_saved now = { 0 };

	for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (name[i] && access(name[i], R_OK) < 0)
			return errprintf(err, "the guest's file %s: %s", name[i], strerror(errno));
	if (guest_saved_look_at_disk(&now, &s->image, err) < 0)
		return errwrap(err, "the guest's disk");
	if (now.disk_bytes == s->disk_bytes && now.disk_changed == s->disk_changed)
		return 0;
	return errprintf(err,
			 "the guest's disk %s has changed since the guest was saved, so the "
			 "guest's memory does not fit the disk",
			 s->image.disk);
}

static int read_head(struct guest_saved *out, int fd, struct errbuf *err)
{
	char *text = malloc(SAVED_HEAD + 1);
	size_t used = 0;
	ssize_t n = 1;
	int rc;

	if (!text)
		return errprintf(err, "out of memory");
	while (used < SAVED_HEAD && (n = read(fd, text + used, SAVED_HEAD - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	if (n < 0)
		rc = errprintf(err, "%s", strerror(errno));
	else if (used < SAVED_HEAD || strncmp(text, SAVED_MARK, strlen(SAVED_MARK)) != 0)
		rc = errprintf(err, "no saved guest, or one whose save was interrupted");
	else
		rc = guest_saved_parse(out, text + strlen(SAVED_MARK), err);
	free(text);
	return rc;
}

int guest_saved_open(struct guest_saved *out, const char *path, struct errbuf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return errprintf(err, "%s: %s", path, strerror(errno));
	if (read_head(out, fd, err) == 0 && check_files(out, err) == 0)
		return fd;
	close(fd);
	return errwrap(err, "%s", path);
}

/* Report the first line that differs between THEN and NOW. Returns -1. */
static int refuse_shape(const char *then, const char *now, struct errbuf *err)
{
	while (*then && *now) {
		size_t n = strcspn(then, "\n"), m = strcspn(now, "\n");

		if (n != m || strncmp(then, now, n) != 0)
			break;
		then += n + (then[n] == '\n');
		now += m + (now[m] == '\n');
	}
	return errprintf(err,
			 "the guest was saved with \"%.*s\", and would get \"%.*s\" here: restore "
			 "it on as many CPUs and memory nodes as before, with the same topology",
			 (int)strcspn(then, "\n"), then, (int)strcspn(now, "\n"), now);
}

int guest_saved_compare(const struct guest_saved *s, char *const *words, struct errbuf *err)
{
	char *shape = guest_saved_shape(words), *processor = NULL;
	int rc = 0;

	if (!shape)
		return errprintf(err, "out of memory");
	if (strcmp(s->shape, shape) != 0)
		rc = refuse_shape(s->shape, shape, err);
	else if (!s->emulated && guest_saved_processor(&processor, err) < 0)
		rc = -1;
	else if (!s->emulated && strcmp(s->processor, processor) != 0)
		rc = errprintf(err, "the guest was saved on processor \"%s\", and this is \"%s\"",
			       s->processor, processor);
	free(shape);
	free(processor);
	return rc;
}

void guest_saved_free(struct guest_saved *s)
{
	guest_image_free(&s->image);
	free(s->processor);
	free(s->shape);
	s->processor = s->shape = NULL;
}

static void __attribute__((noreturn)) feed(int from, int to)
{
	static char buf[1u << 16];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write_all(to, buf, (size_t)n) < 0)
			break; /* QEMU has ended, and prints the reason itself */
	_exit(n != 0);
}

int guest_saved_feed(int file, pid_t *feeder, struct errbuf *err)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return errprintf(err, "socketpair: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		if (getppid() == parent)
			feed(file, pair[1]);
		_exit(1);
	}
	close(pair[1]);
	*feeder = pid;
	if (pid > 0)
		return pair[0];
	close(pair[0]);
	return errprintf(err, "fork: %s", strerror(errno));
}
