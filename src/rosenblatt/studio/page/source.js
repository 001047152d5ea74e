/**
 * Where runs come from: a server on this machine, the notebook around the page, or recordings inside the page.
 *
 * @typedef {import("./model/state.js").Request} Request
 * @typedef {import("./model/recording.js").Run} Run
 * @typedef {import("./model/recording.js").Proof} Proof
 * @typedef {{request: Request, run: Run, proof: Proof | null}} Recorded
 * @typedef {{name: string, values: import("./model/recording.js").Packed}} Column
 * @typedef {{name: string, rows: number, shown: number, columns: Column[], components: Column[], labels: number[],
 *   names: string[], note: string | null, label?: string | null, headers?: string[]}} Table
 * @typedef {{name: string, title: string, about: string, points: [number, number][], labels: number[], names: string[],
 *   box: number[], degree: number}} Preset
 * @typedef {{title: string, html: string, state: unknown, look: string}} TourStep
 * @typedef {{version: string, mode: "server" | "export" | "notebook", menu: import("./model/state.js").Algorithm[],
 *   compared: string[], presets: Preset[], tour: TourStep[], table: Table | null, state: unknown, recordings: Recorded[],
 *   note?: string | null}} PageData
 */
import { keyOf } from "./model/state.js";

const MAX_CACHED = 40;

/** An error from Python; errors about a table have its column names, so that a label column can be chosen. */
export class Refusal extends Error {
  /** @param {string} sentence @param {string[]} [headers] */
  constructor(sentence, headers = []) {
    super(sentence);
    this.headers = headers;
  }
}

export class Source {
  /** @param {PageData} page */
  constructor(page) {
    this.mode = page.mode;
    /** @type {Map<string, {run?: Run, proof?: Proof | null}>} */
    this.kept = new Map(page.recordings.map(({ request, run, proof }) => [keyOf(request), { run, proof: proof ?? undefined }]));
    this.fixed = this.kept.size; // recordings of the page are never dropped
    this.lastId = 0;
  }

  /** Whether runs can be computed, not only played. */
  get live() {
    return this.mode !== "export";
  }

  /** @param {Request} request @param {AbortSignal} [stop] stops a run on the server @returns {Promise<Run>} */
  async run(request, stop) {
    return /** @type {Run} */ (await this.found(request, "run", "/api/run", stop));
  }

  /** @param {Request} request @returns {Promise<Proof>} */
  async proof(request) {
    return /** @type {Proof} */ (await this.found(request, "proof", "/api/proof"));
  }

  /** Whether the run of a request is cached. @param {Request} request */
  has(request) {
    return this.kept.get(keyOf(request))?.run !== undefined;
  }

  /** @param {Request} request @param {"run" | "proof"} what @param {string} path @param {AbortSignal} [stop] */
  async found(request, what, path, stop) {
    const key = keyOf(request);
    const kept = this.kept.get(key)?.[what];
    if (kept) return kept;
    if (!this.live) {
      throw new Error("This page plays recorded runs, and this one is not among them. “rosenblatt studio” computes any run.");
    }
    const answer = await (this.mode === "server" ? post(path, request, stop) : this.throughNotebook(path, request));
    this.kept.set(key, { ...this.kept.get(key), [what]: answer });
    const keys = [...this.kept.keys()];
    if (keys.length > this.fixed + MAX_CACHED) this.kept.delete(keys[this.fixed]);
    return answer;
  }

  /**
   * A file as a table; `label` is the label column if Python should not find it.
   * @param {string} name @param {Blob} file @param {string | null} label @returns {Promise<Table>}
   */
  async table(name, file, label) {
    const path = `/api/table?name=${encodeURIComponent(name)}${label === null ? "" : `&label=${encodeURIComponent(label)}`}`;
    if (this.mode === "server") return /** @type {Table} */ (await post(path, file));
    if (this.mode === "notebook") return /** @type {Table} */ (await this.throughNotebook(path, await file.arrayBuffer()));
    throw new Error("This page plays recorded runs. Start “rosenblatt studio” to load a file.");
  }

  /** @param {string} path @param {unknown} body @returns {Promise<unknown>} */
  throughNotebook(path, body) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const listen = (/** @type {MessageEvent} */ event) => {
        const { studio, id: answered, answer, error, headers } = event.data ?? {};
        if (event.source !== parent || studio !== 1 || answered !== id) return;
        removeEventListener("message", listen);
        if (error === undefined) resolve(answer);
        else reject(new Refusal(error, headers));
      };
      addEventListener("message", listen);
      parent.postMessage({ studio: 1, id, path, body }, "*");
    });
  }
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [stop] @returns {Promise<unknown>} */
async function post(path, body, stop) {
  const file = body instanceof Blob;
  const type = file ? "application/octet-stream" : "application/json";
  let response;
  try {
    const headers = { "Content-Type": type };
    response = await fetch(path, { method: "POST", headers, body: file ? body : JSON.stringify(body), signal: stop });
  } catch (error) {
    if (stop?.aborted) throw error;
    throw new Error("The studio does not answer. Is “rosenblatt studio” still running?");
  }
  const answer = await response.json().catch(() => ({ error: `The studio answered with status ${response.status}.` }));
  if (!response.ok) throw new Refusal(answer.error ?? `The studio answered with status ${response.status}.`, answer.headers);
  return answer;
}
