/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cpu_identity.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define MIDR "sys/devices/system/cpu/cpu0/regs/identification"

static const char intel[] = "processor\t: 0\n"
			    "vendor_id\t: GenuineIntel\n"
			    "cpu family\t: 6\n"
			    "model\t\t: 106\n"
			    "model name\t: Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz\n"
			    "stepping\t: 6\n"
			    "microcode\t: 0xd0003a5\n"
			    "\n"
			    "processor\t: 1\n"
			    "vendor_id\t: AnotherVendor\n"
			    "cpu family\t: 7\n"
			    "model\t\t: 1\n"
			    "stepping\t: 1\n";
static const char amd[] = "processor\t: 0\n"
			  "vendor_id\t: AuthenticAMD\n"
			  "cpu family\t: 25\n"
			  "model\t\t: 1\n"
			  "model name\t: AMD EPYC 7763 64-Core Processor\n"
			  "stepping\t: 1\n"
			  "\n";

static void test_x86(void)
{
	char out[CPU_IDENTITY_MAX];
	struct errbuf err = { 0 };

	scratch_dir("proc");
	scratch_file("proc/cpuinfo", intel);
	is_int(cpu_identity_read(out, scratch, &err), 0,
	       "cpu_identity_read: reads cpuinfo of Intel");
	is(out, "GenuineIntel-6-6A-6",
	   "cpu_identity_read: model and stepping of the first CPU are hexadecimal");
	scratch_file("proc/cpuinfo", amd);
	is_int(cpu_identity_read(out, scratch, &err), 0, "cpu_identity_read: reads cpuinfo of AMD");
	is(out, "AuthenticAMD-25-1-1", "cpu_identity_read: the family is decimal");
}

static void test_refused(void)
{
	static const struct {
		const char *what, *text;
	} row[] = {
		{ "an empty cpuinfo", "" },
		{ "cpuinfo without these lines", "processor\t: 0\nBogoMIPS\t: 50\n" },
		{ "a first CPU without stepping",
		  "vendor_id\t: A\ncpu family\t: 6\nmodel\t\t: 1\n\nstepping\t: 1\n" },
		{ "a stepping that is no number",
		  "vendor_id\t: A\ncpu family\t: 6\nmodel\t\t: 1\nstepping\t: unknown\n" },
		{ "a model that is too large",
		  "vendor_id\t: A\ncpu family\t: 6\nmodel\t\t: 65536\nstepping\t: 1\n" },
		{ "a negative family",
		  "vendor_id\t: A\ncpu family\t: -6\nmodel\t\t: 1\nstepping\t: 1\n" },
		{ "a vendor of 32 bytes", "vendor_id\t: 01234567890123456789012345678901\n"
					  "cpu family\t: 6\nmodel\t\t: 1\nstepping\t: 1\n" },
	};
	char out[CPU_IDENTITY_MAX];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct errbuf err = { 0 };

		scratch_file("proc/cpuinfo", row[i].text);
		ok(cpu_identity_read(out, scratch, &err) < 0 && err.text[0], "%s is refused: %s",
		   row[i].what, err.text + strlen(scratch));
	}
}

static void test_arm(void)
{
	char out[CPU_IDENTITY_MAX];
	struct errbuf err = { 0 };

	scratch_file("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
	scratch_dir(MIDR);
	scratch_file(MIDR "/midr_el1", "0x00000000410fd0c1\n");
	is_int(cpu_identity_read(out, scratch, &err), 0,
	       "cpu_identity_read: reads the register of ARM");
	is(out, "0x00000000410fd0c1",
	   "cpu_identity_read: gives the register as the kernel prints it");
}

int main(void)
{
	char out[CPU_IDENTITY_MAX];
	struct errbuf err = { 0 };

	scratch_make();
	ok(cpu_identity_read(out, scratch, &err) < 0 && err.text[0],
	   "cpu_identity_read: refuses a host without either file");
	test_x86();
	test_refused();
	test_arm();
	return tap_done();
}
