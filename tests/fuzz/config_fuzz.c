/* config_fuzz.c - any bytes as the agent's configuration, in all three syntaxes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_config config;
	struct cairn_bytes input = {(const char *)data, size};
	cairn_config_default(&config);
	cairn_config_file(&config, input);
	cairn_config_environment(&config, input);
	cairn_config_malloc_conf(&config, input);
	char value[512];
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		cairn_config_show(&config, i, value, sizeof value);
	if (strlen(config.problems) >= sizeof config.problems || config.seconds == 0 || config.connections > 128)
		abort();
	return 0;
}
