/** The help dialog with all keys, and the light or dark theme. @typedef {import("../app.js").App} App */
import { palette } from "../view/paper.js";
import { button, get, make } from "./dom.js";

const KEYS = [
  ["Space", "play or pause"],
  ["← →", "previous or next update"],
  ["Shift ← →", "previous or next pass"],
  ["Home End", "start or end"],
  ["click, tap", "add a point of the chosen class"],
  ["drag", "move a point"],
  ["right-click, long press", "delete a point"],
  ["1 … 6", "choose the class"],
  ["B", "brush on or off; drag to paint many points"],
  ["Ctrl Z, Ctrl Y", "undo, redo"],
  ["Tab to the plane, arrows, Enter, Delete", "add and delete points without a mouse"],
  ["double-click in weight space", "start the run with these weights"],
];

/** @param {App} app */
export function help(app) {
  const dialog = get("help", HTMLDialogElement);
  const rows = KEYS.map(([key, what]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", { text: key })), make("td", { text: what })));
  const close = make("button", { type: "button", text: "Close", onclick: () => dialog.close() });
  const table = make("table", {}, make("tbody", {}, ...rows));
  dialog.append(make("h2", { id: "help-title", text: "Help: mouse, touch and keys" }), table, make("p"), close);
  button("open-help").addEventListener("click", () => dialog.showModal());
  theme(app);
}

/** The theme of the system, until the user chooses one. @param {App} app */
function theme(app) {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered() ?? "";
  const set = () => {
    root.dataset.theme = chosen || (dark.matches ? "dark" : "light");
    app.palette = palette();
    app.redraw();
  };
  dark.addEventListener("change", set);
  button("theme").addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    remember(chosen);
    set();
  });
  set();
}

const THEME = "rosenblatt-theme";

/** The theme chosen before; a page in a notebook's frame has no storage. */
function remembered() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

/** @param {string} theme */
function remember(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // no storage: the choice lasts until the page is closed
  }
}
