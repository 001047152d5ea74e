/** Cells of pairs: every point is in a cell of its class, and the boundary is where classes change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pairBoundary, pairCells } from "../../../src/rosenblatt/studio/page/view/pair_cells.js";
import { drawn } from "./runs.js";

const box = [-2, 3, -1, 4];
const PAIRS = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/** @param {number[]} part @param {number} x @param {number} y */
function inside(part, x, y) {
  for (let n = 0; n < part.length; n += 2) {
    const [a, b, c, d] = [part[n], part[n + 1], part[(n + 2) % part.length], part[(n + 3) % part.length]];
    const length = Math.hypot(c - a, d - b);
    // Where three lines meet, rounding leaves edges of no length.
    if (length > 1e-9 && (c - a) * (y - b) - (d - b) * (x - a) < 0) return false;
  }
  return true;
}

test("every point is in just one cell, which is of its class", () => {
  const random = drawn(7);
  let tied = 0;
  for (let round = 0; round < 20; round++) {
    const lines = PAIRS.map(() => /** @type {[number, number, number]} */ ([random() - 0.5, random() - 0.5, random() - 0.5]));
    if (round % 4 === 0) lines[round % 6] = [0, 0, 0.2]; // a pair of which one always wins
    const classify = (x, y) => {
      const scores = lines.map(([a, b, c]) => a * x + b * y + c);
      const [votes, duels, lost] = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]];
      PAIRS.forEach((pair, h) => {
        votes[pair[scores[h] > 0 ? 1 : 0]]++;
        lost[pair[scores[h] > 0 ? 0 : 1]] += Math.abs(scores[h]);
      });
      PAIRS.forEach((pair, h) => { if (votes[pair[0]] === votes[pair[1]]) duels[pair[scores[h] > 0 ? 1 : 0]]++; });
      // As in scores.py.
      const claims = votes.map((count, c) => count + (duels[c] + 0.5 / (lost[c] + 1)) / 4);
      tied += Number(votes.filter((count) => count === Math.max(...votes)).length > 2);
      return claims.indexOf(Math.max(...claims));
    };
    const cells = pairCells(box, lines, PAIRS, 4, classify);
    const segments = pairBoundary(box, cells, classify);
    for (let n = 0; n < 200; n++) {
      const [x, y] = [-2 + 5 * random(), -1 + 5 * random()];
      const mine = cells.filter(({ part }) => inside(part, x, y));
      assert.equal(mine.length, 1);
      assert.equal(mine[0].label, classify(x, y));
    }
    for (let n = 0; n < segments.length; n += 4) {
      const [x, y, u, v] = segments.slice(n, n + 4);
      const [dx, dy] = [(1e-5 * (v - y)) / Math.hypot(u - x, v - y), (-1e-5 * (u - x)) / Math.hypot(u - x, v - y)];
      const [mx, my] = [(x + u) / 2, (y + v) / 2];
      if (Math.hypot(u - x, v - y) > 1e-3) assert.notEqual(classify(mx + dx, my + dy), classify(mx - dx, my - dy));
    }
  }
  assert.ok(tied > 0);
});
