// The page: its frame, what is shown in it, files dropped on it, the keyboard.

import "./style.css";
import type { Context } from "./context";
import { currentLaunch } from "./context";
import { button, h, keepFocus } from "./dom";
import * as format from "./format";
import { runName } from "./runs";
import { onChange, state, update, VIEWS } from "./state";
import type { ViewName } from "./state";
import { Store } from "./store";
import { DiffView } from "./views/diff";
import { FindingsView } from "./views/findings";
import { GraphPageView } from "./views/graph";
import { LaunchesView } from "./views/launches";
import { RunView } from "./views/run";
import { SourcePageView } from "./views/source";
import type { View } from "./views/view";

const NAMES: Record<ViewName, string> = { launches: "Launches", graph: "Graph", source: "Source", findings: "Findings", diff: "Diff", run: "Run" };

const KEYS: [string, string][] = [
  ["1 … 6", "go to a view"], ["/", "search"], ["[ and ]", "previous and next launch"], ["?", "this help"], ["Escape", "clear the selection, close this"],
  ["arrows", "in the graph: move between instructions; in tables: move between rows"], ["Enter", "select or open; with Shift add to the selection"],
  ["+ − 0", "in the graph: zoom, fit"], ["Shift + drag", "in the graph: select what is in a box"], ["Ctrl or Shift + click", "in the graph: add to the selection"],
];

async function start(): Promise<void> {
  const app = document.getElementById("app")!;
  const live = h("div", { class: "sr-only", role: "status", "aria-live": "polite" });
  const message = h("div", { class: "message", role: "alert", hidden: true });
  app.replaceChildren();
  if (!("DecompressionStream" in window) && document.getElementById("cuvein-index")) {
    app.append(h("p", { class: "empty", role: "alert" }, "This browser is too old to unpack the report: it has no DecompressionStream. Open the report in a newer one."));
    return;
  }
  let store: Store;
  try {
    store = await Store.embedded();
  } catch {
    app.append(h("p", { class: "empty" }, "This report is damaged: it was cut off or changed. Make it again with 'cuvein report FOLDER --html FILE'."));
    return;
  }
  const context: Context = { store, say: (text) => { live.textContent = text; }, tell };
  const views: Record<ViewName, View> = {
    launches: new LaunchesView(), graph: new GraphPageView(), source: new SourcePageView(), findings: new FindingsView(), diff: new DiffView(), run: new RunView(),
  };
  const main = h("main", { id: "main", tabindex: -1 });
  const tabs = h("nav", { class: "tabs", "aria-label": "Views" });
  const bar = h("div", { class: "launch-bar" });
  const base = h("input", { type: "text", class: "base", placeholder: "0x…", spellcheck: "false", "aria-label": "Kernel base PC", title: "Where the kernel's code starts, as ncu or a debugger shows it: offsets become addresses",
    on: { input: () => {
      const value = format.readBase(base.value);
      base.setAttribute("aria-invalid", String(value === undefined));
      if (value !== undefined) update({ base: value });
    } } });
  const help = h("dialog", { class: "help", "aria-label": "Keyboard" }, h("h2", {}, "Keyboard"), h("dl", { class: "facts" }, ...KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])), h("form", { method: "dialog" }, h("button", {}, "Close")));
  const picker = h("input", { type: "file", multiple: true, accept: ".json", hidden: true, "aria-label": "Open profiles", on: { change: () => void open(picker.files ?? []) } });
  const theme = button("◐", () => setTheme(document.documentElement.dataset["theme"] === "dark" || (!document.documentElement.dataset["theme"] && matchMedia("(prefers-color-scheme: dark)").matches) ? "light" : "dark"), { class: "icon", "aria-label": "Light or dark", title: "light or dark" });

  app.append(h("a", { class: "skip", href: "#main", on: { click: (event: Event) => { event.preventDefault(); main.querySelector<HTMLElement>("[tabindex='0'], input, button")?.focus(); } } }, "Skip to content"),
    h("header", { class: "top" }, h("span", { class: "brand" }, "cu", h("b", {}, "Vein")), tabs, h("span", { class: "grow" }), h("label", { class: "base-label" }, h("span", { class: "dim" }, "Kernel base PC "), base),
      button("Open…", () => picker.click(), { title: "open launch profiles or a view (or drop them on the page)" }), theme, button("?", () => help.showModal(), { class: "icon", "aria-label": "Keyboard help", title: "keyboard (?)" })),
    bar, message, main, picker, live, help, h("div", { class: "drop", "aria-hidden": "true" }, "Drop launch profiles or a view here"));

  function setTheme(name: string): void {
    document.documentElement.dataset["theme"] = name;
    void render(true);
  }

  function drawFrame(): void {
    const { index } = store;
    document.title = index.title ? `${index.title} – cuvein` : "cuvein";
    tabs.replaceChildren(...VIEWS.map((name, at) => {
      const number = name === "launches" ? index.launches.length : name === "findings" ? index.findings.length : 0;
      return h("a", { href: `#view=${name}`, class: "tab", "aria-current": state.view === name ? "page" : undefined, title: `${at + 1}`, on: { click: (event: Event) => { event.preventDefault(); update({ view: name, query: "" }); } } },
        NAMES[name], number ? h("span", { class: "number" }, format.count(number)) : null);
    }));
    if (document.activeElement !== base) base.value = state.base === null ? "" : `0x${state.base.toString(16)}`;
    const launch = currentLaunch(store);
    const single = state.view === "graph" || state.view === "source" || state.view === "run";
    bar.hidden = !single || !launch;
    if (launch && single) {
      const at = index.launches.indexOf(launch), kernel = index.kernels[launch.kernel]!, run = runName(index, launch);
      const step = (by: number): void => { const next = index.launches[at + by]; if (next) update({ launch: next.id, selection: next.graph === launch.graph ? state.selection : [] }); };
      bar.replaceChildren(button("‹", () => step(-1), { class: "icon", "aria-label": "Previous launch", disabled: at === 0 }), button("›", () => step(1), { class: "icon", "aria-label": "Next launch", disabled: at === index.launches.length - 1 }),
        h("span", { class: "dim" }, `launch ${format.count(launch.sequence)}`), h("b", { class: "clip", title: kernel.name }, kernel.short),
        h("span", { class: "dim clip" }, `grid ${format.shape(launch.grid)} · block ${format.shape(launch.block)}${launch.cluster ? ` · cluster ${format.shape(launch.cluster)}` : ""} · ${launch.device.name}${run ? ` · ${run}` : ""}`), launch.incomplete ? h("span", { class: "warning clip", title: launch.incomplete }, launch.incomplete) : h("span"));
    }
  }

  async function render(redraw = false): Promise<void> {
    if (state.launch !== null && store.index.launches.length && !store.index.launches.some((each) => each.id === state.launch)) {
      // The numbers of a selection mean something else in another launch. "Back" must not lead here again.
      tell("The launch that the link leads to is not in this report.");
      update({ launch: null, selection: [] }, false);
      return;
    }
    const giveBack = keepFocus(app, main);
    drawFrame();
    giveBack();
    if (!store.index.launches.length) {
      main.replaceChildren(h("div", { class: "empty big" }, h("h1", {}, "No profiles yet"), h("p", {}, "Drop launch profiles (launch-*.json) or a view (.cuvein.json) on this page, or open them."), button("Open…", () => picker.click(), { class: "primary" }), h("p", { class: "dim" }, "They stay on this computer: this page has no network access.")));
      return;
    }
    const view = views[state.view];
    if (main.firstChild !== view.element) main.replaceChildren(view.element);
    try {
      await view.show(context);
      if (redraw) (views.graph as GraphPageView).canvas.redraw();
      giveBack();
    } catch (error) {
      tell(error instanceof TypeError ? "This cannot be shown: the data of the launch is damaged. Make the report again." : (error as Error).message);
      throw error;
    }
  }

  function tell(text: string): void {
    message.replaceChildren(h("span", {}, text), button("×", () => { message.hidden = true; }, { class: "icon", "aria-label": "Close" }));
    message.hidden = !text;
  }

  async function open(files: Iterable<File>): Promise<void> {
    const { problems, opened, first } = await store.open(files);
    tell([...problems.slice(0, 4), problems.length > 4 ? `${problems.length - 4} more files could not be used.` : ""].filter(Boolean).join(" "));
    picker.value = "";
    if (opened) {
      context.say(`${opened} launches opened`);
      const launch = store.index.launches.some((each) => each.id === state.launch) ? state.launch : null;
      update(opened === 1 && first ? { view: "graph", launch: first, selection: [] } : { view: state.view, launch, selection: [] });
    }
  }

  for (const name of ["dragenter", "dragover"] as const) addEventListener(name, (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    void dropped(event.dataTransfer).then(open);
  });
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey || help.open) {
      if (event.key === "Escape" && target.tagName === "INPUT") target.blur();
      return;
    }
    const at = "123456".indexOf(event.key);
    if (event.key === "?") help.showModal();
    else if (event.key === "/") main.querySelector<HTMLElement>("input[type=search]")?.focus();
    else if (event.key === "[") bar.querySelector<HTMLElement>("[aria-label='Previous launch']")?.click();
    else if (event.key === "]") bar.querySelector<HTMLElement>("[aria-label='Next launch']")?.click();
    else if (event.key === "Escape" && state.selection.length) update({ selection: [] });
    else if (at >= 0 && event.key.length === 1) update({ view: VIEWS[at]!, query: "" });
    else return;
    event.preventDefault();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => void render(true));
  onChange(() => void render());
  // For those who drive the page from outside.
  Object.assign(window, { cuvein: { locate: (id: number) => (views.graph as GraphPageView).canvas.locate(id), store, get state() { return state; } } });
  await render();
}

/** Files of a drop, those in dropped folders too. */
async function dropped(data: DataTransfer | null): Promise<File[]> {
  if (!data) return [];
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (!entries.some((entry) => entry?.isDirectory)) return [...data.files];
  const files: File[] = [];
  const walk = async (entry: FileSystemEntry | null): Promise<void> => {
    if (!entry) return;
    if (entry.isFile) {
      if (entry.name.endsWith(".json")) files.push(await new Promise<File>((resolve, reject) => { (entry as FileSystemFileEntry).file(resolve, reject); }));
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => { reader.readEntries(resolve, reject); });
      if (!some.length) return;
      for (const each of some) await walk(each);
    }
  };
  for (const entry of entries) await walk(entry);
  return files.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

void start();
