// The static picture in the same cell: hidden while the diagram is shown, and shown again when it goes.

const CELL = ".jp-Cell, .jp-OutputArea, .cell_container, .cell, .output_wrapper";
const SIBLING_WAIT_MS = 10_000;

/** Hide the image whose alternative text is `alt`, and the text after it, until `signal` aborts. */
function hideSibling(root, alt, signal) {
  if (!alt) return;
  const scope = root.closest(CELL) ?? document.body;
  const hide = () => {
    const image = [...scope.querySelectorAll("img[alt]")].find((img) => img.alt === alt && !root.contains(img));
    if (!image) return false;
    for (const element of [image, textAfter(image)]) if (element) holdHidden(element, signal);
    return true;
  };
  if (hide()) return;
  const observer = new MutationObserver(() => hide() && observer.disconnect()); // the picture may come after us
  observer.observe(scope, { childList: true, subtree: true });
  const timer = setTimeout(() => observer.disconnect(), SIBLING_WAIT_MS);
  const stop = () => {
    observer.disconnect();
    clearTimeout(timer);
  };
  signal.addEventListener("abort", stop, { once: true });
}

function textAfter(image) {
  for (let next = image.nextElementSibling; next; next = next.nextElementSibling) {
    if (next.localName === "pre") return next;
  }
  return null;
}

/** Several views of one diagram may hide the same picture: the last to go shows it. */
function holdHidden(element, signal) {
  const holders = (change) => {
    const count = Number(element.dataset.cvHolders ?? 0) + change;
    if (count) element.dataset.cvHolders = count;
    else delete element.dataset.cvHolders;
    element.hidden = count > 0;
    if (count) element.style.setProperty("display", "none", "important"); // notebooks give images a display of their own
    else element.style.removeProperty("display");
  };
  holders(1);
  signal.addEventListener("abort", () => holders(-1), { once: true });
}
