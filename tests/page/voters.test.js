/** Who votes most: as sorting all of them would say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { voters } from "../../src/rosenblatt/studio/page/view/plane_view.js";
import { drawn } from "./runs.js";

test("the hypotheses with the most votes, the earlier first among equals", () => {
  const random = drawn(3);
  for (const [count, most] of [[0, 5], [1, 5], [4, 5], [500, 40], [3000, 6]]) {
    const ballots = Float64Array.from({ length: count + 1 }, () => Math.floor(12 * random() ** 3));
    for (const t of [0, Math.floor(count / 2), count, count + 9]) {
      const all = Array.from(ballots.subarray(0, t + 1), (votes, n) => ({ n, votes })).filter(({ votes }) => votes > 0);
      const expected = all.sort((a, b) => b.votes - a.votes).slice(0, most);
      const found = voters(/** @type {any} */ ({ ballots }), t, most);
      assert.deepEqual(found.map(({ n, votes }) => ({ n, votes })), expected);
      assert.ok(found.every(({ votes, share }) => share === votes / expected[0].votes));
    }
  }
});
