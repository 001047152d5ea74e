/** Curves: no extreme is lost on the way to pixels, ticks are round, and the charts show what the recording holds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  alignmentChart, described, drawChart, errorsChart, lossChart, normsChart,
} from "../../../src/rosenblatt/studio/page/view/charts.js";
import { banded, decimated } from "../../../src/rosenblatt/studio/page/view/decimate.js";
import { SvgPen } from "../../../src/rosenblatt/studio/page/view/pen.js";
import { multiples, powers, subscript, tickStep, tickText } from "../../../src/rosenblatt/studio/page/view/ticks.js";
import { PALETTE } from "./palette.js";
import { blobs, drawn, f64, proofOf, recorded, solved } from "./runs.js";

const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n], flat[2 * n + 1]]);

test("decimation keeps each column's lowest and highest, and few points", () => {
  const random = drawn(1);
  const values = Float64Array.from({ length: 10_001 }, () => random() ** 4);
  const at = values.map((_, n) => n);
  const [x, y] = [(t) => 40 + t / 33.3, (v) => 100 - 80 * v];
  const points = pairs(decimated(at, values, x, y));
  assert.ok(points.length <= 4 * 302);
  const columns = new Map();
  values.forEach((v, n) => columns.set(Math.floor(x(n)), [...(columns.get(Math.floor(x(n))) ?? []), y(v)]));
  for (const [column, ys] of columns) {
    const kept = points.filter(([px]) => Math.floor(px) === column).map(([, py]) => py);
    assert.equal(Math.min(...kept), Math.min(...ys));
    assert.equal(Math.max(...kept), Math.max(...ys));
  }
  assert.ok(points.every(([px], n) => n === 0 || px >= points[n - 1][0] - 1));
});

test("the band around a restless curve holds all of it, its line lies within", () => {
  const random = drawn(2);
  const values = Float64Array.from({ length: 3000 }, () => random());
  const { band, means } = banded(values.map((_, n) => n), values, (t) => t / 10, (v) => 50 * v, 4);
  const ys = pairs(band).map(([, y]) => y);
  assert.equal(Math.min(...ys), 50 * Math.min(...values));
  assert.equal(Math.max(...ys), 50 * Math.max(...values));
  const half = pairs(band).length / 2;
  pairs(means).forEach(([px, py], n) => {
    assert.deepEqual([px, pairs(band)[n][0]], [px, px]);
    assert.ok(pairs(band)[n][1] <= py && py <= pairs(band)[2 * half - 1 - n][1]);
  });
});

test("few values are all there; steps go along, then up; what is no number is left out", () => {
  const same = (v) => v;
  assert.deepEqual(decimated([0, 10, 20], [1, 5, 2], same, same), [0, 1, 10, 5, 20, 2]);
  assert.deepEqual(decimated([0, 10, 20], [1, 5, 2], same, same, true), [0, 1, 10, 1, 10, 5, 20, 5, 20, 2]);
  assert.deepEqual(decimated([0, 10, 20], [1, NaN, 2], same, same), [0, 1, 20, 2]);
  assert.deepEqual(decimated([], [], same, same), []);
});

test("ticks are round, within, and at most as many as requested", () => {
  const random = drawn(3);
  for (let n = 0; n < 500; n++) {
    const low = (random() - 0.5) * 10 ** (8 * random() - 4);
    const high = low + 10 ** (8 * random() - 4);
    const most = 1 + Math.floor(8 * random());
    const step = tickStep(low, high, most);
    const lead = Number(step.toExponential(6).split("e")[0]);
    assert.ok([1, 2, 5, 10].includes(lead), `step ${step}`);
    const ticks = multiples(low, high, step);
    assert.ok(ticks.length <= most + 1 && ticks.every((v) => v >= low - step * 1e-6 && v <= high + step * 1e-6));
    // Finer steps would have been too many.
    assert.ok((high - low) / step > most / 2.51);
  }
  assert.equal(tickStep(0, 1, 5, true), 1);
  assert.deepEqual(multiples(-0.2, 0.3, 0.1).map((v) => tickText(v, 0.1)), ["−0.2", "−0.1", "0", "0.1", "0.2", "0.3"]);
  assert.deepEqual(powers(0.5, 2000, 10), [1, 10, 100, 1000]);
  assert.deepEqual(powers(1, 1e6, 4), [1, 100, 1e4, 1e6]);
  const texts = (/** @type {number} */ step, /** @type {number[]} */ ...values) => values.map((v) => tickText(v, step));
  assert.deepEqual(texts(500, 1500, 25_000, 25_500), ["1500", "25000", "25500"]);
  assert.deepEqual(texts(5000, 25_000, -200_000), ["25k", "−200k"]);
  assert.deepEqual(texts(1e6, 2e7, 2.1e7, -1e6), ["2e7", "2.1e7", "−1e6"]);
  assert.deepEqual(texts(2e-5, 4e-5, 1.2e-4), ["4e−5", "1.2e−4"]);
  assert.deepEqual(texts(0.5, 1000.5, 100_000.5), ["1000.5", "100000.5"]); // far from 0, and yet apart
  assert.equal(subscript(12), "₁₂");
});

const { points, labels } = blobs(60, [[0.3, 0.5], [1.1, 1]], 0.42, 9);
const run = recorded(points, labels);

test("errors show their number, the number of points, and what the pocket holds", () => {
  const at = 10;
  const best = run.pocketAt(at);
  const words = described(errorsChart(run, at, { pocket: true }));
  assert.equal(words, `Training errors: ${run.errorsAt(at)} of 60 at update ${at}; at best ${best.errors} at update ${best.t}`);
  assert.match(errorsChart(run, at).markers[0].text, /^pocket: \d+ errors? at update \d+$/);
  assert.deepEqual(errorsChart(run, at, { pocket: false }).markers, []);
});

test("what does not move is made once", () => {
  assert.equal(errorsChart(run, 1).still, errorsChart(run, 2).still);
  const other = recorded(points, labels, { start: [1, 2, 3] });
  assert.notEqual(errorsChart(run, 1, {}, other).still, errorsChart(run, 1).still);
  assert.equal(lossChart(run, 1, other).still, lossChart(run, 5, other).still);
});

test("two runs have two lines and two names", () => {
  const other = recorded(points, labels, { start: [5, 2, 3] });
  const { still } = errorsChart(run, 0, {}, other);
  assert.deepEqual(still.lines.map(({ name }) => name), ["Perceptron 1", "pocket", "Perceptron 2"]);
  assert.equal(still.length, Math.max(run.length, other.length));
});

test("the proof's curves keep to their bounds, and the chart states it", () => {
  const last = Array.from(run.at(run.length));
  const proof = proofOf(run, last.map((v) => v / Math.hypot(...last)));
  const norms = normsChart(run, proof, run.length);
  const ways = alignmentChart(run, proof, run.length);
  for (let t = 0; t <= run.length; t++) {
    assert.ok(norms.still.lines[0].values[t] <= norms.still.bound.values[t] + 1e-9);
    assert.ok(ways.still.lines[0].values[t] >= ways.still.bound.values[t] - 1e-9);
  }
  assert.match(described(norms), /bound: at most t R² = /);
  assert.match(described(ways), /bound: at least t γ = /);
  assert.equal(alignmentChart(run, null, 0), null);
  assert.equal(normsChart(run, null, 0), null);
});

test("of several classes the halved norm is shown, as the bound has it", () => {
  const three = blobs(30, [[0, 1], [1, -0.5], [-1, -0.5]], 0.3, 4);
  const joint = recorded(three.points, three.labels, { scheme: "joint" });
  const proof = proofOf(run, Array.from(run.at(run.length)));
  const halved = Array.from({ length: joint.length + 1 }, (_, t) => joint.at(t).reduce((sum, v) => sum + v * v, 0) / 2);
  const convergence = /** @type {any} */ ({ ...proof.convergence, norms: f64(halved) });
  const chart = normsChart(joint, { ...proof, convergence }, joint.length);
  assert.deepEqual(Array.from(chart.still.lines[0].values), halved);
  assert.match(described(chart), /^Squared norm of all classes, \|W\|²\/2: /);
});

test("what was solved in few steps is spread over the time of the other run", () => {
  const ladder = solved([[0, 0], [1, 1]], [0, 1], [[0, 1, 1], [-1, 2, 2]], ["C = 0.1", "C = 1"]);
  for (const { still } of [errorsChart(run, 0, {}, ladder), errorsChart(ladder, 0, {}, run)]) {
    const line = still.lines.find(({ name }) => name === "Soft margin");
    assert.deepEqual(Array.from(line.at), [0, run.length]);
    assert.equal(still.length, run.length);
  }
  assert.deepEqual(lossChart(run, 0, ladder).still.lines.map(({ name }) => name), ["Perceptron"]); // another loss
  assert.equal(lossChart(run, 0, recorded(points, labels)).still.lines.length, 2);
});

test("a curve over more than a thousandfold has a log axis, any other has none", () => {
  const wide = recorded(points, labels);
  wide.curve.loss = Float64Array.from(wide.curve.loss, (_, n) => 10 ** (4 - n / 3));
  assert.equal(lossChart(wide, 0).still.log, true);
  assert.equal(lossChart(run, 0).still.log, false);
});

test("a run that minimizes no loss has no chart of it", () => {
  const other = recorded(points, labels);
  other.run.curves.loss_title = null;
  assert.equal(lossChart(other, 0), null);
  assert.equal(lossChart(run, 0, other).still.lines.length, 1);
});

test("all charts draw numbers, of a run, of frames and of a run without updates", () => {
  const ladder = solved([[0, 0], [1, 1]], [0, 1], [[0, 1, 1], [-1, 2, 2]], ["C = 0.1", "C = 1"]);
  const still = recorded(points, labels, { most: 0 });
  const wide = recorded(points, labels);
  wide.curve.loss = Float64Array.from(wide.curve.loss, (_, n) => (n ? 10 ** (4 - n / 3) : NaN));
  for (const each of [run, ladder, still, wide]) {
    const charts = [errorsChart(each, 1), lossChart(each, 1), normsChart(each, null, 1)];
    for (const chart of charts) {
      if (!chart) continue;
      const pen = new SvgPen();
      drawChart(pen, 330, 150, chart, PALETTE);
      assert.doesNotMatch(pen.parts.join(""), /NaN|Infinity|undefined/);
    }
  }
  assert.match(described(errorsChart(ladder, 1)), /at step 1$/);
});
