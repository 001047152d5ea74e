/** Polygons and contours. Points are flat: [x0, y0, x1, y1, ...]. Imports nothing. */

/**
 * The part of a convex polygon where a x + b y + c >= 0.
 * @param {number[]} polygon @param {number} a @param {number} b @param {number} c
 * @returns {number[]}
 */
export function clipped(polygon, a, b, c) {
  /** @type {number[]} */
  const kept = [];
  const n = polygon.length;
  if (n === 0) return kept;
  let px = polygon[n - 2];
  let py = polygon[n - 1];
  let before = a * px + b * py + c;
  for (let i = 0; i < n; i += 2) {
    const x = polygon[i];
    const y = polygon[i + 1];
    const here = a * x + b * y + c;
    if (here >= 0 !== before >= 0) {
      const part = before / (before - here);
      kept.push(px + (x - px) * part, py + (y - py) * part);
    }
    if (here >= 0) kept.push(x, y);
    [px, py, before] = [x, y, here];
  }
  return kept;
}

/** The corners of a box [x0, x1, y0, y1]. @param {number[]} box */
export function corners([x0, x1, y0, y1]) {
  return [x0, y0, x1, y0, x1, y1, x0, y1];
}

/**
 * The part of the line a x + b y + c = 0 inside a box; empty if there is none.
 * @param {number} a @param {number} b @param {number} c @param {number[]} box
 * @returns {number[]}
 */
export function lineInBox(a, b, c, box) {
  const around = corners(box);
  /** @type {number[]} */
  const found = [];
  for (let i = 0; i < 8 && found.length < 4; i += 2) {
    const [x, y, u, v] = [around[i], around[i + 1], around[(i + 2) % 8], around[(i + 3) % 8]];
    const here = a * x + b * y + c;
    const there = a * u + b * v + c;
    if (here >= 0 !== there >= 0) {
      const part = here / (here - there);
      found.push(x + (u - x) * part, y + (v - y) * part);
    }
  }
  return found.length === 4 ? found : [];
}

/**
 * A grid over a box: `nx` x `ny` cells, values at (nx + 1) x (ny + 1) knots, row by row from y0.
 * @typedef {{box: number[], nx: number, ny: number}} Grid
 */

/** @param {Grid} grid @param {number} i @param {number} j @returns {[number, number]} */
export function knot(grid, i, j) {
  const [x0, x1, y0, y1] = grid.box;
  return [x0 + ((x1 - x0) * i) / grid.nx, y0 + ((y1 - y0) * j) / grid.ny];
}

/**
 * The lines where a field is zero, as segments [x0, y0, x1, y1, ...], straight within a cell. Segments of one line follow each
 * other end to end, so that dashes are continuous.
 * @param {Grid} grid @param {Float64Array} field
 * @returns {number[]}
 */
export function zeroLines(grid, field) {
  const wide = grid.nx + 1;
  /** @type {number[]} the two edges that each segment connects: 2n from knot n to the right, 2n + 1 upwards */
  const pieces = [];
  for (let j = 0; j < grid.ny; j++) {
    for (let i = 0; i < grid.nx; i++) {
      const at = j * wide + i;
      const sw = field[at] > 0;
      const se = field[at + 1] > 0;
      const ne = field[at + wide + 1] > 0;
      const nw = field[at + wide] > 0;
      if (sw === se && se === ne && ne === nw) continue;
      if (sw !== se) pieces.push(2 * at);
      if (se !== ne) pieces.push(2 * at + 3);
      if (ne !== nw) pieces.push(2 * (at + wide));
      if (nw !== sw) pieces.push(2 * at + 1);
    }
  }
  /** @type {number[]} */
  const segments = [];
  for (const edge of chained(pieces)) {
    const at = edge >> 1;
    cross(grid, field, at % wide, Math.floor(at / wide), edge & 1 ? 0 : 1, edge & 1, segments);
  }
  return segments;
}

/**
 * Pairs of ends, ordered so that those of one line follow each other end to end.
 * @param {number[]} pairs a0, b0, a1, b1, ...
 * @returns {number[]}
 */
export function chained(pairs) {
  /** @type {Map<number, number[]>} */
  const meeting = new Map();
  pairs.forEach((end, n) => {
    const there = meeting.get(end);
    if (there) there.push(n >> 1);
    else meeting.set(end, [n >> 1]);
  });
  const done = new Uint8Array(pairs.length / 2);
  /** @type {number[]} */
  const order = [];
  const follow = (/** @type {number} */ from) => {
    for (let end = from; ;) {
      const next = meeting.get(end)?.find((n) => !done[n]);
      if (next === undefined) return;
      done[next] = 1;
      const other = pairs[2 * next] === end ? pairs[2 * next + 1] : pairs[2 * next];
      order.push(end, other);
      end = other;
    }
  };
  for (const [end, there] of meeting) if (there.length === 1) follow(end); // open lines first, then rings
  for (const end of meeting.keys()) follow(end);
  return order;
}

/**
 * The point where the field crosses zero on the edge from knot (i, j) to (i + di, j + dj).
 * @param {Grid} grid @param {Float64Array} field @param {number} i @param {number} j @param {number} di @param {number} dj
 * @param {number[]} out
 */
function cross(grid, field, i, j, di, dj, out) {
  const wide = grid.nx + 1;
  const here = field[j * wide + i];
  const there = field[(j + dj) * wide + i + di];
  const part = here === there ? 0.5 : here / (here - there);
  const [x, y] = knot(grid, i + di * part, j + dj * part);
  out.push(x, y);
}

/**
 * Polygons where a field is positive: runs of whole cells as one rectangle, cut cells separately.
 * @param {Grid} grid @param {Float64Array} field
 * @returns {number[][]}
 */
export function positiveParts(grid, field) {
  /** @type {number[][]} */
  const parts = [];
  const wide = grid.nx + 1;
  for (let j = 0; j < grid.ny; j++) {
    let from = -1;
    for (let i = 0; i <= grid.nx; i++) {
      const at = j * wide + i;
      const signs = i === grid.nx ? 0 :
        Number(field[at] > 0) + Number(field[at + 1] > 0) + Number(field[at + wide] > 0) + Number(field[at + wide + 1] > 0);
      if (signs === 4) {
        if (from < 0) from = i;
        continue;
      }
      if (from >= 0) {
        const [x0, y0] = knot(grid, from, j);
        const [x1, y1] = knot(grid, i, j + 1);
        parts.push([x0, y0, x1, y0, x1, y1, x0, y1]);
        from = -1;
      }
      if (signs > 0) parts.push(cutCell(grid, field, i, j));
    }
  }
  return parts;
}

/** @param {Grid} grid @param {Float64Array} field @param {number} i @param {number} j @returns {number[]} */
function cutCell(grid, field, i, j) {
  const wide = grid.nx + 1;
  /** @type {[number, number, number, number][]} */
  const around = [[i, j, 1, 0], [i + 1, j, 0, 1], [i + 1, j + 1, -1, 0], [i, j + 1, 0, -1]];
  /** @type {number[]} */
  const polygon = [];
  for (const [a, b, di, dj] of around) {
    const here = field[b * wide + a] > 0;
    if (here) polygon.push(...knot(grid, a, b));
    if (here !== field[(b + dj) * wide + a + di] > 0) cross(grid, field, a, b, di, dj, polygon);
  }
  return polygon;
}
