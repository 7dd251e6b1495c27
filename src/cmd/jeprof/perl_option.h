/* perl_option.h - parses a command line like Perl's Getopt::Long, with the same tables as every other command.
 *
 * One dash or two; any case; --name value or --name=value; unique prefixes; --noname and --no-name for flags; options between operands;
 * -- ends them. An option with an argument takes the next word, whatever it begins with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_JEPROF_PERL_OPTION_H
#define CAIRN_CMD_JEPROF_PERL_OPTION_H

#include "cmd/option.h"

/* Parses ARGV (without the command's name) into VALUES, and moves the operands to the front of ARGV. */
bool cairn_perl_options_parse(const struct cairn_command *command, void *values, int *argc, char **argv, struct cairn_error *error);

#endif
