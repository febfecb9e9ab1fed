/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_SECRET_H
#define NODEOS_BASE_SECRET_H

#define SECRET_MASK "(masked)"

/*
 * TEXT (configuration, a log, a kernel's command line: anything of lines with NAME=VALUE, "NAME =
 * VALUE" or NAME: VALUE) without what is nobody else's business: where NAME has pass, key, secret
 * or token in it, in any case, or is AuthAltParameters, the rest of the line is SECRET_MASK, and so
 * are the lines that a \ at its end continues it on; and the user:password of a URL is. NAME may be
 * in quotes. Rather too much is masked than too little: an option behind a secret one on the same
 * line goes, too. Malloc'ed; NULL: out of memory. libc only.
 */
char *secret_mask(const char *text);

#endif
