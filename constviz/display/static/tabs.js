// Tabs: one panel at a time, chosen by pointer or arrow keys.

let tabSets = 0;

/** `set` takes [name, element] pairs; a tab that still exists stays chosen. */
function createTabs(signal) {
  const prefix = `constviz-tab-${++tabSets}-`;
  const list = make("div", { role: "tablist", class: "cv-tablist", "aria-label": "about the graphs" });
  const body = make("div", { class: "cv-tabbody" });
  const element = make("div", { class: "cv-tabs" }, list, body);
  let tabs = [];
  let chosen = "";

  const choose = (name) => {
    chosen = tabs.some((tab) => tab.name === name) ? name : tabs[0].name;
    for (const tab of tabs) {
      const isChosen = tab.name === chosen;
      tab.button.setAttribute("aria-selected", String(isChosen));
      tab.button.tabIndex = isChosen ? 0 : -1;
      tab.panel.hidden = !isChosen;
    }
  };
  const set = (pairs) => {
    tabs = pairs.map(([name, content], k) => makeTab(prefix + k, name, content, () => choose(name)));
    list.replaceChildren(...tabs.map((tab) => tab.button));
    body.replaceChildren(...tabs.map((tab) => tab.panel));
    choose(chosen);
  };
  rove(list, "[role=tab]", signal, (button) => choose(tabs.find((tab) => tab.button === button).name));
  return { element, set, choose, chosen: () => chosen };
}

function makeTab(id, name, content, onClick) {
  const button = make("button", { type: "button", role: "tab", id, "aria-controls": `${id}-panel`, on: { click: onClick } });
  button.textContent = visible(name).replaceAll("_", " ");
  const panel = make("div", { role: "tabpanel", id: `${id}-panel`, "aria-labelledby": id, tabindex: "0" }, content);
  return { name, button, panel };
}
