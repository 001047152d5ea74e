/**
 * Charts of a run: errors, loss, and both sides of the inequalities of the proof.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 * @typedef {import("../model/recording.js").Proof} Proof
 * @typedef {import("./chart_paint.js").Chart} Chart
 * @typedef {import("./chart_paint.js").Still} Still
 * @typedef {import("./chart_paint.js").Line} Line
 * @typedef {import("./chart_paint.js").Bound} Bound
 * @typedef {import("./chart_paint.js").Marker} Marker
 * @typedef {import("./paper.js").Palette} Palette
 * @typedef {import("./pen.js").Pen} Pen
 */
import { unpacked } from "../model/recording.js";
import { amount, paintMoving, paintStill, plotOf, valueOf } from "./chart_paint.js";
import { Layer } from "./layer.js";
import { brief, Paper } from "./paper.js";

/** Static parts of charts by recording and name; `of` decides whether one is still valid. */
/** @type {WeakMap<Recording, Map<string, {of: unknown, still: Still | null}>>} */
const stills = new WeakMap();

/**
 * @param {Recording} recording @param {string} name @param {unknown} of @param {() => Still | null} make
 * @returns {Still | null}
 */
function keptStill(recording, name, of, make) {
  const known = stills.get(recording) ?? new Map();
  stills.set(recording, known);
  const found = known.get(name);
  if (found && found.of === of) return found.still;
  const still = make();
  known.set(name, { of, still });
  return still;
}

/**
 * The static part of a chart, with its range.
 * @param {Recording[]} recordings @param {Partial<Still> & {title: string, lines: Line[]}} given
 * @param {{log?: boolean, most?: number}} [range] log: allow a logarithmic axis; most: upper limit of the axis
 * @returns {Still}
 */
function stillOf(recordings, given, { log = false, most = Infinity } = {}) {
  const titles = recordings.length === 1 ? recordings[0].run.frames?.titles : undefined;
  let [low, high, least] = [0, 0, Infinity];
  const see = (/** @type {Line} */ { values }) => {
    for (let n = 0; n < values.length; n++) {
      const value = values[n];
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, Math.min(value, most));
      if (value > 0) least = Math.min(least, value);
    }
  };
  given.lines.forEach(see);
  if (given.bound) see(given.bound);
  const logged = log && low >= 0 && high > 1e3 * least;
  if (high <= low) high = low + 1;
  return {
    unit: titles ? "step" : "update", length: Math.max(...recordings.map((each) => each.length)), bound: null, whole: false,
    of: null, log: logged,
    ends: titles && titles.length > 0 ? [titles[0], titles[titles.length - 1]] : null,
    ...given,
    low: logged ? least / 1.5 : low, high: logged ? high * 1.5 : high + 0.04 * (high - low),
  };
}

/** 0, 1, ..., one for each value. @param {ArrayLike<number>} values */
function counted(values) {
  return Float64Array.from({ length: values.length }, (_, n) => n);
}

/**
 * Training errors, and the least so far.
 * @param {Recording} recording @param {number} t @param {{pocket?: boolean}} [show] @param {Recording | null} [second]
 * @returns {Chart}
 */
export function errorsChart(recording, t, show = {}, second = null) {
  const pocket = show.pocket === false ? null : recording.pocket;
  const still = /** @type {Still} */ (keptStill(recording, `errors ${pocket !== null}`, second, () => {
    const lines = both(recording, second, "errors", "errors");
    if (pocket) {
      const line = { name: "pocket", at: pocket.t, values: pocket.errors, tint: /** @type {const} */ ("pocket") };
      lines.splice(1, 0, { ...line, stepped: true, calm: true, width: 2 });
    }
    // With w = 0 every row is misclassified; that one value must not set the scale.
    const most = Math.max(1, ...allOf(recording, second).map(({ curve }) => 1.1 * highest(curve.errors.subarray(1))));
    return stillOf(allOf(recording, second), { title: "Training errors", lines, whole: true, of: recording.count }, { most });
  }));
  /** @type {Marker[]} */
  const markers = [];
  const best = pocket ? recording.pocketAt(t) : undefined;
  if (best && best.t <= t) {
    const errors = best.errors === 1 ? "1 error" : `${best.errors} errors`;
    markers.push({ t: best.t, value: best.errors, text: `pocket: ${errors} at update ${best.t}`, tint: "pocket" });
  }
  return { still, t, markers };
}

/**
 * The loss that the algorithm minimizes. Null if it minimizes none.
 * @param {Recording} recording @param {number} t @param {Recording | null} [second]
 * @returns {Chart | null}
 */
export function lossChart(recording, t, second = null) {
  const still = keptStill(recording, "loss", second, () => {
    const { loss_title: title } = recording.run.curves;
    if (title === null) return null;
    const lines = both(recording, second, "loss", "loss").slice(0, comparable(recording, second) ? 2 : 1);
    return stillOf(allOf(recording, second), { title: title.charAt(0).toUpperCase() + title.slice(1), lines }, { log: true });
  });
  return still && { still, t, markers: [] };
}

/** Whether two runs minimize the same loss, so that one axis fits both. */
/** @param {Recording} recording @param {Recording | null} second */
function comparable(recording, second) {
  return second?.run.curves.loss_title === recording.run.curves.loss_title;
}

/** @param {Recording} recording @param {Recording | null} second @returns {Recording[]} */
function allOf(recording, second) {
  return second ? [recording, second] : [recording];
}

/** One curve of one or two runs; the few frames of a solver are spread over the whole time. */
/** @param {Recording} recording @param {Recording | null} second @param {"errors" | "loss"} curve @param {string} name */
function both(recording, second, curve, name) {
  const length = Math.max(recording.length, second?.length ?? 0);
  return allOf(recording, second).map((each, n) => /** @type {Line} */ ({
    name: second ? each.run.title + (each.run.title === (n ? recording : second).run.title ? ` ${n + 1}` : "") : name,
    at: Float64Array.from(each.curve.at, (t) => t * each.pace(length)), values: each.curve[curve], tint: n ? "quiet" : "ink", stepped: each.run.frames === null,
    dash: n ? [5, 3] : undefined, width: n ? 1.5 : 1.75,
  }));
}

/**
 * The squared norm and its upper bound, t R²; |W|²/2 for several classes. Null without a proof.
 * @param {Recording} recording @param {Proof | null} proof @param {number} t
 * @returns {Chart | null}
 */
export function normsChart(recording, proof, t) {
  const still = keptStill(recording, "norms", proof, () => {
    if (!proof?.convergence) return null;
    const ceiling = unpacked(proof.convergence.norm_bound);
    const norms = unpacked(proof.convergence.norms);
    const what = recording.heads === 1 ? "|w|²" : "|W|²/2";
    const name = grows(ceiling, (proof.radius ?? NaN) ** 2) ? "at most t R²" : "at most";
    const title = recording.heads === 1 ? `Squared norm ${what}` : `Squared norm of all classes, ${what}`;
    const lines = [curveOf(what, norms)];
    return stillOf([recording], { title, lines, bound: boundOf(name, ceiling, "above") }, { most: 2.5 * highest(norms) });
  });
  return still && { still, t, markers: [] };
}

/**
 * Whether a bound is t times a number, as it is for a start at zero, steps of 1 and no margin.
 * @param {ArrayLike<number>} bound @param {number} by
 */
function grows(bound, by) {
  return Array.from(bound).every((value, t) => Math.abs(value - t * by) <= 1e-6 * (1 + t * by));
}

/**
 * The progress of w along w*, and its lower bound, t γ. Null without w*.
 * @param {Recording} recording @param {Proof | null} proof @param {number} t
 * @returns {Chart | null}
 */
export function alignmentChart(recording, proof, t) {
  const still = keptStill(recording, "alignment", proof, () => {
    const { alignments, alignment_bound: least } = proof?.convergence ?? {};
    if (!alignments || !least) return null;
    const [what, along] = recording.heads === 1 ? ["w·w*", "w*"] : ["W·W*/√2", "W*"];
    const lines = [curveOf(what, unpacked(alignments))];
    const floor = unpacked(least);
    const name = grows(floor, proof?.margin ?? NaN) ? "at least t γ" : "at least";
    return stillOf([recording], { title: `Progress toward a perfect ${along}`, lines, bound: boundOf(name, floor, "below") });
  });
  return still && { still, t, markers: [] };
}

/** @param {string} name @param {ArrayLike<number>} values @returns {Line} */
function curveOf(name, values) {
  return { name, at: counted(values), values, tint: "ink" };
}

/**
 * @param {string} name @param {ArrayLike<number>} values @param {"above" | "below"} forbids @param {ArrayLike<number>} [at]
 * @returns {Bound | null}
 */
function boundOf(name, values, forbids, at = counted(values)) {
  return values.length === 0 ? null : { name, at, values, forbids, tint: "alarm", dash: [5, 3] };
}

/** @param {ArrayLike<number>} values */
function highest(values) {
  let most = 0;
  for (let n = 0; n < values.length; n++) if (values[n] > most) most = values[n];
  return most;
}

/** A chart in a sentence, for screen readers. @param {Chart} chart */
export function described({ still, t, markers }) {
  const [first, ...others] = still.lines;
  const moment = `${still.unit} ${Math.max(0, Math.min(still.length, t))}`;
  const parts = [`${still.title}: ${amount(valueOf(first, t), still)} at ${moment}`];
  for (const { value, t: when } of markers) parts.push(`at best ${brief(value)} at ${still.unit} ${when}`);
  for (const line of others) if (line.tint !== "pocket") parts.push(`${line.name}: ${amount(valueOf(line, t), still)}`);
  if (still.bound) parts.push(`bound: ${still.bound.name} = ${brief(valueOf(still.bound, t))}`);
  return parts.join("; ");
}

/** @param {Pen} pen @param {number} width @param {number} height @param {Chart} chart @param {Palette} palette */
export function drawChart(pen, width, height, chart, palette) {
  paintStill(pen, width, height, chart.still, palette);
  paintMoving(pen, width, height, chart, palette);
}

export class ChartView {
  /** @param {HTMLElement} holder @param {number} [height] */
  constructor(holder, height = 150) {
    this.holder = holder;
    this.height = height;
    this.paper = new Paper(holder);
    this.layer = new Layer();
    /** @type {Chart | null} */
    this.chart = null;
  }

  /** @param {Chart} chart @param {Palette} palette */
  draw(chart, palette) {
    const { paper, layer, height } = this;
    paper.fit(Math.max(1, this.holder.clientWidth), height);
    this.chart = chart;
    if (layer.renew(paper, [chart.still, palette.ink])) paintStill(layer.pen, paper.width, height, chart.still, palette);
    paper.clear();
    layer.copy(paper);
    paintMoving(paper.pen, paper.width, height, chart, palette);
  }

  /** The update at a pixel. @param {number} px */
  valueAt(px) {
    if (!this.chart) return 0;
    const { still } = this.chart;
    const { left, right } = plotOf(still, this.paper.width, this.height);
    return Math.max(0, Math.min(still.length, Math.round(((px - left) / (right - left)) * still.length)));
  }
}
