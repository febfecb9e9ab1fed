/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/words.h"
#include "inventory/record.h"

#define PLACE_MAX 96 /* bytes of a description: "descriptor 18446744073709551615 of process ..." */

static const char *describe_file(char buf[PLACE_MAX], const struct move_file *f)
{
	static const char *const what[] = {
		[MOVE_EXE] = "executable", [MOVE_CWD] = "directory", [MOVE_ROOT] = "root directory"
	};

	if (f->what == MOVE_FD)
		snprintf(buf, PLACE_MAX, "descriptor %" PRIu64 " of process %d", f->at, f->pid);
	else if (f->what == MOVE_MAP)
		snprintf(buf, PLACE_MAX, "mapping %" PRIx64 " of process %d", f->at, f->pid);
	else
		snprintf(buf, PLACE_MAX, "%s of process %d", what[f->what], f->pid);
	return buf;
}

static int report_file(const struct move_file *f, struct errbuf *err, const char *reason)
{
	char place[PLACE_MAX], path[WORD_QUOTE_MAX];

	return errprintf(err, "%s, %s: %s", describe_file(place, f),
			 word_quote(path, f->path, strlen(f->path)), reason);
}

/* The number in "socket:[123]" changes; the name in "anon_inode:[eventpoll]" does not. */
static bool same_kind(const char *a, const char *b)
{
	size_t n = strcspn(a, ":");

	if (strncmp(a, "anon_inode:", 11) == 0)
		return strcmp(a, b) == 0;
	return strncmp(a, b, n) == 0 && b[n] == a[n];
}

/* Return NULL, or how B, the restored file, differs from A. */
static const char *differs(const struct move_file *a, const struct move_file *b)
{
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		return "it is of another kind now";
	if (a->place != b->place)
		return "it is in another file system now";
	if (a->place == MOVE_NOWHERE)
		return same_kind(a->path, b->path) ? NULL : "it is of another kind now";
	if (strcmp(a->mount, b->mount) != 0)
		return "it is in another file system now";
	if (strcmp(a->path, b->path) != 0 || a->deleted != b->deleted)
		return "it has another path now";
	if (a->uid != b->uid)
		return "it has another owner now";
	if (a->place == MOVE_SHARED && a->inode != b->inode)
		return "it is another file now";
	if (a->place == MOVE_HOST && (a->mode != b->mode || a->device != b->device ||
				      (S_ISREG(a->mode) && a->size != b->size)))
		return "the host has another file there";
	if (a->device != b->device)
		return "it is another device now";
	return NULL;
}

/* Return whether file B comes before A in the order of a sorted record. */
static bool is_before(const struct move_file *b, const struct move_file *a)
{
	if (b->pid != a->pid)
		return b->pid < a->pid;
	if (b->what != a->what)
		return b->what < a->what;
	return a->what == MOVE_MAP ? b->end <= a->at : b->at < a->at;
}

/* Compare A with AFTER's files from number J on; file J is the first that is not before A. */
static int compare_file(const struct move_file *a, const struct move_record *after, size_t j,
			struct errbuf *err)
{
	uint64_t at = a->at;

	do {
		const struct move_file *b = &after->file[j];
		const char *reason;

		if (j == after->files || b->pid != a->pid || b->what != a->what || b->at > at ||
		    (a->what != MOVE_MAP && b->at != at))
			return report_file(a, err, "it was not restored");
		reason = differs(a, b);
		if (reason)
			return report_file(a, err, reason);
		at = b->end;
		j++;
	} while (a->what == MOVE_MAP && at < a->end);
	return 0;
}

int move_record_compare(const struct move_record *before, const struct move_record *after,
			struct errbuf *err)
{
	size_t j = 0;

	for (size_t i = 0; i < before->files; i++) {
		const struct move_file *a = &before->file[i];

		while (j < after->files && is_before(&after->file[j], a))
			j++;
		if (compare_file(a, after, j, err) < 0)
			return -1;
	}
	return 0;
}

/* Refuse a scheduling policy that CRIU does not restore (criu/cr-restore.c: prep_sched_info). */
static int check_thread(const struct move_thread *t, struct errbuf *err)
{
	static const char *const word[] = { [6] = "deadline", [7] = "ext" };

	switch (t->policy) {
	case 0: /* SCHED_OTHER */
	case 1: /* SCHED_FIFO */
	case 2: /* SCHED_RR */
	case 3: /* SCHED_BATCH */
	case 5: /* SCHED_IDLE */
		return 0;
	default:
		return errprintf(
			err,
			"thread %d of process %d has the scheduling policy %u%s%s%s, which "
			"CRIU cannot restore",
			t->tid, t->pid, t->policy, t->policy == 6 || t->policy == 7 ? " (" : "",
			t->policy == 6 || t->policy == 7 ? word[t->policy] : "",
			t->policy == 6 || t->policy == 7 ? ")" : "");
	}
}

/* Return why the kernel's object PATH, which has no path in a file system, cannot be moved, or
 * NULL. */
static const char *refuse_object(const char *path)
{
	static const struct {
		const char *name, *reason;
	} refused[] = {
		{ "anon_inode:[perf_event]", "counters of the processor cannot be moved" },
		{ "anon_inode:kvm", "virtual machines of KVM cannot be moved" },
		{ "anon_inode:[io_uring]", "io_uring cannot be moved" },
		{ "anon_inode:[userfaultfd]", "userfaultfd cannot be moved" },
		{ "anon_inode:[fanotify]", "fanotify cannot be moved" },
		{ "anon_inode:bpf", "BPF programs and maps cannot be moved" },
		{ "anon_inode:[infiniband", "RDMA cannot be moved" },
		{ "anon_inode:[uverbs", "RDMA cannot be moved" },
		{ "anon_inode:[rdma", "RDMA cannot be moved" },
		{ "anon_inode:dmabuf", "buffers of a GPU cannot be moved" },
		{ "anon_inode:sync_file", "buffers of a GPU cannot be moved" },
		{ "anon_inode:i915", "a GPU cannot be moved" },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strncmp(path, refused[i].name, strlen(refused[i].name)) == 0)
			return refused[i].reason;
	return NULL;
}

/*
 * Return why the device F cannot be moved, or NULL. PLAIN: devices without a state that every host
 * has (major << 8 | minor, both below 256).
 */
static const char *refuse_device(const struct move_file *f)
{
	static const unsigned plain[] = { 0x103, 0x105, 0x107, 0x108, 0x109, 0x500, 0x502 };

	for (size_t i = 0; S_ISCHR(f->mode) && i < sizeof(plain) / sizeof(*plain); i++)
		if (f->device == plain[i])
			return NULL;
	if (f->device >> 8 == 136 && f->place == MOVE_OWN) /* a terminal of the vnode's devpts */
		return NULL;
	if (strstr(f->path, "infiniband"))
		return "RDMA cannot be moved";
	if (strstr(f->path, "nvidia") || strstr(f->path, "/dri/") || strstr(f->path, "/kfd"))
		return "a GPU cannot be moved";
	if (strstr(f->path, "/kvm"))
		return "virtual machines of KVM cannot be moved";
	return "this device cannot be moved";
}

static int check_file(const struct move_file *f, struct errbuf *err)
{
	const char *reason = NULL;

	if (f->place == MOVE_NOWHERE)
		reason = refuse_object(f->path);
	else if (S_ISCHR(f->mode) || S_ISBLK(f->mode))
		reason = refuse_device(f);
	else if (f->deleted && f->place != MOVE_OWN)
		reason = "it was removed or renamed: CRIU would have to write into its directory, "
			 "as root";
	return reason ? report_file(f, err, reason) : 0;
}

int move_record_check(const struct move_record *r, struct errbuf *err)
{
	for (size_t i = 0; i < r->threads; i++)
		if (check_thread(&r->thread[i], err) < 0)
			return -1;
	for (size_t i = 0; i < r->files; i++)
		if (check_file(&r->file[i], err) < 0)
			return -1;
	return 0;
}
