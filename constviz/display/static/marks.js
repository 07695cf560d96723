// What if: a checkbox for each marked function. Unticking one captures again without it.

/** `change` is called with the names of the ticked marks, `cancel` to stop a capture. */
function createMarks(change, cancel) {
  const boxes = make("div", { class: "cv-marks-list" });
  const option = make("code", { class: "cv-option" });
  const stop = makeButton("Cancel", "stop this capture", cancel, { class: "cv-cancel", hidden: true });
  const element = make("div", { class: "cv-row cv-marks", role: "group", "aria-label": "what if: which marks to fold" });
  const other = make("span", { class: "cv-quiet cv-other", hidden: true });
  element.append(make("b", { text: "what if" }), boxes, other, option, stop);
  let inputs = [];

  const ticked = () => inputs.filter(({ input }) => input.checked).map(({ mark }) => mark.choose);
  const showOption = () => {
    option.textContent = option.title = visible(optionText(ticked(), inputs.length));
  };
  const set = ({ marks, can_fold: canFold, what_if: whatIf = "" }, why) => {
    other.hidden = !whatIf;
    other.textContent = whatIf && "not the report, but report.shown";
    other.title = visible(whatIf);
    element.hidden = marks.length === 0;
    inputs = byName(marks).map((mark) => {
      const changed = () => {
        showOption();
        change(ticked());
      };
      const input = make("input", { type: "checkbox", on: { change: changed } });
      input.checked = mark.selected;
      return { input, mark };
    });
    const title = ({ name, places }) => {
      const marked = [name, ...places.filter(Boolean).map((place) => `marked at ${place}`)].join(", ");
      return canFold && !why ? `fold ${marked}` : `${marked}: ${why || "needs the live session"}`;
    };
    boxes.replaceChildren(
      ...inputs.map(({ input, mark }) => {
        input.disabled = Boolean(why) || !canFold;
        const { places } = mark;
        const words = places.length > 1 ? `${places.length} functions of this name` : places[0];
        const place = make("span", { class: "cv-quiet", text: words });
        return make("label", { title: title(mark) }, input, make("code", { text: mark.name }), place);
      }),
    );
    showOption();
  };
  const setBusy = (busy, allowed, canStop = true) => {
    stop.hidden = !(busy && canStop);
    for (const { input } of inputs) input.disabled = busy || !allowed;
    element.classList.toggle("cv-busy", busy);
  };
  return { element, set, setBusy };
}

/** Marks are chosen by what is sent for them: functions of which that is the same are folded or left together. */
function byName(marks) {
  const found = new Map();
  for (const { name, choose = name, place, selected } of marks) {
    const mark = found.get(choose) ?? { name, choose, places: [], selected };
    mark.places.push(place);
    found.set(choose, mark);
  }
  return [...found.values()];
}

function optionText(names, count) {
  if (names.length === count) return "all marks";
  return names.length ? `--fold ${names.join(",")}` : "no mark folded";
}
