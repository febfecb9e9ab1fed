#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds plugins for the installed QEMU.  To be sourced after lib.sh.

# plugin_header: qemu-plugin.h of the installed QEMU; it is in QEMU's source package only, and must
# be that of the binary.  Prints its path.
plugin_header () {
	local apt=$CACHE/qemu/apt version to opts

	version=$(dpkg-query -W -f '${source:Version}' qemu-system-x86 2>/dev/null) ||
		die "no Debian package qemu-system-x86 here: give --header"
	to=$CACHE/qemu/include-$(hash_of <<<"$version")
	[ -s "$to/qemu-plugin.h" ] || lock qemu-header
	if [ ! -s "$to/qemu-plugin.h" ]; then
		say "downloading the source package of QEMU $version (25 to 40 MB)"
		mkdir -p "$apt" "$to"
		# of lib.sh: the archive of this machine, not of the guest
		# shellcheck disable=SC2034
		GUEST_SUITE=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
		archive_sources | sed 's/^deb /deb-src /' >"$apt/sources.list"
		mapfile -t opts < <(archive_apt "$apt")
		with_log "$apt/update.log" apt-get "${opts[@]}" update
		rm -f "$apt"/qemu_*
		(cd "$apt" && with_log "$apt/download.log" \
			apt-get "${opts[@]}" source --download-only --tar-only "qemu=$version")
		tar -xOf "$apt"/qemu_*.orig.tar.* --wildcards '*/include/qemu/qemu-plugin.h' \
			>"$to/header"
		rm -f "$apt"/qemu_*
		mv "$to/header" "$to/qemu-plugin.h"
	fi
	echo "$to/qemu-plugin.h"
}

# plugin_build HEADER SOURCE DIR: makes DIR/NAME.so of NAME.c.
plugin_build () {
	local header=$1 source=$2 dir=$3 name

	mkdir -p "$dir/include"
	cp "$header" "$dir/include/qemu-plugin.h"
	# newer headers want two names of GLib that this plugin does not use
	echo 'typedef struct GArray GArray; typedef struct GByteArray GByteArray;' \
		>"$dir/include/glib.h"
	name=$(basename "$source" .c)
	gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I"$dir/include" -o "$dir/$name.so" "$source"
}
