/**
 * How all hypotheses so far vote: on a grid of the plane, where each is added or taken back as time goes by, and who has the
 * most votes.
 *
 * A straight plane says yes in one stretch of each row of knots, so that its votes are two numbers a row: what they add at the
 * stretch's ends, summed along the row when somebody looks. Curved ones are asked at every knot of a coarser grid.
 *
 * @typedef {import("../model/recording.js").Recording} Recording
 */
import { zeroLines } from "../model/geometry.js";
import { CELLS, gridOver, leads, lineOf, rowsOver } from "./surface.js";

const FINE = 256; // cells across, where planes are straight

export class Ballot {
  /** @param {Recording} recording @param {number[]} box */
  constructor(recording, box) {
    this.recording = recording;
    this.straight = recording.linear;
    this.apart = recording.run.scheme === "rest"; // each class has hypotheses, and votes, of its own
    this.alone = this.apart || recording.heads === 1; // yes is a score over 0, else one over all rivals'
    this.grid = gridOver(box, this.straight ? FINE : CELLS);
    this.rows = this.straight ? new Float64Array(0) : rowsOver(recording, this.grid);
    this.wide = this.grid.nx + 1;
    /** Of each head the votes that say yes: at every knot, or what they add from there on. */
    this.yes = Array.from({ length: recording.heads }, () => new Float64Array((this.wide + 1) * (this.grid.ny + 1)));
    this.cast = new Float64Array(recording.heads); // votes so far, of each head
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
      this.hear(adds ? this.counted : this.counted - 1, adds ? 1 : -1);
      this.counted += adds ? 1 : -1;
      if (performance.now() > until) return this.counted === t + 1;
    }
    return true;
  }

  /** @param {number} n @param {1 | -1} sign */
  hear(n, sign) {
    const { ballots, heads } = this.recording;
    const w = this.recording.at(n);
    for (let h = 0; h < heads; h++) {
      const votes = sign * (ballots[this.apart ? n * heads + h : n] ?? 0);
      if (votes === 0) continue;
      this.cast[h] += votes;
      if (this.straight) this.hearStraight(w, h, votes);
      else if (this.alone) this.hearCurved(votes, (m) => (this.recording.score(w, h, this.rows, m) > 0 ? h : -1));
      else if (h === 0) this.hearCurved(votes, (m) => this.recording.judge(w, this.rows, m)); // all heads at once
    }
  }

  /** @param {Float64Array} w @param {number} h @param {number} votes */
  hearStraight(w, h, votes) {
    const { grid, wide, recording } = this;
    const [x0, x1, y0, y1] = grid.box;
    const own = lineOf(recording, w, h);
    // Over every rival: where equal, the smaller label wins.
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

  /** @param {number} votes @param {(knot: number) => number} chosen the head that says yes at a knot, or -1 */
  hearCurved(votes, chosen) {
    const { grid, wide } = this;
    for (let j = 0, m = 0; j <= grid.ny; j++) {
      for (let i = 0; i < wide; i++, m++) {
        const h = chosen(m);
        if (h >= 0) this.yes[h][j * (wide + 1) + i] += votes;
      }
    }
  }

  /** The share of each head's votes that say yes, at every knot. */
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
 * The hypotheses up to t with the most votes, with their share of the largest; head: whose it is, where classes vote apart.
 * @param {Recording} recording @param {number} t @param {number} [most]
 */
export function voters({ ballots, run, heads }, t, most = 40) {
  const each = run.scheme === "rest" ? heads : 1;
  /** @type {number[]} */
  const best = [];
  // Thousands are looked at in every frame, and hardly any is among the first: no need to sort them all.
  for (let n = 0; n < each * (t + 1) && n < ballots.length; n++) {
    if (!(ballots[n] > 0) || (best.length === most && ballots[n] <= ballots[best[most - 1]])) continue;
    let at = best.length;
    while (at > 0 && ballots[best[at - 1]] < ballots[n]) at--;
    best.splice(at, 0, n);
    if (best.length > most) best.pop();
  }
  return best.map((n) => ({
    n: Math.floor(n / each), head: each > 1 ? n % each : null, votes: ballots[n], share: ballots[n] / ballots[best[0]],
  }));
}
