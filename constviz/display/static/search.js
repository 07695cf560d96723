// Search over all nodes, drawn or inside closed boxes, and the way from hit to hit; the same for folds.

const TYPING_MS = 140;

/** `go` leads to a node and gives a promise; `say` tells the reader. */
function createSearch(source, panes, go, say) {
  const input = make("input", {
    type: "search",
    placeholder: "search name, op, module, source",
    "aria-label": "search all nodes",
    spellcheck: "false",
    autocomplete: "off",
  });
  const count = make("span", { class: "cv-count", role: "status", "aria-live": "polite" });
  const previous = makeButton("‹", "previous hit (Shift+Enter)", () => step(-1), { "aria-label": "previous hit" });
  const next = makeButton("›", "next hit (Enter)", () => step(1), { "aria-label": "next hit" });
  const element = make("div", { class: "cv-search", role: "search" }, input, count, previous, next);
  let hits = [];
  let total = 0;
  let at = -1;
  let turn = 0;
  let timer = 0;
  let searched = "";

  const boxOfHit = ([node, box]) => panes.boxOf(node) || (box in (panes.view?.boxes ?? {}) ? box : "");
  const mark = () => {
    const boxes = new Set(hits.map(boxOfHit).filter(Boolean));
    panes.markHits(boxes, at >= 0 ? boxOfHit(hits[at]) : "");
    previous.disabled = next.disabled = hits.length === 0;
    if (!searched) count.textContent = "";
    else if (!hits.length) count.textContent = "none found";
    else if (at < 0) count.textContent = `${total} found`;
    else count.textContent = `${at + 1} of ${hits.length}${total > hits.length ? ` (${total} found)` : ""}`;
  };
  const find = async (text) => {
    const { nodes } = source.get("data");
    if (!nodes) return source.ask({ kind: "search", text });
    const found = searchNodes(nodes, text);
    return { hits: found.map((id) => [id, ""]), total: found.length };
  };
  const search = async () => {
    clearTimeout(timer);
    const text = input.value.trim();
    if (text === searched) return;
    const mine = ++turn;
    try {
      const answer = text ? await find(text) : { hits: [], total: 0 };
      if (mine !== turn) return;
      ({ hits, total } = answer);
    } catch (error) {
      if (mine !== turn) return;
      [hits, total] = [[], 0];
      say(error.message);
    }
    [searched, at] = [text, -1];
    mark();
    const first = hits.map(boxOfHit).find(Boolean);
    if (first) panes.bringIntoView(first);
  };
  const step = async (way) => {
    await search();
    if (!hits.length) return;
    at = at < 0 ? (way > 0 ? 0 : hits.length - 1) : (at + way + hits.length) % hits.length;
    mark();
    const mine = turn;
    await go(hits[at][0]);
    if (mine === turn) mark();
  };
  const clear = () => {
    input.value = "";
    search();
  };
  listen(input, {
    input: () => {
      clearTimeout(timer);
      timer = setTimeout(search, TYPING_MS);
    },
    keydown: (event) => {
      if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") clear();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  });
  /** The nodes are others now: search again for the same text. */
  const renew = () => {
    searched = "";
    search();
  };
  mark();
  return { element, input, mark, renew, stop: () => clearTimeout(timer) };
}

/** The folds in the order of their calls, those in closed boxes too, then other constants; as node ids. */
function foldsInOrder(panes, { tables = [], nodes }) {
  const rows = tables.find(({ name }) => name === "folds")?.rows ?? [];
  const told = new Set(rows.flatMap((row) => row.nodes));
  const drawn = panes.order.map((id) => panes.view.boxes[id]).filter((box) => box.node && box.status === "constant");
  const indexed = Object.keys(nodes ?? {}).filter((id) => nodes[id].status === "constant");
  const others = [...drawn.map((box) => box.node), ...indexed].filter((id) => !told.has(id));
  return [...new Set([...rows.flatMap((row) => row.nodes.slice(0, 1)), ...others])];
}
