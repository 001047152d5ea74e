/**
 * Small recordings for tests, packed as they travel. The perceptron here is an oracle of twenty lines: the page has none.
 *
 * @typedef {import("../../../src/rosenblatt/studio/page/model/recording.js").Run} Run
 * @typedef {import("../../../src/rosenblatt/studio/page/model/recording.js").Proof} Proof
 */
import { expand, Recording } from "../../../src/rosenblatt/studio/page/model/recording.js";

/** Numbers in [0, 1), the same for the same seed. @param {number} seed */
export function drawn(seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/** @param {ArrayBufferView} array */
function base64(array) {
  let text = "";
  for (const byte of new Uint8Array(array.buffer, array.byteOffset, array.byteLength)) text += String.fromCharCode(byte);
  return btoa(text);
}

/** @param {Iterable<number>} values */
export function f64(values) {
  return { f64: base64(Float64Array.from(values)) };
}

/** @param {Iterable<number>} values */
export function i32(values) {
  return { i32: base64(Int32Array.from(values)) };
}

/** Exponents of all monomials up to a degree. @param {number} degree */
function monomials(degree) {
  const found = [];
  for (let total = 1; total <= degree; total++) for (let b = 0; b <= total; b++) found.push([total - b, b]);
  return found;
}

/** Points around centers, one class each. */
/** @param {number} count @param {[number, number][]} centers @param {number} spread @param {number} seed */
export function blobs(count, centers, spread, seed) {
  const random = drawn(seed);
  const labels = Array.from({ length: count }, (_, n) => n % centers.length);
  const points = labels.map((label) => /** @type {[number, number]} */ (
    centers[label].map((middle) => middle + spread * (random() + random() + random() - 1.5))
  ));
  return { points, labels };
}

/**
 * @param {[number, number][]} points @param {number[]} labels
 * @param {{scheme?: "binary" | "joint" | "rest", degree?: number, most?: number, margin?: number, step?: number,
 *   start?: number[]}} [knobs]
 */
export function perceptronRun(points, labels, knobs = {}) {
  const { scheme = "binary", degree = 1, most = 1000, margin = 0, step = 1, start } = knobs;
  const exponents = monomials(degree);
  const classes = [...new Set(labels)].sort((a, b) => a - b);
  const codes = labels.map((label) => classes.indexOf(label));
  const heads = scheme === "binary" ? 1 : classes.length;
  const width = exponents.length + 1;
  const features = { exponents, names: exponents.map(termName), center: [0, 0], scale: [1, 1], x0: 1 };
  const rows = points.map(([x, y]) => {
    const row = new Float64Array(width);
    expand(features, x, y, row);
    return row;
  });
  const w = Float64Array.from(start ?? new Array(heads * width).fill(0));
  const score = (/** @type {number} */ n, /** @type {number} */ h) =>
    rows[n].reduce((sum, value, j) => sum + value * w[h * width + j], 0);
  const sumOf = (/** @type {number} */ n, /** @type {number} */ h, /** @type {number} */ by) =>
    rows[n].forEach((value, j) => (w[h * width + j] += by * value));
  const wrong = (/** @type {number} */ n) => {
    if (scheme === "binary") return (codes[n] === 1 ? 1 : -1) * score(n, 0) <= margin ? 0 : -1;
    if (scheme === "rest") return classes.findIndex((_, h) => (codes[n] === h ? 1 : -1) * score(n, h) <= margin);
    const others = classes.map((_, h) => (h === codes[n] ? -Infinity : score(n, h)));
    const rival = others.indexOf(Math.max(...others));
    return score(n, codes[n]) - others[rival] <= margin ? rival : -1;
  };
  const loss = () => rows.reduce((sum, _, n) => sum + Math.max(0, -(codes[n] === 1 ? 1 : -1) * score(n, 0)), 0) / rows.length;
  const errors = () => rows.reduce((sum, _, n) => sum + (wrong(n) >= 0 ? 1 : 0), 0);
  /** @type {{rows: number[], others: number[], times: number[], passes: number[]}} */
  const log = { rows: [], others: [], times: [], passes: [] };
  const curve = { errors: [errors()], loss: [loss()] };
  const sum = Float64Array.from(w);
  const means = Array.from(w);
  const begin = Array.from(w);
  for (let pass = 0, moved = true; moved && log.rows.length < most; pass++) {
    moved = false;
    for (let n = 0; n < rows.length && log.rows.length < most; n++) {
      const other = wrong(n);
      if (other < 0) continue;
      moved = true;
      if (scheme === "binary") sumOf(n, 0, codes[n] === 1 ? step : -step);
      else if (scheme === "rest") sumOf(n, other, codes[n] === other ? step : -step);
      else {
        sumOf(n, codes[n], step);
        sumOf(n, other, -step);
      }
      log.rows.push(n);
      log.others.push(other);
      log.times.push(pass * rows.length + n);
      curve.errors.push(errors());
      curve.loss.push(loss());
      w.forEach((v, j) => means.push((sum[j] += v) / (log.rows.length + 1)));
    }
    log.passes.push(log.rows.length);
  }
  const updates = log.rows.length;
  const count = Array.from({ length: updates + 1 }, (_, t) => t);
  const better = count.filter((t) => curve.errors.slice(0, t).every((before) => before > curve.errors[t]));
  /** @type {Run} */
  const run = {
    algorithm: "perceptron", title: "Perceptron", scheme, heads, classes, features, start: f64(begin),
    log: {
      rows: i32(log.rows), steps: f64(log.rows.map(() => step)), times: i32(log.times), others: i32(log.others),
      edges: i32(count), passes: log.passes,
    },
    frames: null, updates, pairs: null, cut: null,
    curves: {
      at: i32(count), errors: i32(curve.errors), loss: f64(curve.loss), loss_title: "perceptron criterion, mean over points",
      pocket: { t: better, errors: better.map((t) => curve.errors[t]) },
    },
    average: { at: i32(count), weights: f64(means) }, vote_counts: null, keep: "last", readings: {}, svm: null,
    stop: { reason: "updates", sentence: "" }, code: "", seconds: 0,
  };
  return run;
}

/** @param {number[]} exponents */
function termName([a, b]) {
  const power = (/** @type {string} */ name, /** @type {number} */ n) => (n ? name + ["", "", "²", "³", "⁴", "⁵"][n] : "");
  return power("x₁", a) + power("x₂", b);
}

/** @param {Parameters<typeof perceptronRun>} given */
export function recorded(...given) {
  return new Recording(perceptronRun(...given), given[0], given[1]);
}

/**
 * The run of a batch solver: a recording of frames. @param {[number, number][]} points @param {number[]} labels
 * @param {number[][]} weights @param {string[]} titles
 */
export function solved(points, labels, weights, titles) {
  const run = perceptronRun(points, labels, { most: 0 });
  const count = weights.map((_, n) => n);
  Object.assign(run, {
    title: "Soft margin", log: null, frames: { weights: f64(weights.flat()), titles, support: null, margin: null },
    updates: weights.length - 1, average: null,
    curves: { at: i32(count), errors: i32(count), loss: f64(count), loss_title: "hinge loss", pocket: null },
  });
  return new Recording(run, points, labels);
}

/** What is proved of a run from 0 that a plane of unit norm separates. @param {Recording} recording @param {number[]} plane */
export function proofOf(recording, plane) {
  const { rows, width, count, codes, length } = recording;
  let [radius, margin] = [0, Infinity];
  for (let n = 0; n < count; n++) {
    const row = rows.subarray(n * width, (n + 1) * width);
    radius = Math.max(radius, Math.hypot(...row));
    margin = Math.min(margin, (codes[n] === 1 ? 1 : -1) * row.reduce((sum, v, j) => sum + v * plane[j], 0));
  }
  const times = Array.from({ length: length + 1 }, (_, t) => t);
  const bound = (radius / margin) ** 2;
  /** @type {Proof} */
  const proof = {
    verdict: "separable", sentence: "", margin, geometric: null, radius, bound, plane, clash: null,
    convergence: {
      norms: f64(times.map((t) => recording.at(t).reduce((sum, v) => sum + v * v, 0))),
      norm_bound: f64(times.map((t) => t * radius * radius)),
      alignments: f64(times.map((t) => recording.at(t).reduce((sum, v, j) => sum + v * plane[j], 0))),
      alignment_bound: f64(times.map((t) => t * margin)), mistakes: length, mistake_bound: bound, holds: true, sentence: "",
    },
  };
  return proof;
}
