/** The state of the page: what links bring is checked, what they hold is everything, and changes can be undone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  History, boxAround, checkedData, fromLink, initial, keyOf, merged, requestOf, rounded, shownWith, toLink, withMoved, withPoints, without, withValidStarts } from "../../../src/rosenblatt/studio/page/model/state.js";

const data = { points: /** @type {[number, number][]} */ ([[0.125, -1], [2, 3.5]]), labels: [0, 1], names: ["A", "ü<b>"], box: [-1, 3, -2, 4] };

/** A generator with a seed, so that a failure can be seen again. @param {number} seed */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("a link restores the same state, whatever it is", async () => {
  const draw = random(7);
  for (let round = 0; round < 60; round++) {
    const count = Math.floor(draw() * 300);
    const points = Array.from({ length: count }, () => /** @type {[number, number]} */ ([draw() * 2e3 - 1e3, draw()]));
    const state = merged({
      data: draw() < 0.2 ? { preset: "xor" } : { points, labels: points.map(() => Math.floor(draw() * 6)), names: ["a"], box: [0, 1, 0, 1] },
      degree: 1 + Math.floor(draw() * 5), scaled: draw() < 0.5, seed: Math.floor(draw() * 2 ** 32),
      runs: [{ algorithm: "pocket", knobs: { margin: draw(), init: "given", start: [1, 2, 3] } }, { algorithm: "pa", knobs: {} }].slice(0, 1 + round % 2),
      focus: round % 2, t: draw() < 0.5 ? "end" : Math.floor(draw() * 1e4), speed: 30, show: { vote: draw() < 0.5 }, slice: { x: 2, y: 0, head: 1 },
    });
    assert.deepEqual(await fromLink(`#${await toLink(state)}`) ?? initial(), state);
  }
});

test("the start needs no link", async () => {
  assert.equal(await toLink(initial()), "");
  assert.equal(await fromLink(""), undefined);
});

test("links that are not ours, cut or unfold without end give nothing", async () => {
  const link = await toLink({ ...initial(), data });
  for (const wrong of ["#s=", "#s=!!!", "#s=AAAA", `#${link.slice(0, -9)}`, "#t=5", "#s=" + "A".repeat(500_000)]) {
    assert.equal(await fromLink(wrong), undefined, wrong.slice(0, 20));
  }
  const zeros = new Blob([new Uint8Array(50_000_000)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bomb = Buffer.from(await new Response(zeros).arrayBuffer()).toString("base64url");
  assert.ok(bomb.length < 400_000);
  assert.equal(await fromLink(`#s=${bomb}`), undefined);
});

test("a link with the earlier name of the margin band restores the same state", async () => {
  const link = "s=TcsxDoMwEETRu0ztKqVvs8ITg-KwaHcDkZDvHlE4onzS_yeKhCCf2IzOQMZXDT2hsBqJ_EjwWY8rMdZFV0cO-zBhVXtLG_IwXv9TmjNh0-l1o-w0qfx71-A4pyY-DxxLoY-v9x8";
  const state = merged({ data: { preset: "xor" }, degree: 2, show: { band: false, pocket: false, average: false, vote: true } });
  assert.deepEqual(await fromLink(link), state);
  assert.deepEqual(await fromLink(await toLink(state)), state);
});

test("links with earlier names and values of knobs restore the runs", async () => {
  const three = "s=Xc1BCsIwEEbhu_zrKHUhwmw9hoiM7ZgGkzTMpFIsubt0px7gvW_FwJVBK4qKSQWhjiqC5qBzNtBlBUc_aahjAsGmR90lVh8yHJ55uttWn0GHziHNsYY-shkIvXJKojsL2YvCIeQq2kvZlCKZY3jLgNbcL8EvUfbyvU-83AqbiYFOfwyrT7zAwaoUULc_tnZtHw";
  assert.deepEqual(await fromLink(three), merged({
    data: { preset: "three" },
    runs: [
      { algorithm: "soft-margin", knobs: { C: 10, multiclass: "crammer_singer", fit_intercept: true, penalize_intercept: true } },
      { algorithm: "average", knobs: { max_iter: 7, multiclass: "joint", step: 0.5 } },
    ],
  }));
  const none = "s=VcsxCoAwDAXQu_y5igguuYo4VK21aFNJ61RydwcXXR-8Crk5g8YKe_okoewRhJy20kQrPjAMDk5zBlUELk4WdxUQOLGDqvlHCat33_ICdW0_qE76AA";
  assert.deepEqual((await fromLink(none))?.runs, [
    { algorithm: "soft-margin", knobs: { fit_intercept: false, penalize_intercept: false } },
    { algorithm: "ridge", knobs: { alpha: 0.25 } },
  ]);
  for (const word of ["ovr", "constructor"]) {
    const runs = [{ algorithm: "perceptron", knobs: { multiclass: word, constructor: 1 } }];
    assert.deepEqual(merged({ runs }).runs, runs);
  }
});

test("for any link, the state is one that the page can show", () => {
  const draw = random(3);
  const junk = () => [null, -1, 1e99, NaN, "x", [], {}, [[1]], true, 2.5, { points: [[1, 2]], labels: [9] }, { points: [[1, "2"]], labels: [0] },
    [{ algorithm: 3 }], { preset: 4 }, "end", [{ algorithm: "a", knobs: [] }]][Math.floor(draw() * 16)];
  for (let round = 0; round < 2000; round++) {
    const given = Object.fromEntries(Object.keys(initial()).map((name) => [name, junk()]));
    const state = merged(given);
    assert.ok(state.degree >= 1 && state.degree <= 5 && Number.isInteger(state.seed) && state.runs.length >= 1);
    assert.ok(state.t === "end" || Number.isInteger(state.t));
    assert.ok(Object.values(shownWith(state.show, null)).every((each) => typeof each === "boolean"));
    assert.ok("preset" in state.data || state.data.points.every((p) => p.every(Number.isFinite)));
  }
});

test("the reading that is the model is shown, unless it was switched off", () => {
  const readings = (/** @type {any} */ show, /** @type {string | null} */ keep) => {
    const { pocket, average, vote } = shownWith(merged({ show }).show, keep);
    return [pocket, average, vote];
  };
  assert.deepEqual(readings({}, "last"), [false, false, false]);
  assert.deepEqual(readings({}, "pocket"), [true, false, false]);
  assert.deepEqual(readings({ pocket: null, vote: true }, "average"), [false, true, true]);
  assert.deepEqual(readings({ pocket: false }, "pocket"), [false, false, false]);
});

test("points are added, moved, renamed and removed without touching what was", () => {
  const frozen = JSON.stringify(data);
  const more = withPoints(data, [[5, 5]], 3);
  assert.deepEqual([more.points.length, more.labels], [3, [0, 1, 3]]);
  assert.deepEqual(withMoved(data, 0, [9, 9]).points[0], [9, 9]);
  assert.deepEqual(without(more, 1).labels, [0, 3]);
  assert.equal(JSON.stringify(data), frozen);
});

test("undo and redo walk the same way back and forth", () => {
  const states = Array.from({ length: 300 }, (_, n) => ({ data: { preset: String(n) }, degree: 1, scaled: false }));
  const history = new History(states[0]);
  for (const each of states.slice(1)) history.push(each);
  const back = [];
  while (history.canUndo) back.push(history.undo());
  assert.equal(back.length, 200); // what is older is forgotten
  assert.equal(back.at(-1), states[99]);
  while (history.canRedo) history.redo();
  assert.equal(history.now, states[299]);
  history.undo();
  history.push({ data, degree: 2, scaled: true });
  assert.equal(history.canRedo, false);
});

test("a box holds its points, also where they are one", () => {
  for (const points of /** @type {[number, number][][]} */ ([[[0, 0]], [[5, 5], [5, 9]], data.points, [[1e9, -1e9], [1e9, 1e9]]])) {
    const [x0, x1, y0, y1] = boxAround(points);
    assert.ok(points.every(([x, y]) => x0 < x && x < x1 && y0 < y && y < y1));
  }
  assert.equal(rounded(0.123456789, [-1, 1, -1, 1]), 0.123);
  assert.equal(rounded(1234.5678, [0, 10_000, 0, 1]), 1235);
});

test("requests have every knob, and equal ones one key", () => {
  const knobs = [{ name: "margin", default: 0 }, { name: "order", default: "cyclic" }];
  const algorithm = /** @type {any} */ ({ name: "perceptron", knobs });
  const request = requestOf(initial(), { algorithm: "perceptron", knobs: { margin: 2, unknown: 1 } }, data, algorithm);
  assert.deepEqual(request.knobs, { margin: 2, order: "cyclic" });
  assert.equal(keyOf({ b: [1, { d: null, c: "x" }], a: 1.0 }), keyOf(JSON.parse('{"a": 1, "b": [1.0, {"c": "x", "d": null}]}')));
  assert.notEqual(keyOf({ a: 1 }), keyOf({ a: "1" }));
});

test("a given start is dropped where there are other weights than before, and only there", () => {
  const given = [{ algorithm: "perceptron", knobs: { margin: 2, init: "given", start: [1, 2, 3] } }, { algorithm: "pa", knobs: {} }];
  assert.equal(withValidStarts(given, 1, 2), given);
  const plain = [{ algorithm: "perceptron", knobs: { margin: 2 } }, given[1]];
  assert.deepEqual(withValidStarts(given, 2, 2), plain);
  assert.deepEqual(withValidStarts(given, 1, 3), plain);
  const three = [{ algorithm: "perceptron", knobs: { init: "given", start: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }];
  assert.equal(withValidStarts(three, 1, 3), three);
});

test("points have room up to a limit, and names of axes go along", () => {
  const full = { points: Array.from({ length: 4999 }, (_, n) => [n, 0]), labels: new Array(4999).fill(0), names: [], box: [0, 1, 0, 1] };
  assert.equal(withPoints(/** @type {any} */ (full), [[1, 1], [2, 2]], 1).points.length, 5000);
  const named = { ...full, axes: ["year", "price"] };
  assert.deepEqual(checkedData(named)?.axes, ["year", "price"]);
  for (const axes of [["year"], "year", [1, 2]]) assert.equal(checkedData({ ...full, axes })?.axes, undefined);
  assert.deepEqual(checkedData({ ...full, box: [1, 0, 0, 1] })?.box, boxAround(/** @type {any} */ (full.points)));
});
