/**
 * Pens with one interface for canvas and SVG. Coordinates are pixels of the picture.
 *
 * @typedef {{fill?: string, stroke?: string, width?: number, dash?: number[], alpha?: number, round?: boolean}} Style
 * @typedef {{size?: number, anchor?: "start" | "middle" | "end", fill: string, weight?: number, halo?: string,
 *   alpha?: number}} Lettering
 * @typedef {{
 *   polygon(points: ArrayLike<number>, style: Style): void,
 *   polygons(parts: number[][], style: Style): void,
 *   line(points: ArrayLike<number>, style: Style): void,
 *   segments(points: ArrayLike<number>, style: Style): void,
 *   circle(x: number, y: number, radius: number, style: Style): void,
 *   marks(shape: number, points: ArrayLike<number>, radius: number, style: Style): void,
 *   text(x: number, y: number, words: string, lettering: Lettering): void,
 *   inside(x: number, y: number, width: number, height: number, draw: () => void): void,
 * }} Pen
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/**
 * Shapes of classes, as polygons around (0, 0) of radius 1; the first is a circle.
 * @type {number[][]}
 */
const SHAPES = [
  [],
  [-0.85, -0.85, 0.85, -0.85, 0.85, 0.85, -0.85, 0.85],
  [0, -1.1, 1, 0.75, -1, 0.75],
  [0, -1.2, 1.1, 0, 0, 1.2, -1.1, 0],
  [-0.38, -1.05, 0.38, -1.05, 0.38, -0.38, 1.05, -0.38, 1.05, 0.38, 0.38, 0.38, 0.38, 1.05, -0.38, 1.05, -0.38, 0.38, -1.05,
    0.38, -1.05, -0.38, -0.38, -0.38],
  star(),
];

function star() {
  return Array.from({ length: 20 }, (_, n) => {
    const turn = (Math.PI * (n >> 1)) / 5 - Math.PI / 2;
    return (((n >> 1) % 2 ? 0.52 : 1.2) * (n % 2 ? Math.sin(turn) : Math.cos(turn)));
  });
}

/** @implements {Pen} */
export class CanvasPen {
  /** @param {CanvasRenderingContext2D} context */
  constructor(context) {
    this.context = context;
  }

  /** @param {Style} style */
  paint({ fill, stroke, width = 1, dash, alpha = 1, round }) {
    const { context } = this;
    context.globalAlpha = alpha;
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash ?? []);
      context.lineCap = round ? "round" : "butt";
      context.lineJoin = round ? "round" : "miter";
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** @param {ArrayLike<number>} points */
  trace(points) {
    const { context } = this;
    if (points.length < 2) return;
    context.moveTo(points[0], points[1]);
    for (let n = 2; n + 1 < points.length; n += 2) context.lineTo(points[n], points[n + 1]);
  }

  /** @param {ArrayLike<number>} points @param {Style} style */
  polygon(points, style) {
    this.context.beginPath();
    this.trace(points);
    this.context.closePath();
    this.paint(style);
  }

  /** @param {number[][]} parts @param {Style} style */
  polygons(parts, style) {
    this.context.beginPath();
    for (const part of parts) {
      this.trace(part);
      this.context.closePath();
    }
    this.paint(style);
  }

  /** @param {ArrayLike<number>} points @param {Style} style */
  line(points, style) {
    this.context.beginPath();
    this.trace(points);
    this.paint(style);
  }

  /** @param {ArrayLike<number>} points @param {Style} style */
  segments(points, style) {
    const { context } = this;
    context.beginPath();
    for (let n = 0; n + 3 < points.length; n += 4) {
      if (!follows(points, n)) context.moveTo(points[n], points[n + 1]);
      context.lineTo(points[n + 2], points[n + 3]);
    }
    this.paint(style);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {Style} style */
  circle(x, y, radius, style) {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.paint(style);
  }

  /** @param {number} shape @param {ArrayLike<number>} points @param {number} radius @param {Style} style */
  marks(shape, points, radius, style) {
    const { context } = this;
    const outline = SHAPES[shape % SHAPES.length];
    context.beginPath();
    for (let n = 0; n + 1 < points.length; n += 2) {
      const x = points[n];
      const y = points[n + 1];
      if (outline.length === 0) {
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 2 * Math.PI);
        continue;
      }
      context.moveTo(x + radius * outline[0], y + radius * outline[1]);
      for (let m = 2; m < outline.length; m += 2) context.lineTo(x + radius * outline[m], y + radius * outline[m + 1]);
      context.closePath();
    }
    this.paint(style);
  }

  /** @param {number} x @param {number} y @param {string} words @param {Lettering} lettering */
  text(x, y, words, { size = 12, anchor = "start", fill, weight = 400, halo, alpha = 1 }) {
    const { context } = this;
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.globalAlpha = alpha;
    if (halo) {
      context.strokeStyle = halo;
      context.lineWidth = 4;
      context.lineJoin = "round";
      context.setLineDash([]);
      context.strokeText(words, x, y);
    }
    context.fillStyle = fill;
    context.fillText(words, x, y);
    context.globalAlpha = 1;
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {() => void} draw */
  inside(x, y, width, height, draw) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }
}

/** @implements {Pen} */
export class SvgPen {
  constructor() {
    /** @type {string[]} */
    this.parts = [];
    this.clips = 0;
  }

  /** @param {ArrayLike<number>} points */
  path(points) {
    let text = "";
    for (let n = 0; n + 1 < points.length; n += 2) text += `${n ? "L" : "M"}${short(points[n])} ${short(points[n + 1])}`;
    return text;
  }

  /** @param {string} d @param {Style} style */
  add(d, { fill, stroke, width = 1, dash, alpha, round }) {
    if (!d) return;
    const line = stroke ? ` stroke="${stroke}" stroke-width="${short(width)}"` : "";
    const dashed = dash?.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    const ends = round ? ' stroke-linecap="round" stroke-linejoin="round"' : "";
    const faint = alpha !== undefined && alpha !== 1 ? ` opacity="${short(alpha)}"` : "";
    this.parts.push(`<path d="${d}" fill="${fill ?? "none"}"${line}${dashed}${ends}${faint}/>`);
  }

  /** @param {ArrayLike<number>} points @param {Style} style */
  polygon(points, style) {
    if (points.length) this.add(`${this.path(points)}Z`, style);
  }

  /** @param {number[][]} parts @param {Style} style */
  polygons(parts, style) {
    this.add(parts.map((part) => `${this.path(part)}Z`).join(""), style);
  }

  /** @param {ArrayLike<number>} points @param {Style} style */
  line(points, style) {
    this.add(this.path(points), style);
  }

  /** @param {ArrayLike<number>} points @param {Style} style */
  segments(points, style) {
    let d = "";
    for (let n = 0; n + 3 < points.length; n += 4) {
      if (!follows(points, n)) d += `M${short(points[n])} ${short(points[n + 1])}`;
      d += `L${short(points[n + 2])} ${short(points[n + 3])}`;
    }
    this.add(d, style);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {Style} style */
  circle(x, y, radius, style) {
    this.add(ring(x, y, radius), style);
  }

  /** @param {number} shape @param {ArrayLike<number>} points @param {number} radius @param {Style} style */
  marks(shape, points, radius, style) {
    const outline = SHAPES[shape % SHAPES.length];
    let d = "";
    for (let n = 0; n + 1 < points.length; n += 2) {
      if (outline.length === 0) d += ring(points[n], points[n + 1], radius);
      else d += `${this.path(outline.map((v, m) => points[n + (m % 2)] + radius * v))}Z`;
    }
    this.add(d, style);
  }

  /** @param {number} x @param {number} y @param {string} words @param {Lettering} lettering */
  text(x, y, words, { size = 12, anchor = "start", fill, weight = 400, halo, alpha }) {
    const around = halo ? ` stroke="${halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"` : "";
    const faint = alpha !== undefined && alpha !== 1 ? ` opacity="${short(alpha)}"` : "";
    const font = `font-family='${FONT}' font-size="${size}" font-weight="${weight}"`;
    const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" text-anchor="${anchor}" fill="${fill}" ${font}${around}${faint}>${safe}</text>`,
    );
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {() => void} draw */
  inside(x, y, width, height, draw) {
    const name = `clip${++this.clips}`;
    const box = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.parts.push(`<clipPath id="${name}"><rect ${box}/></clipPath><g clip-path="url(#${name})">`);
    draw();
    this.parts.push("</g>");
  }

  /** The whole picture. @param {number} width @param {number} height @param {string} ground @param {string} title */
  picture(width, height, ground, title) {
    const safe = title.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const size = `width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}"`;
    const back = `<rect width="100%" height="100%" fill="${ground}"/>`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><title>${safe}</title>${back}${this.parts.join("")}</svg>`;
  }
}

/** Whether a segment starts where the previous one ends. @param {ArrayLike<number>} points @param {number} n */
function follows(points, n) {
  return n >= 4 && points[n] === points[n - 2] && points[n + 1] === points[n - 1];
}

/** @param {number} x @param {number} y @param {number} radius */
function ring(x, y, radius) {
  const r = short(radius);
  const over = `${short(2 * radius)} 0`;
  return `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${over}a${r} ${r} 0 1 0 ${short(-2 * radius)} 0Z`;
}

/** @param {number} value */
function short(value) {
  return String(Math.round(value * 100) / 100);
}

/**
 * An arrow: a line with a filled head.
 * @param {Pen} pen @param {number} x @param {number} y @param {number} u @param {number} v @param {string} color
 * @param {{width?: number, head?: number, alpha?: number, dash?: number[]}} [style]
 */
export function arrow(pen, x, y, u, v, color, { width = 2, head = 9, alpha = 1, dash } = {}) {
  const length = Math.hypot(u - x, v - y);
  if (!(length > 0.5)) return;
  const size = Math.min(head, length);
  const [dx, dy] = [(u - x) / length, (v - y) / length];
  const [bx, by] = [u - dx * size, v - dy * size];
  pen.line([x, y, bx, by], { stroke: color, width, alpha, dash });
  const half = size * 0.45;
  pen.polygon([u, v, bx - dy * half, by + dx * half, bx + dy * half, by - dx * half], { fill: color, alpha });
}
