/**
 * Canvases with the resolution of the screen and the size of their element, and the colors of the theme.
 *
 * @typedef {{ink: string, quiet: string, line: string, rule: string, card: string, page: string, classes: string[],
 *   pocket: string, average: string, vote: string, widest: string, alarm: string, dark: boolean}} Palette
 */
import { CanvasPen } from "./pen.js";

/** The current colors of the style sheet. @returns {Palette} */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: color("ink"), quiet: color("quiet"), line: color("line"), rule: color("rule"), card: color("card"),
    page: color("page"), classes: [0, 1, 2, 3, 4, 5].map((n) => color(`t${n}`)), pocket: color("pocket"),
    average: color("average"), vote: color("vote"), widest: color("widest"), alarm: color("alarm"),
    dark: color("theme") === "dark",
  };
}

/** A canvas in its holder. */
export class Paper {
  /** @param {HTMLElement} holder @param {string} [kind] a class name for the style sheet */
  constructor(holder, kind = "") {
    this.canvas = document.createElement("canvas");
    this.canvas.className = kind;
    this.canvas.setAttribute("aria-hidden", "true");
    holder.append(this.canvas);
    const context = this.canvas.getContext("2d");
    if (!context) throw new Error("This browser does not support canvas.");
    this.context = context;
    this.pen = new CanvasPen(context);
    this.width = this.height = 0;
  }

  /** Set the size; returns whether anything changed. @param {number} width @param {number} height */
  fit(width, height) {
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.width === width && this.height === height && this.canvas.width === w) return false;
    [this.canvas.width, this.canvas.height, this.width, this.height] = [w, h, width, height];
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return true;
  }

  clear() {
    this.context.clearRect(0, 0, this.width, this.height);
  }
}

/** Short numbers for axes and readouts. @param {number} value */
export function brief(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(1).replace("e+", "e") : String(Number(value.toPrecision(3)));
  return text.replaceAll("-", "−");
}

/** A whole number with thousands separators. @param {number} value */
export function grouped(value) {
  return value.toLocaleString("en");
}

/** The noun for a boundary between classes. @param {number} degree */
export function boundaryNoun(degree) {
  return degree === 1 ? "line" : "curve";
}

/** A boundary with its degree, as `boundary_name` of Python has it. @param {number} degree @param {boolean} [intercept] */
export function boundaryName(degree, intercept = true) {
  return `${boundaryNoun(degree)}${degree === 1 ? "" : ` of degree ${degree}`}${intercept ? "" : " through the origin"}`;
}

/** A number and its noun, in the plural unless the number is 1. @param {number} value @param {string} noun */
export function plural(value, noun) {
  return `${grouped(value)} ${noun}${value === 1 ? "" : "s"}`;
}
