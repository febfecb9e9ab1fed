/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/inside.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "guest/cpio.h"
#include "guest/modules.h"

static void test_release(void)
{
	unsigned char head[1024] = { 0 };
	char release[16];

	memcpy(head + 0x202, "HdrS", 4);
	head[0x20e] = 0x40; /* the version's text is at 0x240 */
	memcpy(head + 0x240, "6.1.0-x86 (someone) #1", 22);
	is_int(guest_kernel_release(release, sizeof(release), head, sizeof(head)), 0,
	       "a bzImage has a release");
	is(release, "6.1.0-x86", "the release is the first word of its version");
	is_int(guest_kernel_release(release, 9, head, sizeof(head)), -1,
	       "a release that is too long is refused");
	is_int(guest_kernel_release(release, sizeof(release), head, 0x244), -1,
	       "a release that is cut off is refused");
	head[0x240 + 2] = '/';
	is_int(guest_kernel_release(release, sizeof(release), head, sizeof(head)), -1,
	       "a release that leaves its directory is refused");
	head[0x20f] = 0xff;
	is_int(guest_kernel_release(release, sizeof(release), head, sizeof(head)), -1,
	       "a release that lies behind the head is refused");
	head[0x202] = 'h';
	is_int(guest_kernel_release(release, sizeof(release), head, sizeof(head)), -1,
	       "another file is refused");
}

static void test_builtin(void)
{
	const char *text = "kernel/drivers/virtio/virtio_pci.ko\nkernel/fs/fuse/virtiofs.ko.xz\n"
			   "kernel/drivers/char/virtio-console.ko";

	ok(guest_kernel_has(text, "virtio_pci"), "a module is found by its file's name");
	ok(guest_kernel_has(text, "virtiofs"), "a compressed module is found");
	ok(guest_kernel_has(text, "virtio_console"), "'-' in a file's name equals '_'");
	ok(!guest_kernel_has(text, "virtio"), "a module is not found by the beginning of its name");
	ok(!guest_kernel_has(text, "fuse"), "a directory is no module");
	ok(!guest_kernel_has("", "fuse"), "an empty list has no module");
}

static const char *shown(const struct guest_modules *list)
{
	static char text[512];

	*text = '\0';
	for (unsigned i = 0; i < list->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s ",
			 (int)list->path[i].length, list->path[i].text);
	return text;
}

/* The lines are of Debian 12's modules.dep, shortened; the order is that of modprobe. */
static void test_modules(void)
{
	static const char dep[] =
		"kernel/v/virtio.ko:\n"
		"kernel/v/virtio_ring.ko:\n"
		"kernel/v/virtio_pci.ko: kernel/v/legacy.ko kernel/v/modern.ko "
		"kernel/v/virtio_ring.ko kernel/v/virtio.ko\n"
		"kernel/f/virtiofs.ko.xz: kernel/f/fuse.ko kernel/v/virtio_ring.ko "
		"kernel/v/virtio.ko\n";
	struct guest_modules list = { .n = 0 };

	is_int(guest_modules_add(&list, dep, "virtio_pci"), 0, "a module is found");
	is(shown(&list),
	   "kernel/v/virtio.ko kernel/v/virtio_ring.ko kernel/v/modern.ko kernel/v/legacy.ko "
	   "kernel/v/virtio_pci.ko ",
	   "what a module needs comes before it, in the order of modprobe");
	is_int(guest_modules_add(&list, dep, "virtiofs"), 0, "a compressed module is found");
	is(shown(&list),
	   "kernel/v/virtio.ko kernel/v/virtio_ring.ko kernel/v/modern.ko kernel/v/legacy.ko "
	   "kernel/v/virtio_pci.ko kernel/f/fuse.ko kernel/f/virtiofs.ko.xz ",
	   "what two modules need is loaded once");
	is_int(guest_modules_add(&list, dep, "virtio_rin"), -1,
	       "guest_modules_add: refuses a module that does not exist");
	list.n = GUEST_MODULES_MAX - 1;
	memset(list.path, 0, sizeof(list.path));
	is_int(guest_modules_add(&list, dep, "virtiofs"), -1,
	       "guest_modules_add: refuses more modules than the list has room for");
}

/* Debian's cpio reads what we write. */
static void test_cpio(void)
{
	static const struct cpio_entry entry[] = {
		{ .name = "d", .mode = S_IFDIR | 0750 },
		{ .name = "d/abc", .mode = S_IFREG | 0644, .data = "hello", .size = 5 },
		{ .name = "d/ab", .mode = S_IFREG | 0755, .data = "", .size = 0 },
		{ .name = "c", .mode = S_IFCHR | 0600, .major = 5, .minor = 1 },
	};
	char command[512], line[256], all[2048] = "";
	FILE *f;

	if (system("command -v cpio >/dev/null") != 0) {
		ok(true, "archives are not compared with cpio # SKIP no cpio here");
		return;
	}
	scratch_make();
	snprintf(command, sizeof(command), "%s/a", scratch);
	f = fopen(command, "w");
	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++)
		cpio_put(f, &entry[i]);
	cpio_end(f);
	ok(!ferror(f) && fclose(f) == 0, "an archive is written");
	snprintf(command, sizeof(command),
		 "cd %s && LC_ALL=C cpio --quiet -itv -n <a | sed 's/  */ /g; s/Jan.*1970/T/' && "
		 "cpio --quiet -i --to-stdout d/abc <a",
		 scratch);
	f = popen(command, "r");
	while (fgets(line, sizeof(line), f))
		strcat(all, line);
	is_int(pclose(f), 0, "cpio reads the archive");
	is(all,
	   "drwxr-x--- 1 0 0 0 T d\n-rw-r--r-- 1 0 0 5 T d/abc\n-rwxr-xr-x 1 0 0 0 T d/ab\n"
	   "crw------- 1 0 0 5, 1 T c\nhello",
	   "cpio finds the modes, owners, sizes and contents");
}

int main(void)
{
	test_release();
	test_builtin();
	test_modules();
	test_cpio();
	return tap_done();
}
