/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/physical_node.h"
#include "base/textfile.h"
#include "base/trial.h"
#include "topology/machine_impl.h"
#include "topology/machine_synthetic.h"
#include "topology/machine_xml.h"

enum source { FROM_THIS, FROM_WHOLE, FROM_BUFFER, FROM_SYNTHETIC };

#define TRIAL_SECONDS 60

/*
 * INCLUDE_DISALLOWED keeps all objects, so that logical indexes do not depend on the caller's
 * cgroup. DONT_CHANGE_BINDING keeps hwloc's x86 component from binding the process to each CPU in
 * turn: this hangs on a CPU with a busy real-time task.
 */
static unsigned long load_flags(enum source source)
{
	unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

	if (source == FROM_THIS || source == FROM_WHOLE)
		flags |= HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM;
#if HWLOC_API_VERSION >= 0x00020500
	flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
	return flags;
}

/* Turn off hwloc's GPU components: they open displays and drivers, which is slow and can hang. */
static void without_gpus(hwloc_topology_t topo)
{
	static const char *const unwanted[] = {
		"gl", "opencl", "cuda", "nvml", "rsmi", "levelzero"
	};

	for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
		hwloc_topology_set_components(topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      unwanted[i]);
}

static int set_source(hwloc_topology_t topo, enum source source, const char *text, size_t len)
{
	switch (source) {
	case FROM_BUFFER:
		return hwloc_topology_set_xmlbuffer(topo, text, (int)len);
	case FROM_SYNTHETIC:
		return hwloc_topology_set_synthetic(topo, text);
	case FROM_THIS:
	case FROM_WHOLE:
		break;
	}
	return 0;
}

/*
 * On a kernel that divides memory nodes, note the physical node of each memory node. Like hwloc,
 * read the files below HWLOC_FSROOT if it is set.
 */
static void note_homes(hwloc_topology_t topo)
{
	const char *root = getenv("HWLOC_FSROOT");
	enum node_division how = node_division(root ? root : "");
	hwloc_obj_t obj = NULL;
	char text[32];

	while (how != NODES_WHOLE &&
	       (obj = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, obj))) {
		snprintf(text, sizeof(text), "%u%s",
			 physical_node(root ? root : "", how, obj->os_index),
			 how == NODES_FAKE ? MACHINE_HOME_UNIFORM : "");
		hwloc_obj_add_info(obj, MACHINE_INFO_HOME, text);
	}
}

/*
 * Use hwloc's built-in XML reader, not libxml2: each installation of hwloc has it, and
 * machine_xml_check() writes XML for it. Turn off hwloc's messages, since NodeOS itself checks the
 * input and the loaded machine.
 */
static void set_hwloc_up(void)
{
	setenv("HWLOC_LIBXML", "0", 1);
	setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

static int refused(struct errbuf *err, const char *what, bool this_machine)
{
	const char *why = errno ? strerror(errno) : "no reason given";

	if (this_machine)
		return errprintf(err, "hwloc cannot load %s: %s", what, why);
	return errprintf(err,
			 "%.200s: hwloc cannot load it: %s (lstopo with HWLOC_XML_VERBOSE=1 and "
			 "HWLOC_SYNTHETIC_VERBOSE=1 in its environment may print more)",
			 what, why);
}

static int machine_load_load(struct machine **out, enum source source, const char *text, size_t len,
			     const char *what, struct errbuf *err)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return errprintf(err, "out of memory");
	if (hwloc_topology_init(&m->topo) < 0) {
		free(m);
		return errprintf(err, "hwloc cannot start: %s", strerror(errno));
	}
	without_gpus(m->topo);
	if (source == FROM_BUFFER || source == FROM_SYNTHETIC)
		set_hwloc_up();
	errno = 0;
	if (hwloc_topology_set_flags(m->topo, load_flags(source)) < 0 ||
	    set_source(m->topo, source, text, len) < 0 || hwloc_topology_load(m->topo) < 0) {
		refused(err, what, source == FROM_THIS || source == FROM_WHOLE);
		goto error;
	}
	if (source == FROM_WHOLE &&
	    hwloc_topology_allow(m->topo, NULL, NULL, HWLOC_ALLOW_FLAG_ALL) < 0) {
		errprintf(err, "hwloc cannot show the CPUs and memory outside of this cgroup: %s",
			  strerror(errno));
		goto error;
	}
	if (source == FROM_THIS || source == FROM_WHOLE)
		note_homes(m->topo);
	if (machine_index(m, err) < 0) {
		errwrap(err, "%.200s", what);
		goto error;
	}
	*out = m;
	return 0;
error:
	machine_free(m);
	return -1;
}

int machine_load_this(struct machine **out, struct errbuf *err)
{
	return machine_load_load(out, FROM_THIS, NULL, 0, "this machine", err);
}

int machine_load_whole(struct machine **out, struct errbuf *err)
{
	return machine_load_load(out, FROM_WHOLE, NULL, 0, "this machine", err);
}

static int load_xml(struct machine **out, const char *text, size_t len, const char *what,
		    struct errbuf *err)
{
	char *xml;
	size_t xml_len;
	int rc;

	if (len > MACHINE_XML_MAX)
		return errprintf(err, "%.200s: %zu bytes (allowed: %u)", what, len,
				 MACHINE_XML_MAX);
	if (machine_xml_check(&xml, &xml_len, text, len, err) < 0)
		return errwrap(err, "%.200s", what);
	rc = machine_load_load(out, FROM_BUFFER, xml, xml_len, what, err);
	free(xml);
	return rc;
}

int machine_load_xml_file(struct machine **out, const char *path, struct errbuf *err)
{
	char *text;
	size_t len;
	int rc;

	if (textfile_read(&text, &len, path, MACHINE_XML_MAX, err) < 0)
		return -1;
	rc = load_xml(out, text, len, path, err);
	free(text);
	return rc;
}

int machine_load_xml_buffer(struct machine **out, const char *xml, size_t len, struct errbuf *err)
{
	return load_xml(out, xml, len, "the XML text", err);
}

int machine_load_synthetic(struct machine **out, const char *description, struct errbuf *err)
{
	if (machine_synthetic_check(description, err) < 0)
		return errwrap(err, "machine \"%.200s\"", description);
	return machine_load_load(out, FROM_SYNTHETIC, description, 0, description, err);
}

struct wanted {
	const char *text; /* contents of an XML file, or NULL */
	const char *what; /* name of the file, or a synthetic description */
	size_t len;
};

static int load_wanted(struct machine **out, const struct wanted *w, struct errbuf *err)
{
	return w->text ? load_xml(out, w->text, w->len, w->what, err)
		       : machine_load_synthetic(out, w->what, err);
}

/* Memory that this process shares with the child process of try_first(). */
struct tried {
	const struct wanted *w;
	bool failed;
	struct errbuf err;
};

static void try_wanted(void *arg)
{
	struct tried *t = arg;
	struct machine *m;

	t->failed = load_wanted(&m, t->w, &t->err) < 0;
	if (!t->failed)
		machine_free(m);
}

/*
 * Load W in a child process with a memory limit. If the child fails, W is refused, even if a load
 * in this process, without the limit, might succeed.
 */
static int try_first(const struct wanted *w, struct errbuf *err)
{
	struct tried *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (t == MAP_FAILED)
		return errprintf(err, "out of memory");
	t->w = w;
	rc = trial(try_wanted, t, TRIAL_SECONDS, err);
	if (rc < 0)
		errwrap(err, "%.200s: hwloc (API %u.%u) cannot load it", w->what,
			hwloc_get_api_version() >> 16, hwloc_get_api_version() >> 8 & 255);
	else if (t->failed)
		rc = errprintf(err, "%s", t->err.text);
	munmap(t, sizeof(*t));
	return rc;
}

int machine_load_arg(struct machine **out, const char *arg, struct errbuf *err)
{
	size_t len = strlen(arg);
	struct wanted w = { .what = arg };
	char *text = NULL;
	int rc;

	if (strchr(arg, '/') || (len >= 4 && strcmp(arg + len - 4, ".xml") == 0)) {
		if (textfile_read(&text, &w.len, arg, MACHINE_XML_MAX, err) < 0)
			return -1;
		w.text = text;
	}
	rc = try_first(&w, err);
	if (rc == 0)
		rc = load_wanted(out, &w, err);
	free(text);
	return rc;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	hwloc_topology_destroy(m->topo);
	free(m->pu);
	free(m->core);
	free(m->domain);
	free(m->node);
	free(m->latency);
	free(m);
}

/* Write the file without hwloc: its export to files does not report a full disk. */
int machine_write_xml(const struct machine *m, const char *path, struct errbuf *err)
{
	struct errbuf why;
	char *xml;
	int len, rc;

	if (hwloc_topology_export_xmlbuffer(m->topo, &xml, &len, 0) < 0)
		return errprintf(
			err, "cannot write the topology to %s: hwloc's export to XML fails", path);
	/* LEN counts the final NUL */
	rc = textfile_write(path, xml, (size_t)len - 1, &why);
	hwloc_free_xmlbuffer(m->topo, xml);
	return rc < 0 ? errprintf(err, "cannot write the topology to %s", why.text) : 0;
}
