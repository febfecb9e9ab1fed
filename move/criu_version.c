/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "move/criu_version.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Make one number for comparisons of the first three numbers of TEXT, "6.12.118+deb13-amd64". */
static int parse_version(unsigned long *out, const char *text)
{
	unsigned part[3] = { 0 };
	int n = sscanf(text, "%3u.%3u.%3u", &part[0], &part[1], &part[2]);

	*out = part[0] * 1000000ul + part[1] * 1000ul + part[2];
	return n >= 2 ? 0 : -1;
}

int move_criu_version(char version[MOVE_VERSION_MAX], const char *output, struct errbuf *err)
{
	static const char key[] = "Version: ";
	const char *at = strstr(output, key);
	unsigned long number;
	size_t len;

	if (at)
		at += sizeof(key) - 1;
	len = at ? strspn(at, "0123456789.") : 0;
	if (len == 0 || len >= MOVE_VERSION_MAX || parse_version(&number, at) < 0)
		return errprintf(err, "criu --version prints no version");
	memcpy(version, at, len);
	version[len] = '\0';
	return 0;
}

int move_criu_check(const char *version, const char *release, struct errbuf *err)
{
	unsigned long criu, kernel;

	if (parse_version(&criu, version) < 0)
		return errprintf(err, "CRIU \"%s\": unknown form of a version", version);
	if (parse_version(&kernel, release) < 0)
		return errprintf(err, "Linux \"%s\": unknown form of a release", release);
	if (criu < 4001001)
		return errprintf(err,
				 "CRIU %s is too old: 4.1.1 or later is needed; a vnode that an "
				 "older one has moved may hang",
				 version);
	if (criu < 4002000 && kernel >= 6016000)
		return errprintf(err,
				 "CRIU %s cannot dump TCP connections on Linux %s: CRIU 4.2 or "
				 "later is needed from Linux 6.16 on",
				 version, release);
	return 0;
}

int move_criu_check_pair(const char *source, const char *dest, struct errbuf *err)
{
	unsigned long a, b;

	if (parse_version(&a, source) < 0 || parse_version(&b, dest) < 0)
		return errprintf(err, "CRIU \"%s\" or \"%s\": unknown form of a version", source,
				 dest);
	if (b < a)
		return errprintf(err, "CRIU %s here is older than CRIU %s of the source", dest,
				 source);
	return 0;
}

/* Return whether the LEN bytes at WORD are one of the words of LIST, which blanks separate. */
static bool has_flag(const char *list, const char *word, size_t len)
{
	for (const char *at = list; *at;) {
		size_t n;

		at += strspn(at, " \t\n");
		n = strcspn(at, " \t\n");
		if (n == len && memcmp(at, word, len) == 0)
			return true;
		at += n;
	}
	return false;
}

int move_cpu_check(const char *source, const char *dest, struct errbuf *err)
{
	/* flags for the kernel's own use, for power and for virtualization: programs do not use
	 * them */
	static const char ignored[] =
		"aperfmperf arat acpi arch_perfmon art bts cat_l2 cat_l3 cdp_l2 cdp_l3 cmp_legacy "
		"constant_tsc cpuid cqm cqm_llc cqm_mbm_local cqm_mbm_total cqm_occup_llc dtherm "
		"dts epb ept ept_ad extapic extd_apicid fsrm hwp hwp_act_window hwp_epp "
		"hwp_pkg_req hypervisor ibpb ibrs ibrs_enhanced ida intel_ppin md_clear "
		"monitor mwaitx nonstop_tsc nopl npt pbe pdcm pebs perfctr_core perfctr_llc "
		"perfctr_nb pln pts rdt_a rep_good ssbd stibp svm svm_lock tm tm2 tpr_shadow "
		"tsc_adjust tsc_deadline_timer tsc_known_freq tsc_reliable vmx vnmi vpid "
		"x2apic xtopology pti flush_l1d arch_capabilities flexpriority";

	for (const char *at = source; *at;) {
		size_t len;

		at += strspn(at, " \t\n");
		len = strcspn(at, " \t\n");
		if (len && !has_flag(dest, at, len) && !has_flag(ignored, at, len))
			return errprintf(err,
					 "the processors of the destination lack \"%.*s\", which "
					 "programs of the vnode may use",
					 (int)(len < 32 ? len : 32), at);
		at += len;
	}
	return 0;
}
