. /lib.sh
# files of other filesystems as sources
make_fs() { # KIND
	umount /n 2>/dev/null
	case $1 in
	ext4) mkfs.ext4 -q -F -b 4096 /dev/ram0 ;;
	ext4-1k) mkfs.ext4 -q -F -b 1024 /dev/ram0 ;;
	xfs) mkfs.xfs -q -f /dev/nullb0 ;;
	esac >/dev/null 2>&1
	if [ "$1" = xfs ]; then mount -t xfs /dev/nullb0 /n; else mount -t ext4 /dev/ram0 /n; fi
}
refused() { # FILE, MESSAGE OF THE LOG, NAME
	buffer size=1M,src="$1" 2>/dev/null && { umount /m; ok 1 "$3"; return; }
	why | grep -q "^src=$1: $2"
	ok $? "$3"
}
for kind in ext4 xfs; do
	make_fs $kind
	ok $? "$kind: the filesystem is mounted"
	# write in pieces, so that the file has several extents
	for i in 0 1 2 3 4 5 6 7; do
		dd if=/dev/urandom of=/n/f bs=256k count=1 seek=$i conv=notrunc,fsync 2>/dev/null
		dd if=/dev/urandom of=/n/other$i bs=64k count=1 conv=fsync 2>/dev/null
	done
	dd if=/dev/urandom of=/n/f bs=100 count=1 seek=20971 conv=notrunc,fsync 2>/dev/null
	before=$(md5sum </n/f)
	size=$(stat -c %s /n/f)
	buffer size=1M,src=/n/f
	ok $? "$kind: a file is mounted"
	same "$(stat -c %s /m/data)" "$size" "$kind: the mounted file has its size"
	same "$(md5sum </m/data)" "$before" "$kind: the mounted file has its contents"
	echo x 2>/dev/null >>/n/f
	ok $(($? == 0)) "$kind: no other program writes to the mounted file"
	rm -f /n/f 2>/dev/null
	[ -e /n/f ]
	ok $? "$kind: no program removes the mounted file"
	mount -t dimmapfs -o size=1M,src=/n/f none /tmp 2>/dev/null
	ok $(($? == 0)) "$kind: a second mount of the file fails"
	umount /n 2>/dev/null
	ok $(($? == 0)) "$kind: the filesystem of a mounted file cannot be unmounted"
	/model /m/data 512 2 2 2000 7 wpufsr
	ok $? "$kind: accesses of all kinds equal the model"
	after=$(md5sum </m/data)
	# a shutdown releases the file, even while a process has it open
	if [ $kind = xfs ]; then
		exec 8</m/data
		touched /m/data y60000 x >/dev/null
		umount -l /m
	else
		umount /m
	fi
	echo 3 >/proc/sys/vm/drop_caches
	same "$(md5sum </n/f)" "$after" "$kind: after umount the file has the written data"
	same "$(stat -c %s /n/f)" "$size" "$kind: after umount the file has its size"
	echo x >>/n/f
	ok $? "$kind: after umount the file is writable"
	umount /n && mount -t $kind "$([ $kind = xfs ] && echo /dev/nullb0 || echo /dev/ram0)" /n
	same "$(head -c "$size" /n/f | md5sum)" "$after" \
		"$kind: the file has the data after its filesystem is mounted again"
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
	ok $? "$kind: a read-only file is mounted with its contents"
	umount /m
done
umount /n
make_fs ext4-1k
dd if=/dev/urandom of=/n/f bs=256k count=1 2>/dev/null
refused /n/f "its filesystem does not have blocks of a page" "blocks of 1 KiB are refused"
refused /tmp/nothing "it cannot be opened (-2)" "a file that does not exist is refused"
echo x >/tmp/x
refused /tmp/x "it is neither a block device nor a file of ext4 or XFS" \
	"a file in memory is refused"
umount /n
ok $? "the filesystem is unmounted"
rmmod dimmapfs
ok $? "the module is unloaded"
finish
