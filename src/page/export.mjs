// @ts-check
/* export.mjs - downloads of what is on the screen, as a picture or as folded text, and the clipboard.
 * SPDX-License-Identifier: Apache-2.0 */
import {make} from "./dom.mjs";
import {figureRows} from "./tip.mjs";
/** @import {Func} from "./data.mjs" */
/** @import {Picture} from "./picture.mjs" */
/** @import {Tree} from "./tree.mjs" */

/** @param {string} text */
function escapeXml(text) {
	return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/**
 * The whole picture as one SVG file, including the part that would have to be scrolled into view.
 * @param {Picture} picture @param {string} title @param {string} subtitle @param {number} whole the total for shares
 */
export function pictureSvg(picture, title, subtitle, whole) {
	/* A <title> written out in the script would look like the page's own. */
	const tag = "title";
	const {rowHeight, width, palette} = picture, side = 10, top = 58, height = top + picture.rows.length * rowHeight + side;
	const lines = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.round(width + 2 * side)} ${height}" width="100%">`,
		`<style>text{font:12px system-ui,sans-serif;fill:${toHex(picture.ink)}}</style>`,
		`<rect width="100%" height="100%" fill="${toHex(picture.surface)}"/>`,
		`<text x="${side}" y="26" style="font-size:18px;font-weight:600">${escapeXml(title)}</text>`,
		`<text x="${side}" y="45" opacity=".75">${escapeXml(subtitle)}</text>`];
	picture.pen.font = picture.font;
	for (const rect of picture.rects()) {
		const name = picture.label(rect), x = side + rect.x, y = top + rect.row * rowHeight;
		const width = Math.max(rect.width - (rect.width > 3 ? 1 : 0), 0.5), label = rect.width > 30 ? picture.fit(name, rect.width - 12) : "";
		const figures = figureRows(rect.box, whole).map((row) => `${row.name} ${row.cells[0]} (${row.share})`).join(", ");
		lines.push(`<g${rect.dim ? ' opacity=".6"' : ""}><${tag}>${escapeXml(name)}: ${escapeXml(figures)}</${tag}>`
			+ `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${rowHeight - 1}" rx="2" fill="${palette.color(rect.box)}"/>`
			+ (label ? `<text${palette.inkOf(rect.box) && ` style="fill:${palette.inkOf(rect.box)}"`} x="${(x + 6).toFixed(1)}" y="${y + rowHeight / 2 + 4}">${escapeXml(label)}</text>` : "") + "</g>");
	}
	lines.push("</svg>", "");
	return lines.join("\n");
}

/** A computed colour, rgb(1, 2, 3), as #rrggbb. @param {string} color */
function toHex(color) {
	const parts = (color.match(/\d+(\.\d+)?/g) ?? []).slice(0, 3);
	return "#" + parts.map((part) => Math.round(Number(part)).toString(16).padStart(2, "0")).join("");
}

/**
 * One line for each stack, the outermost function first; for a change with two numbers, before and now.
 * @param {Tree} tree @param {Func[]} functions
 */
export function foldedText(tree, functions) {
	const names = functions.map(({name}) => name.replace(/;/g, ":").replace(/\n/g, " ")), {value, base} = tree.self, compared = tree.metric.base;
	/** @type {string[]} */
	const lines = [];
	for (let node = 0; node < tree.count; node++) {
		const before = Math.round(base[node]), now = Math.round(value[node] + base[node]),
			stack = tree.path(node).map((func) => names[func]).join(";") || "[no stack]";
		if (compared && (before || now))
			lines.push(`${stack} ${before} ${Math.max(0, now)}`);
		else if (!compared && now)
			lines.push(`${stack} ${now}`);
	}
	return lines.join("\n") + "\n";
}

/** Offers a file for download. @param {Blob} blob @param {string} name */
export function download(blob, name) {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/**
 * Copies TEXT to the clipboard and returns whether that worked. Pages in an insecure context cannot use the clipboard API.
 * @param {string} text @returns {Promise<boolean>}
 */
export async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = /** @type {HTMLTextAreaElement} */ (make("textarea"));
		area.value = text;
		area.style.cssText = "position:fixed;opacity:0";
		const focused = /** @type {HTMLElement | null} */ (document.activeElement);
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		focused?.focus();
		return done;
	}
}
