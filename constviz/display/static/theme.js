// Light or dark: what the notebook says it is, else what the reader's system prefers.

const THEME_ATTRIBUTES = ["class", "theme", "data-theme", "data-jp-theme-light", "data-vscode-theme-kind"];

/** Keep the class `cv-dark` of `root` as the page's theme is, until `signal` aborts. */
function watchTheme(root, signal) {
  const preference = matchMedia("(prefers-color-scheme: dark)");
  const update = () => root.classList.toggle("cv-dark", looksDark(preference));
  const observer = new MutationObserver(update);
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, { attributes: true, attributeFilter: THEME_ATTRIBUTES });
  }
  preference.addEventListener("change", update, { signal });
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  update();
}

function looksDark(preference) {
  const { documentElement: html, body } = document;
  const jupyter = body.dataset.jpThemeLight;
  if (jupyter) return jupyter === "false";
  const code = body.dataset.vscodeThemeKind;
  if (code) return code === "vscode-dark" || code === "vscode-high-contrast";
  const colabOrOther = html.getAttribute("theme") || html.dataset.theme || body.dataset.theme;
  if (colabOrOther) return colabOrOther === "dark";
  return preference.matches;
}

function wantsStillness() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
