/**
 * The plane: points, regions, the line, its normal, and the last update. It has three canvases, since the many points rarely
 * change, while the line changes in every frame.
 *
 * @typedef {import("../model/state.js").Points} Points
 * @typedef {import("../model/state.js").Shown} Shown
 * @typedef {import("../model/recording.js").Recording} Recording
 * @typedef {import("../model/recording.js").Proof} Proof
 * @typedef {import("./paper.js").Palette} Palette
 * @typedef {import("./pen.js").Pen} Pen
 * @typedef {{data: Points, recording: Recording | null, proof: Proof | null, t: number, show: Shown, palette: Palette,
 *   hover: number | null, margin: number, cursor: [number, number] | null}} Scene
 */
import { VoteCount, voters } from "./votes.js";
import { Frame, isNearlySquare } from "./frame.js";
import { shortened } from "./measure.js";
import { Paper } from "./paper.js";
import { drawNormals } from "./normals.js";
import { drawProof } from "./proof_marks.js";
import { Surface } from "./surface.js";
import { multiples, tickStep, tickText } from "./ticks.js";

const HIT_RADIUS_PX = 12; // within which the pointer selects a point

export class PlaneView {
  /** @param {HTMLElement} holder */
  constructor(holder) {
    this.holder = holder;
    this.ground = new Paper(holder, "ground");
    this.cloud = new Paper(holder, "cloud");
    this.over = new Paper(holder, "over");
    this.frame = new Frame([-1, 1, -1, 1], 300, 300);
    /** @type {Surface | null} */
    this.surface = null;
    /** @type {VoteCount | null} */
    this.votes = null;
    /** @type {unknown[]} the inputs of the current cloud */
    this.clouded = [];
    this.pending = false; // whether votes are still being counted
  }

  /** @param {Scene} scene */
  draw(scene) {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (!width || !height) return;
    const resized = [this.ground, this.cloud, this.over].map((paper) => paper.fit(width, height)).some(Boolean);
    this.frame = frameOf(scene.data, width, height);
    const wrong = wrongRows(scene);
    const cloud = [scene.data.points, scene.data.labels, scene.palette, ...this.frame.box];
    if (resized || cloud.some((value, n) => value !== this.clouded[n])) {
      this.clouded = cloud;
      this.cloud.clear();
      drawCloud(this.cloud.pen, this.frame, scene);
    }
    this.prepare(scene);
    this.ground.clear();
    drawGround(this.ground.pen, this.frame, scene, this.surface);
    this.over.clear();
    drawOver(this.over.pen, this.frame, scene, this.surface, this.votes, wrong);
  }

  /** @param {Scene} scene */
  prepare({ recording, show, t }) {
    const { box } = this.frame;
    const old = this.surface;
    if (!recording) this.surface = null;
    else if (!old || old.recording !== recording || old.box.some((edge, n) => edge !== box[n])) {
      this.surface = new Surface(recording, box);
      this.votes = null;
    }
    this.pending = false;
    if (recording && show.vote && recording.votes.length) {
      this.votes ??= new VoteCount(recording, box);
      this.pending = !this.votes.count(t, 8);
    }
  }

  /** The row of the point at a pixel, or null. @param {Points} data @param {number} px @param {number} py */
  hit(data, px, py) {
    let best = HIT_RADIUS_PX * HIT_RADIUS_PX;
    let found = null;
    data.points.forEach(([x, y], n) => {
      const distance = (this.frame.x(x) - px) ** 2 + (this.frame.y(y) - py) ** 2;
      if (distance < best) [best, found] = [distance, n];
    });
    return /** @type {number | null} */ (found);
  }
}

/** @param {Points} data @param {number} width @param {number} height */
export function frameOf(data, width, height) {
  return new Frame(data.box, width, height, isNearlySquare(data.box));
}

/** The whole picture with one pen, for files. @param {Pen} pen @param {number} width @param {number} height @param {Scene} scene */
export function drawPlane(pen, width, height, scene) {
  const frame = frameOf(scene.data, width, height);
  const surface = scene.recording ? new Surface(scene.recording, frame.box) : null;
  const voteCount = scene.recording && scene.show.vote ? new VoteCount(scene.recording, frame.box) : null;
  voteCount?.count(scene.t, 20_000);
  pen.inside(0, 0, width, height, () => {
    drawGround(pen, frame, scene, surface);
    drawCloud(pen, frame, scene);
    drawOver(pen, frame, scene, surface, voteCount, wrongRows(scene));
  });
}

// --- the ground: axes and regions -------------------------------------------------------------------------------------------

/** @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface | null} surface */
function drawGround(pen, frame, scene, surface) {
  const { palette, recording, show } = scene;
  if (recording && surface && show.regions) {
    const w = recording.at(scene.t);
    if (w.some((v) => v !== 0)) {
      surface.regions(w).forEach((parts, position) => {
        const fill = palette.classes[recording.run.classes[position]];
        pen.polygons(parts.map((part) => frame.all(part)), { fill, alpha: palette.dark ? 0.17 : 0.12 });
      });
    }
  }
  drawAxes(pen, frame, palette, scene.data.axes);
}

/** @param {Pen} pen @param {Frame} frame @param {Palette} palette @param {[string, string]} [axes] what the coordinates are */
function drawAxes(pen, frame, palette, axes) {
  const [x0, x1, y0, y1] = frame.box;
  const { width, height } = frame;
  const faint = { stroke: palette.rule, width: 1, alpha: 0.55 };
  if (x0 < 0 && x1 > 0) pen.line([frame.x(0), 0, frame.x(0), height], faint);
  if (y0 < 0 && y1 > 0) pen.line([0, frame.y(0), width, frame.y(0)], faint);
  const words = { size: 11, fill: palette.quiet, halo: palette.card };
  const [across, up] = [tickStep(x0, x1, Math.max(3, width / 90)), tickStep(y0, y1, Math.max(3, height / 80))];
  for (const value of multiples(x0, x1, across)) {
    const x = frame.x(value);
    if (x < 26 || x > width - 14) continue;
    pen.line([x, height, x, height - 4], faint);
    pen.text(x, height - 8, tickText(value, across), { ...words, anchor: "middle" });
  }
  for (const value of multiples(y0, y1, up)) {
    const y = frame.y(value);
    if (y > height - 20 || y < (axes ? 34 : 12)) continue;
    pen.line([0, y, 4, y], faint);
    pen.text(8, y + 4, tickText(value, up), words);
  }
  if (!axes) return;
  const name = { ...words, weight: 600 };
  pen.text(width - 8, height - 24, shortened(axes[0], 0.7 * width, 11, 600), { ...name, anchor: "end" });
  pen.text(8, 16, shortened(axes[1], 0.9 * width, 11, 600), name);
}

// --- the cloud: points ------------------------------------------------------------------------------------------------------

/** The size of a point: smaller if there are many. @param {number} count @param {Frame} frame */
function markSize(count, frame) {
  const room = Math.min(frame.width, frame.height) / 90;
  return Math.max(2.2, Math.min(room, 9, 50 / Math.sqrt(count + 1)));
}

/** @param {Pen} pen @param {Frame} frame @param {Scene} scene */
function drawCloud(pen, frame, { data, palette }) {
  const size = markSize(data.points.length, frame);
  /** @type {number[][]} */
  const clouds = [[], [], [], [], [], []];
  data.points.forEach(([x, y], n) => clouds[data.labels[n]].push(frame.x(x), frame.y(y)));
  clouds.forEach((points, c) => {
    if (points.length) pen.marks(c, points, size, { fill: palette.classes[c], stroke: palette.card, width: 1 });
  });
}

/** Rows that the hypothesis at t has on the wrong side. @param {Scene} scene @returns {number[]} */
function wrongRows({ recording, t, data }) {
  if (!recording || recording.count !== data.points.length) return [];
  const w = recording.at(t);
  const binary = recording.run.scheme === "binary";
  /** @type {number[]} */
  const wrong = [];
  for (let n = 0; n < recording.count; n++) {
    const own = recording.codes[n];
    if (binary) {
      const score = recording.score(w, 0, recording.rows, n);
      if (!((own === 1 ? score : -score) > 0)) wrong.push(n); // a row on the plane is a mistake
    } else if (recording.classify(w, recording.rows, n) !== own) wrong.push(n);
  }
  return wrong;
}

// --- over it: lines, arrows, rings --------------------------------------------------------------------------------------------

/**
 * @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface | null} surface @param {VoteCount | null} voteCount
 * @param {number[]} wrong
 */
function drawOver(pen, frame, scene, surface, voteCount, wrong) {
  const { data, palette, recording, t } = scene;
  const size = markSize(data.points.length, frame);
  /** @type {number[][]} */
  const hollow = [[], [], [], [], [], []];
  for (const n of wrong) hollow[data.labels[n]].push(frame.x(data.points[n][0]), frame.y(data.points[n][1]));
  hollow.forEach((points, c) => {
    const style = { fill: palette.card, stroke: palette.classes[c], width: Math.min(2, size / 2.5) };
    if (points.length) pen.marks(c, points, size * 0.9, style);
  });
  if (recording && surface && recording.count === data.points.length) {
    drawMargin(pen, frame, scene, surface);
    drawReadings(pen, frame, scene, surface, voteCount);
    if (t > 0 && recording.run.log) {
      const before = surface.boundaryAt(t - 1);
      pen.segments(frame.all(before), { stroke: palette.ink, width: 1.5, dash: [5, 5], alpha: 0.45 });
    }
    pen.segments(frame.all(surface.boundaryAt(t)), { stroke: palette.ink, width: 2.5 });
    drawCauses(pen, frame, scene, size);
    if (scene.show.normal && recording.linear) drawNormals(pen, frame, scene, surface);
  }
  drawProof(pen, frame, scene, surface);
  if (scene.hover !== null && data.points[scene.hover]) {
    const [x, y] = data.points[scene.hover];
    pen.circle(frame.x(x), frame.y(y), size + 5, { stroke: palette.ink, width: 2 });
  }
  if (scene.cursor) {
    const [x, y] = [frame.x(scene.cursor[0]), frame.y(scene.cursor[1])];
    pen.segments([x - 14, y, x + 14, y, x, y - 14, x, y + 14], { stroke: palette.card, width: 4 });
    pen.segments([x - 14, y, x + 14, y, x, y - 14, x, y + 14], { stroke: palette.ink, width: 1.5 });
  }
}

/** The margin: a band along the line, and the support vectors. */
/** @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface} surface */
function drawMargin(pen, frame, { recording, show, t, palette, data, margin }, surface) {
  if (!recording || !show.band || !(margin > 0)) return;
  const w = recording.at(t);
  if (recording.run.scheme === "binary") {
    pen.polygons(surface.strip(w, margin).map((part) => frame.all(part)), { fill: palette.ink, alpha: 0.06 });
    for (const value of [-margin, margin]) {
      pen.segments(frame.all(surface.level(w, value)), { stroke: palette.ink, width: 1.2, dash: [2, 4], alpha: 0.8 });
    }
  }
  const support = recording.run.frames?.support?.[t] ?? (t === recording.length ? recording.run.svm?.support : null);
  const rings = (support ?? []).filter((n) => data.points[n]);
  for (const n of rings.slice(0, 400)) {
    const [x, y] = data.points[n];
    pen.circle(frame.x(x), frame.y(y), 10, { stroke: palette.ink, width: 1.4 });
  }
}

/** @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface} surface @param {VoteCount | null} voteCount */
function drawReadings(pen, frame, { recording, show, t, palette }, surface, voteCount) {
  if (!recording) return;
  if (show.vote && recording.votes.length) {
    for (const { n, head, share } of voters(recording, t)) {
      const alpha = 0.06 + 0.5 * share;
      const line = head === null ? surface.boundaryAt(n) : surface.level(recording.at(n), 0, head);
      pen.segments(frame.all(line), { stroke: palette.vote, width: 1 + 2 * share, alpha });
    }
    if (voteCount) pen.segments(frame.all(voteCount.boundary()), { stroke: palette.vote, width: 3 });
  }
  const average = show.average && recording.averageAt(t);
  if (average) pen.segments(frame.all(surface.boundary(average)), { stroke: palette.average, width: 2.5, dash: [10, 4] });
  const pocket = show.pocket && recording.pocketAt(t);
  if (pocket) {
    const line = pocket.weights ? surface.boundary(pocket.weights) : surface.boundaryAt(pocket.t);
    pen.segments(frame.all(line), { stroke: palette.pocket, width: 2.5, dash: [3, 3] });
  }
}

/** Rings around the points of the last update. */
/** @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {number} size */
function drawCauses(pen, frame, { recording, t, data, palette }, size) {
  if (!recording) return;
  const causes = recording.causes(t);
  for (const n of causes) {
    const [x, y] = [frame.x(data.points[n][0]), frame.y(data.points[n][1])];
    const color = palette.classes[data.labels[n]];
    pen.circle(x, y, size + 5, { stroke: color, width: causes.length > 1 ? 1.5 : 2.5 });
    if (causes.length === 1) pen.circle(x, y, size + 9, { stroke: color, width: 1.2, alpha: 0.5 });
  }
}
