/** Small helpers for elements. */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [given] attributes; `on…` listeners; `text`
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") node.textContent = String(value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children);
  return node;
}

/** An element of the page by its id. @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T} */
export function get(id, kind) {
  const node = document.getElementById(id);
  if (!(node instanceof kind)) throw new Error(`the page has no ${kind.name} called ${id}`);
  return node;
}

/** @param {string} id */
export function button(id) {
  return get(id, HTMLButtonElement);
}

/** @param {string} id */
export function input(id) {
  return get(id, HTMLInputElement);
}

/** @param {string} id */
export function place(id) {
  return get(id, HTMLElement);
}

/** Save a file from the page. @param {string} name @param {Blob} blob */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
