/* date.h - computes the date of a time by arithmetic. libc's gmtime_r takes a lock that it shares with localtime_r: if one of our threads
 * held it while the host forks, the child would wait for ever.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_DATE_H
#define CAIRN_BASE_DATE_H

#include <stdint.h>
#include <time.h>

/* SECONDS since 1970 as year, month, day, weekday, hour, minute and second; for years that fit an int. */
static inline struct tm cairn_date(int64_t seconds)
{
	enum { day_seconds = 86400, era_days = 146097 }; /* an era is 400 years: after that the calendar repeats */
	int64_t days = seconds / day_seconds - (seconds % day_seconds < 0), clock = seconds - days * day_seconds;
	int64_t shifted = days + 719468; /* since 1 March of the year 0, so that a leap day ends its year */
	int64_t era = shifted / era_days - (shifted % era_days < 0), of_era = shifted - era * era_days;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / (era_days - 1)) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* from March; five months take 153 days */
	return (struct tm){
		.tm_year = (int)(era * 400 + year + (month >= 10) - 1900),
		.tm_mon = (int)((month + 2) % 12),
		.tm_mday = (int)(of_year - (153 * month + 2) / 5 + 1),
		.tm_wday = (int)(((days + 4) % 7 + 7) % 7),
		.tm_hour = (int)(clock / 3600),
		.tm_min = (int)(clock / 60 % 60),
		.tm_sec = (int)(clock % 60),
	};
}

#endif
