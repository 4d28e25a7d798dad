// The panel beside the graph: the whole kernel, one instruction, or a selection of several.

import { histogram, swatch, trafficBar } from "../charts";
import type { Current } from "../context";
import { button, h } from "../dom";
import * as format from "../format";
import type { EdgeView, FindingView, NodeView } from "../model";
import { COLD, LABEL_WORDS, LABELS, SAME_INSTRUCTION, SPACE_WORDS } from "../model";
import { reuseOf, sum, sumWeights } from "../raw";
import { state, update } from "../state";
import type { Store } from "../store";
import { groupTitle } from "../graph/draw";
import { matches } from "./findings";

const MANY = 60;

export function panel(store: Store, current: Current): HTMLElement[] {
  const chosen = current.graph.nodes.filter((node) => state.selection.includes(node.id));
  if (chosen.length === 1) return nodePanel(store, current, chosen[0]!);
  return chosen.length ? selectionPanel(store, current, chosen) : kernelPanel(store, current);
}

export function nodeName(node: NodeView): string {
  return `${format.address(node.pc, state.base)} ${node.type} ${SPACE_WORDS[node.space]}`;
}

function facts(...rows: [string, Node | string | null][]): HTMLElement {
  return h("dl", { class: "facts" }, ...rows.filter(([, value]) => value !== null).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function legend(weights: number[]): HTMLElement {
  const whole = sum(weights);
  return h("table", { class: "labels" }, h("tbody", {}, ...weights.map((weight, label) => weight > 0 && h("tr", {},
    h("td", {}, swatch(label), " ", LABEL_WORDS[label]!), h("td", { class: "num" }, format.bytes(weight)), h("td", { class: "num" }, format.percent(weight, whole))))));
}

function kernelPanel(store: Store, current: Current): HTMLElement[] {
  const { launch, graph, kernel } = current;
  const found = (launch.findings ?? []).map((each) => [each, store.index.findings[each]!] as const);
  const heaviest = [...graph.nodes].sort((a, b) => b.bytes - a.bytes);
  return [
    h("h2", { title: kernel.name }, kernel.short),
    h("p", { class: "dim" }, `grid ${format.shape(launch.grid)}, block ${format.shape(launch.block)}${launch.cluster ? `, cluster ${format.shape(launch.cluster)}` : ""}`),
    launch.incomplete ? h("p", { class: "warning" }, launch.incomplete) : h("span"),
    trafficBar(launch.traffic),
    legend(launch.traffic),
    found.length ? h("section", {}, h("h3", {}, "Findings"), h("ul", { class: "plain" }, ...found.slice(0, 8).map(([index, finding]) => findingLine(current, index, finding))),
      found.length > 8 ? button(`all ${found.length}`, () => update({ view: "findings" }), { class: "link" }) : null) : h("span"),
    h("section", {}, h("h3", {}, "Closed subgraphs"),
      h("p", { class: "dim" }, "Instructions that share data with each other and no others: a data object or tile each. Footprint × reuse intensity."),
      h("ul", { class: "plain" }, ...graph.groups.slice(0, MANY).map((group, index) => {
        const [title, detail] = groupTitle(graph, index);
        return h("li", {}, h("button", { type: "button", class: "row", on: { click: () => update({ selection: group.nodes }) } },
          h("span", { class: "clip" }, title), h("span", { class: "dim clip" }, `${group.nodes.length} instruction${group.nodes.length > 1 ? "s" : ""} · ${detail}`), trafficBar(group.weights, sum(launch.traffic), { small: true })));
      }))),
    h("section", {}, h("h3", {}, "Instructions by traffic"),
      h("ul", { class: "plain" }, ...heaviest.slice(0, MANY).map((node) => nodeButton(current, node, sum(launch.traffic)))),
      heaviest.length > MANY ? h("p", { class: "dim" }, `The ${MANY} heaviest of ${format.count(heaviest.length)}; all are in the graph and the source view.`) : null),
  ];
}

function nodeButton(current: Current, node: NodeView, whole: number): HTMLElement {
  const place = current.places.get(node.id);
  return h("li", {}, h("button", { type: "button", class: "row", on: { click: () => update({ selection: [node.id] }) } },
    h("span", { class: "split" }, h("code", {}, nodeName(node)), h("span", { class: "num" }, format.bytes(node.bytes))),
    place?.sass ? h("span", { class: "dim clip mono" }, place.sass) : null, trafficBar(node.weights, whole, { small: true })));
}

function findingLine(current: Current, index: number, finding: FindingView): HTMLElement {
  return h("li", {}, h("button", { type: "button", class: "row", title: finding.summary, on: { click: () => update({ view: "findings", finding: index }) } },
    h("span", { class: "split" }, h("span", {}, h("span", { class: `sev ${finding.severity}` }, finding.severity), " ", finding.title, finding.variant ? ` ${finding.variant}` : ""),
      finding.score > 0 && h("span", { class: "dim nowrap" }, format.percent(finding.score))),
    h("span", { class: "dim clip mono" }, finding.places.slice(0, 4).map((place) => format.address(place.pc, state.base)).join(" "),
      current.graph.functions.length > 1 && finding.places[0]?.function !== current.graph.functions[0]?.name ? ` in ${finding.places[0]?.function ?? ""}` : "")));
}

function nodePanel(store: Store, current: Current, node: NodeView): HTMLElement[] {
  const { graph } = current;
  const place = current.places.get(node.id);
  const shared = node.space === "shared" || node.space === "distributed_shared";
  const found = (current.launch.findings ?? []).map((each) => [each, store.index.findings[each]!] as const)
    .filter(([, finding]) => finding.places.some((each) => matches(each, node, graph)));
  const lanes = node.lanes ?? [];
  const twin = node.asynchronous ? graph.nodes.find((other) => other !== node && other.function === node.function && (other.pc & ~1) === (node.pc & ~1)) : undefined;
  const pcs = graph.functions[node.function];
  const out = graph.edges.filter((edge) => edge[0] === node.id), incoming = graph.edges.filter((edge) => edge[1] === node.id);
  return [
    h("div", { class: "split" }, h("h2", {}, h("code", {}, format.address(node.pc, state.base))), button("×", () => update({ selection: [] }), { class: "icon", "aria-label": "Clear the selection", title: "Clear the selection (Escape)" })),
    h("p", {}, h("span", { class: `chip s-${node.space}` }, SPACE_WORDS[node.space]), " ", h("span", { class: "chip" }, node.type), " ", h("span", { class: "chip" }, `${node.size} B a lane`), node.asynchronous ? h("span", { class: "chip" }, "async") : null),
    place?.sass ? h("pre", { class: "sass" }, place.sass) : h("span"),
    lineOf(current, node),
    facts(
      ["executions", `${format.count(node.executions)} warps`],
      ["bytes", format.bytes(node.bytes)],
      ["coalescing ratio", node.coalescing === undefined ? null : flagged(node.coalescing, store.index.thresholds["coalescing"])],
      ["conflict ratio", node.conflict === undefined ? null : flagged(node.conflict, store.index.thresholds["conflict"])],
      ["function", graph.functions.length > 1 ? h("span", { title: pcs?.name ?? "" }, format.clip(pcs?.name ?? "", 60)) : null],
      ["other half", twin ? button(nodeName(twin), () => update({ selection: [twin.id] }), { class: "link" }) : null],
    ),
    trafficBar(node.weights),
    legend(node.weights),
    ...(found.length ? [h("section", {}, h("h3", {}, "Findings"), h("ul", { class: "plain" }, ...found.map(([index, finding]) => findingLine(current, index, finding))))] : []),
    h("section", {}, h("h3", {}, "Distributions over executions"),
      histogram({ title: "active lanes", histogram: lanes, ideal: undefined, idealMean: 32 }),
      node.addresses?.length ? histogram({ title: "distinct addresses", histogram: node.addresses, ideal: lanes }) : null,
      node.sectors?.length ? histogram({ title: "32-byte sectors", histogram: node.sectors, idealMean: node.ideal_sectors }) : null,
      node.words?.length ? histogram({ title: "distinct 32-bit words", histogram: node.words }) : null,
      shared && node.wavefronts?.length ? histogram({ title: "wavefronts", histogram: node.wavefronts, ideal: node.ideal_wavefronts }) : null),
    edgeTable(current, "Touched before by (out-edges)", out, (edge) => edge[1]),
    edgeTable(current, "Touched again by (in-edges)", incoming, (edge) => edge[0]),
    objects(current, node),
  ];
}

function flagged(value: number, threshold: number | undefined): HTMLElement {
  return h("span", { class: threshold !== undefined && value >= threshold ? "bad" : "" }, format.ratio(value));
}

function lineOf(current: Current, node: NodeView): HTMLElement {
  const place = current.places.get(node.id);
  if (!place?.frames.length || !current.code) {
    return h("p", { class: "dim" }, current.code?.lines ? format.sentence(current.code.lines) : (current.code ? "No line is known for this instruction." : "Lines and instructions are in reports that cuvein made, not in bare profiles."));
  }
  const { files } = current.code;
  return h("div", { class: "frames" }, ...place.frames.map(([file, line, name], depth) => h("div", { class: "clip" },
    button(`${depth ? "inlined at " : ""}${format.fileName(files[file]!.path)}:${line}`, () => update({ view: "source" }), { class: "link", title: `${files[file]!.path}:${line}` }),
    name ? h("span", { class: "dim", title: name }, ` ${format.clip(name, 40)}`) : null)));
}

function edgeTable(current: Current, title: string, edges: EdgeView[], other: (edge: EdgeView) => number): HTMLElement {
  if (!edges.length) return h("section", {}, h("h3", {}, title), h("p", { class: "dim" }, "none"));
  const whole = sum(edges.map((edge) => edge[3]));
  const byId = new Map(current.graph.nodes.map((node) => [node.id, node]));
  const sorted = [...edges].sort((a, b) => b[3] - a[3]);
  return h("section", {}, h("h3", {}, title), h("table", { class: "edges" },
    h("thead", {}, h("tr", {}, h("th", {}, "scope"), h("th", {}, "instruction"), h("th", { class: "num" }, "bytes"), h("th", { class: "num", title: "accesses by single lanes" }, "lanes"))),
    h("tbody", {}, ...sorted.slice(0, MANY).map((edge) => {
      const id = other(edge), node = byId.get(id);
      return h("tr", {},
        h("td", { title: LABEL_WORDS[edge[2]]! }, swatch(edge[2]), " ", LABELS[edge[2]]!.replaceAll("_", " ")),
        h("td", {}, id < 0 ? "untracked" : id === edge[0] && id === edge[1] ? "itself" : node ? button(nodeName(node), () => update({ selection: [id] }), { class: "link mono" }) : "",
          edge[5] ? h("span", { class: "hazard", title: "no barrier of that scope lies between" }, ` ${format.bytes(edge[5])} unordered`) : null),
        h("td", { class: "num", title: format.bytes(edge[3]) }, `${format.bytes(edge[3])} `, h("span", { class: "dim" }, format.percent(edge[3], whole))),
        h("td", { class: "num" }, format.count(edge[4])));
    }))), sorted.length > MANY ? h("p", { class: "dim" }, `The ${MANY} heaviest of ${format.count(sorted.length)}.`) : null);
}

function objects(current: Current, node: NodeView): HTMLElement {
  const parts = node.allocations ?? [];
  if (!parts.length) return h("span");
  return h("section", {}, h("h3", {}, "Data objects"), h("table", { class: "edges" }, h("tbody", {}, ...parts.map((part) => {
    const allocation = part.allocation === null ? undefined : current.graph.allocations[part.allocation];
    const name = part.allocation === null ? "outside known allocations" : current.graph.objects[part.allocation] ?? "";
    return h("tr", {}, h("td", { title: name }, format.clip(name, 44)), h("td", { class: "num dim" }, allocation ? `of ${format.bytes(allocation.size)}` : ""), h("td", { class: "num" }, format.bytes(part.bytes)));
  }))));
}

function selectionPanel(store: Store, current: Current, nodes: NodeView[]): HTMLElement[] {
  const ids = new Set(nodes.map((node) => node.id));
  const weights = sumWeights(nodes);
  const reuse = reuseOf(weights), traffic = sum(weights), footprint = weights[COLD]!;
  const leaving = current.graph.edges.filter((edge) => edge[1] >= 0 && ids.has(edge[0]) !== ids.has(edge[1]));
  const closed = leaving.length === 0;
  const found = (current.launch.findings ?? []).map((each) => [each, store.index.findings[each]!] as const)
    .filter(([, finding]) => finding.places.some((each) => nodes.some((node) => matches(each, node, current.graph))));
  return [
    h("div", { class: "split" }, h("h2", {}, `${nodes.length} instructions`), button("×", () => update({ selection: [] }), { class: "icon", "aria-label": "Clear the selection" })),
    h("p", { class: "dim" }, closed ? "A closed subgraph: no reuse leads out of it or into it." : `Not closed: ${format.count(leaving.length)} edges cross its border, so its intensity is that of the instructions, not of a data object.`),
    trafficBar(weights), legend(weights),
    facts(["traffic", format.bytes(traffic)], [closed ? "footprint" : "first touched here", format.bytes(footprint)],
      ["reuse intensity", footprint ? format.ratio(traffic / footprint) : "∞ (nothing first touched here)"],
      ["instructions executed", `${format.count(sum(nodes.map((node) => node.executions)))} warps`]),
    h("section", {}, h("h3", {}, "Reuse ratio"), reuse ? h("table", { class: "labels" }, h("tbody", {}, ...weights.map((weight, label) => label !== COLD && label !== SAME_INSTRUCTION && weight > 0 &&
      h("tr", {}, h("td", {}, swatch(label), " ", LABEL_WORDS[label]!), h("td", { class: "num" }, format.percent(weight, reuse)))))) : h("p", { class: "dim" }, "Nothing is reused here.")),
    ...(found.length ? [h("section", {}, h("h3", {}, "Findings"), h("ul", { class: "plain" }, ...found.slice(0, 12).map(([index, finding]) => findingLine(current, index, finding))))] : []),
    h("section", {}, h("h3", {}, "Instructions"), h("ul", { class: "plain" }, ...nodes.slice(0, MANY).map((node) => nodeButton(current, node, traffic)))),
  ];
}
