// The graphs that graph breaks made of each side, in order, with the reason of each break between them.

function createStrip(go) {
  const element = make("div", { class: "cv-strip" });
  const set = (sides) => {
    const isNeeded = sides.some(({ graphs }) => graphs.length > 1);
    element.hidden = !isNeeded;
    element.replaceChildren(...(isNeeded ? sides.map((side) => stripRow(side, go)) : []));
  };
  return { element, set };
}

function stripRow({ side, graphs }, go) {
  const row = make("div", { class: "cv-row", role: "group", "aria-label": `graphs ${side} folding` });
  const word = graphs.length === 1 ? "graph" : "graphs";
  row.append(make("b", { text: side }), make("span", { class: "cv-quiet", text: `${graphs.length} ${word}` }));
  graphs.forEach((graph, k) => {
    const label = `${k + 1}: ${shorten(graph.name, 24)} · ${graph.nodes} node${graph.nodes === 1 ? "" : "s"}`;
    const lead = () => graph.first && go(graph.first);
    row.append(makeButton(label, `show graph ${k + 1}, ${graph.name}`, lead, { disabled: !graph.first }));
    if (!graph.reason) return;
    row.append(make("span", { class: "cv-cut", title: graph.reason, text: `✂ ${shorten(graph.reason, 40)}` }));
  });
  return row;
}
