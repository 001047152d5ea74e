/** Arrows of weights: upright on their lines, whatever the scales of the axes, and as long as there is room. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawNormals } from "../../../src/rosenblatt/studio/page/view/normals.js";
import { Frame } from "../../../src/rosenblatt/studio/page/view/frame.js";
import { Surface } from "../../../src/rosenblatt/studio/page/view/surface.js";
import { PALETTE } from "./palette.js";
import { solved } from "./runs.js";

for (const [box, scale] of [[[-1, 1, -1, 1], [1, 1]], [[1990, 2002, 1e5, 5e5], [4, 7e4]]]) {
  test(`w stands upright on its line in the box ${box}`, () => {
    const points = /** @type {[number, number][]} */ ([[box[0], box[2]], [box[1], box[3]]]);
    const run = solved(points, [0, 1], [[0.1, 0.7, -0.4], [-0.2, 0.3, 0.9]], ["one", "two"]);
    Object.assign(run.features, { center: [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2], scale });
    const frame = new Frame(box, 500, 400, false);
    const surface = new Surface(run, box);
    for (const t of [0, 1]) {
      /** @type {number[][]} */
      const drawn = [];
      const pen = { line: (/** @type {number[]} */ points) => drawn.push(points), polygon() {}, text() {} };
      const scene = { recording: run, t, palette: PALETTE, data: { points, labels: [0, 1] } };
      drawNormals(/** @type {any} */ (pen), frame, /** @type {any} */ (scene), surface);
      const [px, py, u, v] = drawn[0];
      const [x0, y0, x1, y1] = frame.all(surface.boundary(run.at(t)));
      const [along, upright] = [[x1 - x0, y1 - y0], [u - px, v - py]];
      const cosine = (along[0] * upright[0] + along[1] * upright[1]) / (Math.hypot(...along) * Math.hypot(...upright));
      assert.ok(Math.abs(cosine) < 1e-9, `cosine ${cosine}`);
      assert.ok(Math.hypot(...upright) < 0.23 * 400);
      // And it points to where scores are positive.
      const [x, y] = frame.back(u, v);
      const z = [(x - run.features.center[0]) / scale[0], (y - run.features.center[1]) / scale[1]];
      const w = run.at(t);
      assert.ok(w[0] + w[1] * z[0] + w[2] * z[1] > 0);
    }
  });
}
