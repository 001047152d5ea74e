/** What a recording makes of its log: classes by ties, causes, pockets and margins. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { blobs, recorded, solved } from "./runs.js";

const three = blobs(30, [[0, 1], [1, -0.5], [-1, -0.5]], 0.9, 4);

test("among equal scores the smaller class is chosen, and on the plane the first", () => {
  const joint = recorded(three.points, three.labels, { scheme: "joint", most: 3 });
  assert.equal(joint.classify(new Float64Array(9), joint.rows, 5), 0);
  const two = recorded([[0, 0], [1, 1]], [0, 1], { most: 0 });
  assert.equal(two.classify(new Float64Array(3), two.rows, 1), 0);
  const pairs = solved(three.points, three.labels, [[0, 0, 0, 0, 0, 0, 0, 0, 0]], ["solution"]);
  Object.assign(pairs, { heads: 3 });
  Object.assign(pairs.run, { scheme: "pairs", classes: [0, 1, 2], pairs: [[0, 1], [0, 2], [1, 2]] });
  // 1 beats 0, 0 beats 2, 2 beats 1: a vote each.
  assert.equal(pairs.classify(Float64Array.from([1, 0, 0, -1, 0, 0, 1, 0, 0]), pairs.rows, 0), 0);
  // The same votes with other sums of scores: 1 gains 2 from 0 and loses 1 to 2.
  assert.equal(pairs.classify(Float64Array.from([2, 0, 0, -1, 0, 0, 1, 0, 0]), pairs.rows, 0), 1);
});

test("of many rows that made an update the first are named, and none before the first", () => {
  const { points, labels } = blobs(20, [[-0.2, 0], [0.2, 0]], 0.5, 2);
  const run = recorded(points, labels, { most: 12 });
  assert.deepEqual(run.causes(0), []);
  assert.deepEqual(run.causes(13), []);
  assert.deepEqual(run.causes(3), [run.moved[2]]);
  run.edges = Int32Array.from([0, 12]); // as one batch step
  run.length = 1;
  assert.deepEqual(run.causes(1), Array.from(run.moved));
  assert.deepEqual(run.causes(1, 5), Array.from(run.moved.subarray(0, 5)));
});

test("where each class learns alone, the pocket has of each its own", () => {
  const run = recorded(three.points, three.labels, { scheme: "rest", most: 20 });
  const [best] = [run.pocketAt(20)];
  assert.equal(best?.weights, undefined);
  run.pocket = { t: [0, 4, 9], errors: [30, 8, 5], heads: [{ t: [0, 9], errors: [3, 1] }, { t: [0, 4], errors: [3, 1] }, { t: [0], errors: [2] }] };
  const held = run.pocketAt(8);
  assert.deepEqual([held.t, held.errors, held.heads], [4, 8, [0, 4, 0]]);
  const { width } = run;
  const expected = [0, 4, 0].flatMap((t, h) => Array.from(run.at(t).subarray(h * width, (h + 1) * width)));
  assert.deepEqual(Array.from(held.weights), expected);
  assert.deepEqual(run.pocketAt(20).heads, [9, 4, 0]);
});

test("a plane's margin is its distance from the nearest point, weight 0 not counted", () => {
  const run = solved([[0, 0], [2, 0], [5, 1]], [0, 1, 1], [[-3, 3, 0]], ["solution"]);
  assert.equal(run.marginAt(0), 1);
  assert.equal(run.countErrors(run.at(0)), 0);
  assert.equal(run.countErrors(Float64Array.from([3, -3, 0])), 3);
  assert.equal(solved([[0, 0], [2, 0]], [0, 1], [[1, 0, 0]], ["flat"]).marginAt(0), null);
});
