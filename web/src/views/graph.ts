// The graph of one launch, with what to show of it above and what it says beside it.

import { swatch } from "../charts";
import { currentLaunch, load, nodeLine } from "../context";
import type { Context, Current } from "../context";
import { button, h, svg } from "../dom";
import * as format from "../format";
import { GraphCanvas } from "../graph/canvas";
import type { Space } from "../model";
import { LABEL_WORDS, LABELS, SPACES, SPACE_WORDS } from "../model";
import { state, update } from "../state";
import { nodeName, panel } from "./panel";
import type { View } from "./view";

const STEPS = 60;

const GLYPHS = { read: "M5 1H15A5 5 0 0 1 15 11H5A5 5 0 0 1 5 1Z", write: "M1 1H19V11H1Z", atomic: "M1 6L5 1H15L19 6L15 11H5Z" };

function glyph(type: keyof typeof GLYPHS): Node {
  return svg("svg", { class: "glyph", viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" }, svg("path", { d: GLYPHS[type] }));
}

export class GraphPageView implements View {
  readonly element = h("div", { class: "view graph-view" });
  readonly canvas: GraphCanvas;
  private readonly tools = h("div", { class: "toolbar" });
  private readonly side = h("aside", { class: "panel", "aria-label": "Details", tabindex: 0 });
  private readonly tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  private context: Context | null = null;
  private current: Current | null = null;
  private shown = "";
  private told = "";

  constructor() {
    this.canvas = new GraphCanvas({
      select: (ids) => update({ selection: ids }),
      describe: (target, at) => this.describe(target, at),
    });
    this.canvas.element.append(this.tip);
    // Paper has another shape than the window, and all of the picture belongs on it.
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.element.append(this.tools, h("div", { class: "split-view" }, this.canvas.element, this.side));
  }

  async show(context: Context): Promise<void> {
    this.context = context;
    const launch = currentLaunch(context.store);
    if (!launch) return;
    const current = await load(context.store, launch);
    if (currentLaunch(context.store) !== launch) return;
    this.current = current;
    // First, since the picture gets the room that they leave.
    this.drawTools();
    const picture = `${launch.id} ${launch.graph}`;
    if (picture !== this.shown) {
      this.shown = picture;
      this.canvas.show(current.graph, (id) => nodeLine(current, id));
    }
    this.canvas.setLook({
      hiddenLabels: new Set(state.hiddenLabels.map((name) => LABELS.indexOf(name))), hiddenSpaces: new Set(state.hiddenSpaces as Space[]),
      minimum: state.minimum, base: state.base,
    }, state.selection);
    this.canvas.reveal(state.selection);
    const told = `${launch.id} ${state.selection.join()} ${state.base}`;
    if (told === this.told) return;
    this.told = told;
    const focused = this.side.contains(document.activeElement);
    this.side.replaceChildren(...panel(context.store, current));
    this.side.scrollTop = 0;
    if (focused) this.side.focus();
    if (state.selection.length === 1) this.describe({ node: state.selection[0]! }, null);
    else if (state.selection.length) context.say(`${state.selection.length} instructions selected`);
  }

  private drawTools(): void {
    const { graph, launch, kernel } = this.current!;
    const weights = launch.traffic;
    const most = graph.edges.reduce((high, edge) => Math.max(high, edge[3]), 1);
    const toggle = (list: string[], name: string): string[] => (list.includes(name) ? list.filter((each) => each !== name) : [...list, name]);
    const label = (at: number): HTMLElement => button(h("span", {}, swatch(at), LABELS[at]!.replaceAll("_", " ")), () => update({ hiddenLabels: toggle(state.hiddenLabels, LABELS[at]!) }), {
      class: "toggle", "aria-pressed": String(!state.hiddenLabels.includes(LABELS[at]!)), title: `${LABEL_WORDS[at]}: ${format.bytes(weights[at]!)}; click to show or hide`,
    });
    const space = (name: Space): HTMLElement => button(h("span", {}, h("span", { class: `swatch s-${name}` }), SPACE_WORDS[name]), () => update({ hiddenSpaces: toggle(state.hiddenSpaces, name) }), {
      class: "toggle", "aria-pressed": String(!state.hiddenSpaces.includes(name)), title: "click to show or hide",
    });
    const used = new Set(graph.nodes.map((node) => node.space));
    const said = h("output", { class: "dim" }, state.minimum ? `≥ ${format.bytes(state.minimum)}` : "all edges");
    const slider = h("input", {
      type: "range", min: 0, max: STEPS, "aria-label": "Least bytes of an edge to show", title: "hide edges with fewer bytes",
      on: {
        input: () => {
          const step = Number(slider.value);
          update({ minimum: step ? Math.round(Math.exp((Math.log(most) * step) / STEPS)) : 0 });
        },
      },
    });
    slider.value = state.minimum ? String(Math.round((Math.log(state.minimum) / Math.max(1e-9, Math.log(most))) * STEPS)) : "0";
    const hadFocus = (document.activeElement as HTMLElement | null)?.getAttribute("aria-label") === "Least bytes of an edge to show";
    const name = `${kernel.short.replaceAll(/[^\w.-]+/g, "_").slice(0, 60)}-${launch.sequence}`;
    this.tools.replaceChildren(
      h("div", { class: "group", role: "group", "aria-label": "Scopes" }, ...weights.map((weight, at) => weight > 0 && label(at)).filter((each): each is HTMLElement => !!each)),
      h("div", { class: "group", role: "group", "aria-label": "Spaces" }, ...SPACES.filter((each) => used.has(each)).map(space)),
      h("label", { class: "group" }, slider, said), h("span", { class: "grow" }),
      h("span", { class: "key dim" }, ...(["read", "write", "atomic"] as const).flatMap((type) => [glyph(type), `${type} `])),
      button("Fit", () => this.canvas.fit(), { title: "show all of it (0)" }),
      button("SVG", () => this.save(new Blob([this.canvas.svg(kernel.name)], { type: "image/svg+xml" }), `${name}.svg`), { title: "save the picture as SVG" }),
      button("PNG", () => void this.canvas.png().then((blob) => this.save(blob, `${name}.png`), (error: Error) => this.context!.tell(error.message)), { title: "save the picture as PNG" }));
    if (hadFocus) slider.focus();
  }

  private print(starts: boolean): void {
    this.element.querySelector(".printed")?.remove();
    const text = starts && this.current && this.element.isConnected ? this.canvas.svg(this.current.kernel.name) : "";
    if (!text) return;
    const picture = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    picture.setAttribute("class", "printed");
    this.canvas.element.append(picture);
  }

  private save(blob: Blob, name: string): void {
    const link = h("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    this.context?.say(`${name} saved`);
  }

  private describe(target: { node?: number; edge?: number } | null, at: [number, number] | null): void {
    const lines = this.current && target ? this.words(this.current, target) : [];
    this.tip.hidden = !lines.length || !at;
    if (at && lines.length) {
      this.tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
      const { clientWidth, clientHeight } = this.canvas.element;
      this.tip.style.left = `${Math.min(at[0] + 14, clientWidth - 330)}px`;
      this.tip.style.top = `${Math.min(at[1] + 16, clientHeight - 100)}px`;
    } else if (lines.length) this.context?.say(lines.join(", "));
  }

  private words(current: Current, target: { node?: number; edge?: number }): string[] {
    const { graph } = current;
    const find = (id: number) => graph.nodes.find((node) => node.id === id);
    if (target.node !== undefined) {
      const node = find(target.node);
      if (!node) return [];
      const place = current.places.get(node.id), frame = place?.frames[0];
      const main = node.weights.map((weight, label) => [weight, label] as const).sort((a, b) => b[0] - a[0])[0]!;
      return [`${nodeName(node)}, ${node.size} B a lane`, place?.sass ?? "", frame && current.code ? `${format.fileName(current.code.files[frame[0]]!.path)}:${frame[1]}` : "",
        `${format.bytes(node.bytes)} in ${format.count(node.executions)} executions, mostly ${LABEL_WORDS[main[1]]} (${format.percent(main[0], node.bytes)})`].filter(Boolean);
    }
    const edge = graph.edges[target.edge!];
    const from = edge && find(edge[0]), to = edge && edge[1] >= 0 ? find(edge[1]) : undefined;
    if (!edge || !from) return [];
    return [`${nodeName(from)} touches what ${to ? (to === from ? "it" : nodeName(to)) : "nothing"} touched last`, `${LABEL_WORDS[edge[2]]} · ${format.bytes(edge[3])} · ${format.count(edge[4])} lane accesses`,
      edge[5] ? `${format.bytes(edge[5])} of it not ordered by a barrier` : ""].filter(Boolean);
  }
}
