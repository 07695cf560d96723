// Keys that a notebook would take for commands of its own, such as b for a new cell.

/** Keep plain keys that are pressed inside `root` from the notebook; Ctrl+S and the like stay its own. */
function keepShortcuts(root, signal) {
  const keep = (event) => {
    if (!(event.target instanceof Element) || !root.contains(event.target)) return;
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    // Lumino looks for the mark from the focused element upwards, and stops at the first selector that matches
    event.target.toggleAttribute("data-lm-suppress-shortcuts", plain);
  };
  window.addEventListener("keydown", keep, { capture: true, signal }); // before the notebook, which listens on document
}
