/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Prints the text that the argument chooses, generated from the tables of isolators and keys: for
 * nodeos-manifest(5), the table of keys (mdoc) or the list of ignored isolators; a JSON Schema of
 * manifests; the members of reports for nodeos-report(5) or for the schema of reports. keys_test.py
 * compares the texts with the files in doc.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "manifest/manifest_keys.h"

/* Print each sentence on a line of its own, as mdoc requires. */
static void put_sentences(const char *text)
{
	for (; *text; text++)
		putchar(*text == ' ' && text[-1] == '.' ? '\n' : *text);
	putchar('\n');
}

/* Print the key of nodeos.conf that allows K, unless the same key allows BEFORE. */
static void put_allow(const struct manifest_key *k, const struct manifest_key *before)
{
	if (!before || before->isolator != k->isolator)
		printf("A site allows it by\n.Ic allow_%s .\n", isolator_name(k->isolator));
}

static void put_mdoc_key(const struct manifest_key *k, const struct manifest_key *before)
{
	printf(".It Cm %s\n%s\nAllowed: %s.\n", k->name, k->says, k->allowed);
	if (k->absent)
		printf("Default: %s.\n", k->absent);
	else
		puts("Required.");
	put_allow(k, before);
}

static void put_mdoc(void)
{
	puts(".Bl -tag -width Ds");
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++) {
		printf(".It Cm %s\n", i->name);
		put_sentences(i->says);
		if (!*i->keys->name) {
			printf("Allowed: %s, as a number or a string.\n", i->keys->allowed);
			put_allow(i->keys, NULL);
			continue;
		}
		puts(".Bl -tag -width Ds -compact");
		for (const struct manifest_key *k = i->keys; k->name; k++)
			put_mdoc_key(k, k == i->keys ? NULL : k - 1);
		puts(".El");
	}
	puts(".El");
}

/* Print AppC's own isolators that are ignored. */
static void put_ignored(void)
{
	const char *last = NULL;

	for (const char *const *name = request_ignored_name; *name; name++) {
		if (!strchr(*name, '/') || manifest_isolator_find(*name))
			continue;
		if (last)
			printf(".Cm %s ,\n", last);
		last = *name;
	}
	puts("and");
	printf(".Cm %s .\n", last);
}

/* Print the members of reports that are RANK_NUMBERS, for nodeos-report(5). */
static void put_members(void)
{
	for (const struct rank_number *n = rank_numbers; n < rank_numbers + RANK_NUMBER_COUNT; n++)
		printf(".It Cm %s\nThe number of\n.Ql %s ,\nalso in\n.Cm asked ;\n"
		       "left out when not asked.\n",
		       n->member, n->name);
}

/* Print the same members for nodeos-report.schema.json. */
static void put_report(void)
{
	for (const struct rank_number *n = rank_numbers; n < rank_numbers + RANK_NUMBER_COUNT; n++)
		printf("        \"%s\": {\"type\": \"integer\", \"minimum\": %d, \"maximum\": "
		       "%d, \"description\": \"The value of the ranks, as %s.\"},\n",
		       n->member, n->min, n->max, n->name);
}

/* Print the pieces of a text in one pair of quotes; NULL ends them. */
static void put_text(const char *const *piece)
{
	putchar('"');
	for (; *piece; piece++)
		for (const char *s = *piece; *s; s++) {
			if (*s == '"' || *s == '\\')
				putchar('\\');
			putchar(*s);
		}
	putchar('"');
}

static void put_string(const char *text)
{
	put_text((const char *const[]){ text, NULL });
}

/* Print JSON that is written with ' in place of ", so that the literals need no escapes. */
static void put_json(const char *text)
{
	for (; *text; text++)
		putchar(*text == '\'' ? '"' : *text);
}

/* Print the allowed values of K: a number, a number in quotes, words, other texts. */
static void put_values(const struct manifest_key *k)
{
	const char *comma = "";

	fputs("{\"anyOf\": [", stdout);
	if (k->min != k->max) {
		printf("{\"type\": \"integer\", \"minimum\": %" PRId64 ", \"maximum\": %" PRId64
		       "}",
		       k->min, k->max);
		if (!k->pattern)
			printf(", {\"$ref\": \"#/$defs/%s\"}", k->min < 0 ? "signed" : "digits");
		comma = ", ";
	}
	if (k->wants) {
		printf("%s", comma);
		put_json("{'type': 'array', 'minItems': 1, 'items': {'type': 'object', "
			 "'properties': {'kind': {'enum': [");
		for (unsigned i = 0; i < MEMORY_KINDS; i++) {
			fputs(i ? ", " : "", stdout);
			put_string(memory_kind_name((enum memory_kind)i));
		}
		put_json("]}, 'count': {'anyOf': [{'type': 'integer', 'minimum': 1, 'maximum': "
			 "4096}, {'$ref': '#/$defs/digits'}]}, 'size': {'anyOf': [{'type': "
			 "'integer', 'minimum': 1}, {'type': 'string', 'pattern': ");
		put_string(k->pattern);
		put_json("}]}}, 'required': ['kind'], 'oneOf': [{'required': ['count']}, "
			 "{'required': ['size']}], 'additionalProperties': false}}");
		comma = ", ";
	}
	if (k->truth)
		fputs("{\"const\": true}", stdout);
	if (k->word) {
		printf("%s{\"enum\": [", comma);
		for (unsigned i = 0; k->word(i); i++) {
			fputs(i ? ", " : "", stdout);
			put_string(k->word(i));
		}
		fputs("]}", stdout);
		comma = ", ";
	}
	if (k->pattern) {
		printf("%s{\"type\": \"string\", \"pattern\": ", comma);
		put_string(k->pattern);
		putchar('}');
	}
	fputs("]", stdout);
}

static void put_key(const struct manifest_key *k, const char *comma)
{
	printf("%s\n        ", comma);
	put_string(k->name);
	fputs(": ", stdout);
	put_values(k);
	fputs(", \"description\": ", stdout);
	put_text((const char *const[]){ k->says, " Allowed: ", k->allowed,
					k->absent ? "; default: " : "; required",
					k->absent ? k->absent : "", ".", NULL });
	putchar('}');
}

/* Return the schema's name for the value of I: a '/' would begin another part of a reference. */
static const char *definition(const struct manifest_isolator *i)
{
	const char *slash = strrchr(i->name, '/');

	return slash ? slash + 1 : i->name;
}

/* Print the definition of an isolator's value. */
static void put_isolator(const struct manifest_isolator *i)
{
	const char *comma = "";

	fputs("    ", stdout);
	put_string(definition(i));
	if (!*i->keys->name) {
		fputs(": ", stdout);
		put_values(i->keys);
		fputs(", \"description\": ", stdout);
		put_text((const char *const[]){ i->says, " Allowed: ", i->keys->allowed, ".",
						NULL });
		puts("},");
		return;
	}
	fputs(": {\n      \"type\": \"object\",\n      \"description\": ", stdout);
	put_string(i->says);
	fputs(",\n      \"properties\": {", stdout);
	for (const struct manifest_key *k = i->keys; k->name; k++, comma = ",")
		put_key(k, comma);
	fputs("\n      },\n      \"required\": [", stdout);
	comma = "";
	for (const struct manifest_key *k = i->keys; k->name; k++)
		if (!k->absent) {
			fputs(comma, stdout);
			put_string(k->name);
			comma = ", ";
		}
	fputs("],\n      \"additionalProperties\": false\n    },\n", stdout);
}

/* Print NAME, and NAME with the family of Argo if it has one. */
static void put_name(const char *name, const char **comma)
{
	fputs(*comma, stdout);
	put_string(name);
	*comma = ", ";
	if (strchr(name, '/'))
		return;
	fputs(", ", stdout);
	put_text((const char *const[]){ "argo/", name, NULL });
}

/* Print AppC's isolators that are ignored only in a pod's list. */
static void put_pod_names(void)
{
	const char *comma = ", ";

	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		if (strncmp(i->name, "resource/", 9) == 0)
			put_name(i->name, &comma);
}

/* Print the names of the isolators that act, or of those that are ignored. */
static void put_names(bool ignored)
{
	const char *comma = "";

	for (const struct manifest_isolator *i = manifest_isolators; i->name && !ignored; i++)
		put_name(i->name, &comma);
	for (const char *const *name = request_ignored_name; *name && ignored; name++)
		if (!manifest_isolator_find(*name))
			put_name(*name, &comma);
}

/* Print which value belongs to which name. */
static void put_pairs(void)
{
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++) {
		const char *comma = "";

		fputs("        {\"if\": {\"properties\": {\"name\": {\"enum\": [", stdout);
		put_name(i->name, &comma);
		printf("]}}}, \"then\": {\"properties\": {\"value\": {\"$ref\": \"#/$defs/%s\"}}}}"
		       "%s\n",
		       definition(i), i[1].name ? "," : "");
	}
}

/*
 * Print the definitions of an isolator with any known name, of an ignored isolator, and of lists of
 * both.
 */
static void put_isolators(void)
{
	put_json("    'isolator': {\n"
		 "      'type': 'object',\n"
		 "      'properties': {\n"
		 "        'name': {'enum': [");
	put_names(false);
	fputs(", ", stdout);
	put_names(true);
	put_json("], 'description': 'The name of the isolator, with or without the family "
		 "argo/.'},\n"
		 "        'value': {'description': 'The value of the isolator.'}\n"
		 "      },\n"
		 "      'required': ['name', 'value'],\n"
		 "      'additionalProperties': false,\n"
		 "      'allOf': [\n");
	put_pairs();
	put_json("      ]\n"
		 "    },\n"
		 "    'ignored': {\n"
		 "      'allOf': [{'$ref': '#/$defs/isolator'}],\n"
		 "      'properties': {'name': {'enum': [");
	put_names(true);
	put_pod_names();
	put_json("]}},\n"
		 "      'description': 'An isolator that is loaded and does nothing.'\n"
		 "    },\n");
}

static const char head[] =
	"{\n"
	"  '$schema': 'https://json-schema.org/draft/2020-12/schema',\n"
	"  '$id': 'urn:nodeos-slurm:manifest:1',\n"
	"  'title': 'NodeOS for Slurm: manifests of compute containers, see nodeos-manifest(5)',\n"
	"  '$comment': 'SPDX-License-Identifier: GPL-2.0-or-later',\n"
	"  'type': 'object',\n"
	"  'properties': {\n"
	"    'acKind': {'enum': ['ImageManifest', 'PodManifest'], 'description': 'One container, "
	"or several.'}\n"
	"  },\n"
	"  'required': ['acKind'],\n"
	"  'allOf': [\n"
	"    {'if': {'properties': {'acKind': {'const': 'ImageManifest'}}}, 'then': {'$ref': "
	"'#/$defs/image_manifest'}},\n"
	"    {'if': {'properties': {'acKind': {'const': 'PodManifest'}}}, 'then': {'$ref': "
	"'#/$defs/pod_manifest'}}\n"
	"  ],\n"
	"  '$defs': {\n"
	"    'digits': {'type': 'string', 'description': 'A whole number in quotes.', 'pattern': "
	"'^(0|[1-9][0-9]*)$'},\n"
	"    'signed': {'type': 'string', 'description': 'Likewise, perhaps with a minus sign.', "
	"'pattern': '^(0|-?[1-9][0-9]*)$'},\n"
	"    'version': {\n"
	"      'type': 'string',\n"
	"      'description': 'The version of AppC that the manifest follows.',\n"
	"      'pattern': '^(0|[1-9][0-9]*)([.](0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?"
	"([+][0-9A-Za-z.-]+)?$',\n"
	"      'not': {'pattern': '^0[.]0[.]0([-+]|$)'}\n"
	"    },\n"
	"    'unused': {'type': ['array', 'null'], 'description': 'Checked, not used.'},\n"
	"    'unused_map': {'type': ['object', 'null'], 'description': 'Checked, not used.'},\n"
	"    'unused_text': {'type': ['string', 'null'], 'description': 'Checked, not used.'},\n";

static const char apps[] =
	"    'app': {\n"
	"      'type': 'object',\n"
	"      'description': 'The isolators and the command of a container.',\n"
	"      'properties': {\n"
	"        'exec': {'type': ['array', 'null'], 'items': {'type': 'string'}, 'description': "
	"'The command that runs when the manifest takes the place of a program.'},\n"
	"        'user': {'$ref': '#/$defs/unused_text'},\n"
	"        'group': {'$ref': '#/$defs/unused_text'},\n"
	"        'supplementaryGIDs': {'$ref': '#/$defs/unused'},\n"
	"        'eventHandlers': {'$ref': '#/$defs/unused'},\n"
	"        'workingDirectory': {'type': ['string', 'null'], 'pattern': '^(/.*)?$', "
	"'description': 'The working directory of the command.'},\n"
	"        'environment': {'type': ['array', 'null'], 'items': {'$ref': "
	"'#/$defs/variable'}, 'description': 'The variables of the command.'},\n"
	"        'isolators': {\n"
	"          'type': 'array',\n"
	"          'items': {'$ref': '#/$defs/isolator'},\n"
	"          'contains': {'properties': {'name': {'enum': ['container', "
	"'argo/container']}}},\n"
	"          'description': 'The isolators of the container; the isolator container is "
	"required.'\n"
	"        },\n"
	"        'mountPoints': {'$ref': '#/$defs/unused'},\n"
	"        'ports': {'$ref': '#/$defs/unused'},\n"
	"        'userAnnotations': {'$ref': '#/$defs/unused_map'},\n"
	"        'userLabels': {'$ref': '#/$defs/unused_map'}\n"
	"      },\n"
	"      'required': ['isolators'],\n"
	"      'additionalProperties': false\n"
	"    },\n"
	"    'variable': {\n"
	"      'type': 'object',\n"
	"      'description': 'A variable of the environment.',\n"
	"      'properties': {\n"
	"        'name': {'type': 'string', 'pattern': '^[A-Za-z_][A-Za-z_0-9.-]*$', "
	"'description': 'The name of the variable.'},\n"
	"        'value': {'type': 'string', 'description': 'The value of the variable.'}\n"
	"      },\n"
	"      'required': ['name', 'value'],\n"
	"      'additionalProperties': false\n"
	"    },\n"
	"    'pod_app': {\n"
	"      'type': 'object',\n"
	"      'description': 'One container of several.',\n"
	"      'properties': {\n"
	"        'name': {'type': 'string', 'maxLength': 63, 'pattern': "
	"'^[a-z0-9]+(-[a-z0-9]+)*$', 'not': {'const': 'none'}, 'description': 'The "
	"name of the container.'},\n"
	"        'image': {'$ref': '#/$defs/unused_map'},\n"
	"        'app': {'$ref': '#/$defs/app'},\n"
	"        'readOnlyRootFS': {'type': ['boolean', 'null'], 'description': 'Checked, not "
	"used.'},\n"
	"        'mounts': {'$ref': '#/$defs/unused'},\n"
	"        'annotations': {'$ref': '#/$defs/unused'}\n"
	"      },\n"
	"      'required': ['name', 'app'],\n"
	"      'additionalProperties': false\n"
	"    },\n";

static const char manifests[] =
	"    'image_manifest': {\n"
	"      'type': 'object',\n"
	"      'description': 'One container.',\n"
	"      'properties': {\n"
	"        'acKind': {'const': 'ImageManifest'},\n"
	"        'acVersion': {'$ref': '#/$defs/version'},\n"
	"        'name': {'type': 'string', 'maxLength': 63, 'pattern': "
	"'^[a-z0-9]+([-._~/][a-z0-9]+)*$', 'not': {'const': 'none'}, 'description': 'The "
	"name of the container.'},\n"
	"        'labels': {'$ref': '#/$defs/unused'},\n"
	"        'app': {'$ref': '#/$defs/app'},\n"
	"        'annotations': {'$ref': '#/$defs/unused'},\n"
	"        'dependencies': {'$ref': '#/$defs/unused'},\n"
	"        'pathWhitelist': {'$ref': '#/$defs/unused'}\n"
	"      },\n"
	"      'required': ['acKind', 'acVersion', 'name', 'app'],\n"
	"      'additionalProperties': false\n"
	"    },\n"
	"    'pod_manifest': {\n"
	"      'type': 'object',\n"
	"      'description': 'Several containers.',\n"
	"      'properties': {\n"
	"        'acKind': {'const': 'PodManifest'},\n"
	"        'acVersion': {'$ref': '#/$defs/version'},\n"
	"        'apps': {'type': 'array', 'minItems': 1, 'maxItems': 64, 'items': {'$ref': "
	"'#/$defs/pod_app'}, 'description': 'A container each.'},\n"
	"        'volumes': {'$ref': '#/$defs/unused'},\n"
	"        'isolators': {'type': ['array', 'null'], 'items': {'$ref': "
	"'#/$defs/ignored'}, 'description': 'Isolators of the whole pod, all ignored.'},\n"
	"        'annotations': {'$ref': '#/$defs/unused'},\n"
	"        'ports': {'$ref': '#/$defs/unused'},\n"
	"        'userAnnotations': {'$ref': '#/$defs/unused_map'},\n"
	"        'userLabels': {'$ref': '#/$defs/unused_map'}\n"
	"      },\n"
	"      'required': ['acKind', 'acVersion', 'apps'],\n"
	"      'additionalProperties': false\n"
	"    }\n"
	"  }\n"
	"}\n";

static void put_schema(void)
{
	put_json(head);
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		put_isolator(i);
	put_isolators();
	put_json(apps);
	put_json(manifests);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *word;
		void (*put)(void);
	} forms[] = {
		{ "mdoc", put_mdoc },	    { "ignored", put_ignored }, { "schema", put_schema },
		{ "members", put_members }, { "report", put_report },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(argv[1], forms[i].word) == 0) {
			forms[i].put();
			return fflush(stdout) == 0 ? 0 : 1;
		}
	fputs("Usage: keys mdoc|ignored|schema|members|report\n", stderr);
	return 2;
}
