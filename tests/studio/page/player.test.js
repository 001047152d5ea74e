/** Time: every position can be reached from both sides, play ends at the end, and no lull makes it leap. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Player } from "../../../src/rosenblatt/studio/page/model/player.js";

/** @param {number} length @param {number[]} [passes] */
function loaded(length, passes = []) {
  const player = new Player();
  player.load(length, passes);
  return player;
}

test("steps stay between the start and the end", () => {
  const player = loaded(3);
  const seen = [1, 1, 1, 1, -1, -1, -1, -1].map((by) => (player.step(by), player.t));
  assert.deepEqual(seen, [1, 2, 3, 3, 2, 1, 0, 0]);
});

test("jumps go to the ends of passes, both ways", () => {
  const player = loaded(10, [3, 3, 7]);
  const forth = [];
  while (!player.atEnd) player.jump(1), forth.push(player.t);
  assert.deepEqual(forth, [3, 7, 10]);
  const back = [];
  while (player.t > 0) player.jump(-1), back.push(player.t);
  assert.deepEqual(back, [7, 3, 0]);
});

test("play goes on at its speed and stops at the end", () => {
  const player = loaded(5);
  player.speed = 10;
  player.toggle();
  const seen = [];
  while (player.playing) player.tick(1 / 60), seen.push(player.t);
  assert.equal(seen.at(-1), 5);
  assert.ok(Math.abs(seen.length - 30) <= 1); // 5 updates at 10 a second
  assert.deepEqual(seen, seen.toSorted((a, b) => a - b));
  player.toggle();
  assert.equal(player.t, 0); // from the end it starts over
});

test("a page that slept does not leap, and nothing moves while it is paused", () => {
  const player = loaded(1000);
  player.speed = 10;
  assert.equal(player.tick(5), false);
  player.toggle();
  player.tick(60);
  assert.ok(player.t <= 3);
  const start = loaded(10);
  start.speed = 1000;
  start.toggle();
  start.tick(-0.004); // a frame may be dated before the clock that requested it
  assert.equal(start.t, 0);
});

test("a shorter run keeps the position it can keep", () => {
  const player = loaded(100);
  player.seek(80);
  player.load(50, []);
  assert.equal(player.t, 50);
  assert.equal(player.atEnd, true);
  const empty = loaded(0);
  empty.toggle();
  assert.equal(empty.playing, false);
});

test("the pass is the one that the next update belongs to", () => {
  const player = loaded(10, [3, 7]);
  const passes = Array.from({ length: 11 }, (_, t) => (player.seek(t), player.pass));
  assert.deepEqual(passes, [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
});
