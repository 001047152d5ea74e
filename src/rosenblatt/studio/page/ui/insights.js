/**
 * The proof about the points, both sides of its inequalities along the run, weight space, errors and loss.
 *
 * @typedef {import("../app.js").App} App
 * @typedef {import("../view/charts.js").Chart} Chart
 */
import { ChartView, alignmentChart, described, errorsChart, lossChart, normsChart } from "../view/charts.js";
import { validSlice } from "../model/half_planes.js";
import { boundaryName, brief, grouped, plural } from "../view/paper.js";
import { WeightView } from "../view/weight_view.js";
import { get, make, place } from "./dom.js";

/** @param {App} app */
export function insights(app) {
  verdict(app);
  weights(app);
  curves(app);
}

// --- the verdict -------------------------------------------------------------------------------------------------------------

/** @param {App} app */
function verdict(app) {
  const text = get("verdict", HTMLParagraphElement);
  app.on("runs", () => {
    const proof = app.proof(app.focus);
    const together = proof?.verdict === "separable" && hasSeparateHeads(app) ? " This is for all classes together." : "";
    text.textContent = proof ? proof.sentence + together : app.focused && app.source.live ? (app.focused.unproved ?? "Proving …") : "";
    // The card keeps its height while a proof is computed, so that the page does not jump when a point is moved.
    const card = /** @type {HTMLElement} */ (text.parentElement);
    card.style.minHeight = proof || !app.focused ? "" : `${Math.max(card.getBoundingClientRect().height, parseFloat(card.style.minHeight) || 0)}px`;
    text.className = `verdict ${proof?.verdict === "separable" ? "yes" : proof?.verdict === "inseparable" ? "no" : ""}`;
    const run = app.focused?.recording.run;
    place("stop").textContent = run ? `${run.stop.sentence} ${run.cut ?? ""}`.trim() : "";
    detail("stop-details", run?.stop.details ?? "");
  });
  app.on("frame", () => updates(app));
}

/** Fill a <details> element, and hide it if there is no text. @param {string} id @param {string} text */
function detail(id, text) {
  const node = place(id);
  node.hidden = text === "";
  const [paragraph] = node.getElementsByTagName("p");
  if (paragraph.textContent !== text) paragraph.textContent = text;
}

/** Whether each class, or each pair of classes, has its own run. @param {App} app */
function hasSeparateHeads(app) {
  return ["rest", "pairs"].includes(app.focused?.recording.run.scheme ?? "");
}

/** The updates so far, and how many are possible. @param {App} app */
function updates(app) {
  const played = app.focused;
  const proof = app.proof(app.focus);
  const line = place("updates-bound");
  const meter = place("meter");
  meter.hidden = true;
  if (!played || !played.recording.run.log) {
    line.textContent = "";
    detail("formula", "");
    return;
  }
  const { recording } = played;
  const t = app.time(app.focus);
  const count = recording.edges[t];
  const most = proof?.convergence?.mistake_bound ?? null;
  // An update of a batch run adds several points, which the bound counts one by one.
  const unit = recording.edges[recording.length] === recording.length ? "update" : "point update";
  const number = plural(count, unit);
  if (most === null) {
    // If every point moves the weights, there is no limit in any case.
    const { margin } = app.algorithm(app.state.runs[app.focus].algorithm);
    const boundary = boundaryName(recording.degree, recording.features.x0 !== 0);
    const unbounded = margin !== null && proof?.verdict === "inseparable" ? ` No ${boundary} separates the points, so there is no limit.` : "";
    const separate = hasSeparateHeads(app) ? " Each class against the rest is a separate problem, which may not be separable." : "";
    line.textContent = `${number} so far.${unbounded || separate}`;
    detail("formula", "");
    return;
  }
  const limit = most < 1e15 ? grouped(Math.floor(most)) : brief(most);
  const ended = t === recording.length && recording.run.stop.reason === "separated";
  line.textContent = ended
    ? `At most ${limit} ${unit}s are possible; ${grouped(count)} ${count === 1 ? "was" : "were"} needed.`
    : `${number} so far; at most ${limit} are possible.`;
  detail("formula", formula(most, proof, recording.features.x0 !== 0));
  meter.hidden = false;
  const [bar] = meter.children;
  if (bar instanceof HTMLElement) bar.style.width = `${Math.min(100, (100 * count) / most)}%`;
}

/**
 * The bound as a formula, if it is the plain one: from zero, without a margin.
 * @param {number} bound @param {import("../model/recording.js").Proof | null} proof @param {boolean} intercept
 */
function formula(bound, proof, intercept) {
  const plain = Math.abs(bound - (proof?.bound ?? NaN)) < 1e-6 * bound;
  if (!plain) return "";
  const counted = intercept ? ", both with w₀" : "";
  return `R²/γ² = ${brief(bound)}, with the longest point R = ${brief(proof?.radius ?? NaN)} and the margin γ = ${brief(proof?.margin ?? NaN)}${counted}`;
}

// --- weight space ------------------------------------------------------------------------------------------------------------

/** @param {App} app */
function weights(app) {
  const holder = place("weights");
  const view = new WeightView(holder);
  new ResizeObserver(() => app.redraw()).observe(holder);
  const where = (/** @type {MouseEvent} */ event) => {
    const box = holder.getBoundingClientRect();
    return /** @type {const} */ ([event.clientX - box.left, event.clientY - box.top]);
  };
  holder.addEventListener("pointermove", (event) => {
    const row = view.hit(...where(event));
    if (row !== app.hover) {
      app.hover = row;
      app.redraw();
    }
  });
  holder.addEventListener("pointerleave", () => {
    app.hover = null;
    app.redraw();
  });
  holder.addEventListener("dblclick", (event) => start(app, view.at(...where(event))));

  let shown = "";
  app.on("runs", () => {
    const recording = app.focused?.recording;
    if (!recording) return;
    const now = JSON.stringify([recording.features.names, recording.features.x0, recording.heads, recording.run.scheme,
      app.state.slice, app.focus, app.state.runs.map(({ algorithm }) => algorithm)]);
    if (now === shown) return;
    shown = now;
    menus(app);
  });
  app.on("frame", () => {
    const recording = app.focused?.recording ?? null;
    holder.hidden = place("slice").hidden = place("about-weights").hidden = !recording;
    if (!recording) return;
    const { pocket, average } = app.shown(app.focus);
    // Support vectors are on the margin up to the solver's tolerance, and must count as right.
    const margin = app.margin(app.focus) * (recording.run.svm ? 1 - 1e-3 : 1);
    view.draw({
      recording, t: app.time(app.focus), slice: slice(app), palette: app.palette, hover: app.hover, labels: app.data.labels,
      margin, show: { pocket, average },
    });
  });
}

/** The slice of the state, adapted to the weights of the run. @param {App} app */
function slice(app) {
  const recording = app.focused?.recording;
  return recording ? validSlice(recording, app.state.slice) : app.state.slice;
}

/** Start the run with other weights. @param {App} app @param {Float64Array | number[] | null} found */
function start(app, found) {
  const chosen = app.state.runs[app.focus];
  const recording = app.focused?.recording;
  const startable = app.algorithm(chosen.algorithm).knobs.some(({ name }) => name === "start");
  if (!found || !recording || !startable || recording.heads !== 1) return;
  const begin = Array.from(found, (v) => Number(v.toPrecision(4)));
  const knobs = { ...chosen.knobs, init: "given", start: begin };
  app.change({ runs: app.state.runs.map((run, n) => (n === app.focus ? { ...run, knobs } : run)), t: 0 });
}

/** Menus for the two weights, the class and the run. @param {App} app */
function menus(app) {
  const recording = app.focused?.recording;
  if (!recording) return;
  const now = slice(app);
  const names = ["w₀ (bias)", ...recording.features.names.map((name) => `w of ${name}`)];
  const there = names.map((name, n) => ({ name, n })).filter(({ n }) => n > 0 || recording.features.x0 !== 0);
  const axis = (/** @type {"x" | "y"} */ which) => {
    const label = which === "x" ? "Horizontal weight" : "Vertical weight";
    const menu = make("select", { "aria-label": label }, ...there.map(({ name, n }) => new Option(name, String(n))));
    menu.value = String(now[which]);
    menu.addEventListener("change", () => {
      const next = { ...slice(app), [which]: Number(menu.value) };
      if (next.x === next.y) next[which === "x" ? "y" : "x"] = now[which];
      app.change({ slice: next });
      menus(app);
    });
    return menu;
  };
  const parts = [axis("x"), axis("y")];
  if (recording.heads > 1) {
    const options = Array.from({ length: recording.heads }, (_, h) => new Option(headName(app, h), String(h)));
    const menu = make("select", { "aria-label": "Class of the weights" }, ...options);
    menu.value = String(now.head);
    menu.addEventListener("change", () => app.change({ slice: { ...slice(app), head: Number(menu.value) } }));
    parts.push(menu);
  }
  if (app.state.runs.length > 1) {
    const menu = make("select", { "aria-label": "Which algorithm" }, ...app.state.runs.map(({ algorithm }, n) => new Option(`run ${n + 1}: ${app.algorithm(algorithm).title}`, String(n))));
    menu.value = String(app.focus);
    menu.addEventListener("change", () => {
      app.change({ focus: Number(menu.value) });
    });
    parts.push(menu);
  }
  place("slice").replaceChildren(...parts);
  const startable = recording.heads === 1 && app.algorithm(app.state.runs[app.focus].algorithm).knobs.some(({ name }) => name === "start");
  place("about-weights").textContent =
    "Each point is a half-plane: the weights that get it right. The shaded area, if there is one, gets all points right." +
    (recording.width > 3 || recording.features.x0 ? " This is a slice; the other weights keep their current values." : "") +
    (startable ? " Double-click to start the run with other weights." : "");
}

/** @param {App} app @param {number} head */
function headName(app, head) {
  const recording = app.focused?.recording;
  const name = (/** @type {number} */ position) => app.nameOf(recording?.run.classes[position] ?? 0);
  const pair = recording?.run.pairs?.[head];
  return pair ? `${name(pair[0])} against ${name(pair[1])}` : `of ${name(head)}`;
}

// --- curves ------------------------------------------------------------------------------------------------------------------

/** @param {App} app */
function curves(app) {
  const views = Object.fromEntries(
    ["norms", "alignments", "errors", "loss"].map((id) => {
      const holder = place(id);
      holder.setAttribute("role", "img");
      const view = new ChartView(holder);
      const scrub = (/** @type {PointerEvent} */ event) => {
        const t = view.valueAt(event.clientX - holder.getBoundingClientRect().left);
        if (t !== null && event.buttons) app.move((player) => player.step(Math.round(t) - player.t));
      };
      new ResizeObserver(() => app.redraw()).observe(holder);
      holder.addEventListener("pointerdown", scrub);
      holder.addEventListener("pointermove", scrub);
      return [id, { holder, view }];
    }),
  );
  const show = (/** @type {string} */ id, /** @type {Chart | null} */ chart) => {
    const { holder, view } = views[id];
    holder.hidden = chart === null;
    if (!chart) return;
    view.draw(chart, app.palette);
    if (!app.player.playing) holder.setAttribute("aria-label", described(chart));
  };
  app.on("frame", () => {
    const played = app.focused;
    const recording = played?.recording ?? null;
    if (!played || !recording) {
      for (const id of Object.keys(views)) show(id, null);
      return;
    }
    const [t, clock] = [app.time(app.focus), app.player.t];
    const other = app.played[1 - app.focus]?.recording ?? null;
    const proof = app.proof(app.focus);
    show("norms", normsChart(recording, proof, t));
    show("alignments", alignmentChart(recording, proof, t));
    show("errors", recording.length ? errorsChart(recording, clock, app.shown(app.focus), other) : null);
    show("loss", recording.length ? lossChart(recording, clock, other) : null);
  });
}
