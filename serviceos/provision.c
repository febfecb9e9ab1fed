/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/provision.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hexmask.h"
#include "base/proc.h"
#include "serviceos/journal.h"
#include "serviceos/quiet.h"
#include "serviceos/state.h"
#include "serviceos/units.h"
#include "serviceos/users.h"

/* exists while systemd must still be notified of written or removed drop-ins */
#define PENDING "serviceos.pending"

#define ROUNDS 10

/*
 * the reason if sched_setaffinity() fails with EINVAL: the cgroup of the process has none of these
 * CPUs (systemctl set-property)
 */
static const char held[] = "its cgroup has none of these CPUs (AllowedCPUs of its unit): remove "
			   "that setting, or name the unit in serviceos_except";

struct run {
	struct provision *p;
	const struct service_items *in;
	bool again; /* a later round: the first has reported what cannot be changed */
	struct undo undo;
	struct errbuf *err;
	/* defaults of new threads and IRQs before provision; "": not known */
	char old_threads[ITEM_TEXT_MAX], old_irqs[ITEM_TEXT_MAX];
	struct idset online;
	char possible[ITEM_TEXT_MAX]; /* all possible CPUs; "": possible and online are not known */
};

static struct run *run_new(struct provision *p, const struct service_items *in, struct errbuf *err)
{
	struct run *r = calloc(1, sizeof(*r));
	char online[ITEM_TEXT_MAX];
	struct errbuf ignored;

	if (!r) {
		errprintf(err, "out of memory");
		return NULL;
	}
	p->changed = p->fixed = p->held = 0;
	p->waiting = false;
	r->p = p;
	r->in = in;
	r->err = err;
	if (file_read(p->root, "sys/devices/system/cpu/online", online, sizeof(online), &ignored) >=
		    0 &&
	    idset_parse(&r->online, online, &ignored) == 0)
		service_all(p->root, "/cpuset.cpus", r->possible);
	return r;
}

static int provision_fail(struct run *r, const char *path)
{
	return errprintf(r->err, "/%s: %s", path, strerror(errno));
}

static int set_pending(struct run *r)
{
	int fd = openat(r->p->dir, PENDING, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errprintf(r->err, PENDING ": %s", strerror(errno));
	close(fd);
	return 0;
}

static int tell_systemd(struct run *r)
{
	if (r->p->dry || faccessat(r->p->dir, PENDING, F_OK, 0) < 0)
		return 0;
	if (r->p->reload(r->err) < 0)
		return -1;
	if (unlinkat(r->p->dir, PENDING, 0) < 0)
		return errprintf(r->err, PENDING ": %s", strerror(errno));
	return 0;
}

/* Make the parent directories of the file PATH. */
static int make_dirs(struct run *r, const char *path)
{
	char part[ITEM_NAME_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (faccessat(r->p->root, part, F_OK, 0) == 0)
			continue;
		if (undo_note(&r->undo, UNDO_DIR, part, "", r->err) < 0)
			return -1;
		if (mkdirat(r->p->root, part, 0755) < 0 && errno != EEXIST)
			return provision_fail(r, part);
	}
	return 0;
}

/* Open the directory of PATH; *NAME is the last part of PATH. */
static int open_dir_of(struct run *r, const char *path, const char **name)
{
	char dir[ITEM_NAME_MAX];
	const char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	return openat(r->p->root, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ------------------------------------------------------------------ users' memory */

/* Is LINE about memory nodes? systemd applies AllowedMemoryNodes= to live units, too. */
static bool is_memory_line(const char *line)
{
	return strncmp(line, "AllowedMemoryNodes=", 19) == 0 || strncmp(line, "NUMA", 4) == 0;
}

static bool is_other_line(const char *line)
{
	return !is_memory_line(line);
}

/* Return whether LINE may be in a drop-in with memory lines only. */
static bool is_head_or_memory_line(const char *line)
{
	return *line == '#' || *line == '[' || is_memory_line(line);
}

/* Append to OUT the lines of TEXT that WANTED accepts. */
static void pick_lines(char out[ITEM_TEXT_MAX], const char *text, bool (*wanted)(const char *line))
{
	size_t used = strlen(out);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (wanted(line) && used < ITEM_TEXT_MAX - 1)
			used += (size_t)snprintf(out + used, ITEM_TEXT_MAX - used, "%s%.*s",
						 used ? "\n" : "", (int)strcspn(line, "\n"), line);
}

static bool same_memory_lines(const char *a, const char *b)
{
	char lines[2][ITEM_TEXT_MAX] = { "", "" };

	pick_lines(lines[0], a, is_memory_line);
	pick_lines(lines[1], b, is_memory_line);
	return strcmp(lines[0], lines[1]) == 0;
}

/* Return whether the drop-ins that apply to all units of a type have memory lines. */
static bool units_have_memory_lines(const struct run *r)
{
	char text[ITEM_TEXT_MAX];
	struct errbuf ignored;

	return file_read(r->p->root, UNITS_DIR "/service.d/" UNITS_DROPIN, text, sizeof(text),
			 &ignored) >= 0 &&
	       !same_memory_lines(text, "");
}

/* Return whether IT is the drop-in of the users' slice. */
static bool is_of_users(const struct service_item *it)
{
	return it->kind == ITEM_DROPIN && strcmp(it->name, UNITS_USERS_DROPIN) == 0;
}

/*
 * Return whether IT is the drop-in that keeps the cpuset controller off in directories that users
 * own.
 */
static bool is_bar(const struct service_item *it)
{
	return it->kind == ITEM_DROPIN && strcmp(it->name, UNITS_BAR_DROPIN) == 0;
}

/*
 * Return whether IT must wait, since its change would change the memory nodes of users' processes.
 * PATH is IT's cgroup, "" for all; NULL for a drop-in, which systemd applies to every unit except
 * for exceptions.
 */
static bool waits_for_users(struct run *r, const struct service_item *it, const char *path)
{
	char who[SERVICE_WHO_MAX], why[SERVICE_WHO_MAX + 100];

	if (!service_user_in(r->in, path, who))
		return false;
	snprintf(why, sizeof(why), "%s at the next boot, or when users have logged out (%s)",
		 is_bar(it) ? "no cpusets" : "memory nodes", who);
	r->p->waiting = true;
	if (!r->again)
		r->p->cannot(it, why, r->p->arg);
	return true;
}

/* Return whether FILE is the last part of IT's path. */
static bool is_file(const struct service_item *it, const char *file)
{
	const char *slash = strrchr(it->name, '/');

	return slash && strcmp(slash + 1, file) == 0;
}

static bool cpuset_waits(struct run *r, const struct service_item *it)
{
	static const char mount[] = "sys/fs/cgroup";
	char path[ITEM_NAME_MAX];

	if (it->kind != ITEM_CPUSET || !is_file(it, "cpuset.mems"))
		return false;
	snprintf(path, sizeof(path), "%s", it->name + strlen(mount));
	*strrchr(path, '/') = '\0';
	return waits_for_users(r, it, path);
}

/* Return whether IT is the drop-in of an exempt unit, which overrides the drop-in of its type. */
static bool is_exception(const struct service_item *it)
{
	return is_file(it, UNITS_DROPIN) && !is_of_users(it) && !is_bar(it) &&
	       same_memory_lines(it->wanted, "") && same_memory_lines(it->found, "");
}

/*
 * Return whether the exception IT of a unit must not be made or removed now. While the drop-ins for
 * all units of a type have memory lines, this would change the unit's memory nodes, and the unit
 * may hold processes of users: the unit of slurmd's scope holds all jobs.
 */
static bool exception_waits(struct run *r, const struct service_item *it)
{
	return is_exception(it) && units_have_memory_lines(r) && waits_for_users(r, it, "");
}

/*
 * Return whether IT, the drop-in of the users' slice, has memory lines that systemd has not applied
 * yet. systemd will apply them when the next session begins, and other users may be logged in then.
 */
static bool is_to_come(const struct run *r, const struct service_item *it)
{
	static const char file[] = "sys/fs/cgroup/" UNITS_USERS "/cpuset.mems";
	struct idset is;
	struct errbuf ignored;
	char text[IDSET_LIST_MAX];

	if (!is_of_users(it) || same_memory_lines(it->found, ""))
		return false;
	if (file_read(r->p->root, file, text, sizeof(text), &ignored) < 0)
		return true;
	text[strcspn(text, "\n")] = '\0';
	return idset_parse(&is, text, &ignored) < 0 || idset_empty(&is) ||
	       !idset_subset(&is, &r->in->set->mems);
}

static bool has_cpusets(const struct run *r, const char *slice)
{
	char path[ITEM_NAME_MAX], text[256];
	struct errbuf ignored;

	return (size_t)snprintf(path, sizeof(path),
				"sys/fs/cgroup/" UNITS_USERS "/%s/cgroup.subtree_control",
				slice) < sizeof(path) &&
	       file_read(r->p->root, path, text, sizeof(text), &ignored) >= 0 &&
	       strstr(text, "cpuset");
}

/*
 * Return whether adding or removing the drop-in that keeps the cpuset controller off must wait:
 * systemd would switch the controller off above a user's processes, which moves all of them.
 */
static bool bar_waits(struct run *r, const struct service_item *it)
{
	struct dirent **entry = NULL;
	char path[ITEM_NAME_MAX];
	bool rc = false;
	int n;

	if (!is_bar(it))
		return false;
	n = scandirat(r->p->root, "sys/fs/cgroup/" UNITS_USERS, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/" UNITS_USERS "/%.255s", entry[i]->d_name);
		if (!rc && strncmp(entry[i]->d_name, "user-", 5) == 0 &&
		    has_cpusets(r, entry[i]->d_name))
			rc = waits_for_users(r, it, path);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

/*
 * Write the text that the drop-in IT can have now: as wanted, except that memory lines stay as
 * found while they wait, and memory lines that systemd has not applied are removed. "": the drop-in
 * can have no line now.
 */
static void dropin_text(struct run *r, const struct service_item *it, char text[ITEM_TEXT_MAX])
{
	bool to_come = is_to_come(r, it);

	*text = '\0';
	if ((!it->there && exception_waits(r, it)) || bar_waits(r, it))
		return;
	if ((same_memory_lines(it->wanted, it->found) && !to_come) ||
	    !waits_for_users(r, it, NULL)) {
		strcpy(text, it->wanted);
		return;
	}
	pick_lines(text, it->wanted, is_other_line);
	if (!to_come)
		pick_lines(text, it->found, is_memory_line);
}

/* -------------------------------------------------------------------------------- */

static int write_dropin(struct run *r, const struct service_item *it, const char *wanted)
{
	char text[ITEM_TEXT_MAX + 1];
	const char *name;
	int dir, rc;

	if (set_pending(r) < 0 || make_dirs(r, it->name) < 0 ||
	    (!it->there && undo_note(&r->undo, UNDO_FILE, it->name, "", r->err) < 0))
		return -1;
	if (it->there && !undo_find(&r->undo, UNDO_FILE, it->name))
		return errprintf(
			r->err,
			"/%s exists and was not made by nodeosctl provision: remove it first",
			it->name);
	dir = open_dir_of(r, it->name, &name);
	if (dir < 0)
		return provision_fail(r, it->name);
	snprintf(text, sizeof(text), "%s\n", wanted);
	rc = file_replace(dir, name, text, 0644, r->err);
	close(dir);
	return rc < 0 ? errwrap(r->err, "/%s", it->name) : 0;
}

static enum undo_kind provision_kind_of(const struct service_item *it)
{
	return it->kind == ITEM_THREAD ? UNDO_THREAD : UNDO_MASK;
}

/*
 * Return the value that restores IT. A thread that may run on every online CPU has no restriction
 * of its own, so it may run on all possible CPUs (in a cpuset the kernel shows no offline CPU).
 */
static const char *value_before(const struct run *r, const struct service_item *it)
{
	struct errbuf ignored;
	struct idset cpus;

	if (it->kind == ITEM_THREAD && *r->possible &&
	    idset_parse(&cpus, it->found, &ignored) == 0 && idset_subset(&r->online, &cpus))
		return r->possible;
	return it->found;
}

static int set_item(struct run *r, const struct service_item *it)
{
	if (!it->open &&
	    undo_note(&r->undo, provision_kind_of(it), it->name, value_before(r, it), r->err) < 0)
		return -1;
	if (service_item_set(r->p->root, it, it->wanted, r->err) == 0)
		return undo_find(&r->undo, UNDO_FIXED, it->name)
			       ? undo_note(&r->undo, UNDO_FIXED, it->name, "", r->err)
			       : 0;
	/* a failure of one item must not prevent the change of others */
	return undo_note(&r->undo, UNDO_FIXED, it->name,
			 it->process && errno == EINVAL ? held : strerror(errno), r->err) < 0
		       ? -1
		       : 1;
}

static void tell_fixed(struct run *r, const struct service_item *it, const char *why)
{
	if (strcmp(why, held) == 0)
		r->p->held += it->pid == it->process;
	else
		r->p->fixed++;
	if (!r->again)
		r->p->cannot(it, why, r->p->arg);
}

/*
 * Return whether the last provision changed IT. Then unprovision restores it, and the next
 * provision changes it again.
 */
static bool was_changed(const struct run *r, const struct service_item *it)
{
	const struct undo_line *l = undo_find(
		&r->undo, it->kind == ITEM_DROPIN ? UNDO_FILE : provision_kind_of(it), it->name);

	return l && (it->kind == ITEM_DROPIN || strcmp(l->text, value_before(r, it)) != 0);
}

static int apply_item(const struct service_item *it, void *arg)
{
	struct run *r = arg;
	const struct undo_line *fixed = undo_find(&r->undo, UNDO_FIXED, it->name);
	static char text[ITEM_TEXT_MAX];
	bool as_new = r->p->as_new && was_changed(r, it);
	int rc = 0;

	if (it->kind != ITEM_DROPIN && tell_systemd(r) < 0)
		return -1;
	/* these two drop-ins may have lines that must be removed again */
	if (it->ok && !as_new && !is_of_users(it) && !is_bar(it))
		return 0;
	/* an earlier refusal of the kernel may have been temporary */
	if (it->fixed || (fixed && *fixed->text && r->p->dry)) {
		tell_fixed(r, it, fixed ? fixed->text : service_item_fixed(it));
		return 0;
	}
	if (it->kind == ITEM_DROPIN) {
		dropin_text(r, it, text);
		if (strcmp(text, it->found) == 0 && !(it->ok && as_new))
			return 0;
	} else if (cpuset_waits(r, it)) {
		return 0;
	}
	if (!r->p->dry)
		rc = it->kind == ITEM_DROPIN ? write_dropin(r, it, text) : set_item(r, it);
	if (rc < 0)
		return -1;
	if (rc > 0) {
		fixed = undo_find(&r->undo, UNDO_FIXED, it->name);
		if (!fixed)
			return errprintf(r->err,
					 "%s: the journal has lost the line about this item",
					 it->name);
		tell_fixed(r, it, fixed->text);
		return 0;
	}
	r->p->changed++;
	r->p->say(it, it->kind == ITEM_DROPIN ? text : it->wanted, r->p->arg);
	return 0;
}

static int note_item(const struct service_item *it, void *arg)
{
	struct run *r = arg;

	return it->fixed || it->open || it->kind == ITEM_DROPIN
		       ? 0
		       : undo_note(&r->undo, provision_kind_of(it), it->name, value_before(r, it),
				   r->err);
}

/*
 * Record every value before the first change: later, an item that happens to have our value could
 * not be distinguished from a new item that has it by our defaults.
 */
static int note_all(struct run *r, const struct service_items *in)
{
	if (faccessat(r->p->root, UNITS_DIR "/service.d/" UNITS_DROPIN, F_OK,
		      AT_SYMLINK_NOFOLLOW) == 0)
		return errprintf(r->err,
				 "/" UNITS_DIR "/service.d/" UNITS_DROPIN
				 " exists, and %s has no journal of an earlier provision: restore "
				 "the state_dir with which the node was provisioned; if the "
				 "journal is lost, reboot the node",
				 r->p->conf->state_dir);
	if (service_each_item(in, note_item, r, r->err) != 0)
		return -1;
	return undo_note(&r->undo, UNDO_COMPLETE, "", "", r->err);
}

static int remove_file(struct run *r, const char *path)
{
	char tmp[ITEM_NAME_MAX];
	const char *name;
	int dir = open_dir_of(r, path, &name);

	if (dir < 0)
		return errno == ENOENT ? 0 : provision_fail(r, path);
	snprintf(tmp, sizeof(tmp), ".%.300s.new", name);
	unlinkat(dir, tmp, 0); /* left over from a run that was killed */
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT) {
		provision_fail(r, path);
		close(dir);
		return -1;
	}
	close(dir);
	return 0;
}

/*
 * Remove the file that line L of the journal names, if it exists, except for memory lines that must
 * wait.
 */
static int take_away(struct run *r, const struct undo_line *l)
{
	static struct service_item it;
	static char text[ITEM_TEXT_MAX];
	struct errbuf ignored;
	bool rest;

	memset(&it, 0, sizeof(it));
	it.kind = ITEM_DROPIN;
	it.there = faccessat(r->p->root, l->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	snprintf(it.name, sizeof(it.name), "%s", l->name);
	strcpy(it.label, "a unit's exception or default");
	if (file_read(r->p->root, l->name, it.found, sizeof(it.found), &ignored) > 0)
		it.found[strlen(it.found) - 1] = '\0';
	if (it.there && (exception_waits(r, &it) || (is_bar(&it) && units_have_memory_lines(r) &&
						     waits_for_users(r, &it, NULL))))
		return 0;
	rest = it.there && !same_memory_lines(it.found, "") && waits_for_users(r, &it, NULL);
	if (rest) {
		*text = '\0';
		pick_lines(text, it.found, is_head_or_memory_line);
		if (strcmp(text, it.found) == 0)
			return 0;
	}
	if (it.there) {
		r->p->changed++;
		r->p->say(&it, rest ? text : NULL, r->p->arg);
	}
	if (r->p->dry)
		return 0;
	if (rest)
		return write_dropin(r, &it, text);
	return set_pending(r) < 0 ? -1 : remove_file(r, l->name);
}

/*
 * Call FN for every item until a round changes nothing: a thread outside of the ServiceOS may have
 * started another thread there.
 */
static int each_round(struct run *r, const struct service_items *in,
		      int (*fn)(const struct service_item *it, void *arg))
{
	struct provision *p = r->p;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned had = p->changed;

		p->fixed = p->held = 0;
		if (service_each_item(in, fn, r, r->err) != 0)
			return -1;
		if (p->changed == had || p->dry)
			return 0;
		r->again = true;
	}
	p->unsettled = true;
	return 0;
}

struct search {
	const char *name;
	bool found;
};

static int is_it(struct service_item *it, void *arg)
{
	struct search *s = arg;

	s->found |= strcmp(it->name, s->name) == 0;
	return 0;
}

/* Remove drop-ins of an earlier nodeos.conf that the present one does not want. */
static int remove_stale(struct run *r, const struct service_items *in)
{
	for (unsigned i = 0; i < r->undo.n; i++) {
		const struct undo_line *l = r->undo.line[i];
		struct search s = { l->name, false };

		if (l->kind != UNDO_FILE)
			continue;
		if (service_each_unit(in, is_it, &s) < 0)
			return -1;
		if (s.found || faccessat(r->p->root, l->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (take_away(r, l) < 0)
			return -1;
	}
	return 0;
}

int provision_apply(struct provision *p, struct errbuf *err)
{
	struct service_items in = { p->root, &p->set, p->conf };
	struct run *r = run_new(p, &in, err);
	struct errbuf ignored;
	bool fresh;
	int rc = 0;

	if (!r)
		return -1;
	if (undo_open(&r->undo, p->dir, p->dry ? UNDO_READ : UNDO_MAKE, err) < 0) {
		free(r);
		return -1;
	}
	fresh = !p->dry && !undo_find(&r->undo, UNDO_COMPLETE, "");
	if (fresh) {
		const struct idset none = { { 0 } };

		/*
		 * first put back what live partitions have changed: the journal records the state
		 * without them
		 */
		rc = quiet_return(p->root, p->dir, &none, err);
		rc = rc == 0 ? note_all(r, &in) : rc;
	}
	if (rc == 0 && !p->dry) {
		rc = p->save(p, err);
		if (rc < 0 && fresh)
			/* nothing has changed yet: the next run records the values again */
			undo_remove(&r->undo, &ignored);
	}
	if (rc == 0)
		rc = remove_stale(r, &in);
	if (rc == 0)
		rc = each_round(r, &in, apply_item);
	if (rc == 0)
		rc = tell_systemd(r);
	undo_close(&r->undo);
	free(r);
	return rc < 0 ? -1 : 0;
}

/* --------------------------------------------------------------------------- undo */

/* Remove the files and notify systemd first, so that nothing new is confined during the restore. */
static int remove_files(struct run *r)
{
	const struct undo_line *bar = undo_find(&r->undo, UNDO_FILE, UNITS_BAR_DROPIN);

	for (unsigned i = r->undo.n; i-- > 0;) {
		const struct undo_line *l = r->undo.line[i];

		if (l->kind == UNDO_FILE && strcmp(l->name, UNITS_BAR_DROPIN) != 0 &&
		    take_away(r, l) < 0)
			return -1;
	}
	/* last in any case: without it, the other drop-ins would turn the controller on */
	if (bar && take_away(r, bar) < 0)
		return -1;
	for (unsigned i = r->undo.n; i-- > 0 && !r->p->dry;) {
		const struct undo_line *l = r->undo.line[i];

		/* a directory that we made stays while it holds a file of another program */
		if (l->kind == UNDO_DIR && unlinkat(r->p->root, l->name, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
			return provision_fail(r, l->name);
	}
	return tell_systemd(r);
}

/*
 * A cgroup with processes cannot get an empty cpuset again: give it everything that it can hold,
 * which means the same.
 */
static int set_all(struct run *r, const struct service_item *it)
{
	char all[ITEM_TEXT_MAX];

	service_all(r->p->root, it->name, all);
	return service_item_set(r->p->root, it, all, r->err);
}

static int put_back(struct run *r, const struct service_item *it, const char *text)
{
	int rc = service_item_set(r->p->root, it, text, r->err);

	return rc < 0 && errno == ENOSPC && it->kind == ITEM_CPUSET ? set_all(r, it) : rc;
}

/*
 * Return whether IT has the value TEXT again. A cgroup that cannot get its empty cpuset back has
 * everything instead.
 */
static bool is_back(const struct run *r, const struct service_item *it, const char *text)
{
	char all[ITEM_TEXT_MAX];
	struct errbuf ignored;
	struct idset is, most;

	if (strcmp(value_before(r, it), text) == 0)
		return true;
	if (it->kind != ITEM_CPUSET || *text)
		return false;
	service_all(r->p->root, it->name, all);
	return idset_parse(&is, it->found, &ignored) == 0 &&
	       idset_parse(&most, all, &ignored) == 0 && idset_equal(&is, &most);
}

static int restore(struct run *r, const struct service_item *it, const char *text)
{
	if (is_back(r, it, text) || cpuset_waits(r, it))
		return 0;
	if (!r->p->dry && put_back(r, it, text) < 0) {
		tell_fixed(r, it, strerror(errno));
		return 0;
	}
	r->p->changed++;
	r->p->say(it, text, r->p->arg);
	return 0;
}

/*
 * Return the affinity that a new thread would have without provision: that of its process if the
 * process is older than provision, otherwise that of PID 1. NULL: unknown.
 */
static const char *old_affinity(const struct run *r, int process)
{
	struct process_facts p;
	const struct undo_line *l;
	char name[48];

	snprintf(name, sizeof(name), "%d", process);
	if (process_identify(&p, r->p->root, name) < 0)
		return NULL;
	snprintf(name, sizeof(name), "%d %" PRIu64, p.pid, p.number);
	l = undo_find(&r->undo, UNDO_THREAD, name);
	if (l)
		return l->text;
	return *r->old_threads ? r->old_threads : NULL;
}

/*
 * Return the former default of an item made after provision, which the present defaults put into
 * the ServiceOS.
 */
static const char *old_default(const struct run *r, const struct service_item *it)
{
	if (strcmp(it->found, it->wanted) != 0)
		return NULL;
	if (it->kind == ITEM_CPUSET)
		return "";
	if (it->kind == ITEM_THREAD)
		/* the kernel starts its own threads on all CPUs */
		return it->process ? old_affinity(r, it->process) : NULL;
	return it->kind == ITEM_LIST && strncmp(it->name, "proc/irq/", 9) == 0 && *r->old_irqs
		       ? r->old_irqs
		       : NULL;
}

static int undo_item(const struct service_item *it, void *arg)
{
	struct run *r = arg;
	const struct undo_line *l = undo_find(&r->undo, provision_kind_of(it), it->name);
	const char *text = l ? l->text : old_default(r, it);

	if (it->kind == ITEM_DROPIN || it->open || it->fixed || !text)
		return 0;
	return restore(r, it, text);
}

static void find_old_defaults(struct run *r)
{
	const struct undo_line *irqs =
		undo_find(&r->undo, UNDO_MASK, "proc/irq/default_smp_affinity");
	struct errbuf ignored;
	struct idset set;

	if (irqs && hexmask_parse(&set, irqs->text, &ignored) == 0)
		idset_format(&set, r->old_irqs, sizeof(r->old_irqs));
	for (unsigned i = 0; i < r->undo.n; i++) {
		const struct undo_line *l = r->undo.line[i];

		if (l->kind != UNDO_THREAD)
			continue;
		if (strncmp(l->name, "1 ", 2) == 0) /* PID 1, from which daemons inherit */
			snprintf(r->old_threads, sizeof(r->old_threads), "%s", l->text);
	}
}

static int undo_cpus(const struct service_item *it, void *arg)
{
	return it->kind == ITEM_CPUSET && is_file(it, "cpuset.cpus") ? undo_item(it, arg) : 0;
}

static int undo_all(struct run *r)
{
	struct provision *p = r->p;

	find_old_defaults(r);
	/*
	 * Without its drop-ins systemd may switch the cpuset controller off above live units. That
	 * moves their processes, and if their CPUs change by this, the kernel waits for the address
	 * space of each (doc/HACKING.md).
	 */
	r->again = true; /* the rounds report what remains */
	if (!p->dry && service_each_item(r->in, undo_cpus, r, r->err) != 0)
		return -1;
	r->again = false;
	if (remove_files(r) < 0 || each_round(r, r->in, undo_item) < 0)
		return -1;
	if (p->dry)
		return 0;
	if (p->waiting)
		return errprintf(
			r->err, "users' processes keep their memory nodes (--verbose shows them): "
				"run this command again when the users have logged out, or reboot");
	if (p->fixed)
		return errprintf(r->err,
				 "%u item%s could not be put back (--verbose shows them): run this "
				 "command again",
				 p->fixed, p->fixed == 1 ? "" : "s");
	if (!p->keep_state && unlinkat(p->dir, SERVICE_STATE_FILE, 0) < 0 && errno != ENOENT)
		return errprintf(r->err, SERVICE_STATE_FILE ": %s", strerror(errno));
	return undo_remove(&r->undo, r->err);
}

int provision_undo(struct provision *p, struct errbuf *err)
{
	struct conf conf = *p->conf;
	struct service_items in = { p->root, &p->set, &conf };
	struct run *r = run_new(p, &in, err);
	bool lost;
	int rc;

	/* ignore the present exceptions: provision may have run with others */
	conf.service_except[0] = '\0';
	if (!r)
		return -1;
	rc = undo_open(&r->undo, p->dir, p->dry ? UNDO_READ : UNDO_WRITE, err);
	lost = rc == 1 || (rc == 0 && !undo_find(&r->undo, UNDO_COMPLETE, ""));
	if (rc == 0 && !lost)
		rc = undo_all(r);
	else if (lost && faccessat(p->root, UNITS_DIR "/service.d/" UNITS_DROPIN, F_OK,
				   AT_SYMLINK_NOFOLLOW) == 0)
		rc = errprintf(err,
			       "/" UNITS_DIR "/service.d/" UNITS_DROPIN
			       " exists, and %s has no journal of an earlier provision: restore "
			       "the state_dir with which the node was provisioned; if the journal "
			       "is lost, reboot the node",
			       p->conf->state_dir);
	else if (rc == 0)
		rc = undo_remove(&r->undo, err) < 0 ? -1 : 1; /* nothing has changed yet */
	undo_close(&r->undo);
	free(r);
	return rc;
}
