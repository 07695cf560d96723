// Save what is shown: an SVG that needs nothing from this page, or a PNG of it.

const EXPORT_FONT = "Helvetica, Arial, sans-serif";
const EXPORT_HEAD = 42;
const EXPORT_FOOT = 24;
const EXPORT_INK = "#111111";
const EXPORT_LOOKS = {
  kept: { fill: "#eeeeee", stroke: "#666666" },
  removed: { fill: "#f3c8a5", stroke: "#d55e00", "stroke-dasharray": "5,2" },
  constant: { fill: "#a6d5f2", stroke: "#0072b2", "stroke-width": 2.5 },
  added: { fill: "#ffffff", stroke: "#0072b2", "stroke-width": 1.5 },
  group: { fill: "#eeeeee", stroke: "#666666" },
  break: { fill: "#eeeeee", stroke: "#666666", rx: 5 },
};

/** The shown panes side by side, in light colours, cut where the panes end. */
function composePicture(panes, title) {
  const { width, height } = panes.size;
  const sides = panes.panes.filter((pane) => panes.sidesShown().includes(pane.side));
  const gap = 12;
  const whole = { width: sides.length * width + (sides.length - 1) * gap, height: height + EXPORT_HEAD + EXPORT_FOOT };
  const svg = makeSvg("svg", { ...whole, viewBox: `0 0 ${whole.width} ${whole.height}` });
  svg.setAttribute("xmlns", SVG_NAMESPACE);
  svg.append(makeSvg("title", { text: printable(title) }));
  svg.append(makeSvg("rect", { ...whole, fill: "#ffffff" }), exportText(printable(shorten(title, 90)), 8, 15, 12, true));
  sides.forEach((pane, k) => {
    const left = k * (width + gap);
    const label = exportText(pane.title.textContent, left + 8, 34, 11, true);
    const frame = { x: left + 0.5, y: EXPORT_HEAD - 0.5, width: width - 1, height, fill: "none", stroke: "#bbbbbb" };
    const clipped = makeSvg("svg", { x: left, y: EXPORT_HEAD, width, height, overflow: "hidden" });
    clipped.append(bareCopy(pane.viewport, panes.mode === "ghosts"));
    svg.append(label, clipped, makeSvg("rect", frame));
  });
  svg.append(...exportLegend(legendOf(panes.view), EXPORT_HEAD + height + 7));
  return svg;
}

function exportText(text, x, y, size, isBold) {
  const weight = isBold ? "bold" : null;
  return makeSvg("text", { x, y, fill: EXPORT_INK, "font-family": EXPORT_FONT, "font-size": size, "font-weight": weight, text });
}

function exportLegend(rows, y) {
  let x = 8;
  return rows.flatMap(([name, words]) => {
    const look = EXPORT_LOOKS[name];
    const sample = makeSvg("rect", { x, y, width: 16, height: 10, ...look });
    const edge = { d: `M${x},${y}l3,-3h16v10l-3,3M${x + 16},${y}l3,-3`, stroke: look.stroke, fill: "none" };
    const text = exportText(words, x + 21, y + 9, 10, false);
    x += 36 + 5.4 * words.length;
    return [sample, ...(name === "group" ? [makeSvg("path", edge)] : []), text];
  });
}

/** A copy with its own presentation attributes alone, without what is not shown. */
function bareCopy(viewport, showsGhosts) {
  const copy = viewport.cloneNode(true);
  for (const part of copy.querySelectorAll(".cv-halo, .cv-sign")) part.remove();
  for (const part of copy.querySelectorAll(".cv-absent")) {
    if (showsGhosts) part.setAttribute("opacity", "0.4");
    else part.remove();
  }
  for (const part of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name } of [...part.attributes]) if (!SAFE_ATTRIBUTES.has(name) && name !== "opacity") part.removeAttribute(name);
    if (part.localName === "text") part.textContent = printable(part.textContent);
    if (part.hasAttribute("font-family")) part.setAttribute("font-family", EXPORT_FONT);
  }
  return copy;
}

/** Without the characters that XML does not allow. */
function printable(text) {
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

function saveSvg(panes, title) {
  const text = new XMLSerializer().serializeToString(composePicture(panes, title));
  download(new Blob([text], { type: "image/svg+xml" }), "constviz.svg");
}

async function savePng(panes, title) {
  const svg = composePicture(panes, title);
  const [width, height] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image(width, height);
    image.src = address;
    await image.decode();
    const scale = 2;
    const canvas = make("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    if (!blob) throw new Error("the picture is too large for this browser");
    download(blob, "constviz.png");
  } finally {
    URL.revokeObjectURL(address);
  }
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
