/* sha256_test.c - the examples of FIPS 180-4, and sums that coreutils' sha256sum gives at every length around a block.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static const char *sum_of(struct cairn_bytes bytes, size_t part)
{
	static char text[CAIRN_SHA256_DIGITS + 1];
	struct cairn_sha256 sum;
	cairn_sha256_begin(&sum);
	for (size_t at = 0; at < bytes.length; at += part)
		cairn_sha256_add(&sum, (struct cairn_bytes){bytes.data + at, bytes.length - at < part ? bytes.length - at : part});
	cairn_sha256_hex(&sum, text);
	return text;
}

int main(void)
{
	char many[1000];
	memset(many, 'a', sizeof many);
	is_text(sum_of(cairn_bytes_of(""), 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing");
	is_text(sum_of(cairn_bytes_of("abc"), 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "one block");
	is_text(sum_of(cairn_bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), 7),
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "two, in pieces");
	for (size_t length = 54; length <= 66; length++) {
		char command[100], wanted[65] = "";
		snprintf(command, sizeof command, "printf '%%0%zud' 0 | tr 0 a | sha256sum", length);
		FILE *pipe = popen(command, "r");
		ok(pipe && fscanf(pipe, "%64s", wanted) == 1, "sha256sum of %zu letters", length);
		if (pipe)
			pclose(pipe);
		is_text(sum_of((struct cairn_bytes){many, length}, 13), wanted, "is ours");
	}
	return tap_done();
}
