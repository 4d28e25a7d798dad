// All launches: sort, search, compare their traffic by scope.

import { trafficBar } from "../charts";
import type { Context } from "../context";
import { h, VirtualList } from "../dom";
import * as format from "../format";
import type { Index, LaunchView } from "../model";
import { sum } from "../raw";
import { runName } from "../runs";
import { state, update } from "../state";
import type { View } from "./view";

interface Column {
  name: string;
  title: string;
  key: (launch: LaunchView, index: Index) => number | string;
  numeric: boolean;
}

const COLUMNS: Column[] = [
  { name: "#", title: "number of the launch in its process", key: (launch) => launch.sequence, numeric: true },
  { name: "kernel", title: "kernel", key: (launch, index) => index.kernels[launch.kernel]!.short, numeric: false },
  { name: "grid", title: "blocks", key: (launch) => launch.grid[0] * launch.grid[1] * launch.grid[2], numeric: true },
  { name: "block", title: "threads in a block", key: (launch) => launch.block[0] * launch.block[1] * launch.block[2], numeric: true },
  { name: "traffic by scope", title: "bytes accessed, by the scope of their last touch", key: (launch) => sum(launch.traffic), numeric: true },
  { name: "bytes", title: "bytes accessed", key: (launch) => sum(launch.traffic), numeric: true },
  { name: "instructions", title: "memory instructions executed by warps", key: (launch) => launch.instructions, numeric: true },
  { name: "sectors", title: "32-byte sectors of global and local memory", key: (launch) => launch.sectors, numeric: true },
  { name: "wavefronts", title: "wavefronts of shared memory", key: (launch) => launch.wavefronts, numeric: true },
  { name: "findings", title: "findings in this kernel and shape", key: (launch) => launch.findings?.length ?? 0, numeric: true },
];

const ROW = 38;

export class LaunchesView implements View {
  readonly element = h("div", { class: "view launches" });
  private context: Context | null = null;
  private rows: LaunchView[] = [];
  private focused = 0;
  private readonly search = h("input", {
    type: "search", placeholder: "Search kernels, shapes, devices …", "aria-label": "Search launches", class: "search",
    on: { input: () => { update({ query: this.search.value }); } },
  });
  private readonly count = h("span", { class: "dim", role: "status" });
  private readonly head = h("div", { class: "lrow head", role: "row" });
  private readonly list: VirtualList;

  constructor() {
    this.list = new VirtualList(ROW, (position) => this.row(position), { role: "rowgroup", "aria-label": "launches" });
    this.list.element.addEventListener("keydown", (event) => this.key(event));
    this.element.append(h("div", { class: "toolbar" }, this.search, this.count), h("div", { class: "grid-table", role: "table", "aria-label": "Launches" }, this.head, this.list.element));
  }

  show(context: Context): void {
    this.context = context;
    const { index } = context.store;
    if (document.activeElement !== this.search) this.search.value = state.query;
    const [name, down] = [state.sort.replace(/^-/, ""), state.sort.startsWith("-")];
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    this.rows = index.launches.filter((launch) => {
      if (!words.length) return true;
      const kernel = index.kernels[launch.kernel]!, { process } = index.processes[launch.process]!;
      const text = `${launch.sequence} ${kernel.name} ${kernel.mangled} ${launch.grid.join("x")} ${launch.block.join("x")} ${launch.device.name} stream ${launch.stream} process ${process.pid} ${process.arguments.join(" ")}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const column = COLUMNS.find((each) => each.name === name);
    if (column) {
      const keyed = this.rows.map((launch) => [column.key(launch, index), launch] as const);
      keyed.sort(([a], [b]) => (typeof a === "string" ? a.localeCompare(String(b)) : a - Number(b)));
      if (down) keyed.reverse();
      this.rows = keyed.map(([, launch]) => launch);
    }
    this.count.textContent = this.rows.length === index.launches.length ? `${format.count(this.rows.length)} launches` : `${format.count(this.rows.length)} of ${format.count(index.launches.length)} launches`;
    this.head.replaceChildren(...COLUMNS.map((each, position) => {
      const sorted = each.name === name;
      return h("div", { role: "columnheader", class: `c${position}${each.numeric && position !== 4 ? " num" : ""}`, "aria-sort": sorted ? (down ? "descending" : "ascending") : "none" },
        h("button", { type: "button", class: "sort", title: each.title, on: { click: () => update({ sort: sorted && down ? each.name : sorted ? `-${each.name}` : each.numeric && position ? `-${each.name}` : each.name }) } },
          each.name, sorted ? (down ? " ▾" : " ▴") : ""));
    }));
    this.focused = Math.min(this.focused, Math.max(0, this.rows.length - 1));
    this.list.set(this.rows.length);
  }

  private row(position: number): HTMLElement {
    const { index } = this.context!.store;
    const launch = this.rows[position]!, kernel = index.kernels[launch.kernel]!, run = runName(index, launch);
    const cell = (at: number, child: Node | string, options: Record<string, string> = {}): HTMLElement => h("div", { role: "cell", ...options, class: `c${at} ${options["class"] ?? ""}` }, child);
    const serious = (launch.findings ?? []).reduce((worst, each) => Math.max(worst, ["info", "low", "medium", "high"].indexOf(index.findings[each]!.severity)), 0);
    return h("div", {
      class: `lrow${position === this.focused ? " focused" : ""}${launch.id === state.launch ? " current" : ""}`, role: "row", "aria-rowindex": position + 2,
      on: { click: () => this.open(position) },
    },
      cell(0, format.count(launch.sequence), { class: "num dim" }),
      cell(1, h("span", {}, h("a", { href: "#", class: "kernel", title: kernel.name, on: { click: (event: Event) => event.preventDefault() } }, kernel.short), launch.incomplete ? h("span", { class: "warning", title: launch.incomplete }, " incomplete") : null, run ? h("span", { class: "dim", title: run }, ` ${run}`) : null), { class: "clip" }),
      cell(2, format.shape(launch.grid), { class: "num" }), cell(3, format.shape(launch.block), { class: "num" }),
      cell(4, trafficBar(launch.traffic)),
      cell(5, format.bytes(sum(launch.traffic)), { class: "num" }), cell(6, format.count(launch.instructions), { class: "num" }),
      cell(7, format.count(launch.sectors), { class: "num" }), cell(8, format.count(launch.wavefronts), { class: "num" }),
      cell(9, launch.findings?.length ? h("span", { class: `sev ${["info", "low", "medium", "high"][serious]}` }, launch.findings.length) : "0", { class: "num" }));
  }

  private open(position: number): void {
    const launch = this.rows[position];
    if (launch) update({ view: "graph", launch: launch.id, selection: [] });
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
    const move = moves[event.key];
    if (event.key === "Enter") this.open(this.focused);
    else if (move !== undefined) {
      this.focused = Math.max(0, Math.min(this.rows.length - 1, this.focused + move));
      this.list.reveal(this.focused);
      this.list.refresh();
      const launch = this.rows[this.focused];
      if (launch && this.context) this.context.say(`${this.context.store.index.kernels[launch.kernel]!.short}, ${format.bytes(sum(launch.traffic))}, ${launch.findings?.length ?? 0} findings`);
    } else return;
    event.preventDefault();
  }
}
