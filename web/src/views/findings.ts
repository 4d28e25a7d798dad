// What to look at first, why, and what to do about it. Everything said here comes from Python.

import { load } from "../context";
import type { Context } from "../context";
import { button, h } from "../dom";
import * as format from "../format";
import type { FindingView, GraphView, NodeView, PlaceView } from "../model";
import { state, update } from "../state";
import type { View } from "./view";

const EFFECTS: Record<FindingView["effect"], string> = {
  corrects: "may be wrong", removes: "removes work", moves: "serves it nearer", informs: "to know",
};
const PAGE = 100;

/** Whether a node is an instruction that a finding names. */
export function matches(place: PlaceView, node: NodeView, graph: GraphView): boolean {
  return place.pc === node.pc && place.space === node.space && place.type === node.type && graph.functions[node.function]?.name === place.function;
}

export class FindingsView implements View {
  readonly element = h("div", { class: "view findings" });
  private context: Context | null = null;
  private severity = "info";
  private limit = PAGE;
  private scrolled: number | null = null;
  private readonly search = h("input", {
    type: "search", placeholder: "Search findings …", "aria-label": "Search findings", class: "search",
    on: { input: () => { update({ query: this.search.value }); } },
  });
  private readonly choice = h("select", { "aria-label": "Least severity", on: { change: () => { this.severity = this.choice.value; this.draw(); } } },
    ...["info", "low", "medium", "high"].map((name) => h("option", { value: name }, name === "info" ? "all severities" : name === "high" ? "high only" : `${name} and up`)));
  private readonly status = h("span", { class: "dim", role: "status" });
  private readonly list = h("div", { class: "scroll" });

  constructor() {
    this.element.append(h("div", { class: "toolbar" }, this.search, this.choice, this.status), this.list);
  }

  show(context: Context): void {
    this.context = context;
    if (document.activeElement !== this.search) this.search.value = state.query;
    this.draw();
  }

  private draw(): void {
    const { index } = this.context!.store;
    const least = ["info", "low", "medium", "high"].indexOf(this.severity);
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = index.findings.map((finding, position) => ({ finding, position })).filter(({ finding, position }) => {
      if (position === state.finding) return true;
      if (["info", "low", "medium", "high"].indexOf(finding.severity) < least) return false;
      const text = `${finding.title} ${finding.variant} ${finding.pattern} ${index.kernels[finding.kernel]!.name} ${finding.places.map((place) => `${place.function} ${place.source?.[0] ?? ""}`).join(" ")} ${(finding.launched ?? []).join(" ")} ${finding.data ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.status.textContent = `${format.count(chosen.length)} of ${format.count(index.findings.length)} findings`;
    const hazards = chosen.filter(({ finding }) => finding.effect === "corrects");
    const rest = chosen.filter(({ finding }) => finding.effect !== "corrects");
    if (state.finding !== null) {
      const at = rest.findIndex(({ position }) => position === state.finding);
      if (at >= this.limit) this.limit = at + 1;
    }
    const none = index.findings.length ? "No finding fits the search." : index.launches.length && !index.cuvein
      ? "Bare launch profiles carry no findings. Make a report with 'cuvein report FOLDER --html FILE' to see them." : "Nothing was found.";
    this.list.replaceChildren(
      ...(hazards.length ? [h("h2", {}, "Hazards"), h("p", { class: "dim lead" }, "Two threads touch the same bytes, one of them writes, and no barrier of that scope lies in between."), ...hazards.map((each) => this.card(each.finding, each.position))] : []),
      ...(rest.length ? [h("h2", {}, "Findings"), h("p", { class: "dim lead" }, "Ranked by what acting on them does, and by the share of the whole run it affects."), ...rest.slice(0, this.limit).map((each) => this.card(each.finding, each.position))] : []),
      ...(rest.length > this.limit ? [button(`Show ${Math.min(PAGE, rest.length - this.limit)} more of ${rest.length - this.limit}`, () => { this.limit += PAGE; this.draw(); })] : []),
      ...(chosen.length ? [] : [h("p", { class: "empty" }, none)]));
    if (state.finding !== null && state.finding !== this.scrolled) {
      this.scrolled = state.finding;
      this.list.querySelector(".card.current")?.scrollIntoView({ block: "center" });
    }
  }

  private card(finding: FindingView, position: number): HTMLElement {
    const { index } = this.context!.store;
    const kernel = index.kernels[finding.kernel]!;
    const open = position === state.finding;
    const saved = Object.entries(finding.removal).filter(([, amount]) => amount > 0)
      .map(([name, amount]) => `${name === "bytes" ? format.bytes(amount) : `${format.count(amount)} ${name}`} (${format.percent(finding.shares[name] ?? 0)} of the kernel's)`);
    return h("article", { class: `card ${finding.severity}${open ? " current" : ""}`, "aria-label": `${finding.title}, ${finding.severity}` },
      h("header", {}, h("span", { class: `sev ${finding.severity}` }, finding.severity), h("h3", {}, finding.title, finding.variant ? h("span", { class: "variant" }, ` ${finding.variant}`) : null),
        h("span", { class: "chip" }, finding.scope), h("span", { class: "chip" }, EFFECTS[finding.effect]), h("span", { class: "grow" }),
        finding.score > 0 && h("span", { class: "score", title: "share of the whole run's instructions, transactions or bytes that acting on it affects" }, format.percent(finding.score))),
      h("p", { class: "summary" }, finding.summary),
      h("p", { class: "dim clip", title: kernel.name }, "in ", h("b", {}, kernel.short), ` · grid ${format.shape(finding.grid)}, block ${format.shape(finding.block)} · ${finding.launches === finding.of_launches ? (finding.launches === 1 ? "its one launch" : `all ${format.count(finding.launches)} launches`) : `${format.count(finding.launches)} of ${format.count(finding.of_launches)} launches`}`),
      ...[...finding.launched ?? [], finding.data].filter(Boolean).map((sentence) => h("p", { class: "site" }, sentence)),
      h("div", { class: "places" }, ...finding.places.slice(0, 12).map((place) => button(
        h("span", {}, h("code", {}, format.address(place.pc, state.base)), ` ${place.type} ${place.space.replace("_", " ")}${place.source ? ` · ${format.fileName(place.source[0])}:${place.source[1]}` : ""}`),
        () => void this.go(position, [place]), { class: "place", title: `Show in the graph: ${place.function}` })),
        finding.places.length > 1 ? button(`show all ${finding.places.length} in the graph`, () => void this.go(position, finding.places), { class: "link" }) : null),
      h("p", { class: "advice" }, finding.mechanism),
      h("p", { class: "dim" }, finding.caveat),
      h("details", { open }, h("summary", {}, "Evidence"),
        h("dl", { class: "facts" }, ...Object.entries(finding.evidence).flatMap(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, evidence(name, value))]),
          ...(saved.length ? [h("dt", {}, finding.effect === "removes" ? "removes" : "affects"), h("dd", {}, saved.join(", "))] : []))));
  }

  private async go(position: number, places: PlaceView[]): Promise<void> {
    const { store } = this.context!;
    const launch = store.index.launches.find((each) => each.id === state.launch && each.findings?.includes(position)) ?? store.index.launches.find((each) => each.findings?.includes(position));
    if (!launch) return;
    const { graph } = await load(store, launch);
    const nodes = graph.nodes.filter((node) => places.some((place) => matches(place, node, graph)));
    update({ view: "graph", launch: launch.id, selection: nodes.map((node) => node.id), finding: position });
  }
}

function evidence(name: string, value: number | string): string {
  if (typeof value === "string") return value;
  if (/bytes$/.test(name)) return format.bytes(value);
  if (/share$/.test(name)) return format.percent(value);
  return Number.isInteger(value) ? format.count(value) : format.mean(value);
}
