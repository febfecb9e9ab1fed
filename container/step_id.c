/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/step_id.h"

#include <stdio.h>
#include <string.h>

void step_id_format(uint32_t step_id, char buf[16])
{
	if (step_id == STEP_ID_BATCH)
		strcpy(buf, "batch");
	else if (step_id == STEP_ID_EXTERN)
		strcpy(buf, "extern");
	else if (step_id == STEP_ID_INTERACTIVE)
		strcpy(buf, "interactive");
	else
		snprintf(buf, 16, "%u", step_id);
}
