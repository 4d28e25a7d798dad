// Where everything in the picture goes. Code runs downwards: in each closed subgraph, earlier instructions are
// above later ones, the untracked node is above all, so reuse edges point up to their origin. Closed subgraphs
// stand side by side, since no reuse joins them.

import { Graph, layout as dagre } from "@dagrejs/dagre";
import type { GraphView, NodeView } from "../model";

export interface Placed { x: number; y: number; w: number; h: number }
export interface PlacedNode extends Placed { node: NodeView; group: number }
export interface PlacedGroup extends Placed { index: number }
/** `curve`: a start, then three points for each cubic piece, as x, y, x, y … from access to origin. */
export interface PlacedEdge { index: number; curve: number[] }
export interface Scene {
  nodes: Map<number, PlacedNode>;
  groups: PlacedGroup[];
  cold: { x: number; y: number; r: number } | null;
  edges: PlacedEdge[];
  /** The two halves of each asynchronous copy: global read, shared write. */
  twins: [PlacedNode, PlacedNode][];
  width: number;
  height: number;
}

export const NODE_WIDTH = 118;
export const NODE_HEIGHT = 44;
const PADDING = 18;
const HEADER = 40;
const GAP = 30;
const LOOP = 20;
const WINDOW_RATIO = 1.3;
// Layering is worth its time, and readable, up to here; larger subgraphs are laid out in the order of the code.
const LAYERED_NODES = 90;
const LAYERED_PAIRS = 220;
const RANK = 6;

interface Inner { at: Map<number, { x: number; y: number }>; bends: Map<string, { x: number; y: number }[]>; width: number; height: number; layered: boolean }

export function arrange(graph: GraphView): Scene {
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const groupOf = new Map<number, number>();
  graph.groups.forEach((group, index) => { for (const id of group.nodes) groupOf.set(id, index); });
  const inside: number[][] = graph.groups.map(() => []);
  const loops = new Map<number, number>();
  graph.edges.forEach(([node, origin], index) => {
    if (origin < 0) return;
    inside[groupOf.get(node)!]!.push(index);
    if (node === origin) loops.set(node, (loops.get(node) ?? 0) + 1);
  });
  const order = new Map([...graph.nodes].sort((a, b) => place(graph, a) - place(graph, b) || a.id - b.id).map((node, index) => [node.id, index]));

  const inner = graph.groups.map((group, index) => arrangeGroup(group.nodes, inside[index]!.map((each) => graph.edges[each]!), order, loops));
  const boxes = inner.map((each, index) => ({ index, w: Math.max(each.width + 2 * PADDING, 200), h: each.height + PADDING + HEADER, x: 0, y: 0 }));
  const hasCold = graph.edges.some(([, origin]) => origin < 0);
  const top = hasCold ? 130 : 0;
  const { width, height } = pack(boxes, top);

  const nodes = new Map<number, PlacedNode>();
  boxes.forEach((box, index) => {
    const { at, width: used } = inner[index]!;
    const left = box.x + (box.w - used) / 2;
    for (const [id, point] of at) {
      nodes.set(id, { node: byId.get(id)!, group: index, x: left + point.x, y: box.y + HEADER + point.y, w: NODE_WIDTH, h: NODE_HEIGHT });
    }
  });
  const cold = hasCold ? { x: width / 2, y: 42, r: 40 } : null;
  const edges = route(graph, nodes, boxes, inner, cold, groupOf);
  return { nodes, groups: boxes, cold, edges, twins: twinsOf(nodes), width, height };
}

function twinsOf(nodes: Map<number, PlacedNode>): [PlacedNode, PlacedNode][] {
  const reads = new Map<string, PlacedNode>();
  for (const placed of nodes.values()) if (placed.node.asynchronous && placed.node.space === "global") reads.set(`${placed.node.function} ${placed.node.pc}`, placed);
  return [...nodes.values()].flatMap((placed): [PlacedNode, PlacedNode][] => {
    const read = placed.node.asynchronous && placed.node.space !== "global" ? reads.get(`${placed.node.function} ${placed.node.pc - 1}`) : undefined;
    return read ? [[read, placed]] : [];
  });
}

function place(graph: GraphView, node: NodeView): number {
  return (graph.functions[node.function]?.offset ?? 0) + node.pc;
}

function arrangeGroup(ids: number[], edges: GraphView["edges"], order: Map<number, number>, loops: Map<number, number>): Inner {
  const pairs = new Map<string, [number, number]>();
  for (const [node, origin] of edges) {
    if (node === origin) continue;
    const pair: [number, number] = order.get(node)! < order.get(origin)! ? [node, origin] : [origin, node];
    pairs.set(pair.join(">"), pair);
  }
  const extra = (id: number): number => (loops.get(id) ? LOOP * (Math.min(loops.get(id)!, 4) + 0.4) + 6 : 0);
  if (ids.length > LAYERED_NODES || pairs.size > LAYERED_PAIRS || widestRank(ids, pairs.values(), order) > RANK) return inCodeOrder(ids, order);
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 38, edgesep: 14, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of [...ids].sort((a, b) => order.get(a)! - order.get(b)!)) {
    graph.setNode(String(id), { width: NODE_WIDTH + 2 * extra(id), height: NODE_HEIGHT });
  }
  for (const [from, to] of pairs.values()) graph.setEdge(String(from), String(to), {});
  dagre(graph);
  const at = new Map<number, { x: number; y: number }>();
  let left = Infinity, right = -Infinity, bottom = 0;
  for (const id of ids) {
    const { x, y } = graph.node(String(id)) as { x: number; y: number };
    at.set(id, { x, y });
    left = Math.min(left, x - NODE_WIDTH / 2);
    right = Math.max(right, x + NODE_WIDTH / 2 + extra(id));
    bottom = Math.max(bottom, y + NODE_HEIGHT / 2);
  }
  const bends = new Map<string, { x: number; y: number }[]>();
  for (const [key, [from, to]] of pairs) {
    const points = (graph.edge(String(from), String(to)) as { points: { x: number; y: number }[] }).points.slice(1, -1);
    // Between neighbouring ranks the one point in the middle says nothing.
    bends.set(key, points.length > 1 ? points : []);
    for (const point of points) {
      left = Math.min(left, point.x);
      right = Math.max(right, point.x);
    }
  }
  for (const point of at.values()) point.x -= left;
  for (const points of bends.values()) for (const point of points) point.x -= left;
  return { at, bends, width: right - left, height: bottom, layered: true };
}

/** How many instructions would stand beside each other: an unrolled loop puts all its loads into one rank. */
function widestRank(ids: number[], pairs: Iterable<[number, number]>, order: Map<number, number>): number {
  const after = new Map<number, number[]>(ids.map((id) => [id, []]));
  for (const [from, to] of pairs) after.get(from)!.push(to);
  const rank = new Map<number, number>(ids.map((id) => [id, 0]));
  // In the order of the code every pair leads onwards, so one pass finds the longest paths.
  for (const id of [...ids].sort((a, b) => order.get(a)! - order.get(b)!)) {
    for (const to of after.get(id)!) rank.set(to, Math.max(rank.get(to)!, rank.get(id)! + 1));
  }
  const size = new Map<number, number>();
  for (const each of rank.values()) size.set(each, (size.get(each) ?? 0) + 1);
  return Math.max(0, ...size.values());
}

function inCodeOrder(ids: number[], order: Map<number, number>): Inner {
  const columns = Math.max(4, Math.ceil(Math.sqrt(ids.length * 0.8)));
  const at = new Map<number, { x: number; y: number }>();
  [...ids].sort((a, b) => order.get(a)! - order.get(b)!).forEach((id, index) => {
    at.set(id, {
      // Every other row is set off, so that edges find a way between the nodes.
      x: NODE_WIDTH / 2 + ((index % columns) + (Math.floor(index / columns) % 2) / 2) * (NODE_WIDTH + 36),
      y: NODE_HEIGHT / 2 + Math.floor(index / columns) * (NODE_HEIGHT + 50),
    });
  });
  const rows = Math.ceil(ids.length / columns);
  return { at, bends: new Map(), width: (columns + (rows > 1 ? 0.5 : 0)) * (NODE_WIDTH + 36) - 36 + LOOP, height: rows * (NODE_HEIGHT + 50) - 50, layered: false };
}

/** Puts boxes into rows, heaviest subgraph first, each row centred, in the way that fills a window best. */
function pack(boxes: PlacedGroup[], top: number): { width: number; height: number } {
  const widest = Math.max(260, ...boxes.map((box) => box.w));
  const whole = boxes.reduce((total, box) => total + box.w + GAP, -GAP);
  let best: PlacedGroup[][] = [], least = Infinity;
  for (let rows = 1; rows <= Math.min(boxes.length, 40); rows++) {
    const tried = intoRows(boxes, Math.max(widest, (whole / rows) * 1.02));
    const width = Math.max(...tried.map(widthOf)), height = tried.reduce((total, row) => total + heightOf(row) + GAP, top - GAP);
    // A window is wider than it is high. Rows have their price: edges to the untracked node cross them.
    const size = Math.max(width / WINDOW_RATIO, height) * (1 + 0.25 * (tried.length - 1));
    if (size < least) {
      least = size;
      best = tried;
    }
  }
  const width = Math.max(widest, ...best.map(widthOf));
  let y = top;
  for (const row of best) {
    let x = (width - widthOf(row)) / 2;
    for (const box of row) {
      box.x = x;
      box.y = y;
      x += box.w + GAP;
    }
    y += heightOf(row) + GAP;
  }
  return { width, height: best.length ? y - GAP : top };
}

function intoRows(boxes: PlacedGroup[], limit: number): PlacedGroup[][] {
  const rows: PlacedGroup[][] = [];
  let used = Infinity;
  for (const box of boxes) {
    if (used + box.w > limit + 1) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1]!.push(box);
    used += box.w + GAP;
  }
  return rows;
}

function widthOf(row: PlacedGroup[]): number {
  return row.reduce((total, box) => total + box.w + GAP, -GAP);
}

function heightOf(row: PlacedGroup[]): number {
  return Math.max(...row.map((box) => box.h));
}

function route(graph: GraphView, nodes: Map<number, PlacedNode>, boxes: PlacedGroup[], inner: Inner[],
  cold: Scene["cold"], groupOf: Map<number, number>): PlacedEdge[] {
  // Ends of edges share the top and bottom side of a node, in the order of where they lead.
  const sides = new Map<string, { edge: number; toward: number }[]>();
  const attach = (id: number, side: string, edge: number, toward: number): void => {
    const key = `${id}${side}`;
    const list = sides.get(key);
    if (list) list.push({ edge, toward });
    else sides.set(key, [{ edge, toward }]);
  };
  graph.edges.forEach(([node, origin, label], index) => {
    if (node === origin) return;
    const a = nodes.get(node)!;
    if (origin < 0) {
      if (cold) attach(node, "t", index, cold.x + 1e-3 * label);
      return;
    }
    const b = nodes.get(origin)!;
    if (a.y === b.y) return;
    attach(node, a.y > b.y ? "t" : "b", index, b.x + 1e-3 * label);
    attach(origin, a.y > b.y ? "b" : "t", index, a.x + 1e-3 * label);
  });
  const offsets = new Map<string, number>();
  for (const [key, list] of sides) {
    list.sort((one, other) => one.toward - other.toward || one.edge - other.edge);
    const step = Math.min(16, (NODE_WIDTH - 28) / Math.max(1, list.length - 1));
    list.forEach((each, position) => offsets.set(`${key}${each.edge}`, (position - (list.length - 1) / 2) * step));
  }
  const loops = new Map<number, number>();
  return graph.edges.map(([node, origin], index): PlacedEdge => {
    const a = nodes.get(node)!;
    if (node === origin) {
      const turn = loops.get(node) ?? 0;
      loops.set(node, turn + 1);
      // Half of what the curve reaches out, as its handles pull it.
      const out = (LOOP * (Math.min(turn, 6) + 1.4)) / 0.75;
      const x = a.x + a.w / 2, spread = 7 + Math.min(turn, 3) * 5;
      return { index, curve: [x - 4, a.y + spread, x + out, a.y + spread + 6, x + out, a.y - spread - 6, x - 4, a.y - spread] };
    }
    const offset = (id: number, side: string): number => offsets.get(`${id}${side}${index}`) ?? 0;
    if (origin < 0) {
      const x1 = a.x + offset(node, "t"), y1 = a.y - a.h / 2;
      const angle = Math.atan2(y1 - cold!.y, (x1 - cold!.x) * 0.55);
      const x2 = cold!.x + Math.cos(angle) * cold!.r, y2 = cold!.y + Math.sin(angle) * cold!.r;
      const reach = Math.min(90, (y1 - y2) * 0.55);
      return { index, curve: [x1, y1, x1, y1 - reach, x2 + Math.cos(angle) * reach, y2 + Math.sin(angle) * reach, x2, y2] };
    }
    const b = nodes.get(origin)!;
    const group = groupOf.get(node)!;
    if (a.y === b.y) {
      // Only where nodes lie in code order: an arch between neighbours of a row.
      const lift = 18 + Math.min(30, Math.abs(a.x - b.x) * 0.05), sign = a.x > b.x ? -1 : 1, y = a.y + (sign * a.h) / 2;
      return { index, curve: [a.x, y, a.x, y + sign * lift, b.x, y + sign * lift, b.x, y] };
    }
    const up = a.y > b.y;
    const start = { x: a.x + offset(node, up ? "t" : "b"), y: a.y + (up ? -a.h : a.h) / 2 };
    const end = { x: b.x + offset(origin, up ? "b" : "t"), y: b.y + (up ? b.h : -b.h) / 2 };
    const [upper, lower] = up ? [origin, node] : [node, origin];
    const box = boxes[group]!, used = inner[group]!;
    const shift = { x: box.x + (box.w - used.width) / 2, y: box.y + HEADER };
    const ranked = [...(used.bends.get(`${upper}>${lower}`) ?? [])].map((point) => ({ x: point.x + shift.x, y: point.y + shift.y }));
    if (up) ranked.reverse();
    const side = (offset(node, up ? "t" : "b") + offset(origin, up ? "b" : "t")) / 6;
    const points = [start, ...ranked.map((point) => ({ x: point.x + side, y: point.y })), end];
    const curve = [start.x, start.y];
    for (let i = 1; i < points.length; i++) {
      const p = points[i - 1]!, q = points[i]!, middle = (p.y + q.y) / 2;
      curve.push(p.x, middle, q.x, middle, q.x, q.y);
    }
    return { index, curve };
  });
}
