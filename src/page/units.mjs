// @ts-check
/* units.mjs - numbers for people. Sizes are rounded as in base/text.c, so that a function has the same size in every view.
 * SPDX-License-Identifier: Apache-2.0 */

/** @import {Facts, Metric} from "./data.mjs" */

/** One digit after the point, rounded as printf does: a value right in the middle is rounded to the even digit. @param {number} size */
export function oneDigit(size) {
	return size % 1 === 0.25 ? Math.floor(size) + ".2" : size.toFixed(1);
}

/** @param {number} bytes @param {boolean} [whole] omit the digit after the point if it is 0 */
export function humanBytes(bytes, whole) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let size = Math.abs(bytes), unit = 0;
	while (size >= 1023.95 && unit < units.length - 1) {
		size /= 1024;
		unit++;
	}
	const floor = Math.floor(size), half = size - floor === 0.5 ? floor % 2 : Math.round(size) - floor;
	const text = unit === 0 ? String(floor + half) : whole && Number.isInteger(size) ? String(size) : oneDigit(size);
	return (bytes < 0 && size >= 0.5 ? "−" : "") + text + " " + units[unit];
}

/** @param {number} count */
export function humanCount(count) {
	const text = Math.round(Math.abs(count)).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
	return (count < 0 && text !== "0" ? "−" : "") + text;
}

/** @param {number} nanoseconds */
export function humanDuration(nanoseconds) {
	const units = /** @type {const} */ ([["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]]), size = Math.abs(nanoseconds);
	const [name, length] = units.find((unit) => size >= unit[1]) ?? units[3];
	return (nanoseconds < 0 ? "−" : "") + (size / length).toFixed(length > 1 ? 2 : 0) + " " + name;
}

/** @param {number} value @param {string} unit */
export function human(value, unit) {
	return unit === "bytes" ? humanBytes(value) : unit === "nanoseconds" ? humanDuration(value) : humanCount(value);
}

/** A value in the unit of METRIC, or in UNIT, with a sign if a change is shown. @param {number} value @param {Metric} metric @param {string} [unit] */
export function signed(value, metric, unit = metric.unit) {
	const text = human(value, unit);
	return metric.change && value > 0 && !/^0(\.0+)? /.test(text) && text !== "0" ? "+" + text : text;
}

/** The mean size of an object, from a value and its partner. @param {Metric} metric @param {number} value @param {number} other */
export function meanSize(metric, value, other) {
	const [bytes, objects] = metric.unit === "bytes" ? [value, other] : [other, value];
	return objects ? bytes / objects : 0;
}

/**
 * The current value in UNIT; a few bytes count as 0, since value and base were rounded separately.
 * @param {number} value @param {number} base @param {string} unit
 */
export function present(value, base, unit) {
	return Math.abs(value + base) < 3 && unit === "bytes" ? 0 : value + base;
}

/** @param {number} seconds */
export function humanTime(seconds) {
	const units = /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]]);
	const [name, length] = units.find((unit) => seconds >= 2 * unit[1]) ?? units[3];
	const count = Math.round(seconds / length);
	return count + " " + name + (count === 1 ? "" : "s");
}

/** @param {number} count */
export function humanObjects(count) {
	return humanCount(count) + (Math.abs(Math.round(count)) === 1 ? " object" : " objects");
}

/** @param {number} value @param {number} whole */
export function percent(value, whole) {
	const share = whole ? (100 * value) / whole : 0;
	return (Math.abs(share) >= 99.95 ? share.toFixed(0) : Math.abs(share) < 0.05 ? "0" : share.toFixed(1)).replace("-", "−") + " %";
}

/** The name of a size class. @param {number} size */
export function sizeName(size) {
	return size === 0 ? "size not known" : "up to " + humanBytes(2 ** (size - 1), true);
}

/** The name of a filter by age: "3" is one class, "3+" also all older ones. @param {string} text @param {Facts} facts */
export function ageName(text, facts) {
	const name = facts.ages[parseInt(text, 10) - 1] ?? "age not known";
	return text.endsWith("+") ? name.replace(/ to .*| and more/, "") + " and older" : name;
}

/** A date and time in UTC. @param {number} milliseconds */
export function humanDate(milliseconds) {
	return new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");
}

/** The local time of day. @param {number} time @param {boolean} [seconds] */
export function clockTime(time, seconds = true) {
	const date = new Date(time), two = (/** @type {number} */ number) => String(number).padStart(2, "0");
	const today = date.toDateString() === new Date().toDateString();
	const day = today ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `;
	return day + two(date.getHours()) + ":" + two(date.getMinutes()) + (seconds ? ":" + two(date.getSeconds()) : "");
}

/** The time of day in UTC, with the date. @param {number} time @param {boolean} [seconds] */
export function utcTime(time, seconds = true) {
	const text = new Date(time).toISOString();
	return text.slice(0, 10) + " " + text.slice(11, seconds ? 19 : 16);
}

/** A rate in the unit of time that series/words.c would choose. @param {number} perHour @param {string} [unit] of the value */
export function humanRate(perHour, unit = "bytes") {
	return Math.abs(perHour) / 3600 >= (unit === "bytes" ? 102400 : 100) ? human(perHour / 3600, unit) + "/s" : human(perHour, unit) + "/h";
}
