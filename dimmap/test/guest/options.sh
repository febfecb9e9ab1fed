. /lib.sh
before=$(free_mib)
refused() { # OPTIONS, MESSAGE OF THE LOG
	buffer "$1" 2>/dev/null && { umount /m; ok 1 "refused: $1"; return; }
	same "$(why)" "$2" "refused: $1"
}
refused "" "size=0K: 32K to 8T is needed"
refused size=9T "size=9663676416K: 32K to 8T is needed"
refused size=12Q "size=12Q: a number of bytes is expected, with K, M, G or T"
refused size=1M,nodes=x "nodes=x: expected a list of memory nodes, such as 0,2-3"
refused size=1M,nodes=0,7 "Unknown parameter '7'"
refused size=1M,nodes=7 "nodes=7: nodes with memory are 0-1"
refused size=1M,policy=lru "    sieve"
refused size=1M,batch=0 "batch=0: 1 to 512 pages"
refused size=1M,batch=513 "batch=513: 1 to 512 pages"
refused size=1M,fill=3K "fill=3K: a power of two from 4K to 2048K"
refused size=1M,fill=4M "fill=4M: a power of two from 4K to 2048K"
refused size=1M,dirty_bg=101 "dirty_bg=101: percents of the buffer"
refused size=1M,dirty_bg=70 "dirty_bg=70 is more than dirty_max=60"
refused size=1M,mode=1777 "mode=1777: permissions only"
refused size=1M,src=/dev/nothing "src=/dev/nothing: it cannot be opened (-2)"
refused size=1M,src=/model "src=/model: it is neither a block device nor a file of ext4 or XFS"
buffer size=64G 2>/dev/null
ok $(($? == 0)) "refused: more memory than the machine has"
why | grep -q "^nodes 0-1 have [0-9]* MiB, 65536 are asked for"
ok $? "more memory than the machine has: the log has the total"
buffer size=510M,nodes=1 2>/dev/null
ok $(($? == 0)) "refused: more memory than is free on the node"
why | grep -q "^no memory for 510 MiB on nodes 1: [0-9]* MiB were available"
ok $? "more memory than is free on the node: the log has the amount"
# the kernel may keep a few MiB
[ "$(free_mib)" -ge $((before - 16)) ]
ok $? "refused mounts keep no memory"

some=size=8M,nodes=1,src=/dev/ram0,policy=sieve,uid=1000,gid=1001,mode=0750
buffer $some,batch=32,fill=64K,dirty_bg=5,dirty_max=50,place=local,pools=2
ok $? "a mount with all options succeeds"
some=rw,relatime,size=8192K,nodes=1,place=local,policy=sieve,batch=32,fill=64K,pools=2
same "$(sed -n 's/^none .m dimmapfs //p' /proc/mounts)" \
	"$some,dirty_bg=5,dirty_max=50,tlb=batch,uid=1000,gid=1001,mode=750,src=/dev/ram0 0 0" \
	"/proc/mounts shows the options"
same "$(stat -c '%a %u %g' /m /m/data /m/.stats | tr '\n' ' ')" \
	"750 1000 1001 640 1000 1001 440 1000 1001 " "uid, gid and mode are those of the files"
same "$(stat -c %s /m/data)" "$(blockdev --getsize64 /dev/ram0)" \
	"the file has the size of the device"
same "$(cat /sys/fs/dimmapfs/*/size /sys/fs/dimmapfs/*/nodes /sys/fs/dimmapfs/*/policy |
	tr '\n' ' ')" "8388608 1 sieve " "sysfs shows size, nodes and policy"
as() { # UID, COMMAND
	su "u$1" -c "$2" 2>/dev/null
}
mkdir -p /etc
printf 'u%s::%s:%s::/:/bin/sh\n' 1000 1000 1000 1002 1002 1002 >/etc/passwd
as 1000 'cat /m/data' >/dev/null
ok $? "the owner can read the file"
as 1002 'cat /m/data' >/dev/null
ok $(($? == 0)) "another user cannot read the file"
cp /m/data /dev/null
same "$(stat_of placed_local)$(stat_of placed_remote)" "0$(stat_of pages_read)" \
	"all pages are on the requested node, which has no CPU"
echo x >/m/new 2>/dev/null
ok $(($? == 0)) "no other file can be made"
truncate -s 1M /m/data 2>/dev/null
ok $(($? == 0)) "the size of the file cannot be changed"
umount /m
ok $? "umount succeeds"
ls /sys/fs/dimmapfs | grep -q .
ok $(($? == 0)) "sysfs has no directory after umount"
rmmod dimmapfs
ok $? "the module is unloaded"
finish
