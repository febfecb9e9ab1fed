/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONF_CONTENTION_H
#define NODEOS_HOST_CONF_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/conf_lines.h"
#include "base/errbuf.h"
#include "base/fileio.h"
#include "manifest/contention_name.h"

#define CONF_EVENTS_MAX CONF_LINE_MAX /* bytes of a row of events with the final NUL */
#define CONF_USER_MAX 64 /* bytes of a user's name with the final NUL */

/* contention_when: when ranks are placed. */
enum contention_when {
	CONTENTION_WHEN_CONTENDED, /* only in domains whose misses are near their peak */
	CONTENTION_WHEN_ALWAYS,
};

/*
 * contention_pages: whether pages follow ranks that move. Each move of pages makes all CPUs of the
 * host empty their LRU lists.
 */
enum contention_pages {
	CONTENTION_PAGES_AUTO, /* not while a container of another job has quiet CPUs */
	CONTENTION_PAGES_ALWAYS,
	CONTENTION_PAGES_NEVER,
};

/* Keys contention_NAME of nodeos.conf. */
struct conf_contention {
	/* policy of containers whose request has none; never CONTENTION_UNSET */
	enum contention_policy policy;
	bool all_steps; /* contention_steps = all: observe steps without a container, too */
	char source[DIR_PATH_MAX + 8]; /* auto, perf, none, replay:FILE */
	/* a row for events_row_parse() in place of that in events.d; "": none */
	char events[CONF_EVENTS_MAX];
	/* contention_count = user: the work of ranks inside the kernel is not counted */
	bool user_only;
	unsigned interval, interval_quiet; /* seconds; defaults 1 and 30 */
	/* as in struct classify_conf, with the same ranges */
	unsigned turtle, devil, delta, window, majority;
	/* directory of node_exporter's textfile collector; "": none */
	char metrics_dir[DIR_PATH_MAX];
	char report_dir[DIR_PATH_MAX]; /* of files for nodeosctl contention collect; "": none */
	/* user that writes these files: a name, or a number as id(1) prints it; "": root */
	char report_user[CONF_USER_MAX];
	unsigned report_interval; /* seconds; default 60 */
	enum contention_when when;
	unsigned busy; /* percent of a domain's peak above which there is contention */
	unsigned min_move; /* least number of seconds between two moves of a rank; default 10 */
	enum contention_pages pages;
	unsigned page_rate; /* MiB in a second, for all workers together */
	/* number of pages around a sampled miss that follow their rank; 0: all pages of the rank */
	unsigned pages_around;
	bool record; /* collect writes AdminComment and SystemComment */
	bool node_extra; /* collect writes Extra of nodes */
};

/* Return whether the LEN bytes of TEXT are a value of contention_source. */
bool conf_contention_is_source(const char *text, size_t len);
/* Return whether TEXT is a value of contention_events: printable ASCII. It is not parsed. */
bool conf_contention_is_events(const char *text, size_t len);
/*
 * Return whether TEXT is a value of the keys contention_NAME_dir: a safe path (conf_path_is_safe())
 * that is not below a directory of the kernel or one in which every user may create files.
 */
bool conf_contention_is_dir(const char *text, size_t len);

/*
 * Return whether the LEN bytes of TEXT are an absolute printable path other than "/", shorter than
 * DIR_PATH_MAX, without blanks and without the components "", "." and "..".
 */
bool conf_path_is_safe(const char *text, size_t len);

/*
 * Check keys that depend on each other. Returns 0, or -1 with the two keys in KEYS and, in ERR, the
 * fault of the first key's value.
 */
int conf_contention_check(const struct conf_contention *c, const char *keys[2], struct errbuf *err);

struct conf;
struct request;
struct requested_container;

/* Return the policy of a container: its own, or the site's. Never CONTENTION_UNSET. */
enum contention_policy contention_of_container(const struct requested_container *ask,
					       const struct conf_contention *conf);

/*
 * Return whether the ranks of container NAME of R are observed in a step without option
 * --nodeos-contention. Without a request (R NULL), and for ranks outside of all containers (NAME
 * NULL or ""), the answer is the one for steps without a container.
 */
bool request_is_observed(const struct request *r, const char *name, const struct conf *conf);

#endif
