// "Ctrl + wheel to zoom": said in a pane for a moment when its wheel scrolls the page.

const HINT_MS = 1200;

/** `show` says it in a pane. */
function createHint(signal) {
  const key = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
  const element = make("div", { class: "cv-hint", "aria-hidden": "true", text: `${key} + wheel to zoom` });
  let timer = 0;
  const stop = () => {
    clearTimeout(timer);
    element.remove();
  };
  const show = (pane) => {
    clearTimeout(timer);
    if (element.parentElement !== pane) pane.append(element);
    timer = setTimeout(stop, HINT_MS);
  };
  signal.addEventListener("abort", stop, { once: true });
  return show;
}
