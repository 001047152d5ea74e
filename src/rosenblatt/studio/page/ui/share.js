/** The share dialog: a link, files and Python code. @typedef {import("../app.js").App} App */
import { unpacked } from "../model/recording.js";
import { toLink } from "../model/state.js";
import { Gif } from "../view/gif.js";
import { drawPlane } from "../view/plane_view.js";
import { CanvasPen, SvgPen } from "../view/pen.js";
import { button, download, get, make } from "./dom.js";

const PICTURE_PX = 800;
const GIF = { size: 420, frames: 60, delay: 100 }; // pixels, pictures, milliseconds

/** @param {App} app */
export function share(app) {
  const dialog = get("share", HTMLDialogElement);
  button("open-share").addEventListener("click", () => {
    dialog.replaceChildren(...content(app, dialog));
    dialog.showModal();
  });
}

/** @param {App} app @param {HTMLDialogElement} dialog */
function content(app, dialog) {
  const status = make("p", { class: "quiet", role: "status" });
  const copy = async (/** @type {string} */ text, /** @type {string} */ what) => {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = `${what} was copied to the clipboard.`;
    } catch {
      status.textContent = "This page has no access to the clipboard. Select the text and copy it.";
    }
  };
  const link = make("input", { type: "text", readonly: true, "aria-label": "Link to this page", value: location.href });
  link.style.width = "100%";
  linkTo(app).then((href) => {
    link.value = href;
  });
  const code = app.focused?.recording.run.code ?? "";
  const files = /** @type {[string, () => void | Promise<void>][]} */ ([
    ["PNG", () => savePng(app)], ["SVG", () => saveSvg(app)], ["GIF, animated", () => saveGif(app, status)], ["JSON of the run", () => saveJson(app)],
  ]);
  const buttons = files.map(([text, save]) => {
    const node = make("button", { type: "button", text });
    node.disabled = !app.focused;
    node.addEventListener("click", async () => {
      node.disabled = true;
      await save();
      node.disabled = false;
    });
    return node;
  });
  return [
    make("h2", { id: "share-title", text: "Share" }),
    make("p", { class: "quiet", text: "The link restores this page in any studio; it opens at this address." }),
    link,
    make("p", {}, make("button", { type: "button", text: "Copy link", onclick: () => copy(link.value, "The link") })),
    make("h3", { text: "Files" }),
    make("p", { class: "row" }, ...buttons),
    make("h3", { text: app.played.length > 1 ? `Python code for run ${app.focus + 1}` : "Python code for this run" }),
    make("pre", { id: "code", tabindex: 0, "aria-label": "Python code", text: code }),
    make("p", { class: "row" }, make("button", { type: "button", text: "Copy code", onclick: () => copy(code, "The code") }),
      make("button", { type: "button", text: "Close", onclick: () => dialog.close() })),
    status,
  ];
}

/** @param {App} app */
async function linkTo(app) {
  const hash = await toLink(app.state);
  return location.href.split("#")[0] + (hash ? `#${hash}` : "");
}

/** The scene of a plane at update t. @param {App} app @param {number} index @param {number} t */
function scene(app, index, t) {
  const played = app.played[index];
  return {
    data: app.data, recording: played?.recording ?? null, proof: played?.proof ?? null, t, show: app.shown(index),
    palette: app.palette, hover: null, margin: app.margin(index), cursor: null,
  };
}

/** @param {App} app @param {number} index */
function caption(app, index) {
  return app.algorithm(app.state.runs[index].algorithm).title;
}

/** All planes side by side. @param {App} app @param {import("../view/pen.js").Pen} pen @param {number} size @param {number[]} times */
function drawAll(app, pen, size, times) {
  times.forEach((t, index) => {
    const shift = shifted(pen, index * size);
    drawPlane(shift, size, size, scene(app, index, t));
    shift.text(10, 20, caption(app, index), { size: 15, weight: 650, fill: app.palette.ink, halo: app.palette.card });
    const length = app.played[index]?.recording.length ?? 0;
    const words = { size: 13, fill: app.palette.quiet, halo: app.palette.card, anchor: /** @type {const} */ ("end") };
    if (length) shift.text(size - 10, 20, `${t} of ${length}`, words);
  });
}

/** A pen that is shifted to the right. @param {import("../view/pen.js").Pen} pen @param {number} by @returns {import("../view/pen.js").Pen} */
function shifted(pen, by) {
  if (by === 0) return pen;
  const move = (/** @type {ArrayLike<number>} */ points) => Array.from(points, (v, n) => (n % 2 ? v : v + by));
  return {
    polygon: (points, style) => pen.polygon(move(points), style),
    polygons: (parts, style) => pen.polygons(parts.map(move), style),
    line: (points, style) => pen.line(move(points), style),
    segments: (points, style) => pen.segments(move(points), style),
    circle: (x, y, radius, style) => pen.circle(x + by, y, radius, style),
    marks: (kind, points, radius, style) => pen.marks(kind, move(points), radius, style),
    text: (x, y, words, lettering) => pen.text(x + by, y, words, lettering),
    inside: (x, y, width, height, draw) => pen.inside(x + by, y, width, height, draw),
  };
}

/** @param {App} app */
function timesNow(app) {
  return app.played.map((_, index) => app.time(index));
}

/** @param {App} app @param {number} size @param {number[]} times */
function painted(app, size, times) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [size * times.length, size];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("This browser does not support canvas.");
  context.fillStyle = app.palette.card;
  context.fillRect(0, 0, canvas.width, canvas.height);
  drawAll(app, new CanvasPen(context), size, times);
  return { canvas, context };
}

/** @param {App} app */
async function savePng(app) {
  const { canvas } = painted(app, PICTURE_PX, timesNow(app));
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ done) => canvas.toBlob(done, "image/png"));
  if (blob) download("rosenblatt.png", blob);
}

/** @param {App} app */
function saveSvg(app) {
  const pen = new SvgPen();
  const times = timesNow(app);
  drawAll(app, pen, PICTURE_PX, times);
  const text = pen.picture(PICTURE_PX * times.length, PICTURE_PX, app.palette.card, `${caption(app, 0)}, Rosenblatt studio`);
  download("rosenblatt.svg", new Blob([text], { type: "image/svg+xml" }));
}

/** The run from start to end, in at most sixty pictures. @param {App} app @param {HTMLElement} status */
async function saveGif(app, status) {
  const { length } = app.player;
  const count = Math.min(length + 1, GIF.frames);
  const gif = new Gif(GIF.size * app.played.length, GIF.size);
  const t = app.player.t;
  for (let n = 0; n < count; n++) {
    app.player.seek(count === 1 ? t : Math.round((n * length) / (count - 1)));
    const { context, canvas } = painted(app, GIF.size, timesNow(app));
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    gif.add(data, n === count - 1 ? 1500 : Math.max(GIF.delay, Math.min(600, 6000 / count)));
    status.textContent = `Drawing ${n + 1} of ${count} …`;
    await new Promise((done) => setTimeout(done));
  }
  app.player.seek(t);
  app.redraw();
  download("rosenblatt.gif", new Blob([gif.bytes()], { type: "image/gif" }));
  status.textContent = "";
}

/** The run as JSON with plain lists. @param {App} app */
function saveJson(app) {
  const runs = app.played.flatMap((played) => {
    if (!played) return [];
    return [{ request: played.request, run: plain(played.recording.run), proof: plain(played.proof) }];
  });
  const text = JSON.stringify({ made_by: `Rosenblatt ${app.page.version}`, runs }, null, 1);
  download("rosenblatt-run.json", new Blob([text], { type: "application/json" }));
}

/** A copy with all packed arrays as lists. @param {unknown} value @returns {unknown} */
export function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && ["f64", "f32", "i32"].includes(keys[0])) return Array.from(unpacked(/** @type {any} */ (value)));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}
