/**
 * A small line chart in two parts: static ones, and those that move during playback.
 *
 * @typedef {import("./paper.js").Palette} Palette
 * @typedef {import("./pen.js").Pen} Pen
 * @typedef {"ink" | "quiet" | "pocket" | "alarm" | "widest"} Tint
 * @typedef {{name: string, at: ArrayLike<number>, values: ArrayLike<number>, tint: Tint, stepped?: boolean, calm?: boolean,
 *   dash?: number[], width?: number}} Line calm: never drawn as a band
 * @typedef {Line & {forbids: "above" | "below"}} Bound
 * @typedef {{title: string, unit: string, length: number, lines: Line[], bound: Bound | null, whole: boolean, log: boolean,
 *   low: number, high: number, of: number | null, ends: [string, string] | null}} Still
 *   of: total of which the values are parts; ends: texts at the ends of the time axis instead of numbers
 * @typedef {{t: number, value: number, text: string, tint: Tint}} Marker
 * @typedef {{still: Still, t: number, markers: Marker[]}} Chart
 * @typedef {{left: number, right: number, top: number, bottom: number, x: (t: number) => number,
 *   y: (value: number) => number}} Plot
 */
import { lastAtMost } from "../model/recording.js";
import { banded, decimated } from "./decimate.js";
import { measured, shortened } from "./measure.js";
import { brief } from "./paper.js";
import { multiples, powers, tickStep, tickText } from "./ticks.js";

/** From this density on, a curve is drawn as a band. */
const BAND_VALUES_PER_PIXEL = 0.4;

/** @param {Still} still @param {number} width @param {number} height @returns {Plot} */
export function plotOf(still, width, height) {
  const legend = still.lines.length > 1 || still.bound !== null;
  const [left, right, top, bottom] = [40, width - 12, legend ? 46 : 30, height - 22];
  const { low, high, log } = still;
  const along = (right - left) / Math.max(1, still.length);
  const scale = log ? (bottom - top) / (Math.log10(high) - Math.log10(low)) : (bottom - top) / (high - low);
  return {
    left, right, top, bottom,
    x: (t) => left + along * t,
    y: log ? (value) => bottom - scale * (Math.log10(Math.max(low, value)) - Math.log10(low))
      : (value) => bottom - scale * (value - low),
  };
}

/** @param {Pen} pen @param {number} width @param {number} height @param {Still} still @param {Palette} palette */
export function paintStill(pen, width, height, still, palette) {
  const plot = plotOf(still, width, height);
  const { left, right, top, bottom } = plot;
  paintAxes(pen, still, plot, palette);
  pen.inside(left, top - 4, right - left + 2, bottom - top + 8, () => {
    if (still.bound) paintBound(pen, still.bound, plot, palette);
    for (const line of still.lines.toReversed()) paintLine(pen, line, plot, palette);
  });
}

/** @param {Pen} pen @param {Line} line @param {Plot} plot @param {Palette} palette */
function paintLine(pen, line, { right, x, y }, palette) {
  const { at, values, tint, dash, width = 1.75 } = line;
  const stroke = palette[tint];
  const style = { stroke, width, dash, round: dash === undefined };
  const last = x(at[at.length - 1]);
  const restless = !line.calm && values.length > BAND_VALUES_PER_PIXEL * (last - x(0));
  const { band, means } = restless ? banded(at, values, x, y, 4) : { band: [], means: [] };
  if (restless) pen.polygon(band, { fill: stroke, alpha: 0.2 });
  const points = restless ? means : decimated(at, values, x, y, line.stepped);
  // After its end a run keeps its last value, since the other run may be longer.
  if (points.length > 0 && last < right - 0.5) points.push(right, points[points.length - 1]);
  pen.line(points, style);
}

/** @param {Pen} pen @param {Still} still @param {Plot} plot @param {Palette} palette */
function paintAxes(pen, still, { left, right, top, bottom, x, y }, palette) {
  const { low, high, log, length, ends } = still;
  const small = { size: 11, fill: palette.quiet };
  const rows = Math.max(3, Math.round((bottom - top) / 28));
  const up = tickStep(low, high, rows, still.whole);
  for (const value of log ? powers(low, high, rows) : multiples(low, high, up)) {
    const py = Math.round(y(value)) + 0.5;
    pen.line([left, py, right, py], { stroke: palette.line, width: 1 });
    pen.text(left - 6, py + 3.5, tickText(value, log ? value : up), { ...small, anchor: "end" });
  }
  pen.line([left, bottom + 0.5, right, bottom + 0.5], { stroke: palette.rule, width: 1 });
  if (ends) {
    const room = (right - left) / 2 - 8;
    pen.text(left, bottom + 16, shortened(ends[0], room, 11), small);
    if (ends[0] !== ends[1]) pen.text(right, bottom + 16, shortened(ends[1], room, 11), { ...small, anchor: "end" });
    return;
  }
  const step = tickStep(0, Math.max(1, length), Math.max(2, (right - left) / 60), true);
  for (const t of multiples(0, length, step)) {
    pen.line([x(t), bottom, x(t), bottom + 4], { stroke: palette.rule, width: 1 });
    pen.text(x(t), bottom + 16, tickText(t, step), { ...small, anchor: x(t) > right - 12 ? "end" : "middle" });
  }
}

/** The area that the proof excludes, and its edge. */
/** @param {Pen} pen @param {Bound} bound @param {Plot} plot @param {Palette} palette */
function paintBound(pen, bound, { left, right, top, bottom, x, y }, palette) {
  const edge = decimated(bound.at, bound.values, x, y).map((v, n) => (n % 2 ? Math.max(top - 9, Math.min(bottom + 9, v)) : v));
  if (edge.length < 2) return;
  const beyond = bound.forbids === "above" ? top - 9 : bottom + 9;
  const color = palette[bound.tint];
  pen.polygon([left, beyond, ...edge, right, edge[edge.length - 1], right, beyond], { fill: color, alpha: 0.1 });
  pen.line(edge, { stroke: color, width: 1.5, dash: bound.dash, alpha: 0.9 });
}

/** Swatches with the names of the lines in one row; the text of a marker replaces the name of its line. */
/** @param {Pen} pen @param {Chart} chart @param {Plot} plot @param {Palette} palette */
function paintLegend(pen, { still: { lines, bound }, markers }, { left, right, top }, palette) {
  const all = bound ? [...lines, bound] : lines;
  if (all.length < 2) return;
  const names = all.map(({ name, tint }) => markers.find((each) => each.tint === tint)?.text ?? name);
  const start = left - 34;
  const spare = () => right - start - names.reduce((sum, name) => sum + measured(name) + 21 + 13, -13);
  // The longest name is shortened first.
  for (let tries = 0; tries < 20 && spare() < 0; tries++) {
    const longest = names.reduce((best, name, n) => (measured(name) > measured(names[best]) ? n : best), 0);
    names[longest] = shortened(names[longest], Math.max(20, measured(names[longest]) - 16));
  }
  let x = start;
  all.forEach(({ tint, dash, width = 1.75 }, n) => {
    pen.line([x, top - 15, x + 16, top - 15], { stroke: palette[tint], width, dash });
    pen.text(x + 21, top - 11, names[n], { size: 12, fill: tint === "ink" ? palette.quiet : palette[tint] });
    x += 21 + measured(names[n]) + 13;
  });
}

/**
 * The cursor, the values there, and the markers; later values are faded.
 * @param {Pen} pen @param {number} width @param {number} height @param {Chart} chart @param {Palette} palette
 */
export function paintMoving(pen, width, height, { still, t, markers }, palette) {
  const plot = plotOf(still, width, height);
  const { right, top, bottom, x, y } = plot;
  const now = x(Math.max(0, Math.min(still.length, t)));
  if (now < right) {
    const [end, low] = [right + 3, bottom + 2];
    pen.polygon([now, top - 6, end, top - 6, end, low, now, low], { fill: palette.card, alpha: 0.62 });
    pen.line([now, bottom + 0.5, right, bottom + 0.5], { stroke: palette.rule, width: 1 });
  }
  pen.line([now, top - 4, now, bottom], { stroke: palette.ink, width: 1, alpha: 0.55 });
  const within = (/** @type {number} */ py) => Math.max(top, Math.min(bottom, py));
  for (const { value, t: when, tint } of markers) {
    pen.circle(x(when), within(y(value)), 4.5, { fill: palette[tint], stroke: palette.card, width: 1.5 });
  }
  for (const line of still.lines) {
    const value = valueOf(line, t);
    if (!Number.isFinite(value) || line.tint === "pocket") continue;
    pen.circle(now, within(y(value)), 3.5, { fill: palette[line.tint], stroke: palette.card, width: 1.5 });
  }
  paintLegend(pen, { still, t, markers }, plot, palette);
  paintHead(pen, still, t, width, palette);
}

/** The title and the current value. */
/** @param {Pen} pen @param {Still} still @param {number} t @param {number} width @param {Palette} palette */
function paintHead(pen, still, t, width, palette) {
  const value = still.lines.length > 0 ? amount(valueOf(still.lines[0], t), still) : "";
  const style = { size: 12.5, weight: 600, fill: palette.ink };
  const room = width - 30 - measured(value, style.size, style.weight);
  pen.text(6, 15, shortened(still.title, room, style.size, style.weight), style);
  pen.text(width - 12, 15, value, { ...style, anchor: "end" });
}

/** A value as text. @param {number} value @param {Still} still */
export function amount(value, { of }) {
  return of === null ? brief(value) : `${brief(value)} of ${of}`;
}

/** A line's value at t. @param {Line} line @param {number} t @returns {number} */
export function valueOf(line, t) {
  return line.values.length === 0 ? NaN : line.values[lastAtMost(line.at, t)];
}
