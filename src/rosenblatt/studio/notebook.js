// The page in a notebook: a sandboxed frame, and messages between it and Python.

const TIMEOUT_MS = 30_000;
const NO_ANSWER = "Python did not answer. Is the notebook's kernel running and idle?";

/** @param {{model: any, el: HTMLElement}} given */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = "Rosenblatt: the studio";
  Object.assign(frame.style, { width: "100%", height: "min(860px, 92vh)", minHeight: "420px", border: "0", display: "block" });

  // The same widget may be shown more than once; answers are for the view that sent the request.
  const view = Math.random().toString(36).slice(2);
  /** @type {Map<unknown, ReturnType<typeof setTimeout>>} */
  const waiting = new Map();

  /** @param {unknown} id @param {Record<string, unknown>} content */
  function reply(id, content) {
    clearTimeout(waiting.get(id));
    if (waiting.delete(id)) frame.contentWindow?.postMessage({ studio: 1, id, ...content }, "*");
  }

  /** @param {MessageEvent} event */
  function onRequest(event) {
    if (event.source !== frame.contentWindow || event.data?.studio !== 1) return;
    const { id, path, body } = event.data;
    waiting.set(id, setTimeout(() => reply(id, { error: NO_ANSWER }), TIMEOUT_MS));
    try {
      if (body instanceof ArrayBuffer) model.send({ view, id, path }, undefined, [body]);
      else model.send({ view, id, path, body });
    } catch {
      reply(id, { error: NO_ANSWER });
    }
  }

  /** @param {any} message */
  function onAnswer(message) {
    if (message?.view !== view) return;
    const { id, answer, error, headers } = message;
    reply(id, error === undefined ? { answer } : { error, headers });
  }

  window.addEventListener("message", onRequest);
  model.on("msg:custom", onAnswer);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", onRequest);
    model.off("msg:custom", onAnswer);
    for (const timer of waiting.values()) clearTimeout(timer);
    frame.remove();
  };
}

export default { render };
