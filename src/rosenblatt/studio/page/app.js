/**
 * The application: one state, its runs, one clock, and listeners for their changes.
 *
 * @typedef {import("./model/state.js").State} State
 * @typedef {import("./model/state.js").Points} Points
 * @typedef {import("./model/state.js").Data} Data
 * @typedef {import("./model/state.js").Chosen} Chosen
 * @typedef {import("./model/state.js").Algorithm} Algorithm
 * @typedef {import("./model/state.js").Request} Request
 * @typedef {import("./model/recording.js").Proof} Proof
 * @typedef {import("./source.js").PageData} PageData
 * @typedef {{request: Request, recording: Recording, proof: Proof | null, unproved?: string}} Played unproved: why there is
 *   no proof
 * @typedef {"state" | "runs" | "frame" | "busy"} Event
 */
import { Player } from "./model/player.js";
import { Recording, keptProof } from "./model/recording.js";
import { History, fromLink, initial, merged, requestOf, shownWith, withValidStarts, toLink } from "./model/state.js";
import { Source } from "./source.js";
import { palette } from "./view/paper.js";

const OBSOLETE_RUN_MS = 1000; // a run may take this long after the points have changed; during a drag it is shown

export class App {
  /** @param {PageData} page */
  constructor(page) {
    this.page = page;
    this.source = new Source(page);
    this.player = new Player();
    /** @type {State} */
    this.state = merged(page.state ?? {}, initial());
    this.history = new History(subjectOf(this.state));
    /** @type {(Played | null)[]} */
    this.played = [null];
    /** @type {number | null} the row under the pointer */
    this.hover = null;
    /** @type {import("./model/state.js").Point | null} the cross of the keyboard in the plane */
    this.cursor = null;
    this.palette = palette();
    this.pending = false; // whether a view has more to draw
    this.error = ""; // why there is no run
    this.notice = ""; // shown until something changes
    /** @type {State | null} the last state that could be run */
    this.ran = null;
    this.busy = false;
    this.since = 0;
    this.revision = 0; // counts changes that need new runs
    this.running = false;
    this.stop = new AbortController(); // of the runs in progress
    this.openTasks = 0; // runs, proofs, files and links in progress
    this.dragging = false;
    this.lastFrame = 0;
    this.looping = false;
    this.linked = 0;
    /** @type {Map<Event, (() => void)[]>} */
    this.listeners = new Map();
  }

  /** @param {Event} event @param {() => void} listener */
  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  /** @param {Event} event */
  emit(event) {
    for (const listener of this.listeners.get(event) ?? []) listener();
  }

  // --- reading the state ---------------------------------------------------------------------------------------------------------

  /** @returns {Points} */
  get data() {
    const { data } = this.state;
    if (!("preset" in data)) return data;
    const preset = this.page.presets.find(({ name }) => name === data.preset) ?? this.page.presets[0];
    return preset;
  }

  /** The points as data of the user, to be changed. @returns {Points} */
  get own() {
    const { points, labels, names, box, axes } = this.data;
    return { points, labels, names, box, ...(axes ? { axes } : {}) };
  }

  /** The name of a class. @param {number} code */
  nameOf(code) {
    return this.data.names[code] ?? "ABCDEF"[code] ?? "";
  }

  /** @param {string} name @returns {Algorithm} */
  algorithm(name) {
    return this.page.menu.find((each) => each.name === name) ?? this.page.menu[0];
  }

  /** A knob's value for one of the runs. @param {number} index @param {string} name */
  knob(index, name) {
    const chosen = this.state.runs[index];
    const knob = this.algorithm(chosen.algorithm).knobs.find((each) => each.name === name);
    return name in chosen.knobs ? chosen.knobs[name] : knob?.default;
  }

  /** The margin that y · score must exceed. @param {number} index */
  margin(index) {
    const margin = this.knob(index, "margin");
    return typeof margin === "number" ? margin : this.algorithm(this.state.runs[index].algorithm).margin ?? 0;
  }

  /** The layers that are drawn for one of the runs. @param {number} index */
  shown(index) {
    const keep = this.played[index]?.recording.run.keep ?? this.algorithm(this.state.runs[index].algorithm).keep;
    return shownWith(this.state.show, keep);
  }

  /** The update of a run at the clock's time; the few frames of a solver are spread over the whole time. */
  /** @param {number} index */
  time(index) {
    const recording = this.played[index]?.recording;
    if (!recording) return 0;
    const { t, length } = this.player;
    return Math.min(Math.round(t / recording.pace(length)), recording.length);
  }

  /** The run whose weights, proof and curves are shown. */
  get focus() {
    return Math.min(this.state.focus, this.state.runs.length - 1);
  }

  get focused() {
    return this.played[this.focus] ?? null;
  }

  /** The proof of a run, if it is about the current points. @param {number} index */
  proof(index) {
    const played = this.played[index];
    const { points, labels } = this.data;
    return played && played.request.points === points && played.request.labels === labels ? played.proof : null;
  }

  /** @param {string} remark */
  notify(remark) {
    this.notice = remark;
    this.emit("runs");
  }

  /** Whether everything is computed and drawn; playback may continue. */
  get atRest() {
    return this.openTasks === 0 && (this.player.playing || !this.looping);
  }

  /** Count a task as open until it ends. @template T @param {Promise<T>} what @returns {Promise<T>} */
  async during(what) {
    this.openTasks++;
    try {
      return await what;
    } finally {
      this.openTasks--;
    }
  }

  // --- changing the state -----------------------------------------------------------------------------------------------------------

  /** Change the state and everything that depends on it. @param {Partial<State>} some */
  change(some) {
    const before = this.state;
    const boxBefore = this.data.box;
    this.notice = "";
    this.state = { ...before, ...some };
    if (!some.runs && (some.data || some.degree)) {
      this.state.runs = withValidStarts(before.runs, this.state.degree, new Set(this.data.labels).size);
    }
    if (this.data.box !== boxBefore) this.forget(); // other data, not the same points moved
    this.player.speed = this.state.speed;
    const same = ["data", "degree", "scaled", "seed", "runs"].every(
      (name) => this.state[/** @type {keyof State} */ (name)] === before[/** @type {keyof State} */ (name)],
    );
    this.emit("state");
    if (this.state.focus !== before.focus) this.emit("runs");
    if (same) this.redraw();
    else this.rerun();
    this.link();
  }

  /** Change the points; can be undone. @param {Data} data @param {Partial<State>} [more] */
  edit(data, more = {}) {
    this.dragging = false;
    this.learn({ ...more, data });
  }

  /** Change points, degree or scaling; can be undone. @param {Partial<State>} some */
  learn(some) {
    this.history.push(subjectOf({ ...this.state, ...some }));
    this.change(some);
  }

  /** Points while one is dragged: without undo and without a proof. */
  /** @param {Data} data */
  drag(data) {
    this.dragging = true;
    this.change({ data });
  }

  /** Cancel a drag. */
  letGo() {
    this.dragging = false;
    this.change(this.history.now);
  }

  undo() {
    this.change(this.history.undo());
  }

  redo() {
    this.change(this.history.redo());
  }

  /** Drop runs on other points. */
  forget() {
    this.played = this.state.runs.map(() => null);
    this.hover = this.cursor = null;
    this.emit("runs");
  }

  /** Set a new state, from a link or the tour. @param {State} state */
  restore(state) {
    const { data } = state;
    if ("preset" in data && !this.page.presets.some(({ name }) => name === data.preset)) state = { ...state, data: initial().data };
    const known = (/** @type {Chosen} */ { algorithm }) => this.page.menu.some(({ name }) => name === algorithm);
    if (!state.runs.every(known)) state = { ...state, runs: initial().runs };
    this.player.playing = false;
    const subject = subjectOf(state);
    if (JSON.stringify(subject) !== JSON.stringify(this.history.now)) this.history.push(subject);
    this.change({ ...state, ...this.history.now });
  }

  /** @param {boolean} [first] there is nothing to undo yet */
  async restoreLink(first = false) {
    const state = await this.during(fromLink(location.hash));
    if (state && first) this.history = new History(subjectOf(state));
    if (state) this.restore(state);
    else if (/\bs=/.test(location.hash)) this.notify("This link cannot be read; it may be incomplete.");
    return state !== undefined;
  }

  /** Write the state into the address after a short delay. */
  link() {
    clearTimeout(this.linked);
    this.linked = setTimeout(() => this.writeLink(), 300);
  }

  async writeLink() {
    clearTimeout(this.linked);
    const hash = await toLink(this.state);
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // a page in a notebook has no address
    }
  }

  // --- running ------------------------------------------------------------------------------------------------------------

  /**
   * Compute the runs of the state. While some are being computed, only the last change is kept; long runs that it makes
   * obsolete are stopped.
   */
  rerun() {
    this.revision++;
    if (!this.running) this.during(this.runAll());
    else setTimeout((/** @type {AbortController} */ stop) => stop.abort(), OBSOLETE_RUN_MS, this.stop);
  }

  async runAll() {
    this.running = true;
    const slow = setTimeout(() => this.setBusy(true), 250);
    let turn;
    try {
      do {
        turn = this.revision;
        await this.runOnce(turn);
      } while (turn !== this.revision);
    } finally {
      clearTimeout(slow);
      this.running = false;
      this.setBusy(false);
    }
    if (!this.dragging) await this.prove(turn);
  }

  /** @param {number} turn */
  async runOnce(turn) {
    const { state, data } = this;
    const requests = state.runs.map((chosen) => requestOf(state, chosen, data, this.algorithm(chosen.algorithm)));
    const enough = new Set(data.labels).size > 1;
    this.stop = new AbortController();
    const { signal } = this.stop;
    const answers = enough ? await Promise.allSettled(requests.map((request) => this.source.run(request, signal))) : [];
    if (turn !== this.revision && !answers.some(({ status }) => status === "fulfilled")) return;
    const refused = answers.find((answer) => answer.status === "rejected");
    this.error = enough ? (refused?.reason?.message ?? "") : "Place points of at least two classes.";
    if (enough && !refused) this.ran = state;
    const before = this.played;
    this.played = requests.map((request, n) => {
      const answer = answers[n];
      if (answer?.status !== "fulfilled") return null;
      const recording = new Recording(answer.value, request.points, request.labels);
      return { request, recording, proof: keptProof(before[n]?.proof ?? null, before[n]?.request, request) };
    });
    this.load();
    this.emit("runs");
    this.redraw();
  }

  /** Set the clock for new runs. */
  load() {
    const lengths = this.played.map((each) => each?.recording.length ?? 0); // 0 if there is no run
    const longest = lengths.indexOf(Math.max(...lengths));
    this.player.load(lengths[longest], this.played[longest]?.recording.run.log?.passes ?? []);
    if (!this.player.playing) this.player.seek(this.state.t === "end" ? this.player.length : this.state.t);
  }

  /** Request the proofs after the runs, since they take longer. @param {number} turn */
  async prove(turn) {
    for (const each of this.played.slice()) {
      if (!each) continue;
      if (turn !== this.revision) return;
      try {
        const proof = await this.source.proof(each.request);
        if (turn !== this.revision) return;
        each.proof = proof;
      } catch (error) {
        each.unproved = error instanceof Error ? error.message : String(error); // the run is shown without a proof
      }
      this.emit("runs");
      this.redraw();
    }
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    if (this.busy === busy) return;
    this.busy = busy;
    this.since = performance.now();
    this.emit("busy");
  }

  /** The text while waiting, with the time if it is long. */
  get waiting() {
    const seconds = Math.floor((performance.now() - this.since) / 1000);
    return seconds < 3 ? "computing …" : `computing for ${seconds} s …`;
  }

  // --- time ------------------------------------------------------------------------------------------------------------------

  /** Move the clock on behalf of the user. @param {(player: Player) => void} how */
  move(how) {
    how(this.player);
    this.noteTime();
    this.redraw();
  }

  noteTime() {
    const { t, atEnd } = this.player;
    this.state = { ...this.state, t: atEnd ? "end" : t };
    this.link();
  }

  /** Draw in the next frame, and keep drawing during playback. */
  redraw() {
    if (this.looping) return;
    this.looping = true;
    this.lastFrame = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  /** @param {number} now */
  frame(now) {
    const wasPlaying = this.player.playing;
    this.player.tick((now - this.lastFrame) / 1000);
    this.lastFrame = now;
    this.looping = false;
    this.emit("frame");
    if (this.player.playing || this.pending || this.busy) {
      this.looping = true;
      requestAnimationFrame((next) => this.frame(next));
    } else if (wasPlaying) this.noteTime();
  }
}

/** @param {State} state @returns {import("./model/state.js").Subject} */
function subjectOf({ data, degree, scaled }) {
  return { data, degree, scaled };
}
