#!/usr/bin/env bash
# Functions that the scripts of kernel and test/guest source: cache, log, hashes, locks, the order
# of patches, the Debian archive, and the accelerator.

GUEST_SUITE=trixie # of the kernel source; also of the root file system by default
GUEST_ARCH=amd64
# shellcheck disable=SC2034  # used by the scripts that source this
GUEST_LIBDIR=/usr/lib/x86_64-linux-gnu

PROG=${PROG:-${0##*/}}
CACHE=${NODEOS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nodeos}

# suite_of_slurm SERIES: print the Debian release that has this series of Slurm.
suite_of_slurm () {
	case $1 in
	22.05) echo bookworm ;;
	24.11) echo trixie ;;
	newest) echo sid ;;
	*) die "--slurm $1: expected 22.05, 24.11 or newest" ;;
	esac
}

say () {
	printf '%s: %s\n' "$PROG" "$*" >&2
}

die () {
	printf '%s: error: %s\n' "$PROG" "$*" >&2
	exit 1
}

# need_tools COMMAND[:PACKAGE]...: die unless all commands exist. The error names the packages.
need_tools () {
	local item missing=()

	for item; do
		command -v "${item%%:*}" >/dev/null || missing+=("${item##*:}")
	done
	[ ${#missing[@]} -eq 0 ] ||
		die "missing here: ${missing[*]}; try: apt-get install ${missing[*]}"
}

# check_tree DIR: die if the sources in DIR cannot be built in another directory. If configure has
# run in DIR, it refuses another build directory, and products in DIR would count as sources. git
# may also refuse to work in DIR.
check_tree () {
	local why

	[ ! -e "$1/config.status" ] ||
		die "$1 is configured: run \"make distclean\" there, and build in another directory"
	[ ! -e "$1/.git" ] || why=$(git -C "$1" rev-parse --git-dir 2>&1 >/dev/null) ||
		die "git cannot list $1: $why"
}

# print_sources: print the files in the current directory that git would commit, or without a
# repository all files, each followed by a NUL. First call check_tree on the directory. So a fresh
# clone and a configured tree give the same list.
print_sources () {
	if [ -e .git ]; then
		git ls-files -co --exclude-standard -z
	else
		find . \( -path ./build -o -path ./out \) -prune -o -type f -printf '%P\0'
	fi | while IFS= read -r -d '' file; do
		if [ -e "$file" ]; then
			printf '%s\0' "$file"
		fi
	done
}

need_root () {
	[ "$(id -u)" -eq 0 ] ||
		die "$1 needs root (chroot, file owners): run it with sudo -E"
}

# hash_of: print the first 16 hex digits of the SHA-256 of standard input.
hash_of () {
	sha256sum | cut -c1-16
}

# hash_files FILE...: print a text that depends on the names and the contents of the files.
hash_files () {
	sha256sum -- "$@" | sed 's,  .*/,  ,'
}

# lock NAME: take the lock NAME until this script ends. Waits while another script has the lock.
lock () {
	local fd

	case " ${LOCKS:-} " in *" $1 "*) return ;; esac
	LOCKS="${LOCKS:-} $1"
	mkdir -p "$CACHE/locks"
	exec {fd}>"$CACHE/locks/$1"
	if ! flock -n "$fd"; then
		say "waiting for another $PROG that holds the lock \"$1\""
		# Poll: if the script is killed, a flock that waits would live on and hold the
		# script's other locks.
		until flock -n "$fd"; do
			sleep 1
		done
	fi
}

# with_log FILE COMMAND...: run COMMAND with its output in FILE. If COMMAND fails, show the end of
# FILE and die.
with_log () {
	local log=$1 status

	shift
	# Call COMMAND as a plain command. In a condition, set -e would have no effect in COMMAND.
	set +e
	(set -e; "$@") >"$log" 2>&1
	status=$?
	set -e
	if [ $status -ne 0 ]; then
		tail -n 40 "$log" >&2
		die "failed: $* (whole log: $log)"
	fi
}

# series_patches DIR: print the names in DIR/series, in order, without comments.
series_patches () {
	sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$1/series"
}

# ---- the Debian archive, from the sources of this machine's apt

# archive_uris REGEX: print the URIs of those repositories of this machine's apt whose suite
# matches.
archive_uris () {
	apt-get indextargets --format "\$(RELEASE) \$(REPO_URI)" |
		awk -v re="$1" '$1 ~ re && !seen[$2]++ { print $2 }'
}

archive_has () {
	local probe

	probe=$(mktemp)
	if /usr/lib/apt/apt-helper download-file "${1%/}/dists/$2/InRelease" \
		"$probe" >/dev/null 2>&1; then
		rm -f "$probe"
		return 0
	fi
	rm -f "$probe"
	return 1
}

# archive_line URI SUITE: print a line for apt's sources. Snapshots of the archive and mirrors of
# unstable may be old, so apt does not check Valid-Until for them.
archive_line () {
	local opts="arch=$GUEST_ARCH signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"

	if [[ $1 =~ /[0-9]{8}T[0-9]{6}Z || $2 = sid ]]; then
		opts="$opts check-valid-until=no"
	fi
	echo "deb [$opts] ${1%/} $2 main"
}

# archive_sources: print apt sources for the guest's suite, from the mirrors of this machine's apt
# or from NODEOS_MIRROR.
archive_sources () {
	local uri found='' security
	local uris=()

	[ -r /usr/share/keyrings/debian-archive-keyring.gpg ] ||
		die "no Debian archive keyring; try: apt-get install debian-archive-keyring"
	if [ -n "${NODEOS_MIRROR:-}" ]; then
		uris=("$NODEOS_MIRROR")
	else
		mapfile -t uris < <(archive_uris '^[a-z]+$')
	fi
	for uri in "${uris[@]}"; do
		if archive_has "$uri" "$GUEST_SUITE"; then
			found=$uri
			break
		fi
	done
	[ -n "$found" ] ||
		die "none of apt's archives (${uris[*]:-none}) has Debian $GUEST_SUITE, or they" \
			"cannot be reached; set NODEOS_MIRROR to one that has it"
	archive_line "$found" "$GUEST_SUITE"
	if archive_has "$found" "$GUEST_SUITE-updates"; then
		archive_line "$found" "$GUEST_SUITE-updates"
	fi
	mapfile -t security < <(archive_uris '-security$')
	for uri in "${security[@]}"; do
		if archive_has "$uri" "$GUEST_SUITE-security"; then
			archive_line "$uri" "$GUEST_SUITE-security"
			break
		fi
	done
}

# archive_apt DIR: print options, one per line, with which apt-get works in DIR. It ignores the
# machine's packages, but uses the machine's proxies.
archive_apt () {
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	: >"$1/status"
	printf '%s\n' -o "Dir::State=$1" -o "Dir::State::lists=$1/lists" \
		-o "Dir::State::status=$1/status" -o "Dir::Cache=$1/cache" \
		-o "Dir::Etc::sourcelist=$1/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o "APT::Architecture=$GUEST_ARCH" -o "APT::Architectures=$GUEST_ARCH" \
		-o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o APT::Sandbox::User=root
}

# ---- accelerator

# accelerator KERNEL: print kvm or tcg. Guests may hang in their firmware even if /dev/kvm can be
# opened. So this starts a tiny guest, which must panic. The result is kept until this machine
# reboots.
accelerator () {
	local boot verdict log

	boot=$(cat /proc/sys/kernel/random/boot_id)
	verdict=$CACHE/accel-$boot
	if [ -n "${NODEOS_ACCEL:-}" ]; then
		echo "$NODEOS_ACCEL"
		return
	fi
	if [ ! -s "$verdict" ]; then
		mkdir -p "$CACHE"
		if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
			say "probing /dev/kvm with a tiny guest (20 s at most)"
			log=$(mktemp)
			timeout -k 1 20 qemu-system-x86_64 -machine q35 -accel kvm -cpu max \
				-smp 2 -m 256M -nodefaults -display none -no-reboot \
				-serial "file:$log" -kernel "$1" \
				-append 'console=ttyS0 panic=-1 root=none' \
				</dev/null >/dev/null 2>&1 || true
			if grep -q 'Kernel panic' "$log"; then
				echo kvm >"$verdict"
			fi
			rm -f "$log"
		fi
		[ -s "$verdict" ] || echo tcg >"$verdict"
		say "until this machine reboots, guests run under $(cat "$verdict")"
	fi
	cat "$verdict"
}
