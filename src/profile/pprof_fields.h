/* pprof_fields.h - the field numbers of profile.proto, the schema that pprof files follow.
 *
 * The schema is frozen; these are all of its fields.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_PPROF_FIELDS_H
#define CAIRN_PROFILE_PPROF_FIELDS_H

#include "base/protobuf.h"

/* Every reference to a string is its index in STRING_TABLE, whose first entry is the empty string. */
enum cairn_pprof_profile {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_DROP_FRAMES = 7,
	PPROF_KEEP_FRAMES = 8,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
	PPROF_DOC_URL = 15,
};

enum cairn_pprof_value_type { PPROF_TYPE_NAME = 1, PPROF_TYPE_UNIT = 2 };

enum cairn_pprof_sample { PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE = 2, PPROF_SAMPLE_LABEL = 3 };

enum cairn_pprof_label { PPROF_LABEL_KEY = 1, PPROF_LABEL_TEXT = 2, PPROF_LABEL_NUMBER = 3, PPROF_LABEL_UNIT = 4 };

enum cairn_pprof_mapping {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILE = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINE_NUMBERS = 9,
	PPROF_MAPPING_HAS_INLINE_FRAMES = 10,
};

enum cairn_pprof_location {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4,
	PPROF_LOCATION_IS_FOLDED = 5,
};

enum cairn_pprof_line { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE = 2, PPROF_LINE_COLUMN = 3 };

enum cairn_pprof_function {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILE = 4,
	PPROF_FUNCTION_START_LINE = 5,
};

#endif
