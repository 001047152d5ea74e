/**
 * Playback: the position in a run, whether it plays, and how fast. Imports nothing.
 *
 * Position t is the hypothesis after t updates, 0 to `length`. The clock counts fractions of an update, so that any speed is
 * smooth; the integer part is drawn.
 */
export class Player {
  constructor() {
    this.length = 0;
    this.playing = false;
    this.speed = 4; // updates per second
    /** @type {number[]} the updates at which passes end */
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
   * Load another run; the position is kept if the run is long enough.
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

  /** Go to the end of this pass or of the previous one. @param {1 | -1} direction */
  jump(direction) {
    this.playing = false;
    const stops = [0, ...this.passes, this.length];
    const next = direction > 0 ? stops.find((t) => t > this.t) : stops.findLast((t) => t < this.t);
    if (next !== undefined) this.seek(next);
  }

  /** Play or pause; at the end, start over. */
  toggle() {
    if (this.length === 0) return;
    if (!this.playing && this.atEnd) this.clock = 0;
    this.playing = !this.playing;
  }

  /**
   * Advance the clock.
   * @param {number} seconds
   * @returns {boolean} whether there is something new to draw
   */
  tick(seconds) {
    if (!this.playing) return false;
    const before = this.t;
    // A page in the background may wake up after minutes and must not jump; the time of a frame may lie before its request.
    this.clock = Math.min(this.length, this.clock + Math.max(0, Math.min(seconds, 0.25)) * this.speed);
    if (this.atEnd) this.playing = false;
    return this.t !== before || !this.playing;
  }

  /** The pass of the next update, from 1. */
  get pass() {
    return 1 + this.passes.filter((end) => end <= this.t && end < this.length).length;
  }
}
