/**
 * The state of the page as one plain object, its changes, and links that contain it. Imports nothing.
 *
 * @typedef {[number, number]} Point
 * @typedef {{points: Point[], labels: number[], names: string[], box: number[], axes?: [string, string]}} Points names: of
 *   classes; axes: names of the coordinates, if known
 * @typedef {{preset: string} | Points} Data
 * @typedef {{algorithm: string, knobs: Record<string, unknown>}} Chosen
 * @typedef {{regions: boolean, normal: boolean, band: boolean, pocket: boolean, average: boolean, vote: boolean,
 *   clash: boolean, widest: boolean}} Shown band: the margin band
 * @typedef {Omit<Shown, Reading> & Record<Reading, boolean | null>} Layers null: shown for runs whose model is this reading
 * @typedef {"pocket" | "average" | "vote"} Reading
 * @typedef {{x: number, y: number, head: number}} Slice
 * @typedef {{data: Data, degree: number, scaled: boolean, seed: number, runs: Chosen[], focus: number, t: number | "end",
 *   speed: number, show: Layers, slice: Slice}} State
 * @typedef {{data: Data, degree: number, scaled: boolean}} Subject the data of a run
 */

export const MAX_POINTS = 5000;
export const MAX_CLASSES = 6;
export const MAX_DEGREE = 5;
/** Updates per second. */
export const SPEEDS = [1, 2, 4, 10, 30, 100, 300, 1000];
const MAX_LINK_CHARACTERS = 400_000;
/** Names in the `show` of earlier links, and their present names. */
const EARLIER_SHOW_NAMES = { street: "band" };
/** The same for the knobs of runs, and for the values of some knobs; `models/earlier_formats.py` has them for model files. */
const EARLIER_KNOB_NAMES = { max_passes: "max_iter", ridge: "alpha" };
const EARLIER_MULTICLASS = { argmax: "joint", "crammer-singer": "crammer_singer" };
/** @type {Record<string, {fit_intercept: boolean, penalize_intercept: boolean}>} */
const EARLIER_INTERCEPTS = {
  free: { fit_intercept: true, penalize_intercept: false },
  penalized: { fit_intercept: true, penalize_intercept: true },
  none: { fit_intercept: false, penalize_intercept: false },
};

/** @returns {State} */
export function initial() {
  return {
    data: { preset: "separable" },
    degree: 1,
    scaled: false,
    seed: 0,
    runs: [{ algorithm: "perceptron", knobs: {} }],
    focus: 0,
    t: "end",
    speed: 4,
    show: {
      regions: true, normal: true, band: true, pocket: null, average: null, vote: null, clash: true, widest: false,
    },
    slice: { x: 1, y: 2, head: 0 },
  };
}

/**
 * A state from some fields; invalid fields get their defaults, since links may come from anywhere.
 * @param {unknown} given
 * @param {State} [base]
 * @returns {State}
 */
export function merged(given, base = initial()) {
  const some = fields(given);
  const show = renamed(fields(some.show), EARLIER_SHOW_NAMES);
  const slice = fields(some.slice);
  return {
    data: checkedData(some.data) ?? base.data,
    degree: whole(some.degree, 1, MAX_DEGREE) ?? base.degree,
    scaled: typeof some.scaled === "boolean" ? some.scaled : base.scaled,
    seed: whole(some.seed, 0, 2 ** 32 - 1) ?? base.seed,
    runs: checkedRuns(some.runs) ?? base.runs,
    focus: whole(some.focus, 0, 1) ?? base.focus,
    t: some.t === "end" ? "end" : whole(some.t, 0, 1e6) ?? base.t,
    speed: whole(some.speed, 1, 1e4) ?? base.speed,
    show: /** @type {Layers} */ (
      Object.fromEntries(
        Object.entries(base.show).map(([name, was]) => [name, typeof show[name] === "boolean" ? show[name] : was]),
      )
    ),
    slice: {
      x: whole(slice.x, 0, 20) ?? base.slice.x,
      y: whole(slice.y, 0, 20) ?? base.slice.y,
      head: whole(slice.head, 0, 5) ?? base.slice.head,
    },
  };
}

/** The layers of a run whose model is the reading `keep`. @param {Layers} show @param {string | null} keep @returns {Shown} */
export function shownWith(show, keep) {
  const { pocket, average, vote } = show;
  return {
    ...show, pocket: pocket ?? keep === "pocket", average: average ?? keep === "average", vote: vote ?? keep === "vote",
  };
}

/** @param {unknown} value @returns {Record<string, unknown>} */
function fields(value) {
  return typeof value === "object" && value !== null ? /** @type {Record<string, unknown>} */ (value) : {};
}

/** @param {Record<string, unknown>} given @param {Record<string, string>} names present names by earlier name */
function renamed(given, names) {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [present(name, names), value]));
}

/** The present word for an earlier one, and any other word itself. @param {string} word @param {Record<string, string>} words */
function present(word, words) {
  return Object.hasOwn(words, word) ? words[word] : word;
}

/** @param {unknown} value @param {number} low @param {number} high @returns {number | undefined} */
function whole(value, low, high) {
  return typeof value === "number" && Number.isInteger(value) && value >= low && value <= high ? value : undefined;
}

/** @param {unknown} given @returns {Data | undefined} */
export function checkedData(given) {
  const some = fields(given);
  if (typeof some.preset === "string") return { preset: some.preset };
  const { points, labels, names, box, axes } = some;
  if (!Array.isArray(points) || !Array.isArray(labels) || points.length !== labels.length) return undefined;
  if (points.length > MAX_POINTS) return undefined;
  const finite = (/** @type {unknown} */ v) => typeof v === "number" && Math.abs(v) <= 1e9;
  if (!points.every((p) => Array.isArray(p) && p.length === 2 && p.every(finite))) return undefined;
  if (!labels.every((l) => whole(l, 0, MAX_CLASSES - 1) !== undefined)) return undefined;
  const boxed = Array.isArray(box) && box.length === 4 && box.every(finite) && box[0] < box[1] && box[2] < box[3];
  const named = Array.isArray(names) ? names.filter((n) => typeof n === "string").map((n) => n.slice(0, 60)) : [];
  const hasAxes = Array.isArray(axes) && axes.length === 2 && axes.every((name) => typeof name === "string");
  return {
    ...(hasAxes ? { axes: /** @type {[string, string]} */ (axes.map((name) => name.slice(0, 60))) } : {}),
    points: points.map(([x, y]) => /** @type {Point} */ ([x, y])),
    labels: labels.slice(),
    names: named.slice(0, MAX_CLASSES),
    box: boxed ? box.slice() : boxAround(points),
  };
}

/** @param {unknown} given @returns {Chosen[] | undefined} */
function checkedRuns(given) {
  if (!Array.isArray(given) || given.length < 1 || given.length > 2) return undefined;
  const runs = given.map((run) => {
    const { algorithm, knobs } = fields(run);
    return typeof algorithm === "string" ? { algorithm, knobs: presentKnobs(fields(knobs)) } : undefined;
  });
  return runs.every((run) => run !== undefined) ? /** @type {Chosen[]} */ (runs) : undefined;
}

/** Knobs with the present names and values for those of earlier links. @param {Record<string, unknown>} given */
function presentKnobs(given) {
  const { intercept, ...knobs } = renamed(given, EARLIER_KNOB_NAMES);
  if (typeof knobs.multiclass === "string") knobs.multiclass = present(knobs.multiclass, EARLIER_MULTICLASS);
  return typeof intercept === "string" ? { ...knobs, ...EARLIER_INTERCEPTS[intercept] } : knobs;
}

/**
 * A box around the points with some padding; a default square if there are no points.
 * @param {Point[]} points
 * @returns {number[]}
 */
export function boxAround(points) {
  if (points.length === 0) return [-1.2, 1.2, -1.2, 1.2];
  const box = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    box[0] = Math.min(box[0], x);
    box[1] = Math.max(box[1], x);
    box[2] = Math.min(box[2], y);
    box[3] = Math.max(box[3], y);
  }
  for (const n of [0, 2]) {
    const padding = (box[n + 1] - box[n]) * 0.12 || Math.max(1, Math.abs(box[n]) * 0.1);
    box[n] -= padding;
    box[n + 1] += padding;
  }
  return box;
}

/**
 * Round to the decimals that a box of this size can show, so that links are short and exact.
 * @param {number} value @param {number[]} box
 */
export function rounded(value, box) {
  const digits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(Math.max(box[1] - box[0], box[3] - box[2], 1e-6) / 2))));
  return Number(value.toFixed(digits));
}

// --- changes of the points; each returns new data -----------------------------------------------

/** @param {Points} data @param {Point[]} points @param {number} label @returns {Points} */
export function withPoints(data, points, label) {
  const room = Math.max(0, MAX_POINTS - data.points.length);
  const added = points.slice(0, room);
  return { ...data, points: [...data.points, ...added], labels: [...data.labels, ...added.map(() => label)] };
}

/** @param {Points} data @param {number} row @param {Point} point @returns {Points} */
export function withMoved(data, row, point) {
  const points = data.points.slice();
  points[row] = point;
  return { ...data, points };
}

/** @param {Points} data @param {number} row @returns {Points} */
export function without(data, row) {
  const kept = (/** @type {unknown} */ _, /** @type {number} */ n) => n !== row;
  return { ...data, points: data.points.filter(kept), labels: data.labels.filter(kept) };
}

/** @param {Points} data @returns {Points} */
export function cleared(data) {
  return { ...data, points: [], labels: [] };
}

/** Undo and redo. Values are never changed in place, so the history only keeps references. */
export class History {
  /** @param {Subject} now */
  constructor(now) {
    /** @type {Subject[]} */ this.before = [];
    /** @type {Subject[]} */ this.after = [];
    this.now = now;
  }

  /** @param {Subject} next */
  push(next) {
    this.before.push(this.now);
    if (this.before.length > 200) this.before.shift();
    this.after = [];
    this.now = next;
  }

  get canUndo() {
    return this.before.length > 0;
  }

  get canRedo() {
    return this.after.length > 0;
  }

  undo() {
    const back = this.before.pop();
    if (back !== undefined) {
      this.after.push(this.now);
      this.now = back;
    }
    return this.now;
  }

  redo() {
    const forth = this.after.pop();
    if (forth !== undefined) {
      this.before.push(this.now);
      this.now = forth;
    }
    return this.now;
  }
}

// --- the link ---------------------------------------------------------------------------------------------------------------

/**
 * The state as the part of a link after the #: the fields that differ from the defaults, as JSON, deflated, in URL-safe base64.
 * @param {State} state
 * @returns {Promise<string>}
 */
export async function toLink(state) {
  const start = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (initial()));
  const differs = Object.entries(state).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(start[name]));
  if (differs.length === 0) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(differs)));
  const small = await piped(bytes, new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of small) text += String.fromCharCode(byte);
  return `s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/**
 * The state in a link; undefined if there is none or it cannot be read.
 * @param {string} hash
 * @returns {Promise<State | undefined>}
 */
export async function fromLink(hash) {
  const found = /(?:^#?|&)s=([\w-]+)/.exec(hash);
  if (!found || found[1].length > MAX_LINK_CHARACTERS) return undefined;
  try {
    const text = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const json = new TextDecoder().decode(await piped(bytes, new DecompressionStream("deflate-raw"), 20 * MAX_LINK_CHARACTERS));
    return merged(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {CompressionStream | DecompressionStream} through
 * @param {number} [most]  limits the size, since a short link may expand to more than memory holds
 */
async function piped(bytes, through, most = Infinity) {
  const reader = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]).stream().pipeThrough(through).getReader();
  /** @type {Uint8Array[]} */
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > most) throw new RangeError("the link is too large");
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * The runs for other points or features. First weights that were given are dropped if their number does not fit.
 * @param {Chosen[]} runs @param {number} degree @param {number} classes
 * @returns {Chosen[]}
 */
export function withValidStarts(runs, degree, classes) {
  const size = ((degree + 1) * (degree + 2)) / 2 * (classes > 2 ? classes : 1);
  const fits = (/** @type {Chosen} */ { knobs }) => !Array.isArray(knobs.start) || knobs.start.length === size;
  if (runs.every(fits)) return runs;
  return runs.map((run) => {
    if (fits(run)) return run;
    const { init: _, start: __, ...knobs } = run.knobs;
    return { ...run, knobs };
  });
}

// --- requests to Python -------------------------------------------------------------------------------------------------

/**
 * @typedef {{name: string, title: string, help: string, kind: "number" | "choice" | "flag" | "weights", default: unknown,
 *   low?: number, high?: number, log?: boolean, whole?: boolean, optional?: boolean,
 *   choices?: {value: string, title: string}[]}} Knob
 * @typedef {{name: string, title: string, group: string, estimator: string, summary: string, logged: boolean,
 *   margin: number | null, keep: string | null, knobs: Knob[]}} Algorithm margin: points with y · score up to this move the
 *   weights; null: every point does
 * @typedef {{points: Point[], labels: number[], algorithm: string, knobs: Record<string, unknown>, degree: number,
 *   scaled: boolean, seed: number}} Request
 */

/**
 * @param {State} state @param {Chosen} chosen @param {Points} data @param {Algorithm} algorithm
 * @returns {Request}
 */
export function requestOf(state, chosen, data, algorithm) {
  const knobs = Object.fromEntries(
    algorithm.knobs.map((knob) => [knob.name, knob.name in chosen.knobs ? chosen.knobs[knob.name] : knob.default]),
  );
  const { degree, scaled, seed } = state;
  return { points: data.points, labels: data.labels, algorithm: chosen.algorithm, knobs, degree, scaled, seed };
}

/**
 * A key for a request that does not depend on the order of its fields.
 * @param {unknown} value
 * @returns {string}
 */
export function keyOf(value) {
  if (Array.isArray(value)) return `[${value.map(keyOf).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${keyOf(each)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}
