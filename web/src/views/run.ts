// Facts of the run, and what the graphs cover and what not.

import { currentLaunch, load } from "../context";
import type { Context } from "../context";
import { h } from "../dom";
import * as format from "../format";
import type { Space } from "../model";
import { SPACES, SPACE_WORDS } from "../model";
import { sum } from "../raw";
import type { View } from "./view";

export class RunView implements View {
  readonly element = h("div", { class: "view run scroll" });

  async show(context: Context): Promise<void> {
    const { index } = context.store;
    const launch = currentLaunch(context.store);
    const parts: HTMLElement[] = [];
    if (launch) {
      const { graph, kernel, code } = await load(context.store, launch);
      const { coverage } = graph;
      const total = sum(Object.values(coverage.accesses));
      parts.push(h("section", { class: "box" }, h("h2", {}, "Coverage"), h("p", { class: "dim clip", title: kernel.name }, `launch ${launch.sequence} of ${kernel.short}`),
        launch.incomplete ? h("p", { class: "warning" }, launch.incomplete) : null,
        table(["space", "accesses by warps", "share"], SPACES.filter((space) => coverage.accesses[space]).map((space: Space) => [SPACE_WORDS[space], format.count(coverage.accesses[space]!), format.percent(coverage.accesses[space]!, total)])),
        coverage.not_analysed.length ? h("div", { class: "warning" }, h("p", {}, "Seen but not in the graph, which is therefore not the whole story:"), table(["instruction", "executions"], coverage.not_analysed.map((each) => [each.instruction.replaceAll("_", " "), format.count(each.executions)])))
          : h("p", {}, "Every memory instruction that was executed is in the graph."),
        coverage.unknown_bytes ? h("p", {}, `${format.bytes(coverage.unknown_bytes)} were accessed outside every known allocation; they are in the graph all the same.`) : null,
        coverage.lost_records ? h("p", { class: "warning" }, `${format.count(coverage.lost_records)} records were lost.`) : null,
        code?.lines ? h("p", { class: "dim" }, `Lines: ${code.lines}.`) : null));
      parts.push(h("section", { class: "box" }, h("h2", {}, "Launch"), facts([
        ["kernel", kernel.name], ["mangled", kernel.mangled], ["module", kernel.module ?? "not recorded"], ["id", launch.id],
        ["grid", format.shape(launch.grid)], ["block", format.shape(launch.block)], ["cluster", launch.cluster ? format.shape(launch.cluster) : "none"],
        ["shared memory", `${format.bytes(launch.shared_bytes[0])} static, ${format.bytes(launch.shared_bytes[1])} dynamic`],
        ["stream", format.count(launch.stream)], ["CUDA graph", launch.cuda_graph ? `graph ${launch.cuda_graph[0]}, replay ${launch.cuda_graph[1]}, node ${launch.cuda_graph[2]}` : "no"],
        ["device", `${launch.device.ordinal}: ${launch.device.name}, compute capability ${launch.device.compute_capability.join(".")}, ${launch.device.multiprocessors} multiprocessors`],
        ["analysed by", `the ${launch.engine} engine`],
      ])));
    }
    if (index.incomplete.length) parts.push(h("section", { class: "box" }, h("h2", {}, "Incomplete profiles"), h("ul", {}, ...index.incomplete.map((text) => h("li", { class: "warning" }, text)))));
    for (const each of index.processes) {
      const { process } = each;
      parts.push(h("section", { class: "box" }, h("h2", {}, `Process ${process.pid}`), facts([
        ["program", process.executable], ["arguments", process.arguments.map((text) => JSON.stringify(text)).join(" ")], ["id", process.id],
        ["versions", `cuvein ${process.versions.cuvein}${process.versions.sanitizer ? `, Sanitizer ${process.versions.sanitizer}` : ""}${process.versions.driver ? `, driver for CUDA ${process.versions.driver}` : ""}`],
        ["finished", each.finished === undefined ? "not known" : each.finished ? "yes" : "no: it was killed, or is still running"],
      ]), ...(each.problems ?? []).map((text) => h("p", { class: "warning" }, text)),
        each.kernels_seen?.length ? table(["kernel", "launches", "selected"], each.kernels_seen.map((seen) => [seen.name, format.count(seen.launches), format.count(seen.selected)])) : null));
    }
    if (Object.keys(index.thresholds).length) parts.push(h("section", { class: "box" }, h("h2", {}, "Thresholds"), facts(Object.entries(index.thresholds).map(([name, value]) => [name, String(value)]))));
    this.element.replaceChildren(...parts);
  }
}

function facts(rows: [string, string][]): HTMLElement {
  return h("dl", { class: "facts wide" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function table(heads: string[], rows: string[][]): HTMLElement {
  return h("table", { class: "plain-table" }, h("thead", {}, h("tr", {}, ...heads.map((head, at) => h("th", { class: at ? "num" : "" }, head)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, at) => h("td", { class: at ? "num" : "wrap" }, cell))))));
}
