// @ts-check
/* dom.mjs - elements of the page: found, made, and a short message.
 * SPDX-License-Identifier: Apache-2.0 */

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
export const element = (id) => /** @type {T} */ (document.getElementById(id));

/** @param {string} tag @param {string} [className] @param {string} [text] @returns {HTMLElement} */
export function make(tag, className, text) {
	const element = document.createElement(tag);
	if (className)
		element.className = className;
	if (text !== undefined)
		element.textContent = text;
	return element;
}

let toastTimer = 0;

/** Shows a short message for a moment. @param {string} text */
export function say(text) {
	const toast = element("toast");
	toast.textContent = text;
	toast.classList.add("on");
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => toast.classList.remove("on"), 4000);
}
