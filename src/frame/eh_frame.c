/* eh_frame.c - reading .eh_frame: table search, entries, and the interpreter of their programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "frame/eh_frame.h"

#include "base/cursor.h"

#include <limits.h>

/* DW_EH_PE_*: how a pointer is written. Low four bits the form, the next three what it counts from. */
enum {
	FORM_ADDRESS = 0x00, FORM_ULEB = 0x01, FORM_U2 = 0x02, FORM_U4 = 0x03, FORM_U8 = 0x04,
	FORM_SLEB = 0x09, FORM_S2 = 0x0a, FORM_S4 = 0x0b, FORM_S8 = 0x0c,
	FROM_ZERO = 0x00, FROM_HERE = 0x10, FROM_DATA = 0x30,
	ENCODING_OMIT = 0xff,
	ENCODING_TABLE = FROM_DATA | FORM_S4, /* what every linker writes into .eh_frame_hdr */
};

static struct cairn_cursor cursor_at(const struct cairn_image *image, uint64_t offset)
{
	struct cairn_cursor in = cairn_cursor(image->bytes);
	cairn_cursor_seek(&in, offset);
	return in;
}

static uint64_t read_form(struct cairn_cursor *in, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case FORM_ULEB: return cairn_cursor_uleb(in);
	case FORM_SLEB: return (uint64_t)cairn_cursor_sleb(in);
	case FORM_U2: return cairn_cursor_u16(in);
	case FORM_S2: return (uint64_t)(int16_t)cairn_cursor_u16(in);
	case FORM_U4: return cairn_cursor_u32(in);
	case FORM_S4: return (uint64_t)(int32_t)cairn_cursor_u32(in);
	case FORM_ADDRESS:
	case FORM_U8:
	case FORM_S8: return cairn_cursor_u64(in);
	}
	cairn_cursor_fail(in);
	return 0;
}

/* A pointer; DATA is the address that data-relative ones count from. */
static uint64_t read_pointer(struct cairn_cursor *in, const struct cairn_image *image, uint8_t encoding, uint64_t data)
{
	uint64_t here = image->address + cairn_cursor_offset(in);
	uint64_t value = read_form(in, encoding);
	switch (encoding & ~0x0f) {
	case FROM_ZERO: return value;
	case FROM_HERE: return value + here;
	case FROM_DATA: return value + data;
	}
	cairn_cursor_fail(in); /* indirect and the rarer bases do not occur for code addresses */
	return 0;
}

/* Starts a CIE or FDE: IN then ends where it ends. False for the end mark. */
static bool enter_record(struct cairn_cursor *in)
{
	uint64_t length = cairn_cursor_u32(in);
	if (length == UINT32_MAX)
		length = cairn_cursor_u64(in);
	if (in->failed || length == 0 || length > cairn_cursor_left(in))
		return false;
	in->end = in->at + length;
	return true;
}

/* The augmentation string says which data precede the program: z length, R encoding of addresses, P personality,
 * L encoding of the LSDA, S signal frame, B and G keys of pointer authentication and memory tags. */
static bool read_augmentation(struct cairn_cursor *in, const char *augmentation, struct cairn_fde *fde)
{
	if (augmentation[0] == 0)
		return true;
	if (augmentation[0] != 'z')
		return false;
	uint64_t length = cairn_cursor_uleb(in);
	if (in->failed || length > cairn_cursor_left(in))
		return false;
	const unsigned char *end = in->at + length;
	for (const char *letter = augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			fde->encoding = cairn_cursor_u8(in);
		else if (*letter == 'S')
			fde->is_signal = true;
		else if (*letter == 'L')
			cairn_cursor_u8(in);
		else if (*letter == 'P')
			read_form(in, cairn_cursor_u8(in));
		else if (*letter != 'B' && *letter != 'G')
			break; /* unknown, but the length says where the program starts */
	}
	if (in->failed || in->at > end)
		return false;
	in->at = end;
	return true;
}

static bool parse_common(const struct cairn_image *image, uint64_t offset, struct cairn_fde *fde)
{
	struct cairn_cursor in = cursor_at(image, offset);
	if (!enter_record(&in) || cairn_cursor_u32(&in) != 0)
		return false;
	uint8_t version = cairn_cursor_u8(&in);
	if (version != 1 && version != 3)
		return false;
	struct cairn_bytes augmentation = cairn_cursor_text(&in);
	fde->code_factor = cairn_cursor_uleb(&in);
	fde->data_factor = cairn_cursor_sleb(&in);
	uint64_t return_register = version == 1 ? cairn_cursor_u8(&in) : cairn_cursor_uleb(&in);
	fde->return_register = (uint8_t)return_register;
	fde->encoding = FORM_ADDRESS;
	fde->is_signal = false;
	fde->has_data = augmentation.length > 0;
	if (in.failed || return_register >= CAIRN_REGISTERS || !read_augmentation(&in, augmentation.data, fde))
		return false;
	fde->common_program = cairn_cursor_offset(&in);
	fde->common_program_end = fde->common_program + cairn_cursor_left(&in);
	return true;
}

bool cairn_eh_frame_parse(const struct cairn_image *image, size_t offset, struct cairn_fde *fde, size_t *next)
{
	struct cairn_cursor in = cursor_at(image, offset);
	bool entered = enter_record(&in);
	if (next)
		*next = entered ? (size_t)(in.end - in.start) : 0;
	if (!entered)
		return false;
	size_t id_offset = cairn_cursor_offset(&in);
	uint32_t back = cairn_cursor_u32(&in);
	if (in.failed || back == 0 || back > id_offset || !parse_common(image, id_offset - back, fde))
		return false;
	fde->start = read_pointer(&in, image, fde->encoding, 0);
	fde->length = read_form(&in, fde->encoding & 0x0f);
	if (fde->has_data)
		cairn_cursor_skip(&in, cairn_cursor_uleb(&in));
	if (in.failed)
		return false;
	fde->program = cairn_cursor_offset(&in);
	fde->program_end = fde->program + cairn_cursor_left(&in);
	return true;
}

/* The entry of the sorted table that may cover PC: the last that starts at or below it. */
static bool search_table(struct cairn_cursor table, uint64_t count, uint64_t header, uint64_t pc, uint64_t *address)
{
	enum { entry_size = 8 };
	if (count > cairn_cursor_left(&table) / entry_size)
		return false;
	const unsigned char *entries = table.at;
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int32_t start;
		memcpy(&start, entries + middle * entry_size, sizeof start);
		if (header + (uint64_t)start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	int32_t entry;
	memcpy(&entry, entries + (low - 1) * entry_size + 4, sizeof entry);
	*address = header + (uint64_t)entry;
	return true;
}

static bool covers(const struct cairn_fde *fde, uint64_t pc)
{
	return pc - fde->start < fde->length;
}

/* Where the table is missing: all entries in turn. */
static bool scan(const struct cairn_image *image, size_t offset, uint64_t pc, struct cairn_fde *fde)
{
	while (offset) {
		size_t next;
		if (cairn_eh_frame_parse(image, offset, fde, &next) && covers(fde, pc))
			return true;
		offset = next;
	}
	return false;
}

bool cairn_eh_frame_find(const struct cairn_image *image, uint64_t header, uint64_t pc, struct cairn_fde *fde)
{
	struct cairn_cursor in = cursor_at(image, header - image->address);
	uint8_t version = cairn_cursor_u8(&in), frame_encoding = cairn_cursor_u8(&in);
	uint8_t count_encoding = cairn_cursor_u8(&in), table_encoding = cairn_cursor_u8(&in);
	if (version != 1 || frame_encoding == ENCODING_OMIT)
		return false;
	uint64_t frames = read_pointer(&in, image, frame_encoding, header) - image->address;
	if (in.failed)
		return false;
	if (count_encoding == ENCODING_OMIT || table_encoding != ENCODING_TABLE)
		return frames < image->bytes.length && scan(image, (size_t)frames, pc, fde);
	uint64_t count = read_pointer(&in, image, count_encoding, header), address;
	if (in.failed || !search_table(in, count, header, pc, &address) || address - image->address >= image->bytes.length)
		return false;
	return cairn_eh_frame_parse(image, (size_t)(address - image->address), fde, NULL) && covers(fde, pc);
}

struct cairn_bytes cairn_eh_frame_expression(const struct cairn_image *image, int32_t value)
{
	struct cairn_cursor in = cursor_at(image, (uint64_t)value);
	return cairn_cursor_bytes(&in, cairn_cursor_uleb(&in));
}

/* Compilers nest remembered states once; hand-written code twice. The limit bounds the stack this needs. */
enum { remembered_most = 6 };

struct machine {
	struct cairn_frame_rules *rules;
	struct cairn_cursor in;
	const struct cairn_image *image;
	const struct cairn_fde *fde;
	struct cairn_rule initial[CAIRN_REGISTERS];
	struct cairn_frame_rules remembered[remembered_most];
	unsigned remembered_count;
	uint64_t location; /* up to where the rules have been found */
	uint64_t pc;
};

static void set_rule(struct machine *machine, uint64_t number, enum cairn_rule_kind kind, int64_t value)
{
	if (value < INT32_MIN || value > INT32_MAX)
		cairn_cursor_fail(&machine->in);
	else if (number < CAIRN_REGISTERS)
		machine->rules->registers[number] = (struct cairn_rule){kind, (int32_t)value};
}

static int64_t factored(const struct machine *machine, int64_t value)
{
	int64_t product;
	return __builtin_mul_overflow(value, machine->fde->data_factor, &product) ? INT64_MAX : product;
}

static void set_cfa_register(struct machine *machine, uint64_t number)
{
	if (number >= CAIRN_REGISTERS)
		cairn_cursor_fail(&machine->in);
	else
		machine->rules->cfa = (struct cairn_rule){CAIRN_RULE_REGISTER, (int32_t)number};
}

static void set_cfa_offset(struct machine *machine, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX)
		cairn_cursor_fail(&machine->in);
	else
		machine->rules->cfa_offset = (int32_t)offset;
}

/* Steps over an expression and returns where it is, as a rule's value. */
static int32_t take_expression(struct machine *machine)
{
	size_t offset = cairn_cursor_offset(&machine->in);
	cairn_cursor_skip(&machine->in, cairn_cursor_uleb(&machine->in));
	if (offset > INT32_MAX)
		cairn_cursor_fail(&machine->in);
	return (int32_t)offset;
}

static void restore(struct machine *machine, uint64_t number)
{
	if (number < CAIRN_REGISTERS)
		machine->rules->registers[number] = machine->initial[number];
}

static void advance(struct machine *machine, uint64_t delta)
{
	machine->location += delta * machine->fde->code_factor;
}

/* DW_CFA_*, without the three that carry their operand in the opcode byte. */
static void run_extended(struct machine *machine, uint8_t opcode)
{
	struct cairn_cursor *in = &machine->in;
	uint64_t number;
	switch (opcode) {
	case 0x00: return; /* nop */
	case 0x01: machine->location = read_pointer(in, machine->image, machine->fde->encoding, 0); return; /* set_loc */
	case 0x02: advance(machine, cairn_cursor_u8(in)); return;
	case 0x03: advance(machine, cairn_cursor_u16(in)); return;
	case 0x04: advance(machine, cairn_cursor_u32(in)); return;
	case 0x05: /* offset_extended */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_OFFSET, factored(machine, (int64_t)cairn_cursor_uleb(in)));
		return;
	case 0x06: restore(machine, cairn_cursor_uleb(in)); return;
	case 0x07: set_rule(machine, cairn_cursor_uleb(in), CAIRN_RULE_UNDEFINED, 0); return;
	case 0x08: set_rule(machine, cairn_cursor_uleb(in), CAIRN_RULE_SAME, 0); return;
	case 0x09: /* register */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_REGISTER, (int64_t)cairn_cursor_uleb(in));
		return;
	case 0x0a: /* remember_state */
		if (machine->remembered_count == remembered_most)
			cairn_cursor_fail(in);
		else
			machine->remembered[machine->remembered_count++] = *machine->rules;
		return;
	case 0x0b: /* restore_state */
		if (machine->remembered_count == 0)
			cairn_cursor_fail(in);
		else
			*machine->rules = machine->remembered[--machine->remembered_count];
		return;
	case 0x0c: /* def_cfa */
		set_cfa_register(machine, cairn_cursor_uleb(in));
		set_cfa_offset(machine, (int64_t)cairn_cursor_uleb(in));
		return;
	case 0x0d: set_cfa_register(machine, cairn_cursor_uleb(in)); return;
	case 0x0e: set_cfa_offset(machine, (int64_t)cairn_cursor_uleb(in)); return;
	case 0x0f: machine->rules->cfa = (struct cairn_rule){CAIRN_RULE_EXPRESSION, take_expression(machine)}; return;
	case 0x10: /* expression */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_EXPRESSION, take_expression(machine));
		return;
	case 0x11: /* offset_extended_sf */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_OFFSET, factored(machine, cairn_cursor_sleb(in)));
		return;
	case 0x12: /* def_cfa_sf */
		set_cfa_register(machine, cairn_cursor_uleb(in));
		set_cfa_offset(machine, factored(machine, cairn_cursor_sleb(in)));
		return;
	case 0x13: set_cfa_offset(machine, factored(machine, cairn_cursor_sleb(in))); return;
	case 0x14: /* val_offset */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_VALUE_OFFSET, factored(machine, (int64_t)cairn_cursor_uleb(in)));
		return;
	case 0x15: /* val_offset_sf */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_VALUE_OFFSET, factored(machine, cairn_cursor_sleb(in)));
		return;
	case 0x16: /* val_expression */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_VALUE_EXPRESSION, take_expression(machine));
		return;
	case 0x2e: cairn_cursor_uleb(in); return; /* GNU_args_size: for landing pads only */
	case 0x2f: /* GNU_negative_offset_extended */
		number = cairn_cursor_uleb(in);
		set_rule(machine, number, CAIRN_RULE_OFFSET, -factored(machine, (int64_t)cairn_cursor_uleb(in)));
		return;
	default:
		if (!cairn_arch_is_idle_rule(opcode))
			cairn_cursor_fail(in);
	}
}

/* Runs a program until it has passed the pc. */
static bool run(struct machine *machine, size_t start, size_t end)
{
	machine->in = cursor_at(machine->image, start);
	machine->in.end = machine->in.start + end;
	while (machine->in.at < machine->in.end && machine->location <= machine->pc) {
		uint8_t opcode = cairn_cursor_u8(&machine->in), operand = opcode & 0x3f;
		if (opcode >> 6 == 1)
			advance(machine, operand);
		else if (opcode >> 6 == 2)
			set_rule(machine, operand, CAIRN_RULE_OFFSET, factored(machine, (int64_t)cairn_cursor_uleb(&machine->in)));
		else if (opcode >> 6 == 3)
			restore(machine, operand);
		else
			run_extended(machine, opcode);
	}
	return !machine->in.failed;
}

bool cairn_eh_frame_rules(const struct cairn_image *image, const struct cairn_fde *fde, uint64_t pc, struct cairn_frame_rules *rules)
{
	struct machine machine;
	memset(rules, 0, sizeof *rules);
	rules->return_register = fde->return_register;
	rules->is_signal = fde->is_signal;
	rules->cfa.kind = CAIRN_RULE_UNDEFINED;
	machine.rules = rules;
	machine.image = image;
	machine.fde = fde;
	machine.remembered_count = 0;
	memset(machine.initial, 0, sizeof machine.initial);
	machine.location = machine.pc = pc; /* the common program holds at every address */
	if (!run(&machine, fde->common_program, fde->common_program_end))
		return false;
	memcpy(machine.initial, rules->registers, sizeof machine.initial);
	machine.location = fde->start;
	return run(&machine, fde->program, fde->program_end) && rules->cfa.kind != CAIRN_RULE_UNDEFINED;
}
