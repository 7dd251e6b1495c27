/* sha256.h - the hash function of FIPS 180-4: nobody can choose bytes that have the sum of others.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_SHA256_H
#define CAIRN_BASE_SHA256_H

#include "base/bytes.h"

#include <stdint.h>

enum { CAIRN_SHA256_BLOCK = 64, CAIRN_SHA256_DIGITS = 64 };

struct cairn_sha256 {
	uint32_t state[8];
	uint64_t length;
	uint8_t block[CAIRN_SHA256_BLOCK];
};

void cairn_sha256_begin(struct cairn_sha256 *sum);
void cairn_sha256_add(struct cairn_sha256 *sum, struct cairn_bytes bytes);
void cairn_sha256_end(struct cairn_sha256 *sum, uint8_t digest[32]);

/* The same as lower-case hexadecimal digits. */
void cairn_sha256_hex(struct cairn_sha256 *sum, char digits[CAIRN_SHA256_DIGITS + 1]);

#endif
