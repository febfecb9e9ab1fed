/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_MACHINE_STUB_H
#define NODEOS_LWK_MACHINE_STUB_H

#include <stdint.h>

/* Labels of stub.S. */
extern const uint8_t lwk_stub[], lwk_stub_out[], lwk_stub_end[];
extern const uint8_t lwk_traps[], lwk_iret[], lwk_traps_end[];

#endif
