. /lib.sh
# an old file, a device for the filesystem
make_fs() { # KIND
	umount /n 2>/dev/null
	case $1 in
	ext4) mkfs.ext4 -q -F -b 4096 /dev/ram0 ;;
	ext4-1k) mkfs.ext4 -q -F -b 1024 /dev/ram0 ;;
	xfs) mkfs.xfs -q -f /dev/nullb0 ;;
	esac >/dev/null 2>&1
	if [ "$1" = xfs ]; then mount -t xfs /dev/nullb0 /n; else mount -t ext4 /dev/ram0 /n; fi
}
refused() { # FILE, WHAT THE LOG SAYS, WHAT
	buffer size=1M,src="$1" 2>/dev/null && { umount /m; ok 1 "$3"; return; }
	why | grep -q "^src=$1: $2"
	ok $? "$3"
}
for kind in ext4 xfs; do
	make_fs $kind
	ok $? "$kind: made"
	# in pieces, so that it is not in one
	for i in 0 1 2 3 4 5 6 7; do
		dd if=/dev/urandom of=/n/f bs=256k count=1 seek=$i conv=notrunc,fsync 2>/dev/null
		dd if=/dev/urandom of=/n/other$i bs=64k count=1 conv=fsync 2>/dev/null
	done
	dd if=/dev/urandom of=/n/f bs=100 count=1 seek=20971 conv=notrunc,fsync 2>/dev/null
	before=$(md5sum </n/f)
	size=$(stat -c %s /n/f)
	buffer size=1M,src=/n/f
	ok $? "$kind: a file"
	same "$(stat -c %s /m/data)" "$size" "$kind: its size"
	same "$(md5sum </m/data)" "$before" "$kind: its contents"
	echo x 2>/dev/null >>/n/f
	ok $(($? == 0)) "$kind: nobody else writes to it"
	rm -f /n/f 2>/dev/null
	[ -e /n/f ]
	ok $? "$kind: or removes it"
	mount -t dimmapfs -o size=1M,src=/n/f none /tmp 2>/dev/null
	ok $(($? == 0)) "$kind: it is in one buffer"
	umount /n 2>/dev/null
	ok $(($? == 0)) "$kind: its filesystem is not unmounted"
	/model /m/data 512 2 2 2000 7 wpufsr
	ok $? "$kind: accesses of all kinds"
	after=$(md5sum </m/data)
	# what is shut down lets its file go, even while somebody has it open
	if [ $kind = xfs ]; then
		exec 8</m/data
		touched /m/data y60000 x >/dev/null
		umount -l /m
	else
		umount /m
	fi
	echo 3 >/proc/sys/vm/drop_caches
	same "$(md5sum </n/f)" "$after" "$kind: what was written is in the file"
	same "$(stat -c %s /n/f)" "$size" "$kind: which is as long as it was"
	echo x >>/n/f
	ok $? "$kind: and is a file again"
	umount /n && mount -t $kind "$([ $kind = xfs ] && echo /dev/nullb0 || echo /dev/ram0)" /n
	same "$(head -c "$size" /n/f | md5sum)" "$after" \
		"$kind: also after its filesystem is mounted anew"
	exec 8<&-
	truncate -s 1M /n/hole
	refused /n/hole "nothing is stored at byte 0" "$kind: a file with holes is refused"
	: >/n/empty
	refused /n/empty "it is empty" "$kind: an empty file is refused"
	/touch /n/other0 w0 z >/dev/null & user=$!
	sleep 1
	refused /n/other0 "a program has it mapped for writing" \
		"$kind: a file that is mapped for writing is refused"
	kill $user
	chmod 444 /n/other1
	buffer size=1M,src=/n/other1
	cmp -s /m/data /n/other1
	ok $? "$kind: another file"
	umount /m
done
umount /n
make_fs ext4-1k
dd if=/dev/urandom of=/n/f bs=256k count=1 2>/dev/null
refused /n/f "its filesystem does not have blocks of a page" "blocks of 1 KiB are refused"
refused /tmp/nothing "it cannot be opened (-2)" "a file that is not there is refused"
echo x >/tmp/x
refused /tmp/x "it is neither a block device nor a file of ext4 or XFS" \
	"a file in memory is refused"
umount /n
ok $? "all is unmounted"
rmmod dimmapfs
ok $? "the module is unloaded"
finish
