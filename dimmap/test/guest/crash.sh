# A power cut at any moment: what fsync, msync, syncfs,
# RWF_DSYNC and umount have said is safe is on the device.
. /lib.sh
export DM_DISABLE_UDEV=1 # there is none: dmsetup itself makes the nodes
log=/dev/nullb0
setup() { # a device of zeros, whose writes are logged
	dd if=/dev/zero of=/dev/ram0 bs=64k count=256 2>/dev/null
	dmsetup create d --table "0 32768 log-writes /dev/ram0 $log"
}
# Four threads write, in a buffer of half of what they write to; then it is unmounted, which makes
# all of it safe, too.
write_to() { # SOURCE, SEED
	buffer size=1M,pools=2,src=$1
	/crash write /m/data 512 4 400 "$2" /tmp/told d >/tmp/out
	ok $? "$1: writes and syncs"
	echo "# $(cat /tmp/out); $(stat_of evicted_dirty) dirty pages evicted," \
		"$(stat_of pages_written) written"
	[ "$(stat_of evicted_dirty)" -gt 50 ]
	ok $? "$1: some of what is written makes room"
	umount /m
	marks=$(sed -n 's/^crash: marks //p' /tmp/out)
	dmsetup message d 0 mark $((marks + 1))
}
check() { # ARGUMENT...
	/crash check $log /tmp/told /dev/ram0 "$@" >/tmp/out
	local rc=$?
	echo "# $(cat /tmp/out)"
	return $rc
}
found() { # NAME: the number before it
	sed -n "s/.* \([0-9]*\) $1.*/\1/p" /tmp/out
}
setup
write_to /dev/mapper/d 1
dmsetup remove d
check 1 200
ok $? "after a power cut, what was said to be safe is there"
[ "$(found flushes)" -ge "$marks" ] && [ "$(found marks)" -ge 60 ] &&
	[ "$(found writes)" -gt 500 ] && [ "$(found torn)" -gt 100 ]
ok $? "enough was tried"
# controls: a disk that forgets a fiftieth of what it has flushed; a kernel that is told that the
# disk has no cache, so that no flush comes
check 1 200 forgetful
ok $(($? == 0)) "control: a disk that forgets is noticed"
grep -q "safe by mark" /tmp/out
ok $? "control: by what is missing"
setup
echo "write through" >/sys/block/dm-0/queue/write_cache
write_to /dev/mapper/d 2
dmsetup remove d
check 1 200
ok $(($? == 0)) "control: that no flush is sent is noticed"
grep -q "lost; safe by mark" /tmp/out
ok $? "control: by what is lost"

# a file
setup
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/d 2>/dev/null
# flushes of others, which could overlap with ours, are few
mount -t ext4 -o noatime,commit=900 /dev/mapper/d /n
dd if=/dev/zero of=/n/f bs=64k count=32 conv=fsync 2>/dev/null
write_to /n/f 3
umount /n
dmsetup remove d
bad=0
least=999999
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	number=$(/crash cut $log /tmp/told /dev/ram0 $seed)
	mount -t ext4 /dev/ram0 /n && /crash look /n/f /tmp/told "$number" || bad=$((bad + 1))
	umount /n
	[ "$number" -lt $least ] && least=$number
done
same $bad 0 "a file of ext4: after 20 power cuts, what was said to be safe is there"
[ $least -lt $((marks / 2)) ] && [ "$marks" -ge 60 ]
ok $? "enough was tried"
umount /n 2>/dev/null
rmmod dimmapfs
ok $? "the module is unloaded"
finish
