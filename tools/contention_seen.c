/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/contention_seen.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/textfile.h"

#define DOCUMENT_MAX (64u << 20) /* bytes */

double contention_scale(double rate)
{
	double at = rate > 0.1 ? log10(rate * 10) / log10(CONTENTION_RATE_MAX * 10) : 0;

	return at < 1 ? at : 1;
}

const char *seen_rank_label(char buf[64], const struct seen_step *s, const struct seen_rank *r)
{
	if (r->rank >= 0)
		snprintf(buf, 64, "%u.%.12s rank %d", s->job, s->step, r->rank);
	else
		snprintf(buf, 64, "%u.%.12s process %ld", s->job, s->step, r->pid);
	return buf;
}

/* ------------------------------------------------------------------- members of documents */

static struct json_object *seen_member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v)
		       ? v
		       : NULL;
}

static double seen_value(struct json_object *v)
{
	return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)
		       ? json_object_get_double(v)
		       : -1;
}

static double seen_number(struct json_object *o, const char *key)
{
	return seen_value(seen_member(o, key));
}

/* Return V as an int, or -1 if V is unknown. */
static int seen_small(struct json_object *v)
{
	return (int)fmax(fmin(seen_value(v), INT32_MAX), -1);
}

static unsigned seen_count(struct json_object *o, const char *key)
{
	double v = seen_number(o, key);

	return v > 0 && v <= UINT32_MAX ? (unsigned)v : 0;
}

static const char *seen_text(struct json_object *o, const char *key, const char *absent)
{
	struct json_object *v = seen_member(o, key);

	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : absent;
}

static bool seen_bool(struct json_object *o, const char *key)
{
	struct json_object *v = seen_member(o, key);

	return json_object_is_type(v, json_type_boolean) && json_object_get_boolean(v);
}

/* Return the class whose name is TEXT or begins with TEXT, or RANK_UNKNOWN. */
static enum rank_class class_of_text(const char *text)
{
	for (enum rank_class c = RANK_TURTLE; c <= RANK_DEVIL; c++)
		if (*text && strncmp(rank_class_name(c), text, strlen(text)) == 0)
			return c;
	return RANK_UNKNOWN;
}

static enum rank_class seen_class(struct json_object *o)
{
	return class_of_text(seen_text(o, "class", ""));
}

/*
 * Return the array KEY of O, with *N elements, and allocate *OUT with *N elements of SIZE bytes.
 * NULL: the array is missing or empty.
 */
static struct json_object *seen_array(struct json_object *o, const char *key, void **out,
				      size_t size, unsigned *n)
{
	struct json_object *a = seen_member(o, key);

	*n = 0;
	*out = NULL;
	if (!json_object_is_type(a, json_type_array) || !json_object_array_length(a))
		return NULL;
	*out = calloc(json_object_array_length(a), size);
	if (!*out)
		return NULL;
	*n = (unsigned)json_object_array_length(a);
	return a;
}

/* ------------------------------------------------------------------------------- documents */

static void take_points(struct seen_rank *r, struct json_object *o)
{
	struct json_object *a =
		seen_array(o, "history", (void **)&r->point, sizeof(*r->point), &r->n);

	for (unsigned i = 0; i < r->n; i++) {
		struct json_object *p = json_object_array_get_idx(a, i);
		struct seen_point *to = &r->point[i];

		/* points of earlier releases have no domain, so three members */
		size_t members =
			json_object_is_type(p, json_type_array) ? json_object_array_length(p) : 0;

		if (members != 3 && members != 4) {
			r->n = i;
			break;
		}
		to->time = seen_value(json_object_array_get_idx(p, 0));
		to->rate = seen_value(json_object_array_get_idx(p, 1));
		if (json_object_is_type(json_object_array_get_idx(p, 2), json_type_string))
			to->class = class_of_text(
				json_object_get_string(json_object_array_get_idx(p, 2)));
		to->domain = r->domain;
		if (members == 4)
			to->domain = seen_small(json_object_array_get_idx(p, 3));
	}
}

static void take_seen_rank(struct seen_rank *r, struct json_object *o)
{
	r->rank = seen_small(seen_member(o, "rank"));
	r->pid = (long)seen_number(o, "pid");
	r->command = seen_text(o, "command", "?");
	r->container = seen_text(o, "container", NULL);
	r->cpus = seen_text(o, "cpus", "");
	r->domain = seen_small(seen_member(o, "domain"));
	r->quiet = seen_bool(o, "quiet");
	r->idle = seen_bool(o, "idle");
	r->scaled = seen_bool(o, "scaled");
	r->cpu = seen_number(o, "cpu_percent");
	r->rate = seen_number(o, "rate");
	r->class = seen_class(o);
	r->why = r->class == RANK_UNKNOWN ? seen_text(o, "why", NULL) : NULL;
	r->since = seen_number(o, "class_since");
	r->moves = seen_number(o, "moves");
	r->pages = seen_number(o, "pages_moved_bytes");
	r->pages_of = seen_number(o, "pages_of_bytes");
	r->pages_chosen = seen_text(o, "pages_chosen", NULL);
	take_points(r, o);
}

static void take_sum(struct seen_sum *s, struct json_object *o)
{
	*s = (struct seen_sum){
		.name = seen_text(o, "name", NULL),
		.class = seen_class(o),
		.turtles = seen_count(o, "turtles"),
		.semi_devils = seen_count(o, "semi_devils"),
		.devils = seen_count(o, "devils"),
		.unknown = seen_count(o, "unknown"),
		.rate = seen_number(o, "rate"),
		.cpu = seen_number(o, "cpu_percent"),
		.memory = seen_number(o, "memory_bytes"),
		.sent = seen_number(o, "sent_bytes"),
		.received = seen_number(o, "received_bytes"),
		.read = seen_number(o, "read_bytes"),
		.written = seen_number(o, "written_bytes"),
	};
}

static void take_domain(struct seen_domain *d, struct json_object *o)
{
	*d = (struct seen_domain){
		.cpus = seen_text(o, "cpus", ""),
		.mems = seen_text(o, "mems", ""),
		.turtles = seen_count(o, "turtles"),
		.semi_devils = seen_count(o, "semi_devils"),
		.devils = seen_count(o, "devils"),
		.unknown = seen_count(o, "unknown"),
		.rate = seen_number(o, "misses_per_second"),
		.peak = seen_number(o, "peak_misses_per_second"),
		.calibrated = seen_bool(o, "calibrated"),
	};
}

static void take_placing(struct seen_placing *p, struct json_object *o)
{
	*p = (struct seen_placing){
		.container = seen_text(o, "container", "?"),
		.policy = seen_text(o, "policy", "?"),
		.why = seen_text(o, "why", "?"),
		.pages = seen_text(o, "pages", NULL),
		.units = seen_text(o, "units", NULL),
		.moves = seen_number(o, "moves"),
		.drains = seen_number(o, "drains"),
		.balanced = seen_bool(o, "numa_balancing"),
	};
}

static void take_arrays(struct seen_step *s)
{
	struct json_object *a;

	a = seen_array(s->root, "ranks", (void **)&s->rank, sizeof(*s->rank), &s->n);
	for (unsigned i = 0; i < s->n; i++)
		take_seen_rank(&s->rank[i], json_object_array_get_idx(a, i));
	a = seen_array(s->root, "containers", (void **)&s->sum, sizeof(*s->sum), &s->n_sums);
	for (unsigned i = 0; i < s->n_sums; i++)
		take_sum(&s->sum[i], json_object_array_get_idx(a, i));
	a = seen_array(s->root, "placings", (void **)&s->placing, sizeof(*s->placing),
		       &s->n_placings);
	for (unsigned i = 0; i < s->n_placings; i++)
		take_placing(&s->placing[i], json_object_array_get_idx(a, i));
	a = seen_array(s->root, "domains", (void **)&s->domain, sizeof(*s->domain), &s->n_domains);
	for (unsigned i = 0; i < s->n_domains; i++)
		take_domain(&s->domain[i], json_object_array_get_idx(a, i));
}

/*
 * Add the document ROOT to S if WANTED selects ROOT; otherwise free ROOT. S then owns ROOT. Returns
 * 0, or -1 with the reason.
 */
static int seen_add(struct seen *s, struct json_object *root, const struct seen_wanted *wanted,
		    const char *path, struct errbuf *err)
{
	struct json_object *source = seen_member(root, "source"),
			   *bounds = seen_member(root, "bounds");
	struct seen_step *more, t = { .root = root,
				      .host = seen_text(root, "host", "?"),
				      .step = seen_text(root, "step", "?"),
				      .job = seen_count(root, "job"),
				      .uid = (long)seen_number(root, "uid"),
				      .time = seen_number(root, "time"),
				      .started = seen_number(root, "started"),
				      .interval = seen_number(root, "interval_s"),
				      .ended = seen_bool(root, "ended"),
				      .provider = seen_text(source, "provider", "none"),
				      .row = seen_text(source, "row", NULL),
				      .quality = seen_text(source, "quality", NULL),
				      .why = seen_text(source, "why", NULL),
				      .simulated = seen_bool(source, "simulated"),
				      .turtle = seen_number(bounds, "turtle"),
				      .devil = seen_number(bounds, "devil") };
	bool known = strcmp(seen_text(root, "kind", ""), "contention") == 0;

	if (!known || (wanted->has_job && t.job != wanted->job) ||
	    (wanted->step && strcmp(t.step, wanted->step) != 0)) {
		json_object_put(root);
		return known ? 0 : errprintf(err, "%s: not a document of nodeos-contend", path);
	}
	more = realloc(s->step, (s->n + 1) * sizeof(*more));
	if (!more) {
		json_object_put(root);
		return errprintf(err, "out of memory");
	}
	s->step = more;
	take_arrays(&t);
	more[s->n++] = t;
	return 0;
}

static int read_document(struct seen *s, const char *path, const struct seen_wanted *wanted,
			 struct errbuf *err)
{
	struct json_object *root;
	char *text;
	size_t len;
	int rc = 0;

	if (textfile_read(&text, &len, path, DOCUMENT_MAX, err) < 0)
		return -1;
	root = json_tokener_parse(text);
	free(text);
	if (!root)
		return errprintf(err, "%s: not valid JSON", path);
	if (!json_object_is_type(root, json_type_array))
		return seen_add(s, root, wanted, path, err);
	for (size_t i = 0; rc == 0 && i < json_object_array_length(root); i++)
		rc = seen_add(s, json_object_get(json_object_array_get_idx(root, i)), wanted, path,
			      err);
	json_object_put(root);
	return rc;
}

/* Is NAME the file name of a document that WANTED selects? */
static bool wants_name(const struct seen_wanted *wanted, const char *name)
{
	size_t len = strlen(name);
	char *dot;
	unsigned long job = strtoul(name, &dot, 10);

	if (len < 8 || *name < '0' || *name > '9' || *dot != '.' ||
	    strcmp(name + len - 5, ".json") != 0 || name + len - 5 <= dot)
		return false;
	if (wanted->has_job && job != wanted->job)
		return false;
	len = strlen(dot + 1) - 5;
	return !wanted->step ||
	       (strlen(wanted->step) == len && strncmp(wanted->step, dot + 1, len) == 0);
}

static int read_directory(struct seen *s, DIR *dir, const struct seen_wanted *wanted,
			  struct errbuf *err)
{
	struct dirent *e;
	char path[4400];
	int rc = 0;

	while (rc == 0 && (e = readdir(dir)) != NULL) {
		if (!wants_name(wanted, e->d_name))
			continue;
		snprintf(path, sizeof(path), "%.4096s/%.255s", wanted->from, e->d_name);
		if (access(path, R_OK) == 0)
			rc = read_document(s, path, wanted, err);
		else if (errno != ENOENT)
			s->denied++;
		/* the daemon may remove a document at any time */
		if (rc < 0 && access(path, F_OK) < 0)
			rc = 0;
	}
	return rc;
}

static int compare_steps(const void *a, const void *b)
{
	const struct seen_step *x = a, *y = b;
	bool nx = x->step[0] >= '0' && x->step[0] <= '9',
	     ny = y->step[0] >= '0' && y->step[0] <= '9';

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (nx != ny)
		return nx ? -1 : 1;
	if (nx && strtoul(x->step, NULL, 10) != strtoul(y->step, NULL, 10))
		return strtoul(x->step, NULL, 10) < strtoul(y->step, NULL, 10) ? -1 : 1;
	return strcmp(x->step, y->step);
}

int seen_read(struct seen *s, const struct seen_wanted *wanted, struct errbuf *err)
{
	DIR *dir = opendir(wanted->from);
	int rc;

	*s = (struct seen){ 0 };
	if (dir) {
		rc = read_directory(s, dir, wanted, err);
		closedir(dir);
	} else if (errno == ENOTDIR) {
		rc = read_document(s, wanted->from, wanted, err);
	} else {
		rc = errno;
		errprintf(err, "%s: %s", wanted->from, strerror(rc));
		errno = rc;
		return -1;
	}
	if (rc < 0) {
		seen_free(s);
		errno = EINVAL;
		return -1;
	}
	if (s->n)
		qsort(s->step, s->n, sizeof(*s->step), compare_steps);
	return 0;
}

void seen_free(struct seen *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct seen_step *t = &s->step[i];

		for (unsigned k = 0; k < t->n; k++)
			free(t->rank[k].point);
		free(t->rank);
		free(t->sum);
		free(t->placing);
		free(t->domain);
		json_object_put(t->root);
	}
	free(s->step);
	*s = (struct seen){ 0 };
}
