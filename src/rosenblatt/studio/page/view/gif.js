/**
 * Animated GIF89a files: the most frequent colors of each picture, transparent where nothing changed, LZW codes of at most 12
 * bits. Imports nothing.
 *
 * Reference: CompuServe, "Graphics Interchange Format, version 89a" (1990); T. Welch, IEEE Computer 17 (1984).
 */
const COLORS = 256;
const CLEAR = COLORS - 1; // transparent: shows the previous picture
const BITS = 8;
const MAX_CODES = 4096;

export class Gif {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.out = new Bytes();
    this.out.letters("GIF89a");
    this.out.word(width);
    this.out.word(height);
    this.out.put(0x70, 0, 0); // no global color table: each picture has its own
    this.out.put(0x21, 0xff, 11);
    this.out.letters("NETSCAPE2.0");
    this.out.put(3, 1, 0, 0, 0); // repeat forever
    this.children = new Int16Array(MAX_CODES * COLORS);
    /** @type {Uint8ClampedArray | Uint8Array | null} */
    this.before = null;
  }

  /** Add a picture. @param {Uint8ClampedArray | Uint8Array} rgba @param {number} milliseconds */
  add(rgba, milliseconds) {
    const { left, top, width, height } = changed(this.before, rgba, this.width, this.height);
    const { table, pixels } = indexed(cropped(rgba, this.width, left, top, width, height));
    if (this.before) {
      const old = cropped(this.before, this.width, left, top, width, height);
      const now = cropped(rgba, this.width, left, top, width, height);
      for (let n = 0; n < pixels.length; n++) if (old[n] === now[n]) pixels[n] = CLEAR;
    }
    this.before = rgba.slice();
    const { out } = this;
    out.put(0x21, 0xf9, 4, 0x05); // the picture stays under the next one; CLEAR is transparent
    out.word(Math.round(milliseconds / 10));
    out.put(CLEAR, 0, 0x2c);
    out.word(left);
    out.word(top);
    out.word(width);
    out.word(height);
    out.put(0x80 | (BITS - 1));
    out.all(table);
    out.put(BITS);
    this.compress(pixels);
    out.put(0);
  }

  /** @param {Uint8Array} pixels */
  compress(pixels) {
    const { children } = this;
    const blocks = new Blocks(this.out);
    const [clear, end] = [COLORS, COLORS + 1];
    let size = BITS + 1;
    let next = end + 1;
    children.fill(-1);
    blocks.code(clear, size);
    let prefix = pixels[0];
    for (let n = 1; n < pixels.length; n++) {
      const at = prefix * COLORS + pixels[n];
      if (children[at] >= 0) {
        prefix = children[at];
        continue;
      }
      blocks.code(prefix, size);
      if (next < MAX_CODES) {
        children[at] = next;
        if (next === 1 << size) size++;
        next++;
      } else {
        blocks.code(clear, size);
        children.fill(-1);
        size = BITS + 1;
        next = end + 1;
      }
      prefix = pixels[n];
    }
    blocks.code(prefix, size);
    blocks.code(end, size);
    blocks.flush();
  }

  /** The whole file. @returns {Uint8Array<ArrayBuffer>} */
  bytes() {
    this.out.put(0x3b);
    return this.out.taken();
  }
}

/**
 * The smallest box around all changes; one pixel if there are none.
 * @param {Uint8ClampedArray | Uint8Array | null} before @param {Uint8ClampedArray | Uint8Array} now
 * @param {number} width @param {number} height
 */
export function changed(before, now, width, height) {
  if (!before) return { left: 0, top: 0, width, height };
  const [old, fresh] = [before, now].map((rgba) => new Uint32Array(rgba.buffer, rgba.byteOffset, width * height));
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (old[y * width + x] === fresh[y * width + x]) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = y;
    }
  }
  if (right < 0) return { left: 0, top: 0, width: 1, height: 1 };
  return { left, top, width: right - left + 1, height: bottom - top + 1 };
}

/**
 * Pixels of a box, each as one number.
 * @param {Uint8ClampedArray | Uint8Array} rgba @param {number} stride @param {number} left @param {number} top
 * @param {number} width @param {number} height
 */
function cropped(rgba, stride, left, top, width, height) {
  const all = new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4);
  const part = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) part.set(all.subarray((top + y) * stride + left, (top + y) * stride + left + width), y * width);
  return part;
}

/** Colors of a picture, and which of them each pixel has. @param {Uint32Array} picture */
export function indexed(picture) {
  const rgba = new Uint8Array(picture.buffer);
  const bins = new Uint16Array(picture.length);
  const tally = new Uint32Array(1 << 15);
  const sums = new Float64Array(3 << 15);
  for (let n = 0; n < picture.length; n++) {
    const [r, g, b] = [rgba[4 * n], rgba[4 * n + 1], rgba[4 * n + 2]];
    const bin = ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);
    bins[n] = bin;
    tally[bin]++;
    sums[3 * bin] += r;
    sums[3 * bin + 1] += g;
    sums[3 * bin + 2] += b;
  }
  const used = Array.from(tally.keys()).filter((bin) => tally[bin] > 0).sort((a, b) => tally[b] - tally[a]);
  const known = Math.min(used.length, CLEAR);
  const table = new Uint8Array(3 * COLORS);
  const place = new Uint8Array(1 << 15);
  used.forEach((bin, at) => {
    if (at < known) for (let c = 0; c < 3; c++) table[3 * at + c] = Math.round(sums[3 * bin + c] / tally[bin]);
    place[bin] = at < known ? at : nearest(table, known, bin);
  });
  return { table, pixels: Uint8Array.from(bins, (bin) => place[bin]) };
}

/** @param {Uint8Array} table @param {number} known @param {number} bin */
function nearest(table, known, bin) {
  const [r, g, b] = [((bin >> 10) << 3) + 4, (((bin >> 5) & 31) << 3) + 4, ((bin & 31) << 3) + 4];
  let best = Infinity;
  let found = 0;
  for (let n = 0; n < known; n++) {
    const distance = (table[3 * n] - r) ** 2 + (table[3 * n + 1] - g) ** 2 + (table[3 * n + 2] - b) ** 2;
    if (distance < best) [best, found] = [distance, n];
  }
  return found;
}

/** Bytes that grow. */
class Bytes {
  constructor() {
    this.room = new Uint8Array(1 << 16);
    this.size = 0;
  }

  /** @param {number} more */
  reserve(more) {
    if (this.size + more <= this.room.length) return;
    const larger = new Uint8Array(Math.max(2 * this.room.length, this.size + more));
    larger.set(this.room);
    this.room = larger;
  }

  /** @param {...number} values */
  put(...values) {
    this.reserve(values.length);
    for (const value of values) this.room[this.size++] = value;
  }

  /** @param {number} value */
  word(value) {
    this.put(value & 255, value >> 8);
  }

  /** @param {string} text */
  letters(text) {
    for (const letter of text) this.put(letter.charCodeAt(0));
  }

  /** @param {Uint8Array} values */
  all(values) {
    this.reserve(values.length);
    this.room.set(values, this.size);
    this.size += values.length;
  }

  taken() {
    return this.room.slice(0, this.size);
  }
}

/** Codes as bits, bits as blocks of at most 255 bytes. */
class Blocks {
  /** @param {Bytes} out */
  constructor(out) {
    this.out = out;
    this.block = new Uint8Array(255);
    this.filled = 0;
    this.held = 0;
    this.bits = 0;
  }

  /** @param {number} code @param {number} size */
  code(code, size) {
    this.held |= code << this.bits;
    this.bits += size;
    while (this.bits >= 8) this.byte();
  }

  byte() {
    this.block[this.filled++] = this.held & 255;
    this.held >>>= 8;
    this.bits = Math.max(0, this.bits - 8);
    if (this.filled === 255) this.send();
  }

  send() {
    this.out.put(this.filled);
    this.out.all(this.block.subarray(0, this.filled));
    this.filled = 0;
  }

  flush() {
    if (this.bits > 0) this.byte();
    if (this.filled > 0) this.send();
  }
}
