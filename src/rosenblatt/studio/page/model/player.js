/**
 * Time on the page: where in a run we are, whether it plays, how fast. Imports nothing.
 *
 * Position t is the hypothesis after t updates, 0 to `length`. The clock counts in parts of an update, so that slow and fast
 * play alike; what is drawn is the whole part.
 */
export class Player {
  constructor() {
    this.length = 0;
    this.playing = false;
    this.speed = 4; // updates a second
    /** @type {number[]} updates at which passes end */
    this.passes = [];
    this.clock = 0;
  }

  get t() {
    return Math.floor(this.clock);
  }

  get atEnd() {
    return this.t >= this.length;
  }

  /**
   * Another run: the position stays where it was, as far as there is one.
   * @param {number} length
   * @param {number[]} passes
   */
  load(length, passes) {
    this.length = length;
    this.passes = passes.filter((t) => t > 0 && t <= length);
    this.clock = Math.min(this.clock, length);
    if (this.atEnd) this.playing = false;
  }

  /** @param {number} t */
  seek(t) {
    this.clock = Math.max(0, Math.min(this.length, Math.round(t)));
  }

  /** @param {number} by */
  step(by) {
    this.playing = false;
    this.seek(this.t + by);
  }

  /** To the end of the pass, or of the one before. @param {1 | -1} direction */
  jump(direction) {
    this.playing = false;
    const stops = [0, ...this.passes, this.length];
    const next = direction > 0 ? stops.find((t) => t > this.t) : stops.findLast((t) => t < this.t);
    if (next !== undefined) this.seek(next);
  }

  /** From the end it starts over. */
  toggle() {
    if (this.length === 0) return;
    if (!this.playing && this.atEnd) this.clock = 0;
    this.playing = !this.playing;
  }

  /**
   * Time went by.
   * @param {number} seconds
   * @returns {boolean} whether there is something new to draw
   */
  tick(seconds) {
    if (!this.playing) return false;
    const before = this.t;
    // A page in the background wakes up after minutes: that is no reason to leap. And a frame's time may lie before the
    // moment that asked for it.
    this.clock = Math.min(this.length, this.clock + Math.max(0, Math.min(seconds, 0.25)) * this.speed);
    if (this.atEnd) this.playing = false;
    return this.t !== before || !this.playing;
  }

  /** Which pass the next update belongs to, from 1. */
  get pass() {
    return 1 + this.passes.filter((end) => end <= this.t && end < this.length).length;
  }
}
