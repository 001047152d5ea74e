/**
 * The chosen algorithms and their knobs.
 *
 * @typedef {import("../app.js").App} App
 * @typedef {import("../model/state.js").Knob} Knob
 * @typedef {import("../model/state.js").Chosen} Chosen
 */
import { make, place, button } from "./dom.js";

const SLIDER_STEPS = 200;

/**
 * A control of a knob: `show` displays a value, unless the user is changing it.
 * @typedef {{index: number, name: string, show: (value: unknown) => void}} Control
 */

/** @param {App} app */
export function knobs(app) {
  const holder = place("chosen");
  let built = "";
  /** @type {Control[]} */
  let controls = [];
  const draw = () => {
    const { runs } = app.state;
    button("second").hidden = runs.length > 1;
    const now = JSON.stringify(runs.map(({ algorithm }, index) => [algorithm, app.knob(index, "init")]));
    if (now !== built) {
      const focused = document.activeElement?.id;
      built = now;
      controls = [];
      holder.replaceChildren(...runs.map((_, index) => card(app, index, controls)));
      if (focused) document.getElementById(focused)?.focus();
    }
    for (const { index, name, show } of controls) show(app.knob(index, name));
  };
  button("second").addEventListener("click", () => {
    const first = app.state.runs[0];
    const other = app.page.compared.find((name) => name !== first.algorithm) ?? first.algorithm;
    app.change({ runs: [first, { algorithm: other, knobs: {} }] });
  });
  app.on("state", draw);
  draw();
}

/** @param {App} app @param {number} index @param {Control[]} controls */
function card(app, index, controls) {
  const chosen = app.state.runs[index];
  const algorithm = app.algorithm(chosen.algorithm);
  const several = app.state.runs.length > 1;
  const menu = make("select", { id: `algorithm-${index}`, "aria-label": several ? `Algorithm ${index + 1}` : "Algorithm" });
  for (const group of new Set(app.page.menu.map((each) => each.group))) {
    const options = app.page.menu.filter((each) => each.group === group).map(({ name, title }) => new Option(title, name));
    menu.append(make("optgroup", { label: group }, ...options));
  }
  menu.value = algorithm.name;
  menu.addEventListener("change", () => choose(app, index, menu.value));
  const head = make("div", { class: "run-head" }, menu);
  if (several) {
    head.prepend(make("span", { class: "badge", text: index + 1 }));
    const gone = make("button", { type: "button", "aria-label": `Remove algorithm ${index + 1}`, text: "×" });
    gone.addEventListener("click", () => app.change({ runs: app.state.runs.filter((_, n) => n !== index) }));
    head.append(gone);
  }
  const visible = algorithm.knobs.filter(({ name }) => name !== "start" || app.knob(index, "init") === "given");
  const rows = visible.map((knob) => row(app, index, knob, controls));
  const title = several ? `Algorithm ${index + 1}` : "Algorithm";
  return make(
    "section", { class: "card", "aria-label": title }, make("h2", { text: title }), head,
    make("p", { class: "quiet", text: algorithm.summary }), ...rows,
  );
}

/** @param {App} app @param {number} index @param {string} name */
function choose(app, index, name) {
  const runs = app.state.runs.map((run, n) => (n === index ? { algorithm: name, knobs: {} } : run));
  const show = index === 0 ? { ...app.state.show, pocket: null, average: null, vote: null } : app.state.show;
  app.change({ runs, show, t: "end" });
}

/** @param {App} app @param {number} index @param {Knob} knob @param {Control[]} controls */
function row(app, index, knob, controls) {
  const id = `knob-${index}-${knob.name}`;
  const set = (/** @type {unknown} */ next) => {
    app.change({ runs: app.state.runs.map((run, n) => (n === index ? turned(run, knob, next) : run)) });
  };
  const { node, show } = { flag, choice, weights, number }[knob.kind](id, knob, set);
  controls.push({ index, name: knob.name, show });
  return make("div", { class: "knob" }, make("label", { for: id, text: knob.title, title: knob.help }), node);
}

/** @param {string} id @param {Knob} knob @param {(next: unknown) => void} set */
function flag(id, knob, set) {
  const node = make("input", { id, type: "checkbox", title: knob.help });
  node.addEventListener("change", () => set(node.checked));
  const show = (/** @type {unknown} */ value) => {
    node.checked = value === true;
  };
  return { node, show };
}

/** @param {string} id @param {Knob} knob @param {(next: unknown) => void} set */
function choice(id, knob, set) {
  const options = (knob.choices ?? []).map(({ value, title }) => new Option(title, value));
  const node = make("select", { id, title: knob.help }, ...options);
  node.addEventListener("change", () => set(node.value));
  const show = (/** @type {unknown} */ value) => {
    node.value = String(value);
  };
  return { node, show };
}

/** A list of numbers. @param {string} id @param {Knob} knob @param {(next: unknown) => void} set */
function weights(id, knob, set) {
  const node = make("input", { id, type: "text", title: knob.help, inputmode: "decimal" });
  let shown = "";
  node.addEventListener("change", () => {
    const numbers = node.value.split(/[\s,;]+/).filter(Boolean).map(Number);
    if (numbers.length && numbers.every(Number.isFinite)) set(numbers);
    else node.value = shown;
  });
  const show = (/** @type {unknown} */ value) => {
    shown = Array.isArray(value) ? value.join(", ") : "";
    if (document.activeElement !== node) node.value = shown;
  };
  return { node, show };
}

/** A run with another value of a knob; defaults are left out, so that links stay short. */
/** @param {Chosen} run @param {Knob} knob @param {unknown} next @returns {Chosen} */
function turned(run, knob, next) {
  const { [knob.name]: _, ...rest } = run.knobs;
  return { ...run, knobs: JSON.stringify(next) === JSON.stringify(knob.default) ? rest : { ...rest, [knob.name]: next } };
}

/**
 * A number with a slider beside it; an empty field is "no limit" if that is allowed.
 * @param {string} id @param {Knob} knob @param {(next: unknown) => void} set
 */
function number(id, knob, set) {
  const { low = 0, high = 1, log = false, whole = false, optional = false } = knob;
  const bottom = log ? Math.max(low, high * 1e-8) : low;
  const notch = (/** @type {number} */ v) =>
    SLIDER_STEPS * (log ? Math.log(Math.max(v, bottom) / bottom) / Math.log(high / bottom) : (v - low) / (high - low));
  const back = (/** @type {number} */ n) => {
    const v = log ? bottom * (high / bottom) ** (n / SLIDER_STEPS) : low + ((high - low) * n) / SLIDER_STEPS;
    return whole ? Math.round(v) : Number(v.toPrecision(3));
  };
  const step = whole ? 1 : "any";
  const placeholder = optional ? "none" : undefined;
  const field = make("input", { id, type: "number", min: low, max: high, step, title: knob.help, placeholder });
  const range = make("input", { type: "range", min: 0, max: SLIDER_STEPS, step: 1, "aria-label": knob.title, title: knob.help });
  let shown = "";
  range.addEventListener("input", () => set(back(Number(range.value))));
  field.addEventListener("change", () => {
    const next = Number(field.value);
    if (field.value === "" && optional) set(null);
    else if (field.value !== "" && Number.isFinite(next)) set(Math.min(high, Math.max(low, whole ? Math.round(next) : next)));
    field.value = shown;
  });
  const show = (/** @type {unknown} */ value) => {
    shown = typeof value === "number" ? (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value)) : "";
    field.value = shown;
    if (document.activeElement !== range) range.value = String(typeof value === "number" ? notch(value) : SLIDER_STEPS);
  };
  return { node: make("span", { class: "slide" }, range, field), show };
}
