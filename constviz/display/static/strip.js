// The graphs that graph breaks made of each side, in order, with the reason of each break between them.

function createStrip(go) {
  const element = make("div", { class: "cv-strip" });
  const set = (sides) => {
    const isNeeded = sides.some(({ graphs, breaks }) => graphs.length > 1 || breaks.length || graphs[0]?.breaks.length);
    element.hidden = !isNeeded;
    element.replaceChildren(...(isNeeded ? sides.map((side) => stripRow(side, go)) : []));
  };
  return { element, set };
}

function stripRow({ side, graphs, breaks }, go) {
  const row = make("div", { class: "cv-row", role: "group", "aria-label": `graphs ${side} folding` });
  const word = graphs.length === 1 ? "graph" : "graphs";
  row.append(make("b", { text: side }), make("span", { class: "cv-quiet", text: `${graphs.length} ${word}` }));
  row.append(...cuts(breaks));
  graphs.forEach((graph, k) => {
    const label = `${k + 1}: ${shorten(graph.name, 24)} · ${graph.nodes} node${graph.nodes === 1 ? "" : "s"}`;
    const lead = () => graph.first && go(graph.first);
    row.append(makeButton(label, `show graph ${k + 1}, ${graph.name}`, lead, { disabled: !graph.first }));
    row.append(...cuts(graph.breaks));
  });
  return row;
}

const CUTS = 3; // of more in a row, those beyond are counted: the table of graph breaks has all

function cuts(breaks) {
  const shown = breaks.length > CUTS ? breaks.slice(0, CUTS - 1) : breaks;
  const rest = breaks.slice(shown.length);
  const more = { class: "cv-cut", title: rest.map(wholeOf).join("\n"), text: `✂ ${rest.length} more graph breaks` };
  return [...shown.map(cut), ...(rest.length ? [make("span", more)] : [])];
}

function cut([reason, place]) {
  const words = [`✂ ${shorten(reason, 40)}`, place && ` ${shorten(place, 30)}`].filter(Boolean);
  return make("span", { class: "cv-cut", title: wholeOf([reason, place]), text: words.join("") });
}

function wholeOf([reason, place]) {
  return `${["graph break", place && `at ${place}`].filter(Boolean).join(" ")}: ${reason}`;
}
