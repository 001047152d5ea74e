/** Curves with more values than the picture has pixels. Imports nothing. */

/**
 * A curve as pixels, flat. Where several values fall on one column of pixels, it keeps the first, the lowest, the highest and
 * the last, so that no peak is lost and no more is drawn than can be seen. Values that are not finite are left out.
 * @param {ArrayLike<number>} at rising @param {ArrayLike<number>} values
 * @param {(t: number) => number} x @param {(value: number) => number} y
 * @param {boolean} [stepped] the value stays until the next one
 * @returns {number[]}
 */
export function decimated(at, values, x, y, stepped = false) {
  /** @type {number[]} */
  const out = [];
  for (const { from, column, many, first, low, high, last } of columnsOf(at, values, x, y, 1)) {
    if (stepped && out.length > 0) out.push(from, out[out.length - 1]);
    out.push(from, first);
    if (many === 1) continue;
    const middle = column + 0.5;
    if (low !== first) out.push(middle, low);
    if (high !== low) out.push(middle, high);
    if (last !== high) out.push(middle, last);
  }
  return out;
}

/**
 * A dense curve as the band between its lowest and highest values, and the line of its means, by columns of some pixels.
 * @param {ArrayLike<number>} at rising @param {ArrayLike<number>} values
 * @param {(t: number) => number} x @param {(value: number) => number} y @param {number} wide
 * @returns {{band: number[], means: number[]}} flat pixels; the band as a closed polygon
 */
export function banded(at, values, x, y, wide) {
  const columns = columnsOf(at, values, x, y, wide);
  /** @type {number[]} */
  const band = [];
  /** @type {number[]} */
  const means = [];
  const ends = columns.length - 1;
  const middles = columns.map(({ from, to, column }, n) => (n === 0 ? from : n === ends ? to : (column + 0.5) * wide));
  columns.forEach(({ low, sum, many }, n) => {
    band.push(middles[n], low);
    means.push(middles[n], sum / many);
  });
  for (let n = ends; n >= 0; n--) band.push(middles[n], columns[n].high);
  return { band, means };
}

/**
 * Values by the column of pixels they fall on.
 * @param {ArrayLike<number>} at @param {ArrayLike<number>} values
 * @param {(t: number) => number} x @param {(value: number) => number} y @param {number} wide
 */
function columnsOf(at, values, x, y, wide) {
  /** @type {{column: number, from: number, to: number, first: number, low: number, high: number, last: number,
   *   sum: number, many: number}[]} */
  const columns = [];
  let now = { column: NaN, from: 0, to: 0, first: 0, low: 0, high: 0, last: 0, sum: 0, many: 0 };
  for (let n = 0; n < values.length; n++) {
    const here = y(values[n]);
    if (!Number.isFinite(here)) continue;
    const place = x(at[n]);
    const column = Math.floor(place / wide);
    if (column !== now.column) {
      now = { column, from: place, to: place, first: here, low: here, high: here, last: here, sum: 0, many: 0 };
      columns.push(now);
    }
    now.to = place;
    now.low = Math.min(now.low, here);
    now.high = Math.max(now.high, here);
    now.last = here;
    now.sum += here;
    now.many++;
  }
  return columns;
}
