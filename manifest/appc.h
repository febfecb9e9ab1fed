/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_APPC_H
#define NODEOS_MANIFEST_APPC_H

#include "manifest/json_doc.h"

/*
 * The NodeOS profile of AppC's manifests (spec 0.8.11, aci.md, pods.md and types.md) as a table of
 * fields, their types, and which of them are required. manifest_keys.c reads the values of
 * isolators.
 *
 * Differences from AppC, all deliberate: exec, user and group are optional (the Argo paper's own
 * manifest has none of them), and so is image; app and its isolators are required; unknown fields
 * are errors; null stands for an absent optional field.
 */

/*
 * Check the root OBJECT against ImageManifest or PodManifest, as its acKind says. Returns 0 or -1.
 */
int appc_check(const struct json_doc *doc);

/* After appc_check(): return whether the manifest is a PodManifest. */
int appc_is_pod(const struct json_doc *doc);

#endif
