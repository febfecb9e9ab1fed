# What scripts of the guest have in common; they are run by busybox,
# with programs of the test beside it.
export PATH=/bin
mkdir -p /bin /m /n /dev/shm /tmp
/busybox --install -s /bin 2>/dev/null
count=0
ok() { # CONDITION'S STATUS, WHAT
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}
same() { # GOT, WANT, WHAT
	[ "$1" = "$2" ]
	local good=$?
	ok $good "$3"
	[ $good = 0 ] || printf '# got %s\n' "$(echo "$1" | tr '\n' '|') want $(echo "$2" |
		tr '\n' '|')"
}
touched() { # FILE, COMMAND...: of /touch, and what they say, in a line
	/touch "$@" | tr '\n' ' '
}
stat_of() { # NAME: of the mount /m
	sed -n "s/^$1 //p" /m/.stats
}
buffer() { # OPTIONS: mounted at /m
	mount -t dimmapfs -o "$1" none /m
}
# What the last mount of ours that failed has said in the kernel's log,
# where not every kernel names errors.
why() {
	dmesg | sed -n 's/(-EBUSY)/(-16)/;s/(-ENOENT)/(-2)/;s/.*dimmapfs: //p' | tail -n 1
}
free_mib() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemFree/ { print int($2 / 1024) }' /proc/meminfo
}
# MiB, with the pages that each CPU keeps to give them out again
all_free() {
	free=$(free_mib)
	awk -v free=$free '/^ +count:/ { pages += $2 } END { print free + int(pages / 256) }' \
		/proc/zoneinfo
}
tenths() { # of seconds since the boot
	cut -d' ' -f1 /proc/uptime | sed 's/\(\.[0-9]\).*/\1/;s/\.//'
}
# Waits for so many tenths of a second at most until the command is true.
wait_for() { # TENTHS, COMMAND...
	local end=$(($(tenths) + $1))
	shift
	until "$@"; do
		[ "$(tenths)" -lt $end ] || return 1
		usleep 100000
	done
}
ended() { # PID
	[ ! -e "/proc/$1" ] || grep -q '^State:	Z' "/proc/$1/status"
}
gone() { # PID, TENTHS: it has ended by then
	wait_for "$2" ended "$1"
}
finish() {
	echo "1..$count"
}
# a distribution's kernel has them as modules, with parameters as on the command line
for driver in /[0-9][0-9]-*.ko; do
	[ -e "$driver" ] || break
	name=$(basename "$driver" .ko | cut -c4- | tr - _)
	insmod "$driver" $(tr ' ' '\n' </proc/cmdline | sed -n "s/^$name\.//p") ||
		echo "# $driver cannot be loaded"
done
usleep 300000
insmod /dimmapfs.ko 2>/tmp/why || { cat /tmp/why; dmesg | tail -n 3; } | sed 's,^,# ,'
[ -d /sys/module/dimmapfs ]
ok $? "the module is loaded"
