// Where answers come from in a notebook: the kernel, by synced traits and by messages that carry a number.

const PATIENCE_MS = 4000;
const NO_KERNEL = "no kernel: what is drawn can still be looked at, but this needs the notebook's kernel to run";

/** `get`, `set`, `onChange` of traits; `ask` gives a promise of the answer; `can` says why something cannot be done. */
function liveSource(model, signal) {
  const waiting = new Map();
  let number = Math.floor(Math.random() * 2 ** 31) * 2 ** 20; // the same model may be shown twice
  const answer = (message) => {
    const asked = waiting.get(message?.id);
    if (!asked) return;
    waiting.delete(message.id);
    clearTimeout(asked.timer);
    if (message.error) asked.reject(new Error(message.error));
    else asked.resolve(message);
  };
  const giveUp = (id) => {
    const asked = waiting.get(id);
    if (model.get("status")?.busy) {
      asked.timer = setTimeout(giveUp, PATIENCE_MS, id);
    } else {
      waiting.delete(id);
      asked.reject(new Error(NO_KERNEL));
    }
  };
  const ask = (message) =>
    new Promise((resolve, reject) => {
      const id = ++number;
      waiting.set(id, { resolve, reject, timer: setTimeout(giveUp, PATIENCE_MS, id) });
      model.send({ ...message, id });
    });
  const onChange = (name, listener) => {
    model.on(`change:${name}`, listener);
    signal.addEventListener("abort", () => model.off(`change:${name}`, listener), { once: true });
  };
  const set = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const stop = () => {
    model.off("msg:custom", answer);
    for (const { timer } of waiting.values()) clearTimeout(timer);
    waiting.clear();
  };
  model.on("msg:custom", answer);
  signal.addEventListener("abort", stop, { once: true });
  return { get: (name) => model.get(name), set, onChange, ask, cannot: () => "" };
}

/** The same search as the kernel's, over the index that small graphs bring along. */
function searchNodes(nodes, text) {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = ([, { name, op, target, path, words }]) => {
    const all = `${name} ${op} ${target} ${path} ${words}`.toLowerCase();
    return terms.every((term) => all.includes(term));
  };
  return Object.entries(nodes)
    .filter(found)
    .map(([id]) => id);
}
