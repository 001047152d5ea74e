/** Widths of texts, and shortened texts. */
import { FONT } from "./pen.js";

/** @type {CanvasRenderingContext2D | null | undefined} */
let ruler;
/** @type {Map<string, number>} */
const lengths = new Map();

/** The width of a text in pixels; estimated if there is no canvas. */
/** @param {string} words @param {number} [size] @param {number} [weight] */
export function measured(words, size = 12, weight = 400) {
  if (typeof document === "undefined") return 0.6 * size * words.length;
  if (ruler === undefined) ruler = document.createElement("canvas").getContext("2d");
  if (!ruler) return 0.6 * size * words.length;
  const name = `${size} ${weight} ${words}`;
  let length = lengths.get(name);
  if (length === undefined) {
    ruler.font = `${weight} ${size}px ${FONT}`;
    length = ruler.measureText(words).width;
    if (lengths.size > 2000) lengths.clear(); // texts change with every update
    lengths.set(name, length);
  }
  return length;
}

/** @param {string} words @param {number} room pixels @param {number} [size] @param {number} [weight] */
export function shortened(words, room, size = 12, weight = 400) {
  if (measured(words, size, weight) <= room) return words;
  let kept = words;
  while (kept.length > 1 && measured(`${kept}…`, size, weight) > room) kept = kept.slice(0, -1).trimEnd();
  return `${kept}…`;
}
