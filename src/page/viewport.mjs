// @ts-check
/* viewport.mjs - the part of a line that is in view: zoomed and moved by the wheel, by dragging and by keys. The chart has one over time, the
 * picture one over its width.
 * SPDX-License-Identifier: Apache-2.0 */

export class Viewport {
	/** @param {number} least the shortest part that can be in view */
	constructor(least) {
		this.least = least;
		/** The whole line. */
		this.first = 0;
		this.last = 1;
		/** What is in view. */
		this.from = 0;
		this.to = 1;
	}

	get length() {
		return this.to - this.from;
	}

	get isWhole() {
		return this.from <= this.first && this.to >= this.last;
	}

	/** The line is now from FIRST to LAST. A view of all of it stays one, and one of its end moves on with the end. @param {number} first @param {number} last */
	cover(first, last) {
		const {isWhole, length} = this, atEnd = this.to >= this.last;
		this.first = first;
		this.last = Math.max(last, first + this.least);
		if (isWhole)
			this.set(this.first, this.last);
		else if (atEnd)
			this.set(this.last - length, this.last);
		else
			this.set(this.from, this.to);
	}

	/** Shows what is between FROM and TO, as far as there is a line. Returns whether that is something else. @param {number} from @param {number} to */
	set(from, to) {
		const whole = this.last - this.first, length = Math.max(Math.min(this.least, whole), Math.min(whole, to - from)), before = [this.from, this.to];
		this.from = Math.max(this.first, Math.min(this.last - length, from));
		this.to = this.from + length;
		return before[0] !== this.from || before[1] !== this.to;
	}

	reset() {
		return this.set(this.first, this.last);
	}

	/** Shows FACTOR times as much around the place AT, which stays where it is. @param {number} factor @param {number} at */
	zoom(factor, at) {
		const length = Math.max(this.least, Math.min(this.last - this.first, this.length * factor)), part = (at - this.from) / this.length;
		return this.set(at - part * length, at + (1 - part) * length);
	}

	/** @param {number} by */
	move(by) {
		return this.set(this.from + by, this.to + by);
	}

	/**
	 * A turn of the wheel zooms at the place AT; sideways, or with Shift, it moves. WIDTH is that of the view in pixels. Returns whether
	 * anything changed.
	 * @param {WheelEvent} event @param {number} at @param {number} width
	 */
	wheel(event, at, width) {
		const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1, x = event.deltaX * pixels, y = event.deltaY * pixels;
		return event.shiftKey || Math.abs(x) > Math.abs(y) ? this.move(((x || y) / width) * this.length) : this.zoom(2 ** (y / 250), at);
	}

	/** W and S zoom, A and D move. Returns whether KEY is one of them. @param {string} key */
	key(key) {
		const middle = (this.from + this.to) / 2;
		if (key === "w" || key === "s")
			this.zoom(key === "w" ? 0.7 : 1 / 0.7, middle);
		else if (key === "a" || key === "d")
			this.move((key === "a" ? -0.2 : 0.2) * this.length);
		else
			return false;
		return true;
	}
}

/** The last turn of the wheel anywhere: when it was, and whether the page scrolled. */
const lastTurn = {time: -Infinity, scrolled: false, watched: false};

/**
 * Has ACT, which returns whether it did anything, take the wheel over TARGET. What began as scrolling goes on as scrolling, whatever comes
 * under the pointer meanwhile.
 * @param {HTMLElement} target @param {(event: WheelEvent) => boolean} act
 */
export function takeWheel(target, act) {
	const pause = 250;
	if (!lastTurn.watched)
		addEventListener("wheel", () => Object.assign(lastTurn, {time: performance.now(), scrolled: true}), {passive: true});
	lastTurn.watched = true;
	target.addEventListener("wheel", (event) => {
		const now = performance.now(), goesOn = now - lastTurn.time < pause && !event.ctrlKey;
		/* What began as zooming does not scroll where there is nothing more to zoom. */
		if (!goesOn)
			lastTurn.scrolled = !act(event);
		else if (!lastTurn.scrolled)
			act(event);
		lastTurn.time = now;
		event.stopPropagation();
		if (!lastTurn.scrolled)
			event.preventDefault();
	}, {passive: false});
}
