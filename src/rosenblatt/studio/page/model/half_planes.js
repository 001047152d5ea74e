/**
 * A two-dimensional slice of weight space: two weights of one head vary, all others keep their values at time t. Each row is a
 * half-plane a u + b v + c > 0; their intersection contains the weights that get every row right.
 *
 * @typedef {import("./recording.js").Recording} Recording
 * @typedef {import("./state.js").Slice} Slice
 * @typedef {{planes: Float64Array, stuck: number}} HalfPlanes planes: (a, b, c) of each row, one after the other;
 *   stuck: rows that two other heads misclassify for every weight of this head
 * @typedef {{polygon: number[], away: [number, number] | null}} Solution polygon: its visible part, may be empty;
 *   away: a point of it if it lies outside the box
 */
import { clipped, corners } from "./geometry.js";

/** How far outside the box a solution is searched for, in box sizes. */
const SEARCH_BOXES = 1e5;
/** Intersections smaller than this share of the box are rounding errors and count as empty. */
const MIN_AREA_SHARE = 1e-13;

/** A slice with weights that the recording has; links may contain others. */
/** @param {Recording} recording @param {Slice} slice @returns {Slice} */
export function validSlice({ width, heads, features }, { x, y, head }) {
  const first = features.x0 === 0 ? 1 : 0; // without an intercept there is no w0
  const across = x >= first && x < width ? x : Math.min(1, width - 1);
  const up = y >= first && y < width && y !== across ? y : across === width - 1 ? across - 1 : across + 1;
  return { x: across, y: up, head: head >= 0 && head < heads ? head : 0 };
}

/**
 * The half-plane of each row; rows of other classes than those of a pair get (0, 0, 1): right everywhere.
 * @param {Recording} recording @param {number} t @param {Slice} slice @param {number} [margin] what a score must exceed
 * @returns {HalfPlanes}
 */
export function halfPlanes(recording, t, slice, margin = 0) {
  const { rows, width, count, codes, heads, run } = recording;
  const { x, y, head } = slice;
  const w = recording.at(t);
  const planes = new Float64Array(3 * count);
  const joint = run.scheme === "joint";
  let stuck = 0;
  for (let n = 0; n < count; n++) {
    const sign = joint ? (codes[n] === head ? 1 : -1) : sideOf(run, codes[n], head);
    if (sign === 0) {
      planes[3 * n + 2] = 1;
      continue;
    }
    const from = n * width;
    let rest = 0;
    for (let j = 0, a = head * width; j < width; j++) if (j !== x && j !== y) rest += w[a + j] * rows[from + j];
    let against = 0;
    if (joint) {
      let rival = -Infinity;
      for (let h = 0; h < heads; h++) {
        if (h !== head && h !== codes[n]) rival = Math.max(rival, recording.score(w, h, rows, n));
      }
      if (sign > 0) against = rival;
      else {
        against = recording.score(w, codes[n], rows, n);
        if (!(against - rival > margin)) stuck++;
      }
    }
    planes[3 * n] = sign * rows[from + x];
    planes[3 * n + 1] = sign * rows[from + y];
    planes[3 * n + 2] = sign * (rest - against) - margin;
  }
  return { planes, stuck };
}

/**
 * The side of a head's plane for a class: 1, -1, or 0 if it does not matter.
 * @param {import("./recording.js").Run} run @param {number} code @param {number} head
 */
function sideOf(run, code, head) {
  if (run.scheme === "binary") return code === 1 ? 1 : -1;
  if (run.scheme === "rest") return code === head ? 1 : -1;
  const [no, yes] = run.pairs?.[head] ?? [];
  return code === yes ? 1 : code === no ? -1 : 0;
}

/**
 * The intersection of all half-planes, inside a box.
 * @param {Float64Array} planes @param {number[]} box [x0, x1, y0, y1]
 * @returns {Solution}
 */
export function solution(planes, box) {
  const polygon = shared(planes, box);
  if (polygon.length > 0) return { polygon, away: null };
  const [x0, x1, y0, y1] = box;
  const [dx, dy] = [SEARCH_BOXES * (x1 - x0), SEARCH_BOXES * (y1 - y0)];
  const beyond = shared(planes, [x0 - dx, x1 + dx, y0 - dy, y1 + dy]);
  return { polygon, away: beyond.length > 0 ? nearest(beyond, (x0 + x1) / 2, (y0 + y1) / 2) : null };
}

/** @param {Float64Array} planes @param {number[]} box @returns {number[]} */
function shared(planes, box) {
  const [x0, x1, y0, y1] = box;
  let polygon = corners(box);
  for (let n = 0; n < planes.length; n += 3) {
    const [a, b, c] = [planes[n], planes[n + 1], planes[n + 2]];
    if (a === 0 && b === 0 && !(c > 0)) return [];
    let cuts = false;
    for (let m = 0; m < polygon.length && !cuts; m += 2) cuts = !(a * polygon[m] + b * polygon[m + 1] + c >= 0);
    if (!cuts) continue;
    polygon = clipped(polygon, a, b, c);
    if (polygon.length < 6) return [];
  }
  return areaOf(polygon) > MIN_AREA_SHARE * (x1 - x0) * (y1 - y0) ? polygon : [];
}

/** @param {number[]} polygon */
export function areaOf(polygon) {
  const n = polygon.length;
  if (n < 6) return 0;
  const [x, y] = polygon; // as origin, for accuracy with small areas
  let twice = 0;
  for (let i = 2; i + 3 < n; i += 2) {
    twice += (polygon[i] - x) * (polygon[i + 3] - y) - (polygon[i + 2] - x) * (polygon[i + 1] - y);
  }
  return Math.abs(twice) / 2;
}

/** The corner closest to a point. @param {number[]} polygon @param {number} x @param {number} y @returns {[number, number]} */
function nearest(polygon, x, y) {
  let best = 0;
  const far = (/** @type {number} */ n) => Math.hypot(polygon[n] - x, polygon[n + 1] - y);
  for (let n = 2; n < polygon.length; n += 2) if (far(n) < far(best)) best = n;
  return [polygon[best], polygon[best + 1]];
}

/**
 * The path of the weights in a slice: u and v of w(0), w(1), ..., flat.
 * @param {Recording} recording @param {Slice} slice
 * @returns {Float64Array}
 */
export function pathIn(recording, { x, y, head }) {
  const { weights, size, width, length } = recording;
  const path = new Float64Array(2 * (length + 1));
  for (let t = 0, from = head * width; t <= length; t++, from += size) {
    path[2 * t] = weights[from + x];
    path[2 * t + 1] = weights[from + y];
  }
  return path;
}

/**
 * A box around the whole path with padding, and around the origin unless the path would become small.
 * @param {Float64Array} path
 * @returns {number[]}
 */
export function boxOfPath(path) {
  const box = [Infinity, -Infinity, Infinity, -Infinity];
  for (let n = 0; n + 1 < path.length; n += 2) {
    if (!Number.isFinite(path[n]) || !Number.isFinite(path[n + 1])) continue;
    box[0] = Math.min(box[0], path[n]);
    box[1] = Math.max(box[1], path[n]);
    box[2] = Math.min(box[2], path[n + 1]);
    box[3] = Math.max(box[3], path[n + 1]);
  }
  if (!(box[0] <= box[1])) return [-1, 1, -1, 1];
  const span = Math.max(box[1] - box[0], box[3] - box[2]);
  const whole = [Math.min(0, box[0]), Math.max(0, box[1]), Math.min(0, box[2]), Math.max(0, box[3])];
  const wide = Math.max(whole[1] - whole[0], whole[3] - whole[2]);
  const kept = wide <= 2.5 * span || span === 0 ? whole : box;
  const long = Math.max(kept[1] - kept[0], kept[3] - kept[2]) || 2;
  return [0, 2].flatMap((n) => {
    const side = kept[n + 1] - kept[n];
    const padding = side > 1e-6 * long ? 0.16 * side : long / 2;
    return [kept[n] - padding, kept[n + 1] + padding];
  });
}
