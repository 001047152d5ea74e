/**
 * The contents of the picture of weight space, in one slice: the boundary of each row, the weights that get all rows right,
 * the path so far, and the marks on it.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 * @typedef {import("../model/state.js").Slice} Slice
 * @typedef {import("./paper.js").Palette} Palette
 * @typedef {import("./pen.js").Pen} Pen
 * @typedef {{recording: Recording, t: number, slice: Slice, palette: Palette, hover?: number | null, labels?: number[],
 *   margin?: number, show?: {pocket?: boolean, average?: boolean}}} WeightScene labels: classes of the
 *   rows, if not those of the recording; margin: what y · score must exceed
 * @typedef {{row: number, a: number, b: number, c: number, ends: number[], wrong: boolean}} Boundary in pixels
 * @typedef {{scene: WeightScene, slice: Slice, frame: Frame, path: Float64Array, boundaries: Boundary[],
 *   lit: Boundary | null, solution: import("../model/half_planes.js").Solution, stuck: number}} WeightLook
 */
import { boxOfPath, halfPlanes, pathIn, solution, validSlice } from "../model/half_planes.js";
import { clipped, corners, lineInBox } from "../model/geometry.js";
import { Frame, isNearlySquare } from "./frame.js";

/** Up to this many rows, all lines are drawn; of more rows, the nearest lines. */
const MAX_ALL_LINES = 250;
const NEAREST_LINES = 60;

/** @type {WeakMap<Recording, Map<string, {path: Float64Array, box: number[]}>>} */
const paths = new WeakMap();

/** The path in a slice and the box around it, cached. @param {Recording} recording @param {Slice} slice */
function pathAndBox(recording, slice) {
  const known = paths.get(recording) ?? new Map();
  paths.set(recording, known);
  const name = `${slice.x} ${slice.y} ${slice.head}`;
  let walk = known.get(name);
  if (!walk) {
    const path = pathIn(recording, slice);
    walk = { path, box: boxOfPath(path) };
    known.set(name, walk);
  }
  return walk;
}

/** @param {WeightScene} scene @param {number} width @param {number} height @returns {WeightLook} */
export function weightLook(scene, width, height) {
  const { recording } = scene;
  const slice = validSlice(recording, scene.slice);
  const { path, box } = pathAndBox(recording, slice);
  const frame = new Frame(box, width, height, isNearlySquare(box));
  const t = Math.max(0, Math.min(recording.length, scene.t));
  const { planes, stuck } = halfPlanes(recording, t, slice, scene.margin ?? 0);
  const all = boundariesOf(planes, frame, path[2 * t], path[2 * t + 1], scene.hover ?? -1);
  return {
    scene: { ...scene, t }, slice, frame, path, stuck,
    boundaries: all.filter((each) => each.ends.length > 0),
    lit: all.find((each) => each.row === scene.hover) ?? null,
    solution: solution(planes, frame.box),
  };
}

/**
 * The lines of the rows in pixels: all, or those nearest to the weights.
 * @param {Float64Array} planes @param {Frame} frame @param {number} u @param {number} v @param {number} hover
 * @returns {Boundary[]}
 */
function boundariesOf(planes, frame, u, v, hover) {
  const [px, py] = [frame.x(u), frame.y(v)];
  const { sx, sy, width, height, box } = frame;
  const count = planes.length / 3;
  const far = new Float64Array(count);
  const view = [0, width, 0, height];
  const top = box[2] + height / sy;
  for (let n = 0; n < count; n++) {
    const [a, b] = [planes[3 * n] / sx, -planes[3 * n + 1] / sy];
    const c = planes[3 * n] * box[0] + planes[3 * n + 1] * top + planes[3 * n + 2];
    far[n] = a === 0 && b === 0 ? Infinity : Math.abs(a * px + b * py + c) / Math.hypot(a, b);
  }
  const most = count <= MAX_ALL_LINES ? Infinity : far.slice().sort()[NEAREST_LINES];
  /** @type {Boundary[]} */
  const found = [];
  for (let row = 0; row < count; row++) {
    if (row !== hover && !(far[row] < most)) continue;
    const [a, b] = [planes[3 * row] / sx, -planes[3 * row + 1] / sy];
    const c = planes[3 * row] * box[0] + planes[3 * row + 1] * top + planes[3 * row + 2];
    // Not in pixels, where rounding would decide for weights on the line of a row.
    const wrong = !(planes[3 * row] * u + planes[3 * row + 1] * v + planes[3 * row + 2] > 0);
    found.push({ row, a, b, c, ends: lineInBox(a, b, c, view), wrong });
  }
  return found;
}

/** The color of a row's class. @param {WeightScene} scene @param {number} row */
export function rowColor({ recording, palette, labels }, row) {
  return palette.classes[labels?.[row] ?? recording.run.classes[recording.codes[row]]] ?? palette.ink;
}

/** Lines, the highlighted half-plane, and the solution. @param {Pen} pen @param {WeightLook} look */
export function drawHalfPlanes(pen, { scene, frame, boundaries, lit, solution: { polygon } }) {
  const { palette } = scene;
  const { width, height } = frame;
  const cone = frame.all(polygon);
  if (cone.length > 0) pen.polygon(cone, { fill: palette.vote, alpha: palette.dark ? 0.2 : 0.15 });
  if (lit) {
    const allowed = clipped(corners([0, width, 0, height]), lit.a, lit.b, lit.c);
    if (allowed.length > 0) pen.polygon(allowed, { fill: rowColor(scene, lit.row), alpha: palette.dark ? 0.15 : 0.13 });
  }
  const crowd = Math.min(1, 45 / Math.max(1, boundaries.length));
  /** @type {Map<string, {right: number[], wrong: number[], ticks: number[]}>} */
  const byColor = new Map();
  for (const boundary of boundaries) {
    const color = rowColor(scene, boundary.row);
    const group = byColor.get(color) ?? { right: [], wrong: [], ticks: [] };
    byColor.set(color, group);
    (boundary.wrong ? group.wrong : group.right).push(...boundary.ends);
    inward(boundary, group.ticks);
  }
  for (const [stroke, { right, wrong, ticks }] of byColor) {
    pen.segments(right, { stroke, width: 1, alpha: 0.16 + 0.24 * crowd });
    pen.segments(wrong, { stroke, width: 1.25, alpha: 0.4 + 0.45 * crowd });
    pen.segments(ticks, { stroke, width: 1, alpha: 0.25 + 0.35 * crowd });
  }
  pen.segments(edgesWithin(cone, width, height), { stroke: palette.vote, width: 1.75, alpha: 0.9, round: true });
  const causes = scene.recording.causes(scene.t, 2);
  const cause = causes.length === 1 ? boundaries.find((each) => each.row === causes[0]) : undefined;
  if (cause) pen.line(cause.ends, { stroke: rowColor(scene, cause.row), width: 2 });
  if (lit && lit.ends.length > 0) pen.line(lit.ends, { stroke: rowColor(scene, lit.row), width: 3 });
}

/** Sides of a polygon that are not on the edge of the picture. */
/** @param {number[]} polygon @param {number} width @param {number} height */
function edgesWithin(polygon, width, height) {
  const on = (/** @type {number} */ a, /** @type {number} */ b, /** @type {number} */ edge) =>
    Math.abs(a - edge) < 0.01 && Math.abs(b - edge) < 0.01;
  /** @type {number[]} */
  const sides = [];
  for (let n = 0; n < polygon.length; n += 2) {
    const [x, y] = [polygon[n], polygon[n + 1]];
    const [u, v] = [polygon[(n + 2) % polygon.length], polygon[(n + 3) % polygon.length]];
    if (!on(x, u, 0) && !on(x, u, width) && !on(y, v, 0) && !on(y, v, height)) sides.push(x, y, u, v);
  }
  return sides;
}

/** Short ticks near both ends of a line, on the side where the row is right. */
/** @param {Boundary} line @param {number[]} out */
function inward({ a, b, ends: [x, y, u, v] }, out) {
  const [size, long] = [Math.hypot(a, b), Math.hypot(u - x, v - y)];
  if (!(long > 24)) return;
  const [nx, ny, dx, dy] = [(6 * a) / size, (6 * b) / size, (u - x) / long, (v - y) / long];
  for (const along of [9, long - 9]) {
    const [px, py] = [x + along * dx, y + along * dy];
    out.push(px, py, px + nx, py + ny);
  }
}
