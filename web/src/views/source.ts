// Source and instructions side by side, with the traffic of each line by scope in the margin.

import { trafficBar } from "../charts";
import { currentLaunch, load } from "../context";
import type { Context, Current } from "../context";
import { button, h, VirtualList } from "../dom";
import * as format from "../format";
import type { FunctionCode, NodeView } from "../model";
import { sum, sumWeights } from "../raw";
import { state, update } from "../state";
import type { View } from "./view";

const ROW = 20;

/** `own`: the instructions were written here, not only inlined here. */
interface SourceRow { number: number; text: string | null; nodes: NodeView[]; own: boolean }
interface SassRow { pc: number; text: string | null; frames: number; nodes: NodeView[]; line: number | null; functionStart: string | null }

export class SourcePageView implements View {
  readonly element = h("div", { class: "view source-view" });
  private readonly tools = h("div", { class: "toolbar" });
  private readonly source: VirtualList;
  private readonly sass: VirtualList;
  private readonly body = h("div", { class: "two" });
  private context: Context | null = null;
  private current: Current | null = null;
  private file: number | null = null;
  private sourceRows: SourceRow[] = [];
  private sassRows: SassRow[] = [];
  private most = 1;
  private most2 = 1;
  private shown = "";
  private inFile = 0;

  constructor() {
    this.source = new VirtualList(ROW, (position) => this.sourceRow(this.sourceRows[position]!), { class: "code", role: "list", "aria-label": "Source" });
    this.sass = new VirtualList(ROW, (position) => this.sassRow(this.sassRows[position]!), { class: "code", role: "list", "aria-label": "Instructions" });
    this.element.append(this.tools, this.body);
  }

  async show(context: Context): Promise<void> {
    this.context = context;
    const launch = currentLaunch(context.store);
    if (!launch) return;
    const current = await load(context.store, launch);
    if (currentLaunch(context.store) !== launch) return;
    this.current = current;
    if (!current.code) {
      this.body.replaceChildren(h("p", { class: "empty" }, "Source and instructions are in reports that cuvein made, not in bare profiles: 'cuvein report FOLDER --html FILE'."));
      this.tools.replaceChildren();
      return;
    }
    const chosen = current.graph.nodes.filter((node) => state.selection.includes(node.id));
    const fresh = this.shown !== launch.id;
    if (fresh) this.file = null;
    const frame = chosen.flatMap((node) => current.places.get(node.id)?.frames.slice(0, 1) ?? [])[0];
    if (frame && fresh) this.file = frame[0];
    const files = this.traffic(current);
    if (this.file === null) this.file = [...files].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
    this.makeSass(current);
    await this.makeSource(current);
    this.drawTools(files);
    this.body.replaceChildren(
      h("section", { class: "pane", "aria-label": "Source" }, this.file === null ? h("p", { class: "empty" }, current.code.lines ? `No source lines: ${current.code.lines}.` : "No source lines.") : this.sourceRows.length ? this.source.element : h("p", { class: "empty" }, current.code.files[this.file]!.missing ?? "The file is empty.")),
      h("section", { class: "pane", "aria-label": "Instructions" }, ...current.code.functions.filter((each) => each.missing).slice(0, 1).map((each) => h("p", { class: "warning pad" }, `No instructions: ${each.missing}.`)), this.sass.element));
    this.shown = launch.id;
    this.source.set(this.sourceRows.length);
    this.sass.set(this.sassRows.length);
    if (chosen.length) {
      const line = this.sourceRows.findIndex((row) => row.nodes.some((node) => state.selection.includes(node.id)));
      const at = this.sassRows.findIndex((row) => row.nodes.some((node) => state.selection.includes(node.id)));
      if (line >= 0) this.source.reveal(line);
      if (at >= 0) this.sass.reveal(at);
    } else if (fresh) {
      const line = this.sourceRows.findIndex((row) => row.nodes.length);
      if (line >= 0) this.source.reveal(Math.max(0, line));
    }
  }

  /** Bytes of each file, by where its instructions were written, inlined or not. */
  private traffic(current: Current): Map<number, number> {
    const files = new Map<number, number>();
    for (const node of current.graph.nodes) {
      for (const file of new Set(current.places.get(node.id)?.frames.map((frame) => frame[0]) ?? [])) files.set(file, (files.get(file) ?? 0) + node.bytes);
    }
    return files;
  }

  private makeSass(current: Current): void {
    const code = current.code!;
    const nodes = new Map<string, NodeView[]>();
    for (const node of current.graph.nodes) {
      const pc = node.asynchronous ? node.pc & ~15 : node.pc;
      const key = `${current.graph.functions[node.function]?.mangled} ${pc}`;
      const list = nodes.get(key);
      if (list) list.push(node);
      else nodes.set(key, [node]);
    }
    const ordered: FunctionCode[] = [...code.functions].sort((a, b) => Number(b.mangled === current.kernel.mangled) - Number(a.mangled === current.kernel.mangled));
    this.sassRows = ordered.flatMap((each) => each.rows.map(([pc, text, frames], at): SassRow => ({
      pc, text, frames, nodes: nodes.get(`${each.mangled} ${pc}`) ?? [], line: code.frames[frames]?.[0]?.[1] ?? null,
      functionStart: at === 0 && ordered.length > 1 ? each.name : null,
    })));
    this.most2 = this.sassRows.reduce((high, row) => Math.max(high, sum(row.nodes.map((node) => node.bytes))), 1);
  }

  private async makeSource(current: Current): Promise<void> {
    this.sourceRows = [];
    if (this.file === null) return;
    const file = current.code!.files[this.file]!;
    const byLine = new Map<number, NodeView[]>();
    const own = new Set(current.graph.nodes.flatMap((node) => current.places.get(node.id)?.frames.slice(0, 1) ?? []).filter((frame) => frame[0] === this.file).map((frame) => frame[1]));
    for (const node of current.graph.nodes) {
      for (const line of new Set((current.places.get(node.id)?.frames ?? []).filter((frame) => frame[0] === this.file).map((frame) => frame[1]))) {
        const list = byLine.get(line);
        if (list) list.push(node);
        else byLine.set(line, [node]);
      }
    }
    if (file.text === undefined) {
      // Without its text, a file still has lines and what they did.
      this.sourceRows = [...byLine].sort((a, b) => a[0] - b[0]).map(([number, nodes]) => ({ number, text: null, nodes, own: own.has(number) }));
    } else {
      const text = await this.context!.store.text(file.text);
      for (const [first, lines] of text.pieces) lines.forEach((line, at) => this.sourceRows.push({ number: first + at, text: line, nodes: byLine.get(first + at) ?? [], own: own.has(first + at) }));
    }
    const heaviest = (rows: SourceRow[]): number => rows.reduce((high, row) => Math.max(high, sum(row.nodes.map((node) => node.bytes))), 0);
    this.most = heaviest(this.sourceRows.filter((row) => row.own)) || heaviest(this.sourceRows) || 1;
    this.inFile = sum(current.graph.nodes.map((node) => node.bytes));
  }

  private drawTools(files: Map<number, number>): void {
    const { code, kernel } = this.current!;
    const whole = sum(this.current!.graph.nodes.map((node) => node.bytes));
    const choice = h("select", { "aria-label": "Source file", on: { change: () => { this.file = Number(choice.value); void this.show(this.context!); } } },
      ...code!.files.map((file, at) => h("option", { value: at, selected: at === this.file }, `${format.clip(file.path, 70)} (${format.percent(files.get(at) ?? 0, whole)})`)));
    const file = this.file === null ? null : code!.files[this.file]!;
    this.tools.replaceChildren(code!.files.length ? choice : h("span", { class: "dim" }, "no source lines"), file?.changed ? h("span", { class: "warning clip", title: file.changed }, file.changed) : h("span"),
      file?.missing ? h("span", { class: "warning clip", title: file.missing }, file.missing) : h("span"), code!.lines && file ? h("span", { class: "dim clip", title: code!.lines }, code!.lines) : h("span"), h("span", { class: "grow" }),
      h("span", { class: "dim clip", title: kernel.name }, kernel.short),
      button("Show selection in graph", () => update({ view: "graph" }), { disabled: !state.selection.length }));
  }

  private margin(nodes: NodeView[], most: number): HTMLElement {
    return h("span", { class: "margin" }, nodes.length ? trafficBar(sumWeights(nodes), most, { small: true }) : null);
  }

  private row(nodes: NodeView[], options: { class: string; title?: string }, ...children: (Node | string | null)[]): HTMLElement {
    const marked = nodes.some((node) => state.selection.includes(node.id));
    const select = (): void => update({ selection: marked ? [] : nodes.map((node) => node.id) });
    return h("div", {
      class: `${options.class}${nodes.length ? " hot" : ""}${marked ? " marked" : ""}`, role: "listitem", title: options.title,
      ...(nodes.length ? { tabindex: 0, "aria-current": marked ? "true" : "false", on: {
        click: select, dblclick: () => update({ view: "graph", selection: nodes.map((node) => node.id) }),
        keydown: (event: KeyboardEvent) => { if (event.key === "Enter") { event.preventDefault(); select(); } },
      } } : {}),
    }, ...children);
  }

  private sourceRow(row: SourceRow): HTMLElement {
    const bytes = sum(row.nodes.map((node) => node.bytes));
    return this.row(row.nodes, { class: row.own ? "crow" : "crow inlined", ...(bytes ? { title: `${format.bytes(bytes)}, ${format.percent(bytes, this.inFile)} of the launch${row.own ? "" : ", inlined here"}; click selects its instructions` } : {}) },
      this.margin(row.nodes, this.most), h("span", { class: "ln" }, row.number), h("span", { class: "src" }, row.text ?? "(text not here)"));
  }

  private sassRow(row: SassRow): HTMLElement {
    const related = state.selection.length > 0 && row.line !== null && this.selectedLines().has(row.frames);
    return this.row(row.nodes, { class: `crow${related ? " related" : ""}`, ...(row.functionStart ? { title: row.functionStart } : {}) },
      this.margin(row.nodes, this.most2), h("span", { class: "pc" }, format.address(row.pc, state.base)), h("span", { class: "src" }, row.text ?? "(not known)"), row.line === null ? null : h("span", { class: "ref" }, `:${row.line}`));
  }

  private selectedLines(): Set<number> {
    return new Set(this.sassRows.filter((row) => row.frames >= 0 && row.nodes.some((node) => state.selection.includes(node.id))).map((row) => row.frames));
  }
}
