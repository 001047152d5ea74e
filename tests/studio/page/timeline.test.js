/** The strip under the slider: each update is counted once, where the slider has it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgPen } from "../../../src/rosenblatt/studio/page/view/pen.js";
import { binned, columnOf, drawTimelineStill, passesOf } from "../../../src/rosenblatt/studio/page/view/timeline.js";
import { PALETTE } from "./palette.js";
import { blobs, recorded, solved } from "./runs.js";

const { points, labels } = blobs(50, [[-0.3, -0.2], [0.3, 0.2], [0, 0.6]], 0.9, 5);
const run = recorded(points, labels, { scheme: "joint", most: 333 });

test("each update is in one column, under the class of its row", () => {
  for (const [length, columns] of [[run.length, 40], [run.length, 1], [run.length, 900], [2 * run.length, 100]]) {
    const { counts, updates, kinds, most } = binned(run, length, columns);
    const expected = new Int32Array(columns * kinds);
    for (let t = 1; t <= run.length; t++) expected[columnOf(t, length, columns) * kinds + run.codes[run.moved[t - 1]]]++;
    assert.deepEqual(counts, expected);
    assert.equal(updates.reduce((a, b) => a + b), run.length);
    assert.equal(most, 1);
  }
});

test("a batch counts all its rows, and the fullest column is the highest", () => {
  const batch = recorded(points, labels, { scheme: "joint", most: 6 });
  batch.edges = Int32Array.of(0, 4, 6); // two updates, of four rows and of two
  batch.length = 2;
  const { counts, most } = binned(batch, 2, 3);
  assert.equal(counts.reduce((a, b) => a + b), 6);
  assert.equal(most, 4);
});

test("columns run from the slider's one end to its other", () => {
  assert.equal(columnOf(0, 100, 50), 0);
  assert.equal(columnOf(100, 100, 50), 49);
  assert.equal(columnOf(0, 0, 1), 0);
  for (let t = 1; t <= 100; t++) assert.ok(columnOf(t, 100, 50) >= columnOf(t - 1, 100, 50));
});

test("passes follow on one another and cover the run; those without updates are left out", () => {
  const passes = passesOf(run);
  assert.equal(passes[0].from, 0);
  assert.equal(passes[passes.length - 1].to, run.length);
  passes.slice(1).forEach((pass, n) => assert.equal(pass.from, passes[n].to));
  run.run.log.passes.splice(1, 0, run.run.log.passes[0]);
  assert.deepEqual(passesOf(run).slice(0, 2).map(({ number }) => number), [1, 3]);
});

test("runs, frames and runs without updates are drawn", () => {
  const ladder = solved([[0, 0], [1, 1]], [0, 1], [[0, 1, 1], [-1, 2, 2]], ["C = 0.1", "C = 1"]);
  const still = recorded([[0, 0], [1, 1]], [0, 1], { most: 0 });
  for (const [recording, words] of [[run, />pass 1</], [ladder, />C = 0.1<.*>C = 1</], [still, /path/]]) {
    const pen = new SvgPen();
    drawTimelineStill(pen, 330, { recording, t: 0, length: recording.length, palette: PALETTE });
    assert.doesNotMatch(pen.parts.join(""), /NaN|Infinity|undefined/);
    assert.match(pen.parts.join(""), words);
  }
});
