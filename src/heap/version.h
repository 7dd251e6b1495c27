/* version.h - which version of an allocator a file contains, by the texts in it.
 *
 * A version is a hint: it orders the layouts that a reader tries, and the shape of what is in memory decides. All functions give 0, or an
 * empty text, if the file cannot be read or does not say.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_VERSION_H
#define CAIRN_HEAP_VERSION_H

#include "heap/image.h"

/* 236 for glibc 2.36. */
unsigned cairn_version_of_glibc(struct cairn_image *image, const struct cairn_image_module *module);

/* "5.3.0" */
bool cairn_version_of_jemalloc(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size);

/* "_RJEM_MALLOC_CONF": the environment variable that it reads. */
void cairn_variable_of_jemalloc(struct cairn_image *image, const struct cairn_image_module *module, char *variable, size_t size);

/* "3.4.3", by what mi_version returns. */
bool cairn_version_of_mimalloc(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size);

/* "2.10" */
bool cairn_version_of_gperftools(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size);

#endif
