// From Graphviz's SVG to the content of two panes: a safe copy, where each box lies, and what each side lacks.

const SAFE_ELEMENTS = new Set(["path", "polygon", "polyline", "ellipse", "circle", "rect", "text"]);
const WRAPPERS = new Set(["g", "a"]);
const SAFE_ATTRIBUTES = new Set(
  `d points cx cy rx ry r x y width height fill stroke stroke-width stroke-dasharray stroke-opacity fill-opacity
  transform text-anchor font-family font-size font-weight font-style xml:space`.split(/\s+/),
);
const BOX_KINDS = new Set(["op", "input", "output", "constant", "fold", "break", "group"]);
const BOX_STATUSES = new Set(["kept", "removed", "added", "constant"]);
const STATUS_WORDS = {
  removed: "only before folding",
  added: "only after folding",
  constant: "constant burned in",
};

/** The drawing of a view: `content` to be shown twice, its size, and the places of boxes and frames in it. */
function readDrawing(view) {
  const parsed = new DOMParser().parseFromString(view.svg, "image/svg+xml");
  const graph = parsed.querySelector("svg > g");
  if (parsed.querySelector("parsererror") || !graph) throw new Error("the drawing is not well-formed SVG");
  const [, , width, height] = numbersIn(parsed.documentElement.getAttribute("viewBox") ?? "");
  if (!(width > 0 && height > 0)) throw new Error("the drawing has no size");
  const shift = /translate\(([-\d.]+)[ ,]+([-\d.]+)\)/.exec(graph.getAttribute("transform") ?? "");
  const offset = shift ? { x: Number(shift[1]), y: Number(shift[2]) } : { x: 0, y: 0 };
  const drawing = { content: makeSvg("g", { transform: `translate(${offset.x},${offset.y})` }), width, height };
  drawing.places = new Map();
  drawing.frames = new Map();
  for (const part of graph.children) copyPart(part, view, drawing, offset);
  return drawing;
}

function copyPart(part, view, drawing, offset) {
  const kind = part.getAttribute("class")?.split(" ")[0];
  if (part.localName !== "g") return; // the white background: the pane has its own
  if (kind === "node") copyBox(part, view.boxes[part.id], drawing, offset);
  else if (kind === "cluster") copyFrame(part, view, drawing, offset);
  else if (kind === "edge") copyEdge(part, drawing);
}

function copyBox(part, box, drawing, offset) {
  if (!box) return;
  const place = extentOf(part, offset);
  drawing.places.set(part.id, place);
  const words = [...(box.label ?? []), STATUS_WORDS[box.status], box.group ? "closed group" : ""];
  const group = makeSvg("g", {
    class: "cv-box",
    "data-box": part.id,
    role: "button",
    tabindex: "-1",
    "aria-label": words.filter(Boolean).join(", "),
  });
  if (BOX_KINDS.has(box.kind)) group.classList.add(`cv-${box.kind}`);
  if (BOX_STATUSES.has(box.status)) group.classList.add(`cv-${box.status}`);
  if (hidesChange(box)) group.classList.add("cv-changed");
  group.append(halo(place, offset), ...safeChildren(part));
  if (box.group) group.append(sign("+", place.right - offset.x, place.top - offset.y, "cv-open"));
  drawing.content.append(group);
}

/** Whether a closed group says of itself something like "− 2 removed". */
function hidesChange(box) {
  return Boolean(box.group) && /[−+] \d/.test((box.label ?? []).join(" "));
}

function copyFrame(part, view, drawing, offset) {
  const key = part.id.startsWith("frame-") ? part.id.slice("frame-".length) : "";
  const title = view.frames[key];
  const place = extentOf(part, offset);
  const group = makeSvg("g", { class: "cv-frame" }, ...safeChildren(part));
  drawing.frames.set(key || part.id, { ...place, title: title ?? "" });
  group.dataset.frame = key || part.id;
  if (title !== undefined) {
    const close = sign("−", place.left - offset.x, place.top - offset.y, "cv-close");
    dress(close, { role: "button", tabindex: "-1", "data-close": key, "aria-label": `close ${title}` }, []);
    group.append(close);
  }
  drawing.content.append(group);
}

function copyEdge(part, drawing) {
  const title = [...part.children].find((child) => child.localName === "title")?.textContent ?? "";
  const group = makeSvg("g", { class: "cv-edge", "data-edge": title }, ...safeChildren(part));
  drawing.content.append(group);
}

function halo(place, offset) {
  const gap = 4;
  return makeSvg("rect", {
    class: "cv-halo",
    x: place.left - offset.x - gap,
    y: place.top - offset.y - gap,
    width: place.right - place.left + 2 * gap,
    height: place.bottom - place.top + 2 * gap,
    rx: 4,
  });
}

/** A small round button on a corner. */
function sign(text, x, y, name) {
  const cross = text === "+" ? `M${x - 3},${y}h6M${x},${y - 3}v6` : `M${x - 3},${y}h6`;
  const touched = makeSvg("circle", { class: "cv-sign-room", cx: x, cy: y, r: 11 });
  return makeSvg(
    "g",
    { class: `cv-sign ${name}` },
    touched,
    makeSvg("circle", { class: "cv-sign-disc", cx: x, cy: y, r: 6 }),
    makeSvg("path", { class: "cv-sign-mark", d: cross }),
  );
}

/** Copies of known elements with known attributes, taken out of groups and links; all else is left out. */
function safeChildren(parent, inherited = {}) {
  return [...parent.children].flatMap((child) => {
    if (child.namespaceURI !== SVG_NAMESPACE) return [];
    const looks = { ...inherited, ...safeAttributes(child) };
    if (WRAPPERS.has(child.localName)) return safeChildren(child, looks);
    if (!SAFE_ELEMENTS.has(child.localName)) return [];
    return [makeSvg(child.localName, child.localName === "text" ? { ...looks, text: child.textContent } : looks)];
  });
}

function safeAttributes(element) {
  const isSafe = ({ name, value }) => SAFE_ATTRIBUTES.has(name) && !/url|[\\]/i.test(value);
  return Object.fromEntries([...element.attributes].filter(isSafe).map(({ name, value }) => [name, value]));
}

function numbersIn(text) {
  return (text.match(/-?\d*\.?\d+(?:e[-+]?\d+)?/gi) ?? []).map(Number);
}

/** Where an element lies, from its numbers: asking the browser would cost a layout. */
function extentOf(part, offset) {
  const xs = [];
  const ys = [];
  for (const shape of part.querySelectorAll("polygon, polyline, path, ellipse")) {
    const number = (name) => Number(shape.getAttribute(name));
    if (shape.localName === "ellipse") {
      xs.push(number("cx") - number("rx"), number("cx") + number("rx"));
      ys.push(number("cy") - number("ry"), number("cy") + number("ry"));
      continue;
    }
    const flat = numbersIn(shape.getAttribute("points") ?? shape.getAttribute("d") ?? "");
    flat.forEach((value, k) => (k % 2 ? ys : xs).push(value));
  }
  if (!xs.length) return { left: 0, right: 0, top: 0, bottom: 0, x: 0, y: 0 };
  const [left, right] = [Math.min(...xs) + offset.x, Math.max(...xs) + offset.x];
  const [top, bottom] = [Math.min(...ys) + offset.y, Math.max(...ys) + offset.y];
  return { left, right, top, bottom, x: (left + right) / 2, y: (top + bottom) / 2 };
}

function holds(frame, place) {
  return frame.left <= place.x && place.x <= frame.right && frame.top <= place.y && place.y <= frame.bottom;
}

/** The boxes in the order in which they are read: from the top, then from the left. */
function readingOrder(view, drawing) {
  const rows = Object.keys(view.boxes).filter((id) => drawing.places.has(id));
  const at = (id) => drawing.places.get(id);
  return rows.sort((a, b) => at(a).y - at(b).y || at(a).x - at(b).x);
}
