/* frames.c - `frames FILE`: for each address (hexadecimal, link-time) on standard input, the unwind rules there as the
 * agent's reader finds them, in the words of readelf --debug-dump=frames-interp: "ADDRESS cfa=rsp+16 rbp=c-16 ra=c-8".
 * SPDX-License-Identifier: Apache-2.0 */
#include "frame/eh_frame.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void print_register(unsigned number, uint8_t return_register)
{
#if defined(__x86_64__)
	static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
					    "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
	if (number != return_register)
		fputs(names[number], stdout);
#else
	if (number != return_register && number == CAIRN_REGISTER_SP)
		fputs("sp", stdout);
	else if (number != return_register)
		printf("x%u", number);
#endif
	if (number == return_register)
		fputs("ra", stdout);
}

static void print_rule(struct cairn_rule rule)
{
	switch (rule.kind) {
	case CAIRN_RULE_SAME: fputs("s", stdout); break;
	case CAIRN_RULE_UNDEFINED: fputs("u", stdout); break;
	case CAIRN_RULE_OFFSET: printf("c%+d", rule.value); break;
	case CAIRN_RULE_VALUE_OFFSET: printf("v%+d", rule.value); break;
	case CAIRN_RULE_REGISTER: print_register((unsigned)rule.value, UINT8_MAX); break;
	case CAIRN_RULE_EXPRESSION: fputs("exp", stdout); break;
	case CAIRN_RULE_VALUE_EXPRESSION: fputs("vexp", stdout); break;
	}
}

static void print_rules(const struct cairn_frame_rules *rules)
{
	fputs(" cfa=", stdout);
	if (rules->cfa.kind == CAIRN_RULE_EXPRESSION) {
		fputs("exp", stdout);
	} else {
		print_register((unsigned)rules->cfa.value, UINT8_MAX);
		printf("%+d", rules->cfa_offset);
	}
	for (unsigned i = 0; i < CAIRN_REGISTERS; i++) {
		if (rules->registers[i].kind == CAIRN_RULE_SAME)
			continue;
		putchar(' ');
		print_register(i, rules->return_register);
		putchar('=');
		print_rule(rules->registers[i]);
	}
	printf("%s\n", rules->is_signal ? " signal" : "");
}

/* The segment that holds .eh_frame, as an image with its link-time address. */
static bool find_image(struct cairn_bytes file, struct cairn_image *image, uint64_t *header)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)file.data;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(const void *)(file.data + elf->e_phoff);
	*header = 0;
	for (unsigned i = 0; i < elf->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			*header = segments[i].p_vaddr;
	for (unsigned i = 0; i < elf->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && *header - segments[i].p_vaddr < segments[i].p_filesz)
			*image = (struct cairn_image){{file.data + segments[i].p_offset, segments[i].p_filesz}, segments[i].p_vaddr};
	return *header && image->bytes.data;
}

/* By plain calls, so that this file and eh_frame.c alone make a program for another machine. */
static struct cairn_bytes map_file(const char *path)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || fstat(descriptor, &status) != 0 || (size_t)status.st_size < sizeof(Elf64_Ehdr))
		return (struct cairn_bytes){NULL, 0};
	void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	return (struct cairn_bytes){data == MAP_FAILED ? NULL : data, (size_t)status.st_size};
}

int main(int count, char **arguments)
{
	struct cairn_image image = {{NULL, 0}, 0};
	uint64_t header, address;
	struct cairn_bytes file = count == 2 ? map_file(arguments[1]) : (struct cairn_bytes){NULL, 0};
	if (!file.data || !find_image(file, &image, &header)) {
		fprintf(stderr, "frames: one ELF file with .eh_frame_hdr is needed\n");
		return 2;
	}
	while (scanf("%" SCNx64, &address) == 1) {
		struct cairn_fde fde;
		struct cairn_frame_rules rules;
		printf("%" PRIx64, address);
		if (!cairn_eh_frame_find(&image, header, address, &fde))
			puts(" none");
		else if (!cairn_eh_frame_rules(&image, &fde, address, &rules))
			puts(" broken");
		else
			print_rules(&rules);
	}
	return 0;
}
