// The picture on the screen: two canvases, one for all of it and one for what the pointer is on, so that moving
// the pointer over ten thousand edges does not draw them again. While it is dragged or zoomed, a large picture is
// moved as it is and drawn again when it comes to rest.

import { h } from "../dom";
import type { GraphView } from "../model";
import { draw, drawHover, groupTitle, paletteOf, visible, Widths } from "./draw";
import type { Look } from "./draw";
import { arrange } from "./layout";
import type { PlacedNode, Scene } from "./layout";
import { SvgPen } from "./pen";

export interface Events {
  select(ids: number[]): void;
  /** Text for people, of what the keyboard or the pointer is on. */
  describe(target: { node?: number; edge?: number } | null, at: [number, number] | null): void;
}

type Filter = Pick<Look, "hiddenLabels" | "hiddenSpaces" | "minimum" | "base">;

const SETTLE_MS = 90;
const LARGE = 1200;
const MARGIN = 24;

export class GraphCanvas {
  readonly element: HTMLElement;
  private readonly main = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas", { "aria-hidden": "true" });
  private readonly band = h("div", { class: "band", hidden: true });
  private graph: GraphView | null = null;
  private scene: Scene | null = null;
  private widths = new Widths([]);
  private lineOf: (id: number) => string | null = () => null;
  private filter: Filter = { hiddenLabels: new Set(), hiddenSpaces: new Set(), minimum: 0, base: null };
  private selection = new Set<number>();
  private hover: number | null = null;
  private titles: [string, string][] = [];
  private scale = 1;
  private dx = 0;
  private dy = 0;
  private drawn = { scale: 1, dx: 0, dy: 0 };
  private settle = 0;
  private frame = 0;

  constructor(private readonly events: Events) {
    this.element = h("div", {
      class: "graph-canvas", tabindex: 0, role: "application", "aria-roledescription": "graph",
      "aria-label": "Graph. Arrow keys move between instructions, Enter selects, Shift+Enter adds, plus and minus zoom, 0 fits, Escape clears.",
    }, this.main, this.over, this.band);
    new ResizeObserver(() => this.resized()).observe(this.element);
    this.listen();
  }

  show(graph: GraphView, lineOf: (id: number) => string | null): void {
    this.graph = graph;
    this.scene = arrange(graph);
    this.widths = new Widths(graph.edges);
    this.lineOf = lineOf;
    this.titles = graph.groups.map((_, index) => groupTitle(graph, index));
    this.hover = null;
    this.fit();
  }

  setLook(filter: Filter, selection: Iterable<number>): void {
    this.filter = filter;
    this.selection = new Set(selection);
    this.redraw();
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  fit(): void {
    const { scene } = this;
    const width = this.element.clientWidth, height = this.element.clientHeight;
    if (!scene || !width || !height) return;
    this.scale = Math.min(1.25, (width - 2 * MARGIN) / scene.width, (height - 2 * MARGIN) / scene.height);
    // A long graph starts at its top and at a size one can read.
    const tall = this.scale < 0.55 && scene.width * 0.62 < width;
    if (tall) this.scale = Math.min(0.8, (width - 2 * MARGIN) / scene.width);
    this.dx = (width - scene.width * this.scale) / 2;
    this.dy = tall ? MARGIN : Math.max(MARGIN, (height - scene.height * this.scale) / 2);
    this.redraw();
  }

  zoom(factor: number, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2): void {
    const next = Math.min(4, Math.max(0.04, this.scale * factor));
    this.dx = x - ((x - this.dx) * next) / this.scale;
    this.dy = y - ((y - this.dy) * next) / this.scale;
    this.scale = next;
    this.moved();
  }

  reveal(ids: Iterable<number>): void {
    const placed = [...ids].map((id) => this.scene?.nodes.get(id)).filter((each): each is PlacedNode => !!each);
    if (!placed.length) return;
    const out = placed.some((each) => {
      const x = each.x * this.scale + this.dx, y = each.y * this.scale + this.dy;
      return x < 40 || y < 30 || x > this.element.clientWidth - 40 || y > this.element.clientHeight - 30;
    });
    if (!out) return;
    const x = placed.reduce((total, each) => total + each.x, 0) / placed.length;
    const y = placed.reduce((total, each) => total + each.y, 0) / placed.length;
    this.dx = this.element.clientWidth / 2 - x * this.scale;
    this.dy = this.element.clientHeight / 2 - y * this.scale;
    this.redraw();
  }

  /** Where a node is in the window, for those who drive the page; null when there is no such node. */
  locate(id: number): { x: number; y: number } | null {
    const placed = this.scene?.nodes.get(id);
    if (!placed) return null;
    const box = this.element.getBoundingClientRect();
    return { x: box.left + placed.x * this.scale + this.dx, y: box.top + placed.y * this.scale + this.dy };
  }

  svg(title: string): string {
    const { scene, graph } = this;
    if (!scene || !graph) return "";
    const pen = new SvgPen(), look = this.look(1);
    pen.translate(MARGIN, MARGIN);
    draw(pen, graph, scene, this.widths, look);
    return pen.document(scene.width + 2 * MARGIN, scene.height + 2 * MARGIN, look.palette.background, title);
  }

  async png(): Promise<Blob> {
    const { scene, graph } = this;
    if (!scene || !graph) throw new Error("There is no graph to save.");
    const width = scene.width + 2 * MARGIN, height = scene.height + 2 * MARGIN;
    // Browsers refuse larger canvases.
    const scale = Math.min(2, 12000 / Math.max(width, height), Math.sqrt(1e8 / (width * height)));
    const canvas = h("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    const pen = canvas.getContext("2d")!;
    const look = this.look(1);
    pen.fillStyle = look.palette.background;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(scale, 0, 0, scale, MARGIN * scale, MARGIN * scale);
    draw(pen, graph, scene, this.widths, look);
    return new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for this browser."))), "image/png");
    });
  }

  private look(scale: number): Look {
    return {
      palette: paletteOf(this.element), ...this.filter, selection: this.selection, hover: this.hover,
      lineOf: this.lineOf, groupTitle: (index) => this.titles[index]!, scale,
    };
  }

  private resized(): void {
    const ratio = devicePixelRatio || 1, first = this.main.width === 300;
    for (const canvas of [this.main, this.over]) {
      canvas.width = Math.max(1, Math.round(this.element.clientWidth * ratio));
      canvas.height = Math.max(1, Math.round(this.element.clientHeight * ratio));
    }
    if (first) this.fit();
    else this.paint();
  }

  private paint(): void {
    const { scene, graph } = this;
    if (!scene || !graph || !this.element.clientWidth) return;
    const pen = this.prepare(this.main);
    this.drawn = { scale: this.scale, dx: this.dx, dy: this.dy };
    this.main.style.transform = this.over.style.transform = "";
    draw(pen, graph, scene, this.widths, { ...this.look(this.scale), hover: null });
    this.paintOver();
  }

  private paintOver(): void {
    const { scene, graph } = this;
    if (!scene || !graph) return;
    const pen = this.prepare(this.over);
    drawHover(pen, graph, scene, this.widths, this.look(this.scale));
    this.main.style.opacity = this.hover === null ? "1" : "0.35";
  }

  private prepare(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const pen = canvas.getContext("2d")!, ratio = devicePixelRatio || 1;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.dx, ratio * this.dy);
    return pen;
  }

  /** After a step of dragging or zooming. */
  private moved(): void {
    if ((this.graph?.edges.length ?? 0) < LARGE) {
      this.redraw();
      return;
    }
    const scale = this.scale / this.drawn.scale;
    const x = this.dx - this.drawn.dx * scale, y = this.dy - this.drawn.dy * scale;
    this.main.style.transform = this.over.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.redraw(), SETTLE_MS) as unknown as number;
  }

  private setHover(id: number | null): void {
    if (this.hover === id) return;
    this.hover = id;
    this.element.style.cursor = id === null ? "grab" : "pointer";
    this.paintOver();
  }

  private toScene(event: { offsetX: number; offsetY: number }): [number, number] {
    return [(event.offsetX - this.dx) / this.scale, (event.offsetY - this.dy) / this.scale];
  }

  private nodeAt(x: number, y: number): number | null {
    for (const placed of this.scene?.nodes.values() ?? []) {
      if (this.filter.hiddenSpaces.has(placed.node.space)) continue;
      if (Math.abs(placed.x - x) <= placed.w / 2 && Math.abs(placed.y - y) <= placed.h / 2) return placed.node.id;
    }
    return null;
  }

  private edgeAt(x: number, y: number): number | null {
    const { scene, graph } = this;
    if (!scene || !graph) return null;
    let best: number | null = null, nearest = (7 / this.scale) ** 2;
    const look = { ...this.filter } as Look;
    for (const { index, curve } of scene.edges) {
      if (!visible(graph.edges[index]!, scene, look)) continue;
      for (let i = 2; i < curve.length; i += 6) {
        const x0 = curve[i - 2]!, y0 = curve[i - 1]!;
        for (let t = 0; t <= 1; t += 0.0625) {
          const u = 1 - t, a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
          const px = a * x0 + b * curve[i]! + c * curve[i + 2]! + d * curve[i + 4]!;
          const py = a * y0 + b * curve[i + 1]! + c * curve[i + 3]! + d * curve[i + 5]!;
          const distance = (px - x) ** 2 + (py - y) ** 2;
          if (distance < nearest) {
            nearest = distance;
            best = index;
          }
        }
      }
    }
    return best;
  }

  private groupAt(x: number, y: number): number | null {
    return this.scene?.groups.find((box) => x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + 38)?.index ?? null;
  }

  private choose(ids: number[], add: boolean): void {
    const next = new Set(add ? this.selection : []);
    for (const id of ids) {
      if (add && ids.length === 1 && next.has(id)) next.delete(id);
      else next.add(id);
    }
    this.events.select([...next].sort((a, b) => a - b));
  }

  private listen(): void {
    const { element } = this;
    let start: { x: number; y: number; dx: number; dy: number; band: boolean; moved: boolean } | null = null;
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      start = { x: event.offsetX, y: event.offsetY, dx: this.dx, dy: this.dy, band: event.shiftKey, moved: false };
    });
    element.addEventListener("pointermove", (event) => {
      if (!start) {
        const [x, y] = this.toScene(event);
        const node = this.nodeAt(x, y);
        this.setHover(node);
        const edge = node === null ? this.edgeAt(x, y) : null;
        this.events.describe(node !== null ? { node } : edge !== null ? { edge } : null, [event.offsetX, event.offsetY]);
        return;
      }
      const mx = event.offsetX - start.x, my = event.offsetY - start.y;
      if (!start.moved && Math.hypot(mx, my) < 4) return;
      start.moved = true;
      this.setHover(null);
      this.events.describe(null, null);
      if (start.band) {
        this.band.hidden = false;
        const { style } = this.band;
        style.left = `${Math.min(start.x, event.offsetX)}px`;
        style.top = `${Math.min(start.y, event.offsetY)}px`;
        style.width = `${Math.abs(mx)}px`;
        style.height = `${Math.abs(my)}px`;
      } else {
        this.dx = start.dx + mx;
        this.dy = start.dy + my;
        this.moved();
      }
    });
    element.addEventListener("pointerup", (event) => {
      if (!start) return;
      const from = start;
      start = null;
      this.band.hidden = true;
      const [x, y] = this.toScene(event);
      const add = event.shiftKey || event.ctrlKey || event.metaKey;
      if (from.moved && from.band) {
        const [x0, y0] = this.toScene({ offsetX: from.x, offsetY: from.y });
        const inside = [...(this.scene?.nodes.values() ?? [])].filter((each) =>
          each.x >= Math.min(x, x0) && each.x <= Math.max(x, x0) && each.y >= Math.min(y, y0) && each.y <= Math.max(y, y0));
        this.choose(inside.map((each) => each.node.id), event.ctrlKey || event.metaKey);
      } else if (!from.moved) {
        const node = this.nodeAt(x, y), group = node === null ? this.groupAt(x, y) : null;
        const edge = node === null && group === null ? this.edgeAt(x, y) : null;
        if (node !== null) this.choose([node], add);
        else if (group !== null) this.choose(this.graph!.groups[group]!.nodes, add);
        else if (edge !== null) this.choose(this.graph!.edges[edge]!.slice(0, 2).filter((id) => id !== null && id >= 0) as number[], add);
        else if (!add) this.events.select([]);
      }
    });
    element.addEventListener("pointercancel", () => { start = null; this.band.hidden = true; });
    element.addEventListener("pointerleave", () => { this.setHover(null); this.events.describe(null, null); });
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.ctrlKey || !event.shiftKey) this.zoom(Math.exp(-event.deltaY * 0.0014), event.offsetX, event.offsetY);
    }, { passive: false });
    element.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    if (step) {
      const next = this.neighbour(step);
      if (next !== null) {
        this.setHover(next);
        this.reveal([next]);
        this.events.describe({ node: next }, null);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.hover !== null) this.choose([this.hover], event.shiftKey);
    } else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape") this.events.select([]);
    else return;
    event.preventDefault();
  }

  private neighbour([sx, sy]: [number, number]): number | null {
    const nodes = [...(this.scene?.nodes.values() ?? [])].filter((each) => !this.filter.hiddenSpaces.has(each.node.space));
    const id = this.hover ?? [...this.selection][0];
    const from = id === undefined ? null : this.scene?.nodes.get(id);
    if (!from) return nodes[0]?.node.id ?? null;
    let best: number | null = null, least = Infinity;
    for (const each of nodes) {
      const x = each.x - from.x, y = each.y - from.y, along = x * sx + y * sy;
      if (along < 8) continue;
      const cost = along + 2.5 * Math.abs(x * sy + y * sx);
      if (cost < least) {
        least = cost;
        best = each.node.id;
      }
    }
    return best;
  }
}
