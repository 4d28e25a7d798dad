// Whether files dropped on the page are what their formats say. The types are Python's (cuvein.report.view_schema);
// here is what they mean, and that numbers which point to something point to what is there.

import type { Code, GraphView, Index } from "./model";
import type { RawProfile } from "./raw";
import schema from "./schema.json";

interface Schema {
  $ref?: string;
  type?: string;
  anyOf?: Schema[];
  enum?: unknown[];
  minimum?: number;
  items?: Schema;
  prefixItems?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
}

const TYPES = schema as unknown as Record<string, Schema>;

/** A file lacks something, or has it as another type; `place` says where in the document. */
export class Misfit extends TypeError {
  constructor(readonly place: string) {
    super(`${place} is not as its format asks for`);
  }
}

/** Looks at a view before it replaces another. */
export function checkView(index: Index, parts: unknown[]): void {
  fit(index, TYPES.Index!, "index");
  if (!Array.isArray(parts)) throw new Misfit("parts");
  const checked = new Set<string>();
  const part = <T>(number: number, type: string, place: string): T => {
    within(parts, place, [number]);
    // Launches of a kernel share their graph.
    if (!checked.has(`${type} ${number}`)) fit(parts[number], TYPES[type]!, `parts.${number}`);
    checked.add(`${type} ${number}`);
    return parts[number] as T;
  };
  for (const [number, launch] of index.launches.entries()) {
    const place = `index.launches.${number}`;
    within(index.kernels, `${place}.kernel`, [launch.kernel]);
    within(index.processes, `${place}.process`, [launch.process]);
    within(index.findings, `${place}.findings`, launch.findings ?? []);
    const known = checked.has(`GraphView ${launch.graph}`);
    const graph = part<GraphView>(launch.graph, "GraphView", `${place}.graph`);
    if (!known) checkGraph(graph, index.labels.length, `parts.${launch.graph}`);
  }
  for (const [number, finding] of index.findings.entries()) within(index.kernels, `index.findings.${number}.kernel`, [finding.kernel]);
  for (const [number, kernel] of index.kernels.entries()) {
    if (kernel.code === null) continue;
    const code = part<Code>(kernel.code, "Code", `index.kernels.${number}.code`);
    const place = `parts.${kernel.code}`;
    for (const each of code.functions) within(code.frames, `${place}.functions`, each.rows.map((row) => row[2]).filter((frame) => frame !== -1));
    for (const chain of code.frames) within(code.files, `${place}.frames`, chain.map(([file]) => file));
    for (const file of code.files) if (file.text !== undefined && file.text !== null) part(file.text, "Text", `${place}.files`);
  }
}

/** Looks at a launch profile before it is added to the others. */
export function checkProfile(profile: RawProfile): void {
  fit(profile, TYPES.LaunchProfile!, "");
  const { functions, allocations } = profile.launch;
  for (const node of profile.nodes) checkNode(node, functions, allocations, "nodes");
}

function checkGraph(graph: GraphView, labels: number, place: string): void {
  const ids = new Set(graph.nodes.map((node) => node.id));
  for (const node of graph.nodes) {
    checkNode(node, graph.functions, graph.allocations, `${place}.nodes`);
    if (node.weights.length !== labels) throw new Misfit(`${place}.nodes`);
  }
  for (const [node, origin, label] of graph.edges) {
    if (!ids.has(node) || (origin !== -1 && !ids.has(origin)) || label < 0 || label >= labels) throw new Misfit(`${place}.edges`);
  }
  for (const group of graph.groups) {
    if (!group.nodes.every((id) => ids.has(id)) || group.weights.length !== labels) throw new Misfit(`${place}.groups`);
  }
}

function checkNode(node: Pick<GraphView["nodes"][0], "function" | "allocations">, functions: unknown[], allocations: unknown[], place: string): void {
  within(functions, `${place}.function`, [node.function]);
  within(allocations, `${place}.allocations`, (node.allocations ?? []).map((each) => each.allocation).filter((each) => each !== null));
}

function within(list: unknown[], place: string, positions: number[]): void {
  if (!positions.every((position) => position >= 0 && position < list.length)) throw new Misfit(place);
}

function fit(value: unknown, type: Schema, place: string): void {
  const wrong = misfit(value, type, place);
  if (wrong !== null) throw new Misfit(wrong);
}

/** Where a value does not fit its type; null: nowhere. */
function misfit(value: unknown, type: Schema, place: string): string | null {
  if (type.$ref !== undefined) return misfit(value, TYPES[type.$ref]!, place);
  if (type.anyOf) {
    const found = type.anyOf.map((each) => misfit(value, each, place));
    // The one that has come furthest knows best what is wrong.
    return found.includes(null) ? null : (found as string[]).reduce((one, other) => (other.length > one.length ? other : one));
  }
  if (type.enum) return type.enum.includes(value) ? null : place;
  const within = (name: string | number): string => (place ? `${place}.${name}` : String(name));
  switch (type.type) {
    case undefined:
      return null;
    case "null":
      return value === null ? null : place;
    case "string":
    case "boolean":
      return typeof value === type.type ? null : place;
    case "number":
      return typeof value === "number" ? null : place;
    case "integer":
      return Number.isInteger(value) && (value as number) >= (type.minimum ?? -Infinity) ? null : place;
    case "array":
      if (!Array.isArray(value) || (type.prefixItems && value.length !== type.prefixItems.length)) return place;
      return first(value.length, (at) => misfit(value[at], type.prefixItems?.[at] ?? type.items ?? {}, within(at)));
    default: {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return place;
      const record = value as Record<string, unknown>;
      const lacking = type.required?.find((name) => record[name] === undefined);
      if (lacking !== undefined) return within(lacking);
      const names = Object.keys(record);
      return first(names.length, (at) => {
        const name = names[at]!;
        return misfit(record[name], type.properties?.[name] ?? type.additionalProperties ?? {}, within(name));
      });
    }
  }
}

function first(count: number, find: (at: number) => string | null): string | null {
  for (let at = 0; at < count; at++) {
    const found = find(at);
    if (found !== null) return found;
  }
  return null;
}
