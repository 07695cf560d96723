// The toolbar: what is shown, search, zoom, the next fold, ways back, the stage, and saving a picture.

const MODE_TITLES = {
  both: "before and after, side by side",
  before: "only before folding",
  after: "only after folding",
  ghosts: "after folding, with what was removed shown faintly",
};

function createToolbar({ panes, source, search, nextFold, attempt, say, signal }) {
  const title = make("b", { class: "cv-title" });
  const verdict = make("span", { class: "cv-verdict" });
  const back = makeButton("← back", "back to the drawing this was opened from", () => attempt({ kind: "back" }), { hidden: true });
  const reset = makeButton("reset", "the first drawing again", () => attempt({ kind: "reset" }).then(panes.startAgain));
  const stage = make("select", { "aria-label": "stage" });
  const stageLabel = make("label", {}, make("span", { class: "cv-word", text: "stage " }), stage);
  stage.addEventListener("change", () => attempt({ kind: "stage", stage: stage.value }));
  const save = (how) => () => Promise.resolve(how(panes, title.textContent)).catch((error) => say(error.message));
  const element = make("div", { class: "cv-toolbar", role: "toolbar", "aria-label": "diagram" });
  element.append(
    make("div", { class: "cv-row cv-head" }, title, verdict, search.element),
    make(
      "div",
      { class: "cv-row" },
      modeSwitch(panes, signal),
      make(
        "span",
        { class: "cv-group" },
        makeButton("−", "zoom out (−)", () => panes.zoom(0.8), { "aria-label": "zoom out" }),
        makeButton("+", "zoom in (+)", () => panes.zoom(1.25), { "aria-label": "zoom in" }),
        makeButton("fit", "as much as can be read, from the top", () => panes.fit(false)),
        makeButton("all", "the whole drawing (0)", () => panes.fit(true)),
      ),
      makeButton("next fold", "go to the next folded constant (n)", nextFold),
      back,
      reset,
      stageLabel,
      make(
        "span",
        { class: "cv-group cv-save" },
        makeButton("SVG", "save what is shown as SVG", save(saveSvg), { "aria-label": "save SVG" }),
        makeButton("PNG", "save what is shown as PNG", save(savePng), { "aria-label": "save PNG" }),
      ),
    ),
  );
  const setData = (data) => {
    title.textContent = title.title = visible(data.title);
    verdict.textContent = visible(data.verdict ?? "").replaceAll("_", " ");
    verdict.dataset.verdict = data.verdict ?? "";
    verdict.hidden = !data.verdict;
    stageLabel.hidden = (data.stages ?? []).length < 2;
    stage.replaceChildren(...(data.stages ?? []).map((name) => make("option", { value: name, text: name })));
  };
  const setView = (view) => {
    stage.value = view.stage;
    back.hidden = !view.inner_of;
    reset.hidden = Boolean(source.cannot("stage")); // a saved page has only ways in and back
  };
  const setBusy = (busy) => {
    stage.disabled = busy || Boolean(source.cannot("stage"));
    stage.title = source.cannot("stage") || "which of the compiler's stages is shown";
  };
  return { element, setData, setView, setBusy };
}

function modeSwitch(panes, signal) {
  const group = make("span", { class: "cv-group cv-modes", role: "radiogroup", "aria-label": "which graphs are shown" });
  const choose = (button) => {
    for (const other of group.children) {
      other.setAttribute("aria-checked", String(other === button));
      other.tabIndex = other === button ? 0 : -1;
    }
    panes.setMode(button.dataset.mode);
  };
  for (const mode of MODES) {
    const button = makeButton(mode, MODE_TITLES[mode], () => choose(button), { role: "radio", "data-mode": mode });
    group.append(button);
  }
  choose(group.firstElementChild);
  rove(group, "button", signal, choose);
  return group;
}
