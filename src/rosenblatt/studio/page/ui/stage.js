/**
 * The planes, one for each algorithm, and the layers that are drawn in them.
 *
 * @typedef {import("../app.js").App} App
 * @typedef {import("../model/state.js").Shown} Shown
 */
import { voters } from "../view/votes.js";
import { PlaneView } from "../view/plane_view.js";
import { boundaryNoun, brief, grouped } from "../view/paper.js";
import { make, place } from "./dom.js";
import { editing } from "./editing.js";

const READINGS = /** @type {const} */ (["last", "pocket", "average", "vote"]);
/** @type {[keyof Shown, string, string][]} */
const CHECKS = [
  ["regions", "regions", ""], ["normal", "normal vector", ""], ["band", "margin", ""], ["pocket", "pocket", "pocket"],
  ["average", "average", "average"], ["vote", "vote", "vote"], ["widest", "perfect w*", "widest"],
  ["clash", "points that prove it impossible", "alarm"],
];

/** @param {App} app */
export function stage(app) {
  const holder = place("planes");
  /** @type {{view: PlaneView, title: HTMLElement, summary: HTMLElement, pick: HTMLElement, figure: HTMLElement}[]} */
  let planes = [];
  const build = () => {
    if (planes.length === app.state.runs.length) return;
    holder.replaceChildren();
    holder.classList.toggle("two", app.state.runs.length > 1);
    planes = app.state.runs.map((_, index) => {
      const title = make("b");
      const summary = make("span");
      const pick = make("button", { type: "button", class: "pick", title: "Show proof, weights and timeline of this run", onclick: () => app.change({ focus: index }) }, title);
      const canvas = make("div", {
        class: "canvas", tabindex: 0, role: "application",
        "aria-label": "The plane of points. Arrows move a cross, Enter adds a point, Delete removes one, Escape leaves.",
      });
      const several = app.state.runs.length > 1;
      const figure = make("figure", { class: "plane" }, make("figcaption", {}, several ? pick : title, summary), canvas);
      holder.append(figure);
      const view = new PlaneView(canvas);
      editing(app, view, canvas);
      new ResizeObserver(() => app.redraw()).observe(canvas);
      return { view, title, summary, pick, figure };
    });
  };
  const mark = () => planes.forEach(({ pick, figure }, index) => {
    const focused = planes.length > 1 && app.focus === index;
    figure.classList.toggle("focused", focused);
    pick.setAttribute("aria-pressed", String(focused));
  });
  checks(app);
  app.on("state", () => {
    build();
    mark();
  });
  app.on("frame", () => {
    app.pending = false;
    planes.forEach(({ view, title, summary }, index) => {
      const played = app.played[index] ?? null;
      const recording = played?.recording ?? null;
      const t = app.time(index);
      view.draw({
        data: app.data, recording, proof: app.proof(index), t, show: app.shown(index), palette: app.palette, hover: app.hover,
        margin: app.margin(index), cursor: app.cursor,
      });
      app.pending ||= view.pending;
      const name = app.algorithm(app.state.runs[index].algorithm).title;
      title.textContent = planes.length > 1 ? `${index + 1}: ${name}` : name;
      const errors = recording ? `${errorsText(recording, t, app.shown(index))}${ownErrorsText(recording)}` : "";
      summary.textContent = app.hover !== null && app.data.points[app.hover] ? pointText(app, index) : app.busy ? app.waiting : errors;
    });
    showVoters(app);
  });
  build();
}

/** The errors of the model that is shown by a new run, on columns that the page does not have. */
/** @param {import("../model/recording.js").Recording} recording */
function ownErrorsText(recording) {
  const { own } = recording.run;
  return own ? `; your model ${grouped(own.errors)} of ${grouped(own.rows)}` : "";
}

/** The errors of the model, those of the last line, and those of the other readings that are shown. */
/** @param {import("../model/recording.js").Recording} recording @param {number} t @param {Shown} show */
function errorsText(recording, t, show) {
  const { keep, frames, log } = recording.run;
  if (!log) return `${frames && t < recording.length ? `${frames.titles[t]}: ` : ""}${recording.errorsOf("last", t)} wrong`;
  const others = READINGS.filter((reading) => reading !== keep && (reading === "last" || show[reading]));
  const counts = [keep, ...others].flatMap((reading) => {
    const errors = recording.errorsOf(reading, t);
    const name = reading !== "last" ? `${reading} ` : keep !== "last" ? `last ${boundaryNoun(recording.degree)} ` : "";
    return errors === undefined ? [] : [`${name}${errors}`];
  });
  return [`${counts[0]} wrong`, ...counts.slice(1)].join(", ");
}

/** @param {App} app @param {number} index */
function pointText(app, index) {
  const row = /** @type {number} */ (app.hover);
  const [x, y] = app.data.points[row];
  const recording = app.played[index]?.recording;
  const score = recording && recording.run.scheme === "binary" && recording.count > row
    ? `, score ${brief(recording.score(recording.at(app.time(index)), 0, recording.rows, row))}` : "";
  return `point ${row + 1} (${app.nameOf(app.data.labels[row])}): ${brief(x)}, ${brief(y)}${score}`;
}

/** @param {App} app */
function checks(app) {
  const boxes = CHECKS.map(([name, title, color]) => {
    const box = make("input", { type: "checkbox", id: `show-${name}` });
    box.addEventListener("change", () => app.change({ show: { ...app.state.show, [name]: box.checked } }));
    const label = make("label", { for: `show-${name}` }, box, title);
    if (color) {
      const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
      swatch.style.color = `var(--${color})`;
      label.append(swatch);
    }
    place("shown").append(label);
    return { name, box, label };
  });
  const draw = () => {
    for (const { name, box, label } of boxes) {
      box.checked = app.state.runs.some((_, index) => app.shown(index)[name]);
      const reading = name === "pocket" || name === "average" || name === "vote";
      const there = !reading || app.played.some((each) => each?.recording.run.log);
      box.disabled = !there;
      label.classList.toggle("quiet", !there);
    }
  };
  app.on("state", draw);
  app.on("runs", draw);
  draw();
}

/** The hypotheses with the most votes so far. @param {App} app */
function showVoters(app) {
  const holder = place("voters");
  const recording = app.focused?.recording;
  holder.hidden = !(app.shown(app.focus).vote && recording && recording.votes.length);
  if (holder.hidden || !recording) return;
  const found = voters(recording, app.time(app.focus), 6);
  while (holder.children.length < found.length) holder.append(make("div", {}, make("span"), make("i"), make("span")));
  while (holder.children.length > found.length) holder.lastChild?.remove();
  found.forEach(({ n, head, votes, share }, at) => {
    const [name, bar, count] = /** @type {HTMLElement[]} */ ([...holder.children[at].children]);
    name.textContent = `${head === null ? "" : `${app.nameOf(recording.run.classes[head])}, `}after update ${n}`;
    bar.style.width = `${(100 * share).toFixed(1)}%`;
    count.textContent = `${votes} votes`;
  });
}
