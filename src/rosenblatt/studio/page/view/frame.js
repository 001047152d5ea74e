/** Maps coordinates of the data to pixels and back; y points up in the data and down in the picture. */
export class Frame {
  /**
   * @param {number[]} box the visible box, at least, [x0, x1, y0, y1]
   * @param {number} width @param {number} height pixels
   * @param {boolean} square whether both axes have the same scale, so that angles are right
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
    /** The visible box, which contains the given one. */
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

/** Whether both axes of a box can have the same scale: neither side is over three times the other. */
/** @param {number[]} box */
export function isNearlySquare([x0, x1, y0, y1]) {
  const ratio = (x1 - x0) / (y1 - y0);
  return ratio > 1 / 3 && ratio < 3;
}
