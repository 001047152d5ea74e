/**
 * An offscreen canvas: static parts are drawn here once and copied into each frame.
 *
 * @typedef {{canvas: HTMLCanvasElement, context: CanvasRenderingContext2D}} Sheet a paper or a layer
 */
import { CanvasPen } from "./pen.js";

export class Layer {
  constructor() {
    this.canvas = document.createElement("canvas");
    const context = this.canvas.getContext("2d");
    if (!context) throw new Error("This browser does not support canvas.");
    this.context = context;
    this.pen = new CanvasPen(context);
    /** @type {unknown[]} */
    this.made = [];
  }

  /**
   * Clear the layer and give it the size of the paper if any of its inputs changed; returns whether it must be drawn.
   * @param {Sheet} paper @param {unknown[]} of
   */
  renew(paper, of) {
    const { width, height } = paper.canvas;
    const all = [width, height, ...of];
    if (all.length === this.made.length && all.every((each, n) => each === this.made[n])) return false;
    this.made = all;
    // Setting the size clears a canvas, even if it is the same.
    [this.canvas.width, this.canvas.height] = [width, height];
    this.context.setTransform(paper.context.getTransform());
    return true;
  }

  wipe() {
    const { context, canvas } = this;
    context.save();
    context.resetTransform();
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.restore();
  }

  /** Copy the layer, or a part [x0, x1, y0, y1], to another canvas. */
  /** @param {Sheet} onto @param {number} [alpha] @param {number[]} [part] */
  copy({ context }, alpha = 1, part) {
    const { width, height } = this.canvas;
    const { a: ratio } = context.getTransform();
    const [left, right, top, bottom] = part ? part.map((edge) => Math.round(edge * ratio)) : [0, width, 0, height];
    const [wide, high] = [Math.min(width, right) - left, Math.min(height, bottom) - top];
    if (wide <= 0 || high <= 0) return;
    context.save();
    context.resetTransform();
    context.globalAlpha = alpha;
    context.drawImage(this.canvas, left, top, wide, high, left, top, wide, high);
    context.restore();
  }
}
