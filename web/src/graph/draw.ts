// The picture: node shape by type, fill by space, edge colour and dashes by label, width logarithmic in bytes.

import * as format from "../format";
import type { AccessType, EdgeView, GraphView, Space } from "../model";
import { COLD, LABELS, SAME_INSTRUCTION, SPACES } from "../model";
import { reuseOf, sum } from "../raw";
import type { PlacedEdge, PlacedGroup, PlacedNode, Scene } from "./layout";
import type { Pen } from "./pen";

export interface Palette {
  background: string; ink: string; faint: string; line: string; accent: string; danger: string; cold: string; onCold: string;
  labels: string[];
  fills: Record<Space, string>;
  strokes: Record<Space, string>;
}

export interface Look {
  palette: Palette;
  hiddenLabels: Set<number>;
  hiddenSpaces: Set<Space>;
  minimum: number;
  selection: Set<number>;
  /** What the pointer or the keyboard is on. */
  hover: number | null;
  base: bigint | null;
  lineOf: (id: number) => string | null;
  groupTitle: (index: number) => [string, string];
  /** Below this scale text is left out. */
  scale: number;
}

const FONT = "ui-sans-serif, system-ui, sans-serif";
const MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
/** Dashes in widths of the line. */
const DASHES: number[][] = [[1.6, 1.3], [], [1.8, 0.8], [], [], [3, 1, 0.7, 1], [4, 0.8]];
// Beyond so many edges, those of one colour and width are drawn in one stroke.
const MANY = 1500;
const READABLE = 0.28;

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  const bySpace = (prefix: string): Record<Space, string> =>
    Object.fromEntries(SPACES.map((space) => [space, get(`--${prefix}-${space}`)])) as Record<Space, string>;
  return {
    background: get("--canvas"), ink: get("--ink"), faint: get("--ink-2"), line: get("--line-2"), accent: get("--accent"),
    danger: get("--danger"), cold: get("--l-cold"), onCold: get("--on-cold"), labels: LABELS.map((label) => get(`--l-${label}`)),
    fills: bySpace("fill"), strokes: bySpace("stroke"),
  };
}

export class Widths {
  private readonly least: number;
  private readonly most: number;

  constructor(edges: EdgeView[]) {
    this.least = edges.reduce((low, edge) => Math.min(low, edge[3]), Infinity);
    this.most = edges.reduce((high, edge) => Math.max(high, edge[3]), 1);
  }

  of(bytes: number): number {
    const range = Math.log(this.most / this.least);
    return 1.1 + (range > 0 ? (5.4 * Math.log(Math.max(bytes, this.least) / this.least)) / range : 1.5);
  }
}

export function visible(edge: EdgeView, scene: Scene, look: Look): boolean {
  return !look.hiddenLabels.has(edge[2]) && edge[3] >= look.minimum && !look.hiddenSpaces.has(scene.nodes.get(edge[0])!.node.space);
}

/** Draws everything, what does not belong to the selection faintly. */
export function draw(pen: Pen, graph: GraphView, scene: Scene, widths: Widths, look: Look): void {
  const { palette } = look;
  for (const box of scene.groups) {
    const space = scene.nodes.get(graph.groups[box.index]!.nodes[0]!)!.node.space;
    if (look.hiddenSpaces.has(space)) continue;
    rounded(pen, box.x, box.y, box.w, box.h, 12);
    pen.globalAlpha = 0.16;
    pen.fillStyle = palette.fills[space];
    pen.fill();
    pen.globalAlpha = 0.55;
    pen.strokeStyle = palette.strokes[space];
    pen.lineWidth = 1;
    pen.setLineDash([]);
    pen.stroke();
    pen.globalAlpha = 1;
  }
  for (const [read, write] of scene.twins) {
    // One instruction, two nodes: what is read from one space goes into the other.
    if (look.hiddenSpaces.has(read.node.space) || look.hiddenSpaces.has(write.node.space)) continue;
    pen.strokeStyle = palette.faint;
    pen.lineWidth = 1.2;
    pen.setLineDash([1.5, 3]);
    pen.beginPath();
    const low = Math.max(read.y + read.h / 2, write.y + write.h / 2) + 26;
    pen.moveTo(read.x, read.y + read.h / 2);
    pen.bezierCurveTo(read.x, low, write.x, low, write.x, write.y + write.h / 2);
    pen.stroke();
    pen.setLineDash([]);
  }
  const focus = look.selection.size > 0;
  const near = new Set<number>(look.selection);
  const chosen: PlacedEdge[] = [];
  const rest: PlacedEdge[] = [];
  for (const placed of scene.edges) {
    const edge = graph.edges[placed.index]!;
    if (!visible(edge, scene, look)) continue;
    if (focus && (look.selection.has(edge[0]) || look.selection.has(edge[1]))) {
      chosen.push(placed);
      near.add(edge[0]).add(edge[1]);
    } else rest.push(placed);
  }
  if (rest.length > MANY) drawBatched(pen, graph, rest, widths, look, focus ? 0.1 : 0.55);
  else for (const placed of rest) drawEdge(pen, graph, placed, widths, look, focus ? 0.16 : 0.85);
  for (const placed of chosen) drawEdge(pen, graph, placed, widths, look, 1);
  if (look.scale >= READABLE) for (const box of scene.groups) drawTitle(pen, graph, scene, box, look);
  if (scene.cold && !look.hiddenLabels.has(COLD)) drawCold(pen, graph, scene.cold, look);
  for (const placed of scene.nodes.values()) {
    if (!look.hiddenSpaces.has(placed.node.space)) drawNode(pen, placed, look, focus && !near.has(placed.node.id));
  }
}

function drawTitle(pen: Pen, graph: GraphView, scene: Scene, box: PlacedGroup, look: Look): void {
  const { palette } = look;
  if (look.hiddenSpaces.has(scene.nodes.get(graph.groups[box.index]!.nodes[0]!)!.node.space)) return;
  const [title, detail] = look.groupTitle(box.index);
  pen.textAlign = "start";
  pen.font = `600 12px ${FONT}`;
  pen.fillStyle = palette.ink;
  pen.fillText(fitted(title, pen.font, box.w - 24), box.x + 12, box.y + 17);
  pen.font = `11px ${FONT}`;
  pen.fillStyle = palette.faint;
  pen.fillText(fitted(detail, pen.font, box.w - 24), box.x + 12, box.y + 31);
}

/** What lies over the picture while the pointer is on a node: the node and its edges. */
export function drawHover(pen: Pen, graph: GraphView, scene: Scene, widths: Widths, look: Look): void {
  if (look.hover === null) return;
  const placed = scene.nodes.get(look.hover);
  if (!placed) return;
  const near = new Set([look.hover]);
  for (const each of scene.edges) {
    const edge = graph.edges[each.index]!;
    if ((edge[0] !== look.hover && edge[1] !== look.hover) || !visible(edge, scene, look)) continue;
    drawEdge(pen, graph, each, widths, look, 1);
    near.add(edge[0]).add(edge[1]);
  }
  for (const id of near) {
    const other = scene.nodes.get(id);
    if (other) drawNode(pen, other, look, false);
  }
}

const ruler = document.createElement("canvas").getContext("2d");
const lengths = new Map<string, string>();

/** Cuts a text so that it fits; remembers, since measuring is slow. */
function fitted(text: string, font: string, width: number): string {
  if (!ruler) return text;
  const key = `${font} ${Math.round(width)} ${text}`;
  const known = lengths.get(key);
  if (known !== undefined) return known;
  ruler.font = font;
  let shown = text.slice(0, 400);
  if (ruler.measureText(shown).width > width || shown.length < text.length) {
    let low = 0, high = shown.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ruler.measureText(`${shown.slice(0, middle)}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    shown = `${shown.slice(0, low)}…`;
  }
  if (lengths.size > 20_000) lengths.clear();
  lengths.set(key, shown);
  return shown;
}

function trace(pen: Pen, curve: number[]): void {
  pen.moveTo(curve[0]!, curve[1]!);
  for (let i = 2; i < curve.length; i += 6) {
    pen.bezierCurveTo(curve[i]!, curve[i + 1]!, curve[i + 2]!, curve[i + 3]!, curve[i + 4]!, curve[i + 5]!);
  }
}

function drawEdge(pen: Pen, graph: GraphView, placed: PlacedEdge, widths: Widths, look: Look, alpha: number): void {
  const edge = graph.edges[placed.index]!, { curve } = placed;
  // First touches are many and cross the picture; they stay in the background.
  const width = widths.of(edge[3]) * (edge[1] < 0 ? 0.6 : 1);
  const colour = look.palette.labels[edge[2]]!;
  pen.globalAlpha = alpha;
  if (edge[5]) {
    // Not ordered by a barrier: a possible race.
    pen.strokeStyle = look.palette.danger;
    pen.lineWidth = width + 4;
    pen.setLineDash([3, 4]);
    pen.beginPath();
    trace(pen, curve);
    pen.stroke();
  }
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(DASHES[edge[2]]!.map((length) => length * Math.max(width, 2)));
  pen.beginPath();
  trace(pen, curve);
  pen.stroke();
  pen.setLineDash([]);
  const x = curve[curve.length - 2]!, y = curve[curve.length - 1]!;
  const dx = x - curve[curve.length - 4]!, dy = y - curve[curve.length - 3]!, length = Math.hypot(dx, dy) || 1;
  const ux = dx / length, uy = dy / length, size = 5.5 + width * 0.9;
  pen.fillStyle = colour;
  pen.beginPath();
  pen.moveTo(x + ux * 1.5, y + uy * 1.5);
  pen.lineTo(x - ux * size - uy * size * 0.5, y - uy * size + ux * size * 0.5);
  pen.lineTo(x - ux * size + uy * size * 0.5, y - uy * size - ux * size * 0.5);
  pen.closePath();
  pen.fill();
  pen.globalAlpha = 1;
}

function drawBatched(pen: Pen, graph: GraphView, edges: PlacedEdge[], widths: Widths, look: Look, alpha: number): void {
  const batches = new Map<number, PlacedEdge[]>();
  for (const placed of edges) {
    const edge = graph.edges[placed.index]!;
    const key = edge[2] * 16 + Math.round(widths.of(edge[3]));
    const batch = batches.get(key);
    if (batch) batch.push(placed);
    else batches.set(key, [placed]);
  }
  pen.setLineDash([]);
  for (const [key, batch] of batches) {
    // First touches all lead to one node and would hide the rest.
    pen.globalAlpha = key >> 4 === COLD ? alpha * 0.3 : alpha;
    pen.strokeStyle = look.palette.labels[key >> 4]!;
    pen.lineWidth = (key & 15) * 0.6;
    // One path of thousands of curves is slower to fill in than several short ones.
    for (let first = 0; first < batch.length; first += 200) {
      pen.beginPath();
      for (const { curve } of batch.slice(first, first + 200)) {
        if (look.scale < READABLE) {
          // From so far away curves and lines look alike, and lines take a third of the time.
          pen.moveTo(curve[0]!, curve[1]!);
          pen.lineTo(curve[curve.length - 2]!, curve[curve.length - 1]!);
        } else trace(pen, curve);
      }
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}

function drawCold(pen: Pen, graph: GraphView, cold: NonNullable<Scene["cold"]>, look: Look): void {
  ellipse(pen, cold.x, cold.y, cold.r, cold.r);
  pen.fillStyle = look.palette.cold;
  pen.fill();
  pen.textAlign = "center";
  pen.fillStyle = look.palette.onCold;
  pen.font = `600 12px ${FONT}`;
  pen.fillText("untracked", cold.x, cold.y);
  pen.font = `11px ${FONT}`;
  pen.fillText(format.bytes(sum(graph.edges.map((edge) => (edge[1] < 0 ? edge[3] : 0)))), cold.x, cold.y + 14);
}

function drawNode(pen: Pen, placed: PlacedNode, look: Look, dim: boolean): void {
  const { node, x, y, w, h } = placed, { palette } = look;
  const marked = look.selection.has(node.id), hover = look.hover === node.id;
  pen.globalAlpha = 1;
  shape(pen, node.type, x, y, w, h);
  pen.fillStyle = palette.background;
  pen.fill();
  pen.globalAlpha = dim ? 0.25 : 1;
  pen.fillStyle = palette.fills[node.space];
  pen.fill();
  pen.strokeStyle = marked || hover ? palette.accent : palette.strokes[node.space];
  pen.lineWidth = marked ? 3 : hover ? 2.4 : 1.3;
  pen.setLineDash(node.asynchronous ? [5, 3] : []);
  pen.stroke();
  pen.setLineDash([]);
  if (look.scale >= READABLE) {
    pen.textAlign = "center";
    pen.fillStyle = palette.ink;
    const name = format.address(node.pc, look.base);
    pen.font = `600 ${name.length > 12 ? 10 : 12.5}px ${MONO}`;
    pen.fillText(name, x, y - 3);
    pen.font = `11px ${FONT}`;
    pen.fillStyle = palette.faint;
    const line = look.lineOf(node.id);
    // The outline says it too.
    const kind = `${node.asynchronous && !line ? "async " : ""}${node.type} ${node.size} B`;
    pen.fillText(fitted(line ? `${kind} ${line}` : kind, pen.font, w - 14), x, y + 12);
  }
  pen.globalAlpha = 1;
}

export function shape(pen: Pen, type: AccessType, x: number, y: number, w: number, h: number): void {
  if (type === "read") rounded(pen, x - w / 2, y - h / 2, w, h, h / 2);
  else if (type === "write") rounded(pen, x - w / 2, y - h / 2, w, h, 3);
  else {
    const cut = h * 0.34;
    pen.beginPath();
    pen.moveTo(x - w / 2, y);
    pen.lineTo(x - w / 2 + cut, y - h / 2);
    pen.lineTo(x + w / 2 - cut, y - h / 2);
    pen.lineTo(x + w / 2, y);
    pen.lineTo(x + w / 2 - cut, y + h / 2);
    pen.lineTo(x - w / 2 + cut, y + h / 2);
    pen.closePath();
  }
}

const ARC = 0.5523;

function rounded(pen: Pen, x: number, y: number, w: number, h: number, r: number): void {
  const k = r * (1 - ARC);
  pen.beginPath();
  pen.moveTo(x + r, y);
  pen.lineTo(x + w - r, y);
  pen.bezierCurveTo(x + w - k, y, x + w, y + k, x + w, y + r);
  pen.lineTo(x + w, y + h - r);
  pen.bezierCurveTo(x + w, y + h - k, x + w - k, y + h, x + w - r, y + h);
  pen.lineTo(x + r, y + h);
  pen.bezierCurveTo(x + k, y + h, x, y + h - k, x, y + h - r);
  pen.lineTo(x, y + r);
  pen.bezierCurveTo(x, y + k, x + k, y, x + r, y);
  pen.closePath();
}

function ellipse(pen: Pen, x: number, y: number, rx: number, ry: number): void {
  const kx = rx * ARC, ky = ry * ARC;
  pen.beginPath();
  pen.moveTo(x, y - ry);
  pen.bezierCurveTo(x + kx, y - ry, x + rx, y - ky, x + rx, y);
  pen.bezierCurveTo(x + rx, y + ky, x + kx, y + ry, x, y + ry);
  pen.bezierCurveTo(x - kx, y + ry, x - rx, y + ky, x - rx, y);
  pen.bezierCurveTo(x - rx, y - ky, x - kx, y - ry, x, y - ry);
  pen.closePath();
}

/** Words for a closed subgraph: what it is, and its footprint, intensity and main reuse. */
export function groupTitle(graph: GraphView, index: number): [string, string] {
  const group = graph.groups[index]!;
  const members = new Set(group.nodes);
  const nodes = graph.nodes.filter((node) => members.has(node.id));
  const objects = new Map<string, number>();
  for (const node of nodes) {
    for (const part of node.allocations ?? []) {
      const name = part.allocation === null ? "unknown memory" : graph.objects[part.allocation] ?? "unknown memory";
      objects.set(name, (objects.get(name) ?? 0) + part.bytes);
    }
  }
  const names = [...objects].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const space = nodes[0]!.space.replace("_", " ");
  // A long address must not hide what kind of memory it is.
  const first = names[0]?.replace(/^(\S+) (?:allocation|memory) at /, `${space} · $1 `);
  const what = first ? `${first === names[0] ? `${space} · ${first}` : first}${names.length > 1 ? ` + ${names.length - 1}` : ""}` : space;
  const traffic = sum(group.weights), footprint = group.weights[COLD]!, reuse = reuseOf(group.weights);
  const main = group.weights.map((weight, label) => [label === COLD || label === SAME_INSTRUCTION ? 0 : weight, label] as const).sort((a, b) => b[0] - a[0])[0]!;
  const intensity = footprint ? format.ratio(traffic / footprint) : "∞";
  return [what, `${format.bytes(footprint)} × ${intensity.replace("×", "")}${reuse ? ` · ${LABELS[main[1]]!.replaceAll("_", " ")} ${format.percent(main[0], reuse)}` : ""}`];
}
