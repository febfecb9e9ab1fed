# Faults of a device: read and write errors, delays, lost writes, no answer.
. /lib.sh
export DM_DISABLE_UDEV=1 # without udev dmsetup itself makes the nodes
size=32768 # sectors
table() { # makes device d, or changes it, by the table on standard input
	if [ -e /dev/mapper/d ]; then
		dmsetup suspend --noflush d
		dmsetup load d
		dmsetup resume d
	else
		dmsetup create d
	fi
}
linear() { echo "0 $size linear /dev/ram0 0"; }
flakey() { echo "0 $size flakey $1 0 0 600 1 $2"; } # DEVICE, FAULT from now on: prints a table
each() { # COMMAND, FIRST, LAST: prints the command for each page
	seq "$2" "$3" | sed "s/^/$1/"
}
# Print the first word of page $1 as the device has it. The device is held open, so the page cache
# must be dropped first.
on_device() {
	echo 3 >/proc/sys/vm/drop_caches
	od -An -t u8 -j $(($1 * 4096)) -N 8 /dev/ram0 | tr -d ' '
}
# Print the word that the command "w" of touch writes at the start of page $1.
written() { echo $((0x1234567 + $1 * 512)); }
null_device() { # SETTING...: makes the null block device x, and sets $device to its name
	mkdir /config/nullb/x
	for setting in memory_backed=1 size=16 "$@"; do
		echo ${setting#*=} >/config/nullb/x/${setting%=*}
	done
	ls /dev >/tmp/devices
	echo 1 >/config/nullb/x/power
	device=/dev/$(ls /dev | grep -vxFf /tmp/devices)
}
more_free() { # MIB
	[ "$(all_free)" -gt "$1" ]
}
mkdir -p /config
mount -t configfs none /config
# let the device take its memory before the measurement
dd if=/dev/zero of=/dev/ram0 bs=64k count=256 2>/dev/null
linear | table
buffer size=4M,src=/dev/mapper/d && /touch /m/data r1 w2 s >/dev/null && umount /m
start=$(all_free)

# reads: pages 1024 to 1027 cannot be read
printf '%s\n' "0 8192 linear /dev/ram0 0" "8192 32 error" "8224 24544 linear /dev/ram0 8224" | table
buffer size=4M,src=/dev/mapper/d,fill=64K
want="r1023 ok r1024 SIGBUS c1025 Input/output error r1027 SIGBUS r1028 ok w1026 SIGBUS"
what="read error: it affects its page, not the neighbours;"
same "$(touched /m/data r1023 r1024 c1025 r1027 r1028 w1026 d1024 r1024)" \
	"$want d1024 ok r1024 ok " "$what a page written as a whole is not read"
same "$(dd if=/m/data bs=48k skip=85 count=1 2>/dev/null | wc -c)" 20480 \
	"read error: read() returns the data before the error"
[ "$(stat_of read_errors)" -ge 4 ]
ok $? "read error: errors are counted"
linear | table
same "$(touched /m/data r1024 c1025 w1026 s)" "r1024 ok c1025 ok w1026 ok s ok " \
	"read error: the next access reads from the device again"
umount /m
# a block that cannot be read until it is written, like those of disks
if dmsetup targets | grep -q ^dust; then
	echo "0 $size dust /dev/ram0 0 4096" | table
	dmsetup message d 0 addbadblock 2000
	dmsetup message d 0 enable
	buffer size=4M,src=/dev/mapper/d,fill=64K
	same "$(touched /m/data r2001 r2000 w2000 d2000 s)" \
		"r2001 ok r2000 SIGBUS w2000 SIGBUS d2000 ok s ok " \
		"bad block: a write of the page repairs it"
	umount /m
	buffer size=4M,src=/dev/mapper/d
	same "$(touched /m/data r2000)" "r2000 ok " "bad block: a repaired block can be read"
	umount /m
else # Debian's kernel lacks the target
	for what in "bad block: a write of the page repairs it" \
		"bad block: a repaired block can be read"; do
		ok 0 "$what # SKIP this kernel has no target dust"
	done
fi

# every write fails
linear | table
buffer size=4M,src=/dev/mapper/d
mkfifo /tmp/go
/touch /m/data i s s i s m </tmp/go >/tmp/out & other=$!
exec 3>/tmp/go
sleep 1
flakey /dev/ram0 error_writes | table
same "$(touched /m/data w5 s s w6 m)" \
	"w5 ok s Input/output error s Input/output error w6 ok m Input/output error " \
	"write error: fsync and msync report the error"
same "$(stat_of dirty) $(stat_of lost)" "2 0" "write error: the pages stay dirty"
[ "$(on_device 5)" != "$(written 5)" ]
ok $? "write error: the pages are not on the device"
linear | table
same "$(touched /m/data s)" "s ok " "write error: fsync succeeds when the device takes writes again"
same "$(stat_of dirty) $(on_device 5) $(on_device 6)" "0 $(written 5) $(written 6)" \
	"write error: after the successful fsync, the pages are on the device"
echo >&3
sleep 1
same "$(tr '\n' ' ' </tmp/out)" "i ok s Input/output error s ok " \
	"write error: another process with the file open gets the error once"
echo >&3
wait $other
same "$(tail -n 2 /tmp/out | tr '\n' ' ')" "s ok m ok " \
	"write error: the other process does not get the error again"
flakey /dev/ram0 error_writes | table
timeout 60 /touch /m/data Z >/tmp/out &
wait_for 300 grep -q "Z SIGBUS" /tmp/out
ok $? "write error: a program that writes more than the buffer holds gets SIGBUS"
echo "# $(stat_of dirty) of $(stat_of pages) pages are dirty"
same "$(touched /m/data r0 w0 c1)" "r0 ok w0 ok c1 ok " "write error: present pages can be used"
# the read may fail if the part of the buffer for this page is full; it must end in any case
same "$(timeout 20 /touch /m/data r4000 c4001 | cut -d' ' -f1 | tr '\n' ' ')" "r4000 c4001 " \
	"write error: a read of a missing page ends"
linear | table
same "$(touched /m/data s s r4000 c4001) $(stat_of dirty)" \
	"s Input/output error s ok r4000 ok c4001 ok  0" \
	"write error: accesses succeed when the device takes writes again"
flakey /dev/ram0 error_writes | table
same "$(touched /m/data $(each w 20 29) s | grep -o 's .*')" "s Input/output error " \
	"write error: fsync reports a second failure"
umount /m
ok $? "write error: umount succeeds"
dmesg | tail -n 5 | grep -q "dimmapfs: 10 pages could not be written to dm-0 and are lost"
ok $? "write error: the log counts the lost pages"
buffer size=4M,src=/dev/mapper/d
/touch /m/data $(each w 30 36) s >/dev/null
umount -f /m
ok $? "write error: umount -f succeeds"
dmesg | tail -n 5 | grep -q "dimmapfs: 7 pages could not be written to dm-0 and are lost"
ok $? "write error: the log counts the pages lost by umount -f"
linear | table
# a disk fails a whole request when a part of it fails
null_device
buffer size=4M,src=$device
echo +160-167 >/config/nullb/x/badblocks
same "$(touched /m/data $(each d 16 31) s | grep -o 's .*')" "s Input/output error " \
	"bad sector: fsync reports that one of many pages cannot be written"
same "$(stat_of dirty)" 1 "bad sector: the other pages are written"
/touch /m/data w20 s >/tmp/out
echo -160-167 >/config/nullb/x/badblocks
same "$(touched /m/data s) $(stat_of dirty)" "s ok  0" \
	"bad sector: the page is written once its sector can be written"
umount /m
rmdir /config/nullb/x
# the flush of a device's cache can fail
null_device cache_size=1
flakey $device error_writes | table
buffer size=4M,src=/dev/mapper/d
same "$(touched /m/data r5 s m)" "r5 ok s Input/output error m Input/output error " \
	"flush error: fsync and msync report the error"
umount /m
linear | table
rmdir /config/nullb/x

# a device loses writes silently: after umount the file must have the device's data
flakey /dev/ram0 drop_writes | table
before=$(on_device 7)
buffer size=4M,src=/dev/mapper/d
same "$(touched /m/data w7 s r7)" "w7 ok s ok r7 ok " "lost writes: accesses succeed"
same "$(od -An -t u8 -j 28672 -N 8 /m/data | tr -d ' ')" "$(written 7)" \
	"lost writes: the buffer has the data"
umount /m
buffer size=4M,src=/dev/mapper/d
same "$(od -An -t u8 -j 28672 -N 8 /m/data | tr -d ' ')" "$before" \
	"lost writes: the next mount has the device's data"
umount /m

# a device whose requests take 50 ms
echo "0 $size delay /dev/ram0 0 50" | table
buffer size=1M,src=/dev/mapper/d,fill=64K
/model /m/data 512 2 2 60 11 wps
ok $? "slow device: accesses equal the model"
# delays are counted in ticks; the emulated processors of a busy machine miss some and catch up
awk -F '[_ ]' \
	'/^major_below_ns_/ { all += $5; if ($4 < 50000000) few += $5 }
	END { exit !(all > 0 && few * 20 <= all) }' /m/.stats
ok $? "slow device: major accesses have its latency"
umount /m
# a write to the second half takes 20 seconds; writes to the first half do not count as its progress
printf '%s\n' "0 16384 linear /dev/ram0 0" \
	"16384 16384 delay /dev/ram0 16384 0 /dev/ram0 16384 20000" | table
buffer size=1M,src=/dev/mapper/d,dirty_bg=0
/touch /m/data Z64 >/dev/null & busy=$!
/touch /m/data w3000 >/dev/null
sleep 1
began=$(tenths)
same "$(touched /m/data y3000)" "y3000 Connection timed out " \
	"half slow: other writes do not prolong DIMMAP_IOC_SYNC"
took=$(($(tenths) - began))
[ $took -lt 100 ]
ok $? "half slow: DIMMAP_IOC_SYNC ends after its limit"
echo "# $took tenths of a second, $(stat_of pages_written) pages written meanwhile"
kill -9 $busy
gone $busy 50
linear | table # writes the waiting pages
umount /m
same "$(on_device 3000)" "$(written 3000)" "half slow: the page reaches the device"
same "$(stat_of dirty)" "" "half slow: umount has ended the mount"

# a device that does not answer
waiter() { # NAME, COMMAND...: in the background
	local name=$1
	shift
	"$@" >/dev/null 2>&1 &
	echo "$! $name" >>/tmp/who
}
for most in 60 100; do
	buffer size=4M,src=/dev/mapper/d,dirty_bg=$most,dirty_max=$most
	/touch /m/data w9 r10 >/dev/null
	dmsetup suspend --noflush d
	: >/tmp/who
	waiter "a read of a mapping" /touch /m/data r11
	waiter "a write to a mapping" /touch /m/data w12
	waiter "read()" cat /m/data
	waiter "write() of a part" dd if=/dev/zero of=/m/data bs=100 seek=1000 count=1 conv=notrunc
	# whole pages need no read: this command writes until $most percent of the buffer are dirty
	waiter "write() of much" /touch /m/data $(each d 100 2000)
	sleep 2
	waiter "fsync" /touch /m/data s
	waiter "msync" /touch /m/data m
	waiter "sync" sync
	sleep 2
	echo "# $(stat_of dirty) of $(stat_of pages) pages are dirty"
	while read -r pid name; do
		ended $pid
		good=$(($? == 0))
		kill -9 $pid
		gone $pid 9
		ok $((good + $?)) \
			"no answer, $most %: $name waits, and ends within a second when killed"
	done </tmp/who
	dmsetup resume d
	same "$(touched /m/data r11 s)" "r11 ok s ok " \
		"no answer, $most %: accesses succeed when the device answers again"
	umount /m
done
# umount -f ends the waits; the memory is not reused before the device has finished with it
buffer size=256M,src=/dev/mapper/d
/touch /m/data w9 >/dev/null
dmsetup suspend --noflush d
/touch /m/data r12 >/tmp/out & reader=$!
/touch /m/data s >/tmp/out2 & syncer=$!
sleep 1
umount -f /m 2>/dev/null
gone $reader 20 && gone $syncer 20
ok $? "no answer: umount -f ends all waits"
same "$(cat /tmp/out /tmp/out2 | tr '\n' ' ')" "r12 SIGBUS s Input/output error " \
	"no answer: waiting programs get SIGBUS or an error"
umount /m 2>/dev/null
grep -q " /m dimmapfs" /proc/mounts
ok $(($? == 0)) "no answer: umount -f unmounts"
[ "$(all_free)" -lt $((start - 200)) ]
ok $? "no answer: the memory stays while the device may write to it"
rmmod dimmapfs 2>/dev/null
ok $(($? == 0)) "no answer: the module stays while the device may use its memory"
dmsetup resume d
wait_for 100 more_free $((start - 100))
ok $? "no answer: the memory is free when the device answers"
# programs also wait for room while all pages are at the device
buffer size=256K,src=/dev/mapper/d,dirty_bg=100,dirty_max=100
dmsetup suspend --noflush d
: >/tmp/who
waiter "a writer" /touch /m/data $(each d 0 200)
waiter "a second writer" /touch /m/data $(each d 1000 1200)
sleep 3
umount -f /m 2>/dev/null
while read -r pid name; do
	gone $pid 20
	ok $? "no answer: umount -f ends the wait of $name for room"
done </tmp/who
umount /m 2>/dev/null
dmsetup resume d
# umount without -f gives up a device that does not answer, and waits for a slow one: 1 MB a second
null_device size=80 mbps=1 max_sectors=32 # with max_sectors above the rate no request would end
mount -t dimmapfs -o "size=96M,src=$device,dirty_bg=100,dirty_max=100" none /n
dd if=/dev/urandom of=/tmp/much bs=1M count=72 2>/dev/null
dd if=/tmp/much of=/n/data bs=1M conv=notrunc 2>/dev/null
began=$(tenths)
(umount /n; tenths >/tmp/ended) & slow=$!
buffer size=256M,src=/dev/mapper/d
/touch /m/data w9 w10 >/dev/null
dmsetup suspend --noflush d
same "$(/touch /m/data y2000)" "y2000 Connection timed out" \
	"no answer: DIMMAP_IOC_SYNC ends after its limit"
umount /m & umount=$!
gone $umount 100
ok $(($? == 0)) "no answer: umount waits for the device"
gone $umount 700
ok $? "no answer: umount gives up after a minute"
gone $slow 3000
ok $? "1 MB a second: umount ends"
took=$(($(cat /tmp/ended) - began))
[ $took -gt 650 ]
ok $? "1 MB a second: umount waits for more than a minute"
echo "# $took tenths of a second"
echo 0 >/config/nullb/x/mbps
cmp -n $((72 << 20)) /tmp/much $device
ok $? "1 MB a second: all data is on the device"
rm /tmp/much
echo 0 >/config/nullb/x/power
rmdir /config/nullb/x
dmesg | tail -n 5 | grep -q "dimmapfs: dm-0 does not answer: what is on its way to it may be lost"
ok $? "no answer: the log names the device"
dmsetup resume d
wait_for 600 rmmod dimmapfs 2>/dev/null
ok $? "no answer: the module can be unloaded when the device answers"
same "$(on_device 9) $(on_device 10)" "$(written 9) $(written 10)" \
	"no answer: the pages at the device are written"
dmsetup remove d
ok $? "no answer: the device can be removed in the end"
end=$(all_free)
# a debug kernel keeps some memory
keeps=8
grep -q kasan_ /proc/kallsyms && keeps=64
echo "# $start MiB were free before, $end are after"
[ "$end" -ge $((start - keeps)) ]
ok $? "all memory is free again"
finish
