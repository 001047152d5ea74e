// The page in a notebook: a frame that may run scripts and nothing else, and a messenger between it and Python.

const PATIENCE = 30_000; // ms
const SILENCE = "Python did not answer: is the notebook's kernel running, and is it idle?";

/** @param {{model: any, el: HTMLElement}} given */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = "Rosenblatt: the studio";
  Object.assign(frame.style, { width: "100%", height: "min(860px, 92vh)", minHeight: "420px", border: "0", display: "block" });

  // The same widget may be shown more than once: what Python answers is for the view that asked.
  const view = Math.random().toString(36).slice(2);
  /** @type {Map<unknown, ReturnType<typeof setTimeout>>} */
  const waiting = new Map();

  /** @param {unknown} id @param {Record<string, unknown>} said */
  function tell(id, said) {
    clearTimeout(waiting.get(id));
    if (waiting.delete(id)) frame.contentWindow?.postMessage({ studio: 1, id, ...said }, "*");
  }

  /** @param {MessageEvent} event */
  function asked(event) {
    if (event.source !== frame.contentWindow || event.data?.studio !== 1) return;
    const { id, path, body } = event.data;
    waiting.set(id, setTimeout(() => tell(id, { error: SILENCE }), PATIENCE));
    try {
      if (body instanceof ArrayBuffer) model.send({ view, id, path }, undefined, [body]);
      else model.send({ view, id, path, body });
    } catch {
      tell(id, { error: SILENCE });
    }
  }

  /** @param {any} message */
  function answered(message) {
    if (message?.view !== view) return;
    const { id, answer, error, headers } = message;
    tell(id, error === undefined ? { answer } : { error, headers });
  }

  window.addEventListener("message", asked);
  model.on("msg:custom", answered);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", asked);
    model.off("msg:custom", answered);
    for (const timer of waiting.values()) clearTimeout(timer);
    frame.remove();
  };
}

export default { render };
