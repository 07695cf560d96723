// The two panes: one drawing shown twice, each without what only the other side has, under one camera.

const SIDES = ["before", "after"];
const MODES = ["both", "before", "after", "ghosts"];

function createPanes(signal) {
  const panes = SIDES.map(makePane);
  const element = make("div", { class: "cv-stage", "data-mode": "both" }, ...panes.map((pane) => pane.element));
  const self = { element, panes, mode: "both", view: null, drawing: null, order: [], size: { width: 0, height: 0 } };
  self.camera = createCamera(({ x, y, k }) => {
    for (const pane of panes) pane.viewport.setAttribute("transform", `translate(${x},${y}) scale(${k})`);
  });
  const isEntered = () => element.querySelector(":focus-visible") !== null;
  const wheel = { isEntered, onScroll: createHint(signal) };
  for (const pane of panes) bindGestures(pane.element, self.camera, wheel, signal);
  watchSize(self, signal);
  signal.addEventListener("abort", self.camera.stop, { once: true });

  const cameras = new Map(); // of drawings of a group's inside, and of the one they were opened from
  let lit = [];
  let chosen = [];

  self.show = (view) => {
    const drawing = readDrawing(view);
    const old = self.view && { view: self.view, drawing: self.drawing };
    if (old) cameras.set(old.view.inner_of, self.camera.now);
    Object.assign(self, { view, drawing, order: readingOrder(view, drawing) });
    lit = chosen = [];
    element.classList.remove("cv-dimmed");
    for (const [k, pane] of panes.entries()) {
      fillPane(pane, k ? drawing.content.cloneNode(true) : drawing.content, view, drawing);
    }
    self.byNode = new Map(self.order.filter((id) => view.boxes[id].node).map((id) => [view.boxes[id].node, id]));
    placeCamera(self, old, cameras);
    self.pending = null;
  };

  self.boxOf = (node) => (node && self.byNode?.get(node)) || "";
  self.elementsOf = (box) => panes.map((pane) => pane.boxes.get(box)).filter(Boolean);
  self.isVisible = (box, side) => self.mode === "ghosts" || Boolean(self.view.boxes[box]?.[side]);
  self.sidesShown = () => (self.mode === "both" ? SIDES : self.mode === "before" ? ["before"] : ["after"]);

  self.setMode = (mode) => {
    self.mode = mode;
    element.dataset.mode = mode;
    panes[1].title.textContent = mode === "ghosts" ? "after, and faintly what was removed" : "after";
  };

  self.choose = (box) => {
    for (const group of chosen) group.classList.remove("cv-chosen", "cv-partner");
    for (const group of chosen) group.removeAttribute("aria-pressed");
    const partners = (self.view?.boxes[box]?.partners ?? []).flatMap(self.elementsOf);
    const own = self.elementsOf(box);
    for (const group of own) group.classList.add("cv-chosen");
    for (const group of own) group.setAttribute("aria-pressed", "true");
    for (const group of partners) group.classList.add("cv-partner");
    chosen = [...own, ...partners];
    if (box) for (const pane of panes) setTabStop(pane, box);
  };

  /** Light a box and its neighbours and dim the rest; "" ends it. */
  self.light = (box) => {
    for (const part of lit) part.classList.remove("cv-lit");
    lit = box ? litParts(self, box) : [];
    for (const part of lit) part.classList.add("cv-lit");
    element.classList.toggle("cv-dimmed", lit.length > 0);
  };

  self.markHits = (boxes, current) => {
    for (const pane of panes) {
      for (const [id, group] of pane.boxes) {
        group.classList.toggle("cv-hit", boxes.has(id));
        group.classList.toggle("cv-current", id === current);
      }
    }
  };

  /** As much as can be read; `all`: the whole drawing, however small. */
  self.fit = (all) => {
    self.look = all ? lookAtAll : lookAtTop;
    self.camera.glideTo(self.look(self));
    self.camera.touched = false;
  };
  self.zoom = (factor) => self.camera.zoomAt({ x: self.size.width / 2, y: self.size.height / 2 }, factor);
  self.centre = (box) => {
    const place = self.drawing.places.get(box);
    if (place) self.camera.glideTo(cameraOn(place, self.size, Math.max(self.camera.now.k, READABLE)));
  };
  self.bringIntoView = (box) => {
    const place = self.drawing.places.get(box);
    if (place && !isWithin(place, self.camera.now, self.size)) self.centre(box);
  };
  /** The first look at the drawing. */
  self.startAgain = () => beginAnew(self);
  /** Where the focus is in a pane, move it to a box, in that pane if the box is in it. */
  self.moveFocus = (box) => {
    const active = document.activeElement;
    const [here] = panes.filter((pane) => pane.svg.contains(active));
    if (!here) return;
    const target = [here, ...panes].find((pane) => pane.boxes.has(box) && self.view.boxes[box][pane.side]);
    if (!target) return;
    setTabStop(target, box);
    target.boxes.get(box).focus({ preventScroll: true });
  };
  /** Say that the user opens or closes the thing at `place`: what comes in its stead shall be there. */
  self.expectAt = (place) => {
    self.pending = place && onScreen(place, self.camera.now);
  };
  return self;
}

function makePane(side) {
  const viewport = makeSvg("g", { class: "cv-viewport" });
  const svg = makeSvg("svg", { role: "group", "aria-label": `graph ${side} folding` }, viewport);
  const title = make("b", { text: side });
  const count = make("span");
  const label = make("div", { class: "cv-pane-label", "aria-hidden": "true" }, title, count);
  const element = make("div", { class: "cv-pane", "data-side": side, tabindex: "-1" }, label, svg);
  return { side, element, svg, viewport, title, count, boxes: new Map(), edges: new Map(), tabStop: "" };
}

function fillPane(pane, content, view, drawing) {
  const { side } = pane;
  pane.viewport.replaceChildren(content);
  pane.boxes = new Map();
  pane.edges = new Map();
  for (const group of content.querySelectorAll(".cv-box")) {
    pane.boxes.set(group.dataset.box, group);
    group.classList.toggle("cv-absent", !view.boxes[group.dataset.box][side]);
  }
  for (const group of content.querySelectorAll(".cv-edge")) pane.edges.set(group.dataset.edge, group);
  for (const [source, target, before, after, standsFor] of view.lines) {
    const group = pane.edges.get(`${source}->${target}`);
    if (!group) continue;
    const here = side === "before" ? before : after;
    group.classList.add(standsFor ? "cv-became" : before && after ? "cv-kept" : before ? "cv-removed" : "cv-added");
    group.classList.toggle("cv-absent", standsFor || !here);
  }
  for (const group of content.querySelectorAll(".cv-frame")) hideEmptyFrame(group, side, view, drawing);
  const present = [...pane.boxes.keys()].filter((id) => view.boxes[id][side]);
  const nodes = present.reduce((sum, id) => sum + (view.boxes[id].size ?? 1), 0);
  pane.count.textContent = `${nodes} node${nodes === 1 ? "" : "s"}`;
  pane.svg.setAttribute("aria-label", `graph ${side} folding: ${present.length} boxes`);
  setTabStop(pane, present.includes(pane.tabStop) ? pane.tabStop : (present[0] ?? ""));
}

function hideEmptyFrame(group, side, view, drawing) {
  const frame = drawing.frames.get(group.dataset.frame);
  const inside = [...drawing.places].filter(([, place]) => holds(frame, place));
  group.classList.toggle("cv-absent", !inside.some(([id]) => view.boxes[id][side]));
}

/** One box of a pane is reached by Tab; the others by arrow keys from there. */
function setTabStop(pane, box) {
  const group = pane.boxes.get(box);
  if (!group) return;
  pane.boxes.get(pane.tabStop)?.setAttribute("tabindex", "-1");
  group.setAttribute("tabindex", "0");
  pane.tabStop = box;
}

function litParts(self, box) {
  const near = new Set([box, ...(self.view.boxes[box]?.partners ?? [])]);
  const titles = [];
  for (const [source, target] of self.view.lines) {
    if (source !== box && target !== box) continue;
    near.add(source === box ? target : source);
    titles.push(`${source}->${target}`);
  }
  const edges = self.panes.flatMap((pane) => titles.map((title) => pane.edges.get(title)));
  return [...near].flatMap(self.elementsOf).concat(edges.filter(Boolean));
}

function watchSize(self, signal) {
  const observer = new ResizeObserver((entries) => {
    const shown = entries.map((entry) => entry.contentRect).find((box) => box.width > 0 && box.height > 0);
    if (!shown) return;
    const former = self.size;
    self.size = { width: shown.width, height: shown.height };
    if (!former.width) return beginAnew(self);
    if (!self.drawing) return;
    if (!self.camera.touched) return self.camera.set(self.look(self));
    const { x, y, k } = self.camera.now;
    self.camera.set({ k, x: x + (shown.width - former.width) / 2, y: y + (shown.height - former.height) / 2 });
  });
  for (const pane of self.panes) observer.observe(pane.element);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}
