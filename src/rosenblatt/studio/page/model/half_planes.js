/**
 * A flat slice of weight space: two weights of one head vary, all others stay what they are at time t. There each row is a
 * half-plane, a u + b v + c > 0, and the weights that get every row right are what all of them share.
 *
 * @typedef {import("./recording.js").Recording} Recording
 * @typedef {import("./state.js").Slice} Slice
 * @typedef {{planes: Float64Array, stuck: number}} HalfPlanes planes: (a, b, c) of each row, one after the other;
 *   stuck: rows that are wrong between two other heads, whatever this one does
 * @typedef {{polygon: number[], away: [number, number] | null}} Solution polygon: what is seen of it, empty where nothing is;
 *   away: a place of it where it lies beyond the box
 */
import { clipped, corners } from "./geometry.js";

/** How far beyond the box a solution is looked for, in boxes. */
const FAR = 1e5;
/** Parts of the box's area; the open half-planes share nothing where what is left is as small as rounding. */
const NOTHING = 1e-13;

/** A slice that the recording has: links and other algorithms may ask for weights that there are not. */
/** @param {Recording} recording @param {Slice} slice @returns {Slice} */
export function soundSlice({ width, heads, features }, { x, y, head }) {
  const first = features.x0 === 0 ? 1 : 0; // without an intercept there is no w0
  const across = x >= first && x < width ? x : Math.min(1, width - 1);
  const up = y >= first && y < width && y !== across ? y : across === width - 1 ? across - 1 : across + 1;
  return { x: across, y: up, head: head >= 0 && head < heads ? head : 0 };
}

/**
 * The half-plane of each row; a row that this head has no say in (pairs of other classes) gets (0, 0, 1): right everywhere.
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
 * On which side of a head's plane a class belongs: 1, -1, or 0 where it does not matter.
 * @param {import("./recording.js").Run} run @param {number} code @param {number} head
 */
function sideOf(run, code, head) {
  if (run.scheme === "binary") return code === 1 ? 1 : -1;
  if (run.scheme === "rest") return code === head ? 1 : -1;
  const [no, yes] = run.pairs?.[head] ?? [];
  return code === yes ? 1 : code === no ? -1 : 0;
}

/**
 * What all half-planes share, as far as a box shows it.
 * @param {Float64Array} planes @param {number[]} box [x0, x1, y0, y1]
 * @returns {Solution}
 */
export function solution(planes, box) {
  const polygon = shared(planes, box);
  if (polygon.length > 0) return { polygon, away: null };
  const [x0, x1, y0, y1] = box;
  const [dx, dy] = [FAR * (x1 - x0), FAR * (y1 - y0)];
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
  return areaOf(polygon) > NOTHING * (x1 - x0) * (y1 - y0) ? polygon : [];
}

/** @param {number[]} polygon */
export function areaOf(polygon) {
  const n = polygon.length;
  if (n < 6) return 0;
  const [x, y] = polygon; // taken as the origin: the corners are close together where the area is small
  let twice = 0;
  for (let i = 2; i + 3 < n; i += 2) {
    twice += (polygon[i] - x) * (polygon[i + 3] - y) - (polygon[i + 2] - x) * (polygon[i + 1] - y);
  }
  return Math.abs(twice) / 2;
}

/** The corner nearest to a place. @param {number[]} polygon @param {number} x @param {number} y @returns {[number, number]} */
function nearest(polygon, x, y) {
  let best = 0;
  const far = (/** @type {number} */ n) => Math.hypot(polygon[n] - x, polygon[n + 1] - y);
  for (let n = 2; n < polygon.length; n += 2) if (far(n) < far(best)) best = n;
  return [polygon[best], polygon[best + 1]];
}

/**
 * Where the weights walked in a slice: u and v of w(0), w(1), ..., flat.
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
 * A box around the whole path with air, and around the origin unless that would make the path small.
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
    const air = side > 1e-6 * long ? 0.16 * side : long / 2;
    return [kept[n] - air, kept[n + 1] + air];
  });
}
