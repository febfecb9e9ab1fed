/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_APPC_H
#define NODEOS_MANIFEST_APPC_H

#include "manifest/json_doc.h"

/*
 * The NodeOS profile of AppC's manifests (spec 0.8.11, aci.md, pods.md and
 * types.md) as a table: which fields there are, their types, which must be
 * there. What isolators say is read by manifest_keys.c.
 *
 * Differences from AppC, all deliberate: exec, user and group are optional
 * (the Argo paper's own manifest has none), image too; app and its isolators
 * are not; unknown fields are errors; null stands for an absent optional field.
 */

/* Check the root OBJECT against ImageManifest or PodManifest, whichever acKind names. */
int appc_check(const struct json_doc *doc);

/* After appc_check: is it a PodManifest? */
int appc_is_pod(const struct json_doc *doc);

#endif
