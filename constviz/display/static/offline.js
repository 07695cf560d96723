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
    const isPossible = kind === "open" ? data.inner?.[group] : kind in answers;
    return isPossible ? "" : NEEDS_KERNEL;
  };
  return { get: (name) => traits[name], set, onChange: (name, f) => listeners[name].push(f), ask, cannot };
}

/** The JSON in base64 of gzip. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** For each node in closed groups the group to draw: best the one it is in, else one that it lies beside. */
async function indexInner(packed, read) {
  const [within, beside] = [new Map(), new Map()];
  for (const key of Object.keys(packed)) {
    const view = await read(key);
    const { frames, places } = readDrawing(view);
    const frame = frames.get(key);
    for (const [id, { node }] of Object.entries(view.boxes)) {
      if (!node || !places.has(id)) continue;
      const into = !frame || holds(frame, places.get(id)) ? within : beside;
      if (!into.has(node)) into.set(node, key);
    }
  }
  return new Map([...beside, ...within]);
}
