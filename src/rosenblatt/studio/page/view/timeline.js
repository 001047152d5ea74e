/**
 * The timeline above the slider: the class of each update's point, the ends of passes, and improvements of the pocket.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 * @typedef {import("./paper.js").Palette} Palette
 * @typedef {import("./pen.js").Pen} Pen
 * @typedef {{recording: Recording, t: number, length: number, palette: Palette}} TimelineScene length: of the slider, at least
 *   the recording's
 * @typedef {{counts: Int32Array, updates: Int32Array, kinds: number, most: number}} Bins counts: points that moved the
 *   weights, by column and position of their class; updates: by column; most: largest number of points per update
 */
import { Layer } from "./layer.js";
import { measured, shortened } from "./measure.js";
import { Paper } from "./paper.js";
import { tickStep } from "./ticks.js";

/** Half of a slider's thumb, whose center does not reach the ends. */
export const INSET = 8;
const HEIGHT = 44;
const [TOP, BOTTOM] = [9, 27];

/**
 * Updates by column; update t of `length` is at the slider's position t.
 * @param {Recording} recording @param {number} length @param {number} columns
 * @returns {Bins}
 */
export function binned(recording, length, columns) {
  const { edges, moved, codes, run } = recording;
  const kinds = run.classes.length;
  const counts = new Int32Array(columns * kinds);
  const updates = new Int32Array(columns);
  for (let t = 1; t < edges.length; t++) {
    const column = columnOf(t, length, columns);
    for (let e = edges[t - 1]; e < edges[t]; e++) counts[column * kinds + codes[moved[e]]]++;
    updates[column]++;
  }
  let most = 0;
  for (let column = 0; column < columns; column++) {
    let rows = 0;
    for (let kind = 0; kind < kinds; kind++) rows += counts[column * kinds + kind];
    if (updates[column] > 0) most = Math.max(most, rows / updates[column]);
  }
  return { counts, updates, kinds, most };
}

/** @param {number} t @param {number} length @param {number} columns */
export function columnOf(t, length, columns) {
  return Math.max(0, Math.min(columns - 1, Math.round((t / Math.max(1, length)) * (columns - 1))));
}

/**
 * Passes as [from, to] in updates, without passes that made no update.
 * @param {Recording} recording @returns {{number: number, from: number, to: number}[]}
 */
export function passesOf(recording) {
  const ends = recording.run.log?.passes ?? [];
  const all = [...ends, recording.length].map((to, n) => ({ number: n + 1, from: n === 0 ? 0 : ends[n - 1], to }));
  return all.filter(({ from, to }) => to > from);
}

/** @param {Pen} pen @param {number} width @param {TimelineScene} scene */
export function drawTimelineStill(pen, width, { recording, length, palette }) {
  const x = placeOn(width, length);
  pen.line([INSET, BOTTOM + 0.5, width - INSET, BOTTOM + 0.5], { stroke: palette.rule, width: 1 });
  if (recording.run.frames) {
    drawFrames(pen, width, placeOn(width, recording.length), recording, palette);
    return;
  }
  drawPasses(pen, x, recording, palette);
  drawUpdates(pen, width, x, recording, length, palette);
  const better = Array.from(recording.pocket?.t ?? []).filter((t) => t > 0);
  pen.marks(3, better.flatMap((t) => [x(t), 4]), 3, { fill: palette.pocket });
}

/** @param {number} width @param {number} length @returns {(t: number) => number} */
function placeOn(width, length) {
  return (t) => INSET + ((width - 2 * INSET) * t) / Math.max(1, length);
}

/** @param {Pen} pen @param {(t: number) => number} x @param {Recording} recording @param {Palette} palette */
function drawPasses(pen, x, recording, palette) {
  const passes = passesOf(recording);
  if (passes.length === 0) return;
  const usual = (x(recording.length) - x(0)) / passes.length;
  const every = tickStep(0, 24 / usual, 1, true);
  let clear = -Infinity;
  passes.forEach(({ number, from, to }, n) => {
    const [left, right] = [x(from), x(to)];
    // Narrower stripes would only flicker.
    if (n % 2 === 0 && usual >= 4) {
      pen.polygon([left, TOP, right, TOP, right, HEIGHT, left, HEIGHT], { fill: palette.rule, alpha: 0.22 });
    }
    if (n > 0 && number % every !== 0) return;
    const words = n === 0 ? `pass ${number}` : String(number);
    const half = measured(words, 11) / 2;
    const middle = Math.max((left + right) / 2, x(0) + half);
    if (middle - half < clear) return;
    pen.text(middle, HEIGHT - 5, words, { size: 11, fill: palette.quiet, anchor: "middle" });
    clear = middle + half + 8;
  });
}

/**
 * @param {Pen} pen @param {number} width @param {(t: number) => number} x @param {Recording} recording
 * @param {number} length @param {Palette} palette
 */
function drawUpdates(pen, width, x, recording, length, palette) {
  const wide = width - 2 * INSET;
  const apart = wide / Math.max(1, length);
  // Ticks if there is a gap between them, otherwise columns with the shares of the classes.
  const columns = apart >= 3 ? length + 1 : Math.max(1, Math.floor(wide / 4));
  const { counts, updates, kinds, most } = binned(recording, length, columns);
  const thick = apart >= 3 ? Math.min(3, apart * 0.6) : wide / columns;
  const high = BOTTOM - TOP - 3;
  /** @type {number[][][]} */
  const bars = Array.from({ length: kinds }, () => []);
  for (let column = 0; column < columns; column++) {
    const middle = x((column / Math.max(1, columns - 1)) * length);
    let y = BOTTOM;
    for (let kind = 0; kind < kinds; kind++) {
      const count = counts[column * kinds + kind];
      if (count === 0) continue;
      const part = (high * count) / (updates[column] * most);
      const [left, right, up] = [middle - thick / 2, middle + thick / 2, y - part];
      bars[kind].push([left, y, right, y, right, up, left, up]);
      y = up;
    }
  }
  bars.forEach((parts, kind) => pen.polygons(parts, { fill: palette.classes[recording.run.classes[kind]] }));
}

/**
 * @param {Pen} pen @param {number} width @param {(t: number) => number} x @param {Recording} recording
 * @param {Palette} palette
 */
function drawFrames(pen, width, x, recording, palette) {
  const titles = recording.run.frames?.titles ?? [];
  const every = Math.max(1, Math.ceil((4 * titles.length) / Math.max(1, width)));
  const ticks = titles.flatMap((_, n) => (n % every ? [] : [x(n), BOTTOM - 9, x(n), BOTTOM]));
  pen.segments(ticks, { stroke: palette.ink, width: 1.5 });
  const room = width / 2 - INSET - 4;
  const lettering = { size: 11, fill: palette.quiet };
  pen.text(INSET - 2, HEIGHT - 5, shortened(titles[0] ?? "", room, 11), lettering);
  if (titles.length < 2) return;
  pen.text(width - INSET + 2, HEIGHT - 5, shortened(titles[titles.length - 1], room, 11), { ...lettering, anchor: "end" });
}

/** The update at a pixel. @param {number} px @param {number} width @param {number} length */
export function momentAt(px, width, length) {
  return Math.max(0, Math.min(length, Math.round(((px - INSET) / Math.max(1, width - 2 * INSET)) * length)));
}

export class Timeline {
  /** @param {HTMLElement} holder */
  constructor(holder) {
    this.holder = holder;
    this.paper = new Paper(holder, "timeline");
    this.layer = new Layer();
  }

  /** @param {TimelineScene} scene */
  draw(scene) {
    const { paper, layer } = this;
    const { recording, t, length, palette } = scene;
    paper.fit(Math.max(1, this.holder.clientWidth), HEIGHT);
    if (layer.renew(paper, [recording, length, palette.ink])) drawTimelineStill(layer.pen, paper.width, scene);
    const x = placeOn(paper.width, length)(Math.max(0, Math.min(length, t)));
    paper.clear();
    // The tick of the last update belongs to the past.
    const now = Math.min(paper.width, x + 2);
    layer.copy(paper, 1, [0, now, 0, HEIGHT]);
    layer.copy(paper, 0.4, [now, paper.width, 0, BOTTOM]);
    layer.copy(paper, 1, [now, paper.width, BOTTOM, HEIGHT]);
    paper.pen.line([x, 0, x, BOTTOM + 3], { stroke: palette.ink, width: 1.5 });
    paper.pen.polygon([x - 4, 0, x + 4, 0, x, 6], { fill: palette.ink });
  }
}
