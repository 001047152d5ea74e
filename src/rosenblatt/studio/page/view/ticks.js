/** Ticks of an axis and their texts. Imports nothing. */

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/** The step of 1, 2 or 5 times a power of ten that gives at most `most` ticks. */
/** @param {number} low @param {number} high @param {number} most @param {boolean} [whole] integers only */
export function tickStep(low, high, most, whole = false) {
  const least = (high - low) / Math.max(1, most);
  if (!(least > 0) || !Number.isFinite(least)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least * (1 - 1e-9)) ?? 10 * power;
  return whole ? Math.max(1, step) : step;
}

/** Multiples of a step between two numbers, both included. @param {number} low @param {number} high @param {number} step */
export function multiples(low, high, step) {
  const slack = 1e-9 * step;
  /** @type {number[]} */
  const found = [];
  const last = Math.floor((high + slack) / step);
  // Multiples, since sums of tenths drift; adding 0 turns -0 into 0.
  for (let n = Math.ceil((low - slack) / step); n <= last && found.length < 100; n++) found.push(n * step + 0);
  return found;
}

/** Powers of ten between two positive numbers, thinned. @param {number} low @param {number} high @param {number} most */
export function powers(low, high, most) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const by = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  /** @type {number[]} */
  const found = [];
  for (let n = first; n <= last; n += by) found.push(10 ** n);
  return found;
}

/** A tick's number with as many decimals as its step needs. @param {number} value @param {number} step */
export function tickText(value, step) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e4 && size < 1e6 && step % 1000 === 0) return `${value / 1000}k`.replace("-", "−");
  const digits = Math.min(8, Math.floor(Math.log10(size) + 1e-9) - Math.floor(Math.log10(step) + 1e-9)); // after the first
  if ((size >= 1e5 && digits < 4) || step < 1e-4 || size >= 1e9) {
    return value.toExponential(Math.max(0, digits)).replace(/\.?0*e\+?/, "e").replaceAll("-", "−");
  }
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toFixed(decimals).replace("-", "−");
}

/** 12 as ₁₂. @param {number} n */
export function subscript(n) {
  return Array.from(String(n), (digit) => SUBSCRIPTS[Number(digit)]).join("");
}
