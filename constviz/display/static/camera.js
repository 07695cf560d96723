// The one camera of all panes: which part of the drawing is shown, moved by pointer, wheel and pinch.

const NEAREST = 8;
const FARTHEST = 0.02;
const DRAG_STARTS = 4; // pixels: less is a click by an unsteady hand
const GLIDE_MS = 160;
const RIM = 10; // pixels left free around a whole drawing
const LABEL = 28; // and at its top, where the pane's name stands

/** `apply` is called with {x, y, k} at most once a frame. */
function createCamera(apply) {
  const camera = { now: { x: 0, y: 0, k: 1 }, touched: false };
  let frame = 0;
  const draw = () => {
    frame = 0;
    apply(camera.now);
  };
  const later = () => {
    frame ||= requestAnimationFrame(draw);
  };
  let glide = 0;
  camera.set = (next) => {
    cancelAnimationFrame(glide);
    camera.now = next;
    later();
  };
  camera.pan = (dx, dy) => {
    camera.touched = true;
    camera.set({ ...camera.now, x: camera.now.x + dx, y: camera.now.y + dy });
  };
  /** Zoom so that what is at `point` of the pane stays there. */
  camera.zoomAt = (point, factor) => {
    const { x, y, k: old } = camera.now;
    const k = clampZoom(old * factor);
    camera.touched = true;
    camera.set({ k, x: point.x - ((point.x - x) * k) / old, y: point.y - ((point.y - y) * k) / old });
  };
  /** Move to `target` so that the eye can follow, or at once for those who want no motion. */
  camera.glideTo = (target) => {
    camera.touched = true;
    if (wantsStillness()) return camera.set(target);
    cancelAnimationFrame(glide);
    const from = camera.now;
    const begin = performance.now();
    const step = (time) => {
      const part = Math.min(1, Math.max(0, (time - begin) / GLIDE_MS));
      const eased = part * (2 - part);
      const between = (name) => from[name] + (target[name] - from[name]) * eased;
      camera.now = part === 1 ? target : { x: between("x"), y: between("y"), k: between("k") };
      draw();
      if (part < 1) glide = requestAnimationFrame(step);
    };
    glide = requestAnimationFrame(step);
  };
  camera.stop = () => {
    cancelAnimationFrame(frame);
    cancelAnimationFrame(glide);
  };
  return camera;
}

function clampZoom(k) {
  return Math.min(NEAREST, Math.max(FARTHEST, k));
}

/** The camera that shows a whole drawing of `size` in a pane. */
function cameraOfAll(size, pane, largest = 1.5) {
  const [wide, high] = [pane.width - 2 * RIM, pane.height - LABEL - RIM];
  const k = clampZoom(Math.min(wide / size.width, high / size.height, largest));
  return { k, x: (pane.width - size.width * k) / 2, y: LABEL + (high - size.height * k) / 2 };
}

/** The camera that has `place` in the middle of a pane. */
function cameraOn(place, pane, k) {
  return { k, x: pane.width / 2 - place.x * k, y: pane.height / 2 - place.y * k };
}

/** The camera that has `place` as near to the middle as can be without room beyond the drawing's edges. */
function cameraNear(place, size, pane, k) {
  const along = (length, room, at, start) => {
    const free = room - start - RIM - length * k;
    return free >= 0 ? start + free / 2 : Math.min(start, Math.max(start + free, room / 2 - at * k));
  };
  return { k, x: along(size.width, pane.width, place.x, RIM), y: along(size.height, pane.height, place.y, LABEL) };
}

/**
 * Let a pane be dragged, pinched and zoomed by wheel. Without Ctrl the wheel scrolls the page, which `onScroll` hears
 * of, unless `isEntered`: the pane was entered by keyboard, and shows that it has the focus.
 */
function bindGestures(pane, camera, { isEntered, onScroll }, signal) {
  const pointers = new Map();
  let start = null;
  let moved = false;
  const begin = () => {
    const { left, top } = pane.getBoundingClientRect();
    start = pointers.size ? { camera: camera.now, grip: gripOf([...pointers.values()], left, top), left, top } : null;
  };
  const down = (event) => {
    if (event.button || pointers.size === 2) return;
    if (!pointers.size) moved = false;
    pointers.set(event.pointerId, event);
    begin();
  };
  const move = (event) => {
    if (!start || !pointers.has(event.pointerId)) return;
    pointers.set(event.pointerId, event);
    const grip = gripOf([...pointers.values()], start.left, start.top);
    if (!moved && pointers.size === 1 && Math.hypot(grip.x - start.grip.x, grip.y - start.grip.y) < DRAG_STARTS) return;
    if (!moved) pane.setPointerCapture(event.pointerId);
    moved = true;
    pane.classList.add("cv-dragged");
    camera.touched = true;
    camera.set(follow(start, grip));
  };
  const up = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    pane.classList.remove("cv-dragged");
    begin();
  };
  const click = (event) => {
    if (moved) event.stopImmediatePropagation(); // the end of a drag chooses nothing
    moved = false;
  };
  const wheel = (event) => {
    if (!(event.ctrlKey || event.metaKey || isEntered())) return onScroll(pane);
    event.preventDefault();
    const { left, top } = pane.getBoundingClientRect();
    const factor = Math.exp(-Math.max(-250, Math.min(250, wheelPixels(event))) * 0.0022);
    camera.zoomAt({ x: event.clientX - left, y: event.clientY - top }, factor);
  };
  pane.addEventListener("pointerdown", down, { signal });
  pane.addEventListener("pointermove", move, { signal });
  pane.addEventListener("pointerup", up, { signal });
  pane.addEventListener("pointercancel", up, { signal });
  pane.addEventListener("click", click, { signal, capture: true });
  pane.addEventListener("wheel", wheel, { signal, passive: false });
}

function wheelPixels(event) {
  if (event.deltaMode) return event.deltaY * 20;
  const isPinch = event.ctrlKey && Math.abs(event.deltaY) < 40; // a pinch on a touchpad comes as small turns with Ctrl
  return isPinch ? event.deltaY * 6 : event.deltaY;
}

/** Where one or two fingers hold the drawing: their middle, and how far they are apart. */
function gripOf(points, left, top) {
  const [a, b = a] = points;
  return {
    x: (a.clientX + b.clientX) / 2 - left,
    y: (a.clientY + b.clientY) / 2 - top,
    apart: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1,
  };
}

function follow(start, grip) {
  const { x, y, k: old } = start.camera;
  const k = clampZoom((old * grip.apart) / start.grip.apart);
  return { k, x: grip.x - ((start.grip.x - x) * k) / old, y: grip.y - ((start.grip.y - y) * k) / old };
}
