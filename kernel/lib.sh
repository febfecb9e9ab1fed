#!/usr/bin/env bash
# Functions that kernel/build and kernel/check share: the source package, a source tree, its
# configuration. Source it with HERE set to its directory.

# shellcheck source-path=SCRIPTDIR source=../test/guest/lib.sh
. "$HERE/../test/guest/lib.sh"

SERIES_VERSION=6.12
# shellcheck disable=SC2034  # used by the scripts that source this
PATCHES=$HERE/patches/$SERIES_VERSION
# shellcheck disable=SC2034
CONFIG=$HERE/config
WORK=$CACHE/kernel
refresh='' # not empty: look for newer packages than the cached ones

update_lists () {
	local apt=$WORK/apt opts

	mkdir -p "$apt"
	archive_sources >"$apt/sources.list"
	mapfile -t opts < <(archive_apt "$apt")
	with_log "$apt/update.log" apt-get "${opts[@]}" update
}

# Print the path of the newest source package, from the cache or the archive.
fetch_source () {
	local apt=$WORK/apt opts deb

	deb=$(find "$WORK/source" -name 'linux-source-*.deb' 2>/dev/null | sort -V | tail -n 1)
	if [ -n "$deb" ] && [ -z "$refresh" ]; then
		echo "$deb"
		return
	fi
	say "downloading linux-source-$SERIES_VERSION from Debian $GUEST_SUITE (150 MB)"
	mkdir -p "$WORK/source"
	update_lists
	mapfile -t opts < <(archive_apt "$apt")
	(cd "$WORK/source" && with_log "$apt/download.log" \
		apt-get "${opts[@]}" download "linux-source-$SERIES_VERSION")
	find "$WORK/source" -name 'linux-source-*.deb' | sort -V | tail -n 1
}

unpack () {
	local deb=$1 tree=$2

	say "unpacking ${deb##*/}"
	rm -rf "$tree" "$tree.new"
	mkdir -p "$tree.new"
	dpkg-deb --fsys-tarfile "$deb" |
		tar -xO "./usr/src/linux-source-$SERIES_VERSION.tar.xz" |
		tar -xJ --strip-components=1 -C "$tree.new"
	mkdir "$tree.new/.applied"
	mv "$tree.new" "$tree"
}

# apply_series TREE PATCH...: changes TREE to have exactly these patches. Keeps the applied patches
# up to the first difference, so that make compiles only changed files. Fails or dies on a tree that
# was edited by hand; the caller then unpacks it again.
apply_series () {
	local tree=$1 stack=$1/.applied n=0 keep name have last names

	shift
	names=("$@")
	while [ -e "$stack/$(printf %04d $n)" ]; do
		n=$((n + 1))
	done
	last=$n
	for ((n = 0; n < last; n++)); do
		have=$stack/$(printf %04d $n)
		if [ $n -ge ${#names[@]} ] || ! cmp -s "$have" "$PATCHES/${names[n]}"; then
			break
		fi
	done
	keep=$n
	for ((n = last - 1; n >= keep; n--)); do
		have=$stack/$(printf %04d $n)
		patch -d "$tree" -R -p1 -s -f --no-backup-if-mismatch <"$have" >&2 || return 1
		rm "$have"
	done
	for ((n = keep; n < ${#names[@]}; n++)); do
		name=${names[n]}
		[ -r "$PATCHES/$name" ] || die "series names $name, but $PATCHES has no such file"
		say "applying $name"
		patch -d "$tree" -p1 -s -f --no-backup-if-mismatch <"$PATCHES/$name" >&2 ||
			{ rm -rf "$tree/.applied"; die "$name does not apply to ${tree##*/}"; }
		cp "$PATCHES/$name" "$stack/$(printf %04d $n)"
	done
}

# check_config TREE FRAGMENT...: dies if Kconfig has silently dropped an option of the FRAGMENTs
# whose dependencies are missing. If several fragments set an option, the last one counts.
check_config () {
	local tree=$1 line option missing=()
	local -A want=()

	shift
	while read -r line; do
		case $line in
		CONFIG_*=n) want[${line%%=*}]="" ;;
		CONFIG_*) want[${line%%=*}]=$line ;;
		'# CONFIG_'*' is not set') line=${line#\# }; want[${line%% *}]="" ;;
		esac
	done < <(cat "$@")
	for option in "${!want[@]}"; do
		line=${want[$option]}
		if [ -z "$line" ]; then
			! grep -q "^$option=" "$tree/.config" || missing+=("$option=n")
		elif [[ $line != *'=""' ]] || grep -q "^$option=" "$tree/.config"; then
			# a missing option counts as empty
			grep -qxF "$line" "$tree/.config" || missing+=("$line")
		fi
	done
	[ ${#missing[@]} -eq 0 ] ||
		die "requested options are not in $tree/.config" \
			"(a dependency is missing): ${missing[*]}"
}
