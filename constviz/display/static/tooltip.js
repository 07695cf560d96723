// What a box says of itself beside the pointer, or beside the box that has the keyboard's focus.

function createTooltip(root) {
  const element = make("div", { class: "cv-tip", role: "tooltip", hidden: true });
  root.append(element);
  const hide = () => {
    element.hidden = true;
  };
  const show = (lines, x, y) => {
    element.replaceChildren(...lines.map((text, k) => make(k ? "div" : "b", { text: shorten(text, 300) })));
    element.hidden = false;
    const room = root.getBoundingClientRect();
    const { width, height } = element.getBoundingClientRect();
    const left = Math.max(4, Math.min(x - room.left + 14, room.width - width - 4));
    const below = y - room.top + 18;
    const overlaps = y + 18 + height > innerHeight && below - height - 30 > 0;
    element.style.transform = `translate(${left}px, ${overlaps ? below - height - 30 : below}px)`;
  };
  return { show, hide };
}

/** Hover and keyboard focus: light the neighbours, say what the box is. */
function bindHover(panes, tooltip, signal) {
  let now = "";
  const enter = (box, x, y) => {
    if (box === now) return;
    now = box;
    panes.light(box);
    const lines = panes.view?.boxes[box]?.tip ?? [];
    if (box && lines.length) tooltip.show(lines, x, y);
    else tooltip.hide();
  };
  const leave = () => enter("", 0, 0);
  const over = (event) => {
    if (event.buttons) return leave();
    enter(event.target.closest("[data-box]")?.dataset.box ?? "", event.clientX, event.clientY);
  };
  const focused = (event) => {
    const group = event.target.closest("[data-box]");
    if (!group?.matches(":focus-visible")) return;
    const { right, bottom } = group.getBoundingClientRect();
    enter(group.dataset.box, right - 14, bottom - 14);
  };
  panes.element.addEventListener("pointerover", over, { signal });
  panes.element.addEventListener("pointerleave", leave, { signal });
  panes.element.addEventListener("pointerdown", leave, { signal });
  panes.element.addEventListener("focusin", focused, { signal });
  panes.element.addEventListener("focusout", leave, { signal });
  return leave;
}
