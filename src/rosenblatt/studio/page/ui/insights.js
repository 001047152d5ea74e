/**
 * What is proved about the points and measured along the run: the verdict, both sides of the proof's inequalities, weight
 * space, errors and loss.
 *
 * @typedef {import("../app.js").App} App
 * @typedef {import("../view/charts.js").Chart} Chart
 */
import { ChartView, alignmentChart, described, errorsChart, lossChart, normsChart } from "../view/charts.js";
import { soundSlice } from "../model/half_planes.js";
import { brief } from "../view/paper.js";
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
  const told = get("verdict", HTMLParagraphElement);
  app.on("runs", () => {
    const proof = app.proof(app.focus);
    const clash = proof?.clash ? `Not separable: ${proof.clash.sentence}` : undefined;
    const proved = proof && (clash ?? `${proof.sentence}${proof.verdict === "separable" && apart(app) ? ", of all classes together" : ""}`);
    told.textContent = proved ?? (app.focused && app.source.live ? "Being proved …" : "");
    // What comes and goes with a proof keeps its place meanwhile: the page would jump at every point that is moved.
    const card = /** @type {HTMLElement} */ (told.parentElement);
    card.style.minHeight = proof || !app.focused ? "" : `${Math.max(card.getBoundingClientRect().height, parseFloat(card.style.minHeight) || 0)}px`;
    told.className = `verdict ${proof?.verdict === "separable" ? "yes" : proof?.verdict === "inseparable" ? "no" : ""}`;
    const stop = app.focused?.recording.run;
    const why = stop?.stop.sentence.replace(/classes_\[(\d+)\]/g, (_, at) => `class ${app.nameOf(stop.classes[Number(at)])}`);
    place("stop").textContent = stop ? `Why it ended: ${why} ${stop.cut ?? ""}` : "";
  });
  app.on("frame", () => mistakes(app));
}

/** Whether each class, or each pair, is parted on its own. @param {App} app */
function apart(app) {
  return ["rest", "pairs"].includes(app.focused?.recording.run.scheme ?? "");
}

/** Mistakes so far against the most there can be. @param {App} app */
function mistakes(app) {
  const played = app.focused;
  const proof = app.proof(app.focus);
  const convergence = proof?.convergence;
  const line = place("mistakes");
  const meter = place("meter");
  meter.hidden = true;
  if (!played || !played.recording.run.log) {
    line.textContent = "";
    return;
  }
  const { recording } = played;
  const sofar = recording.edges[app.time(app.focus)];
  const most = convergence?.mistake_bound ?? null;
  const { estimator } = app.algorithm(app.state.runs[app.focus].algorithm);
  // Beyond the margin a point may be right and yet moved; a gradient takes steps for every point, right or wrong.
  const word = estimator === "NonlinearMSE" ? "step" : app.margin(app.focus) > 0 ? "correction" : "mistake";
  const what = sofar === 1 ? word : `${word}s`;
  if (most === null) {
    const none = word !== "step" && proof?.verdict === "inseparable" ? " No plane separates these points, so nothing bounds them." : "";
    const each = apart(app) ? " Each class against the rest is a question of its own, which may have no such plane." : "";
    line.textContent = `${sofar.toLocaleString("en")} ${what} so far.${none || each}`;
    return;
  }
  const plain = Math.abs(most - (proof?.bound ?? NaN)) < 1e-6 * most;
  const told = most < 100 ? brief(most) : Math.round(most).toLocaleString("en");
  const ratio = plain ? ` = R²/γ² (R = ${brief(proof?.radius ?? NaN)}, γ = ${brief(proof?.margin ?? NaN)}${recording.features.x0 ? " with w₀ counted in" : ""})` : "";
  line.textContent = `${sofar.toLocaleString("en")} ${what} so far; the proof allows ${told}${ratio}.`;
  meter.hidden = false;
  const [bar] = meter.children;
  if (bar instanceof HTMLElement) bar.style.width = `${Math.min(100, (100 * sofar) / most)}%`;
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
    const { pocket, average } = app.state.show;
    // A margin is solved to a tolerance, and touches its supports: that must not count against it.
    const margin = app.margin(app.focus) * (recording.run.margin_machine ? 1 - 1e-3 : 1);
    view.draw({
      recording, t: app.time(app.focus), slice: slice(app), palette: app.palette, hover: app.hover, labels: app.data.labels,
      margin, show: { pocket, average },
    });
  });
}

/** The slice that is asked for, as far as the run has such weights. @param {App} app */
function slice(app) {
  const recording = app.focused?.recording;
  return recording ? soundSlice(recording, app.state.slice) : app.state.slice;
}

/** A double click starts the run there. @param {App} app @param {Float64Array | number[] | null} found */
function start(app, found) {
  const chosen = app.state.runs[app.focus];
  const recording = app.focused?.recording;
  const knows = app.algorithm(chosen.algorithm).knobs.some(({ name }) => name === "start");
  if (!found || !recording || !knows || recording.heads !== 1) return;
  const begin = Array.from(found, (v) => Number(v.toPrecision(4)));
  const knobs = { ...chosen.knobs, init: "given", start: begin };
  app.change({ runs: app.state.runs.map((run, n) => (n === app.focus ? { ...run, knobs } : run)), t: 0 });
}

/** Which two weights, and of which class. @param {App} app */
function menus(app) {
  const recording = app.focused?.recording;
  if (!recording) return;
  const now = slice(app);
  const names = ["w₀ (bias)", ...recording.features.names.map((name) => `w of ${name}`)];
  const there = names.map((name, n) => ({ name, n })).filter(({ n }) => n > 0 || recording.features.x0 !== 0);
  const axis = (/** @type {"x" | "y"} */ which) => {
    const label = which === "x" ? "Weight to the right" : "Weight upwards";
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
    const menu = make("select", { "aria-label": "Whose weights" }, ...options);
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
    "Each point is a half-plane of weights that get it right; where all of them meet is a shaded cell, if they do." +
    (recording.width > 3 || recording.features.x0 ? " A slice through w(t): the other weights are as they are now." : "") +
    (startable ? " Double-click to start the run somewhere else." : "");
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
    show("errors", recording.length ? errorsChart(recording, clock, app.state.show, other) : null);
    show("loss", recording.length ? lossChart(recording, clock, other) : null);
  });
}
