/** Votes: counted as by evaluating every hypothesis at every knot, forwards and backwards; and the class with the most. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VoteCount, voters } from "../../../src/rosenblatt/studio/page/view/votes.js";
import { leads } from "../../../src/rosenblatt/studio/page/view/surface.js";
import { knot } from "../../../src/rosenblatt/studio/page/model/geometry.js";
import { expand } from "../../../src/rosenblatt/studio/page/model/recording.js";
import { blobs, drawn, recorded } from "./runs.js";

const BOX = [-1.3, 1.1, -0.9, 1.2];
/** @type {["binary" | "joint" | "rest", number][]} */
const RUNS = [["binary", 1], ["binary", 2], ["joint", 1], ["joint", 2], ["rest", 1], ["rest", 2]];

/** @param {"binary" | "joint" | "rest"} scheme @param {number} degree @param {number} seed */
function voted(scheme, degree, seed) {
  /** @type {[number, number][]} */
  const centers = scheme === "binary" ? [[-0.2, 0], [0.2, 0.1]] : [[-0.4, 0], [0.4, 0], [0, 0.5], [0.1, -0.4]];
  const { points, labels } = blobs(40, centers, 0.5, seed);
  const recording = recorded(points, labels, { scheme, degree, most: 30 });
  const random = drawn(seed);
  const each = scheme === "rest" ? recording.heads : 1;
  recording.votes = Float64Array.from({ length: each * (recording.length + 1) }, () => Math.floor(5 * random()));
  return recording;
}

/**
 * The share of each head's positive votes at a point, by evaluating all of them.
 * @param {ReturnType<typeof voted>} recording @param {number} t @param {number} x @param {number} y
 */
function evaluated(recording, t, x, y) {
  const { heads, votes: every, run } = recording;
  const row = new Float64Array(recording.width);
  expand(recording.features, x, y, row);
  const [yes, all] = [new Float64Array(heads), new Float64Array(heads)];
  for (let n = 0; n <= t; n++) {
    const w = recording.at(n);
    for (let h = 0; h < heads; h++) {
      const votes = every[run.scheme === "rest" ? n * heads + h : n];
      all[h] += votes;
      if (run.scheme === "joint" ? recording.classify(w, row, 0) === h : recording.score(w, h, row) > 0) yes[h] += votes;
    }
  }
  return yes.map((votes, h) => votes / (all[h] || 1));
}

for (const [scheme, degree] of RUNS) {
  test(`votes of ${scheme} runs of degree ${degree}, forwards and backwards`, () => {
    const recording = voted(scheme, degree, 5);
    const voteCount = new VoteCount(recording, BOX);
    const random = drawn(8);
    for (const t of [0, 3, recording.length, 7, 7, 1]) {
      assert.ok(voteCount.count(t, 1e6));
      const shares = voteCount.shares();
      for (let test = 0; test < 300; test++) {
        const [i, j] = [Math.floor((voteCount.grid.nx + 1) * random()), Math.floor((voteCount.grid.ny + 1) * random())];
        const expected = evaluated(recording, t, ...knot(voteCount.grid, i, j));
        shares.forEach((share, h) => assert.ok(Math.abs(share[j * (voteCount.grid.nx + 1) + i] - expected[h]) < 1e-9));
      }
    }
  });
}

test("equal and flat planes: the smaller label, everywhere", () => {
  const { points, labels } = blobs(9, [[-0.4, 0], [0.4, 0], [0, 0.5]], 0.1, 2);
  const recording = recorded(points, labels, { scheme: "joint", most: 4 });
  recording.votes = Float64Array.from([3, 0, 0, 0, 0]); // the weights of zeros
  const voteCount = new VoteCount(recording, BOX);
  voteCount.count(0, 1e6);
  const [first, ...others] = voteCount.shares();
  assert.ok(first.every((share) => share === 1));
  assert.ok(others.every((shares) => shares.every((share) => share === 0)));
  assert.deepEqual(voteCount.boundary(), []);
});

test("a field's lead over the best of the others", () => {
  const random = drawn(4);
  const claims = Array.from({ length: 4 }, () => Float64Array.from({ length: 50 }, () => Math.floor(4 * random())));
  const found = leads(claims);
  claims.forEach((own, h) => own.forEach((claim, n) => {
    const rival = Math.max(...claims.filter((_, z) => z !== h).map((other) => other[n]));
    assert.equal(found[h][n], claim - rival);
  }));
});

test("the hypotheses with the most votes, the earlier first among equals", () => {
  const random = drawn(3);
  for (const [count, most] of [[0, 5], [1, 5], [4, 5], [500, 40], [3000, 6]]) {
    const cast = Float64Array.from({ length: count + 1 }, () => Math.floor(12 * random() ** 3));
    for (const t of [0, Math.floor(count / 2), count, count + 9]) {
      const all = Array.from(cast.subarray(0, t + 1), (votes, n) => ({ n, votes })).filter(({ votes }) => votes > 0);
      const expected = all.sort((a, b) => b.votes - a.votes).slice(0, most);
      const found = voters(/** @type {any} */ ({ votes: cast, run: { scheme: "binary" }, heads: 1 }), t, most);
      assert.deepEqual(found.map(({ n, votes }) => ({ n, votes })), expected);
      assert.ok(found.every(({ votes, share, head }) => share === votes / expected[0].votes && head === null));
    }
  }
  const apart = voters(/** @type {any} */ ({ votes: [1, 2, 0, 7, 9, 9], run: { scheme: "rest" }, heads: 2 }), 1);
  assert.deepEqual(apart.map(({ n, head, votes }) => [n, head, votes]), [[1, 1, 7], [0, 1, 2], [0, 0, 1]]);
});
