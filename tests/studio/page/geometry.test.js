/** Polygons and contours, against points drawn at random. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chained, clipped, corners, knot, lineInBox, positiveParts, zeroLines } from "../../../src/rosenblatt/studio/page/model/geometry.js";

/** @param {number[]} polygon @param {number} x @param {number} y */
function inside(polygon, x, y) {
  let odd = false;
  for (let n = 0, m = polygon.length - 2; n < polygon.length; m = n, n += 2) {
    const [a, b, c, d] = [polygon[n], polygon[n + 1], polygon[m], polygon[m + 1]];
    if (b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a) odd = !odd;
  }
  return odd;
}

const box = [-2, 3, -1, 4];
const draws = Array.from({ length: 300 }, (_, n) => [Math.sin(n * 12.9898), Math.sin(n * 78.233), Math.sin(n * 37.719)]);

test("a clipped polygon holds just the points on the right side", () => {
  for (const [a, b, c] of draws) {
    const part = clipped(corners(box), a, b, c);
    for (const [u, v] of draws.slice(0, 50)) {
      const [x, y] = [0.5 + 2.4 * u, 1.5 + 2.4 * v];
      if (Math.abs(a * x + b * y + c) > 1e-9) assert.equal(part.length > 0 && inside(part, x, y), a * x + b * y + c > 0);
    }
  }
});

test("a line in a box ends on its edges and is on the line; one that misses it is nowhere", () => {
  for (const [a, b, c] of draws) {
    const ends = lineInBox(a, b, c, box);
    for (let n = 0; n < ends.length; n += 2) {
      assert.ok(Math.abs(a * ends[n] + b * ends[n + 1] + c) < 1e-9);
      assert.ok([ends[n] - box[0], ends[n] - box[1], ends[n + 1] - box[2], ends[n + 1] - box[3]].some((d) => Math.abs(d) < 1e-9));
    }
  }
  assert.deepEqual(lineInBox(1, 0, -10, box), []);
  assert.deepEqual(lineInBox(0, 0, 1, box), []);
});

test("contours of a circle are on the circle, and its inside has its area", () => {
  const grid = { box: [-1, 1, -1, 1], nx: 80, ny: 80 };
  const field = new Float64Array(81 * 81);
  for (let j = 0; j <= 80; j++) {
    for (let i = 0; i <= 80; i++) {
      const [x, y] = knot(grid, i, j);
      field[j * 81 + i] = 0.49 - x * x - y * y;
    }
  }
  const lines = zeroLines(grid, field);
  assert.ok(lines.length > 100);
  for (let n = 0; n < lines.length; n += 2) assert.ok(Math.abs(Math.hypot(lines[n], lines[n + 1]) - 0.7) < 1e-3);
  // One ring, in order: every segment begins where the one before ends, and the last ends where the first begins.
  for (let n = 4; n < lines.length; n += 4) assert.deepEqual([lines[n], lines[n + 1]], [lines[n - 2], lines[n - 1]]);
  assert.deepEqual(lines.slice(-2), lines.slice(0, 2));
  const area = positiveParts(grid, field).map((part) => {
    let twice = 0;
    for (let n = 0; n < part.length; n += 2) {
      const m = (n + 2) % part.length;
      twice += part[n] * part[m + 1] - part[m] * part[n + 1];
    }
    return Math.abs(twice) / 2;
  }).reduce((sum, each) => sum + each, 0);
  assert.ok(Math.abs(area - Math.PI * 0.49) < 2e-3);
});

test("pairs of ends are put in order: open lines, then rings, each pair once", () => {
  assert.deepEqual(chained([]), []);
  assert.deepEqual(chained([3, 4, 2, 1, 3, 2]), [4, 3, 3, 2, 2, 1]);
  const ring = chained([7, 8, 9, 7, 8, 9, 5, 6]);
  assert.deepEqual(ring, [5, 6, 7, 8, 8, 9, 9, 7]);
});
