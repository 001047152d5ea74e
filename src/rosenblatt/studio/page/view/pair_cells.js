/**
 * Exact regions of the votes of pairs: the lines of all pairs cut the box into cells with the same votes. Where several classes
 * lead a cell, it is cut by the lines on which two of them have equal sums of the scores of lost pairs.
 */
import { clipped, corners } from "../model/geometry.js";
import { leadersOf } from "../model/recording.js";

/**
 * @typedef {[number, number, number]} Line a x + b y + c
 * @param {number[]} box
 * @param {Line[]} lines each pair's score
 * @param {number[][]} pairs
 * @param {number} k classes
 * @param {(x: number, y: number) => number} classify the class at a point
 * @returns {{part: number[], label: number}[]}
 */
export function pairCells(box, lines, pairs, k, classify) {
  const whole = corners(box);
  const least = 1e-12 * area(whole); // lines that meet in one point leave parts of no area, up to rounding
  const cells = cut([whole], lines, least);
  const parts = cells.flatMap((part) => cut([part], equalLosses(lines, pairs, k, ...middleOf(part)), least));
  return parts.map((part) => ({ part, label: classify(...middleOf(part)) }));
}

/** @param {number[][]} parts @param {Line[]} lines @param {number} least the smallest area of a part @returns {number[][]} */
function cut(parts, lines, least) {
  for (const [a, b, c] of lines) {
    if (a === 0 && b === 0) continue; // the same everywhere
    parts = parts.flatMap((part) => [clipped(part, a, b, c), clipped(part, -a, -b, -c)]).filter((part) => area(part) > least);
  }
  return parts;
}

/**
 * In the cell around a point, the lines on which two leading classes have equal sums of the scores of lost pairs.
 * @param {Line[]} lines @param {number[][]} pairs @param {number} k @param {number} x @param {number} y @returns {Line[]}
 */
function equalLosses(lines, pairs, k, x, y) {
  const scores = lines.map(([a, b, c]) => a * x + b * y + c);
  const leaders = leadersOf(scores, pairs, k);
  const lost = Array.from({ length: k }, () => [0, 0, 0]);
  pairs.forEach(([a, b], h) => lines[h].forEach((value, n) => {
    if (scores[h] > 0) lost[a][n] += value;
    else lost[b][n] -= value;
  }));
  return leaders.flatMap((a, n) => leaders.slice(n + 1).map((b) => /** @type {Line} */ (lost[a].map((v, m) => v - lost[b][m]))));
}

/**
 * The boundaries between cells of different classes, as segments.
 * @param {number[]} box @param {{part: number[], label: number}[]} cells @param {(x: number, y: number) => number} classify
 * @returns {number[]}
 */
export function pairBoundary(box, cells, classify) {
  const [x0, x1, y0, y1] = box;
  const step = 1e-7 * (x1 - x0 + y1 - y0);
  /** @type {number[]} */
  const segments = [];
  for (const { part, label } of cells) {
    for (let n = 0; n < part.length; n += 2) {
      const [x, y, u, v] = [part[n], part[n + 1], part[(n + 2) % part.length], part[(n + 3) % part.length]];
      const length = Math.hypot(u - x, v - y);
      if (length < step) continue;
      // Corners are in counterclockwise order, so this is a step outward.
      const [px, py] = [(x + u) / 2 + (step * (v - y)) / length, (y + v) / 2 - (step * (u - x)) / length];
      if (px < x0 || px > x1 || py < y0 || py > y1) continue;
      if (classify(px, py) > label) segments.push(x, y, u, v);
    }
  }
  return segments;
}

/** The area of a polygon with its corners in counterclockwise order. @param {number[]} part */
function area(part) {
  let twice = 0;
  for (let n = 2; n + 3 < part.length; n += 2) {
    twice += (part[n] - part[0]) * (part[n + 3] - part[1]) - (part[n + 2] - part[0]) * (part[n + 1] - part[1]);
  }
  return twice / 2;
}

/** @param {number[]} part @returns {[number, number]} */
function middleOf(part) {
  let [x, y] = [0, 0];
  for (let n = 0; n < part.length; n += 2) {
    x += part[n];
    y += part[n + 1];
  }
  return [(2 * x) / part.length, (2 * y) / part.length];
}
