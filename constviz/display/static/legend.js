// What the looks of boxes mean: those that every drawing may have, and those that this one has.

const LEGEND = [
  ["kept", "in both", () => true],
  ["removed", "− only before", () => true],
  ["constant", "+ constant burned in", () => true],
  ["added", "+ only after", (box) => box.status === "added" && box.kind !== "break"],
  ["group", "closed group", (box) => box.group],
  ["break", "graph break", (box) => box.kind === "break"],
];

function createLegend() {
  const element = make("span", { class: "cv-legend", role: "note", "aria-label": "legend" });
  const setView = (view) => element.replaceChildren(...legendOf(view).map(legendKey));
  return { element, setView };
}

/** The rows of the legend that a view needs: name, words. */
function legendOf(view) {
  const boxes = Object.values(view.boxes);
  return LEGEND.filter(([, , test], k) => k < 3 || boxes.some(test));
}

function legendKey([name, words]) {
  return make("span", { class: "cv-key" }, make("i", { class: `cv-sample cv-${name}` }), words);
}
