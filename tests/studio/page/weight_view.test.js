/** The picture of weight space: drawn as SVG, and searched for what is at a pixel. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgPen } from "../../../src/rosenblatt/studio/page/view/pen.js";
import { weightLook } from "../../../src/rosenblatt/studio/page/view/weight_scene.js";
import { drawWeights, WeightView } from "../../../src/rosenblatt/studio/page/view/weight_view.js";
import { PALETTE } from "./palette.js";
import { blobs, recorded, solved } from "./runs.js";

const SLICE = { x: 1, y: 2, head: 0 };

function picture(scene, width = 400, height = 300) {
  const pen = new SvgPen();
  drawWeights(pen, width, height, { slice: SLICE, palette: PALETTE, ...scene });
  return pen.parts.join("");
}

function viewOf(scene) {
  const view = Object.create(WeightView.prototype);
  view.look = weightLook({ slice: SLICE, palette: PALETTE, ...scene }, 400, 300);
  return view;
}

test("every moment gives a picture of numbers, forwards and back the same", () => {
  const { points, labels } = blobs(40, [[-0.4, -0.2], [0.4, 0.3]], 0.6, 3);
  const recording = recorded(points, labels, { most: 60 });
  const show = { pocket: true, average: true };
  const pictures = Array.from({ length: recording.length + 1 }, (_, t) => picture({ recording, t, show }));
  for (const each of pictures) assert.doesNotMatch(each, /NaN|Infinity|undefined/);
  for (let t = recording.length; t >= 0; t--) assert.equal(picture({ recording, t, show }), pictures[t]);
  assert.match(pictures[recording.length], />average</);
});

test("at w = 0 every row is a tie, and none is drawn as right", () => {
  const { points, labels } = blobs(40, [[0.3, 0.5], [1.1, 1]], 0.42, 9);
  const { boundaries } = viewOf({ recording: recorded(points, labels), t: 0 }).look;
  assert.ok(boundaries.length > 0 && boundaries.every(({ wrong }) => wrong));
});

test("it states that nothing classifies all points correctly, only where that holds", () => {
  const xor = recorded([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], { most: 20 });
  assert.match(picture({ recording: xor, t: 7 }), /no w in this slice/);
  const { points, labels } = blobs(30, [[-0.8, -0.5], [0.8, 0.5]], 0.4, 3);
  const apart = recorded(points, labels);
  assert.doesNotMatch(picture({ recording: apart, t: apart.length }), /no w in|outside/);
});

test("frames are drawn, too", () => {
  const ladder = solved([[0, 0], [1, 1]], [0, 1], [[0, 1, 1], [-1, 2, 2]], ["C = 0.1", "C = 1"]);
  assert.doesNotMatch(picture({ recording: ladder, t: 1 }), /NaN/);
});

test("a pixel on a row's line finds the row, one far from all finds none", () => {
  const { points, labels } = blobs(12, [[-0.4, -0.2], [0.4, 0.3]], 0.6, 3);
  const recording = recorded(points, labels);
  const view = viewOf({ recording, t: recording.length });
  assert.ok(view.look.boundaries.length > 4);
  for (const { row, ends: [x, y, u, v] } of view.look.boundaries) {
    const at = [0.37 * x + 0.63 * u, 0.37 * y + 0.63 * v];
    const found = view.hit(at[0], at[1]);
    const far = ({ a, b, c }) => Math.abs(a * at[0] + b * at[1] + c) / Math.hypot(a, b);
    if (found !== row) assert.ok(far(view.look.boundaries.find((each) => each.row === found)) < 1e-6);
  }
  let free = 0;
  for (let px = 0; px < 400; px += 10) {
    for (let py = 0; py < 300; py += 10) {
      const least = Math.min(...view.look.boundaries.map(({ a, b, c }) => Math.abs(a * px + b * py + c) / Math.hypot(a, b)));
      assert.equal(view.hit(px, py) === null, least >= 6);
      free += least >= 6 ? 1 : 0;
    }
  }
  assert.ok(free > 0);
});

test("of many rows the nearest have their lines, and the one that is meant", () => {
  const { points, labels } = blobs(600, [[-0.4, -0.2], [0.4, 0.3]], 0.6, 3);
  const recording = recorded(points, labels, { most: 50 });
  const { boundaries, frame, path } = viewOf({ recording, t: 20 }).look;
  assert.ok(boundaries.length > 20 && boundaries.length < 250);
  const [px, py] = [frame.x(path[40]), frame.y(path[41])];
  const far = ({ a, b, c }) => Math.abs(a * px + b * py + c) / Math.hypot(a, b);
  const drawn = new Set(boundaries.map(({ row }) => row));
  const left = Array.from({ length: 600 }, (_, row) => row).find((row) => !drawn.has(row));
  const meant = viewOf({ recording, t: 20, hover: left }).look;
  assert.equal(meant.lit.row, left);
  assert.ok(far(meant.lit) >= Math.max(...boundaries.map(far)) - 1e-9);
});

test("the weights at a pixel are those of the moment with two replaced", () => {
  const { points, labels } = blobs(20, [[-0.4, -0.2], [0.4, 0.3]], 0.6, 3);
  const recording = recorded(points, labels, { degree: 2 });
  const view = viewOf({ recording, t: 1, slice: { x: 4, y: 0, head: 0 } });
  const weights = view.at(100, 120);
  assert.equal(weights.length, 6);
  assert.ok(Math.abs(view.look.frame.x(weights[4]) - 100) < 1e-9);
  assert.ok(Math.abs(view.look.frame.y(weights[0]) - 120) < 1e-9);
  for (const n of [1, 2, 3, 5]) assert.equal(weights[n], recording.at(1)[n]);
});
