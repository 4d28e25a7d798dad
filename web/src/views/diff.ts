// Two launches side by side: whose bytes moved to which scope, at which instruction.

import { swatch, trafficBar } from "../charts";
import { currentLaunch, load } from "../context";
import type { Context, Current } from "../context";
import { button, h } from "../dom";
import * as format from "../format";
import type { LaunchView, NodeView } from "../model";
import { LABEL_WORDS, SPACE_WORDS } from "../model";
import { sum, sumWeights, weighted } from "../raw";
import { runName } from "../runs";
import { state, update } from "../state";
import type { Store } from "../store";
import type { View } from "./view";

interface Pair { before: NodeView | null; after: NodeView | null; change: number }

const ROWS = 200;
// What a transaction counts for when changes are put in order.
const TRANSACTION_BYTES = 32;
// So many launches are named in a list; more are found through the table of launches.
const CHOICES = 400;

export class DiffView implements View {
  readonly element = h("div", { class: "view diff scroll" });

  async show(context: Context): Promise<void> {
    const { store } = context;
    const launch = currentLaunch(store);
    if (!launch) return;
    const other = store.index.launches.find((each) => each.id === state.other) ?? counterpart(store, launch);
    const chooser = (label: string, chosen: LaunchView, act: (id: string) => void): HTMLElement => {
      const near = [chosen, ...store.index.launches.filter((each) => each !== chosen)].slice(0, CHOICES);
      const choice = h("select", { "aria-label": label, on: { change: () => act(choice.value) } }, ...near.map((each) => h("option", { value: each.id, selected: each === chosen }, title(store, each))));
      return h("label", {}, h("span", { class: "dim" }, `${label} `), choice);
    };
    const tools = h("div", { class: "toolbar" }, chooser("Before", launch, (id) => update({ launch: id, selection: [], other: other.id })), button("⇄", () => update({ launch: other.id, other: launch.id, selection: [] }), { "aria-label": "Swap", title: "swap" }), chooser("After", other, (id) => update({ other: id })));
    if (other === launch) {
      this.element.replaceChildren(tools, h("p", { class: "empty" }, store.index.launches.length > 1 ? "Before and after are the same launch. Choose another for one of them." : "There is one launch here. Drop another profile on this page to compare the two."));
      return;
    }
    const [before, after] = await Promise.all([load(store, launch), load(store, other)]);
    const pairs = align(before, after).sort((a, b) => b.change - a.change);
    const whole = Math.max(sum(launch.traffic), sum(other.traffic));
    const most = Math.max(...pairs.map((pair) => Math.max(pair.before?.bytes ?? 0, pair.after?.bytes ?? 0)), 1);
    const distance = totalVariation(launch.traffic, other.traffic);
    const rated = (at: LaunchView, severity: string): number => (at.findings ?? []).filter((each) => store.index.findings[each]!.severity === severity).length;
    const severities = ["high", "medium", "low", "info"].filter((severity) => rated(launch, severity) + rated(other, severity) > 0);
    const row = (name: string, a: number, b: number, show: (value: number) => string): HTMLElement => h("tr", {}, h("td", {}, name), h("td", { class: "num" }, show(a)), h("td", { class: "num" }, show(b)), h("td", { class: `num ${a === b ? "dim" : ""}` }, delta(a, b)));
    this.element.replaceChildren(tools,
      h("section", { class: "box" }, h("h2", {}, "Traffic by scope"), h("div", { class: "compare" }, h("span", { class: "dim" }, "before"), trafficBar(launch.traffic, whole), h("span", { class: "num" }, format.bytes(sum(launch.traffic))), h("span", { class: "dim" }, "after"), trafficBar(other.traffic, whole), h("span", { class: "num" }, format.bytes(sum(other.traffic)))),
        h("p", { class: "dim" }, `The distributions over scopes differ by ${format.percent(distance)} (total variation distance).`),
        h("table", { class: "plain-table" }, h("thead", {}, h("tr", {}, h("th", {}, ""), h("th", { class: "num" }, "before"), h("th", { class: "num" }, "after"), h("th", { class: "num" }, "change"))),
          h("tbody", {}, ...launch.traffic.map((_, label) => label).filter((label) => launch.traffic[label]! + other.traffic[label]! > 0).map((label) => {
            const made = row("", launch.traffic[label]!, other.traffic[label]!, format.bytes);
            made.firstElementChild!.append(swatch(label), ` ${LABEL_WORDS[label]}`);
            return made;
          }), row("instructions", launch.instructions, other.instructions, format.count), row("sectors", launch.sectors, other.sectors, format.count), row("wavefronts", launch.wavefronts, other.wavefronts, format.count),
          row("bytes not ordered by a barrier", unordered(before), unordered(after), format.bytes), row("closed subgraphs", before.graph.groups.length, after.graph.groups.length, format.count), ...severities.map((severity) => row(`findings, ${severity}`, rated(launch, severity), rated(other, severity), format.count))))),
      h("section", { class: "box" }, h("h2", {}, "Instructions"), h("p", { class: "dim" }, how(before, after)),
        h("table", { class: "plain-table pairs" }, h("thead", {}, h("tr", {}, h("th", {}, "before"), h("th", {}, "after"), h("th", {}, "access"), h("th", {}, "traffic by scope"), h("th", { class: "num" }, "bytes"), h("th", { class: "num" }, "change"), h("th", { class: "num", title: "sectors of global and local memory, wavefronts of shared memory" }, "sectors, wavefronts"), h("th", { class: "num", title: "share of the bytes whose scope differs" }, "scope moved"))),
          h("tbody", {}, ...pairs.slice(0, ROWS).map((pair) => this.pair(pair, launch, other, most)))),
        pairs.length > ROWS ? h("p", { class: "dim" }, `The ${ROWS} that changed most, of ${format.count(pairs.length)}.`) : null));
  }

  private pair({ before, after }: Pair, launch: LaunchView, other: LaunchView, most: number): HTMLElement {
    const node = (before ?? after)!;
    const link = (each: NodeView | null, at: LaunchView): Node | string => (each ? button(format.address(each.pc, state.base), () => update({ view: "graph", launch: at.id, selection: [each.id] }), { class: "link mono" }) : h("span", { class: "dim" }, "absent"));
    const a = before?.bytes ?? 0, b = after?.bytes ?? 0, used = before ? transactions(before) : 0, uses = after ? transactions(after) : 0;
    return h("tr", {}, h("td", {}, link(before, launch)), h("td", {}, link(after, other)), h("td", {}, `${node.type} ${SPACE_WORDS[node.space]} ${node.size} B`),
      h("td", { class: "bars" }, before ? trafficBar(before.weights, most, { small: true }) : h("div", { class: "bar small none" }), after ? trafficBar(after.weights, most, { small: true }) : h("div", { class: "bar small none" })),
      h("td", { class: "num" }, `${format.bytes(a)} → ${format.bytes(b)}`), h("td", { class: `num ${a === b ? "dim" : ""}` }, delta(a, b)),
      h("td", { class: `num ${used === uses ? "dim" : ""}` }, used === uses ? "same" : `${format.count(used)} → ${format.count(uses)}`),
      h("td", { class: "num" }, before && after ? format.percent(totalVariation(before.weights, after.weights)) : ""));
  }
}

function title(store: Store, launch: LaunchView): string {
  const run = runName(store.index, launch);
  return `${run ? `${run} · ` : ""}${launch.sequence}: ${format.clip(store.index.kernels[launch.kernel]!.short, 48)} · grid ${format.shape(launch.grid)} · ${format.bytes(sum(launch.traffic))}`;
}

/** The next launch of the kernel, else any other. */
function counterpart(store: Store, launch: LaunchView): LaunchView {
  const { launches, kernels } = store.index;
  const at = launches.indexOf(launch);
  const later = [...launches.slice(at + 1), ...launches.slice(0, at)];
  const name = kernels[launch.kernel]!.mangled;
  return later.find((each) => kernels[each.kernel]!.mangled === name && each.graph !== launch.graph) ?? later.find((each) => kernels[each.kernel]!.mangled === name) ?? later[0] ?? launch;
}

/** Half the sum of the differences of shares: 0 for equal distributions, 1 for ones with nothing in common. */
function totalVariation(a: number[], b: number[]): number {
  const wholeA = sum(a) || 1, wholeB = sum(b) || 1;
  return sum(a.map((weight, label) => Math.abs(weight / wholeA - (b[label] ?? 0) / wholeB))) / 2;
}

function delta(a: number, b: number): string {
  if (a === b) return "same";
  if (!a) return "new";
  if (!b) return "gone";
  return `${b > a ? "+" : "−"}${format.percent(Math.abs(b - a) / a)}`;
}

function sameCode(before: Current, after: Current): boolean {
  return before.kernel.module !== null && before.kernel.module === after.kernel.module && before.kernel.mangled === after.kernel.mangled;
}

function how(before: Current, after: Current): string {
  return sameCode(before, after) ? "The code is the same: instructions are matched by their offset." : "The code differs: instructions are matched by function, space, type, size and their order in the code.";
}

function align(before: Current, after: Current): Pair[] {
  const keys = sameCode(before, after) ? byOffset : byOrder;
  const second = new Map(keys(after).map(([key, node]) => [key, node]));
  const pairs: Pair[] = [];
  for (const [key, node] of keys(before)) {
    const other = second.get(key) ?? null;
    second.delete(key);
    pairs.push({ before: node, after: other, change: other ? difference(node, other) : node.bytes });
  }
  for (const node of second.values()) pairs.push({ before: null, after: node, change: node.bytes });
  return pairs;
}

function difference(a: NodeView, b: NodeView): number {
  const before = sumWeights([a]), after = sumWeights([b]);
  return sum(before.map((weight, label) => Math.abs(weight - after[label]!))) + TRANSACTION_BYTES * Math.abs(transactions(a) - transactions(b));
}

/** Bytes of possible races. */
function unordered({ graph }: Current): number {
  return sum(graph.edges.map((edge) => edge[5] ?? 0));
}

/** Units in which the memory pipeline serves a node. */
function transactions(node: NodeView): number {
  return weighted(node.sectors) + weighted(node.wavefronts);
}

function byOffset({ graph }: Current): [string, NodeView][] {
  return graph.nodes.map((node) => [`${graph.functions[node.function]?.mangled} ${node.pc} ${node.space} ${node.type}`, node]);
}

function byOrder({ graph, kernel }: Current): [string, NodeView][] {
  const seen = new Map<string, number>();
  return [...graph.nodes].sort((a, b) => a.function - b.function || a.pc - b.pc).map((node) => {
    const mangled = graph.functions[node.function]?.mangled;
    // Kernels of different names can be compared; their own code stands for each other.
    const kind = `${mangled === kernel.mangled ? "" : mangled} ${node.space} ${node.type} ${node.size}`;
    const ordinal = seen.get(kind) ?? 0;
    seen.set(kind, ordinal + 1);
    return [`${kind} ${ordinal}`, node];
  });
}
