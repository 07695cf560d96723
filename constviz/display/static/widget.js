// The whole: toolbar, panes and panel in one root, wired to where the answers come from.

const WIDE = 860; // pixels: from here on there is room for a panel beside the panes

/** Build the diagram in `host`; the returned function takes it away again. */
function startDiagram(host, makeSource) {
  const ending = new AbortController();
  const { signal } = ending;
  const source = makeSource(signal);
  const diagram = assemble(source, signal);
  host.append(diagram.root);
  watchTheme(diagram.root, signal);
  whenAttached(diagram.root, signal, () => hideSibling(diagram.root, source.get("data").picture, signal));
  diagram.refreshData();
  diagram.refreshView();
  diagram.refreshStatus();
  return () => {
    diagram.stop();
    ending.abort();
    diagram.root.remove();
  };
}

function assemble(source, signal) {
  const root = make("div", { class: "constviz", role: "region" });
  keepShortcuts(root, signal);
  const panes = createPanes(signal);
  const state = { box: "", node: "" };
  let tables = [];

  // -- saying and asking

  const note = make("span", { class: "cv-note", role: "status", "aria-live": "polite" });
  const say = (text) => {
    note.textContent = visible(text);
  };
  const attempt = async (message) => {
    say("");
    try {
      return await source.ask(message);
    } catch (error) {
      say(error.message);
      return null;
    }
  };

  // -- choosing and going

  const framesOf = (box) => {
    const place = panes.drawing?.places.get(box);
    const frames = place ? framesAround(panes, place) : [];
    return frames.map(([key, { title }]) => ({ key, title, why: source.cannot("close", key) }));
  };
  const showChoice = () => {
    panes.choose(state.box);
    for (const table of tables) table.mark(state.node);
    const box = panes.view?.boxes[state.box];
    if (state.node) details.showNode(state.node, framesOf(state.box));
    else if (box) details.showGroup(state.box, box, framesOf(state.box));
    else details.showNothing();
  };
  const chooseNode = (node, box) => {
    Object.assign(state, { node, box });
    if (source.get("selected") !== node) source.set("selected", node);
    showChoice();
  };
  const choose = (box) => {
    chooseNode(panes.view.boxes[box]?.node ?? "", box);
    const shownTable = tables.find((table) => table.name === tabs.chosen());
    if (!shownTable?.tellsOf(state.node)) tabs.choose("node"); // a table with a row about it is as good
  };
  const leave = () => {
    leaveHover();
    chooseNode("", "");
  };
  const go = async (node, look = panes.bringIntoView) => {
    let box = panes.boxOf(node);
    if (!box) {
      if (!(await attempt({ kind: "reveal", node }))) return false;
      box = panes.boxOf(node);
    }
    if (!box) say("this has no box of its own");
    chooseNode(node, box);
    if (!box) return;
    look(box);
    panes.moveFocus(box);
    return true;
  };

  // -- opening and closing

  const toggle = (box) => {
    const { group } = panes.view.boxes[box];
    const why = source.cannot("open", group);
    if (why) return say(why);
    panes.expectAt(panes.drawing.places.get(box));
    return attempt({ kind: "toggle", group });
  };
  const close = (key) => {
    const why = source.cannot("close", key);
    if (why) return say(why);
    const frame = panes.drawing.frames.get(key);
    panes.expectAt(frame && cornerOf(frame));
    return attempt({ kind: "toggle", group: key });
  };
  const nextFold = () => {
    const folds = foldsInOrder(panes, source.get("data"));
    if (!folds.length) return say("nothing was folded");
    const at = folds.indexOf(state.node);
    const next = (at + 1) % folds.length;
    return go(folds[next]).then((isThere) => isThere && say(`fold ${next + 1} of ${folds.length}`));
  };

  // -- parts

  const details = createDetails(source, { go, open: toggle, close });
  const tabs = createTabs(signal);
  const search = createSearch(source, panes, go, say);
  const strip = createStrip((node) => go(node, panes.centre));
  const fold = (names) => attempt({ kind: "fold", names }).then((answer) => answer || refreshMarks());
  const marks = createMarks(fold, () => attempt({ kind: "cancel" }));
  const tooltip = createTooltip(root);
  const leaveHover = bindHover(panes, tooltip, signal);
  const toolbar = createToolbar({ panes, source, search, nextFold, attempt, say, signal });
  const report = make("pre", { class: "cv-report" });
  const main = make("div", { class: "cv-main" });
  main.append(panes.element, createSplitter(main, tabs.element, signal), tabs.element);
  const legend = createLegend();
  const foot = make("div", { class: "cv-row cv-foot" }, legend.element, note);
  root.append(toolbar.element, marks.element, strip.element, main, foot);
  bindKeys(panes, { choose, toggle, close, nextFold, leave }, signal);
  bindClicks(panes, { choose, toggle, close, leave }, signal);
  watchWidth(root, signal);
  root.classList.toggle("cv-saved-page", Boolean(source.cannot("close")));

  // -- what comes from the other side

  const refreshMarks = () => {
    marks.set(source.get("data"), source.cannot("fold"));
    refreshStatus();
  };
  const refreshData = () => {
    const data = source.get("data");
    details.forget();
    panes.camera.touched = false; // another capture is looked at from the start
    root.setAttribute("aria-label", visible(data.title));
    toolbar.setData(data);
    strip.set(data.strip ?? []);
    report.textContent = visible(data.text ?? "");
    tables = (data.tables ?? []).map((table) => createTable(table, go));
    tabs.set([["node", details.element], ["report", report], ...tables.map(({ name, element }) => [name, element])]);
    refreshMarks();
    search.renew();
    showChoice();
  };
  const refreshView = () => {
    const view = source.get("view");
    if (!view?.svg) return say("there is no drawing");
    leaveHover();
    try {
      panes.show(view);
    } catch (error) {
      return say(error.message);
    }
    state.node = source.get("selected") || state.node;
    state.box = panes.boxOf(state.node) || (state.node || !(state.box in view.boxes) ? "" : state.box);
    toolbar.setView(view);
    legend.setView(view);
    search.mark();
    showChoice();
  };
  const refreshSelected = () => {
    const node = source.get("selected") ?? "";
    if (node === state.node) return;
    Object.assign(state, { node, box: panes.boxOf(node) });
    showChoice();
    if (state.box) panes.bringIntoView(state.box);
  };
  const refreshStatus = () => {
    const { busy = false, text = "", error = "", cancel = true } = source.get("status") ?? {};
    const isOver = root.getAttribute("aria-busy") === "true" && !busy;
    if (isOver) marks.set(source.get("data"), source.cannot("fold")); // a cancelled capture changed nothing
    marks.setBusy(busy, source.get("data").can_fold && !source.cannot("fold"), cancel);
    toolbar.setBusy(busy);
    root.setAttribute("aria-busy", String(busy));
    if (busy || isOver || text || error) say(error || text || (busy ? "working…" : ""));
    note.classList.toggle("cv-problem", Boolean(error));
  };
  source.onChange("data", refreshData);
  source.onChange("view", refreshView);
  source.onChange("selected", refreshSelected);
  source.onChange("status", refreshStatus);
  return { root, refreshData, refreshView, refreshStatus, stop: search.stop };
}

/** Pointer in the panes: a click chooses, a sign or a double click opens or closes. */
function bindClicks(panes, does, signal) {
  const click = (event) => {
    const box = event.target.closest("[data-box]");
    const frame = event.target.closest("[data-close]");
    if (frame) does.close(frame.dataset.close);
    else if (!box) event.currentTarget.contains(event.target) && does.leave();
    else if (event.target.closest(".cv-open")) does.toggle(box.dataset.box);
    else does.choose(box.dataset.box);
    (box ?? event.target.closest(".cv-pane"))?.focus({ preventScroll: true });
  };
  const doubleClick = (event) => {
    const box = event.target.closest("[data-box]")?.dataset.box;
    const frame = event.target.closest("[data-frame]")?.dataset.frame;
    if (panes.view?.boxes[box]?.group && !event.target.closest(".cv-open")) does.toggle(box);
    else if (frame in (panes.view?.frames ?? {}) && !event.target.closest("[data-close]")) does.close(frame);
  };
  panes.element.addEventListener("click", click, { signal });
  panes.element.addEventListener("dblclick", doubleClick, { signal });
}

function watchWidth(root, signal) {
  const observer = new ResizeObserver(([entry]) => {
    root.classList.toggle("cv-wide", entry.contentRect.width >= WIDE);
  });
  observer.observe(root);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}

/** Call `then` once `root` is in the document: a notebook renders before it attaches. */
function whenAttached(root, signal, then) {
  if (root.isConnected) return then();
  const observer = new ResizeObserver(() => {
    if (!root.isConnected) return;
    observer.disconnect();
    then();
  });
  observer.observe(root);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}

function render({ model, el }) {
  return startDiagram(el, (signal) => liveSource(model, signal));
}

/** The diagram of a saved page: no kernel, all answers from `{data, view}`. */
export function mount(element, saved) {
  return startDiagram(element, () => offlineSource(saved));
}

export default { render };
