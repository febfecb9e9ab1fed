. /lib.sh
dd if=/dev/urandom of=/dev/ram0 bs=1M count=8 2>/dev/null
before=$(md5sum </dev/ram0)
buffer size=1M,src=/dev/ram0
same "$(md5sum </m/data)" "$before" "read() gives what is on the device"
dd if=/dev/urandom of=/tmp/new bs=1000 count=100 2>/dev/null
dd if=/tmp/new of=/m/data bs=1000 seek=777 conv=notrunc,fsync 2>/dev/null
ok $? "write() of parts of pages"
dd if=/dev/ram0 bs=1000 skip=777 count=100 2>/dev/null | cmp -s - /tmp/new
ok $? "is on the device after fsync"
dd if=/m/data of=/m/data bs=64k count=64 seek=64 conv=notrunc 2>/dev/null
ok $? "write() of a page of the file to the file"
echo too much | dd of=/m/data bs=1 seek=16777216 conv=notrunc 2>/dev/null
ok $(($? == 0)) "nothing is written behind the end"
same "$(/touch /m/data r0 r4095 c4095 c4096 w4095 m)" "r0 ok
r4095 ok
c4095 ok
c4096 ok
w4095 ok
m ok" "the last page"
# a page that is dirty, read-only and writable again by mprotect, written back between:
# each write counts
same "$(/touch /m/data w7 R s W w7 s r7)" "w7 ok
R ok
s ok
W ok
w7 ok
s ok
r7 ok" "mprotect"
same "$(/touch /m/data w7 s w8 m | grep -vc ok)" 0 "fsync and msync"
umount /m
same "$(od -An -t u8 -j 28672 -N 8 /dev/ram0 | tr -d ' ')" "$((0x1234567 + 7 * 512))" \
	"a mapping's write is on the device"
cp /dev/ram0 /tmp/image
for policy in fifo dimmap sieve s3fifo; do
	buffer size=1M,policy=$policy,src=/dev/ram0,fill=16K
	cmp -s /m/data /tmp/image
	ok $? "$policy: the device is as it was left"
	/model /m/data 2048 1 4 5000 1 wpufsr
	ok $? "$policy: threads"
	/model /m/data 2048 3 2 3000 2 wpufsr
	ok $? "$policy: processes"
	[ "$(stat_of lost)$(stat_of read_errors)$(stat_of write_errors)" = 000 ]
	ok $? "$policy: nothing is lost"
	cp /m/data /tmp/image
	umount /m
	cmp -s /dev/ram0 /tmp/image
	ok $? "$policy: what was left is on the device when it is unmounted"
done
buffer size=32K,src=/dev/ram0
/model /m/data 64 2 2 300 3 wpufsr
ok $? "a buffer of eight pages"
umount /m
buffer size=1M,src=/dev/ram0,tlb=zap,place=local
/model /m/data 2048 1 4 3000 4 wpufsr
ok $? "tlb=zap"
umount /m
finish
