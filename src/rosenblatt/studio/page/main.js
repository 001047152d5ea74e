/** The page starts here. */
import { App } from "./app.js";
import { dataPanel } from "./ui/data_panel.js";
import { get, make, place } from "./ui/dom.js";
import { help } from "./ui/help.js";
import { insights } from "./ui/insights.js";
import { knobs } from "./ui/knobs.js";
import { share } from "./ui/share.js";
import { stage } from "./ui/stage.js";
import { tour } from "./ui/tour.js";
import { transport } from "./ui/transport.js";

/** @type {import("./source.js").PageData} */
const page = JSON.parse(get("studio", HTMLScriptElement).textContent ?? "{}");
const app = new App(page);
Object.assign(globalThis, { rosenblatt: app }); // for the console and for tests

help(app);
knobs(app);
dataPanel(app);
stage(app);
transport(app);
insights(app);
share(app);
tour(app);

const banner = place("banner");
const back = make("button", { type: "button", text: "Back to the last run" });
back.addEventListener("click", () => app.ran && app.restore(app.ran));
banner.append(make("span"), back);
const opened = app.data;
const showBanner = () => {
  const remark = app.error || app.notice;
  const text = remark || (app.data === opened && page.note) || "";
  banner.classList.toggle("note", !remark); // a note stays: it must not cover the plane
  banner.hidden = !text;
  back.hidden = !app.error || !app.ran || app.ran === app.state || new Set(app.data.labels).size < 2;
  /** @type {HTMLElement} */ (banner.firstChild).textContent = text;
};
app.on("runs", showBanner);
app.on("busy", () => {
  document.body.setAttribute("aria-busy", String(app.busy));
  app.redraw();
});
addEventListener("hashchange", () => app.restoreLink());

app.restoreLink(true).then((found) => {
  if (found) return;
  app.emit("state");
  app.rerun();
});
