/**
 * The proof, drawn: the line of the widest margin, or the points that no line can separate (the clash).
 *
 * @typedef {import("./plane_view.js").Scene} Scene
 * @typedef {import("./frame.js").Frame} Frame
 * @typedef {import("./pen.js").Pen} Pen
 * @typedef {import("./surface.js").Surface} Surface
 */

/** @param {Pen} pen @param {Frame} frame @param {Scene} scene @param {Surface | null} surface */
export function drawProof(pen, frame, scene, surface) {
  const { proof, show, palette, recording, data } = scene;
  if (!proof) return;
  const plane = show.widest && proof.plane?.flat();
  if (plane && surface && recording && plane.length === recording.size) {
    const line = surface.boundary(Float64Array.from(plane));
    pen.segments(frame.all(line), { stroke: palette.widest, width: 2, dash: [1, 5], round: true });
  }
  if (proof.clash && show.clash && proof.clash.rows.every((row) => data.points[row])) drawClash(pen, frame, scene);
}

/**
 * The clash: the convex hull of its points in each class; the hulls overlap. For curves, the hulls overlap only among the
 * features, so just the points are marked.
 * @param {Pen} pen @param {Frame} frame @param {Scene} scene
 */
function drawClash(pen, frame, { proof, palette, data, recording }) {
  const clash = proof?.clash;
  if (!clash) return;
  const color = palette.alarm;
  if (!recording || recording.linear) {
    for (const label of new Set(clash.rows.map((row) => data.labels[row]))) {
      const mine = clash.rows.filter((row) => data.labels[row] === label).map((row) => data.points[row]);
      const around = frame.all(hull(mine).flat());
      if (around.length > 4) pen.polygon(around, { fill: color, alpha: 0.12 });
      if (around.length > 2) pen.polygon(around, { stroke: color, width: 2, dash: [6, 4] });
    }
  }
  for (const row of clash.rows) {
    const [x, y] = data.points[row];
    pen.circle(frame.x(x), frame.y(y), 11, { stroke: color, width: 2.2 });
  }
}

/** The convex hull of a few points, in order. @param {[number, number][]} points @returns {[number, number][]} */
export function hull(points) {
  const sorted = points.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (/** @type {[number, number][]} */ some) => {
    /** @type {[number, number][]} */
    const kept = [];
    for (const p of some) {
      while (kept.length > 1) {
        const [a, b] = kept.slice(-2);
        if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
        kept.pop();
      }
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}
