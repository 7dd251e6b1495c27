// @ts-check
/* units.js - numbers for people. Sizes are rounded as in base/text.c, so that a function has the same size in every view.
 * SPDX-License-Identifier: Apache-2.0 */

/** One digit after the point, rounded as printf does: a value right in the middle is rounded to the even digit. @param {number} size */
function oneDigit(size) {
	return size % 1 === 0.25 ? Math.floor(size) + ".2" : size.toFixed(1);
}

/** @param {number} bytes @param {boolean} [whole] omit the digit after the point if it is 0 */
function humanBytes(bytes, whole) {
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
function humanCount(count) {
	const text = Math.round(Math.abs(count)).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
	return (count < 0 && text !== "0" ? "−" : "") + text;
}

/** @param {number} nanoseconds */
function humanDuration(nanoseconds) {
	const units = /** @type {const} */ ([["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]]), size = Math.abs(nanoseconds);
	const [name, length] = units.find((unit) => size >= unit[1]) ?? units[3];
	return (nanoseconds < 0 ? "−" : "") + (size / length).toFixed(length > 1 ? 2 : 0) + " " + name;
}

/** A value in the unit of what is shown, or in UNIT. @param {number} value @param {string} [unit] */
function human(value, unit = metric.unit) {
	return unit === "bytes" ? humanBytes(value) : unit === "nanoseconds" ? humanDuration(value) : humanCount(value);
}

/** The same, with a sign if a change is shown. @param {number} value @param {string} [unit] */
function signed(value, unit) {
	const text = human(value, unit);
	return metric.change && value > 0 && !/^0(\.0+)? /.test(text) && text !== "0" ? "+" + text : text;
}

/** The current value; a few bytes count as 0, since value and base were rounded separately. @param {number} value @param {number} base */
function present(value, base) {
	return Math.abs(value + base) < 3 && metric.unit === "bytes" ? 0 : value + base;
}

/** @param {number} seconds */
function humanTime(seconds) {
	const units = /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]]);
	const [name, length] = units.find((unit) => seconds >= 2 * unit[1]) ?? units[3];
	const count = Math.round(seconds / length);
	return count + " " + name + (count === 1 ? "" : "s");
}

/** A rate in the unit of time that suits the time observed. @param {number} perHour @param {number} seconds */
function humanRate(perHour, seconds) {
	const unit = facts.columns[0].unit;
	return seconds < 300 ? human(perHour / 3600, unit) + "/s" : seconds < 18000 ? human(perHour / 60, unit) + "/min" : human(perHour,
		unit) + "/h";
}

/** @param {number} count */
function humanObjects(count) {
	return humanCount(count) + (Math.abs(Math.round(count)) === 1 ? " object" : " objects");
}

/** @param {number} value @param {number} whole */
function percent(value, whole) {
	const share = whole ? (100 * value) / whole : 0;
	return (Math.abs(share) >= 99.95 ? share.toFixed(0) : Math.abs(share) < 0.05 ? "0" : share.toFixed(1)).replace("-", "−") + " %";
}

/** The name of a size class. @param {number} size */
function sizeName(size) {
	return size === 0 ? "size not known" : "up to " + humanBytes(2 ** (size - 1), true);
}

/** The name of a filter by age: "3" is one class, "3+" also all older ones. @param {string} text */
function ageName(text) {
	const name = facts.ages[parseInt(text, 10) - 1] ?? "age not known";
	return text.endsWith("+") ? name.replace(/ to .*| and more/, "") + " and older" : name;
}

/** A date and time in UTC. @param {number} milliseconds */
function humanDate(milliseconds) {
	return new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");
}

/** The name of a type of value. @param {string} type */
function typeName(type) {
	const names = {inuse_space: "live memory", inuse_objects: "live objects", alloc_space: "allocated memory",
		alloc_objects: "allocated objects", peak_space: "memory at the peak", peak_objects: "objects at the peak",
		slack_space: "slack: memory beyond what was requested", fragmentation_space: "free memory in slabs that live objects keep",
		mapped_space: "memory mapped by the service itself", mapped_objects: "mappings by the service itself"};
	return /** @type {Record<string, string>} */ (names)[type] ?? type;
}
