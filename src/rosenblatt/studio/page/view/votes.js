/**
 * The votes of all hypotheses so far: counted on a grid of the plane, where each hypothesis is added or removed as time moves,
 * and the hypotheses with the most votes.
 *
 * A line votes yes in one interval of each row of the grid, so its votes are stored as two numbers per row, at the ends of the
 * interval; sums along the rows give the counts. Curves are evaluated at every knot of a coarser grid.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 */
import { zeroLines } from "../model/geometry.js";
import { CELLS, gridOver, leads, lineOf, rowsOver } from "./surface.js";

const VOTE_CELLS = 256; // across, for lines

export class VoteCount {
  /** @param {Recording} recording @param {number[]} box */
  constructor(recording, box) {
    this.recording = recording;
    this.straight = recording.linear;
    this.separate = recording.run.scheme === "rest"; // each class has its own hypotheses and votes
    this.alone = this.separate || recording.heads === 1; // yes is a score over 0, otherwise over all rivals
    this.grid = gridOver(box, this.straight ? VOTE_CELLS : CELLS);
    this.rows = this.straight ? new Float64Array(0) : rowsOver(recording, this.grid);
    this.wide = this.grid.nx + 1;
    /** Votes for yes of each head: at every knot, or (for lines) the change at each knot of a row. */
    this.yes = Array.from({ length: recording.heads }, () => new Float64Array((this.wide + 1) * (this.grid.ny + 1)));
    this.cast = new Float64Array(recording.heads); // votes so far of each head
    this.counted = 0; // hypotheses 0 .. counted-1 are counted
  }

  /**
   * Count the votes of hypotheses 0..t, within a time limit.
   * @param {number} t @param {number} limit milliseconds
   * @returns {boolean} whether all of them are counted
   */
  count(t, limit) {
    const until = performance.now() + limit;
    while (this.counted !== t + 1) {
      const adds = this.counted <= t;
      this.add(adds ? this.counted : this.counted - 1, adds ? 1 : -1);
      this.counted += adds ? 1 : -1;
      if (performance.now() > until) return this.counted === t + 1;
    }
    return true;
  }

  /** Add or remove the votes of a hypothesis. @param {number} n @param {1 | -1} sign */
  add(n, sign) {
    const { votes: all, heads } = this.recording;
    const w = this.recording.at(n);
    for (let h = 0; h < heads; h++) {
      const votes = sign * (all[this.separate ? n * heads + h : n] ?? 0);
      if (votes === 0) continue;
      this.cast[h] += votes;
      if (this.straight) this.addLine(w, h, votes);
      else if (this.alone) this.addCurve(votes, (m) => (this.recording.score(w, h, this.rows, m) > 0 ? h : -1));
      else if (h === 0) this.addCurve(votes, (m) => this.recording.classify(w, this.rows, m)); // all heads in one pass
    }
  }

  /** @param {Float64Array} w @param {number} h @param {number} votes */
  addLine(w, h, votes) {
    const { grid, wide, recording } = this;
    const [x0, x1, y0, y1] = grid.box;
    const own = lineOf(recording, w, h);
    // The score must exceed every rival; the smaller label wins ties.
    const others = this.alone ? [] : Array.from({ length: recording.heads }, (_, z) => z).filter((z) => z !== h);
    const tests = this.alone ? [{ line: own, not: false }] : others.map((z) => {
      const rival = lineOf(recording, w, z);
      const sign = z < h ? 1 : -1;
      return { line: own.map((v, j) => sign * (v - rival[j])), not: z > h };
    });
    for (let j = 0; j <= grid.ny; j++) {
      const y = y0 + ((y1 - y0) * j) / grid.ny;
      let [low, high] = [0, wide];
      for (const { line: [a, b, c], not } of tests) {
        const from = b * y + c;
        const at = a === 0 ? 0 : Math.min(wide, Math.max(-1, ((-from / a - x0) * grid.nx) / (x1 - x0)));
        const rises = not ? a < 0 : a > 0;
        if (a === 0) {
          if (from > 0 === not) high = 0;
        } else if (rises) low = Math.max(low, not ? Math.ceil(at) : Math.floor(at) + 1);
        else high = Math.min(high, not ? Math.floor(at) + 1 : Math.ceil(at));
      }
      if (low >= high) continue;
      this.yes[h][j * (wide + 1) + low] += votes;
      this.yes[h][j * (wide + 1) + high] -= votes;
    }
  }

  /** @param {number} votes @param {(knot: number) => number} chosen the head that votes yes at a knot, or -1 */
  addCurve(votes, chosen) {
    const { grid, wide } = this;
    for (let j = 0, m = 0; j <= grid.ny; j++) {
      for (let i = 0; i < wide; i++, m++) {
        const h = chosen(m);
        if (h >= 0) this.yes[h][j * (wide + 1) + i] += votes;
      }
    }
  }

  /** The share of yes among the votes of each head, at every knot. */
  shares() {
    const { wide, grid } = this;
    return this.yes.map((yes, h) => {
      const found = new Float64Array(wide * (grid.ny + 1));
      const one = this.cast[h] > 0 ? 1 / this.cast[h] : 0;
      for (let j = 0, m = 0; j <= grid.ny; j++) {
        for (let i = 0, from = j * (wide + 1), sum = 0; i < wide; i++, m++) {
          sum = this.straight ? sum + yes[from + i] : yes[from + i];
          found[m] = sum * one;
        }
      }
      return found;
    });
  }

  /** Where the majority changes, as segments. */
  boundary() {
    const shares = this.shares();
    const fields = shares.length === 1 ? [shares[0].map((share) => share - 0.5)] : leads(shares);
    return fields.flatMap((field) => zeroLines(this.grid, field));
  }
}

/**
 * The hypotheses up to t with the most votes; share: relative to the first; head: its class, if classes vote separately.
 * @param {Recording} recording @param {number} t @param {number} [most]
 */
export function voters({ votes, run, heads }, t, most = 40) {
  const each = run.scheme === "rest" ? heads : 1;
  /** @type {number[]} */
  const best = [];
  // There are thousands in every frame and few of them rank high, so they are not sorted.
  for (let n = 0; n < each * (t + 1) && n < votes.length; n++) {
    if (!(votes[n] > 0) || (best.length === most && votes[n] <= votes[best[most - 1]])) continue;
    let at = best.length;
    while (at > 0 && votes[best[at - 1]] < votes[n]) at--;
    best.splice(at, 0, n);
    if (best.length > most) best.pop();
  }
  return best.map((n) => ({
    n: Math.floor(n / each), head: each > 1 ? n % each : null, votes: votes[n], share: votes[n] / votes[best[0]],
  }));
}
