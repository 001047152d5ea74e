/** Words and numbers of the page. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { boundaryName, boundaryNoun } from "../../../src/rosenblatt/studio/page/view/paper.js";
import { blobs, recorded } from "./runs.js";

test("a boundary above degree 1 is a curve, with its degree as in the sentences of Python", () => {
  assert.deepEqual([1, 2, 5].map(boundaryNoun), ["line", "curve", "curve"]);
  assert.deepEqual([1, 3].map((degree) => boundaryName(degree)), ["line", "curve of degree 3"]);
  assert.deepEqual([1, 2].map((degree) => boundaryName(degree, false)), ["line through the origin", "curve of degree 2 through the origin"]);
});

test("a recording has the degree of its features", () => {
  const { points, labels } = blobs(20, [[-1, 0], [1, 0]], 0.5, 2);
  for (const degree of [1, 2, 4]) {
    const run = recorded(points, labels, { degree, most: 3 });
    assert.deepEqual([run.degree, run.linear], [degree, degree === 1]);
  }
});
