// Builders of elements: every text is set as text, so nothing that data says can become markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** An HTML element. `options`: attributes (false and null are left out), `text`, and `on` with listeners. */
function make(tag, options = {}, ...children) {
  return dress(document.createElement(tag), options, children);
}

function makeSvg(tag, options = {}, ...children) {
  return dress(document.createElementNS(SVG_NAMESPACE, tag), options, children);
}

function dress(element, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") element.textContent = visible(value);
    else if (name === "on") listen(element, value);
    else if (name === "title" || name === "aria-label") element.setAttribute(name, visible(value));
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Characters that turn text around, as their numbers: unseen, they would make it look like other text. */
function visible(text) {
  const number = (letter) => `⟨U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  return String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, number);
}

function listen(element, listeners) {
  for (const [event, listener] of Object.entries(listeners)) element.addEventListener(event, listener);
}

function makeButton(text, title, onClick, options = {}) {
  return make("button", { type: "button", text, title, on: { click: onClick }, ...options });
}

/** Long text cut at its end; the whole of it belongs in a title beside it. */
function shorten(text, width) {
  const letters = Array.from(text);
  return letters.length <= width ? text : letters.slice(0, width - 1).join("") + "…";
}

/** Let one of several elements be reached by Tab, and walk among them with arrow keys, Home and End. */
function rove(container, selector, signal, onMove = () => {}) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const walk = (event) => {
    const items = [...container.querySelectorAll(selector)];
    const at = items.indexOf(event.target.closest(selector));
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const ends = { Home: 0, End: items.length - 1 };
    if (!(event.key in steps) && !(event.key in ends)) return;
    const to = event.key in ends ? ends[event.key] : (at + steps[event.key] + items.length) % items.length;
    event.preventDefault();
    event.stopPropagation();
    for (const item of items) item.tabIndex = item === items[to] ? 0 : -1;
    items[to].focus();
    onMove(items[to]);
  };
  container.addEventListener("keydown", walk, { signal });
}
