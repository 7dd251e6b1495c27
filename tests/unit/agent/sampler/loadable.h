/* loadable.h - what loadable.c and the test that loads it agree on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_LOADABLE_H
#define CAIRN_TESTS_LOADABLE_H

#include <stddef.h>

#define LOADABLE_PAGE ((void (**)(void))0x200000000000)

void loadable_chosen(void);
extern void (*loadable_pointer)(void);
void *(*loadable_malloc(void))(size_t size);
void *loadable_calloc(size_t size);
char *loadable_copy(const char *text);

#endif
