/* sha256.c - FIPS 180-4, section 6.2; names as there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

static void take_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64], s[8];
	for (int t = 0; t < 16; t++)
		w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
	for (int t = 16; t < 64; t++)
		w[t] = w[t - 16] + (turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 7] +
		       (turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10);
	memcpy(s, state, sizeof s);
	for (int t = 0; t < 64; t++) {
		uint32_t one =
			s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[t] + w[t];
		uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += one;
		s[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void cairn_sha256_begin(struct cairn_sha256 *sum)
{
	*sum = (struct cairn_sha256){
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void cairn_sha256_add(struct cairn_sha256 *sum, struct cairn_bytes bytes)
{
	while (bytes.length > 0) {
		size_t used = sum->length % CAIRN_SHA256_BLOCK, room = CAIRN_SHA256_BLOCK - used;
		size_t part = bytes.length < room ? bytes.length : room;
		memcpy(sum->block + used, bytes.data, part);
		sum->length += part;
		bytes = cairn_bytes_skip(bytes, part);
		if (part == room)
			take_block(sum->state, sum->block);
	}
}

void cairn_sha256_end(struct cairn_sha256 *sum, uint8_t digest[32])
{
	static const char padding[CAIRN_SHA256_BLOCK] = {(char)0x80};
	uint64_t bits = sum->length * 8;
	size_t used = sum->length % CAIRN_SHA256_BLOCK;
	char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (char)(bits >> (56 - 8 * i));
	cairn_sha256_add(sum, (struct cairn_bytes){padding, (used < 56 ? 56 : 120) - used});
	cairn_sha256_add(sum, (struct cairn_bytes){length, sizeof length});
	for (int i = 0; i < 32; i++)
		digest[i] = (uint8_t)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
}

void cairn_sha256_hex(struct cairn_sha256 *sum, char digits[CAIRN_SHA256_DIGITS + 1])
{
	uint8_t digest[CAIRN_SHA256_DIGITS / 2];
	cairn_sha256_end(sum, digest);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(digits + 2 * i, 3, "%02x", digest[i]);
}
