/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries as text. Earlier releases expect lines in a fixed order, refuse unknown lines, and read
 * ranks only from lines "rank task_0 sim 0-3"; see doc/HACKING.md, "The ledger of another release".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/ledger_impl.h"
#include "container/rank_runs.h"
#include "container/step_id.h"

/*
 * The most bytes of lines "rank ..." in an entry, enough for some 700 ranks. Ranks of further steps
 * are written as runs (rank_runs.h).
 */
#define RANK_LINES_MAX (16u << 10)

static void ledger_text_print_plan(FILE *f, const char *request, const struct job_plan *plan)
{
	if (!request || !plan)
		return;
	fprintf(f, "request %s\n", request);
	job_plan_print(f, plan);
}

/* The ranks of a step as text. */
struct rank_text {
	const char *lines, *runs; /* NULL: none */
	char *own_lines, *own_runs; /* the same text if free() must release it, otherwise NULL */
};

static char *format_lines(const struct ledger_step *s)
{
	char list[IDSET_LIST_MAX], *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (unsigned i = 0; f && i < s->n_placed; i++)
		if (idset_format(&s->placed[i].cpus, list, sizeof(list)) > 0)
			fprintf(f, "rank %s %s %s\n", s->placed[i].task, s->placed[i].place, list);
	if (f && fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/*
 * Format the ranks of S as lines, which every release knows, if *CAPACITY bytes suffice; otherwise
 * as runs. Returns 0, or -1 if out of memory.
 */
static int format_ranks(struct rank_text *out, const struct ledger_step *s, size_t *capacity)
{
	*out = (struct rank_text){ .lines = s->rank_lines, .runs = s->rank_runs };
	if (!s->n_placed)
		return 0;
	out->lines = out->own_lines = format_lines(s);
	if (!out->lines)
		return -1;
	if (strlen(out->lines) <= *capacity) {
		*capacity -= strlen(out->lines);
		return 0;
	}
	out->runs = out->own_runs = rank_runs_format(s->placed, s->n_placed);
	if (out->runs)
		out->lines = NULL;
	return 0;
}

/*
 * Print the line "launching". Earlier releases read only its first word, and take the ranks of the
 * step as not placed yet: they report and sweep the step, and refuse to resize or delete its
 * container.
 */
static void print_launching(FILE *f, const struct ledger_step *s, const char *runs)
{
	if (runs)
		fprintf(f, "launching %s %s\n", s->launching ? "yes" : "no", runs);
	else if (s->launching)
		fputs("launching\n", f);
}

static int print_step(FILE *f, const struct ledger_step *s, size_t *capacity)
{
	char list[IDSET_LIST_MAX];
	struct rank_text ranks;
	int rc = format_ranks(&ranks, s, capacity);

	fprintf(f, "step %" PRIu32 " inode %" PRIu64 " ranks %u container %s\ncgroup %s\n",
		s->step_id, s->inode, s->ranks,
		*ledger_step_places(s) ? ledger_step_places(s) : LEDGER_REST, s->cgroup);
	if (idset_format(&s->cpus, list, sizeof(list)) > 0)
		fprintf(f, "cpus %s\n", list);
	print_launching(f, s, ranks.runs);
	if (s->partition != PARTITION_MEMBER &&
	    idset_format(&s->partition_cpus, list, sizeof(list)) > 0)
		fprintf(f, "partition %s %s\n", partition_name(s->partition), list);
	fputs(ranks.lines ? ranks.lines : "", f);
	ledger_text_print_plan(f, s->request, s->plan);
	fputs(s->unknown ? s->unknown : "", f);
	free(ranks.own_lines);
	free(ranks.own_runs);
	return rc;
}

char *ledger_format(const struct ledger_job *job)
{
	char list[IDSET_LIST_MAX], *text = NULL;
	size_t size, capacity = RANK_LINES_MAX, used;
	FILE *f = open_memstream(&text, &size);
	int rc = 0;

	if (!f)
		return NULL;
	fprintf(f, "nodeos-ledger 1\njob %" PRIu32 " uid %u inode %" PRIu64 "\ncgroup %s\n",
		job->job_id, (unsigned)job->uid, job->inode, job->cgroup);
	ledger_text_print_plan(f, job->request, job->plan);
	if (idset_format(&job->share, list, sizeof(list)) > 0)
		fprintf(f, "share %s bytes %" PRIu64 "\n", list, job->share_bytes);
	if (job->devils)
		fprintf(f, "devils %s\n", job->devils);
	fputs(job->unknown ? job->unknown : "", f);
	for (unsigned i = 0; i < job->n_steps; i++) {
		used = job->step[i].rank_lines ? strlen(job->step[i].rank_lines) : 0;
		capacity -= used < capacity ? used : capacity;
	}
	for (unsigned i = 0; rc == 0 && i < job->n_steps; i++)
		rc = print_step(f, &job->step[i], &capacity);
	fputs("end-of-entry\n", f);
	if (fclose(f) != 0 || rc < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* -------------------------------------------------------------------- parsing */

/* Return whether the line at TEXT starts with WORD. */
static bool is_line(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/*
 * If the line at *TEXT starts with WORD, move *TEXT past the line and return a copy of the text
 * after WORD, which the caller frees. Otherwise return NULL.
 */
static char *ledger_text_take_line(const char **text, const char *word)
{
	size_t len = strlen(word);
	const char *end = strchr(*text, '\n');
	char *rest;

	if (!end || !is_line(*text, word))
		return NULL;
	rest = strndup(*text + len, (size_t)(end - *text) - len);
	*text = end + 1;
	return rest;
}

static int take_cgroup(const char **text, char *out)
{
	char *path = ledger_text_take_line(text, "cgroup ");
	int rc = path && *path && *path != '/' && strlen(path) < CGROUP_PATH_MAX ? 0 : -1;

	if (rc == 0)
		strcpy(out, path);
	free(path);
	return rc;
}

/* Take the line "request" and the plan after it; refuse a second request. */
static int take_plan(const char **text, char **request, struct job_plan **plan, struct errbuf *err)
{
	if (*request)
		return errprintf(err, "a step or the job has two requests");
	*request = ledger_text_take_line(text, "request ");
	return *request ? job_plan_parse(plan, text, err)
			: errprintf(err, "the line \"request\" is damaged");
}

static int take_partition(const char **text, struct ledger_step *s, struct errbuf *err)
{
	char *line = ledger_text_take_line(text, "partition ");
	char *blank = line ? strchr(line, ' ') : NULL;
	int rc = -1;

	if (blank) {
		*blank = '\0';
		rc = partition_by_name(line);
	}
	if (rc <= PARTITION_MEMBER || idset_parse(&s->partition_cpus, blank + 1, err) < 0)
		rc = errprintf(err, "the line \"partition\" of step %" PRIu32 " is damaged",
			       s->step_id);
	else
		s->partition = (enum partition)rc;
	free(line);
	return rc < 0 ? -1 : 0;
}

/* Return whether the line at TEXT begins with a word, as all lines of all releases do. */
static bool is_word_line(const char *text)
{
	size_t len = strcspn(text, "\n");

	if (*text < 'a' || *text > 'z' || text[len] != '\n')
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* Append the LEN bytes at TEXT to *ALL. */
static int ledger_text_keep(char **all, const char *text, size_t len, struct errbuf *err)
{
	size_t used = *all ? strlen(*all) : 0;
	char *more = realloc(*all, used + len + 1);

	if (!more)
		return errprintf(err, "out of memory");
	memcpy(more + used, text, len);
	more[used + len] = '\0';
	*all = more;
	return 0;
}

/*
 * Append to *ALL the lines from *TEXT up to the next known line: "step", the last line, or one that
 * begins with a word of KNOWN.
 */
static int keep_unknown(char **all, const char **text, const char *const *known, struct errbuf *err)
{
	const char *at = *text, *first = at;
	bool stop = false;

	while (!stop && is_word_line(at) && !is_line(at, "step ") && !is_line(at, "end-of-entry")) {
		for (size_t i = 0; known[i]; i++)
			stop = stop || is_line(at, known[i]);
		at += stop ? 0 : strcspn(at, "\n") + 1;
	}
	*text = at;
	return at == first ? errprintf(err, "the entry is truncated or damaged")
			   : ledger_text_keep(all, first, (size_t)(at - first), err);
}

/* Take all lines "rank ..." from *TEXT on; LIGHT: keep none of them. */
static int take_rank_lines(const char **text, struct ledger_step *s, bool light, struct errbuf *err)
{
	const char *first = *text, *end;

	while (is_line(*text, "rank ") && (end = strchr(*text, '\n')))
		*text = end + 1;
	if (*text == first)
		return errprintf(err, "a line \"rank\" of step %" PRIu32 " is damaged", s->step_id);
	return light ? 0 : ledger_text_keep(&s->rank_lines, first, (size_t)(*text - first), err);
}

/*
 * Take the line "launching", "launching yes RUNS" or "launching no RUNS"; the last two set *RUNS. A
 * line of another form, or a second line with runs, is kept as an unknown line: the step's
 * resources and its end can still be read from other lines. Without RUNS the step counts as
 * launching, as in earlier releases.
 */
static int take_launching(const char **text, struct ledger_step *s, bool light, bool *runs,
			  struct errbuf *err)
{
	const char *first = *text, *at = first + strlen("launching"), *end = strchr(at, '\n');
	bool no = is_line(at, " no "), yes = is_line(at, " yes ");

	if (!end)
		return errprintf(err, "the line \"launching\" of step %" PRIu32 " is truncated",
				 s->step_id);
	*text = end + 1;
	if (*runs || (*at != '\n' && !no && !yes)) {
		s->launching = true;
		return ledger_text_keep(&s->unknown, first, (size_t)(*text - first), err);
	}
	s->launching = s->launching || !no;
	if (at == end)
		return 0;
	*runs = true;
	at += no ? strlen(" no ") : strlen(" yes ");
	if (light)
		return 0;
	s->rank_runs = strndup(at, (size_t)(end - at));
	return s->rank_runs ? 0 : errprintf(err, "out of memory");
}

#define LEDGER_PLACES_WIDTH "4223"
_Static_assert(LEDGER_PLACES_MAX == 4224,
	       "LEDGER_PLACES_WIDTH must be the size of places minus one");

/* Take the lines "step" and "cgroup". */
static int take_step_head(const char **text, struct ledger_step *s, struct errbuf *err)
{
	char *line = ledger_text_take_line(text, "step "), places[LEDGER_PLACES_MAX];
	int n = -1;

	if (line)
		sscanf(line,
		       "%" SCNu32 " inode %" SCNu64 " ranks %u container %" LEDGER_PLACES_WIDTH
		       "s%n",
		       &s->step_id, &s->inode, &s->ranks, places, &n);
	if (n >= 0 && line[n])
		n = -1;
	free(line);
	if (n < 0)
		return errprintf(err, "the line \"step\" is damaged");
	if (ledger_step_set_places(s, places) < 0)
		return errprintf(err, "out of memory");
	return take_cgroup(text, s->cgroup) < 0
		       ? errprintf(err, "the line \"cgroup\" of step %" PRIu32 " is damaged",
				   s->step_id)
		       : 0;
}

static int ledger_text_take_cpus(const char **text, struct ledger_step *s, struct errbuf *err)
{
	char *line = ledger_text_take_line(text, "cpus ");
	int rc = line ? idset_parse(&s->cpus, line, err)
		      : errprintf(err, "the line \"cpus\" of step %" PRIu32 " is damaged",
				  s->step_id);

	free(line);
	return rc;
}

static int take_step(const char **text, struct ledger_job *job, bool light, struct errbuf *err)
{
	static const char *const known[] = { "cpus ", "launching", "partition ",
					     "rank ", "request ",  NULL };
	struct ledger_step *s = ledger_job_add_step(job);
	int rc = s ? take_step_head(text, s, err) : errprintf(err, "out of memory");
	bool runs = false;

	while (rc == 0 && **text && !is_line(*text, "step ") && !is_line(*text, "end-of-entry")) {
		if (is_line(*text, "cpus "))
			rc = ledger_text_take_cpus(text, s, err);
		else if (is_line(*text, "launching"))
			rc = take_launching(text, s, light, &runs, err);
		else if (is_line(*text, "partition "))
			rc = take_partition(text, s, err);
		else if (is_line(*text, "rank "))
			rc = take_rank_lines(text, s, light, err);
		else if (is_line(*text, "request "))
			rc = take_plan(text, &s->request, &s->plan, err);
		else
			rc = keep_unknown(&s->unknown, text, known, err);
	}
	return rc;
}

/* Take the line "share", in the form "4-5 bytes 123". */
static int take_share(const char **text, struct ledger_job *job, struct errbuf *err)
{
	char *line = ledger_text_take_line(text, "share "),
	     *blank = line ? strchr(line, ' ') : NULL;
	int n = -1, rc;

	if (blank)
		sscanf(blank, " bytes %" SCNu64 "%n", &job->share_bytes, &n);
	if (n < 0 || blank[n]) {
		rc = errprintf(err, "the line \"share\" is damaged");
	} else {
		*blank = '\0';
		rc = idset_parse(&job->share, line, err);
	}
	free(line);
	return rc;
}

/* Take the line "devils", names of containers. */
static int take_devils(const char **text, struct ledger_job *job, struct errbuf *err)
{
	char *line = ledger_text_take_line(text, "devils "), *save = NULL;
	int rc = line && *line ? 0 : errprintf(err, "the line \"devils\" is damaged");

	for (char *name = line ? strtok_r(line, ",", &save) : NULL; rc == 0 && name;
	     name = strtok_r(NULL, ",", &save)) {
		rc = request_check_name(name, err);
		if (rc == 0 && ledger_job_note_devil(job, name) < 0)
			rc = errprintf(err, "out of memory");
	}
	free(line);
	return rc;
}

int ledger_take_head(const char **text, struct ledger_job *job, struct errbuf *err)
{
	static const char header[] = "nodeos-ledger ";
	unsigned uid = 0;
	char *line;
	int n = -1;

	line = ledger_text_take_line(text, header);
	if (!line || !*line || line[strspn(line, "0123456789")]) {
		free(line);
		return errprintf(err, "the file is no ledger entry");
	}
	free(line);
	line = ledger_text_take_line(text, "job ");
	if (line)
		sscanf(line, "%" SCNu32 " uid %u inode %" SCNu64 "%n", &job->job_id, &uid,
		       &job->inode, &n);
	if (n >= 0 && line[n])
		n = -1;
	free(line);
	job->uid = uid;
	return n < 0 || take_cgroup(text, job->cgroup) < 0
		       ? errprintf(err, "the line \"job\" or \"cgroup\" is damaged")
		       : 0;
}

/* Parse all lines after the head, which ledger_take_head() has read. */
static int parse_rest(struct ledger_job *job, const char *text, bool light, struct errbuf *err)
{
	static const char *const known[] = { "request ", "share ", "devils ", NULL };
	int rc = 0;

	while (rc == 0 && strcmp(text, "end-of-entry\n") != 0) {
		if (is_line(text, "step "))
			rc = take_step(&text, job, light, err);
		else if (job->n_steps)
			rc = errprintf(err, "the entry is truncated or damaged");
		else if (is_line(text, "request "))
			rc = take_plan(&text, &job->request, &job->plan, err);
		else if (is_line(text, "share "))
			rc = take_share(&text, job, err);
		else if (is_line(text, "devils "))
			rc = take_devils(&text, job, err);
		else
			rc = keep_unknown(&job->unknown, &text, known, err);
	}
	return rc;
}

int ledger_parse(struct ledger_job **out, const char *text, bool light, struct errbuf *err)
{
	struct ledger_job *job = calloc(1, sizeof(*job));
	int rc;

	if (!job)
		return errprintf(err, "out of memory");
	job->light = light;
	rc = is_line(text, "nodeos-ledger 1\n")
		     ? ledger_take_head(&text, job, err)
		     : errprintf(err, "the file is no ledger entry of version 1");
	if (rc == 0)
		rc = parse_rest(job, text, light, err);
	if (rc < 0) {
		ledger_job_free(job);
		return -1;
	}
	*out = job;
	return 0;
}

bool ledger_job_of_later_release(const struct ledger_job *job, struct errbuf *why)
{
	const char *line = job->unknown;

	for (unsigned i = 0; !line && i < job->n_steps; i++)
		line = job->step[i].unknown;
	if (!line)
		return false;
	errprintf(why,
		  "the ledger's entry of job %" PRIu32 " has lines of a later release (\"%.*s\"), "
		  "which this release keeps but does not know",
		  job->job_id, (int)(strcspn(line, "\n") < 60 ? strcspn(line, "\n") : 60), line);
	/* the entry's lines may contain any bytes, and this text goes to terminals */
	for (char *c = why->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return true;
}
