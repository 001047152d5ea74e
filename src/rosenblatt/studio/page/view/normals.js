/**
 * Weight vectors as arrows in the plane, and the last update: old w, plus y x, is new w.
 *
 * @typedef {import("./plane_view.js").Scene} Scene
 * @typedef {import("./frame.js").Frame} Frame
 * @typedef {import("./pen.js").Pen} Pen
 * @typedef {import("./surface.js").Surface} Surface
 * @typedef {import("../model/recording.js").Recording} Recording
 */
import { arrow } from "./pen.js";
import { lineOf } from "./surface.js";

/** @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface} surface */
export function drawNormals(pen, frame, scene, surface) {
  const { recording } = scene;
  if (!recording) return;
  if (recording.run.scheme === "binary") drawNormal(pen, frame, scene, surface);
  else if (recording.run.scheme !== "pairs") drawOneOfEach(pen, frame, scene);
}

/**
 * w as an arrow from the line, and the last update: old w, plus y x, is new w.
 * @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface} surface
 */
function drawNormal(pen, frame, { recording, t, palette, data }, surface) {
  if (!recording) return;
  const w = recording.at(t);
  const segment = surface.boundary(w);
  const foot = segment.length ? [(segment[0] + segment[2]) / 2, (segment[1] + segment[3]) / 2] : middle(frame.box);
  const [px, py] = [frame.x(foot[0]), frame.y(foot[1])];
  const scale = arrowScale(recording, frame);
  const tip = (/** @type {Float64Array} */ weights) => {
    const [a, b] = lineOf(recording, weights, 0);
    return [px + a * scale, py - b * scale * squeeze(frame)];
  };
  const [u, v] = tip(w);
  const causes = recording.causes(t);
  if (t > 0 && recording.run.log) {
    const [ou, ov] = tip(recording.at(t - 1));
    arrow(pen, px, py, ou, ov, palette.ink, { width: 1.5, alpha: 0.4, head: 8 });
    if (causes.length === 1) {
      const color = palette.classes[data.labels[causes[0]]];
      arrow(pen, ou, ov, u, v, color, { width: 2, head: 8 });
      const sign = recording.codes[causes[0]] === 1 ? "+" : "−";
      const words = { size: 12, fill: color, weight: 650, halo: palette.card, anchor: /** @type {const} */ ("middle") };
      // Beside the arrow, on the side away from the name of w.
      const [dx, dy, length] = [u - ou, v - ov, Math.hypot(u - ou, v - ov) || 1];
      const side = dx * (ov - py) - dy * (ou - px) > 0 ? 1 : -1;
      pen.text((ou + u) / 2 + (side * dy * 14) / length, (ov + v) / 2 - (side * dx * 14) / length + 4, `${sign}x`, words);
    }
  }
  arrow(pen, px, py, u, v, palette.ink, { width: 3, head: 11 });
  if (Math.hypot(u - px, v - py) > 4) {
    pen.text(u + (u >= px ? 9 : -9), v + (v > py ? 14 : -5), "w", {
      size: 14, fill: palette.ink, weight: 700, halo: palette.card, anchor: u >= px ? "start" : "end",
    });
  }
}

/**
 * The weights of every class as arrows from one point; those that the last update moved, with their old values.
 * @param {Pen} pen @param {Frame} frame @param {Scene} scene
 */
function drawOneOfEach(pen, frame, { recording, t, palette }) {
  if (!recording) return;
  const [x, y] = middle(frame.box);
  const [px, py] = [frame.x(x), frame.y(y)];
  const scale = arrowScale(recording, frame);
  const tip = (/** @type {Float64Array} */ w, /** @type {number} */ head) => {
    const [a, b] = lineOf(recording, w, head);
    return [px + a * scale, py - b * scale * squeeze(frame)];
  };
  for (let head = 0; head < recording.heads; head++) {
    const color = palette.classes[recording.run.classes[head]];
    const [u, v] = tip(recording.at(t), head);
    if (t > 0 && recording.run.log) {
      const [ou, ov] = tip(recording.at(t - 1), head);
      if (ou !== u || ov !== v) {
        arrow(pen, px, py, ou, ov, color, { width: 1.5, alpha: 0.45, head: 8 });
        arrow(pen, ou, ov, u, v, palette.ink, { width: 2, head: 8 });
      }
    }
    arrow(pen, px, py, u, v, color, { width: 3, head: 10 });
  }
}

/** @param {number[]} box */
function middle([x0, x1, y0, y1]) {
  return [(x0 + x1) / 2, (y0 + y1) / 2];
}

/** The ratio of the scales, which keeps arrows perpendicular to their lines. @param {Frame} frame */
function squeeze(frame) {
  return frame.sx / frame.sy;
}

/** @type {WeakMap<Recording, {upwards: number, length: number}>} the longest normal of a run, by ratio of the scales */
const longestNormals = new WeakMap();

/** Pixels per unit of weight: the longest w of the run takes a fifth of the frame. */
/** @param {Recording} recording @param {Frame} frame */
function arrowScale(recording, frame) {
  const upwards = squeeze(frame);
  const known = longestNormals.get(recording);
  let longest = known?.upwards === upwards ? known.length : 0;
  if (!longest) {
    for (let n = 0; n <= recording.length; n++) {
      for (let h = 0; h < recording.heads; h++) {
        const [a, b] = lineOf(recording, recording.at(n), h);
        longest = Math.max(longest, Math.hypot(a, b * upwards));
      }
    }
    longest ||= 1;
    longestNormals.set(recording, { upwards, length: longest });
  }
  return (0.22 * Math.min(frame.width, frame.height)) / longest;
}
