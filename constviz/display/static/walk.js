// Keys in the diagram: arrows walk from box to box or move the drawing, + and − and 0 zoom, n goes to the next fold.

const ARROWS = {
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
};
const STEP = 60; // pixels

/** `does` holds what keys do beyond moving: choose, toggle, close, nextFold, leave. */
function bindKeys(panes, does, signal) {
  const act = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pane = panes.panes.find(({ element }) => element.contains(event.target));
    if (!pane || !actOnKey(panes, pane, does, event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  panes.element.addEventListener("keydown", act, { signal });
}

function actOnKey(panes, pane, does, event) {
  const { key } = event;
  const box = event.target.closest("[data-box]")?.dataset.box;
  const frame = event.target.closest("[data-close]")?.dataset.close;
  const open = key === "Enter" || key === " ";
  if (key in ARROWS && (event.shiftKey || (!box && frame === undefined))) {
    panes.camera.pan(-ARROWS[key].x * STEP, -ARROWS[key].y * STEP);
  } else if (key in ARROWS) {
    const from = box ? panes.drawing.places.get(box) : cornerOf(panes.drawing.frames.get(frame));
    const next = (box && alongEdge(panes, pane, box, key)) || nearest(panes, pane, from, ARROWS[key], box);
    if (next) focusBox(panes, pane, next);
  } else if (key === "Home" || key === "End") {
    const boxes = panes.order.filter((id) => panes.isVisible(id, pane.side));
    const next = boxes.at(key === "Home" ? 0 : -1);
    if (next) focusBox(panes, pane, next);
  } else if (open && frame !== undefined) does.close(frame);
  else if (key === "Enter" && panes.view.boxes[box]?.group) does.toggle(box);
  else if (open && box) does.choose(box);
  else if (key === "+" || key === "=") panes.zoom(1.25);
  else if (key === "-" || key === "_") panes.zoom(0.8);
  else if (key === "0") panes.fit(true);
  else if (key === "n") does.nextFold();
  else if (key === "c") return focusClose(panes, pane, box, frame);
  else if (key === "Escape") does.leave();
  else return false;
  return true;
}

function focusBox(panes, pane, box) {
  setTabStop(pane, box);
  pane.boxes.get(box).focus({ preventScroll: true });
  panes.bringIntoView(box);
}

/** Up leads to an input, down to a user: the one that lies straightest. */
function alongEdge(panes, pane, box, key) {
  if (key !== "ArrowUp" && key !== "ArrowDown") return "";
  const [own, other] = key === "ArrowDown" ? [0, 1] : [1, 0];
  const ends = panes.view.lines
    .filter((line) => line[own] === box && (line[pane.side === "before" ? 2 : 3] || panes.mode === "ghosts"))
    .map((line) => line[other])
    .filter((id) => panes.drawing.places.has(id) && panes.isVisible(id, pane.side));
  const aside = (id) => Math.abs(panes.drawing.places.get(id).x - panes.drawing.places.get(box).x);
  return ends.sort((a, b) => aside(a) - aside(b))[0] ?? "";
}

function nearest(panes, pane, from, way, except) {
  let [best, least] = ["", Infinity];
  for (const [id, place] of panes.drawing.places) {
    if (id === except || !panes.isVisible(id, pane.side)) continue;
    const [dx, dy] = [place.x - from.x, place.y - from.y];
    const ahead = dx * way.x + dy * way.y;
    const aside = Math.abs(dx * way.y) + Math.abs(dy * way.x);
    if (ahead > 1 && ahead + 3 * aside < least) [best, least] = [id, ahead + 3 * aside];
  }
  return best;
}

function cornerOf(frame) {
  return { x: frame.left, y: frame.top };
}

/** The frames around a place, the innermost first. */
function framesAround(panes, place) {
  const area = ({ left, right, top, bottom }) => (right - left) * (bottom - top);
  return [...panes.drawing.frames]
    .filter(([key, frame]) => key in panes.view.frames && holds(frame, place))
    .sort((a, b) => area(a[1]) - area(b[1]));
}

/** From a box to the close control of the frame around it, from there to the next frame's. */
function focusClose(panes, pane, box, frame) {
  const place = box ? panes.drawing.places.get(box) : panes.drawing.frames.get(frame);
  if (!place) return false;
  const around = framesAround(panes, place).map(([key]) => key);
  const next = around[box ? 0 : around.indexOf(frame) + 1];
  if (next === undefined) return false;
  const controls = [...pane.viewport.querySelectorAll("[data-close]")];
  controls.find((control) => control.dataset.close === next)?.focus({ preventScroll: true });
  return true;
}
