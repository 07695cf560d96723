// Where answers come from in a saved page: the data that the page carries.

const NEEDS_KERNEL = "not in a saved page: this needs the notebook's kernel";

function offlineSource({ data, view }) {
  const traits = { data, view, selected: "", status: { busy: false, text: "", error: "" } };
  const listeners = { data: [], view: [], selected: [], status: [] };
  const outer = []; // the views that lead to the one shown
  let whereabouts = null;
  const set = (name, value) => {
    traits[name] = value;
    for (const listener of listeners[name]) listener();
  };
  const inner = async (key) => {
    const packed = data.inner?.[key];
    if (!packed) throw new Error(NEEDS_KERNEL);
    return { ...(await unpack(packed.z)), inner_of: key };
  };
  const enter = async (key) => {
    const next = await inner(key);
    outer.push(traits.view);
    set("view", next);
  };
  const shows = (drawn, node) => Object.values(drawn.boxes).some((box) => box.node === node);
  const reveal = async (node) => {
    const level = outer.findIndex((drawn) => shows(drawn, node));
    if (level >= 0) {
      set("view", outer.splice(level)[0]);
      return set("selected", node);
    }
    whereabouts ??= await indexInner(data.inner ?? {}, inner);
    const key = whereabouts.get(node);
    if (key === undefined) throw new Error(`${data.nodes?.[node]?.name ?? node} has no box of its own`);
    await enter(key);
    set("selected", node);
  };
  const answers = {
    details: ({ node }) => {
      const found = data.details?.[node];
      if (!found) throw new Error("the page holds no details of this");
      return { details: found };
    },
    search: ({ text }) => {
      const hits = searchNodes(data.nodes ?? {}, text);
      return { hits: hits.map((id) => [id, ""]), total: hits.length };
    },
    toggle: ({ group }) => enter(group),
    reveal: ({ node }) => reveal(node),
    back: () => outer.length && set("view", outer.pop()),
    reset: () => outer.length && set("view", outer.splice(0)[0]),
  };
  const ask = async (message) => {
    if (!(message.kind in answers)) throw new Error(NEEDS_KERNEL);
    return (await answers[message.kind](message)) ?? { done: true };
  };
  const cannot = (kind, group) => {
    if (kind === "toggle") return data.inner?.[group] ? "" : NEEDS_KERNEL;
    return kind in answers ? "" : NEEDS_KERNEL;
  };
  return { get: (name) => traits[name], set, onChange: (name, f) => listeners[name].push(f), ask, cannot };
}

/** The JSON in base64 of gzip. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** For each node in closed groups: the group in whose drawing it has a box. */
async function indexInner(packed, read) {
  const found = new Map();
  for (const key of Object.keys(packed)) {
    const { boxes } = await read(key);
    for (const { node } of Object.values(boxes)) if (node && !found.has(node)) found.set(node, key);
  }
  return found;
}
