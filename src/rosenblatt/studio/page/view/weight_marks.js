/**
 * Axes of a slice of weight space, the path in it, and the marks on the path.
 *
 * @typedef {import("./weight_scene.js").WeightLook} WeightLook
 * @typedef {import("./pen.js").Pen} Pen
 */
import { measured } from "./measure.js";
import { arrow } from "./pen.js";
import { multiples, subscript, tickStep, tickText } from "./ticks.js";
import { rowColor } from "./weight_scene.js";

/** Last moves that are drawn strongly, older ones fainter. */
const TAIL_MOVES = 48;
/** Positions of the ticks. @param {WeightLook} look */
function ticksOf({ frame: { box: [x0, x1, y0, y1], width, height } }) {
  const across = tickStep(x0, x1, Math.max(2, width / 80));
  const up = tickStep(y0, y1, Math.max(2, height / 70));
  return { across, up, columns: multiples(x0, x1, across), rows: multiples(y0, y1, up) };
}

/** A grid, and the axes. @param {Pen} pen @param {WeightLook} look */
export function drawWeightGrid(pen, look) {
  const { scene: { palette }, frame } = look;
  const { width, height } = frame;
  const [x0, x1, y0, y1] = frame.box;
  const { columns, rows } = ticksOf(look);
  const grid = columns.flatMap((u) => [frame.x(u), 0, frame.x(u), height]);
  grid.push(...rows.flatMap((v) => [0, frame.y(v), width, frame.y(v)]));
  pen.segments(grid, { stroke: palette.line, width: 1 });
  const axes = [];
  if (x0 < 0 && x1 > 0) axes.push(frame.x(0), 0, frame.x(0), height);
  if (y0 < 0 && y1 > 0) axes.push(0, frame.y(0), width, frame.y(0));
  pen.segments(axes, { stroke: palette.rule, width: 1.25 });
}

/** The numbers and names of both axes. @param {Pen} pen @param {WeightLook} look */
export function drawWeightNames(pen, look) {
  const { scene: { palette, recording }, slice, frame } = look;
  const { width, height } = frame;
  const { across, up, columns, rows } = ticksOf(look);
  const small = { size: 11, fill: palette.quiet, halo: palette.card };
  const named = { size: 12, fill: palette.ink, weight: 600, halo: palette.card };
  const nameAcross = weightName(recording.features.names, slice.x);
  const clear = width - 16 - measured(nameAcross, 12, 600);
  for (const u of columns) {
    const px = frame.x(u);
    if (px > 16 && px < clear - 12) pen.text(px, height - 6, tickText(u, across), { ...small, anchor: "middle" });
  }
  for (const v of rows) {
    const py = frame.y(v);
    if (py > 34 && py < height - 24) pen.text(6, py + 4, tickText(v, up), small);
  }
  pen.text(width - 8, height - 6, nameAcross, { ...named, anchor: "end" });
  pen.text(6, 17, weightName(recording.features.names, slice.y), named);
}

/** @param {string[]} names @param {number} index */
function weightName(names, index) {
  const letter = `w${subscript(index)}`;
  return index === 0 ? `${letter} (bias)` : `${letter} · ${names[index - 1] ?? ""}`;
}

/** Pixels of w(from)..w(to). @param {WeightLook} look @param {number} from @param {number} to @returns {number[]} */
export function pathPixels({ frame, path }, from, to) {
  /** @type {number[]} */
  const out = [];
  let [px, py] = [NaN, NaN];
  for (let t = from; t <= to; t++) {
    const [x, y] = [frame.x(path[2 * t]), frame.y(path[2 * t + 1])];
    // Moves of less than a third of a pixel are not visible, and there may be thousands.
    if (t !== to && Math.abs(x - px) < 0.33 && Math.abs(y - py) < 0.33) continue;
    out.push(x, y);
    [px, py] = [x, y];
  }
  return out;
}

/** Opacity of all but the last moves; thousands overlap. @param {WeightLook} look */
export function pathAlpha({ scene: { recording } }) {
  return recording.length > 2000 ? 0.24 : 0.42;
}

/** The path's line style: many moves are drawn finer. @param {WeightLook} look */
export function pathStyle({ scene: { palette, recording } }) {
  return { stroke: palette.ink, width: recording.length > 600 ? 0.75 : 1.25, round: true };
}

/** The last moves, the newest strongest, and the last one as an arrow. @param {Pen} pen @param {WeightLook} look */
export function drawTail(pen, look) {
  const { scene, frame, path } = look;
  const { t, palette, recording } = scene;
  const stride = TAIL_MOVES / 6;
  for (let n = 5; n >= 0; n--) {
    const [from, to] = [Math.max(0, t - 1 - (n + 1) * stride), Math.max(0, t - 1 - n * stride)];
    if (from >= to) continue;
    pen.line(pathPixels(look, from, to), { ...pathStyle(look), width: 1.5, alpha: 1 - n * 0.11 });
  }
  if (recording.run.frames && recording.length <= 80) {
    pen.marks(0, pathPixels(look, 0, t), 2, { fill: palette.ink, alpha: 0.7 });
  }
  if (t > 0) {
    const causes = recording.causes(t, 2);
    const color = causes.length === 1 ? rowColor(scene, causes[0]) : palette.ink;
    const [x, y, u, v] = frame.all(path.subarray(2 * t - 2, 2 * t + 2));
    arrow(pen, x, y, u, v, palette.card, { width: 6, head: 13 });
    arrow(pen, x, y, u, v, color, { width: 2.5, head: 11 });
  }
}

/** Marks for the start, the pocket, the average and the current weights. @param {Pen} pen @param {WeightLook} look */
export function drawWeightMarks(pen, look) {
  const { scene, slice, frame, path } = look;
  const { t, palette, recording, show } = scene;
  const [x, y] = [frame.x(path[2 * t]), frame.y(path[2 * t + 1])];
  const at = (/** @type {number} */ n) => /** @type {[number, number]} */ ([frame.x(path[2 * n]), frame.y(path[2 * n + 1])]);
  /** @type {{place: [number, number], name: string, fill: string}[]} */
  const names = [];
  if (t > 0) pen.circle(...at(0), 3.5, { fill: palette.card, stroke: palette.ink, width: 1.5 });
  const mean = show?.average ? recording.averageAt(t) : undefined;
  if (mean) {
    const from = slice.head * recording.width;
    const place = /** @type {[number, number]} */ ([frame.x(mean[from + slice.x]), frame.y(mean[from + slice.y])]);
    pen.marks(1, place, 6, { fill: palette.average, stroke: palette.card, width: 1.5 });
    names.push({ place, name: "average", fill: palette.average });
  }
  const best = show?.pocket ? recording.pocketAt(t) : undefined;
  const since = best && (best.heads?.[slice.head] ?? best.t);
  const kept = since !== undefined && recording.unmoved(slice.head, since, t);
  if (since !== undefined && !kept) {
    pen.marks(3, at(since), 6.5, { fill: palette.pocket, stroke: palette.card, width: 1.5 });
    names.push({ place: at(since), name: "pocket", fill: palette.pocket });
  }
  pen.circle(x, y, 5, { fill: palette.ink, stroke: palette.card, width: 2 });
  names.push({ place: [x, y], name: kept ? "w = pocket" : "w", fill: kept ? palette.pocket : palette.ink });
  const marks = names.map(({ place: [u, v] }) => [u - 7, u + 7, v - 7, v + 7]);
  // Names must not cover the arrow of the last move.
  if (t > 0) marks.push(arrowEnd(x, y, ...at(t - 1)));
  for (const { place, name, fill } of names.reverse()) {
    const [px, py] = freePlace(place, measured(name, 12, 600), marks, frame);
    pen.text(px, py, name, { size: 12, weight: 600, fill, halo: palette.card });
  }
}

/** A box around the head of an arrow that ends at (x, y). */
/** @param {number} x @param {number} y @param {number} u @param {number} v @returns {number[]} */
function arrowEnd(x, y, u, v) {
  const long = Math.hypot(u - x, v - y) || 1;
  const [p, q] = [x + ((u - x) / long) * Math.min(16, long), y + ((v - y) / long) * Math.min(16, long)];
  return [Math.min(x, p) - 3, Math.max(x, p) + 3, Math.min(y, q) - 3, Math.max(y, q) + 3];
}

/**
 * The position of a mark's name: the first free place around it, which is then marked as taken.
 * @param {[number, number]} place @param {number} long @param {number[][]} taken boxes
 * @param {{width: number, height: number}} paper
 * @returns {[number, number]}
 */
function freePlace([x, y], long, taken, { width, height }) {
  const boxes = [[9, -5], [-long / 2, -11], [9, 16], [-long / 2, 21], [-long - 9, -5], [-long - 9, 16]].map(([dx, dy]) => {
    return [x + dx, x + dx + long, y + dy - 11, y + dy + 3];
  });
  const free = boxes.find(([x0, x1, y0, y1]) => {
    const apart = taken.every(([a, b, c, d]) => x1 < a || x0 > b || y1 < c || y0 > d);
    return apart && x0 >= 2 && x1 <= width - 2 && y0 >= 2 && y1 <= height - 2;
  }) ?? boxes[0];
  taken.push(free);
  return [free[0], free[3] - 3];
}

/** A text about the solution, if it is not visible. @param {Pen} pen @param {WeightLook} look */
export function drawVerdict(pen, { scene: { palette, margin = 0 }, frame, solution: { polygon, away }, stuck }) {
  const { width, height } = frame;
  /** @type {{words: string, fill: string}[]} */
  const lines = [];
  if (polygon.length === 0) {
    const right = margin > 0 ? "keeps the margin" : "gets all points right";
    lines.push(away ? { words: `w that ${right} is outside this view`, fill: palette.vote }
      : { words: `no w in this slice ${right}`, fill: palette.alarm });
  }
  const rows = stuck === 1 ? "1 point is" : `${stuck} points are`;
  if (stuck > 0) lines.push({ words: `${rows} wrong between other classes`, fill: palette.quiet });
  const low = height - 30 - 18 * (lines.length - 1);
  const half = Math.max(...lines.map(({ words }) => measured(words, 12, 600)), 0) / 2 + 8;
  if (lines.length > 0) {
    const [x0, x1, y0, y1] = [width / 2 - half, width / 2 + half, low - 15, height - 24];
    pen.polygon([x0, y0, x1, y0, x1, y1, x0, y1], { fill: palette.card, alpha: 0.88 });
  }
  lines.forEach(({ words, fill }, n) => {
    pen.text(width / 2, low + 18 * n, words, { size: 12, weight: 600, anchor: "middle", fill });
  });
  if (!away) return;
  const [u, v] = [frame.x(away[0]), frame.y(away[1])];
  const [cx, cy] = [width / 2, height / 2];
  const part = Math.min((cx - 12) / Math.abs(u - cx || 1e-9), (cy - 12) / Math.abs(v - cy || 1e-9));
  const long = Math.hypot(u - cx, v - cy) || 1;
  const [x, y] = [cx + (u - cx) * part, cy + (v - cy) * part];
  arrow(pen, x - (22 * (u - cx)) / long, y - (22 * (v - cy)) / long, x, y, palette.vote, { width: 2.5, head: 11 });
}
