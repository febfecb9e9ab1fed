# Faults of the device: errors of reads and writes, slowness, writes that it forgets,
# none that it answers.
. /lib.sh
export DM_DISABLE_UDEV=1 # there is none: dmsetup itself makes the nodes
size=32768 # sectors
table() { # of device d
	if [ -e /dev/mapper/d ]; then
		dmsetup suspend --noflush d
		dmsetup load d
		dmsetup resume d
	else
		dmsetup create d
	fi
}
linear() { echo "0 $size linear /dev/ram0 0"; }
flakey() { echo "0 $size flakey $1 0 0 600 1 $2"; } # from now on
each() { # COMMAND, FIRST, LAST: for as many pages
	seq "$2" "$3" | sed "s/^/$1/"
}
# The first word of a page on the device, and what w of touch makes of it. The device is held open,
# so its cache is, too.
on_device() {
	echo 3 >/proc/sys/vm/drop_caches
	od -An -t u8 -j $(($1 * 4096)) -N 8 /dev/ram0 | tr -d ' '
}
written() { echo $((0x1234567 + $1 * 512)); }
null_device() { # SETTING...: makes x
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
# so that the memory that it takes is taken before it is measured
dd if=/dev/zero of=/dev/ram0 bs=64k count=256 2>/dev/null
linear | table
buffer size=4M,src=/dev/mapper/d && /touch /m/data r1 w2 s >/dev/null && umount /m
start=$(all_free)

# reads: pages 1024 to 1027 cannot be read
printf '%s\n' "0 8192 linear /dev/ram0 0" "8192 32 error" "8224 24544 linear /dev/ram0 8224" | table
buffer size=4M,src=/dev/mapper/d,fill=64K
want="r1023 ok r1024 SIGBUS c1025 Input/output error r1027 SIGBUS r1028 ok w1026 SIGBUS"
what="an error of the device is that of the page, not of its neighbours;"
same "$(touched /m/data r1023 r1024 c1025 r1027 r1028 w1026 d1024 r1024)" \
	"$want d1024 ok r1024 ok " "$what a page that is written as a whole is not read"
same "$(dd if=/m/data bs=48k skip=85 count=1 2>/dev/null | wc -c)" 20480 \
	"read() gives what is before the error"
[ "$(stat_of read_errors)" -ge 4 ]
ok $? "errors are counted"
linear | table
same "$(touched /m/data r1024 c1025 w1026 s)" "r1024 ok c1025 ok w1026 ok s ok " \
	"an error is not kept"
umount /m
# a block that cannot be read until it is written, as those of disks
if dmsetup targets | grep -q ^dust; then
	echo "0 $size dust /dev/ram0 0 4096" | table
	dmsetup message d 0 addbadblock 2000
	dmsetup message d 0 enable
	buffer size=4M,src=/dev/mapper/d,fill=64K
	same "$(touched /m/data r2001 r2000 w2000 d2000 s)" \
		"r2001 ok r2000 SIGBUS w2000 SIGBUS d2000 ok s ok " \
		"a write of the page heals a block that cannot be read"
	umount /m
	buffer size=4M,src=/dev/mapper/d
	same "$(touched /m/data r2000)" "r2000 ok " "so it can be read again"
	umount /m
else # Debian's kernel is without
	for what in "a write of the page heals a block that cannot be read" \
		"so it can be read again"; do
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
	"a write error is told by fsync and msync"
same "$(stat_of dirty) $(stat_of lost)" "2 0" "and the pages are dirty still"
[ "$(on_device 5)" != "$(written 5)" ]
ok $? "as they are not on the device"
linear | table
same "$(touched /m/data s)" "s ok " "until they can be written"
same "$(stat_of dirty) $(on_device 5) $(on_device 6)" "0 $(written 5) $(written 6)" \
	"and are on the device"
echo >&3
sleep 1
same "$(tr '\n' ' ' </tmp/out)" "i ok s Input/output error s ok " \
	"who had the file open is told of the error, too, and once"
echo >&3
wait $other
same "$(tail -n 2 /tmp/out | tr '\n' ' ')" "s ok m ok " "and not again"
flakey /dev/ram0 error_writes | table
timeout 60 /touch /m/data Z >/tmp/out &
wait_for 300 grep -q "Z SIGBUS" /tmp/out
ok $? "who writes more than there is room gets SIGBUS when nothing can be written"
echo "# $(stat_of dirty) of $(stat_of pages) pages are dirty"
same "$(touched /m/data r0 w0 c1)" "r0 ok w0 ok c1 ok " "what is there can be used"
# in a part of the buffer without room it is an error
same "$(timeout 20 /touch /m/data r4000 c4001 | cut -d' ' -f1 | tr '\n' ' ')" "r4000 c4001 " \
	"who reads what is not there does not wait for ever"
linear | table
same "$(touched /m/data s s r4000 c4001) $(stat_of dirty)" \
	"s Input/output error s ok r4000 ok c4001 ok  0" \
	"all goes on when the device takes it, after an error that nobody was told of"
flakey /dev/ram0 error_writes | table
same "$(touched /m/data $(each w 20 29) s | grep -o 's .*')" "s Input/output error " \
	"again it does not"
umount /m
ok $? "it can be unmounted all the same"
dmesg | tail -n 5 | grep -q "dimmapfs: 10 pages could not be written to dm-0 and are lost"
ok $? "and the log says how much is lost"
buffer size=4M,src=/dev/mapper/d
/touch /m/data $(each w 30 36) s >/dev/null
umount -f /m
ok $? "also with umount -f"
dmesg | tail -n 5 | grep -q "dimmapfs: 7 pages could not be written to dm-0 and are lost"
ok $? "which says so, too"
linear | table
# as a disk fails a whole request for a part of it
null_device
buffer size=4M,src=$device
echo +160-167 >/config/nullb/x/badblocks
same "$(touched /m/data $(each d 16 31) s | grep -o 's .*')" "s Input/output error " \
	"one of many pages cannot be written"
same "$(stat_of dirty)" 1 "the others are"
/touch /m/data w20 s >/tmp/out
echo -160-167 >/config/nullb/x/badblocks
same "$(touched /m/data s) $(stat_of dirty)" "s ok  0" "and this one when it can be"
umount /m
rmdir /config/nullb/x
# of a device with a cache, its flush can fail
null_device cache_size=1
flakey $device error_writes | table
buffer size=4M,src=/dev/mapper/d
same "$(touched /m/data r5 s m)" "r5 ok s Input/output error m Input/output error " \
	"an error of the device's flush is that of fsync and msync"
umount /m
linear | table
rmdir /config/nullb/x

# a device that says it has written and has not:
# what comes after the buffer is gone is from the device
flakey /dev/ram0 drop_writes | table
before=$(on_device 7)
buffer size=4M,src=/dev/mapper/d
same "$(touched /m/data w7 s r7)" "w7 ok s ok r7 ok " "a device that forgets what is written"
same "$(od -An -t u8 -j 28672 -N 8 /m/data | tr -d ' ')" "$(written 7)" "the buffer has it"
umount /m
buffer size=4M,src=/dev/mapper/d
same "$(od -An -t u8 -j 28672 -N 8 /m/data | tr -d ' ')" "$before" \
	"the next one has what the device has"
umount /m

# a device that takes 50 ms
echo "0 $size delay /dev/ram0 0 50" | table
buffer size=1M,src=/dev/mapper/d,fill=64K
/model /m/data 512 2 2 60 11 wps
ok $? "a slow device"
# the delay is counted in ticks, and a busy machine's emulated processors miss some and then
# catch up
awk -F '[_ ]' \
	'/^major_below_ns_/ { all += $5; if ($4 < 50000000) few += $5 }
	END { exit !(all > 0 && few * 20 <= all) }' /m/.stats
ok $? "accesses that waited for it have waited as long"
umount /m
# whose second half takes 20 seconds for a write: what it takes of the first meanwhile is no answer
printf '%s\n' "0 16384 linear /dev/ram0 0" \
	"16384 16384 delay /dev/ram0 16384 0 /dev/ram0 16384 20000" | table
buffer size=1M,src=/dev/mapper/d,dirty_bg=0
/touch /m/data Z64 >/dev/null & busy=$!
/touch /m/data w3000 >/dev/null
sleep 1
began=$(tenths)
same "$(touched /m/data y3000)" "y3000 Connection timed out " \
	"who waits for a page does not wait longer for others"
took=$(($(tenths) - began))
[ $took -lt 100 ]
ok $? "but as long as he has said"
echo "# $took tenths of a second, $(stat_of pages_written) pages written meanwhile"
kill -9 $busy
gone $busy 50
linear | table # which has what waits written
umount /m
same "$(on_device 3000)" "$(written 3000)" "and it comes to the device"
same "$(stat_of dirty)" "" "nothing is mounted"

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
	waiter "a write to it" /touch /m/data w12
	waiter "read()" cat /m/data
	waiter "write() of a part" dd if=/dev/zero of=/m/data bs=100 seek=1000 count=1 conv=notrunc
	# nothing of these is read: until $most percent of the buffer are dirty
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
		ok $((good + $?)) "$most: $name waits, and is gone in a second when it is killed"
	done </tmp/who
	dmsetup resume d
	same "$(touched /m/data r11 s)" "r11 ok s ok " "$most: all is well when it answers again"
	umount /m
done
# until it is told to let go; its memory is nobody else's before the device is done with it
buffer size=256M,src=/dev/mapper/d
/touch /m/data w9 >/dev/null
dmsetup suspend --noflush d
/touch /m/data r12 >/tmp/out & reader=$!
/touch /m/data s >/tmp/out2 & syncer=$!
sleep 1
umount -f /m 2>/dev/null
gone $reader 20 && gone $syncer 20
ok $? "umount -f lets go who waits"
same "$(cat /tmp/out /tmp/out2 | tr '\n' ' ')" "r12 SIGBUS s Input/output error " \
	"with SIGBUS, or an error"
umount /m 2>/dev/null
grep -q " /m dimmapfs" /proc/mounts
ok $(($? == 0)) "and unmounts"
[ "$(all_free)" -lt $((start - 200)) ]
ok $? "the memory stays while the device may write to it"
rmmod dimmapfs 2>/dev/null
ok $(($? == 0)) "and the module"
dmsetup resume d
wait_for 100 more_free $((start - 100))
ok $? "it is free when it answers"
# nor does anybody wait for room, when all that there is is at the device
buffer size=256K,src=/dev/mapper/d,dirty_bg=100,dirty_max=100
dmsetup suspend --noflush d
: >/tmp/who
waiter "who writes" /touch /m/data $(each d 0 200)
waiter "who writes, too" /touch /m/data $(each d 1000 1200)
sleep 3
umount -f /m 2>/dev/null
while read -r pid name; do
	gone $pid 20
	ok $? "umount -f lets go $name"
done </tmp/who
umount /m 2>/dev/null
dmsetup resume d
# nor does a umount without -f wait for ever, but for one that is slow: 1 MB a second
null_device size=80 mbps=1 max_sectors=32 # more than it may take at once would never go
mount -t dimmapfs -o "size=96M,src=$device,dirty_bg=100,dirty_max=100" none /n
dd if=/dev/urandom of=/tmp/much bs=1M count=72 2>/dev/null
dd if=/tmp/much of=/n/data bs=1M conv=notrunc 2>/dev/null
began=$(tenths)
(umount /n; tenths >/tmp/ended) & slow=$!
buffer size=256M,src=/dev/mapper/d
/touch /m/data w9 w10 >/dev/null
dmsetup suspend --noflush d
same "$(/touch /m/data y2000)" "y2000 Connection timed out" "nor who asks for less time"
umount /m & umount=$!
gone $umount 100
ok $(($? == 0)) "umount waits for the device"
gone $umount 700
ok $? "for a minute"
gone $slow 3000
ok $? "who unmounts one that is slow waits for it"
took=$(($(cat /tmp/ended) - began))
[ $took -gt 650 ]
ok $? "for more than a minute, in which it goes on"
echo "# $took tenths of a second"
echo 0 >/config/nullb/x/mbps
cmp -n $((72 << 20)) /tmp/much $device
ok $? "and all is on it"
rm /tmp/much
echo 0 >/config/nullb/x/power
rmdir /config/nullb/x
dmesg | tail -n 5 | grep -q "dimmapfs: dm-0 does not answer: what is on its way to it may be lost"
ok $? "and the log says so"
dmsetup resume d
wait_for 600 rmmod dimmapfs 2>/dev/null
ok $? "the module can be unloaded when it answers"
same "$(on_device 9) $(on_device 10)" "$(written 9) $(written 10)" \
	"and what was on its way has arrived"
dmsetup remove d
ok $? "nobody holds the device"
end=$(all_free)
# a kernel that checks itself keeps some
keeps=8
grep -q kasan_ /proc/kallsyms && keeps=64
echo "# $start MiB were free before, $end are after"
[ "$end" -ge $((start - keeps)) ]
ok $? "no memory is missing"
finish
