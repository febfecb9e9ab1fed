# Functions that the guest's scripts share; busybox runs them, and the programs of the test are
# beside it.
export PATH=/bin
mkdir -p /bin /m /n /dev/shm /tmp
/busybox --install -s /bin 2>/dev/null
count=0
ok() { # STATUS OF THE CONDITION, NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}
same() { # GOT, WANT, NAME
	[ "$1" = "$2" ]
	local good=$?
	ok $good "$3"
	[ $good = 0 ] || printf '# got %s\n' "$(echo "$1" | tr '\n' '|') want $(echo "$2" |
		tr '\n' '|')"
}
touched() { # FILE, COMMAND...: runs /touch, prints its output in one line
	/touch "$@" | tr '\n' ' '
}
stat_of() { # NAME: prints a counter of the mount /m
	sed -n "s/^$1 //p" /m/.stats
}
buffer() { # OPTIONS: mounts a buffer at /m
	mount -t dimmapfs -o "$1" none /m
}
# Prints the last message of dimmapfs in the kernel's log, with error numbers, since some kernels
# print no names of errors.
why() {
	dmesg | sed -n 's/(-EBUSY)/(-16)/;s/(-ENOENT)/(-2)/;s/.*dimmapfs: //p' | tail -n 1
}
free_mib() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemFree/ { print int($2 / 1024) }' /proc/meminfo
}
# free MiB, including the pages on per-CPU lists
all_free() {
	free=$(free_mib)
	awk -v free=$free '/^ +count:/ { pages += $2 } END { print free + int(pages / 256) }' \
		/proc/zoneinfo
}
tenths() { # prints the tenths of a second since the boot
	cut -d' ' -f1 /proc/uptime | sed 's/\(\.[0-9]\).*/\1/;s/\.//'
}
# Waits until the command succeeds, at most TENTHS of a second.
wait_for() { # TENTHS, COMMAND...
	local end=$(($(tenths) + $1))
	shift
	until "$@"; do
		[ "$(tenths)" -lt $end ] || return 1
		usleep 100000
	done
}
ended() { # PID: succeeds if the process has ended
	[ ! -e "/proc/$1" ] || grep -q '^State:	Z' "/proc/$1/status"
}
gone() { # PID, TENTHS: waits at most TENTHS of a second for the end of the process
	wait_for "$2" ended "$1"
}
finish() {
	echo "1..$count"
}
# drivers that are modules in a distribution's kernel, with parameters from the command line
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
