. /lib.sh
dd if=/dev/urandom of=/dev/ram0 bs=1M count=8 2>/dev/null
before=$(md5sum </dev/ram0)
buffer size=1M,src=/dev/ram0
same "$(md5sum </m/data)" "$before" "read() returns the data of the device"
dd if=/dev/urandom of=/tmp/new bs=1000 count=100 2>/dev/null
dd if=/tmp/new of=/m/data bs=1000 seek=777 conv=notrunc,fsync 2>/dev/null
ok $? "write() of parts of pages succeeds"
dd if=/dev/ram0 bs=1000 skip=777 count=100 2>/dev/null | cmp -s - /tmp/new
ok $? "write() of parts of pages is on the device after fsync"
dd if=/m/data of=/m/data bs=64k count=64 seek=64 conv=notrunc 2>/dev/null
ok $? "write() of pages of the file to the file succeeds"
echo too much | dd of=/m/data bs=1 seek=16777216 conv=notrunc 2>/dev/null
ok $(($? == 0)) "write() after the end fails"
same "$(/touch /m/data r0 r4095 c4095 c4096 w4095 m)" "r0 ok
r4095 ok
c4095 ok
c4096 ok
w4095 ok
m ok" "the last page: all accesses succeed"
# mprotect makes a dirty page read-only and writable again, with write-back in between: no write
# is lost
same "$(/touch /m/data w7 R s W w7 s r7)" "w7 ok
R ok
s ok
W ok
w7 ok
s ok
r7 ok" "mprotect between writes and syncs loses no write"
same "$(/touch /m/data w7 s w8 m | grep -vc ok)" 0 "fsync and msync succeed"
umount /m
same "$(od -An -t u8 -j 28672 -N 8 /dev/ram0 | tr -d ' ')" "$((0x1234567 + 7 * 512))" \
	"a write by a mapping is on the device after umount"
cp /dev/ram0 /tmp/image
for policy in fifo dimmap sieve s3fifo; do
	buffer size=1M,policy=$policy,src=/dev/ram0,fill=16K
	cmp -s /m/data /tmp/image
	ok $? "$policy: the device has the data of the previous mount"
	/model /m/data 2048 1 4 5000 1 wpufsr
	ok $? "$policy: accesses of threads equal the model"
	/model /m/data 2048 3 2 3000 2 wpufsr
	ok $? "$policy: accesses of processes equal the model"
	[ "$(stat_of lost)$(stat_of read_errors)$(stat_of write_errors)" = 000 ]
	ok $? "$policy: nothing is lost"
	cp /m/data /tmp/image
	umount /m
	cmp -s /dev/ram0 /tmp/image
	ok $? "$policy: all data is on the device after umount"
done
buffer size=32K,src=/dev/ram0
/model /m/data 64 2 2 300 3 wpufsr
ok $? "a buffer of eight pages: accesses equal the model"
umount /m
buffer size=1M,src=/dev/ram0,tlb=zap,place=local
/model /m/data 2048 1 4 3000 4 wpufsr
ok $? "tlb=zap: accesses equal the model"
umount /m
finish
