// Where the camera goes by itself: the first look at a drawing, and what stays in view when another takes its place.

const READABLE = 0.75; // smaller letters than this are a texture, not text
const COMFORT = [0.85, 1.1]; // how near a part of a large drawing is looked at

function onScreen(place, camera) {
  return { x: camera.x + place.x * camera.k, y: camera.y + place.y * camera.k };
}

function isWithin(place, camera, size) {
  const { x, y } = onScreen(place, camera);
  const rim = 16;
  return x > rim && y > rim && x < size.width - rim && y < size.height - rim && camera.k > 0.3;
}

/** How near to look at a drawing that is too tall to be read as a whole: so that it fills the pane's width. */
function widthZoom(drawing, size) {
  return Math.min(COMFORT[1], Math.max(COMFORT[0], (size.width - 2 * RIM) / drawing.width));
}

// Looks: cameras that need no hand, and are taken again when the pane or the drawing gets another size.

function lookAtAll({ drawing, size }) {
  return cameraOfAll(drawing, size);
}

/** The whole drawing if it can be read, else its top. */
function lookAtTop({ drawing, size, order }) {
  const top = drawing.places.get(order[0]);
  return readableOf(drawing, size, top && { x: top.x, y: 0 });
}

/** The whole drawing if it can be read, else the first change in it, with the top if both have room. */
function lookAtChange({ drawing, size, view, order }) {
  const first = (test) => order.find((id) => test(view.boxes[id]));
  const start = first((box) => box.kind === "fold") ?? first((box) => box.status !== "kept") ?? first(hidesChange);
  const shown = [start ?? order[0], ...(view.boxes[start]?.partners ?? [])];
  const places = shown.map((id) => drawing.places.get(id)).filter(Boolean);
  const end = LABEL + Math.max(0, ...places.map(({ bottom }) => bottom)) * widthZoom(drawing, size);
  const middle = middleOf(places);
  return readableOf(drawing, size, middle && end <= size.height - RIM ? { x: middle.x, y: 0 } : middle);
}

function readableOf(drawing, size, place) {
  const all = cameraOfAll(drawing, size);
  return all.k >= READABLE || !place ? all : cameraNear(place, drawing, size, widthZoom(drawing, size));
}

function beginAnew(self) {
  self.look = lookAtChange;
  if (!self.size.width || !self.drawing) return; // not laid out yet: the size comes later
  self.camera.set(self.look(self));
  self.camera.touched = false;
}

function middleOf(places) {
  const mean = (name) => places.reduce((sum, place) => sum + place[name], 0) / places.length;
  return places.length ? { x: mean("x"), y: mean("y") } : null;
}

/** A new drawing in place of an old one: keep zoom and what the eye was on, or begin anew. */
function placeCamera(self, old, cameras) {
  const { view, camera } = self;
  if (old && old.view.inner_of !== view.inner_of) {
    const former = view.inner_of ? null : cameras.get(view.inner_of);
    return former ? camera.set(former) : beginAnew(self);
  }
  if (!old) return beginAnew(self);
  if (view.anchor && keepAnchor(self, old)) return;
  const kept = camera.touched && self.order.some((id) => isWithin(self.drawing.places.get(id), camera.now, self.size));
  if (!kept) beginAnew(self);
}

/** Keep the anchor in its place, unless that leaves the pane empty where the drawing could be. */
function keepAnchor(self, old) {
  const { view, drawing, camera, size } = self;
  const place = drawing.places.get(view.anchor) ?? drawing.frames.get(view.anchor);
  if (!place) return false;
  const all = cameraOfAll(drawing, size);
  if (!camera.touched && (self.look === lookAtAll || all.k >= READABLE)) {
    camera.set(all);
    return true;
  }
  const corner = ({ left, top }) => ({ x: left, y: top });
  const formerBox = old.drawing.places.get(view.anchor);
  const formerFrame = old.drawing.frames.get(view.boxes[view.anchor]?.group);
  const { now } = camera;
  let next = now;
  if (formerBox) next = movedOnto(now, place, onScreen(formerBox, now));
  else if (formerFrame) next = movedOnto(now, corner(place), intoView(onScreen(corner(formerFrame), now), size));
  else if (self.pending) next = movedOnto(now, place, self.pending);
  else if (!isWithin(place, now, size)) next = cameraOn(place, size, now.k);
  const isLost = now.k < READABLE && all.k > now.k; // what was too small to read need not stay so
  camera.set(isLost && isWhole(drawing, next, size) ? all : pulledIn(drawing, next, size, old.drawing, now));
  return true;
}

/** The nearest point where a box can be seen: a frame may be closed whose corner is out of view. */
function intoView({ x, y }, { width, height }) {
  return { x: Math.max(RIM, Math.min(width - 80, x)), y: Math.max(LABEL, Math.min(height - 40, y)) };
}

function movedOnto({ k }, place, point) {
  return { k, x: point.x - place.x * k, y: point.y - place.y * k };
}

function isWhole(drawing, { k }, size) {
  return drawing.width * k <= size.width && drawing.height * k <= size.height;
}

/** A camera with no more room beside the drawing than there was, or with the drawing in the middle. */
function pulledIn(drawing, next, size, oldDrawing, former) {
  const along = (at, length, room, start, oldAt, oldLength) => {
    const most = Math.max(start, oldAt);
    const least = room - Math.max(RIM, room - oldAt - oldLength) - length;
    return least > most ? start + (room - start - RIM - length) / 2 : Math.min(most, Math.max(least, at));
  };
  const { k } = next;
  return {
    k,
    x: along(next.x, drawing.width * k, size.width, RIM, former.x, oldDrawing.width * former.k),
    y: along(next.y, drawing.height * k, size.height, LABEL, former.y, oldDrawing.height * former.k),
  };
}
