// All that is known of the chosen node: facts, source, inputs and users, its fold, its value.

/** `go` leads to a node by id, `open` opens a group by box, `close` closes a frame by key. */
function createDetails(source, { go, open, close }) {
  const element = make("div", { class: "cv-details" });
  const known = new Map();
  let latest = 0;

  const show = (...content) => element.replaceChildren(...content.filter(Boolean));
  const showNothing = () =>
    show(make("p", { class: "cv-quiet", text: "Click a box, or press Tab and the arrow keys, to see what it is." }));

  const fetchDetails = (node) => {
    const ready = source.get("data").details?.[node];
    if (ready) return ready;
    if (!known.has(node)) {
      const asked = source.ask({ kind: "details", node }).then((answer) => answer.details);
      asked.catch(() => known.delete(node)); // it may be answered next time
      known.set(node, asked);
    }
    return known.get(node);
  };
  const showNode = async (node, frames) => {
    const turn = ++latest;
    const late = setTimeout(() => turn === latest && show(make("p", { class: "cv-quiet", text: "…" })), 150);
    try {
      const details = await fetchDetails(node);
      if (turn === latest) show(...describe(details, go), closers(frames, close));
    } catch (error) {
      if (turn === latest) show(make("p", { class: "cv-problem", text: error.message }), closers(frames, close));
    } finally {
      clearTimeout(late);
    }
  };
  const showGroup = (id, box, frames) => {
    latest++;
    const title = make("h3", { text: (box.label ?? [])[0] ?? id });
    const lines = [...(box.label ?? []).slice(1), ...(box.tip ?? [])];
    const why = box.group ? source.cannot("open", box.group) : "";
    const more = box.group && makeButton("+ open", why || "draw what is inside", () => open(id), { disabled: Boolean(why) });
    show(title, ...lines.map((text) => make("p", { text })), more || null, closers(frames, close));
  };
  return { element, showNothing, showNode, showGroup, forget: () => known.clear() };
}

function describe(details, go) {
  return [
    make("h3", { text: details.title }),
    details.fold && describeFold(details.fold),
    details.value && describeValue(details.value),
    factList(details.facts ?? []),
    details.source?.length ? describeSource(details.source) : null,
    links("inputs", details.inputs ?? [], go),
    links("users", details.users ?? [], go),
  ];
}

function factList(facts) {
  const rows = facts.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })]);
  return rows.length ? make("dl", { class: "cv-facts" }, ...rows) : null;
}

function section(title, ...content) {
  return make("section", {}, make("h4", { text: title }), ...content);
}

/** The line that made the node first, then the calls that led there: told outermost first, as Python traces are. */
function describeSource(lines) {
  const items = [...lines].reverse().map(({ place, function: name, line, here }) =>
    make(
      "li",
      { class: here ? "cv-here" : "", "aria-current": here ? "true" : null },
      make("span", { class: "cv-quiet", text: `${here ? "" : "called from "}${[place, name].filter(Boolean).join(" · ")}` }),
      make("code", { text: line }),
    ),
  );
  return section("source", make("ol", { class: "cv-source" }, ...items));
}

function links(title, nodes, go) {
  if (!nodes.length) return null;
  const buttons = nodes.map(([id, label]) => makeButton(label, `go to ${label}`, () => go(id), { class: "cv-link" }));
  return section(title, make("div", { class: "cv-links" }, ...buttons));
}

function describeFold(fold) {
  const verdict = make("span", { class: "cv-verdict", "data-verdict": fold.verdict, text: fold.verdict });
  const parts = [
    make("p", {}, make("code", { text: fold.call }), " ", verdict),
    fold.place && make("p", { class: "cv-quiet", text: `called at ${fold.place}` }),
    fold.reason && make("p", { text: fold.reason }),
  ];
  if (fold.assumptions?.length) parts.push(assumptionTable(fold.assumptions));
  return section("fold", ...parts.filter(Boolean));
}

function assumptionTable(rows) {
  const head = ["assumes", "was", "now", "holds"].map((text) => make("th", { scope: "col", text }));
  const body = rows.map((cells) => {
    const holds = cells.at(-1);
    const texts = cells.map((text, k) => make("td", k === cells.length - 1 ? { "data-holds": holds, text } : { text }));
    return make("tr", {}, ...texts);
  });
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  return make("div", { class: "cv-scroll" }, table);
}

function describeValue(value) {
  const size = value.bytes === undefined || value.bytes === null ? "" : ` (${value.bytes} bytes)`;
  return section(
    `value${size}`,
    make("pre", { text: value.text }),
    factList(value.stats ?? []),
    value.heat ? heatMap(value.heat) : null,
  );
}

/** Small squares from dark (least) to light (greatest); what is not finite is crossed out. */
function heatMap({ rows, cols, values }) {
  const cell = Math.max(2, Math.min(16, Math.floor(240 / Math.max(rows, cols))));
  const words = `heat map of ${rows} by ${cols} values, from dark for the least to light for the greatest`;
  const canvas = make("canvas", { class: "cv-heat", width: cols * cell, height: rows * cell, role: "img" });
  canvas.setAttribute("aria-label", words);
  canvas.title = words;
  const brush = canvas.getContext("2d");
  values.forEach((value, k) => {
    const [x, y] = [(k % cols) * cell, Math.floor(k / cols) * cell];
    brush.fillStyle = value === null ? "#ffffff" : heatColour(value);
    brush.fillRect(x, y, cell, cell);
    if (value !== null) return;
    brush.strokeStyle = "#d55e00";
    brush.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
    brush.beginPath();
    brush.moveTo(x, y);
    brush.lineTo(x + cell, y + cell);
    brush.stroke();
  });
  return canvas;
}

const HEAT_STOPS = [[0, 32, 77], [66, 78, 107], [124, 123, 120], [188, 175, 111], [255, 234, 70]]; // cividis

function heatColour(value) {
  const at = Math.max(0, Math.min(1, value)) * (HEAT_STOPS.length - 1);
  const low = Math.min(HEAT_STOPS.length - 2, Math.floor(at));
  const mixed = HEAT_STOPS[low].map((start, k) => Math.round(start + (HEAT_STOPS[low + 1][k] - start) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

/** Buttons that close the open modules a box is in, the innermost first. */
function closers(frames, close) {
  if (!frames.length) return null;
  const buttons = frames.map(({ key, title, why }) =>
    makeButton(`− ${title}`, why || `close ${title}`, () => close(key), { class: "cv-link", disabled: Boolean(why) }),
  );
  return section("inside", make("div", { class: "cv-links" }, ...buttons));
}
