// What if: a checkbox for each marked function. Unticking one captures again without it.

/** `change` is called with the names of the ticked marks, `cancel` to stop a capture. */
function createMarks(change, cancel) {
  const boxes = make("div", { class: "cv-marks-list" });
  const option = make("code", { class: "cv-option" });
  const stop = makeButton("Cancel", "stop this capture", cancel, { class: "cv-cancel", hidden: true });
  const element = make("div", { class: "cv-row cv-marks", role: "group", "aria-label": "what if: which marks to fold" });
  element.append(make("b", { text: "what if" }), boxes, option, stop);
  let inputs = [];

  const ticked = () => inputs.filter(({ input }) => input.checked).map(({ mark }) => mark.name);
  const showOption = () => {
    option.textContent = optionText(ticked(), inputs.length);
  };
  const set = ({ marks, can_fold: canFold }, why) => {
    element.hidden = marks.length === 0;
    inputs = marks.map((mark) => {
      const changed = () => {
        showOption();
        change(ticked());
      };
      const input = make("input", { type: "checkbox", on: { change: changed } });
      input.checked = mark.selected;
      return { input, mark };
    });
    const title = (mark) => why || (canFold ? `fold ${mark.name}, marked at ${mark.place}` : "needs the live session");
    boxes.replaceChildren(
      ...inputs.map(({ input, mark }) => {
        input.disabled = Boolean(why) || !canFold;
        const place = make("span", { class: "cv-quiet", text: mark.place });
        return make("label", { title: title(mark) }, input, make("code", { text: mark.name }), place);
      }),
    );
    showOption();
  };
  const setBusy = (busy, allowed) => {
    stop.hidden = !busy;
    for (const { input } of inputs) input.disabled = busy || !allowed;
    element.classList.toggle("cv-busy", busy);
  };
  return { element, set, setBusy };
}

function optionText(names, count) {
  if (names.length === count) return "all marks";
  return names.length ? `--fold ${names.join(",")}` : "no mark folded";
}
