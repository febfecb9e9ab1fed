/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/conf_contention.h"

#include <string.h>

#include "host/conf.h"
#include "manifest/request.h"

#define REPLAY "replay:"

/* Return whether the LEN bytes of TEXT are printable ASCII; BLANKS: blanks are allowed, too. */
static bool is_plain_text(const char *text, size_t len, bool blanks)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~' || (text[i] == ' ' && !blanks))
			return false;
	return len > 0;
}

static bool is_text(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}

bool conf_path_is_safe(const char *text, size_t len)
{
	if (len < 2 || len >= DIR_PATH_MAX || text[0] != '/' || !is_plain_text(text, len, false))
		return false;
	for (size_t at = 0; at < len;) {
		const char *part = text + ++at;
		const char *slash = memchr(part, '/', len - at);
		size_t n = slash ? (size_t)(slash - part) : len - at;

		if (n == 0 || is_text(part, n, ".") || is_text(part, n, ".."))
			return false;
		at += n;
	}
	return true;
}

bool conf_contention_is_dir(const char *text, size_t len)
{
	/* directories in which every user may create files, and directories of the kernel */
	static const char *const others[] = { "/tmp",	   "/var/tmp", "/dev/shm", "/dev/mqueue",
					      "/run/user", "/proc",    "/sys" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t n = strlen(others[i]);

		if (len >= n && memcmp(text, others[i], n) == 0 && (len == n || text[n] == '/'))
			return false;
	}
	return conf_path_is_safe(text, len);
}

bool conf_contention_is_source(const char *text, size_t len)
{
	size_t n = strlen(REPLAY);

	if (len > n && memcmp(text, REPLAY, n) == 0)
		return conf_path_is_safe(text + n, len - n);
	return is_text(text, len, "auto") || is_text(text, len, "perf") ||
	       is_text(text, len, "none");
}

bool conf_contention_is_events(const char *text, size_t len)
{
	return is_plain_text(text, len, true);
}

static int refuse_keys(const char *keys[2], const char *first, const char *second)
{
	keys[0] = first;
	keys[1] = second;
	return -1;
}

int conf_contention_check(const struct conf_contention *c, const char *keys[2], struct errbuf *err)
{
	if (c->turtle >= c->devil) {
		errprintf(err, "%u: expected a number below contention_devil, which is %u",
			  c->turtle, c->devil);
		return refuse_keys(keys, "contention_turtle", "contention_devil");
	}
	if (c->majority > c->window) {
		errprintf(err, "%u: expected at most contention_window, which is %u", c->majority,
			  c->window);
		return refuse_keys(keys, "contention_majority", "contention_window");
	}
	if (c->interval > c->interval_quiet) {
		errprintf(err, "%u: expected at most contention_interval_quiet, which is %u",
			  c->interval, c->interval_quiet);
		return refuse_keys(keys, "contention_interval", "contention_interval_quiet");
	}
	if (c->interval > c->report_interval) {
		errprintf(err, "%u: expected at most contention_report_interval, which is %u",
			  c->interval, c->report_interval);
		return refuse_keys(keys, "contention_interval", "contention_report_interval");
	}
	if (c->record && !*c->report_dir) {
		errprintf(err, "\"yes\" needs contention_report_dir, whose files are collected");
		return refuse_keys(keys, "contention_record", "contention_report_dir");
	}
	if (c->node_extra && !*c->report_dir) {
		errprintf(err, "\"yes\" needs contention_report_dir, whose files are collected");
		return refuse_keys(keys, "contention_node_extra", "contention_report_dir");
	}
	if (*c->report_user && !*c->report_dir) {
		errprintf(err, "\"%s\" needs contention_report_dir, to which this user writes",
			  c->report_user);
		return refuse_keys(keys, "contention_report_user", "contention_report_dir");
	}
	return 0;
}

enum contention_policy contention_of_container(const struct requested_container *ask,
					       const struct conf_contention *conf)
{
	return ask->contention != CONTENTION_UNSET ? ask->contention : conf->policy;
}

bool request_is_observed(const struct request *r, const char *name, const struct conf *conf)
{
	int i = r && name && *name ? request_find(r, name) : -1;

	if (i < 0)
		return contention_observes(conf->contention.policy) && conf->contention.all_steps;
	return contention_observes(contention_of_container(&r->container[i], &conf->contention));
}
