/**
 * The data: presets, files, columns, classes of new points, undo and redo.
 *
 * @typedef {import("../app.js").App} App
 * @typedef {import("../source.js").Table} Table
 * @typedef {import("../model/state.js").Points} Points
 */
import { Refusal } from "../source.js";
import { unpacked } from "../model/recording.js";
import { boxAround, cleared, MAX_CLASSES, MAX_DEGREE } from "../model/state.js";
import { boundaryName, grouped, plural } from "../view/paper.js";
import { SvgPen } from "../view/pen.js";
import { button, get, input, make, place } from "./dom.js";
import { tool } from "./editing.js";

const MAX_FILE_BYTES = 8 << 20;

/** @param {App} app */
export function dataPanel(app) {
  const preset = get("preset", HTMLSelectElement);
  preset.append(...app.page.presets.map(({ name, title }) => new Option(title, name)), new Option("Your own points", ""));
  preset.addEventListener("change", () => {
    if (preset.value) app.edit({ preset: preset.value }, { scaled: false, t: "end" });
    else app.edit(app.own);
  });

  const degree = get("degree", HTMLSelectElement);
  for (let n = 1; n <= MAX_DEGREE; n++) degree.append(new Option(boundaryName(n), String(n)));
  degree.addEventListener("change", () => app.learn({ degree: Number(degree.value) }));
  input("scaled").addEventListener("change", () => app.learn({ scaled: input("scaled").checked }));
  input("seed").addEventListener("change", () => {
    const seed = Math.round(Number(input("seed").value));
    if (seed >= 0 && seed < 2 ** 32) app.change({ seed });
    else input("seed").value = String(app.state.seed);
  });

  button("undo").addEventListener("click", () => app.undo());
  button("redo").addEventListener("click", () => app.redo());
  button("clear").addEventListener("click", () => app.edit(cleared(app.own)));
  button("brush").addEventListener("click", () => brush(!tool.brush));
  document.addEventListener("keydown", (event) => {
    if (typing(event)) return;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (command && key === "z") event.shiftKey ? app.redo() : app.undo();
    else if (command && key === "y") app.redo();
    else if (!command && !event.altKey && key === "b") brush(!tool.brush);
    else if (!command && !event.altKey && /^[1-6]$/.test(key)) setClass(Number(key) - 1);
    else return;
    event.preventDefault();
  });

  classes(app);
  files(app);
  const draw = () => {
    const { data } = app.state;
    preset.value = "preset" in data ? data.preset : "";
    degree.value = String(app.state.degree);
    input("scaled").checked = app.state.scaled;
    input("seed").value = String(app.state.seed);
    button("undo").disabled = !app.history.canUndo;
    button("redo").disabled = !app.history.canRedo;
    button("clear").disabled = app.data.points.length === 0;
    const about = "preset" in data ? app.page.presets.find(({ name }) => name === data.preset)?.about ?? "" : "";
    const count = app.data.points.length;
    place("about-data").textContent = `${plural(count, "point")}. ${about}`;
    place("columns").hidden = "preset" in data || !place("columns").hasChildNodes();
    nameClasses(app);
  };
  app.on("state", draw);
  draw();
}

/** Whether keys are typed into a field. @param {KeyboardEvent} event */
export function typing(event) {
  const { target } = event;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "range", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}


/** @param {boolean} on */
function brush(on) {
  tool.brush = on;
  button("brush").setAttribute("aria-pressed", String(on));
}

// --- classes -----------------------------------------------------------------------------------------------------------------

/** @param {App} app */
function classes(app) {
  const holder = place("classes");
  for (let n = 0; n < MAX_CLASSES; n++) {
    const choice = make("input", { type: "radio", name: "class", value: n, id: `class-${n}` });
    choice.checked = n === 0;
    choice.addEventListener("change", () => {
      tool.label = n;
    });
    holder.append(make("label", { class: `c${n}`, title: `Class of new points (${n + 1})` }, choice, shape(n), make("span")));
  }
  nameClasses(app);
}

/** @param {number} n */
function setClass(n) {
  input(`class-${n}`).checked = true;
  tool.label = n;
}

/** The mark of a class as a small picture. @param {number} n */
export function shape(n) {
  const pen = new SvgPen();
  pen.marks(n, [8, 8], 6, { fill: "currentColor" });
  const holder = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  holder.setAttribute("viewBox", "0 0 16 16");
  holder.setAttribute("aria-hidden", "true");
  holder.innerHTML = pen.parts.join("");
  return holder;
}

/** @param {App} app */
function nameClasses(app) {
  place("classes").querySelectorAll("span").forEach((span, n) => {
    span.textContent = app.nameOf(n);
  });
}

// --- files -------------------------------------------------------------------------------------------------------------------

/** @param {App} app */
function files(app) {
  const chooser = input("file");
  button("open-file").addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    const [file] = chooser.files ?? [];
    chooser.value = "";
    if (file) app.during(load(app, file));
  });
  const drop = place("drop");
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.hidden = true;
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.hidden = true;
    const [file] = event.dataTransfer?.files ?? [];
    if (file) app.during(load(app, file));
  });
  if (app.page.table) columns(app, app.page.table);
}

/** @param {App} app @param {File} file @param {string | null} [label] the label column; null: found by Python */
async function load(app, file, label = null) {
  try {
    if (file.size > MAX_FILE_BYTES) throw new Error(`${file.name} is larger than 8 MB. Open it with: rosenblatt studio ${file.name}`);
    app.setBusy(true);
    const table = await app.source.table(file.name, file, label);
    columns(app, table, labels(app, file, table.headers ?? [], table.label ?? null));
    const [a, b] = firstColumns(table);
    app.edit(pointsOf(table, a, b), { scaled: true, t: "end", degree: 1 });
  } catch (error) {
    app.error = error instanceof Error ? error.message : String(error);
    app.emit("runs");
    if (error instanceof Refusal && error.headers.length) {
      place("columns").replaceChildren(make("p", { class: "quiet", text: file.name }), ...labels(app, file, error.headers, label));
      place("columns").hidden = false;
    }
  } finally {
    app.setBusy(false);
  }
}

/**
 * A menu for the label column; none if columns have no names.
 * @param {App} app @param {File} file @param {string[]} headers @param {string | null} label
 */
function labels(app, file, headers, label) {
  if (headers.length === 0) return [];
  const options = headers.map((name) => new Option(`labels: ${name}`, name));
  if (label === null) options.unshift(new Option("labels: …", ""));
  const menu = make("select", { "aria-label": "Label column" }, ...options);
  menu.value = label ?? "";
  menu.addEventListener("change", () => app.during(load(app, file, menu.value || null)));
  return [menu];
}

/** The menus for the two columns that are shown. @param {App} app @param {Table} table @param {HTMLElement[]} [more] */
function columns(app, table, more = []) {
  const all = [...table.components, ...table.columns];
  const menus = [0, 1].map((n) => {
    const options = all.map(({ name }, at) => new Option(name, String(at)));
    const menu = make("select", { "aria-label": n ? "Vertical column" : "Horizontal column" }, ...options);
    menu.value = String(firstColumns(table)[n]);
    return menu;
  });
  for (const menu of menus) {
    menu.addEventListener("change", () => {
      app.edit(pointsOf(table, Number(menus[0].value), Number(menus[1].value)), { t: "end" });
    });
  }
  const summary = `${table.name}: ${grouped(table.shown)} of ${plural(table.rows, "row")}. ${table.note ?? ""}`;
  place("columns").replaceChildren(make("p", { class: "quiet", text: summary }), ...menus, ...more);
  place("columns").hidden = false;
}

/** The columns shown first: both of two, or the components of more; as in Python. @param {Table} table */
function firstColumns(table) {
  return table.columns.length === 2 ? [table.components.length, table.components.length + 1] : [0, 1];
}

/** Two columns of a table as points. @param {Table} table @param {number} a @param {number} b @returns {Points} */
function pointsOf(table, a, b) {
  const all = [...table.components, ...table.columns];
  const [x, y] = [unpacked(all[a].values), unpacked(all[b].values)];
  const points = Array.from(x, (value, n) => /** @type {[number, number]} */ ([short(value), short(y[n])]));
  const axes = /** @type {[string, string]} */ ([all[a].name, all[b].name]);
  return { points, labels: table.labels, names: table.names, box: boxAround(points), axes };
}

/** Round to six digits, which are more than a screen shows and keep links short. @param {number} value */
function short(value) {
  return Number(value.toPrecision(6));
}
