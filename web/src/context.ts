// What all views need to know of what is being looked at.

import type { Code, GraphView, KernelView, LaunchView, NodeView } from "./model";
import { state } from "./state";
import type { Store } from "./store";

export interface Current {
  launch: LaunchView;
  kernel: KernelView;
  graph: GraphView;
  code: Code | null;
  /** Where a node comes from: chain of `[file, line, function]`, instruction. */
  places: Map<number, Located>;
}

export interface Located {
  frames: [file: number, line: number, function: string | null][];
  sass: string | null;
}

export interface Context {
  store: Store;
  /** Says something to people, and to their screen readers. */
  say(text: string): void;
  /** Shows a problem above the view. */
  tell(text: string): void;
}

export function currentLaunch(store: Store): LaunchView | null {
  return store.index.launches.find((launch) => launch.id === state.launch) ?? store.index.launches[0] ?? null;
}

const cache = new WeakMap<GraphView, Current>();

export async function load(store: Store, launch: LaunchView): Promise<Current> {
  const kernel = store.index.kernels[launch.kernel]!;
  const [graph, code] = await Promise.all([
    store.graph(launch.graph), kernel.code === null || kernel.code === undefined ? Promise.resolve(null) : store.code(kernel.code),
  ]);
  const known = cache.get(graph);
  // Launches with equal graphs share them.
  if (known && known.kernel === kernel) return { ...known, launch };
  const made = { launch, kernel, graph, code, places: locate(graph, code) };
  cache.set(graph, made);
  return made;
}

function locate(graph: GraphView, code: Code | null): Map<number, Located> {
  const places = new Map<number, Located>();
  if (!code) return places;
  const functions = new Map(code.functions.map((each) => [each.mangled, new Map(each.rows.map((row) => [row[0], row]))]));
  for (const node of graph.nodes) {
    const rows = functions.get(graph.functions[node.function]?.mangled ?? "");
    const row = rows?.get(node.pc) ?? rows?.get(node.pc & ~15);
    if (row) places.set(node.id, { sass: row[1], frames: row[2] < 0 ? [] : code.frames[row[2]] ?? [] });
  }
  return places;
}

export function nodeLine(current: Current, id: number): string | null {
  const frame = current.places.get(id)?.frames[0];
  return frame ? `:${frame[1]}` : null;
}

export function functionOf(current: Current, node: NodeView): string {
  return current.graph.functions[node.function]?.name ?? "";
}
