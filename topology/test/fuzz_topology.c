/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: loads any bytes as a machine's XML or, if they do not begin with "<", as a
 * synthetic description. If the machine loads, it plans containers, resizes one and chooses a
 * ServiceOS. A refusal must be one printable line. An input of 64 kB may take 2 s of CPU time, or
 * 10 s with sanitizers. Seeds: corpus/topology. Use -max_len=65536.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/test/fuzz.h"
#include "topology/machine.h"
#include "topology/resize.h"
#include "topology/service.h"

#define SECONDS_MAX 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
const char *__lsan_default_suppressions(void);

/* Ignore leaks of hwloc: it leaks memory if a load fails. NodeOS frees all that it has loaded. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libhwloc\n";
}

/* Check that the containers lie in the offered sets and do not overlap. */
static void check_plan(const struct plan *p, const struct plan_opts *opts)
{
	struct idset seen = { { 0 } };

	for (unsigned i = 0; i < p->n; i++) {
		const struct plan_container *c = &p->container[i];

		check(!idset_empty(&c->cpus) && !idset_empty(&c->mems) && c->why);
		check(idset_subset(&c->cpus, &c->reserved) &&
		      idset_subset(&c->reserved, &opts->cpus) &&
		      idset_subset(&c->mems, &opts->mems));
		check(!idset_intersects(&c->reserved, &seen));
		check(c->cpus_given == idset_count(&c->cpus) && c->cpus_given >= c->cpus_asked);
		idset_or(&seen, &c->reserved);
	}
	check(!idset_intersects(&p->free_cpus, &seen) && idset_subset(&p->free_cpus, &opts->cpus));
}

static void check_resize(const struct machine *m, const struct plan *p,
			 const struct plan_opts *opts)
{
	const struct plan_container *c = &p->container[0];
	struct resize_ask ask = {
		.name = "a",
		.cpus = c->cpus,
		.reserved = c->reserved,
		.mems = c->mems,
		.mems_confined = c->mems_confined,
		.free_cpus = p->free_cpus,
		.free_mems = p->free_mems,
		.want_cpus = c->cpus_given + 1,
	};
	struct plan_container got;
	struct errbuf err = { 0 };

	if (plan_resize(&got, m, &ask, &err) < 0) {
		check_refusal(&err);
		return;
	}
	check(idset_subset(&c->cpus, &got.cpus) && idset_subset(&got.reserved, &opts->cpus));
	free(got.why);
}

static void plan(const struct machine *m, unsigned seed)
{
	struct plan_ask ask[] = {
		{ .name = "a",
		  .cpus = 1 + seed % 7,
		  .mems_kind = seed & 8 ? MEMS_COUNT : MEMS_UNSET,
		  .mems = 1 + seed / 16 % 3 },
		{ .name = "b",
		  .cpus = 1 + seed / 64 % 3,
		  .smt = seed / 256 % 3,
		  .mems_kind = MEMS_SIZE,
		  .mems = 1 + seed },
		{ .name = "c", .cpus = 0 },
	};
	struct plan_opts opts = { .cpus = *machine_cpus(m),
				  .mems = *machine_mems(m),
				  .default_mems = seed & 1 ? MEMS_LOCAL : MEMS_ALL };
	struct errbuf err = { 0 };
	struct plan *p;

	if (plan_make(&p, m, &opts, ask, 1 + seed % 3, &err) < 0) {
		check_refusal(&err);
		return;
	}
	check_plan(p, &opts);
	check_resize(m, p, &opts);
	plan_free(p);
}

static void look(struct machine *m, unsigned seed)
{
	struct service_ask ask = { .kind = seed & 2 ? SERVICE_PER_SOCKET : SERVICE_PER_NODE,
				   .cores = 1 };
	struct service_set service;
	struct machine_part *part = NULL;
	struct plan_core *core = NULL;
	struct errbuf err = { 0 };
	struct idset set;
	unsigned n;

	check(!idset_empty(machine_cpus(m)) && !idset_empty(machine_mems(m)));
	check(machine_cores(m, machine_cpus(m), &core, &n, &err) == 0);
	free(core);
	check(machine_parts(m, &part, &n, &err) == 0);
	free(part);
	machine_withheld(m, &set);
	machine_usable(m, &set);
	if (service_choose(&service, m, &ask, &err) == 0)
		service_slurm_cpus(&set, m, &service.cpus, 0, &err);
	plan(m, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errbuf err = { 0 };
	struct machine *m = NULL;
	unsigned seed = (unsigned)size;
	clock_t start = clock();
	char *text = malloc(size + 1);
	int rc;

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < size; i++)
		seed = seed * 31 + data[i];
	rc = size && *text != '<' ? machine_load_synthetic(&m, text, &err)
				  : machine_load_xml_buffer(&m, text, size, &err);
	if (rc < 0) {
		check(!m);
		if (size && *text == '<')
			check_refusal(&err);
	} else {
		look(m, seed);
	}
	machine_free(m);
	free(text);
	/* clock() is the CPU time of this process, so other load on the host does not count */
	check((clock() - start) / CLOCKS_PER_SEC < SECONDS_MAX);
	return 0;
}

struct piece {
	size_t at, len;
};

/*
 * List at most MOST pieces of DATA: lines if MARK is '\n' (hwloc writes one tag a line), else
 * values between quotes.
 */
static size_t pieces(struct piece *out, size_t most, const uint8_t *data, size_t size, char mark)
{
	size_t n = 0, start = 0;
	bool inside = mark == '\n';

	for (size_t i = 0; i < size && n < most; i++) {
		if (data[i] != mark)
			continue;
		if (inside)
			out[n++] = (struct piece){ start, i - start + (mark == '\n') };
		if (mark == '"')
			inside = !inside;
		start = i + 1;
	}
	return n;
}

/* Replace the LEN bytes at AT of DATA by NEW. Returns the new size, or 0 if there is no room. */
static size_t splice(uint8_t *data, size_t size, size_t max, size_t at, size_t len,
		     const uint8_t *new, size_t new_len)
{
	uint8_t copy[256];

	if (size - len + new_len > max || new_len > sizeof(copy))
		return 0;
	memcpy(copy, new, new_len);
	memmove(data + at + new_len, data + at + len, size - at - len);
	memcpy(data + at, copy, new_len);
	return size - len + new_len;
}

/*
 * Mutate DATA. Random bytes usually break the XML, so most mutations drop, double or move lines,
 * replace a value by another value, or change a digit.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static struct piece piece[4096];
	bool lines = seed & 1;
	unsigned act = seed >> 1 & 7, a = seed >> 4, b = seed >> 13;
	size_t n = size && *data == '<' && act < 5
			   ? pieces(piece, 4096, data, size, lines ? '\n' : '"')
			   : 0;
	struct piece *from, *to;
	size_t changed = 0;

	if (n) {
		from = &piece[a % n];
		to = &piece[b % n];
		if (act == 0 && from->len)
			changed = splice(data, size, max, from->at, lines ? from->len : 0,
					 (const uint8_t *)",0x00000001", lines ? 0 : 11);
		else if (act < 3)
			changed = splice(data, size, max, to->at, lines && act == 1 ? 0 : to->len,
					 data + from->at, from->len);
		else if (!lines && to->len)
			changed = splice(data, size, max, to->at + a % to->len, 1,
					 (const uint8_t *)&"0123456789abcdef"[b / n % 16], 1);
	}
	return changed ? changed : LLVMFuzzerMutate(data, size, max);
}
