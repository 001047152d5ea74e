/**
 * Points by mouse, touch and keyboard: click to add, drag to move, right-click or long press to delete, brush to paint.
 *
 * @typedef {import("../app.js").App} App
 * @typedef {import("../view/plane_view.js").PlaneView} PlaneView
 * @typedef {import("../model/state.js").Points} Points
 * @typedef {import("../model/state.js").Point} Point
 */
import { MAX_POINTS, rounded, withMoved, withPoints, without } from "../model/state.js";
import { grouped } from "../view/paper.js";

const LONG_PRESS_MS = 550;
const DRAG_THRESHOLD_PX = 5; // smaller moves are a click
const BRUSH_RADIUS_PX = 26;
const BRUSH_SPACING_PX = 12;

/** Which class new points get, and whether the brush is on. */
export const tool = { label: 0, brush: false };

/** @param {App} app @param {PlaneView} view @param {HTMLElement} holder */
export function editing(app, view, holder) {
  /** @type {{row: number | null, x: number, y: number, moved: boolean, base: Points, painted: Point[], pointer: number} | null} */
  let grip = null;
  let timer = 0;

  const where = (/** @type {MouseEvent} */ event) => {
    const box = holder.getBoundingClientRect();
    return /** @type {const} */ ([event.clientX - box.left, event.clientY - box.top]);
  };
  const spot = (/** @type {number} */ px, /** @type {number} */ py) => {
    // A point outside the picture could not be dragged back.
    const { width, height } = view.frame;
    const [x, y] = view.frame.back(Math.max(0, Math.min(width, px)), Math.max(0, Math.min(height, py)));
    return /** @type {Point} */ ([rounded(x, app.data.box), rounded(y, app.data.box)]);
  };

  holder.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur(); // keys control playback again
    const [px, py] = where(event);
    const row = tool.brush ? null : view.hit(app.data, px, py);
    grip = { row, x: px, y: py, moved: false, base: app.own, painted: [], pointer: event.pointerId };
    holder.setPointerCapture(event.pointerId);
    clearTimeout(timer);
    if (row !== null && event.pointerType !== "mouse") timer = setTimeout(() => remove(row), LONG_PRESS_MS);
    if (tool.brush) paint(px, py);
  });

  holder.addEventListener("pointermove", (event) => {
    const [px, py] = where(event);
    if (!grip) {
      point(view.hit(app.data, px, py));
      return;
    }
    if (event.pointerId !== grip.pointer) return;
    if (!grip.moved && Math.hypot(px - grip.x, py - grip.y) < DRAG_THRESHOLD_PX) return;
    grip.moved = true;
    clearTimeout(timer);
    if (tool.brush) paint(px, py);
    else if (grip.row !== null) app.drag(withMoved(grip.base, grip.row, spot(px, py)));
  });

  holder.addEventListener("pointerup", (event) => {
    clearTimeout(timer);
    if (!grip || event.pointerId !== grip.pointer) return;
    const { row, moved, base, painted, x, y } = grip;
    grip = null;
    if (tool.brush) {
      if (painted.length) add(base, painted);
    } else if (row !== null && moved) app.edit(withMoved(base, row, spot(...where(event))));
    else if (row === null && !moved) add(base, [spot(x, y)]);
  });
  // Touch scrolls the page, unless it is on a point or the brush is on.
  const holds = (/** @type {TouchEvent} */ event) => {
    const [touch] = event.touches;
    const box = holder.getBoundingClientRect();
    if (tool.brush || view.hit(app.data, touch.clientX - box.left, touch.clientY - box.top) !== null) event.preventDefault();
  };
  holder.addEventListener("touchstart", holds, { passive: false });
  holder.addEventListener("mousedown", (event) => event.preventDefault()); // otherwise the keyboard's cross would appear here

  holder.addEventListener("pointercancel", () => {
    clearTimeout(timer);
    if (grip?.moved) app.letGo();
    grip = null;
  });
  holder.addEventListener("pointerleave", () => {
    if (!grip) point(null);
  });
  holder.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    const row = view.hit(app.data, ...where(event));
    if (row !== null) remove(row);
  });
  holder.addEventListener("keydown", (event) => keys(event));
  holder.addEventListener("blur", () => {
    if (app.cursor) {
      app.cursor = null;
      app.redraw();
    }
  });

  /** @param {Points} base @param {Point[]} points */
  function add(base, points) {
    if (base.points.length >= MAX_POINTS) app.notify(`The maximum of ${grouped(MAX_POINTS)} points is reached.`);
    else app.edit(withPoints(base, points, tool.label));
  }

  /** @param {number} row */
  function remove(row) {
    if (grip?.moved) return;
    clearTimeout(timer); // a long press may also cause a right click
    grip = null;
    point(null);
    app.edit(without(app.own, row));
  }

  /** @param {number | null} row */
  function point(row) {
    if (app.hover === row) return;
    app.hover = row;
    app.redraw();
  }

  /** Add three random points around a pixel. @param {number} px @param {number} py */
  function paint(px, py) {
    if (!grip || (grip.painted.length && Math.hypot(px - grip.x, py - grip.y) < BRUSH_SPACING_PX)) return;
    [grip.x, grip.y] = [px, py];
    for (let n = 0; n < 3; n++) {
      const [turn, reach] = [Math.random() * 2 * Math.PI, BRUSH_RADIUS_PX * Math.sqrt(Math.random())];
      grip.painted.push(spot(px + reach * Math.cos(turn), py + reach * Math.sin(turn)));
    }
    app.drag(withPoints(grip.base, grip.painted, tool.label));
  }

  /** Move a cross with the arrow keys, and add or delete points there. @param {KeyboardEvent} event */
  function keys(event) {
    const { box } = app.data;
    const step = ((box[1] - box[0]) / 50) * (event.shiftKey ? 5 : 1);
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) {
      const [x, y] = app.cursor ?? [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
      const tall = (step * (box[3] - box[2])) / (box[1] - box[0]);
      app.cursor = [rounded(x + move[0] * step, box), rounded(y + move[1] * tall, box)];
      point(view.hit(app.data, view.frame.x(app.cursor[0]), view.frame.y(app.cursor[1])));
      app.redraw();
    } else if (app.cursor && event.key === "Enter") add(app.own, [app.cursor]);
    else if (app.cursor && (event.key === "Delete" || event.key === "Backspace")) {
      const row = view.hit(app.data, view.frame.x(app.cursor[0]), view.frame.y(app.cursor[1]));
      if (row !== null) remove(row);
    } else if (event.key === "Escape") holder.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
