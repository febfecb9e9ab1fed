# After a power cut at any moment the device has all data that fsync, msync, syncfs, RWF_DSYNC or
# umount have made safe.
. /lib.sh
export DM_DISABLE_UDEV=1 # without udev dmsetup itself makes the nodes
log=/dev/nullb0
setup() { # makes a device of zeros that logs its writes
	dd if=/dev/zero of=/dev/ram0 bs=64k count=256 2>/dev/null
	dmsetup create d --table "0 32768 log-writes /dev/ram0 $log"
}
# Four threads write through a buffer of half the size of their pages; umount then makes all of it
# safe.
write_to() { # SOURCE, SEED
	buffer size=1M,pools=2,src=$1
	/crash write /m/data 512 4 400 "$2" /tmp/told d >/tmp/out
	ok $? "$1: writes and syncs"
	echo "# $(cat /tmp/out); $(stat_of evicted_dirty) dirty pages evicted," \
		"$(stat_of pages_written) written"
	[ "$(stat_of evicted_dirty)" -gt 50 ]
	ok $? "$1: dirty pages are evicted"
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
found() { # NAME: prints the number before NAME in the output of the check
	sed -n "s/.* \([0-9]*\) $1.*/\1/p" /tmp/out
}
setup
write_to /dev/mapper/d 1
dmsetup remove d
check 1 200
ok $? "a device: after a power cut all safe data is present"
[ "$(found flushes)" -ge "$marks" ] && [ "$(found marks)" -ge 60 ] &&
	[ "$(found writes)" -gt 500 ] && [ "$(found torn)" -gt 100 ]
ok $? "a device: the test has enough writes, flushes and marks"
# controls: a disk that loses a fiftieth of its flushed writes; a disk that claims to have no cache,
# so that the kernel sends no flush
check 1 200 forgetful
ok $(($? == 0)) "control: the check fails on a disk that loses flushed writes"
grep -q "safe by mark" /tmp/out
ok $? "control: the check names the missing write"
setup
echo "write through" >/sys/block/dm-0/queue/write_cache
write_to /dev/mapper/d 2
dmsetup remove d
check 1 200
ok $(($? == 0)) "control: the check fails when no flush is sent"
grep -q "lost; safe by mark" /tmp/out
ok $? "control: the check names the lost write"

# a file
setup
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/d 2>/dev/null
# ext4 must flush rarely, as its flushes could overlap with ours
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
same $bad 0 "a file of ext4: after 20 power cuts all safe data is present"
[ $least -lt $((marks / 2)) ] && [ "$marks" -ge 60 ]
ok $? "a file of ext4: the log has 60 marks, and a power cut is in its first half"
umount /n 2>/dev/null
rmmod dimmapfs
ok $? "the module is unloaded"
finish
