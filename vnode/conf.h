/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_CONF_H
#define NODEOS_VNODE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/fileio.h"

/*
 * The file vnode.d/NAME.conf (vnode.d(5)) describes one vnode: a node of Slurm, made of a slurmd
 * and its jobs in namespaces of their own, which can run on any host that the file names. Every
 * host has the same file. Root reads the file, so the parser is strict and bounded.
 */
#define VNODE_NAME_MAX 13 /* bytes of a vnode's name with the final NUL; its link is "vn-NAME" */
#define VNODE_WORD_MAX 64 /* bytes of an address, or of a link's name, with the final NUL */
#define VNODE_TEXTS_MAX 1024 /* bytes of a list of paths or names with the final NUL */
#define VNODE_CONF_MAX (16 * 1024) /* bytes of the file */
#define VNODES_MAX 256 /* files in a vnode.d */

struct vnode_conf {
	char name[VNODE_NAME_MAX]; /* of the file without ".conf", and of the node in Slurm */
	char address[VNODE_WORD_MAX]; /* "10.77.0.2/24" */
	char gateway[VNODE_WORD_MAX]; /* "10.77.0.1"; "": none */
	char mac[VNODE_WORD_MAX]; /* "02:4e:0a:4d:00:02"; by default derived from ADDRESS */
	char bridge[VNODE_WORD_MAX]; /* name of the host's bridge */
	unsigned mtu; /* bytes; 0: the kernel's default */
	char hosts[VNODE_TEXTS_MAX]; /* hosts that may run it: "hostA hostB"; "": all */
	unsigned cpus; /* CPUs that Slurm gives to its jobs, however many it has on a host */
	unsigned memory; /* MiB: Slurm's RealMemory, and the limit of the vnode's cgroup */
	char mounts[VNODE_TEXTS_MAX]; /* writable mounts of the host: "/home /scratch" */
	char mounts_ro[VNODE_TEXTS_MAX]; /* further mounts of the host, read-only; "": none */
	char tmpfs[VNODE_TEXTS_MAX]; /* directories that get a tmpfs, as /dev and /tmp do */
	char devices[VNODE_TEXTS_MAX]; /* "/dev/fuse", beside /dev/null and the like; or "" */
	char munge_key[DIR_PATH_MAX]; /* path in the vnode */
	char slurm_conf[DIR_PATH_MAX]; /* path in the vnode */
	unsigned stop_timeout; /* seconds for slurmd to end before it is killed */
};

/* One key of the file. */
struct vnode_key {
	char name[16];
	const char *allowed; /* allowed values, for messages */
	const char *otherwise; /* the default, in the form of the file; NULL: the key is required */
	const char *comment; /* purpose of the key, one line */
	size_t at; /* offset of the field in struct vnode_conf */
	unsigned min, max; /* bounds of a number; for a text, MAX is the size of the field */
	bool (*is_word)(const char *text, size_t len);
	int (*parse)(const struct vnode_key *key, struct vnode_conf *c, const char *value);
};
#define VNODE_KEYS_MAX 20

/* Return key number I, counted from 0, or NULL after the last key. */
const struct vnode_key *vnode_key_at(unsigned i);

/* Return whether TEXT is a vnode's name: lowercase letters, digits and '-', a letter first. */
bool vnode_is_name(const char *text, size_t len);

/*
 * Parse TEXT, the LEN bytes of the file PATH of vnode NAME. Returns 0, or -1 with an error such as
 * "PATH:LINE: KEY: reason (allowed: ...)".
 */
int vnode_conf_parse(struct vnode_conf *out, const char *name, const char *path, const char *text,
		     size_t len, struct errbuf *err);

/*
 * Load NAME.conf from the directory DIR. The file is refused if users other than root and OWNER can
 * change it (base/trusted_open.h). Returns 0, or -1 with the reason.
 */
int vnode_conf_load(struct vnode_conf *out, const char *dir, const char *name, uid_t owner,
		    struct errbuf *err);

/*
 * List the vnodes that have a file in DIR, sorted by name: *OUT is a malloc'ed array of *N names. A
 * missing directory gives an empty list. Returns 0, or -1 with the reason.
 */
int vnode_conf_list(char (**out)[VNODE_NAME_MAX], unsigned *n, const char *dir, struct errbuf *err);

/*
 * Return the next word of a list such as C->hosts, and set *LEN to its length. *AT is where to
 * begin, and is moved past the word. Returns NULL after the last word.
 */
const char *vnode_next_word(const char **at, size_t *len);

/*
 * Return whether HOST is one of C's hosts. Names are compared up to the first dot.
 */
bool vnode_allows_host(const struct vnode_conf *c, const char *host);

#endif
