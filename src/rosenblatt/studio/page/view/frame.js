/** From the data's coordinates to pixels and back: y grows upwards in data, downwards on paper. */
export class Frame {
  /**
   * @param {number[]} box what must be seen, [x0, x1, y0, y1]
   * @param {number} width @param {number} height pixels
   * @param {boolean} square whether both axes have one scale, so that right angles look it
   */
  constructor(box, width, height, square = true) {
    let [x0, x1, y0, y1] = box;
    this.sx = width / (x1 - x0);
    this.sy = height / (y1 - y0);
    if (square) {
      const scale = Math.min(this.sx, this.sy);
      const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
      [x0, x1, y0, y1] = [cx - width / scale / 2, cx + width / scale / 2, cy - height / scale / 2, cy + height / scale / 2];
      this.sx = this.sy = scale;
    }
    /** What is seen, at least the box that was asked for. */
    this.box = [x0, x1, y0, y1];
    this.width = width;
    this.height = height;
  }

  /** @param {number} value */
  x(value) {
    return (value - this.box[0]) * this.sx;
  }

  /** @param {number} value */
  y(value) {
    return this.height - (value - this.box[2]) * this.sy;
  }

  /** Flat points as pixels. @param {ArrayLike<number>} points @returns {number[]} */
  all(points) {
    const out = new Array(points.length);
    for (let n = 0; n + 1 < points.length; n += 2) {
      out[n] = this.x(points[n]);
      out[n + 1] = this.y(points[n + 1]);
    }
    return out;
  }

  /** Data coordinates of a pixel. @param {number} px @param {number} py @returns {[number, number]} */
  back(px, py) {
    return [this.box[0] + px / this.sx, this.box[2] + (this.height - py) / this.sy];
  }
}

/** Whether a box is better drawn with one scale for both axes: not where one side is over three times the other. */
/** @param {number[]} box */
export function squareish([x0, x1, y0, y1]) {
  const ratio = (x1 - x0) / (y1 - y0);
  return ratio > 1 / 3 && ratio < 3;
}
