/* plugins.c - a host that loads one plugin after the other: each allocates and is unloaded again. PLUGIN... are run in turn; the
 * last stays loaded if its name is followed by "stay". Prints where each lay. Then waits for its input to end.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *volatile kept[4096];

__attribute__((noinline)) static void run(void *(*plugin)(size_t), int slot)
{
	for (int i = 0; i < 49; i++)
		kept[slot * 64 + i] = memset(plugin(1 << 20), 1, 1 << 20);
	__asm__ volatile("");
}

int main(int count, char **names)
{
	for (int i = 1; i < count; i++) {
		if (strcmp(names[i], "stay") == 0)
			continue;
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		void *(*plugin)(size_t) = library ? (void *(*)(size_t))dlsym(library, "plugin_run") : NULL;
		if (!plugin) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		run(plugin, i);
		printf("%p\n", (void *)plugin);
		if (i + 1 >= count || strcmp(names[i + 1], "stay") != 0)
			dlclose(library);
	}
	fflush(stdout);
	char byte;
	return read(0, &byte, 1) < 0;
}
