/**
 * Playback: buttons, keys, slider and timeline.
 *
 * @typedef {import("../app.js").App} App
 */
import { SPEEDS } from "../model/state.js";
import { boundaryNoun, brief, grouped, plural } from "../view/paper.js";
import { Timeline, momentAt } from "../view/timeline.js";
import { typing } from "./data_panel.js";
import { button, get, input, place } from "./dom.js";

const PLAY = "M7 4v16l13-8z";
const PAUSE = "M6 4h4v16H6zM14 4h4v16h-4z";

/** @param {App} app */
export function transport(app) {
  const { player } = app;
  const actions = {
    first: () => app.move((p) => p.step(-p.length)),
    "pass-back": () => app.move((p) => p.jump(-1)),
    back: () => app.move((p) => p.step(-1)),
    play: () => app.move((p) => p.toggle()),
    forth: () => app.move((p) => p.step(1)),
    "pass-forth": () => app.move((p) => p.jump(1)),
    last: () => app.move((p) => p.step(p.length)),
  };
  for (const [id, action] of Object.entries(actions)) {
    button(id).addEventListener("click", (event) => {
      action();
      if (event.detail > 0) button(id).blur(); // after a click, space plays again
    });
  }

  const scrub = input("scrub");
  scrub.addEventListener("input", () => app.move((p) => p.step(Number(scrub.value) - p.t)));
  const strip = place("timeline");
  const timeline = new Timeline(strip);
  const seek = (/** @type {PointerEvent} */ event) => {
    if (!event.buttons || player.length === 0) return;
    const { left, width } = strip.getBoundingClientRect();
    app.move((p) => p.step(momentAt(event.clientX - left, width, p.length) - p.t));
  };
  strip.addEventListener("pointerdown", (event) => {
    strip.setPointerCapture(event.pointerId);
    seek(event);
  });
  strip.addEventListener("pointermove", seek);

  const speed = input("speed");
  speed.max = String(SPEEDS.length - 1);
  speed.addEventListener("input", () => app.change({ speed: SPEEDS[Number(speed.value)] }));

  document.addEventListener("keydown", (event) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const onControl = event.target instanceof HTMLElement && event.target.closest("button, a, summary, input");
    const slides = event.target instanceof HTMLInputElement && event.target.type === "range";
    const own = event.target instanceof HTMLInputElement && (event.target.type === "radio" || (slides && event.target !== scrub));
    if (event.key === " " && !(onControl && !slides)) actions.play();
    else if (own) return; // these use arrows themselves
    else if (event.key === "ArrowRight") actions[event.shiftKey ? "pass-forth" : "forth"]();
    else if (event.key === "ArrowLeft") actions[event.shiftKey ? "pass-back" : "back"]();
    else if (event.key === "Home") actions.first();
    else if (event.key === "End") actions.last();
    else return;
    event.preventDefault();
  });

  let playing = false;
  app.on("frame", () => {
    if (Number(scrub.max) !== player.length) scrub.max = String(player.length);
    if (Number(scrub.value) !== player.t) scrub.value = String(player.t);
    scrub.setAttribute("aria-valuetext", `update ${player.t} of ${player.length}`);
    if (playing !== player.playing) {
      playing = player.playing;
      button("play").querySelector("path")?.setAttribute("d", playing ? PAUSE : PLAY);
      button("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    }
    const recording = app.focused?.recording ?? null;
    place("timeline").classList.toggle("empty", !recording);
    if (recording) timeline.draw({ recording, t: player.t, length: player.length, palette: app.palette });
    get("now", HTMLParagraphElement).textContent = recording ? description(app) : "";
  });
  app.on("state", () => {
    speed.value = String(Math.max(0, SPEEDS.findIndex((each) => each >= app.state.speed)));
    get("speed-value", HTMLOutputElement).textContent = `${app.state.speed} per second`;
  });
  app.on("runs", () => {
    for (const id of Object.keys(actions)) button(id).disabled = player.length === 0;
    scrub.disabled = player.length === 0;
  });
}

/** The last update in words. @param {App} app */
function description(app) {
  const played = app.focused;
  if (!played) return "";
  const { recording } = played;
  const t = app.time(app.focus);
  const wrong = `${errorsText(recording, t)}${marginText(recording, t)}`;
  if (recording.run.frames) return `${recording.run.frames.titles[t] ?? ""} (${t + 1} of ${recording.length + 1}): ${wrong}.`;
  if (t === 0) return `Before the first of ${plural(recording.length, "update")}: ${wrong}.`;
  const causes = recording.causes(t);
  const count = recording.edges[t] - recording.edges[t - 1];
  const cause = count === 1 ? `Point ${causes[0] + 1} (${app.nameOf(app.data.labels[causes[0]])})` : `${grouped(count)} points`;
  const moved = `${cause} moved the ${boundaryNoun(recording.degree)}`;
  return `Update ${grouped(t)} of ${grouped(recording.length)}, pass ${passOf(recording.run.log?.passes ?? [], t)}. ${moved}. Now ${wrong}.`;
}

/** The errors of the line, and those of the model if it is another reading. */
/** @param {import("../model/recording.js").Recording} recording @param {number} t */
function errorsText(recording, t) {
  const { keep } = recording.run;
  const errors = recording.errorsOf("last", t) ?? 0;
  const onLine = recording.errorsAt(t) - errors; // they are right as the model predicts, and hollow in the plane
  const kept = keep === "last" ? undefined : recording.errorsOf(keep, t);
  return (
    `${grouped(errors)} of ${plural(recording.count, "point")} on the wrong side` +
    (onLine > 0 ? ` and ${grouped(onLine)} on the ${boundaryNoun(recording.degree)}` : "") +
    (kept === undefined ? "" : `, ${grouped(kept)} by the ${keep}`)
  );
}

/** The margin: of an SVM, or the distance of the nearest point if none is wrong. */
/** @param {import("../model/recording.js").Recording} recording @param {number} t */
function marginText(recording, t) {
  if (recording.heads !== 1) return "";
  const long = Math.hypot(...recording.at(t).subarray(1));
  if (recording.run.svm && long > 0) return `; the margin is ${brief(1 / long)} on each side`;
  const margin = recording.errorsAt(t) === 0 ? recording.marginAt(t) : null;
  return margin === null || !(margin > 0) ? "" : `; the nearest point is ${brief(margin)} away`;
}

/** The pass that update t was made in, from 1. @param {number[]} passes @param {number} t */
function passOf(passes, t) {
  const at = passes.findIndex((end) => end >= t);
  return (at < 0 ? passes.length : at) + 1;
}
