# Faults of the device: errors of reads and writes, none at all, a device that does not answer.
. /lib.sh
export DM_DISABLE_UDEV=1 # there is none: dmsetup itself makes the nodes
size=32768 # sectors
table() { # of device d
	if [ -e /dev/mapper/d ]; then dmsetup suspend --noflush d; dmsetup load d; dmsetup resume d; else dmsetup create d; fi
}
linear() { echo "0 $size linear /dev/ram0 0"; }
linear | table
# pages 1024 to 1027 cannot be read
printf '%s\n' "0 8192 linear /dev/ram0 0" "8192 32 error" "8224 24544 linear /dev/ram0 8224" | table
buffer size=4M,src=/dev/mapper/d,fill=64K
same "$(/touch /m/data r1023 r1024 c1025 r1027 r1028 w1026 | tr '\n' ' ')" \
	"r1023 ok r1024 SIGBUS c1025 Input/output error r1027 SIGBUS r1028 ok w1026 SIGBUS " "an error of the device is that of the page, not of its neighbours"
linear | table
same "$(/touch /m/data r1024 c1025 w1026 | tr '\n' ' ')" "r1024 ok c1025 ok w1026 ok " "an error is not kept"
umount /m

# every write fails
echo "0 $size flakey /dev/ram0 0 0 600 1 error_writes" | table
buffer size=4M,src=/dev/mapper/d
same "$(/touch /m/data w5 s s w6 m | tr '\n' ' ')" "w5 ok s Input/output error s Input/output error w6 ok m Input/output error " "a write error is told by fsync and msync"
same "$(stat_of dirty) $(stat_of lost)" "2 0" "and the pages are dirty still"
linear | table
same "$(/touch /m/data s | tr '\n' ' ')" "s ok " "until they can be written"
same "$(od -An -t u8 -j 20480 -N 8 /dev/ram0 | tr -d ' ')" "$((0x1234567 + 5 * 512))" "and are on the device"
echo "0 $size flakey /dev/ram0 0 0 600 1 error_writes" | table
timeout 60 /touch /m/data Z >/tmp/out &
sleep 5
grep -q "Z SIGBUS" /tmp/out
ok $? "who writes more than there is room gets SIGBUS when nothing can be written"
same "$(/touch /m/data r4000 | cut -c1-5)" "r4000" "others go on"
dirty=$(stat_of dirty)
umount /m
ok $? "it can be unmounted all the same"
[ "$dirty" -gt 0 ] && dmesg | grep -q "dimmapfs: $dirty pages could not be written to dm-0 and are lost"
ok $? "and the log says how much is lost"
linear | table

# the device does not answer
buffer size=4M,src=/dev/mapper/d
/touch /m/data w9 r10
dmsetup suspend --noflush d
/touch /m/data r11 & reader=$!
/touch /m/data s & syncer=$!
cat /m/data >/dev/null & cat=$!
sleep 1
for pid in $reader $syncer $cat; do
	[ -e /proc/$pid ] && ! grep -q '^State:	Z' /proc/$pid/status
	ok $? "it waits"
	kill -9 $pid
	gone $pid 9
	ok $? "and is gone in a second when it is killed"
done
dmsetup resume d
same "$(/touch /m/data r11 s | tr '\n' ' ')" "r11 ok s ok " "all is well when it answers again"
dmsetup suspend --noflush d
/touch /m/data r12 >/tmp/out & reader=$!
sleep 1
before=$(free_mib)
umount -f /m 2>/dev/null
gone $reader 20
ok $? "umount -f lets go who waits"
same "$(cat /tmp/out)" "r12 SIGBUS" "with SIGBUS"
umount /m 2>/dev/null
mountpoint -q /m 2>/dev/null || grep -q " /m dimmapfs" /proc/mounts
ok $(($? == 0)) "and unmounts"
rmmod dimmapfs 2>/dev/null
ok $(($? == 0)) "the module stays while the device has its memory"
dmsetup resume d
sleep 1
rmmod dimmapfs
ok $? "and goes when it answers"
dmsetup remove d
ok $? "nobody holds the device"
finish
