/**
 * Weight space, linked to the plane: each point is a half-plane, and the path of w walks towards what they share.
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

/** Pixels from a line at which it is still meant. */
const NEAR = 6;
/**
 * Moves that are put on the path's layer at once, whole stretches only: so the picture depends on t and not on how one came
 * there. The renderers of browsers take long for one very long line, too.
 */
const STRETCH = 64;

/** The whole picture at once, for any paper. */
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
    /** The path so far, as far as there are whole stretches. */
    this.walk = new Layer();
    this.walkedTo = 0;
    /** Pictures of the path a quarter, a half, ... of the way, so that a step back need not start over. */
    /** @type {{t: number, layer: Layer}[]} */
    this.rests = [];
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
    this.walkTo(look);
    this.walk.copy(paper, pathAlpha(look));
    paper.pen.line(pathPixels(look, this.walkedTo, look.scene.t), { ...pathStyle(look), alpha: pathAlpha(look) });
    drawOver(paper.pen, look);
  }

  /** Bring the path's layer to the last whole stretch before t. @param {WeightLook} look */
  walkTo(look) {
    const { paper, walk } = this;
    const { recording, t, palette } = look.scene;
    const { x, y, head } = look.slice;
    if (walk.renew(paper, [recording, x, y, head, palette.ink])) {
      this.walkedTo = 0;
      this.rests = [];
    } else if (t < this.walkedTo) {
      walk.wipe();
      const rest = this.rests.findLast((each) => each.t <= t);
      this.walkedTo = rest?.t ?? 0;
      if (rest) rest.layer.copy(walk);
    }
    const quarter = STRETCH * Math.max(8, Math.ceil(recording.length / 4 / STRETCH));
    while (this.walkedTo + STRETCH <= t) {
      const next = this.walkedTo + STRETCH;
      walk.pen.line(pathPixels(look, this.walkedTo, next), pathStyle(look));
      this.walkedTo = next;
      if (next % quarter === 0 && !this.rests.some((each) => each.t === next)) this.rest(next);
    }
  }

  /** @param {number} t */
  rest(t) {
    const layer = new Layer();
    layer.renew(this.paper, []);
    this.walk.copy(layer);
    this.rests.push({ t, layer });
    this.rests.sort((a, b) => a.t - b.t);
  }

  /** The row whose line is nearest to a pixel, if one is near. */
  /** @param {number} px @param {number} py @returns {number | null} */
  hit(px, py) {
    let [found, least] = [-1, NEAR];
    for (const { row, a, b, c } of this.look?.boundaries ?? []) {
      const far = Math.abs(a * px + b * py + c) / Math.hypot(a, b);
      if (far < least) [found, least] = [row, far];
    }
    return found < 0 ? null : found;
  }

  /** The head's weights with those of the slice taken from a pixel. */
  /** @param {number} px @param {number} py @returns {number[]} */
  at(px, py) {
    if (!this.look) return [];
    const { scene: { recording, t }, slice, frame } = this.look;
    const weights = Array.from(recording.at(t).subarray(slice.head * recording.width, (slice.head + 1) * recording.width));
    [weights[slice.x], weights[slice.y]] = frame.back(px, py);
    return weights;
  }
}
