// The border between panes and panel, moved by pointer or arrow keys.

const NARROWEST = 240; // pixels of either side

function createSplitter(main, panel, signal) {
  const element = make("div", {
    class: "cv-splitter",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "width of the panel",
    title: "drag, or press the arrow keys, to make the panel wider or narrower",
  });
  const widen = (width) => {
    const widest = Math.max(NARROWEST, main.clientWidth - NARROWEST);
    const next = Math.round(Math.min(widest, Math.max(NARROWEST, width)));
    main.style.setProperty("--cv-panel", `${next}px`);
    element.setAttribute("aria-valuenow", String(next));
  };
  const down = (event) => {
    element.setPointerCapture(event.pointerId);
    event.preventDefault();
    element.focus({ preventScroll: true });
  };
  const move = (event) => {
    if (element.hasPointerCapture(event.pointerId)) widen(main.getBoundingClientRect().right - event.clientX);
  };
  const key = (event) => {
    const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    widen(panel.getBoundingClientRect().width + step);
  };
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("keydown", key, { signal });
  return element;
}
