// A launch profile as cuvein writes it (docs/profile-format.md), made into what the views show. Only sums and
// connectivity: findings, lines and instructions are Python's to say and are not worked out here.

import type { Allocation, Coverage, Device, Dimensions, FunctionInfo, GraphView, GroupView, Histogram, KernelView,
  LaunchView, NodeView, Process } from "./model";
import { COLD, LABELS, SAME_INSTRUCTION } from "./model";

interface RawNode extends Omit<NodeView, "weights" | "coalescing" | "conflict" | "ideal_sectors"> {}

interface RawEdge {
  node: number;
  origin: number | null;
  label: string;
  bytes: number;
  count: number;
  unordered?: number | null;
}

export interface RawProfile {
  format: string;
  version: number;
  id: string;
  engine: string;
  incomplete: string | null;
  process: Process;
  launch: {
    sequence: number;
    kernel: { name: string; mangled: string; module?: string | null };
    grid: Dimensions;
    block: Dimensions;
    cluster: Dimensions | null;
    shared_bytes: [number, number];
    device: Device;
    stream: number;
    functions: FunctionInfo[];
    allocations: Allocation[];
    graph?: [number, number, number] | null;
  };
  coverage: Coverage;
  nodes: RawNode[];
  edges: RawEdge[];
}

const SECTOR_BYTES = 32;

export interface Derived {
  launch: Omit<LaunchView, "process" | "kernel" | "graph">;
  kernel: Omit<KernelView, "code">;
  graph: GraphView;
}

/** Works out what `cuvein.report.view` works out in Python; the tests compare the two. */
export function derive(profile: RawProfile): Derived {
  const position = new Map(profile.nodes.map((node, index) => [node.id, index]));
  const nodes: NodeView[] = profile.nodes.map((node) => withMetrics(node));
  const at = (id: number): NodeView => {
    const node = nodes[position.get(id) ?? -1];
    if (!node) throw new Error(`has an edge at node ${id}, which it lacks`);
    return node;
  };
  const parents = nodes.map((_, index) => index);
  const root = (index: number): number => {
    while (parents[index] !== index) {
      parents[index] = parents[parents[index]!]!;
      index = parents[index]!;
    }
    return index;
  };
  const edges = profile.edges.map((edge): GraphView["edges"][number] => {
    const label = LABELS.indexOf(edge.label);
    if (label < 0) throw new Error(`has an edge with the label '${edge.label}', which this page does not know`);
    at(edge.node).weights[label]! += edge.bytes;
    if (edge.origin !== null) {
      at(edge.origin);
      parents[root(position.get(edge.node)!)] = root(position.get(edge.origin)!);
    }
    return [edge.node, edge.origin ?? -1, label, edge.bytes, edge.count, edge.unordered ?? null];
  });
  const members = new Map<number, NodeView[]>();
  nodes.forEach((node, index) => {
    const key = root(index);
    const list = members.get(key);
    if (list) list.push(node);
    else members.set(key, [node]);
  });
  const groups: GroupView[] = [...members.values()].map((list) => ({
    nodes: list.map((node) => node.id), weights: sumWeights(list),
  }));
  groups.sort((a, b) => sum(b.weights) - sum(a.weights) || a.nodes[0]! - b.nodes[0]!);
  const launch = profile.launch;
  return {
    launch: {
      id: profile.id,
      sequence: launch.sequence,
      grid: launch.grid,
      block: launch.block,
      shared_bytes: launch.shared_bytes,
      device: launch.device,
      stream: launch.stream,
      engine: profile.engine,
      traffic: sumWeights(nodes),
      instructions: sum(nodes.map((node) => node.executions)),
      sectors: sum(nodes.map((node) => weighted(node.sectors))),
      wavefronts: sum(nodes.map((node) => weighted(node.wavefronts))),
      nodes: nodes.length,
      edges: edges.length,
      ...(launch.cluster ? { cluster: launch.cluster } : {}),
      ...(launch.graph ? { cuda_graph: launch.graph } : {}),
      ...(profile.incomplete === null ? {} : { incomplete: profile.incomplete }),
    },
    kernel: {
      name: launch.kernel.name, mangled: launch.kernel.mangled, module: launch.kernel.module ?? null,
      short: shortName(launch.kernel.name),
    },
    graph: {
      nodes, edges, groups, functions: launch.functions, allocations: launch.allocations,
      objects: launch.allocations.map((each) => each.name ?? `${each.kind.replaceAll("_", " ")} memory at 0x${each.address.toString(16)}`),
      coverage: profile.coverage,
    },
  };
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

export function sumWeights(nodes: Iterable<NodeView>): number[] {
  const total = LABELS.map(() => 0);
  for (const node of nodes) node.weights.forEach((weight, label) => { total[label]! += weight; });
  return total;
}

export function weighted(histogram: Histogram | undefined): number {
  return sum((histogram ?? []).map(([value, executions]) => value * executions));
}

/** Bytes that count as reuse: neither first touches nor lanes served by the same instruction. */
export function reuseOf(weights: number[]): number {
  return sum(weights.filter((_, label) => label !== COLD && label !== SAME_INSTRUCTION));
}

function withMetrics(node: RawNode): NodeView {
  const made: NodeView = { ...node, weights: LABELS.map(() => 0) };
  if (node.sectors?.length) {
    const ideal = sum((node.lanes ?? []).map(([lanes, executions]) => Math.ceil((lanes * node.size) / SECTOR_BYTES) * executions));
    made.coalescing = ideal ? weighted(node.sectors) / ideal : 0;
    if (node.executions) made.ideal_sectors = ideal / node.executions;
  }
  if (node.ideal_wavefronts?.length) {
    const ideal = weighted(node.ideal_wavefronts);
    made.conflict = ideal ? weighted(node.wavefronts) / ideal : 0;
  }
  return made;
}

function shortName(name: string): string {
  const plain = name.replace(/^void /, "").split("(")[0]!;
  return plain.length > 60 ? `${plain.slice(0, 57)}…` : plain;
}
