/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CONTROL_LIST_H
#define NODEOS_GUEST_CONTROL_LIST_H

#include <stdbool.h>

/* nodeosctl guest list: print the guests of this user. Returns the exit status. */
int list_guests(bool json);

#endif
