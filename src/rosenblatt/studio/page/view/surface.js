/**
 * Regions and boundaries of a hypothesis inside a frame. Lines are exact; curves are approximated on a grid.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 * @typedef {import("../model/geometry.js").Grid} Grid
 */
import { clipped, corners, knot, lineInBox, positiveParts, zeroLines } from "../model/geometry.js";
import { expand } from "../model/recording.js";
import { pairBoundary, pairCells } from "./pair_cells.js";

export const CELLS = 96; // across
const MAX_CACHED_BOUNDARIES = 200; // boundaries that are kept

export class Surface {
  /** @param {Recording} recording @param {number[]} box */
  constructor(recording, box) {
    this.recording = recording;
    this.box = box;
    this.exact = recording.linear;
    this.k = recording.run.classes.length;
    /** @type {{grid: Grid, rows: Float64Array} | undefined} */
    this.fine = undefined;
    /** @type {Map<number, number[]>} */
    this.known = new Map();
  }

  /** @param {Float64Array} w */
  lines(w) {
    return Array.from({ length: this.recording.heads }, (_, head) => lineOf(this.recording, w, head));
  }

  /** The class that pairs of straight lines vote for, at a point. @param {Float64Array} w */
  classifierOf(w) {
    const row = new Float64Array(this.recording.width);
    return (/** @type {number} */ x, /** @type {number} */ y) => {
      expand(this.recording.features, x, y, row);
      return this.recording.classify(w, row, 0);
    };
  }

  /** @param {Float64Array} w @param {(x: number, y: number) => number} classify */
  cells(w, classify) {
    return pairCells(this.box, this.lines(w), this.recording.run.pairs ?? [], this.k, classify);
  }

  /** For every class, by position, the polygons where w chooses it. @param {Float64Array} w @returns {number[][][]} */
  regions(w) {
    if (!this.exact) return this.fields(w).map((field) => positiveParts(this.knots().grid, field));
    const whole = corners(this.box);
    if (this.recording.run.scheme === "binary") {
      const [a, b, c] = lineOf(this.recording, w, 0);
      return [[clipped(whole, -a, -b, -c)], [a || b || c > 0 ? clipped(whole, a, b, c) : []]];
    }
    if (this.recording.run.scheme === "pairs") {
      const cells = this.cells(w, this.classifierOf(w));
      return Array.from({ length: this.k }, (_, position) => cells.filter(({ label }) => label === position).map(({ part }) => part));
    }
    const lines = this.lines(w);
    return lines.map(([a, b, c], h) => {
      let part = whole;
      lines.forEach(([d, e, f], z) => {
        if (z === h || part.length === 0) return;
        const same = a === d && b === e && c === f;
        part = same ? (h < z ? part : []) : clipped(part, a - d, b - e, c - f);
      });
      return [part];
    });
  }

  /** The boundary as segments. @param {Float64Array} w @returns {number[]} */
  boundary(w) {
    if (this.recording.run.scheme === "binary") return this.level(w, 0);
    if (!this.exact) return this.fields(w).flatMap((field) => zeroLines(this.knots().grid, field));
    if (this.recording.run.scheme === "pairs") {
      const classify = this.classifierOf(w);
      return pairBoundary(this.box, this.cells(w, classify), classify);
    }
    /** @type {number[]} */
    const segments = [];
    for (const [part] of this.regions(w)) {
      for (let n = 0; n < part.length; n += 2) {
        const [x, y, u, v] = [part[n], part[n + 1], part[(n + 2) % part.length], part[(n + 3) % part.length]];
        if (!this.onEdge(x, y, u, v)) segments.push(x, y, u, v);
      }
    }
    return segments;
  }

  /** The boundary of hypothesis t, cached: voting hypotheses are drawn in every frame. @param {number} t */
  boundaryAt(t) {
    const known = this.known.get(t);
    if (known) return known;
    const found = this.boundary(this.recording.at(t));
    if (this.known.size >= MAX_CACHED_BOUNDARIES) this.known.delete(/** @type {number} */ (this.known.keys().next().value));
    this.known.set(t, found);
    return found;
  }

  /** @param {number} x @param {number} y @param {number} u @param {number} v */
  onEdge(x, y, u, v) {
    const [x0, x1, y0, y1] = this.box;
    const tiny = 1e-9 * (x1 - x0 + y1 - y0);
    const near = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) < tiny;
    return (near(x, u) && (near(x, x0) || near(x, x1))) || (near(y, v) && (near(y, y0) || near(y, y1)));
  }

  /** Where a head's score has a value, as segments. @param {Float64Array} w @param {number} value @param {number} [head] */
  level(w, value, head = 0) {
    if (this.recording.linear) {
      const [a, b, c] = lineOf(this.recording, w, head);
      return lineInBox(a, b, c - value, this.box);
    }
    const { grid, rows } = this.knots();
    const field = new Float64Array((grid.nx + 1) * (grid.ny + 1));
    for (let n = 0; n < field.length; n++) field[n] = this.recording.score(w, head, rows, n) - value;
    return zeroLines(grid, field);
  }

  /** The strip where |score| < value, as polygons. @param {Float64Array} w @param {number} value @param {number} [head] */
  strip(w, value, head = 0) {
    if (this.recording.linear) {
      const [a, b, c] = lineOf(this.recording, w, head);
      return [clipped(clipped(corners(this.box), a, b, c + value), -a, -b, value - c)];
    }
    const { grid, rows } = this.knots();
    const field = new Float64Array((grid.nx + 1) * (grid.ny + 1));
    for (let n = 0; n < field.length; n++) field[n] = value - Math.abs(this.recording.score(w, head, rows, n));
    return positiveParts(grid, field);
  }

  /** For every class, how far its claim is over the best other one, at every knot. @param {Float64Array} w */
  fields(w) {
    const { recording } = this;
    const { grid, rows } = this.knots();
    const size = (grid.nx + 1) * (grid.ny + 1);
    const claims = Array.from({ length: this.k }, () => new Float64Array(size));
    for (let n = 0; n < size; n++) {
      if (recording.run.scheme === "binary") {
        claims[1][n] = recording.score(w, 0, rows, n);
      } else if (recording.run.scheme === "pairs") {
        claims[recording.classifyPairs(w, rows, n)][n] = 1;
      } else {
        for (let h = 0; h < this.k; h++) claims[h][n] = recording.score(w, h, rows, n);
      }
    }
    return leads(claims);
  }

  knots() {
    if (!this.fine) {
      const grid = gridOver(this.box, CELLS);
      this.fine = { grid, rows: rowsOver(this.recording, grid) };
    }
    return this.fine;
  }
}

/** Cells are as tall as wide, unless the axes have scales of their own. */
/** @param {number[]} box @param {number} across @returns {Grid} */
export function gridOver(box, across) {
  const [x0, x1, y0, y1] = box;
  const square = (y1 - y0) / (x1 - x0);
  return { box, nx: across, ny: Math.max(8, Math.min(2 * across, Math.round(across * square) || across)) };
}

/** The features at every knot. @param {Recording} recording @param {Grid} grid */
export function rowsOver(recording, grid) {
  const rows = new Float64Array((grid.nx + 1) * (grid.ny + 1) * recording.width);
  for (let j = 0; j <= grid.ny; j++) {
    for (let i = 0; i <= grid.nx; i++) {
      const [x, y] = knot(grid, i, j);
      expand(recording.features, x, y, rows, (j * (grid.nx + 1) + i) * recording.width);
    }
  }
  return rows;
}

/** The score of a head as a x + b y + c, if the features are the coordinates themselves. */
/** @param {Recording} recording @param {Float64Array} w @param {number} head @returns {[number, number, number]} */
export function lineOf({ width, features }, w, head) {
  const [e] = features.exponents;
  const [one, two] = e[0] === 1 ? [1, 2] : [2, 1];
  const a = w[head * width + one] / features.scale[0];
  const b = w[head * width + two] / features.scale[1];
  return [a, b, features.x0 * w[head * width] - a * features.center[0] - b * features.center[1]];
}

/** Each field minus the largest of the others. @param {Float64Array[]} claims */
export function leads(claims) {
  const found = claims.map((own) => new Float64Array(own.length));
  for (let n = 0; n < claims[0].length; n++) {
    let [first, second, best] = [-Infinity, -Infinity, 0];
    for (let h = 0; h < claims.length; h++) {
      const claim = claims[h][n];
      if (claim > first) [first, second, best] = [claim, first, h];
      else if (claim > second) second = claim;
    }
    for (let h = 0; h < claims.length; h++) found[h][n] = claims[h][n] - (h === best ? second : first);
  }
  return found;
}
