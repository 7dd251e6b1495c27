// @ts-check
/* theme.mjs - the light or the dark theme: as in the reader's system, or as selected here, which the browser remembers.
 * SPDX-License-Identifier: Apache-2.0 */
import {element} from "./dom.mjs";
import {oneOf} from "./state.mjs";

/** @typedef {"auto" | "light" | "dark"} ThemeName */

export class Theme {
	/** @param {() => void} changed */
	constructor(changed) {
		this.system = matchMedia("(prefers-color-scheme: dark)");
		/** @type {ThemeName} */
		this.name = "auto";
		try {
			this.name = oneOf(localStorage.getItem("cairn-theme"), ["auto", "light", "dark"], "auto");
		} catch {
			/* A browser may have no storage for files. */
		}
		this.apply();
		element("theme-button").addEventListener("click", () => {
			this.choose(this.isDark() ? "light" : "dark");
			changed();
		});
		this.system.addEventListener("change", () => {
			this.apply();
			changed();
		});
	}

	isDark() {
		return this.name === "auto" ? this.system.matches : this.name === "dark";
	}

	/** Selecting the system's own theme means to follow the system again. @param {ThemeName} name */
	choose(name) {
		this.name = (name === "dark") === this.system.matches ? "auto" : name;
		try {
			localStorage.setItem("cairn-theme", this.name);
		} catch {
			/* Then the choice is not remembered. */
		}
		this.apply();
	}

	apply() {
		const button = element("theme-button"), dark = this.isDark();
		document.documentElement.style.colorScheme = this.name === "auto" ? "" : this.name;
		button.setAttribute("aria-pressed", String(dark));
		button.title = dark ? "Switch to light colours" : "Switch to dark colours";
	}
}
