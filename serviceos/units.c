/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serviceos/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/subprocess.h"

#define CGROUPS "sys/fs/cgroup"
#define HEAD "# Made by nodeosctl provision, removed by nodeosctl unprovision.\n"

static const struct {
	const char *type, *section;
} types[] = {
	{ "service", "Service" }, { "scope", "Scope" }, { "socket", "Socket" },
	{ "mount", "Mount" },	  { "swap", "Swap" },
};
#define UNIT_TYPES (sizeof(types) / sizeof(types[0]))

struct each {
	const struct service_items *in;
	int (*fn)(struct service_item *it, void *arg);
	void *arg;
	char possible[IDSET_LIST_MAX]; /* all possible CPUs */
	struct service_item it;
};

static int units_give(struct each *e, const char *label)
{
	e->it.kind = ITEM_DROPIN;
	snprintf(e->it.label, sizeof(e->it.label), "%s", label);
	return e->fn(&e->it, e->arg);
}

/* Begin the wanted text of E's item with the CPUs, in section SECTION. Returns its length. */
static size_t want_cpus(struct each *e, const char *section)
{
	char cpus[IDSET_LIST_MAX];

	idset_format(&e->in->set->cpus, cpus, sizeof(cpus));
	/* the empty assignment discards the unit's own setting */
	return (size_t)snprintf(e->it.wanted, sizeof(e->it.wanted),
				HEAD "[%s]\nAllowedCPUs=\nAllowedCPUs=%s", section, cpus);
}

/* Append the memory nodes to the wanted text, from USED on, if the ServiceOS has its own. */
static void want_mems(struct each *e, size_t used)
{
	char mems[IDSET_LIST_MAX];

	if (!e->in->set->own_mems)
		return;
	idset_format(&e->in->set->mems, mems, sizeof(mems));
	snprintf(e->it.wanted + used, sizeof(e->it.wanted) - used,
		 "\nAllowedMemoryNodes=\nAllowedMemoryNodes=%s", mems);
}

static int give_type(struct each *e, size_t type)
{
	size_t used = want_cpus(e, types[type].section);
	char label[64];

	snprintf(e->it.name, sizeof(e->it.name), UNITS_DIR "/%s.d/" UNITS_DROPIN, types[type].type);
	/*
	 * without this, a unit whose own affinity or policy lies outside of these CPUs would not
	 * start
	 */
	if (strcmp(types[type].type, "scope") != 0)
		used += (size_t)snprintf(
			e->it.wanted + used, sizeof(e->it.wanted) - used, "\nCPUAffinity=%s",
			e->in->set->own_mems ? "\nNUMAPolicy=default\nNUMAMask=" : "");
	want_mems(e, used);
	snprintf(label, sizeof(label), "every systemd %s", types[type].type);
	return units_give(e, label);
}

/*
 * Give the drop-ins for all sessions and managers of users. A manager (user@UID.service) is
 * delegated: its user owns the directory, and would own cpusets below it if the controller were on
 * in user-UID.slice; a unit with AllowedCPUs there turns it on. With cpusets of its own, a user
 * could change the memory nodes of a process that holds its address space locked, and hang the host
 * (doc/HACKING.md). The line that keeps the controller off in a slice also applies to the slice
 * itself, so user.slice must not have it.
 */
static int give_users(struct each *e)
{
	snprintf(e->it.name, sizeof(e->it.name), UNITS_BAR_DROPIN);
	snprintf(e->it.wanted, sizeof(e->it.wanted), HEAD "[Slice]\nDisableControllers=cpuset");
	if (units_give(e, "no cpusets of users") != 0)
		return -1;
	snprintf(e->it.name, sizeof(e->it.name), UNITS_USERS_DROPIN);
	want_mems(e, want_cpus(e, "Slice"));
	return units_give(e, "users' sessions");
}

/* Return whether the name UNIT of LEN bytes ends in ".TYPE". */
static bool ends_with_type(const char *unit, size_t len, const char *type)
{
	size_t n = strlen(type);

	return len > n + 1 && unit[len - n - 1] == '.' && memcmp(unit + len - n, type, n) == 0;
}

static int give_exempt(struct each *e, const char *unit, size_t len)
{
	const char *section = NULL;
	char label[128];

	if ((size_t)snprintf(e->it.name, sizeof(e->it.name), UNITS_DIR "/%.*s.d/" UNITS_DROPIN,
			     (int)len, unit) >= sizeof(e->it.name))
		return 0;
	/* children of PID 1 inherit its affinity; processes of a scope have another parent */
	for (size_t i = 0; i < UNIT_TYPES; i++)
		if (ends_with_type(unit, len, types[i].type) && strcmp(types[i].type, "scope") != 0)
			section = types[i].section;
	if (section && *e->possible)
		snprintf(e->it.wanted, sizeof(e->it.wanted), HEAD "[%s]\nCPUAffinity=%s", section,
			 e->possible);
	else
		snprintf(e->it.wanted, sizeof(e->it.wanted), HEAD "# %.*s may run everywhere.",
			 (int)len, unit);
	snprintf(label, sizeof(label), "all CPUs for %.*s", (int)len < 100 ? (int)len : 100, unit);
	return units_give(e, label);
}

static bool is_scope(const char *unit, size_t len)
{
	size_t n = strlen(UNITS_SCOPE);

	return len >= n && memcmp(unit + len - n, UNITS_SCOPE, n) == 0 &&
	       (len == n || unit[len - n - 1] == '_');
}

/*
 * Give the existing scopes of slurmstepd below the slice PATH, whatever name slurmd gives its node.
 */
static int give_live_scopes(struct each *e, const char *path, const char *known, unsigned depth)
{
	struct dirent **entry = NULL;
	int n = scandirat(e->in->root, path, &entry, NULL, alphasort), rc = 0;
	char below[ITEM_NAME_MAX];

	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;
		size_t len = strlen(name);

		if (rc == 0 && is_scope(name, len) && strcmp(name, known) != 0 &&
		    strcmp(name, UNITS_SCOPE) != 0)
			rc = give_exempt(e, name, len);
		else if (rc == 0 && depth < 8 && ends_with_type(name, len, "slice") &&
			 strcmp(name, "user.slice") != 0 && strcmp(name, "machine.slice") != 0 &&
			 (size_t)snprintf(below, sizeof(below), "%s/%s", path, name) <
				 sizeof(below))
			rc = give_live_scopes(e, below, known, depth + 1);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

/*
 * Give init.scope, slurmd and the possible scopes of slurmstepd. A slurmd that supports several
 * slurmds on a host (such as Debian's) names the scope after its node, which mostly has the host's
 * name.
 */
static int give_scopes(struct each *e)
{
	char host[256] = "", unit[300];

	/* systemd writes PID 1's own cpuset at once, and could not undo it */
	if (give_exempt(e, "init.scope", strlen("init.scope")) != 0 ||
	    give_exempt(e, UNITS_SLURMD, strlen(UNITS_SLURMD)) != 0 ||
	    give_exempt(e, UNITS_SCOPE, strlen(UNITS_SCOPE)) != 0)
		return -1;
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(unit, sizeof(unit), "%s_" UNITS_SCOPE, host);
	if (*host && give_exempt(e, unit, strlen(unit)) != 0)
		return -1;
	return give_live_scopes(e, CGROUPS, unit, 0);
}

static int give_irqbalance(struct each *e)
{
	struct idset banned;
	char list[IDSET_LIST_MAX];

	snprintf(e->it.name, sizeof(e->it.name),
		 UNITS_DIR "/irqbalance.service.d/nodeos-serviceos.conf");
	snprintf(e->it.wanted, sizeof(e->it.wanted),
		 HEAD "[Service]\nEnvironmentFile=-%s/irqbalance.env", e->in->conf->state_dir);
	if (units_give(e, "irqbalance") != 0)
		return -1;
	/* ban CPUs that may be added later, too */
	memset(&banned, 0xff, sizeof(banned));
	idset_andnot(&banned, &e->in->set->cpus);
	idset_format(&banned, list, sizeof(list));
	snprintf(e->it.name, sizeof(e->it.name), "%s/irqbalance.env", e->in->conf->state_dir + 1);
	snprintf(e->it.wanted, sizeof(e->it.wanted), "IRQBALANCE_BANNED_CPULIST=%s", list);
	return units_give(e, "irqbalance");
}

int service_each_unit(const struct service_items *in, int (*fn)(struct service_item *it, void *arg),
		      void *arg)
{
	static struct each e;
	struct errbuf ignored;
	const char *unit = in->conf->service_except;

	e = (struct each){ .in = in, .fn = fn, .arg = arg };
	if (file_read(in->root, "sys/devices/system/cpu/possible", e.possible, sizeof(e.possible),
		      &ignored) > 0)
		e.possible[strcspn(e.possible, "\n")] = '\0';
	/* exceptions come first: a reload in between confines no job */
	if (give_scopes(&e) != 0)
		return -1;
	while (*unit) {
		size_t len = strcspn(unit, " ");

		if (give_exempt(&e, unit, len) != 0)
			return -1;
		unit += len + (unit[len] == ' ');
	}
	/* this comes before the lines that would turn the controller on in the users' slices */
	if (give_users(&e) != 0)
		return -1;
	for (size_t i = 0; i < UNIT_TYPES; i++)
		if (give_type(&e, i) != 0)
			return -1;
	return give_irqbalance(&e);
}

/*
 * Find the unit of the system's own manager that PATH lies in: the first part that is not a slice.
 * Names that users choose in their managers or below their units do not count. Returns its length,
 * or 0.
 */
static size_t unit_of(const char *path, const char **unit)
{
	for (const char *part = path; *part == '/'; part += strcspn(part, "/")) {
		size_t len = strcspn(++part, "/");

		if (len > 6 && memcmp(part + len - 6, ".slice", 6) == 0) {
			/* a login or a machine may be named by the user that starts it */
			if ((len == 10 && memcmp(part, "user.slice", 10) == 0) ||
			    (len == 13 && memcmp(part, "machine.slice", 13) == 0))
				return 0;
			continue;
		}
		*unit = part;
		return len;
	}
	return 0;
}

const char *service_exempt(const char *path, const struct conf *conf)
{
	const char *unit;
	size_t len = unit_of(path, &unit);

	if (len == 0)
		return NULL;
	if (is_scope(unit, len) ||
	    (len == strlen(UNITS_SLURMD) && memcmp(unit, UNITS_SLURMD, len) == 0))
		return "Slurm's";
	for (const char *word = conf->service_except; *word;) {
		size_t n = strcspn(word, " ");

		if (n == len && memcmp(word, unit, n) == 0)
			return "serviceos_except";
		word += n + (word[n] == ' ');
	}
	return NULL;
}

/* ---------------------------------------------------------------------- cgroups */

static bool units_is_unit(const char *name)
{
	for (size_t i = 0; i < UNIT_TYPES; i++)
		if (ends_with_type(name, strlen(name), types[i].type))
			return true;
	return false;
}

static int give_cpuset(struct each *e, const char *path, const char *unit, const char *file,
		       const char *what)
{
	e->it.kind = ITEM_CPUSET;
	if ((size_t)snprintf(e->it.name, sizeof(e->it.name), "%s/%s", path, file) >=
	    sizeof(e->it.name))
		return 0;
	snprintf(e->it.label, sizeof(e->it.label), "%s of %.80s", what, unit);
	return e->fn(&e->it, e->arg);
}

static int give_cpusets(struct each *e, const char *path, const char *unit)
{
	int rc = give_cpuset(e, path, unit, "cpuset.cpus", "CPUs");

	return rc == 0 && e->in->set->own_mems
		       ? give_cpuset(e, path, unit, "cpuset.mems", "memory nodes")
		       : rc;
}

/*
 * Walk the units below PATH, a slice; cgroups inside of a unit, and those below the users' slice,
 * lie within its CPUs.
 */
static int units_walk(struct each *e, const char *path, unsigned depth)
{
	struct dirent **entry = NULL;
	int n = scandirat(e->in->root, path, &entry, NULL, alphasort), rc = 0;
	char below[ITEM_NAME_MAX];

	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;

		if (rc == 0 && is_scope(name, strlen(name)) &&
		    strcmp(path, CGROUPS "/user.slice") != 0 &&
		    strcmp(path, CGROUPS "/machine.slice") != 0 &&
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, name) < sizeof(below)) {
			/*
			 * an earlier provision did not know this scope's name, and confined the
			 * scope: undo that, or jobs would be confined to the ServiceOS
			 */
			e->it.open = true;
			rc = give_cpuset(e, below, name, "cpuset.cpus", "CPUs");
			if (rc == 0)
				rc = give_cpuset(e, below, name, "cpuset.mems", "memory nodes");
			e->it.open = false;
		} else if (rc != 0 ||
			   (size_t)snprintf(below, sizeof(below), "%s/%s", path, name) >=
				   sizeof(below) ||
			   service_exempt(below + strlen(CGROUPS), e->in->conf)) {
			; /* no unit of systemd, or too deep for a unit */
		} else if (units_is_unit(name)) {
			rc = give_cpusets(e, below, name);
		} else if (ends_with_type(name, strlen(name), "slice") && depth < 8) {
			if (strcmp(below, CGROUPS "/" UNITS_USERS) == 0)
				rc = give_cpusets(e, below, name);
			/* sessions may have cpusets where the controller was on before */
			if (rc == 0)
				rc = units_walk(e, below, depth + 1);
		}
		free(entry[i]);
	}
	free(entry);
	return rc;
}

int service_each_cgroup(const struct service_items *in,
			int (*fn)(struct service_item *it, void *arg), void *arg)
{
	static struct each e;

	e = (struct each){ .in = in, .fn = fn, .arg = arg };
	return units_walk(&e, CGROUPS, 0);
}

/* ----------------------------------------------------------------------- systemd */

static int run_systemctl(const char *const *argv, char **text, struct errbuf *err)
{
	struct subprocess h = {
		.argv = argv,
		.uid = (uid_t)-1,
		.extra_fd = -1,
		.join_stderr = true,
		.timeout = 120,
		.output_max = 1 << 16,
	};

	return subprocess_run(&h, text, err);
}

static int systemctl(const char *verb, const char *unit, struct errbuf *err)
{
	const char *argv[] = { "/usr/bin/systemctl", verb, unit, NULL };
	char *text = NULL;
	int status = run_systemctl(argv, &text, err);

	if (status > 0)
		errprintf(err, "systemctl %s%s%s failed: %.300s", verb, unit ? " " : "",
			  unit ? unit : "", text);
	free(text);
	return status == 0 ? 0 : -1;
}

bool service_unit_active(const char *unit)
{
	struct errbuf ignored;

	return systemctl("is-active", unit, &ignored) == 0;
}

bool service_unit_known(const char *unit)
{
	const char *argv[] = { "/usr/bin/systemctl", "show", "--property=LoadState", unit, NULL };
	struct errbuf ignored;
	char *text = NULL;
	bool known = run_systemctl(argv, &text, &ignored) != 0 || !text ||
		     !strstr(text, "LoadState=not-found");

	free(text);
	return known;
}

int service_units_reload(struct errbuf *err)
{
	struct errbuf ignored;

	if (systemctl("daemon-reload", NULL, err) < 0)
		return -1;
	/* most nodes have no irqbalance; if it does not start again, it moves no interrupts */
	if (service_unit_active("irqbalance.service"))
		systemctl("restart", "irqbalance.service", &ignored);
	return 0;
}
