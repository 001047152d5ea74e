/** A point of a slice lies in the polygon if and only if every row is right there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOfPath, halfPlanes, pathIn, solution, validSlice } from "../../../src/rosenblatt/studio/page/model/half_planes.js";
import { blobs, drawn, recorded, solved } from "./runs.js";

const BRUSH_SPACING_PX = /** @type {[number, number][]} */ ([[-0.7, -0.4], [0.7, 0.5], [-0.5, 0.9]]);

/** Where the weights are these: each row by its own score. */
function allRight(recording, w, head, margin) {
  return Array.from({ length: recording.count }, (_, row) => {
    const scores = Array.from({ length: recording.heads }, (_, h) => recording.score(w, h, recording.rows, row));
    const own = recording.codes[row];
    const { scheme, pairs } = recording.run;
    if (scheme === "binary") return (own === 1 ? 1 : -1) * scores[0] > margin;
    if (scheme === "rest") return (own === head ? 1 : -1) * scores[head] > margin;
    if (scheme === "pairs") {
      const [no, yes] = pairs[head];
      return own === yes ? scores[head] > margin : own === no ? -scores[head] > margin : true;
    }
    const rivals = scores.map((score, h) => (h === own ? -Infinity : score));
    return own === head ? scores[own] - Math.max(...rivals) > margin : scores[own] - scores[head] > margin;
  }).every(Boolean);
}

/** @param {number[]} polygon */
function holds(polygon, x, y) {
  const turns = [];
  for (let n = 0; n < polygon.length; n += 2) {
    const [a, b] = [polygon[n], polygon[n + 1]];
    const [c, d] = [polygon[(n + 2) % polygon.length], polygon[(n + 3) % polygon.length]];
    turns.push((c - a) * (y - b) - (d - b) * (x - a));
  }
  return polygon.length > 0 && (turns.every((turn) => turn >= 0) || turns.every((turn) => turn <= 0));
}

/** How near a point is to the nearest line: rounding decides there. */
function nearestLine(planes, x, y) {
  let least = Infinity;
  for (let n = 0; n < planes.length; n += 3) {
    least = Math.min(least, Math.abs(planes[n] * x + planes[n + 1] * y + planes[n + 2]));
  }
  return least;
}

for (const [scheme, centers] of [["binary", 2], ["joint", 3], ["rest", 3], ["pairs", 3]]) {
  test(`${scheme}: inside the polygon exactly where all rows are right`, () => {
    let [inside, outside] = [0, 0];
    for (let seed = 0; seed < 60; seed++) {
      const random = drawn(seed + 1000);
      const { points, labels } = blobs(9 + (seed % 20), BRUSH_SPACING_PX.slice(0, centers), 0.3 + 0.4 * random(), seed);
      const degree = 1 + (seed % 2);
      const recording = recorded(points, labels, { scheme: scheme === "pairs" ? "rest" : scheme, degree, most: 80 });
      if (scheme === "pairs") Object.assign(recording.run, { scheme, pairs: [[0, 1], [0, 2], [1, 2]] });
      const t = seed % 3 ? recording.length : Math.floor(random() * recording.length);
      const margin = seed % 4 === 3 ? 0.2 : 0;
      const x = Math.floor(random() * recording.width);
      const y = (x + 1 + Math.floor(random() * (recording.width - 1))) % recording.width;
      const slice = { x, y, head: Math.floor(random() * recording.heads) };
      const { planes, stuck } = halfPlanes(recording, t, slice, margin);
      const now = recording.at(t);
      const middle = [now[slice.head * recording.width + x], now[slice.head * recording.width + y]];
      const box = [middle[0] - 2, middle[0] + 2, middle[1] - 2, middle[1] + 2];
      const { polygon, away } = solution(planes, box);
      for (let n = 0; n < 200; n++) {
        const [u, v] = [box[0] + 4 * random(), box[2] + 4 * random()];
        if (nearestLine(planes, u, v) < 1e-9) continue;
        const w = Float64Array.from(now);
        w[slice.head * recording.width + x] = u;
        w[slice.head * recording.width + y] = v;
        const right = allRight(recording, w, slice.head, margin);
        assert.equal(holds(polygon, u, v), right, `seed ${seed}, point ${u} ${v}`);
        if (scheme === "joint" && right && stuck === 0 && margin === 0) {
          for (let row = 0; row < recording.count; row++) {
            assert.equal(recording.classify(w, recording.rows, row), recording.codes[row]);
          }
        }
        right ? inside++ : outside++;
      }
      if (polygon.length > 0) assert.equal(away, null);
    }
    assert.ok(inside > 100 && outside > 100, `${inside} inside, ${outside} outside`);
  });
}

test("rows that are wrong between two other classes are counted", () => {
  const { points, labels } = blobs(60, BRUSH_SPACING_PX, 1.6, 4);
  const recording = recorded(points, labels, { scheme: "joint", most: 40 });
  const { stuck } = halfPlanes(recording, recording.length, { x: 1, y: 2, head: 0 });
  const w = recording.at(recording.length);
  const lost = recording.codes.filter((own, row) => {
    if (own === 0) return false;
    return recording.score(w, own, recording.rows, row) <= recording.score(w, own === 1 ? 2 : 1, recording.rows, row);
  });
  assert.ok(lost.length > 0);
  assert.equal(stuck, lost.length);
});

test("a solution beyond the box is distinguished from none", () => {
  const beyond = solution(Float64Array.of(1, 0, -10), [0, 1, 0, 1]);
  assert.deepEqual(beyond.polygon, []);
  assert.ok(beyond.away !== null && beyond.away[0] >= 10 - 1e-6);
  assert.deepEqual(solution(Float64Array.of(1, 0, -10, -1, 0, 5), [0, 1, 0, 1]), { polygon: [], away: null });
});

test("half-planes that only touch share nothing, since a tie is a mistake", () => {
  assert.deepEqual(solution(Float64Array.of(1, 0, 0, -1, 0, 0), [-1, 1, -1, 1]), { polygon: [], away: null });
  assert.deepEqual(solution(Float64Array.of(0, 0, 0), [-1, 1, -1, 1]), { polygon: [], away: null });
  assert.equal(solution(Float64Array.of(0, 0, 1), [-1, 1, -1, 1]).polygon.length, 8);
});

test("XOR has no solution in any slice", () => {
  const recording = recorded([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], { most: 50 });
  for (let t = 0; t <= recording.length; t++) {
    for (const [x, y] of [[0, 1], [1, 2], [2, 0]]) {
      const { planes } = halfPlanes(recording, t, { x, y, head: 0 });
      assert.deepEqual(solution(planes, [-3, 3, -3, 3]), { polygon: [], away: null });
    }
  }
});

test("the path is what the weights were, and the box holds it", () => {
  const { points, labels } = blobs(40, BRUSH_SPACING_PX.slice(0, 2), 1, 2);
  const recording = recorded(points, labels, { most: 100 });
  const path = pathIn(recording, { x: 2, y: 0, head: 0 });
  assert.equal(path.length, 2 * recording.length + 2);
  const [x0, x1, y0, y1] = boxOfPath(path);
  for (let t = 0; t <= recording.length; t++) {
    assert.equal(path[2 * t], recording.at(t)[2]);
    assert.equal(path[2 * t + 1], recording.at(t)[0]);
    assert.ok(path[2 * t] > x0 && path[2 * t] < x1 && path[2 * t + 1] > y0 && path[2 * t + 1] < y1);
  }
});

test("a path of one place, far off or at 0, has a box with some width", () => {
  for (const place of [[0, 0], [5, -3], [1e6, 0]]) {
    const [x0, x1, y0, y1] = boxOfPath(Float64Array.from(place));
    assert.ok(x1 > x0 && y1 > y0);
    assert.ok(x0 < place[0] && place[0] < x1 && y0 < place[1] && place[1] < y1);
  }
});

test("a slice that is not there becomes one that is", () => {
  const recording = solved([[0, 0], [1, 1]], [0, 1], [[0, 1, 1]], ["only"]);
  assert.deepEqual(validSlice(recording, { x: 1, y: 2, head: 0 }), { x: 1, y: 2, head: 0 });
  for (const slice of [{ x: 9, y: 9, head: 5 }, { x: 2, y: 2, head: 0 }, { x: 0, y: 0, head: 1 }]) {
    const { x, y, head } = validSlice(recording, slice);
    assert.ok(x !== y && x >= 0 && x < 3 && y >= 0 && y < 3 && head === 0);
  }
  recording.features.x0 = 0; // and no w0 where there is no intercept
  assert.deepEqual(validSlice(recording, { x: 0, y: 2, head: 0 }), { x: 1, y: 2, head: 0 });
});
