// What is being looked at. It lives in the address, after '#', so that a link leads back to it.

export type ViewName = "launches" | "graph" | "source" | "findings" | "diff" | "run";
export const VIEWS: ViewName[] = ["launches", "graph", "source", "findings", "diff", "run"];

export interface State {
  view: ViewName;
  launch: string | null;
  selection: number[];
  hiddenLabels: string[];
  hiddenSpaces: string[];
  minimum: number;
  base: bigint | null;
  query: string;
  sort: string;
  finding: number | null;
  other: string | null;
}

const DEFAULTS: State = {
  view: "launches", launch: null, selection: [], hiddenLabels: [], hiddenSpaces: [], minimum: 0, base: null,
  query: "", sort: "", finding: null, other: null,
};

export let state: State = read();
const listeners: ((previous: State) => void)[] = [];

export function onChange(listener: (previous: State) => void): void {
  listeners.push(listener);
}

/** Changes what is looked at. A change of view or launch makes a step that "back" undoes, if asked; others do not. */
export function update(change: Partial<State>, undoable = true): void {
  const previous = state;
  state = { ...state, ...change };
  const hash = write(state);
  if (hash !== location.hash) {
    const step = undoable && (previous.view !== state.view || previous.launch !== state.launch);
    // The events that this causes find the state as it is and do nothing.
    if (step) location.hash = hash;
    else location.replace(hash);
  }
  for (const listener of listeners) listener(previous);
}

addEventListener("hashchange", () => {
  if (location.hash === write(state)) return;
  const previous = state;
  state = read();
  for (const listener of listeners) listener(previous);
});

function list(text: string | null): string[] {
  return text ? text.split(",") : [];
}

function read(): State {
  const given = new URLSearchParams(location.hash.slice(1));
  const view = given.get("view") as ViewName;
  const base = given.get("base");
  const number = (name: string): number | null => {
    const text = given.get(name);
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
  };
  return {
    view: VIEWS.includes(view) ? view : DEFAULTS.view,
    launch: given.get("launch"),
    selection: list(given.get("select")).filter((text) => /^\d{1,9}$/.test(text)).map(Number),
    hiddenLabels: list(given.get("hide")),
    hiddenSpaces: list(given.get("hide-space")),
    minimum: number("minimum") ?? 0,
    base: base !== null && /^0x[0-9a-f]{1,16}$/i.test(base) ? BigInt(base) : null,
    query: given.get("query") ?? "",
    sort: given.get("sort") ?? "",
    finding: number("finding"),
    other: given.get("with"),
  };
}

function write(of: State): string {
  const out = new URLSearchParams({ view: of.view });
  if (of.launch !== null) out.set("launch", of.launch);
  if (of.selection.length) out.set("select", of.selection.join(","));
  if (of.hiddenLabels.length) out.set("hide", of.hiddenLabels.join(","));
  if (of.hiddenSpaces.length) out.set("hide-space", of.hiddenSpaces.join(","));
  if (of.minimum) out.set("minimum", String(of.minimum));
  if (of.base !== null) out.set("base", `0x${of.base.toString(16)}`);
  if (of.query) out.set("query", of.query);
  if (of.sort) out.set("sort", of.sort);
  if (of.finding !== null) out.set("finding", String(of.finding));
  if (of.other !== null) out.set("with", of.other);
  return `#${out.toString()}`;
}
