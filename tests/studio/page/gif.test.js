/** A GIF, taken apart again by a decoder that shares nothing with the encoder. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Gif } from "../../../src/rosenblatt/studio/page/view/gif.js";

/** Pictures as they are seen one after the other. @param {Uint8Array} bytes */
function decoded(bytes) {
  const word = (/** @type {number} */ at) => bytes[at] | (bytes[at + 1] << 8);
  const [width, height] = [word(6), word(8)];
  const screen = new Uint8Array(width * height * 3);
  const seen = [];
  let at = 13;
  let clear = -1;
  while (bytes[at] !== 0x3b) {
    if (bytes[at] === 0x21) {
      if (bytes[at + 1] === 0xf9) clear = bytes[at + 3] & 1 ? bytes[at + 6] : -1;
      for (at += 2; bytes[at]; at += bytes[at] + 1);
      at++;
      continue;
    }
    assert.equal(bytes[at], 0x2c);
    const [left, top, w, h] = [word(at + 1), word(at + 3), word(at + 5), word(at + 7)];
    const table = bytes.subarray(at + 10, at + 10 + 3 * 256);
    at += 10 + 3 * 256;
    const bits = bytes[at++];
    const data = [];
    for (; bytes[at]; at += bytes[at] + 1) data.push(...bytes.subarray(at + 1, at + 1 + bytes[at]));
    at++;
    unpacked(data, bits, w * h).forEach((color, n) => {
      if (color === clear && seen.length) return;
      const to = 3 * ((top + Math.floor(n / w)) * width + left + (n % w));
      screen.set(table.subarray(3 * color, 3 * color + 3), to);
    });
    seen.push(screen.slice());
  }
  return { width, height, seen };
}

/** @param {number[]} data @param {number} bits @param {number} count */
function unpacked(data, bits, count) {
  const [clear, end] = [1 << bits, (1 << bits) + 1];
  /** @type {number[][]} */
  let words = [];
  let size = bits + 1;
  /** @type {number[]} */
  let before = [];
  const out = [];
  for (let position = 0; ;) {
    let code = 0;
    for (let n = 0; n < size; n++) code |= ((data[(position + n) >> 3] >> ((position + n) & 7)) & 1) << n;
    position += size;
    if (code === end) break;
    if (code === clear) {
      words = Array.from({ length: end + 1 }, (_, n) => [n]);
      size = bits + 1;
      before = [];
      continue;
    }
    const word = words[code] ?? [...before, before[0]];
    out.push(...word);
    if (before.length && words.length < 4096) words.push([...before, word[0]]);
    if (words.length === 1 << size && size < 12) size++;
    before = word;
  }
  assert.equal(out.length, count);
  return out;
}

test("every picture comes back, within what 255 colors allow, and what did not change is not sent again", () => {
  const [width, height] = [150, 97];
  const gif = new Gif(width, height);
  const pictures = Array.from({ length: 6 }, (_, frame) => {
    const rgba = new Uint8ClampedArray(width * height * 4).fill(255);
    for (let n = 0; n < width * height; n++) {
      const [x, y] = [n % width, Math.floor(n / width)];
      if (frame !== 4 && x > 20 * frame && x < 20 * frame + 31 && y < 60) rgba.set([x, 2 * y, (x * y) & 255, 255], 4 * n);
    }
    return frame === 5 ? Uint8ClampedArray.from(rgba, (_, n) => (n % 4 === 3 ? 255 : (n * 2654435761) >>> 24)) : rgba; // noise fills the table of codes
  });
  for (const rgba of pictures) gif.add(rgba, 100);
  const { seen, ...size } = decoded(gif.bytes());
  assert.deepEqual(size, { width, height });
  assert.equal(seen.length, pictures.length);
  pictures.slice(0, 5).forEach((rgba, frame) => {
    for (let n = 0; n < width * height; n++) {
      for (let c = 0; c < 3; c++) assert.ok(Math.abs(seen[frame][3 * n + c] - rgba[4 * n + c]) < 40, `${frame}: ${n}`);
    }
  });
  const once = new Gif(width, height);
  once.add(pictures[0], 100);
  const alone = once.bytes().length;
  const twice = new Gif(width, height);
  twice.add(pictures[0], 100);
  twice.add(pictures[0].slice(), 100);
  assert.ok(twice.bytes().length - alone < 900); // a table and one pixel
});
