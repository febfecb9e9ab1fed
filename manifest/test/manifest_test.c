/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "base/words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Manifests around the tested part; X starts at column 1 of line 3. */
#define IMAGE(x)                                                                            \
	"{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\n\"app\":{" \
	"\"isolators\":[\n" x "\n]}}"
#define POD(x) "{\"acKind\":\"PodManifest\",\"acVersion\":\"0.8.11\",\n\"apps\":[\n" x "\n]}"
/* manifests with one more field X, of the manifest or of its app */
#define FIELD(x)                                                                            \
	"{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\n\"app\":{" \
	"\"isolators\":[" CONTAINER "]},\n" x "\n}"
#define APP_FIELD(x)                                                                        \
	"{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.8.11\",\"name\":\"a\",\n\"app\":{" \
	"\"isolators\":[" CONTAINER "],\n" x "\n}}"
#define CONTAINER "{\"name\":\"container\",\"value\":{\"cpus\":1}}"
#define SCHEDULER(x) "{\"name\":\"scheduler\",\"value\":{" x "}}," CONTAINER
#define SIZES(x) "{\"name\":\"container\",\"value\":{" x "}}"
#define APP(name, x) "{\"name\":\"" name "\",\"app\":{\"isolators\":[" x "]}}"

/* Return the request of a manifest, or the error message. */
static const char *load(const char *text, size_t len)
{
	static char out[REQUEST_TEXT_MAX];
	static struct errbuf err;
	struct request r;

	if (manifest_load(&r, NULL, "m", text, len, &err) < 0)
		return err.text;
	if (request_format(&r, out, sizeof(out), &err) < 0)
		return err.text;
	return out;
}

static void test_manifest_good(void)
{
	static const struct {
		const char *text;
		const char *request;
	} table[] = {
		{ IMAGE(CONTAINER), "nodeos 1;c=a cpus=1;" },
		{ IMAGE(SIZES("\"cpus\":48")), "nodeos 1;c=a cpus=48;" },
		{ IMAGE(SIZES("\"cpus\":\"48\",\"mems\":\"1\",\"smt\":\"all\"")),
		  "nodeos 1;c=a cpus=48 mems=1;" },
		{ IMAGE(SIZES("\"smt\":\"1\",\"mems\":2,\"cpus\":3")),
		  "nodeos 1;c=a cpus=3 smt=1 mems=2;" },
		{ IMAGE(SIZES("\"mems\":\"16GiB\"")), "nodeos 1;c=a mems=17179869184b;" },
		{ IMAGE(SIZES("\"\\u0063pus\":\"\\u0034\"")), "nodeos 1;c=a cpus=4;" },
		{ IMAGE(SIZES("\"cpus\":1048576")), "nodeos 1;c=a cpus=1048576;" },
		{ IMAGE(SIZES("")), "nodeos 1;c=a;" },
		{ IMAGE(SCHEDULER("\"policy\":\"hpc\"")),
		  "nodeos 1;c=a cpus=1 policy=hpc prio=2;" },
		{ IMAGE(SCHEDULER("\"priority\":\"user\",\"policy\":\"hpc\"")),
		  "nodeos 1;c=a cpus=1 policy=hpc;" },
		{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":\"rr\"")),
		  "nodeos 1;c=a cpus=1 policy=hpc prio=1;" },
		{ IMAGE(SCHEDULER("\"quantum\":\"0\",\"policy\":\"hpc\",\"priority\":1")),
		  "nodeos 1;c=a cpus=1 policy=hpc prio=1 quantum=0;" },
		{ IMAGE(SCHEDULER("\"policy\":\"SCHED_HPC\",\"quantum\":10000")),
		  "nodeos 1;c=a cpus=1 policy=hpc prio=2 quantum=10000;" },
		{ IMAGE(SCHEDULER("\"policy\":\"SCHED_HPC\",\"priority\":\"0\"")),
		  "nodeos 1;c=a cpus=1 policy=hpc;" },
		{ IMAGE(SCHEDULER("\"priority\":2,\"policy\":\"SCHED_HPC\"")),
		  "nodeos 1;c=a cpus=1 policy=hpc prio=2;" },
		{ IMAGE(SCHEDULER("\"policy\":\"fifo\",\"priority\":\"0\"")),
		  "nodeos 1;c=a cpus=1 policy=fifo;" },
		{ IMAGE(SCHEDULER("\"policy\":\"rr\",\"priority\":99")),
		  "nodeos 1;c=a cpus=1 policy=rr prio=99;" },
		{ IMAGE(SCHEDULER("\"policy\":\"SCHED_OTHER\",\"priority\":\"0\"")),
		  "nodeos 1;c=a cpus=1 policy=other;" },
		{ IMAGE("{\"name\":\"argo/power\",\"value\":{}}," CONTAINER
			",{\"name\":\"perfwrapper\",\"value\":{\"a\":[1.5]}}"),
		  "nodeos 1;c=a cpus=1 ignored=perfwrapper,power;" },
		{ IMAGE("{\"name\":\"argo/powerpolicy\",\"value\":{}}," CONTAINER
			",{\"name\":\"power\",\"value\":{}}"),
		  "nodeos 1;c=a cpus=1 ignored=power,powerpolicy;" },
		{ IMAGE("{\"name\":\"os/linux/no-new-privileges\",\"value\":true}," CONTAINER),
		  "nodeos 1;c=a cpus=1 ignored=os/linux/no-new-privileges;" },
		{ IMAGE("{\"name\":\"argo/contention\",\"value\":{\"policy\":\"off\"}}," CONTAINER),
		  "nodeos 1;c=a cpus=1 contention=off;" },
		{ IMAGE("{\"name\":\"contention\",\"value\":{\"policy\":\"observe\"}}," CONTAINER
			",{\"name\":\"os/linux/oom-score-adj\",\"value\":500}"),
		  "nodeos 1;c=a cpus=1 oom=500 contention=observe;" },
		{ IMAGE("{\"name\":\"os/linux/oom-score-adj\",\"value\":500}," CONTAINER),
		  "nodeos 1;c=a cpus=1 oom=500;" },
		{ IMAGE(CONTAINER ",{\"name\":\"os/linux/oom-score-adj\",\"value\":\"0\"}"),
		  "nodeos 1;c=a cpus=1 oom=0;" },
		{ IMAGE(CONTAINER ",{\"name\":\"guest\",\"value\":4096}"),
		  "nodeos 1;c=a cpus=1 guest=4096;" },
		{ IMAGE(CONTAINER ",{\"name\":\"os/linux/oom-score-adj\",\"value\":1000}"),
		  "nodeos 1;c=a cpus=1 oom=1000;" },
		{ IMAGE(CONTAINER
			",{\"name\":\"resource/memory\",\"value\":{\"limit\":\"128974848\"}}"),
		  "nodeos 1;c=a cpus=1 memory=128974848;" },
		{ IMAGE(CONTAINER
			",{\"name\":\"resource/memory\",\"value\":{\"limit\":\"125952Ki\","
			"\"request\":\"123Mi\"}}"),
		  "nodeos 1;c=a cpus=1 memory=128974848 memory_request=128974848;" },
		{ IMAGE(CONTAINER ",{\"name\":\"resource/memory\",\"value\":{\"limit\":2000000}}"),
		  "nodeos 1;c=a cpus=1 memory=2000000;" },
		{ IMAGE(CONTAINER
			",{\"name\":\"resource/block-bandwidth\",\"value\":{\"default\":true,"
			"\"limit\":\"2M\"}}"),
		  "nodeos 1;c=a cpus=1 bandwidth=2000000;" },
		{ IMAGE(CONTAINER
			",{\"name\":\"resource/block-iops\",\"value\":{\"limit\":\"1K\"}}"),
		  "nodeos 1;c=a cpus=1 iops=1000;" },
		{ IMAGE(SIZES("\"cpus\":1,\"mems\":[{\"kind\":\"hbm\",\"size\":\"16G\"},"
			      "{\"kind\":\"dram\",\"count\":\"2\"}]")),
		  "nodeos 1;c=a cpus=1 mems=dram:2,hbm:17179869184b;" },
		{ IMAGE(SIZES("\"mems_policy\":\"preferred-many\",\"cpus\":1,\"mems\":2")),
		  "nodeos 1;c=a cpus=1 mems=2 mems_policy=preferred-many;" },
		{ IMAGE(SIZES("\"mems_policy\":\"bind\",\"cpus\":1,\"cores\":\"fast\"")),
		  "nodeos 1;c=a cpus=1 cores=fast;" },
		{ IMAGE(CONTAINER ",{\"name\":\"argo/thp\",\"value\":{\"policy\":\"always\"}}"),
		  "nodeos 1;c=a cpus=1 thp=always;" },
		{ IMAGE(CONTAINER
			",{\"name\":\"lwk\",\"value\":{\"memory\":\"share\",\"page\":\"1G\"}}"),
		  "nodeos 1;c=a cpus=1 lwk=1 lwk_page=1G;" },
		{ IMAGE(CONTAINER ",{\"name\":\"lwk\",\"value\":{\"memory\":\"512MiB\"}}"),
		  "nodeos 1;c=a cpus=1 lwk=536870912;" },
		{ POD(APP("a", CONTAINER) "],\"isolators\":[{\"name\":\"resource/memory\","
					  "\"value\":{\"limit\":\"1G\"}}"),
		  "nodeos 1;c=a cpus=1 ignored=resource/memory;" },
		{ POD(APP("sim", SIZES("\"cpus\":12,\"mems\":3")) "," APP(
			  "vda", SIZES("\"cpus\":2,\"mems\":1"))),
		  "nodeos 1;c=sim cpus=12 mems=3;c=vda cpus=2 mems=1;" },
		{ FIELD("\"labels\":null,\"annotations\":[{\"name\":\"a\",\"value\":\"b\"}],"
			"\"dependencies\":[],\"pathWhitelist\":[\"/\"]"),
		  "nodeos 1;c=a cpus=1;" },
		{ APP_FIELD("\"exec\":[],\"user\":\"0\",\"group\":\"0\",\"supplementaryGIDs\":[0,"
			    "4294967295],\"workingDirectory\":\"\""),
		  "nodeos 1;c=a cpus=1;" },
	};

	for (size_t i = 0; i < COUNT(table); i++)
		is(load(table[i].text, strlen(table[i].text)), table[i].request,
		   "manifest_load: accepts good manifest %zu", i);
}

/* The position is counted by hand; the message contains the words. */
static const struct {
	const char *text;
	const char *at;
	const char *says;
} bad[] = {
	/* the text and its root */
	{ "", "1:1", "the text is empty" },
	{ "[]", "1:1", "expected a manifest (an object), got an array" },
	{ "48", "1:1", "expected a manifest (an object), got a number" },
	{ "null", "1:1", "got null" },
	{ "{\n\"a\" 1}", "2:5", "expected \":\" after the key" },
	{ "{\n\t\"acKind\": \"ImageManifest\",\n}", "2:27", "a comma before \"}\"" },
	{ "{}", "1:1", "\"acKind\" is missing (allowed: ImageManifest, PodManifest)" },
	{ "{\"acKind\":\"Image\"}", "1:11",
	  "acKind: \"Image\" (allowed: ImageManifest, PodManifest)" },
	{ "{\"acKind\":1}", "1:11", "acKind: expected a string, got a number" },
	{ "{\"ackind\":\"ImageManifest\"}", "1:1", "\"acKind\" is missing" },
	{ "{\"acKind\":\"ImageManifest\"}", "1:1", "\"acVersion\" is missing" },
	{ "{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.6.0\"}", "1:1", "\"name\" is missing" },
	{ "{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.6.0\",\"name\":\"a\"}", "1:1",
	  "\"app\" is missing" },
	{ "{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.6.0\",\"name\":\"a\",\n\"app\":{}}",
	  "2:7", "app: \"isolators\" is missing" },
	{ "{\"acKind\":\"ImageManifest\",\"acVersion\":\"0.6.0\",\"name\":\"a\",\n\"app\":null}",
	  "2:7", "app: expected an object, got null" },
	{ "{\"acKind\":\"PodManifest\",\"acVersion\":\"0.6.0\"}", "1:1", "\"apps\" is missing" },
	{ "{\"acKind\":\"PodManifest\",\"acVersion\":\"0.6.0\",\n\"apps\":[]}", "2:8",
	  "apps: 0 apps (allowed: 1 to 64)" },
	{ "{\"acKind\":\"PodManifest\",\"acVersion\":\"0.6.0\",\n\"name\":\"a\"}", "2:1",
	  "unknown key \"name\"" },
	/* acVersion */
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"0.6\"}", "2:13",
	  "acVersion: \"0.6\" (allowed: a semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"v0.6.0\"}", "2:13", "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"0.0.0\"}", "2:13", "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"0.06.0\"}", "2:13", "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"1.0.0-\"}", "2:13", "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"1.0.0-01\"}", "2:13",
	  "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"1.0.0+\"}", "2:13", "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"1.0.0.0\"}", "2:13",
	  "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":\"\"}", "2:13", "semantic version" },
	{ "{\"acKind\":\"ImageManifest\",\n\"acVersion\":0.6}", "2:13",
	  "expected a string, got a number" },
	/* name */
	{ "{\"acKind\":\"ImageManifest\",\n\"name\":\"My\"}", "2:8",
	  "name: \"My\" (allowed: an AppC identifier" },
	{ "{\"acKind\":\"ImageManifest\",\n\"name\":\"\"}", "2:8", "name: \"\" (allowed" },
	{ "{\"acKind\":\"ImageManifest\",\n\"name\":\"a..b\"}", "2:8", "a..b" },
	{ "{\"acKind\":\"ImageManifest\",\n\"name\":\"a/-b\"}", "2:8", "a/-b" },
	{ "{\"acKind\":\"ImageManifest\",\"acVersion\":\"1.0.0\",\n\"name\":\"none\",\"app\":{"
	  "\"isolators\":[]}}",
	  "2:8", "name: no container can be named \"none\"" },
	{ "{\"acKind\":\"ImageManifest\",\"acVersion\":\"1.0.0\",\n"
	  "\"name\":\"a123456789012345678901234567890123456789012345678901234567890123\",\"app\":{"
	  "\"isolators\":[]}}",
	  "2:8", "too long (allowed: 63 bytes)" },
	/* unknown and repeated keys */
	{ FIELD("\"lables\":[]"), "3:1",
	  "unknown key \"lables\", did you mean \"labels\"? (allowed: acKind, " },
	{ FIELD("\"Labels\":[]"), "3:1", "did you mean \"labels\"" },
	{ FIELD("\"zzzzzz\":[]"), "3:1", "unknown key \"zzzzzz\" (allowed: acKind, " },
	{ FIELD("\"\\n\":[]"), "3:1", "unknown key \"\\x0a\" (allowed" },
	{ FIELD("\"name\":\"b\""), "3:1",
	  "key \"name\" is given a second time: the first is at 1:48" },
	{ APP_FIELD("\"isolator\":[]"), "3:1",
	  "app: unknown key \"isolator\", did you mean \"isolators\"?" },
	{ APP_FIELD("\"image\":{}"), "3:1", "app: unknown key \"image\"" },
	/* AppC's own fields */
	{ FIELD("\"labels\":{}"), "3:10", "labels: expected an array, got an object" },
	{ FIELD("\"labels\":[1]"), "3:11", "labels[0]: expected an object, got a number" },
	{ FIELD("\"labels\":[{\"name\":\"a\"}]"), "3:11", "labels[0]: \"value\" is missing" },
	{ FIELD("\"labels\":[{\"name\":\"a\",\"value\":1}]"), "3:31",
	  "labels[0].value: expected a string, got a number" },
	{ FIELD("\"labels\":[{\"name\":\"a\",\"value\":\"\"},{\"name\":\"a\",\"value\":\"\"}]"),
	  "3:43", "labels[1].name: \"a\" is given a second time: the first is at line 3" },
	{ FIELD("\"annotations\":[{\"name\":\"A\",\"value\":\"\"}]"), "3:24",
	  "annotations[0].name: \"A\" (allowed" },
	{ FIELD("\"dependencies\":[{}]"), "3:17", "dependencies[0]: \"imageName\" is missing" },
	{ FIELD("\"dependencies\":[{\"imageName\":\"a\",\"imageID\":\"md5-0\"}]"), "3:44",
	  "\"sha512-\"" },
	{ FIELD("\"pathWhitelist\":[\"/\",false]"), "3:22",
	  "pathWhitelist[1]: expected a string, got true or false" },
	{ APP_FIELD("\"exec\":\"/bin/true\""), "3:8", "app.exec: expected an array, got a string" },
	{ APP_FIELD("\"exec\":[\"a\",1]"), "3:13", "app.exec[1]: expected a string" },
	{ APP_FIELD("\"user\":0"), "3:8", "app.user: expected a string, got a number" },
	{ APP_FIELD("\"group\":[]"), "3:9", "app.group: expected a string, got an array" },
	{ APP_FIELD("\"supplementaryGIDs\":[-1]"), "3:22",
	  "supplementaryGIDs[0]: -1 (allowed: 0 to 4294967295)" },
	{ APP_FIELD("\"supplementaryGIDs\":[1.0]"), "3:22", "1.0 (allowed" },
	{ APP_FIELD("\"workingDirectory\":\"tmp\""), "3:20",
	  "\"tmp\" (allowed: an absolute path)" },
	{ APP_FIELD("\"environment\":[{\"name\":\"1A\",\"value\":\"\"}]"), "3:24",
	  "\"1A\" (allowed: letters" },
	{ APP_FIELD("\"environment\":[{\"name\":\"A\",\"value\":\"\"},{\"name\":\"A\",\"value\":"
		    "\"\"}]"),
	  "3:48", "environment[1].name: \"A\" is given a second time" },
	{ APP_FIELD("\"eventHandlers\":[{\"name\":\"start\",\"exec\":[]}]"), "3:26",
	  "(allowed: pre-start, post-stop)" },
	{ APP_FIELD("\"ports\":[{\"name\":\"a\",\"protocol\":\"tcp\",\"port\":0}]"), "3:46",
	  "0 (allowed: 1 to 65535)" },
	{ APP_FIELD("\"ports\":[{\"name\":\"a\",\"protocol\":\"tcp\",\"port\":65536}]"), "3:46",
	  "65536 (allowed" },
	{ APP_FIELD("\"mountPoints\":[{\"name\":\"a.b\",\"path\":\"\"}]"), "3:24", "an AppC name" },
	{ APP_FIELD("\"userLabels\":{\"a\":1}"), "3:19", "app.userLabels.a: expected a string" },
	/* isolators */
	{ IMAGE(""), "2:20", "app.isolators: isolator \"container\" is missing" },
	{ IMAGE("1"), "3:1", "app.isolators[0]: expected an object" },
	{ IMAGE("{\"name\":\"container\"}"), "3:1", "app.isolators[0]: \"value\" is missing" },
	{ IMAGE("{\"value\":{}}"), "3:1", "app.isolators[0]: \"name\" is missing" },
	{ IMAGE("{\"name\":\"container\",\"value\":{},\"x\":1}"), "3:32",
	  "unknown key \"x\" (allowed: name, value)" },
	{ IMAGE("{\"name\":\"container\",\"value\":[]}"), "3:29",
	  "app.isolators[0].value: expected an object, got an array" },
	{ IMAGE("{\"name\":\"container\",\"value\":null}"), "3:29",
	  "expected an object, got null" },
	{ IMAGE("{\"name\":\"contianer\",\"value\":{}}"), "3:9",
	  "app.isolators[0].name: no isolator is named \"contianer\", did you mean \"container\"? "
	  "(allowed: container, scheduler, dimmap, contention, "
	  "resource/memory, resource/block-bandwidth, resource/block-iops, thp, lwk, "
	  "os/linux/oom-score-adj, guest;" },
	{ IMAGE("{\"name\":\"x\",\"value\":{}}"), "3:9",
	  "no isolator is named \"x\" (allowed: container, scheduler, dimmap, contention, "
	  "resource/memory, resource/block-bandwidth, resource/block-iops, thp, lwk, "
	  "os/linux/oom-score-adj, guest; perfwrapper, power, hwbind, monitoring, image, "
	  "powerpolicy and "
	  "other isolators of AppC are accepted and ignored)" },
	{ IMAGE("{\"name\":\"oom\",\"value\":1}"), "3:9",
	  "\"oom\", did you mean \"os/linux/oom-score-adj\"?" },
	{ IMAGE("{\"name\":\"argo/sched\",\"value\":{}}"), "3:9",
	  "\"argo/sched\", did you mean \"scheduler\"?" },
	{ IMAGE("{\"name\":\"buffer\",\"value\":{}}"), "3:9", "did you mean \"dimmap\"?" },
	{ IMAGE("{\"name\":\"cores\",\"value\":4}"), "3:9",
	  "isolator \"cores\": write it as \"cores\" in the value of \"container\"" },
	{ IMAGE("{\"name\":\"numa\",\"value\":4}"), "3:9",
	  "isolator \"numa\": write it as \"mems\" in the value of \"container\"" },
	{ IMAGE("{\"name\":\"quantum\",\"value\":4}"), "3:9",
	  "isolator \"quantum\": write it as \"quantum\" in the value of \"scheduler\"" },
	{ IMAGE("{\"name\":\"argo/scheduller\",\"value\":{}}"), "3:9",
	  "did you mean \"scheduler\"" },
	{ IMAGE("{\"name\":\"argo/resource/cpu\",\"value\":{}}"), "3:9",
	  "no isolator is named \"argo/resource/cpu\"" },
	{ IMAGE("{\"name\":\"os/linux/oom-score-adj\",\"value\":-1}"), "3:42",
	  "app.isolators[0].value: \"-1\" (allowed: 0 to 1000)" },
	{ IMAGE("{\"name\":\"os/linux/oom-score-adj\",\"value\":1.0}"), "3:42",
	  "\"1.0\" (allowed: 0 to 1000)" },
	{ IMAGE("{\"name\":\"os/linux/oom-score-adj\",\"value\":\"-0\"}"), "3:42",
	  "\"-0\" (allowed: 0 to 1000)" },
	{ IMAGE("{\"name\":\"os/linux/oom-score-adj\",\"value\":\"1001\"}"), "3:42",
	  "app.isolators[0].value: \"1001\" (allowed: 0 to 1000)" },
	{ IMAGE("{\"name\":\"os/linux/oom-score-adj\",\"value\":{}}"), "3:42",
	  "app.isolators[0].value: expected a number or a string, got an object" },
	{ POD(APP("a", CONTAINER) "],\n\"isolators\":[{\"name\":\"os/linux/oom-score-adj\","
				  "\"value\":1}"),
	  "4:22", "\"os/linux/oom-score-adj\" of a pod: it belongs to apps[].app.isolators" },
	{ IMAGE("{\"name\":\"resource/memory\",\"value\":{}}"), "3:35",
	  "\"limit\" is missing: the most memory, for example \"16Gi\"" },
	{ IMAGE("{\"name\":\"resource/memory\",\"value\":{\"limit\":\"500m\"}}"), "3:44",
	  "\"500m\" (allowed: from 1 MiB, bytes" },
	{ IMAGE("{\"name\":\"resource/memory\",\"value\":{\"limit\":\"1000K\"}}"), "3:44",
	  "\"1000K\" (allowed: from 1 MiB" },
	{ IMAGE("{\"name\":\"resource/memory\",\"value\":{\"limit\":\"2000P\"}}"), "3:44",
	  "\"2000P\" (allowed: from 1 MiB" },
	{ IMAGE("{\"name\":\"resource/memory\",\"value\":{\"limit\":\"1G\",\"request\":\"1Gi\"}}"),
	  "3:59", "the request is above the limit" },
	{ IMAGE("{\"name\":\"resource/memory\",\"value\":{\"max\":\"1G\"}}"), "3:36",
	  "unknown key \"max\", did you mean \"limit\"? (allowed: limit, request)" },
	{ IMAGE("{\"name\":\"resource/block-iops\",\"value\":{\"default\":false,\"limit\":1}}"),
	  "3:50", "\"false\" (allowed: true)" },
	{ IMAGE("{\"name\":\"resource/block-iops\",\"value\":{\"default\":\"true\",\"limit\":1}}"),
	  "3:50", "expected true, got a string" },
	{ IMAGE("{\"name\":\"resource/block-iops\",\"value\":{\"limit\":4294967296}}"), "3:48",
	  "\"4294967296\" (allowed: a whole number from 1 to 4294967295, also as 2K)" },
	{ IMAGE("{\"name\":\"resource/block-bandwidth\",\"value\":{\"limit\":0}}"), "3:53",
	  "\"0\" (allowed: from 4096, bytes" },
	{ IMAGE(SIZES("\"mems\":[]")), "3:37", "the list is empty" },
	{ IMAGE(SIZES("\"mems\":[1]")), "3:38",
	  "expected an object such as {\"kind\": \"hbm\", \"size\": \"16G\"}" },
	{ IMAGE(SIZES("\"mems\":{\"kind\":\"hbm\"}")), "3:37",
	  "an object (allowed: 1 to 4096, or for example 512M, 16G, 16GiB; or by kind a list: " },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\",\"size\":16}]")), "3:59",
	  "\"16\" (allowed: 1M to 1024P, for example 512M, 16G, 16GiB)" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\"}]")), "3:38",
	  "expected a kind, and a count or a size of it" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\",\"size\":\"1G\",\"count\":1}]")), "3:38",
	  "expected a kind, and a count or a size of it" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"mcdram\",\"count\":1}]")), "3:46",
	  "\"mcdram\" (allowed: dram, hbm, spm, unknown, cxl, nvm, gpu)" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\",\"count\":0}]")), "3:60",
	  "\"0\" (allowed: a whole number from 1 to 4096)" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\",\"size\":\"1X\"}]")), "3:59",
	  "\"1X\" (allowed: 1M to 1024P, for example 512M" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\",\"count\":1},{\"kind\":\"hbm\",\"count\":2}]")),
	  "3:71", "the kind hbm is given a second time" },
	{ IMAGE(SIZES("\"mems\":[{\"kind\":\"hbm\",\"count\":1,\"node\":2}]")), "3:62",
	  "unknown key (allowed: kind, count, size)" },
	{ IMAGE(SIZES("\"mems\":\"hbm:16G\"")), "3:37",
	  "\"hbm:16G\" (allowed: 1 to 4096, or for example 512M, 16G, 16GiB; or by kind a list: "
	  "[{\"kind\": "
	  "\"hbm\", \"size\": \"16G\"}, {\"kind\": \"dram\", \"count\": 1}])" },
	{ IMAGE(SIZES("\"mems_policy\":\"weighted-interleave\"")), "3:44",
	  "it needs memory nodes: \"mems\" is missing" },
	{ IMAGE(SIZES("\"mems\":1,\"mems_policy\":\"interleave\"")), "3:53",
	  "\"interleave\" (allowed: bind, preferred-many, weighted-interleave)" },
	{ IMAGE(SIZES("\"cores\":4")), "3:38",
	  "expected one of fast, efficient, any; the number of threads is \"cpus\"" },
	{ IMAGE(SIZES("\"cores\":\"slow\"")), "3:38", "\"slow\" (allowed: fast, efficient, any)" },
	{ IMAGE("{\"name\":\"thp\",\"value\":{\"policy\":\"madvise\"}}"), "3:33",
	  "\"madvise\" (allowed: never, always)" },
	{ IMAGE("{\"name\":\"lwk\",\"value\":{}}"), "3:23",
	  "the memory of each rank, for example \"4G\"" },
	{ IMAGE("{\"name\":\"lwk\",\"value\":{\"memory\":\"17M\"}}"), "3:33",
	  "\"17M\" (allowed: 16M to 256G, a multiple of 2M" },
	{ IMAGE("{\"name\":\"lwk\",\"value\":{\"memory\":\"512M\",\"page\":\"1G\"}}"), "3:47",
	  "the memory is not a multiple of 1G" },
	{ IMAGE("{\"name\":\"lwk\",\"value\":{\"memory\":\"512M\",\"page\":\"4K\"}}"), "3:47",
	  "\"4K\" (allowed: 2M, 1G)" },
	{ IMAGE("{\"name\":\"os/linux/nothing\",\"value\":{}}"), "3:9", "no isolator is named" },
	{ IMAGE("{\"name\":\"Container\",\"value\":{}}"), "3:9",
	  "\"Container\" (allowed: an AppC identifier" },
	{ IMAGE("{\"name\":\"contention\",\"value\":{}}"), "3:30",
	  "value: \"policy\" is missing (allowed: observe, dino, di, spread, off)" },
	{ IMAGE("{\"name\":\"contention\",\"value\":{\"policy\":\"devil\"}}"), "3:40",
	  "value.policy: \"devil\" (allowed: observe, dino, di, spread, off)" },
	{ IMAGE("{\"name\":\"contention\",\"value\":{\"policy\":true}}"), "3:40",
	  "expected a string" },
	{ IMAGE("{\"name\":\"contention\",\"value\":\"observe\"}"), "3:30",
	  "expected an object, got a string" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{}}"), "3:26", "value: \"size\" is missing" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\"}}"), "3:26",
	  "\"source\" is missing" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"sorce\":\"/a\"}}"), "3:39",
	  "unknown key \"sorce\", did you mean \"source\"? (allowed: size, source, policy, fill, "
	  "access)" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1023K\",\"source\":\"/a\"}}"), "3:34",
	  "\"1023K\" is not a size of a buffer" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"8193G\",\"source\":\"/a\"}}"), "3:34",
	  "\"8193G\" is not a size of a buffer (allowed: 1M to 8T" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"2E\",\"source\":\"/a\"}}"), "3:34",
	  "\"2E\" is not a size of a buffer" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"source\":\"a\"}}"), "3:48",
	  "\"a\" (allowed: the path of a block device" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"source\":\"/a/../b\"}}"), "3:48",
	  "\"/a/../b\" (allowed" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"source\":\"/a;b\"}}"), "3:48",
	  "\"/a;b\" (allowed" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"source\":\"/"
		"a\",\"policy\":\"lru\"}}"),
	  "3:62", "\"lru\" (allowed: fifo, dimmap, sieve, s3fifo)" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"source\":\"/"
		"a\",\"fill\":\"12K\"}}"),
	  "3:60", "\"12K\" (allowed: a power of two" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"size\":\"1G\",\"source\":\"/"
		"a\",\"access\":\"w\"}}"),
	  "3:62", "\"w\" (allowed: rw, ro)" },
	{ IMAGE("{\"name\":\"argo/partition\",\"value\":{}}"), "3:9",
	  "isolator \"argo/partition\": write it as \"partition\" in the value of \"container\"" },
	{ IMAGE("{\"name\":\"power\",\"value\":true}," CONTAINER), "3:25",
	  "expected an object, got true or false" },
	{ IMAGE(CONTAINER ",\n" CONTAINER), "4:9",
	  "isolator \"container\" is given a second time: the first, \"container\", is at line 3" },
	{ IMAGE(CONTAINER ",\n{\"name\":\"argo/container\",\"value\":{}}"), "4:9",
	  "isolator \"argo/container\" is given a second time: the first, \"container\", "
	  "is at line 3" },
	{ IMAGE("{\"name\":\"power\",\"value\":{}},\n{\"name\":\"argo/power\",\"value\":{}}"),
	  "4:9", "a second time" },
	/* container */
	{ IMAGE(SIZES("\"cpu\":1")), "3:30",
	  "app.isolators[0].value: unknown key \"cpu\", did you mean \"cpus\"? (allowed: cpus, "
	  "mems, smt, partition, placement, mems_policy, cores)" },
	{ IMAGE(SIZES("\"Memory\":1")), "3:30", "\"Memory\", did you mean \"mems\"?" },
	{ IMAGE(SIZES("\"nodes\":1")), "3:30", "did you mean \"mems\"?" },
	{ IMAGE(SIZES("\"mem\":1")), "3:30", "did you mean \"mems\"?" },
	{ IMAGE(SIZES("\"threads_per_core\":1")), "3:30", "did you mean \"smt\"?" },
	{ IMAGE(SIZES("\"threads_per\":1")), "3:30", "\"threads_per\" (allowed" },
	{ IMAGE(SIZES("\"cores threads\":1")), "3:30", "\"cores threads\" (allowed" },
	{ IMAGE(SIZES("\"\":1")), "3:30", "unknown key \"\" (allowed" },
	{ IMAGE(SCHEDULER("\"prio\":1")), "3:30", "did you mean \"priority\"?" },
	{ IMAGE(SCHEDULER("\"timeslice\":1")), "3:30", "did you mean \"quantum\"?" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"file\":\"/a\"}}"), "3:27",
	  "did you mean \"source\"?" },
	{ IMAGE(SIZES("\"partition\":\"isolate\"")), "3:42",
	  "value.partition: \"isolate\" (allowed: member, root, isolated)" },
	{ IMAGE(SIZES("\"partition\":1")), "3:42", "expected a string, got a number" },
	{ IMAGE(SIZES("\"placement\":\"spread:core\"")), "3:42",
	  "value.placement: \"spread:core\" (allowed: pack, spread, spread:package, spread:numa, "
	  "spread:l3)" },
	{ IMAGE(SIZES("\"dimmap\":1")), "3:30",
	  "\"dimmap\" is a separate isolator: write it beside \"container\"" },
	{ IMAGE(SIZES("\"argo/scheduler\":1")), "3:30",
	  "\"argo/scheduler\" is a separate isolator: write it beside \"container\"" },
	{ IMAGE(SIZES("\"os/linux/oom-score-adj\":1")), "3:30",
	  "\"os/linux/oom-score-adj\" is a separate isolator: write it beside \"container\"" },
	{ IMAGE(SIZES("\"power\":1")), "3:30",
	  "\"power\" is a separate isolator: write it beside \"container\"" },
	{ IMAGE(SCHEDULER("\"container\":1")), "3:30",
	  "\"container\" is a separate isolator: write it beside \"scheduler\"" },
	{ IMAGE("{\"name\":\"dimmap\",\"value\":{\"scheduler\":1}}"), "3:27",
	  "\"scheduler\" is a separate isolator: write it beside \"dimmap\"" },
	{ IMAGE(SIZES("\"oom\":1")), "3:30",
	  "unknown key \"oom\", did you mean the isolator \"os/linux/oom-score-adj\", beside "
	  "\"container\"? (allowed: cpus, mems, smt, partition, placement, mems_policy, cores)" },
	{ IMAGE(SIZES("\"cpus\":0")), "3:37",
	  "value.cpus: \"0\" (allowed: a whole number from 1 to 1048576" },
	{ IMAGE(SIZES("\"cpus\":-1")), "3:37", "\"-1\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":4.0")), "3:37", "\"4.0\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":4e0")), "3:37", "\"4e0\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":04")), "3:37", "no leading zero" },
	{ IMAGE(SIZES("\"cpus\":1048577")), "3:37", "\"1048577\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":4294967297")), "3:37", "\"4294967297\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":18446744073709551617")), "3:37", "too large" },
	{ IMAGE(SIZES("\"cpus\":\"\"")), "3:37", "\"\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\"04\"")), "3:37", "\"04\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\" 4\"")), "3:37", "\" 4\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\"4 \"")), "3:37", "\"4 \" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\"+4\"")), "3:37", "\"+4\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\"4.5\"")), "3:37", "\"4.5\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\"0x4\"")), "3:37", "\"0x4\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":\"all\"")), "3:37", "without \"cpus\", all that are left" },
	{ IMAGE(SIZES("\"cpus\":\"18446744073709551617\"")), "3:37",
	  "\"18446744073709551617\" (allowed" },
	{ IMAGE(SIZES("\"cpus\":true")), "3:37",
	  "expected a number or a string, got true or false" },
	{ IMAGE(SIZES("\"cpus\":null")), "3:37", "got null" },
	{ IMAGE(SIZES("\"cpus\":[0,1]")), "3:37", "got an array" },
	{ IMAGE(SIZES("\"mems\":\"0\"")), "3:37",
	  "value.mems: \"0\" is neither a number of memory nodes nor a size" },
	{ IMAGE(SIZES("\"mems\":4097")), "3:37", "neither" },
	{ IMAGE(SIZES("\"mems\":\"16GB\"")), "3:37", "neither" },
	{ IMAGE(SIZES("\"mems\":\"2E\"")), "3:37",
	  "\"2E\" is neither a number of memory nodes nor a size" },
	{ IMAGE(SIZES("\"mems\":1.5")), "3:37", "neither" },
	{ IMAGE(SIZES("\"smt\":0")), "3:36",
	  "value.smt: \"0\" (allowed: a whole number from 1 to 64" },
	{ IMAGE(SIZES("\"smt\":\"ALL\"")), "3:36", "or \"all\"" },
	/* scheduler */
	{ IMAGE(SCHEDULER("")), "3:29",
	  "\"policy\" is missing (allowed: other, batch, idle, fifo, rr, hpc)" },
	{ IMAGE(SCHEDULER("\"priority\":5")), "3:29", "\"policy\" is missing" },
	{ IMAGE(SCHEDULER("\"polcy\":\"hpc\"")), "3:30",
	  "unknown key \"polcy\", did you mean \"policy\"?" },
	{ IMAGE(SCHEDULER("\"policy\":\"HPC\"")), "3:39",
	  "value.policy: \"HPC\" (allowed: other, batch" },
	{ IMAGE(SCHEDULER("\"policy\":\"SCHED_DEADLINE\"")), "3:39",
	  "\"SCHED_DEADLINE\" (allowed" },
	{ IMAGE(SCHEDULER("\"policy\":\"unset\"")), "3:39", "\"unset\" (allowed" },
	{ IMAGE(SCHEDULER("\"policy\":48")), "3:39", "expected a string, got a number" },
	{ IMAGE(SCHEDULER("\"policy\":null")), "3:39", "expected a string, got null" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":3")), "3:56",
	  "priority: \"3\" (allowed: a placement, user, rr or topo, or its number, 0 to 2)" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":\"Topo\"")), "3:56",
	  "\"Topo\" (allowed: a placement" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"quantum\":10001")), "3:55",
	  "quantum: \"10001\" (allowed: a whole number of milliseconds from 0 (no limit) to "
	  "10000)" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"quantum\":\"10ms\"")), "3:55",
	  "\"10ms\" (allowed" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"quantum\":[]")), "3:55", "got an array" },
	{ IMAGE(SCHEDULER("\"quantum\":10,\"policy\":\"rr\"")), "3:40",
	  "\"10\": policy \"rr\" has no quantum" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":\"01\"")), "3:56", "\"01\" (allowed" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":1.0")), "3:56", "\"1.0\" (allowed" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":-1")), "3:56", "\"-1\" (allowed" },
	{ IMAGE(SCHEDULER("\"policy\":\"hpc\",\"priority\":{}")), "3:56",
	  "expected a number or a string, got an object" },
	{ IMAGE(SCHEDULER("\"priority\":\"5\",\"policy\":\"other\"")), "3:41",
	  "\"5\": policy \"other\" has no priorities (allowed: 0)" },
	{ IMAGE(SCHEDULER("\"priority\":1,\"policy\":\"idle\"")), "3:41",
	  "policy \"idle\" has no priorities" },
	{ IMAGE(SCHEDULER("\"priority\":100,\"policy\":\"rr\"")), "3:41",
	  "from 0 to 99; 0 means 1" },
	/* pods */
	{ POD("{\"name\":\"a\"}"), "3:1", "apps[0]: \"app\" is missing" },
	{ POD("{\"app\":{\"isolators\":[]}}"), "3:1", "apps[0]: \"name\" is missing" },
	{ POD("{\"name\":\"a.b\"}"), "3:9", "apps[0].name: \"a.b\" (allowed: an AppC name" },
	{ POD(APP("none", CONTAINER)), "3:9", "no container can be named \"none\"" },
	{ POD(APP("a", CONTAINER) ",\n" APP("a", CONTAINER)), "4:9",
	  "apps[1].name: \"a\" is given a second time: the first is at line 3" },
	{ POD(APP("a", SIZES("")) ",\n" APP("b", SIZES("\"mems\":1"))), "4:61",
	  "apps[1].app.isolators[0].value: no \"cpus\": the container at line 3 already gets all "
	  "CPUs that are left" },
	{ POD(APP("a", "")), "3:32", "apps[0].app.isolators: isolator \"container\" is missing" },
	{ POD("{\"name\":\"a\",\"image\":{\"id\":\"x\"}}"), "3:27",
	  "apps[0].image.id: \"x\" (allowed: \"sha512-\"" },
	{ POD(APP("a", CONTAINER) "],\n\"isolators\":[{\"name\":\"container\",\"value\":{}}"),
	  "4:22",
	  "isolators[0].name: isolator \"container\" of a pod: it belongs to "
	  "apps[].app.isolators" },
	{ POD(APP("a", CONTAINER) "],\n\"volumes\":[{\"name\":\"v\",\"kind\":\"tmpfs\"}"), "4:31",
	  "(allowed: empty, host)" },
};

static void test_manifest_refused(void)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		size_t len = strlen(bad[i].text);
		char *copy = malloc(len ? len : 1);
		const char *message, *rest;
		char at[32];

		memcpy(copy, bad[i].text, len);
		message = load(copy, len);
		snprintf(at, sizeof(at), "m:%s: ", bad[i].at);
		rest = strncmp(message, at, strlen(at)) == 0 ? message + strlen(at) : NULL;
		if (!ok(rest && strstr(rest, bad[i].says) && !strchr(message, '\n'),
			"manifest_load: refuses bad manifest %zu: %s", i, message))
			printf("# want: %s%s\n", at, bad[i].says);
		free(copy);
	}
}

/* Mistakes, each with the whole message that it causes. */
static void test_whole_lines(void)
{
	static const char typo[] = IMAGE(SIZES("\"cpu\":1"));
	static const char value[] = IMAGE(SIZES("\"cpus\":\"4.5\""));
	static const char longest[] = POD("{\"name\":\"a\",\"app\":{\"wworkingDirectory\":1}}");
	struct errbuf err;
	struct request r;
	char name[300];

	is(load(typo, sizeof(typo) - 1),
	   "m:3:30: app.isolators[0].value: unknown key \"cpu\", did you mean \"cpus\"? (allowed: "
	   "cpus, mems, smt, partition, placement, mems_policy, cores)",
	   "manifest_load: the message about an unknown key has place, hint and allowed keys");
	is(load(value, sizeof(value) - 1),
	   "m:3:37: app.isolators[0].value.cpus: \"4.5\" (allowed: a whole number from 1 to "
	   "1048576; "
	   "without \"cpus\", all that are left)",
	   "manifest_load: the message about a bad value has place, value and allowed values");
	memset(name, 'd', sizeof(name) - 1);
	name[10] = '\n';
	strcpy(name + sizeof(name) - 8, "/x.json");
	manifest_load(&r, NULL, name, "{", 1, &err);
	ok(strstr(err.text, "/x.json:1:2: the text ends here") && !strchr(err.text, '\n'),
	   "manifest_load: a long name is cut: %s", err.text);
	manifest_load(&r, NULL, name, longest, sizeof(longest) - 1, &err);
	ok(strlen(err.text) < 511 && strstr(err.text, "userLabels)"),
	   "manifest_load: a long reason fits after a long name: %s", err.text);
}

/* A nonsense text of the largest size is refused with one line within 2 s. */
static void check_nonsense(const char *what, const char *text, size_t len)
{
	clock_t start = clock();
	const char *message = load(text, len);
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

	ok(strncmp(message, "m:", 2) == 0 && strlen(message) < 511 && !strchr(message, '\n') &&
		   seconds < 2,
	   "manifest_load: refuses %s with one line within 2 s (%.3f s): %s", what, seconds,
	   message);
}

static void fill(char *text, size_t len, const char *unit)
{
	size_t n = strlen(unit);

	for (size_t i = 0; i < len; i++)
		text[i] = unit[i % n];
}

static void test_nonsense(void)
{
	const size_t len = MANIFEST_SIZE_MAX;
	char *text = malloc(len);
	unsigned random = 1;
	char quoted[WORD_QUOTE_MAX];
	static const char *const units[] = {
		"[",  "{\"a\":", "\"",	 "9",  "-",  " ",    "\n", "[0,",     "[\"\\u00e9\",",
		"\\", "a",	 "\xff", "{}", "[]", "[[],", "/*", "\xc3\xa9"
	};

	for (size_t i = 0; i < len; i++) {
		random = random * 1103515245 + 12345;
		text[i] = (char)(random >> 16);
	}
	check_nonsense("random bytes", text, len);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(' ' + (unsigned char)text[i] % 95);
	check_nonsense("random ASCII", text, len);
	for (size_t i = 0; i < COUNT(units); i++) {
		fill(text, len, units[i]);
		check_nonsense(word_quote(quoted, units[i], strlen(units[i])), text, len);
	}
	memset(text, 0, len);
	check_nonsense("NULs", text, len);

	/* a long string, number and key, and many items, each well-formed */
	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	check_nonsense("a long string", text, len);
	memcpy(text, "{\"", 2);
	memcpy(text + len - 4, "\":1}", 4);
	check_nonsense("a long key", text, len);
	memset(text, '1', len);
	memcpy(text, "{\"acKind\":", 10);
	text[len - 1] = '}';
	check_nonsense("a long number", text, len);
	text[10] = '"';
	text[len - 2] = '"';
	check_nonsense("a long acKind", text, len);
	text[0] = '{';
	fill(text + 1, len - 1, "\"a\":1,");
	check_nonsense("too many values", text, len);
	text[6 * 60000] = '}';
	check_nonsense("one key 60,000 times", text, 6 * 60000 + 1);
	strcpy(text, "{");
	for (size_t i = 0, used = 1; i < 60000; i++)
		used += (size_t)sprintf(text + used, "%s\"k%zu\":1", i ? "," : "", i);
	strcat(text, "}");
	check_nonsense("60,000 keys", text, strlen(text));
	strcpy(text, "{\"acKind\":\"ImageManifest\",\"labels\":[");
	for (size_t i = 0, used = strlen(text); i < 16000; i++)
		used += (size_t)sprintf(text + used, "%s{\"name\":\"n%zu\",\"value\":\"\"}",
					i ? "," : "", i);
	strcat(text, "]}");
	check_nonsense("16,000 labels", text, strlen(text));
	free(text);
}

static char *read_ok(const char *path, size_t *len)
{
	struct errbuf err = { 0 };
	char *text = NULL;

	ok(manifest_read_file(&text, len, path, &err) == 0, "manifest_read_file: reads %s %s", path,
	   err.text);
	return text;
}

/* Every installed example, with its request. */
static void test_examples(void)
{
	static const char *const table[][2] = {
		{ "figure3.json", "nodeos 1;c=mycontainer cpus=48 mems=1 policy=hpc;" },
		{ "figure4a.json", "nodeos 1;c=simulation cpus=46 mems=46;" },
		{ "figure4b.json", "nodeos 1;c=simulation cpus=44 mems=44;c=vda cpus=2 mems=2;" },
		{ "coupled.json", "nodeos 1;c=sim cpus=12 mems=3;c=vda cpus=2 mems=1;" },
		{ "small.json", "nodeos 1;c=small cpus=2;" },
		{ "every-key.json",
		  "nodeos 1;c=every-key cpus=2 smt=2 mems=1 policy=hpc prio=2 quantum=20 "
		  "partition=root dimmap=1073741824 dimmap_source=/dev/nvme0n1 "
		  "dimmap_policy=sieve dimmap_fill=65536 dimmap_access=ro oom=500 "
		  "guest=4096 contention=observe placement=spread:l3 memory=2147483648 "
		  "memory_request=1000000000 bandwidth=100000000 iops=2000 thp=never "
		  "mems_policy=weighted-interleave cores=any lwk=2147483648 lwk_page=1G "
		  "lwk_loose=yes;" },
		{ "outofcore.json", "nodeos 1;c=outofcore cpus=4 mems=1 dimmap=4294967296 "
				    "dimmap_source=/dev/nvme0n1 dimmap_fill=65536;" },
		{ "rest.json", "nodeos 1;c=sim smt=1;c=vda cpus=2 mems=1073741824b policy=batch;" },
		{ "argo.json", "nodeos 1;c=argo-example cpus=4 mems=1 policy=other "
			       "ignored=perfwrapper,power memory=4294967296;" },
	};
	const char *top = getenv("NODEOS_SOURCE");

	for (size_t i = 0; i < COUNT(table); i++) {
		char path[4096];
		size_t len;
		char *text;

		snprintf(path, sizeof(path), "%s/etc/examples/%s", top ? top : ".", table[i][0]);
		text = read_ok(path, &len);
		if (text)
			is(load(text, len), table[i][1], "manifest_load: makes the request of %s",
			   table[i][0]);
		free(text);
	}
}

/*
 * A manifest for an older Argo node resource manager, whose isolator "powerpolicy" is now "power".
 */
static void test_older_argo(void)
{
	const char *top = getenv("NODEOS_SOURCE");
	char path[4096];
	size_t len;
	char *text;

	snprintf(path, sizeof(path), "%s/manifest/test/corpus/manifest/powerpolicy.json",
		 top ? top : ".");
	text = read_ok(path, &len);
	if (text)
		is(load(text, len), "nodeos 1;c=x cpus=4 mems=1 ignored=powerpolicy;",
		   "manifest_load: Argo's former name powerpolicy is ignored and recorded");
	free(text);
}

static void refuse_file(const char *path, const char *says)
{
	struct errbuf err = { 0 };
	char *text = NULL;
	size_t len;

	ok(manifest_read_file(&text, &len, path, &err) == -1 && !text && strstr(err.text, says),
	   "manifest_read_file: refuses a file: %s", err.text);
}

static void test_manifest_files(void)
{
	char dir[] = "/tmp/nodeos-manifest-XXXXXX";
	char path[64];
	int fd, ends[2];
	size_t len;
	char *text;

	if (!mkdtemp(dir)) {
		ok(0, "the test can make a directory");
		return;
	}
	snprintf(path, sizeof(path), "%s/m", dir);
	refuse_file(path, "cannot open: No such file");
	refuse_file(dir, "is a directory (allowed: a file or a pipe)");
	refuse_file("/dev/zero", "is a device");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ok(ftruncate(fd, MANIFEST_SIZE_MAX) == 0, "the test can make a file of the largest size");
	text = read_ok(path, &len);
	is_int((long long)len, MANIFEST_SIZE_MAX,
	       "manifest_read_file: reads all of the largest file");
	free(text);
	ok(ftruncate(fd, MANIFEST_SIZE_MAX + 1) == 0, "the test can make the file one byte larger");
	refuse_file(path, "1048577 bytes (allowed: 1048576)");
	ok(ftruncate(fd, 0) == 0, "the test can make the file empty");
	text = read_ok(path, &len);
	is_int((long long)len, 0, "manifest_read_file: reads nothing of an empty file");
	free(text);
	close(fd);
	unlink(path);
	rmdir(dir);

	if (pipe(ends) == 0 && write(ends[1], "{}", 2) == 2) {
		close(ends[1]);
		snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
		text = read_ok(path, &len);
		is(text, "{}", "manifest_read_file: reads a pipe");
		free(text);
		close(ends[0]);
	}
}

int main(void)
{
	test_manifest_good();
	test_manifest_refused();
	test_whole_lines();
	test_nonsense();
	test_examples();
	test_older_argo();
	test_manifest_files();
	return tap_done();
}
