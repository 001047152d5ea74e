/** The tour; each step sets the page to a state that can be played with. @typedef {import("../app.js").App} App */
import { initial, merged } from "../model/state.js";
import { button, make, place } from "./dom.js";

/** @param {App} app */
export function tour(app) {
  const holder = place("tour");
  const steps = app.page.tour;
  button("open-tour").hidden = steps.length === 0;
  let at = 0;
  /** @param {number} n */
  const go = (n) => {
    at = Math.max(0, Math.min(steps.length - 1, n));
    const { title, html, state, look } = steps[at];
    const words = make("div", { class: "words", tabindex: 0 });
    words.innerHTML = html; // from tour.py, not from a user
    const back = make("button", { type: "button", text: "Back", onclick: () => go(at - 1) });
    back.disabled = at === 0;
    const last = at === steps.length - 1;
    const next = make("button", { type: "button", class: "primary", text: last ? "Done" : "Next", onclick: () => (last ? close() : go(at + 1)) });
    // The arrows that the texts mention: phones have no such keys, and the tour covers the buttons of the page.
    const arrows = [-1, 1].map((by) =>
      make("button", {
        type: "button", text: by < 0 ? "←" : "→", "aria-label": by < 0 ? "Previous update" : "Next update",
        onclick: () => app.move((player) => player.step(by)),
      }));
    const heading = make("h2", { id: "tour-step", tabindex: -1, text: `${at + 1}. ${title}` });
    holder.replaceChildren(
      make("div", { class: "tour-head" }, heading, make("button", { type: "button", "aria-label": "Close the tour", text: "×", onclick: close })),
      words,
      make("div", { class: "row" }, back, next, make("span", { class: "quiet", text: `${at + 1} of ${steps.length}` }), make("span", { class: "row arrows" }, ...arrows)),
    );
    holder.hidden = false;
    heading.focus({ preventScroll: true });
    app.restore(merged(state, initial()));
    // The element of a step may be far down; in one column the tour covers all but the top.
    place(look).scrollIntoView({ block: matchMedia("(max-width: 759px)").matches ? "start" : "nearest" });
  };
  const close = () => {
    holder.hidden = true;
    button("open-tour").focus();
  };
  holder.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  button("open-tour").addEventListener("click", () => go(at));
}
