/**
 * A recorded run: the moves of its log, applied one after the other, give the weights after every update.
 *
 * @typedef {{f64?: string, f32?: string, i32?: string}} Packed
 * @typedef {{exponents: number[][], names: string[], center: number[], scale: number[], x0: number}} Features
 * @typedef {{rows: Packed, steps: Packed, times: Packed, others: Packed, edges: Packed, passes: number[]}} Log
 * @typedef {{weights: Packed, titles: string[], support: number[][] | null, margin: number[] | null}} Frames
 * @typedef {{at: Packed, errors: Packed, loss: Packed, loss_title: string | null,
 *   pocket: {t: number[], errors: number[], heads?: {t: number[], errors: number[]}[]} | null}} Curves
 * @typedef {{margin: number | null, support: number[], slack: number[] | null, objective: number | null,
 *   gap: number | null}} SVM
 * @typedef {"last" | "pocket" | "average" | "vote"} Keep which hypothesis of a run is the model
 * @typedef {{algorithm: string, title: string, scheme: "binary" | "joint" | "rest" | "pairs", heads: number,
 *   classes: number[], features: Features, start: Packed, log: Log | null, frames: Frames | null, updates: number,
 *   pairs: number[][] | null, cut: string | null, curves: Curves, average: {at: Packed, weights: Packed} | null,
 *   vote_counts: Packed | null, keep: Keep, readings: Partial<Record<Keep, number>>, svm: SVM | null,
 *   stop: {reason: string, sentence: string, details?: string}, code: string, seconds: number,
 *   own?: {errors: number, rows: number, columns: number}}} Run `own`: the errors of the model for which this is a new run
 * @typedef {{norms: Packed, norm_bound: Packed, alignments: Packed | null, alignment_bound: Packed | null, mistakes: number,
 *   mistake_bound: number | null, holds: boolean, sentence: string}} Convergence
 * @typedef {{verdict: "separable" | "inseparable" | "undecided", sentence: string, margin: number | null,
 *   geometric: number | null, radius: number | null, bound: number | null, plane: number[][] | null,
 *   clash: {rows: number[], weights: number[], sentence: string} | null, convergence: Convergence | null}} Proof
 */

/**
 * Decode an array; plain lists are converted.
 * @param {Packed | number[] | null | undefined} packed
 * @returns {Float64Array | Float32Array | Int32Array}
 */
export function unpacked(packed) {
  if (!packed) return new Float64Array(0);
  if (Array.isArray(packed)) return Float64Array.from(packed);
  const text = atob(packed.f64 ?? packed.f32 ?? packed.i32 ?? "");
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  if (packed.f64 !== undefined) return new Float64Array(bytes.buffer);
  return packed.f32 !== undefined ? new Float32Array(bytes.buffer) : new Int32Array(bytes.buffer);
}

/**
 * The augmented features of a point, (x0, phi_1, phi_2, ...), into `out` from `at` on.
 * @param {Features} features @param {number} x @param {number} y @param {Float64Array} out @param {number} [at]
 */
export function expand(features, x, y, out, at = 0) {
  const u = (x - features.center[0]) / features.scale[0];
  const v = (y - features.center[1]) / features.scale[1];
  out[at] = features.x0;
  const { exponents } = features;
  for (let j = 0; j < exponents.length; j++) {
    let product = 1;
    for (let n = 0; n < exponents[j][0]; n++) product *= u;
    for (let n = 0; n < exponents[j][1]; n++) product *= v;
    out[at + 1 + j] = product;
  }
}

export class Recording {
  /**
   * @param {Run} run
   * @param {[number, number][]} points
   * @param {number[]} labels
   */
  constructor(run, points, labels) {
    this.run = run;
    this.features = run.features;
    this.heads = run.heads;
    this.width = run.features.exponents.length + 1;
    this.size = this.heads * this.width; // weights of one hypothesis
    this.length = run.updates;
    this.degree = Math.max(...run.features.exponents.map(([a, b]) => a + b));
    this.linear = this.degree === 1;
    /** Position of the class of each row in `run.classes`. */
    this.codes = labels.map((label) => run.classes.indexOf(label));
    /** Rows of augmented features. */
    this.rows = new Float64Array(points.length * this.width);
    points.forEach(([x, y], n) => expand(this.features, x, y, this.rows, n * this.width));
    this.count = points.length;

    this.moved = unpacked(run.log?.rows);
    this.steps = unpacked(run.log?.steps);
    this.times = unpacked(run.log?.times);
    this.others = unpacked(run.log?.others);
    this.edges = unpacked(run.log?.edges);
    this.votes = unpacked(run.vote_counts);
    this.weights = run.frames ? /** @type {Float64Array} */ (unpacked(run.frames.weights)) : this.replayed();

    const { at, errors, loss, pocket } = run.curves;
    this.curve = { at: unpacked(at), errors: unpacked(errors), loss: unpacked(loss) };
    this.pocket = pocket;
    this.means = run.average && { at: unpacked(run.average.at), weights: unpacked(run.average.weights) };
  }

  /** The weights of all hypotheses: each is the previous one plus the moves of an update. */
  replayed() {
    const { size, width, length } = this;
    const all = new Float64Array((length + 1) * size);
    all.set(unpacked(this.run.start).subarray(0, size));
    for (let t = 1; t <= length; t++) {
      all.copyWithin(t * size, (t - 1) * size, t * size);
      for (let e = this.edges[t - 1]; e < this.edges[t]; e++) {
        const row = this.moved[e];
        for (const [head, sign] of this.pulls(e)) {
          const to = t * size + head * width;
          for (let j = 0; j < width; j++) all[to + j] += sign * this.steps[e] * this.rows[row * width + j];
        }
      }
    }
    return all;
  }

  /**
   * The weight vectors that an entry of the log moves, toward the row (+1) or away from it (-1).
   * @param {number} entry
   * @returns {[number, number][]}
   */
  pulls(entry) {
    const own = this.codes[this.moved[entry]];
    const other = this.others[entry];
    if (this.run.scheme === "binary") return [[0, own === 1 ? 1 : -1]];
    if (this.run.scheme === "joint") return [[own, 1], [other, -1]];
    return [[other, own === other ? 1 : -1]];
  }

  /** Steps of a clock of this length per frame; the few frames of a solver are spread over the whole time. */
  /** @param {number} length */
  pace(length) {
    return this.run.frames && this.length > 0 ? Math.max(1, length / this.length) : 1;
  }

  /** @param {number} t */
  at(t) {
    const n = Math.max(0, Math.min(this.length, t));
    return this.weights.subarray(n * this.size, (n + 1) * this.size);
  }

  /** Whether a head has the same weights at two times. @param {number} head @param {number} s @param {number} t */
  unmoved(head, s, t) {
    const [one, two] = [this.at(s), this.at(t)];
    for (let j = head * this.width; j < (head + 1) * this.width; j++) if (one[j] !== two[j]) return false;
    return true;
  }

  /** The rows of update t, at most `most`. @param {number} t @param {number} [most] @returns {number[]} */
  causes(t, most = 400) {
    if (t < 1 || t > this.length || this.edges.length === 0) return [];
    const last = Math.min(this.edges[t], this.edges[t - 1] + most);
    return Array.from(this.moved.subarray(this.edges[t - 1], last));
  }

  /**
   * The pocket at t: the update at which it improved, and its errors; undefined if there is none. If each class learns alone,
   * each has a pocket: `heads` has the update of each, and `weights` those of all together.
   * @param {number} t
   * @returns {{t: number, errors: number, heads?: number[], weights?: Float64Array} | undefined}
   */
  pocketAt(t) {
    if (!this.pocket) return undefined;
    const found = lastAtMost(this.pocket.t, t);
    const best = { t: this.pocket.t[found], errors: this.pocket.errors[found] };
    if (!this.pocket.heads) return best;
    const heads = this.pocket.heads.map((own) => own.t[lastAtMost(own.t, t)]);
    const weights = new Float64Array(this.size);
    heads.forEach((at, h) => weights.set(this.at(at).subarray(h * this.width, (h + 1) * this.width), h * this.width));
    return { ...best, heads, weights };
  }

  /** The mean of the weights up to t. @param {number} t @returns {Float64Array | undefined} */
  averageAt(t) {
    if (!this.means) return undefined;
    const n = lastAtMost(this.means.at, t);
    return Float64Array.from(this.means.weights.subarray(n * this.size, (n + 1) * this.size));
  }

  /** Training errors of hypothesis t, or of the last one before it that was evaluated. @param {number} t */
  errorsAt(t) {
    return this.curve.errors[lastAtMost(this.curve.at, t)];
  }

  /**
   * Training errors of a reading of the first t updates; undefined if they are not known. At the end they are those that the
   * model makes in Python, where a point on the boundary may be right; until then it is wrong.
   * @param {Keep} keep @param {number} t @returns {number | undefined}
   */
  errorsOf(keep, t) {
    if (t === this.length && keep in this.run.readings) return this.run.readings[keep];
    if (keep === "last") return this.errorsAt(t);
    if (keep === "pocket") return this.pocketAt(t)?.errors;
    const mean = keep === "average" ? this.averageAt(t) : undefined;
    return mean && this.countErrors(mean);
  }

  /**
   * Score of one head. @param {Float64Array} w @param {number} head @param {Float64Array} rows @param {number} [row]
   */
  score(w, head, rows = this.rows, row = 0) {
    const { width } = this;
    let sum = 0;
    for (let j = 0, a = head * width, b = row * width; j < width; j++) sum += w[a + j] * rows[b + j];
    return sum;
  }

  /** How many rows a hypothesis misclassifies. @param {Float64Array} w */
  countErrors(w) {
    return this.codes.reduce((wrong, code, n) => wrong + Number(this.classify(w, this.rows, n) !== code), 0);
  }

  /**
   * The margin of the line at t: the smallest signed distance of a row; only for two classes.
   * @param {number} t @returns {number | null}
   */
  marginAt(t) {
    if (this.heads !== 1 || this.count === 0) return null;
    const w = this.at(t);
    let least = Infinity;
    for (let n = 0; n < this.count; n++) least = Math.min(least, (this.codes[n] === 1 ? 1 : -1) * this.score(w, 0, this.rows, n));
    const long = Math.hypot(...w.subarray(1));
    return long > 0 ? least / long : null;
  }

  /**
   * The class that hypothesis w predicts for a row, by position; ties go to the smaller.
   * @param {Float64Array} w @param {Float64Array} rows @param {number} row
   */
  classify(w, rows, row) {
    if (this.run.scheme === "binary") return this.score(w, 0, rows, row) > 0 ? 1 : 0;
    if (this.run.scheme === "pairs") return this.classifyPairs(w, rows, row);
    let best = 0;
    let most = -Infinity;
    for (let h = 0; h < this.heads; h++) {
      const score = this.score(w, h, rows, row);
      if (score > most) [best, most] = [h, score];
    }
    return best;
  }

  /** The class that the pairs choose. @param {Float64Array} w @param {Float64Array} rows @param {number} row */
  classifyPairs(w, rows, row) {
    const pairs = this.run.pairs ?? [];
    return voted(pairs.map((_, h) => this.score(w, h, rows, row)), pairs, this.run.classes.length);
  }
}

/**
 * The class with the most votes of the pairs. Among classes with equal votes, first the votes among them decide, then the smaller
 * sum of the scores of lost pairs.
 * @param {number[]} scores @param {number[][]} pairs @param {number} k classes
 */
export function voted(scores, pairs, k) {
  const leaders = leadersOf(scores, pairs, k);
  const lost = new Array(k).fill(0);
  pairs.forEach(([a, b], h) => { lost[scores[h] > 0 ? a : b] += Math.abs(scores[h]); });
  return leaders.reduce((best, c) => (lost[c] < lost[best] ? c : best));
}

/**
 * The classes with the most votes, and of those the ones with the most votes among them.
 * @param {number[]} scores @param {number[][]} pairs @param {number} k classes @returns {number[]}
 */
export function leadersOf(scores, pairs, k) {
  let leaders = Array.from({ length: k }, (_, c) => c);
  for (let round = 0; round < 2; round++) {
    const votes = new Array(k).fill(0);
    pairs.forEach(([a, b], h) => {
      if (leaders.includes(a) && leaders.includes(b)) votes[scores[h] > 0 ? b : a]++;
    });
    const most = Math.max(...leaders.map((c) => votes[c]));
    leaders = leaders.filter((c) => votes[c] === most);
  }
  return leaders;
}

/** The position of the last of ascending numbers that is at most t. @param {ArrayLike<number>} rising @param {number} t */
export function lastAtMost(rising, t) {
  let low = 0;
  let high = rising.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rising[middle] <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * A proof about the points holds for every run on them, so it is kept until the new proof arrives; the proof about a run is not.
 * @param {Proof | null} proof
 * @param {import("./state.js").Request | undefined} was its request
 * @param {import("./state.js").Request} now
 * @returns {Proof | null}
 */
export function keptProof(proof, was, now) {
  if (!proof || !was) return null;
  const same = was.points === now.points && was.labels === now.labels && was.degree === now.degree && was.scaled === now.scaled;
  const through = was.knobs.fit_intercept === now.knobs.fit_intercept; // the origin, or not
  return same && through ? { ...proof, convergence: null } : null;
}
