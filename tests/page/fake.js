// A page with fake models: traits and messages as the notebook's, with scripted answers.

/** `answers`: for each kind of message a function of it; what it returns comes back with the message's number. */
export function fakeModel(traits, answers = {}) {
  const listeners = new Map();
  const model = {
    sent: [],
    saved: 0,
    get: (name) => traits[name],
    set(name, value) {
      if (traits[name] === value) return;
      traits[name] = value;
      model.fire(`change:${name}`);
    },
    save_changes: () => model.saved++,
    on(name, listener) {
      if (!listeners.has(name)) listeners.set(name, new Set());
      listeners.get(name).add(listener);
    },
    off: (name, listener) => listeners.get(name)?.delete(listener),
    fire(name, ...content) {
      for (const listener of [...(listeners.get(name) ?? [])]) listener(...content);
    },
    async send(message) {
      model.sent.push(message);
      await Promise.resolve();
      const answer = answers[message.kind]?.(message, model);
      if (answer) model.fire("msg:custom", { id: message.id, ...answer }, []);
    },
    listening: () => [...listeners.values()].reduce((sum, some) => sum + some.size, 0),
  };
  return model;
}
