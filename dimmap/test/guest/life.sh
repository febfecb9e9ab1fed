. /lib.sh
start=$(free_mib)
buffer size=4M,src=/dev/ram0
mount -t dimmapfs -o size=1M,src=/dev/ram0 none /n 2>/dev/null
ok $(($? == 0)) "a second mount of a device fails"
same "$(why)" \
	"src=/dev/ram0: device 1:0 cannot be opened (-16): it is mounted or otherwise in use" \
	"a second mount of a device: the log has the reason"
/touch /m/data w1 z >/tmp/out & user=$!
sleep 1
umount /m 2>/dev/null
ok $(($? == 0)) "umount fails while a program maps the file"
rmmod dimmapfs 2>/dev/null
ok $(($? == 0)) "the module cannot be unloaded while a program maps the file"
umount -l /m
ok $? "umount -l succeeds"
kill -9 $user
gone $user 20
sleep 1
same "$(od -An -t u8 -j 4096 -N 8 /dev/ram0 | tr -d ' ')" "$((0x1234567 + 512))" \
	"writes of a killed program are on the device"
buffer size=4M,src=/dev/ram0
ok $? "the device is free after the program's end"
same "$(touched /m/data b/dev/ram1 b/dev/ram1 b/m/data)" \
	"b/dev/ram1 File exists b/dev/ram1 File exists b/m/data Invalid argument " \
	"bind: a name in use and a file of dimmapfs are refused"
mount -t dimmapfs -o size=1M,src=/dev/ram1 none /n
ok $? "bind: a refused device is free"
umount /n
/touch /m/data w2 z >/tmp/out & user=$!
sleep 1
rm /m/data
ok $? "the file can be removed while it is mapped"
kill -9 $user
gone $user 20
sleep 1
same "$(od -An -t u8 -j 8192 -N 8 /dev/ram0 | tr -d ' ')" "$((0x1234567 + 1024))" \
	"a removed file is written when its last user ends"
umount /m

# a shutdown frees memory and device even while a program has the file open and mapped
grep -q kasan_ /proc/kallsyms && keeps=64 || keeps=8
mkfifo /tmp/go
before=$(all_free)
buffer size=128M,src=/dev/ram0
/touch /m/data w3 r4 c5 i r3 w3 w7 c5 d5 s r4 </tmp/go >/tmp/out & user=$!
exec 9>/tmp/go
usleep 500000
same "$(touched /m/data y60000 x r3)" "y60000 ok x ok r3 SIGBUS " \
	"shutdown: sync and shutdown succeed, and reads fail"
same "$(od -An -t u8 -j $((3 * 4096)) -N 8 /dev/ram0 | tr -d ' ')" "$((0x1234567 + 3 * 512))" \
	"shutdown: the device has the written data"
# the kernel of a busy machine may use some memory for a moment
for _ in 1 2 3 4 5 6 7 8 9 10; do
	now=$(all_free)
	[ "$now" -ge $((before - keeps)) ] && break
	usleep 500000
done
[ "$now" -ge $((before - keeps)) ]
ok $? "shutdown: the memory is free"
echo "# $before MiB before, $now now"
mount -t dimmapfs -o size=4M,src=/dev/ram0 none /n
ok $? "shutdown: another mount gets the device"
/touch /n/data w3 s >/dev/null
echo >&9
exec 9>&-
gone $user 50
want="r3 SIGBUS w3 SIGBUS w7 SIGBUS c5 Input/output error d5 Input/output error"
same "$(tail -n +5 /tmp/out | tr '\n' ' ')" "$want s Input/output error r4 SIGBUS " \
	"shutdown: the program gets errors"
same "$(touched /n/data r3 r7)" "r3 ok r7 ok " "shutdown: the other mount works"
umount /n
umount /m
ok $? "shutdown: both mounts are unmounted"
same "$(/touch /m/data x 2>&1)" "/m/data: No such file or directory" "shutdown: no file is left"

# a device that is removed
mkdir -p /config
mount -t configfs none /config
ls /dev >/tmp/devices
mkdir /config/nullb/x
echo 1 >/config/nullb/x/memory_backed
echo 16 >/config/nullb/x/size
echo 1 >/config/nullb/x/power
device=/dev/$(ls /dev | grep -vxFf /tmp/devices)
buffer size=1M,src=$device
ok $? "removal: a buffer of $device is mounted"
/touch /m/data w1 r2 s z >/tmp/out & user=$!
sleep 1
echo 0 >/config/nullb/x/power & off=$!
gone $off 100
ok $? "removal: the device can be removed"
same "$(/touch /m/data r1 c1 w2 s | tr '\n' ' ')" \
	"r1 SIGBUS c1 Input/output error w2 SIGBUS s Input/output error " \
	"removal: accesses fail"
kill -9 $user
gone $user 9
ok $? "removal: a program that maps the file can be killed"
umount /m
ok $? "removal: umount succeeds"

# memory is accounted to the mounting process
mkdir /sys/fs/cgroup/small /sys/fs/cgroup/large
echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
echo 8M >/sys/fs/cgroup/small/memory.max
echo 64M >/sys/fs/cgroup/large/memory.max
sh -c 'echo $$ >/sys/fs/cgroup/small/cgroup.procs; exec mount -t dimmapfs -o size=32M none /m' \
	2>/dev/null
ok $(($? == 0)) "a buffer above its memory cgroup's limit is refused"
same "$(awk '/^oom_kill / { print $2 }' /sys/fs/cgroup/small/memory.events)" 0 \
	"a buffer above its memory cgroup's limit: no process is killed"
sh -c 'echo $$ >/sys/fs/cgroup/large/cgroup.procs
	exec mount -t dimmapfs -o size=32M,src=/dev/ram0 none /m'
ok $? "a buffer below its memory cgroup's limit is mounted"
[ "$(cat /sys/fs/cgroup/large/memory.current)" -ge $((32 << 20)) ]
ok $? "the memory cgroup accounts a mounted buffer"
umount /m
sleep 1
[ "$(cat /sys/fs/cgroup/large/memory.current)" -lt $((4 << 20)) ]
ok $? "the memory cgroup does not account an unmounted buffer"
for i in 1 2 3 4 5 6 7 8 9 10; do
	buffer size=32M,src=/dev/ram0 && /touch /m/data w1 r2 >/dev/null && umount /m || break
done
same $i 10 "ten rounds of mount, access and umount succeed"
rmmod dimmapfs
ok $? "the module is unloaded"
# a debug kernel keeps some memory
[ "$(free_mib)" -ge $((start - 160)) ]
ok $? "all memory is free again"
finish
