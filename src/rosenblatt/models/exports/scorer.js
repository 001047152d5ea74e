// The functions of a model in JavaScript, in sections: `javascript.py` puts those that a model needs behind its numbers.
// Each section begins with a line of dashes and its name; two of them may define the same function, and a model has one of these.

// --- rows

/** The cells of a row, in the order of `columns`: of an array, or of the object's own properties; undefined if it has none. */
function cellsOf(row) {
  if (Array.isArray(row) || ArrayBuffer.isView(row)) {
    if (row.length !== columns.length) {
      throw new RangeError(`the row has ${row.length} cells, but the model reads ${columns.length} columns`);
    }
    return Array.from(row);
  }
  if (row === null || typeof row !== "object") throw new TypeError("a row is an object or an array of cells");
  const own = columns.map(name => Object.prototype.hasOwnProperty.call(row, name));
  if (MODEL.zeros) return columns.map((name, j) => own[j] ? row[name] : 0);
  if (!own.includes(true) && columns.length) {
    throw new TypeError(`the row has none of the columns of the model, such as ${JSON.stringify(columns[0])}`);
  }
  return columns.map((name, j) => own[j] ? row[name] : undefined);
}

function problem(j, sentence) {
  return new RangeError(`column ${JSON.stringify(columns[j])}: ${sentence}`);
}

/** The number of a cell; NaN if it is missing and the model fills it. */
function numberOf(cell, j) {
  let number = cell;
  if (cell === undefined || cell === null) number = NaN;
  else if (typeof cell === "string") number = numberOfText(cell.trim(), j);
  else if (typeof cell === "boolean" || typeof cell === "bigint") number = Number(cell);
  else if (cell instanceof Date) number = daysOfDate(cell, j);
  else if (typeof cell !== "number") throw problem(j, `${String(cell)} is not a number`);
  if (Number.isNaN(number)) {
    if (MODEL.fill === null) throw problem(j, "the cell is missing, and the model accepts none");
  } else if (!Number.isFinite(number)) throw problem(j, "the number is infinite");
  return number;
}

function numberOfText(text, j) {
  if (MISSING.has(text)) return NaN;
  const number = j in MODEL.dates ? daysOfText(text, MODEL.dates[j])
    : j in MODEL.forms ? formattedNumber(text, MODEL.forms[j])
    : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (Number.isNaN(number)) {
    const instead = j in MODEL.dates ? "a date or a time as in the training file" : "a number";
    throw problem(j, `${JSON.stringify(text)} is not ${instead}`);
  }
  return number;
}

// --- dates

/** Days since 1970-01-01 of a date as in the training file; of a time alone, the fraction of a day; NaN if it is neither. */
function daysOfText(text, { kind, order }) {
  const found = text.length > 60 ? null : new RegExp(`^(?:${DATES[kind === "time" ? "time" : "date"]})$`, "i").exec(text);
  if (!found) return NaN;
  const part = found.groups, timed = part.hour || part.full || part.packed, seconds = timed ? secondsOf(part) : 0;
  if (kind === "time") return seconds / 86400;
  const minutes = part.zh ? (part.sign === "-" ? -1 : 1) * (Number(part.zh) * 60 + Number(part.zm || 0)) : 0;
  return Math.abs(minutes) < 1440 ? dayOf(part, order) + (seconds - minutes * 60) / 86400 : NaN;
}

/** The days since 1970-01-01 of the parts of a date; NaN if there is no such day. */
function dayOf(part, order) {
  const two = digits => Number(digits) + (digits.length > 2 ? 0 : Number(digits) >= 69 ? 1900 : 2000);
  const month = name => MONTHS.get(name.toLowerCase().replace(/\.$/, ""));
  let day = [part.a, part.b, part.y3 && two(part.y3)];
  if (order === "mdy" || (!order && part.s3 === "/")) day = [part.b, part.a, day[2]];
  if (part.y1 || part.y6) day = part.y1 ? [part.d1, part.m1, part.y1] : [part.d6, part.m6, part.y6];
  if (part.y2 || part.y7) day = [1, part.m2 || part.m7, part.y2 || part.y7];
  if (part.y4 || part.y5) day = part.y4 ? [part.d4, month(part.m4), two(part.y4)] : [part.d5, month(part.m5), part.y5];
  if (part.m8) day = [1, month(part.m8), two(part.y8 || part.s8)];
  if (part.q9 || part.q10) day = [1, 3 * Number(part.q9 || part.q10) - 2, part.y9 || part.y10];
  const [date, number, year] = day.map(Number), start = new Date(0);
  start.setUTCFullYear(year, number - 1, date);
  return year >= 1 && start.getUTCMonth() === number - 1 && start.getUTCDate() === date ? start.getTime() / 864e5 : NaN;
}

/** The seconds since midnight of the parts of a time; NaN if there is no such time. */
function secondsOf(part) {
  const packed = part.packed ? part.packed.padEnd(6, "0").match(/../g) : [part.hour || part.full, part.minute, part.second];
  const half = part.half || part.half2, [hour, minute, second] = packed.map(each => Number(each || 0));
  if (half && (hour < 1 || hour > 12)) return NaN;
  const hours = half ? hour % 12 + (half.toLowerCase() === "p" ? 12 : 0) : hour;
  const total = hours * 3600 + minute * 60 + second + Number(`0.${part.fraction || 0}`);
  return minute > 59 || second > 60 || hours > 24 || (hours === 24 && total > 86400) ? NaN : total;
}

function daysOfDate(date, j) {
  if (!(j in MODEL.dates) || MODEL.dates[j].kind === "time") throw problem(j, "the column does not hold dates, but the cell is a Date");
  if (Number.isNaN(date.getTime())) throw problem(j, "the date is invalid");
  return date.getTime() / 864e5;
}

/** A part of a number of days: the sine or the cosine of its position in a cycle. */
function partOf(days, part) {
  if (part === 0) return days;
  const [period, offset, whole] = CYCLES[part];
  const turns = ((whole ? Math.floor(days) : days) + offset) / period, angle = 2 * Math.PI * (turns - Math.floor(turns));
  return part % 2 ? Math.sin(angle) : Math.cos(angle);
}

// --- no dates

function daysOfDate(date, j) {
  throw problem(j, "the column does not hold dates, but the cell is a Date");
}

// --- formats

/** A number as people write it, such as 1.200,50 or 45 %, in the notation of the training file; NaN if it is none. */
function formattedNumber(text, form) {
  if (form.truth) return /^(true|1)$/i.test(text) ? 1 : /^(false|0)$/i.test(text) ? 0 : NaN;
  const usual = text.replace(/[\u00a0\u202f\u2009]/g, " ").replace(/\u2019/g, "'").replace(/\u2212/g, "-").trim();
  const money = `(${CURRENCY})?`;
  const shape = String.raw`^${money}\s*(\()?\s*([+-])?\s*${money}\s*([+-])?([\d.,](?:[\d.,' ]*[\d.,'])?)(e[+-]?\d+)?` +
    String.raw`\s*(%)?\s*${money}\s*(\))?\s*(%)?\s*${money}$`;
  const found = usual.length <= 60 ? new RegExp(shape, "i").exec(usual) : null;
  if (!found) return NaN;
  const [, first, open, sign, before, second, digits, exponent, inner, after, close, outer, last] = found;
  const signs = [sign, second, open].filter(Boolean), symbols = [first, before, after, last].filter(Boolean);
  if (Boolean(open) !== Boolean(close) || signs.length > 1 || symbols.length > 1 || (inner && outer)) return NaN;
  if (Boolean(inner || outer) !== form.percent || (symbols.length && symbols[0] !== form.currency)) return NaN;
  if (!new RegExp(`^(?:${form.digits})$`).test(digits + (exponent || ""))) return NaN;
  const plain = digits.replace(/[,. ']/g, mark => mark === form.decimal ? "." : "");
  const power = Number((exponent || "e0").slice(1)) - (form.percent ? 2 : 0);
  const number = Number(`${plain}e${power}`);
  return open || sign === "-" || second === "-" ? -number : number;
}

// --- categories

/** The features of a categorical cell: at most one, which is 1. */
function categoryOf(cell, block) {
  const text = typeof cell === "string" ? cell : textOfCell(cell);
  for (const each of text === null ? [] : [text, text.trim()]) {
    if (block.places.has(each)) return [[block.places.get(each), 1]];
  }
  if (text !== null && !MISSING.has(text.trim())) return [];
  if (MODEL.refuse) throw problem(block.column, "the cell is missing, and the model accepts none");
  return block.missing ? [[block.values.length, 1]] : [];
}

// --- cells

/** A cell that is not text as a file would write it; null if it is missing. */
function textOfCell(cell) {
  if (cell === undefined || cell === null || Number.isNaN(cell)) return null;
  if (typeof cell === "boolean") return cell ? "1" : "0";
  if (typeof cell !== "number") return String(cell);
  if (Number.isInteger(cell) && Math.abs(cell) < 2 ** 53) return String(cell === 0 ? 0 : cell);
  const [digits, power] = cell.toExponential().split("e");
  if (power >= -4 && power < 16) return Number.isInteger(cell) ? `${cell}.0` : String(cell);
  return Number.isFinite(cell) ? `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}` : String(cell);
}

// --- texts

/** The features of a text: the weights of its known grams, for each part in ascending order; a missing cell has none. */
function gramsOf(cell, block) {
  const text = typeof cell === "string" ? cell : textOfCell(cell) || "";
  const share = Math.sqrt(block.parts.length);
  return block.parts.flatMap(part => {
    const counts = new Map();
    for (const gram of (part.unit === "words" ? wordRuns : characterRuns)(text, part)) {
      const place = part.places.get(gram);
      if (place !== undefined) counts.set(place, (counts.get(place) || 0) + 1);
    }
    const known = [...counts].sort((a, b) => a[0] - b[0]).map(([place, n]) => {
      const weight = part.weight === "binary" ? 1 : part.weight === "log-tfidf" ? 1 + Math.log(n) : n;
      return [place, part.idf === null ? weight : weight * part.idf[place]];
    });
    const length = Math.sqrt(known.reduce((sum, [, x]) => sum + x * x, 0));
    return known.map(([place, x]) => [part.first + place, x / length / share]);
  });
}

/** Runs of `low` to `high` words: of two or more letters, digits or underscores, in lower case. */
function wordRuns(text, { low, high }) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) || [], found = [];
  for (let n = low; n <= high; n++) for (let i = 0; i + n <= words.length; i++) found.push(words.slice(i, i + n).join(" "));
  return found;
}

/** Runs of `low` to `high` characters of each piece between blanks, in lower case, with a blank before and after the piece. */
function characterRuns(text, { low, high }) {
  const blanks = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/, found = [];
  for (const piece of text.replace(/\p{Cs}/gu, "?").toLowerCase().split(blanks).filter(Boolean)) {
    const padded = [" ", ...piece, " "];
    for (let n = low; n <= high; n++) {
      for (let i = 0; i === 0 || i + n <= padded.length; i++) found.push(padded.slice(i, i + n).join(""));
      if (n >= padded.length) break;
    }
  }
  return found;
}

// --- halves

/** Weights of 16 bits, IEEE 754 halves in hexadecimal digits, times a power of two. The results are exact. */
function halves(digits) {
  return Array.from({ length: digits.length / 4 }, (_, k) => {
    const bits = parseInt(digits.slice(4 * k, 4 * k + 4), 16), power = bits >> 10 & 31;
    const size = ((bits & 1023) + (power ? 1024 : 0)) * 2 ** ((power || 1) - 25) * 2 ** EXPONENT;
    return bits >> 15 ? -size : size;
  });
}

// --- scores

/** What each numeric feature of a row is. */
function termsOf(numbers) {
  const filled = numbers.map((number, i) => Number.isNaN(number) ? MODEL.fill[i] : number);
  const inputs = MODEL.inputs === null ? filled : MODEL.inputs.map(([i, part]) => part ? partOf(filled[i], part) : filled[i]);
  const terms = MODEL.factors === null ? inputs.slice()
    : MODEL.factors.map(factors => factors.slice(1).reduce((product, i) => product * inputs[i], inputs[factors[0]]));
  for (let t = 0; t < terms.length; t++) {
    if (MODEL.shift !== null) terms[t] -= MODEL.shift[t];
    if (MODEL.divide !== null) terms[t] /= MODEL.divide[t];
    if (!Number.isFinite(terms[t])) throw new RangeError("a number is too large: its features exceed 1.8e308");
  }
  return terms;
}

/** The score of each plane: summed from the first feature to the last, then the intercept. */
function planesOf(row) {
  const cells = cellsOf(row), numbers = MODEL.numbers.map(j => numberOf(cells[j], j)), terms = termsOf(numbers);
  const marks = MODEL.indicators.map(i => Number.isNaN(numbers[i]));
  const found = BLOCKS.map(block => block.features(cells[block.column], block));
  return MODEL.intercept.map((intercept, h) => {
    const weights = MODEL.weights[h];
    let sum = 0;
    for (let t = 0; t < terms.length; t++) sum += terms[t] * weights[t];
    for (let i = 0; i < marks.length; i++) if (marks[i]) sum += MODEL.missing[h][i];
    for (let b = 0; b < found.length; b++) for (const [k, x] of found[b]) sum += BLOCKS[b].weights[h][k] * x;
    if (Number.isNaN(sum + intercept)) throw new RangeError("a number is too large: the score overflows");
    return sum + intercept;
  });
}

// --- planes

/** The scores of a row: one for two classes, above 0 for the second class; otherwise one for each class. */
export function scores(row) {
  return planesOf(row);
}

const scoresOfMap = scores;

// --- pairs

/** The scores of a row, one for each class: its votes, with a fraction that decides between equal votes. */
export function scores(row) {
  const planes = planesOf(row), k = labels.length;
  const votes = Array(k).fill(0), duels = Array(k).fill(0), lost = Array(k).fill(0);
  const each = count => {
    let h = 0;
    for (let a = 0; a < k; a++) for (let b = a + 1; b < k; b++, h++) planes[h] > 0 ? count(b, a, h) : count(a, b, h);
  };
  each((winner, loser, h) => { votes[winner] += 1; lost[loser] += Math.abs(planes[h]); });
  each((winner, loser) => { duels[winner] += votes[winner] === votes[loser] ? 1 : 0; });
  return votes.map((number, c) => number + (duels[c] + 0.5 / (lost[c] + 1)) / k);
}

/** What probabilities are made of: minus the sum of the pair scores that each class lost, from the fraction of its score. */
function scoresOfMap(row) {
  return scores(row).map(score => {
    const whole = labels.length * score, share = whole - Math.floor(whole);
    return Math.min(0, 1 - 0.5 / (share > 0.75 ? 1e-12 : Math.max(share, 1e-12)));
  });
}

// --- labels

/** The label of a row: the class with the largest score, the first one if tied. */
export function predict(row) {
  const found = scores(row);
  if (found.length === 1) return labels[found[0] > 0 ? 1 : 0];
  return labels[found.reduce((best, score, c) => score > found[best] ? c : best, 0)];
}

// --- no probabilities

/** The model has no probabilities: this raises an error. */
export function probabilities(row) {
  throw new Error("the model has no probabilities: train it with --calibrate sigmoid");
}

// --- probabilities

/** The probability of each class, in the order of `labels`. */
export function probabilities(row) {
  const found = scoresOfMap(row), map = MODEL.probabilities;
  if (map.map === "isotonic") return normalized(found.map((score, h) => between(score, map.scores[h], map.values[h])));
  const limited = z => Math.min(Math.max(z, -1e300), 1e300);
  const z = found.map((score, h) => limited(map.map === "sigmoid" ? map.a[h] * score + map.b[h] : score / map.temperature));
  const sigmoid = x => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)));  // its logarithm
  const logs = z.length === 1 ? [sigmoid(-z[0]), sigmoid(z[0])] : map.map === "sigmoid" ? z.map(sigmoid) : z;
  const top = Math.max(...logs), odds = logs.map(log => Math.exp(log - top)), sum = odds.reduce((a, b) => a + b);
  return odds.map(each => each / sum);
}

/** The value at x on the line through points; before the first and after the last of them that point's value. */
function between(x, xs, ys) {
  const after = xs.findIndex(each => each >= x);
  if (after <= 0) return after === 0 ? ys[0] : ys[ys.length - 1];
  const slope = (ys[after] - ys[after - 1]) / (xs[after] - xs[after - 1]);
  return slope * (x - xs[after - 1]) + ys[after - 1];
}

function normalized(chances) {
  if (chances.length === 1) return [1 - chances[0], chances[0]];
  const sum = chances.reduce((a, b) => a + b);
  return chances.map(each => sum > 0 ? each / sum : 1 / chances.length);
}
