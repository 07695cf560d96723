// The report's tables: a row that is about a node leads to it, and is marked while that node is chosen.

function createTable({ name, columns, rows, more }, go) {
  const tellsOf = (node) => rows.some((row) => row.nodes.includes(node));
  if (!rows.length) return { name, element: make("p", { class: "cv-quiet", text: "none" }), mark: () => {}, tellsOf };
  const head = make("tr", {}, ...columns.map((text) => make("th", { scope: "col", text: text.replaceAll("_", " ") })));
  const lines = rows.map((row) => makeRow(row, go));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines));
  const rest = more ? make("p", { class: "cv-quiet", text: `and ${more} more row${more === 1 ? "" : "s"}` }) : null;
  const mark = (node) => {
    rows.forEach((row, k) => {
      const isMarked = Boolean(node) && row.nodes.includes(node);
      lines[k].classList.toggle("cv-marked", isMarked);
      if (isMarked) lines[k].setAttribute("aria-current", "true");
      else lines[k].removeAttribute("aria-current");
    });
  };
  return { name, element: make("div", { class: "cv-scroll" }, table, rest), mark, tellsOf };
}

function makeRow(row, go) {
  const line = make("tr", {}, ...row.cells.map((text) => make("td", { text, title: text.length > 60 ? text : null })));
  if (!row.nodes.length) return line;
  const lead = () => go(row.nodes[0]);
  const key = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    lead();
  };
  line.classList.add("cv-leads");
  return dress(line, { tabindex: "0", "aria-label": `${row.cells.join(", ")}: show in the diagram`, on: { click: lead, keydown: key } }, []);
}
