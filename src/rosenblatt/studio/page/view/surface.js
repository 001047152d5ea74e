/**
 * Where hypotheses say which class: regions and boundaries inside a frame. Planes of the points themselves are cut exactly;
 * curved ones, and votes, are followed on a grid.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 * @typedef {import("../model/geometry.js").Grid} Grid
 */
import { clipped, corners, knot, lineInBox, positiveParts, zeroLines } from "../model/geometry.js";
import { expand } from "../model/recording.js";
import { pairBoundary, pairCells } from "./pair_cells.js";

const CELLS = 96; // across
const MOST_KNOWN = 200; // boundaries that are kept

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

  /** The score of a head as a x + b y + c. @param {Float64Array} w @param {number} head @returns {[number, number, number]} */
  line(w, head) {
    const { width, features } = this.recording;
    const [e] = features.exponents;
    const [one, two] = e[0] === 1 ? [1, 2] : [2, 1];
    const a = w[head * width + one] / features.scale[0];
    const b = w[head * width + two] / features.scale[1];
    return [a, b, features.x0 * w[head * width] - a * features.centre[0] - b * features.centre[1]];
  }

  /** @param {Float64Array} w */
  lines(w) {
    return Array.from({ length: this.recording.heads }, (_, head) => this.line(w, head));
  }

  /** The class that pairs of straight lines vote for, at a point. @param {Float64Array} w */
  judgeOf(w) {
    const row = new Float64Array(this.recording.width);
    return (/** @type {number} */ x, /** @type {number} */ y) => {
      expand(this.recording.features, x, y, row);
      return this.recording.judge(w, row, 0);
    };
  }

  /** For every class, by position, the polygons where w chooses it. @param {Float64Array} w @returns {number[][][]} */
  regions(w) {
    if (!this.exact) return this.fields(w).map((field) => positiveParts(this.knots().grid, field));
    const whole = corners(this.box);
    if (this.recording.run.scheme === "binary") {
      const [a, b, c] = this.line(w, 0);
      return [[clipped(whole, -a, -b, -c)], [a || b || c > 0 ? clipped(whole, a, b, c) : []]];
    }
    if (this.recording.run.scheme === "pairs") {
      const cells = pairCells(this.box, this.lines(w), this.judgeOf(w));
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
      const judge = this.judgeOf(w);
      return pairBoundary(this.box, pairCells(this.box, this.lines(w), judge), judge);
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

  /** The boundary of hypothesis t, kept: those that vote are drawn in every frame, and few of them are new. @param {number} t */
  boundaryAt(t) {
    const known = this.known.get(t);
    if (known) return known;
    const found = this.boundary(this.recording.at(t));
    if (this.known.size >= MOST_KNOWN) this.known.delete(/** @type {number} */ (this.known.keys().next().value));
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
      const [a, b, c] = this.line(w, head);
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
      const [a, b, c] = this.line(w, head);
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
        claims[recording.judgePairs(w, rows, n)][n] = 1;
      } else {
        for (let h = 0; h < this.k; h++) claims[h][n] = recording.score(w, h, rows, n);
      }
    }
    return leads(claims);
  }

  knots() {
    this.fine ??= gridOf(this.recording, this.box);
    return this.fine;
  }
}

/** @param {Recording} recording @param {number[]} box */
function gridOf(recording, box) {
  const [x0, x1, y0, y1] = box;
  const square = (y1 - y0) / (x1 - x0); // cells are as tall as wide, unless the axes have scales of their own
  const grid = { box, nx: CELLS, ny: Math.max(8, Math.min(2 * CELLS, Math.round(CELLS * square) || CELLS)) };
  const rows = new Float64Array((grid.nx + 1) * (grid.ny + 1) * recording.width);
  for (let j = 0; j <= grid.ny; j++) {
    for (let i = 0; i <= grid.nx; i++) {
      const [x, y] = knot(grid, i, j);
      expand(recording.features, x, y, rows, (j * (grid.nx + 1) + i) * recording.width);
    }
  }
  return { grid, rows };
}

/** Each field minus the largest of the others. @param {Float64Array[]} claims */
function leads(claims) {
  return claims.map((own, h) => {
    const lead = new Float64Array(own.length);
    for (let n = 0; n < own.length; n++) {
      let rival = -Infinity;
      for (let z = 0; z < claims.length; z++) if (z !== h && claims[z][n] > rival) rival = claims[z][n];
      lead[n] = own[n] - rival;
    }
    return lead;
  });
}

/** How all hypotheses so far vote, at every knot of a grid: one is added or taken back as time goes by. */
export class Ballot {
  /** @param {Recording} recording @param {number[]} box */
  constructor(recording, box) {
    this.recording = recording;
    const { grid, rows } = gridOf(recording, box);
    this.grid = grid;
    this.rows = rows;
    this.size = (grid.nx + 1) * (grid.ny + 1);
    this.votes = Array.from({ length: recording.run.classes.length }, () => new Float64Array(this.size));
    this.counted = 0; // hypotheses 0 .. counted-1 have voted
  }

  /**
   * Count the votes of hypotheses 0..t, for so many milliseconds at most.
   * @param {number} t @param {number} patience
   * @returns {boolean} whether all of them are counted
   */
  count(t, patience) {
    const until = performance.now() + patience;
    while (this.counted !== t + 1) {
      const adds = this.counted <= t;
      const n = adds ? this.counted : this.counted - 1;
      this.cast(n, adds ? 1 : -1);
      this.counted += adds ? 1 : -1;
      if (performance.now() > until) return this.counted === t + 1;
    }
    return true;
  }

  /** @param {number} n @param {1 | -1} sign */
  cast(n, sign) {
    const ballots = sign * (this.recording.ballots[n] ?? 0);
    if (ballots === 0) return;
    const w = this.recording.at(n);
    for (let m = 0; m < this.size; m++) this.votes[this.recording.judge(w, this.rows, m)][m] += ballots;
  }

  /** Where the majority changes, as segments. */
  boundary() {
    const fields = leads(this.votes);
    return (fields.length === 2 ? fields.slice(0, 1) : fields).flatMap((field) => zeroLines(this.grid, field));
  }
}
