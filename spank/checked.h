/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_CHECKED_H
#define NODEOS_SPANK_CHECKED_H

#include <stdbool.h>

#include "manifest/request.h"

/*
 * Manifests on the client's side. nodeosctl reads them, in a process of its own, so that
 * sbatch and srun need no JSON library; what is wrong goes to standard error from there.
 */

/* The request of the manifest FILE; APPS, when not NULL: malloc'ed, what nodeosctl check --launch
 * says. */
int checked_manifest(struct request *r, char **apps, const char *file, struct errbuf *err);

/*
 * srun MANIFEST.json: put what the ranks are to run, the app of container NAME (NULL: the only one
 * of R), into the environment. APPS and FILE as above.
 */
int checked_set_exec(const struct request *r, const char *apps, const char *file, const char *name,
		     struct errbuf *err);

/*
 * Is WORD, which srun has in the place of a program, a manifest to be run: NAME.json that holds a
 * JSON object with an "acKind"? Any other file is the user's program, whatever its name is, and
 * so is one that is not here.
 */
bool checked_is_manifest(const char *word);

/*
 * Once sbatch has parsed its command line: check its script, if that is a file with #NODEOS
 * lines, before it waits in a queue for its first mistake. Slurm shows the script to plugins on
 * the node only. WARNING, "" for none, tells of a line that looks like one of them.
 */
int checked_script(struct errbuf *warning, struct errbuf *err);

#endif
