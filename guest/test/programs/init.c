/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first process of a guest of boot.py: prints how many CPUs and memory nodes it has, then does
 * what the lines of the console say. Each line is one word. "next" prints a number, one more than
 * the last. "compute" keeps all CPUs busy. After an unknown word the process ends, and the kernel
 * panics.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_file(const char *name, const char *path)
{
	char text[4096] = "";
	FILE *f = fopen(path, "r");

	if (f && fgets(text, sizeof(text), f))
		text[strcspn(text, "\n")] = '\0';
	printf("%s %s\n", name, text);
	if (f)
		fclose(f);
}

/* Start a process for each CPU that computes for ever. */
static void keep_busy(void)
{
	for (long i = sysconf(_SC_NPROCESSORS_ONLN); i > 0; i--)
		if (fork() == 0)
			for (volatile unsigned long n = 0;; n++)
				;
}

int main(void)
{
	char line[256];
	int number = 0;

	mkdir("/sys", 0755);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	puts(""); /* end the line that the firmware has begun */
	print_file("cpus", "/sys/devices/system/cpu/online");
	print_file("nodes", "/sys/devices/system/node/online");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\r\n")] = '\0';
		printf("got %s\n", line);
		fflush(stdout);
		if (strcmp(line, "poweroff") == 0)
			reboot(RB_POWER_OFF);
		else if (strcmp(line, "reset") == 0)
			reboot(RB_AUTOBOOT);
		else if (strcmp(line, "next") == 0)
			printf("number %d\n", ++number);
		else if (strcmp(line, "compute") == 0)
			keep_busy();
		else if (strcmp(line, "say") != 0)
			return 1;
		fflush(stdout);
	}
	return 1;
}
