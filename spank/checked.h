/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_CHECKED_H
#define NODEOS_SPANK_CHECKED_H

#include <stdbool.h>

#include "manifest/request.h"

/*
 * Manifests on the client's side. A process of nodeosctl reads them, so that sbatch and srun need
 * no JSON library; it prints mistakes to standard error.
 */

/* Read the request of the manifest FILE into *R. *APPS, unless APPS is NULL, is the output of
 * nodeosctl check --launch, for the caller to free. */
int checked_manifest(struct request *r, char **apps, const char *file, struct errbuf *err);

/*
 * srun MANIFEST.json: put the command of the ranks, the app of container NAME (NULL: the only one
 * of R), into the environment. APPS and FILE as in checked_manifest().
 */
int checked_set_exec(const struct request *r, const char *apps, const char *file, const char *name,
		     struct errbuf *err);

/*
 * Is WORD, in the place of srun's program, a manifest to run (NAME.json, a JSON object with an
 * "acKind")? Any other file is the user's program, whatever its name, and so is a file that does
 * not exist here.
 */
bool checked_is_manifest(const char *word);

/*
 * After sbatch has parsed its command line: check its script, if it is a file with #NODEOS lines,
 * so that a mistake shows before the job waits in a queue. Slurm shows the script to plugins only
 * on the node. WARNING, "" for none, names a line that only resembles a #NODEOS line.
 */
int checked_script(struct errbuf *warning, struct errbuf *err);

#endif
