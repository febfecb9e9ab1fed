/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_REPORT_H
#define NODEOS_DIMMAP_LOAD_LRIOT_REPORT_H

#include "dimmap/load/lriot/run.h"

void report_text(const struct options *o, const struct outcome *out);
void report_json(const struct options *o, const struct outcome *out);

#endif
