/* modules.c - appending to the ledger's modules, and publishing the core's table of code.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/beside/modules.h"

#include "agent/unwind/code_table.h"

#include <unistd.h>

enum { known_most = 1024 };

static struct {
	struct known {
		uint64_t start, end, image_start, image_end, unwind_header, mark; /* of the path, the build-id and where the code is */
		uint32_t first, count; /* its records in the ledger */
		bool seen, gone;
	} known[known_most];
	unsigned count;
	uint32_t records, text; /* that the ledger has of ours */
	bool changed;
	struct cairn_record *record;
	struct cairn_code_table table;
} modules;

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
	return hash;
}

static void set_counts(struct cairn_record *record)
{
	atomic_store(&record->header->provided[CAIRN_LEDGER_TEXT], modules.text);
	atomic_store(&record->header->provided[CAIRN_LEDGER_MODULES], modules.records);
	atomic_store(&record->header->text_used, modules.text);
	atomic_store(&record->header->modules_used, modules.records);
}

/* Appends a record for each range of its code. */
static void append(struct cairn_record *record, struct known *known, const struct cairn_beside_module *module)
{
	size_t length = strlen(module->path);
	known->first = modules.records;
	if (length == 0)
		return;
	if (length > record->text_length - modules.text || module->range_count > record->module_count - modules.records ||
	    !cairn_record_provide(record, record->text + modules.text, length) ||
	    !cairn_record_provide(record, &record->modules[modules.records], module->range_count * sizeof *record->modules)) {
		atomic_fetch_add(&record->header->modules_lost, 1);
		return;
	}
	memcpy(record->text + modules.text, module->path, length);
	for (uint32_t i = 0; i < module->range_count; i++) {
		struct cairn_ledger_module *to = &record->modules[modules.records++];
		*to = (struct cairn_ledger_module){
			.id_length = module->id_length,
			.start = module->ranges[i].start,
			.end = module->ranges[i].end,
			.offset = module->ranges[i].offset,
			.path = modules.text,
			.path_length = (uint32_t)length,
		};
		memcpy(to->build_id, module->build_id, sizeof to->build_id);
		atomic_store_explicit(&to->state, CAIRN_LEDGER_STATE_COMPLETE, memory_order_release);
		known->count++;
	}
	modules.text += (uint32_t)length;
	set_counts(record);
}

static void see(void *context, const struct cairn_beside_module *module)
{
	struct cairn_record *record = context;
	uint64_t mark = mix(0xcbf29ce484222325u, module->path, strlen(module->path));
	mark = mix(mix(mark, module->build_id, sizeof module->build_id), module->ranges, sizeof module->ranges);
	for (unsigned i = 0; i < modules.count; i++) {
		struct known *known = &modules.known[i];
		if (known->start == module->start && known->end == module->end && known->mark == mark && !known->gone) {
			known->seen = true;
			return;
		}
	}
	if (modules.count == known_most)
		return;
	struct known *known = &modules.known[modules.count++];
	*known = (struct known){.start = module->start,
				.end = module->end,
				.image_start = module->image_start,
				.image_end = module->image_end,
				.unwind_header = module->unwind_header,
				.mark = mark,
				.seen = true};
	modules.changed = true;
	append(record, known, module);
}

/* A module's place in the list is its tag (unwind/rule_cache.h): no two share one. */
static void publish(const struct cairn_beside *beside)
{
	struct cairn_code_table *table = &modules.table;
	unsigned count = 0, spare = ~atomic_load(&table->published) & 1;
	for (unsigned i = 0; i < modules.count; i++)
		if (!modules.known[i].gone)
			cairn_code_table_add(table, &count,
					     &(struct cairn_code){.start = modules.known[i].start,
								  .end = modules.known[i].end,
								  .image_start = modules.known[i].image_start,
								  .image_end = modules.known[i].image_end,
								  .unwind_header = modules.known[i].unwind_header,
								  .tag = (uint16_t)(i + 1)});
	cairn_code_table_publish(table, count);
	off_t at = (off_t)beside->objects;
	bool good = pwrite(beside->memory, table->entries[spare], sizeof table->entries[spare],
			   at + (off_t)offsetof(struct cairn_code_table, entries[spare])) == sizeof table->entries[spare] &&
		    pwrite(beside->memory, table->counts, sizeof table->counts, at + (off_t)offsetof(struct cairn_code_table, counts)) ==
			    sizeof table->counts &&
		    pwrite(beside->memory, &table->published, sizeof table->published,
			   at + (off_t)offsetof(struct cairn_code_table, published)) == sizeof table->published;
	modules.changed = !good; /* the process ends, or comes next time */
}

void cairn_beside_modules_open(const struct cairn_beside *beside, struct cairn_record *record)
{
	unsigned published = 0;
	if (pread(beside->memory, &published, sizeof published, (off_t)(beside->objects + offsetof(struct cairn_code_table, published))) ==
	    sizeof published)
		atomic_store(&modules.table.published, published);
	modules.changed = true;
	set_counts(record);
}

void cairn_beside_modules_list(const struct cairn_beside *beside, struct cairn_record *record)
{
	for (unsigned i = 0; i < modules.count; i++)
		modules.known[i].seen = false;
	beside->list(beside->context, see, record);
	for (unsigned i = 0; i < modules.count; i++) {
		struct known *known = &modules.known[i];
		if (known->seen || known->gone)
			continue;
		known->gone = modules.changed = true;
		for (uint32_t k = 0; k < known->count; k++)
			atomic_store(&record->modules[known->first + k].state, CAIRN_LEDGER_STATE_ENDED);
	}
	if (modules.changed)
		publish(beside);
}
