/**
 * The view of weight space: each point is a half-plane, and the path of w leads toward their intersection.
 *
 * @typedef {import("./weight_scene.js").WeightScene} WeightScene
 * @typedef {import("./weight_scene.js").WeightLook} WeightLook
 * @typedef {import("./pen.js").Pen} Pen
 */
import { Layer } from "./layer.js";
import { Paper } from "./paper.js";
import { drawTail, drawVerdict, drawWeightGrid, drawWeightMarks, drawWeightNames } from "./weight_marks.js";
import { pathAlpha, pathPixels, pathStyle } from "./weight_marks.js";
import { drawHalfPlanes, weightLook } from "./weight_scene.js";

/** Distance from a line at which the pointer selects it. */
const HIT_DISTANCE_PX = 6;
/**
 * Moves that are added to the layer of the path at a time, only in whole chunks, so that the picture depends on t alone.
 * Browsers are also slow at drawing one very long line.
 */
const MOVES_PER_CHUNK = 64;

/** Draw the whole picture with any pen. */
/** @param {Pen} pen @param {number} width @param {number} height @param {WeightScene} scene */
export function drawWeights(pen, width, height, scene) {
  const look = weightLook(scene, width, height);
  pen.inside(0, 0, width, height, () => {
    drawUnder(pen, look);
    pen.line(pathPixels(look, 0, look.scene.t), { ...pathStyle(look), alpha: pathAlpha(look) });
    drawOver(pen, look);
  });
}

/** @param {Pen} pen @param {WeightLook} look */
function drawUnder(pen, look) {
  drawWeightGrid(pen, look);
  drawHalfPlanes(pen, look);
}

/** @param {Pen} pen @param {WeightLook} look */
function drawOver(pen, look) {
  drawWeightNames(pen, look);
  drawTail(pen, look);
  drawWeightMarks(pen, look);
  drawVerdict(pen, look);
}

export class WeightView {
  /** @param {HTMLElement} holder */
  constructor(holder) {
    this.holder = holder;
    this.paper = new Paper(holder, "weights");
    /** The path so far, in whole chunks. */
    this.pathLayer = new Layer();
    this.drawnTo = 0;
    /** Snapshots of the path at a quarter, a half, ..., so that a step back does not start over. */
    /** @type {{t: number, layer: Layer}[]} */
    this.snapshots = [];
    /** @type {WeightLook | null} */
    this.look = null;
  }

  /** @param {WeightScene} scene */
  draw(scene) {
    const { paper, holder } = this;
    paper.fit(Math.max(1, holder.clientWidth), Math.max(1, holder.clientHeight));
    const look = weightLook(scene, paper.width, paper.height);
    this.look = look;
    paper.clear();
    drawUnder(paper.pen, look);
    this.drawPathTo(look);
    this.pathLayer.copy(paper, pathAlpha(look));
    paper.pen.line(pathPixels(look, this.drawnTo, look.scene.t), { ...pathStyle(look), alpha: pathAlpha(look) });
    drawOver(paper.pen, look);
  }

  /** Draw the path up to the last whole chunk before t. @param {WeightLook} look */
  drawPathTo(look) {
    const { paper, pathLayer } = this;
    const { recording, t, palette } = look.scene;
    const { x, y, head } = look.slice;
    if (pathLayer.renew(paper, [recording, x, y, head, palette.ink])) {
      this.drawnTo = 0;
      this.snapshots = [];
    } else if (t < this.drawnTo) {
      pathLayer.wipe();
      const snapshot = this.snapshots.findLast((each) => each.t <= t);
      this.drawnTo = snapshot?.t ?? 0;
      if (snapshot) snapshot.layer.copy(pathLayer);
    }
    const quarter = MOVES_PER_CHUNK * Math.max(8, Math.ceil(recording.length / 4 / MOVES_PER_CHUNK));
    while (this.drawnTo + MOVES_PER_CHUNK <= t) {
      const next = this.drawnTo + MOVES_PER_CHUNK;
      pathLayer.pen.line(pathPixels(look, this.drawnTo, next), pathStyle(look));
      this.drawnTo = next;
      if (next % quarter === 0 && !this.snapshots.some((each) => each.t === next)) this.takeSnapshot(next);
    }
  }

  /** @param {number} t */
  takeSnapshot(t) {
    const layer = new Layer();
    layer.renew(this.paper, []);
    this.pathLayer.copy(layer);
    this.snapshots.push({ t, layer });
    this.snapshots.sort((a, b) => a.t - b.t);
  }

  /** The row whose line is nearest to a pixel, or null. */
  /** @param {number} px @param {number} py @returns {number | null} */
  hit(px, py) {
    let [found, least] = [-1, HIT_DISTANCE_PX];
    for (const { row, a, b, c } of this.look?.boundaries ?? []) {
      const far = Math.abs(a * px + b * py + c) / Math.hypot(a, b);
      if (far < least) [found, least] = [row, far];
    }
    return found < 0 ? null : found;
  }

  /** The weights of the head, with those of the slice taken from a pixel. */
  /** @param {number} px @param {number} py @returns {number[]} */
  at(px, py) {
    if (!this.look) return [];
    const { scene: { recording, t }, slice, frame } = this.look;
    const weights = Array.from(recording.at(t).subarray(slice.head * recording.width, (slice.head + 1) * recording.width));
    [weights[slice.x], weights[slice.y]] = frame.back(px, py);
    return weights;
  }
}
