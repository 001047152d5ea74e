/**
 * Exact regions of the votes of pairs: the lines of all pairs, and those on which two classes have equal sums of scores, which
 * decide between equal votes, cut the box into cells with one class each.
 */
import { clipped, corners } from "../model/geometry.js";

/**
 * The lines on which two classes have equal sums of scores.
 * @param {[number, number, number][]} lines each pair's score as a x + b y + c @param {number[][]} pairs @param {number} k classes
 * @returns {[number, number, number][]}
 */
export function equalSums(lines, pairs, k) {
  const sums = Array.from({ length: k }, () => [0, 0, 0]);
  lines.forEach((line, h) => line.forEach((value, n) => {
    sums[pairs[h][0]][n] -= value;
    sums[pairs[h][1]][n] += value;
  }));
  return pairs.map(([a, b]) => [sums[a][0] - sums[b][0], sums[a][1] - sums[b][1], sums[a][2] - sums[b][2]]);
}

/**
 * @param {number[]} box
 * @param {[number, number, number][]} lines a x + b y + c
 * @param {(x: number, y: number) => number} classify the class at a point
 * @returns {{part: number[], label: number}[]}
 */
export function pairCells(box, lines, classify) {
  let parts = [corners(box)];
  const least = 1e-12 * area(parts[0]); // lines that meet in one point leave parts of no area, up to rounding
  for (const [a, b, c] of lines) {
    if (a === 0 && b === 0) continue; // the same everywhere
    parts = parts.flatMap((part) => [clipped(part, a, b, c), clipped(part, -a, -b, -c)]).filter((part) => area(part) > least);
  }
  return parts.map((part) => ({ part, label: classify(...middleOf(part)) }));
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
