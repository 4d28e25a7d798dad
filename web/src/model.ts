// The view that cuvein.report.view_model defines. Change both together.

export type Space = "global" | "shared" | "local" | "distributed_shared";
export type AccessType = "read" | "write" | "atomic";
export type Histogram = [value: number, executions: number][];
export type Dimensions = [number, number, number];

export interface Process {
  id: string;
  pid: number;
  executable: string;
  arguments: string[];
  versions: { cuvein: string; sanitizer?: string | null; driver?: string | null };
}

export interface Device {
  ordinal: number;
  name: string;
  compute_capability: [number, number];
  multiprocessors: number;
}

export interface FunctionInfo {
  name: string;
  mangled: string;
  offset: number;
  size: number;
}

export interface Allocation {
  address: number;
  size: number;
  kind: string;
  name?: string | null;
}

export interface Coverage {
  accesses: Partial<Record<Space, number>>;
  not_analysed: { instruction: string; executions: number }[];
  unknown_bytes: number;
  lost_records: number;
}

export interface ProcessView {
  process: Process;
  finished?: boolean;
  kernels_seen?: { name: string; mangled: string; launches: number; selected: number }[];
  problems?: string[];
}

export interface KernelView {
  name: string;
  mangled: string;
  short: string;
  module: string | null;
  code: number | null;
}

export interface LaunchView {
  id: string;
  process: number;
  kernel: number;
  sequence: number;
  grid: Dimensions;
  block: Dimensions;
  shared_bytes: [number, number];
  device: Device;
  stream: number;
  engine: string;
  traffic: number[];
  instructions: number;
  sectors: number;
  wavefronts: number;
  nodes: number;
  edges: number;
  graph: number;
  cluster?: Dimensions;
  cuda_graph?: [number, number, number];
  incomplete?: string;
  findings?: number[];
}

export interface PlaceView {
  function: string;
  pc: number;
  space: Space;
  type: AccessType;
  size: number;
  source?: [string, number];
}

export interface FindingView {
  pattern: string;
  variant: string;
  title: string;
  kernel: number;
  grid: Dimensions;
  block: Dimensions;
  launches: number;
  of_launches: number;
  places: PlaceView[];
  scope: string;
  severity: "info" | "low" | "medium" | "high";
  effect: "informs" | "moves" | "removes" | "corrects";
  summary: string;
  evidence: Record<string, number | string>;
  removal: Record<string, number>;
  shares: Record<string, number>;
  score: number;
  mechanism: string;
  caveat: string;
  launched?: string[];
  data?: string;
}

export interface NodeView {
  id: number;
  function: number;
  pc: number;
  space: Space;
  type: AccessType;
  size: number;
  executions: number;
  bytes: number;
  weights: number[];
  asynchronous?: boolean;
  lanes?: Histogram;
  addresses?: Histogram;
  sectors?: Histogram;
  words?: Histogram;
  wavefronts?: Histogram;
  ideal_wavefronts?: Histogram;
  allocations?: { allocation: number | null; bytes: number }[];
  coalescing?: number;
  conflict?: number;
  ideal_sectors?: number;
}

/** Ids of node and origin (-1: untracked), position of the label, bytes, lane accesses, unordered bytes. */
export type EdgeView = [
  node: number, origin: number, label: number, bytes: number, count: number, unordered: number | null,
];

export interface GroupView {
  nodes: number[];
  weights: number[];
}

export interface GraphView {
  nodes: NodeView[];
  edges: EdgeView[];
  groups: GroupView[];
  functions: FunctionInfo[];
  allocations: Allocation[];
  objects: string[];
  coverage: Coverage;
}

export interface FunctionCode {
  name: string;
  mangled: string;
  rows: [pc: number, text: string | null, frames: number][];
  missing?: string;
}

export interface SourceView {
  path: string;
  text?: number;
  missing?: string;
  changed?: string;
}

export interface Code {
  functions: FunctionCode[];
  frames: [file: number, line: number, function: string | null][][];
  files: SourceView[];
  lines: string | null;
}

export interface Text {
  pieces: [first: number, lines: string[]][];
  length: number;
}

export interface Index {
  cuvein: string;
  title: string;
  labels: string[];
  thresholds: Record<string, number>;
  processes: ProcessView[];
  kernels: KernelView[];
  launches: LaunchView[];
  findings: FindingView[];
  incomplete: string[];
}

export const COLD = 0;
export const SAME_INSTRUCTION = 2;
export const LABELS = ["cold", "thread", "warp_same_inst", "warp_diff_inst", "block", "cluster", "grid"];
export const LABEL_WORDS = ["cold (first touch)", "thread", "warp, same instruction", "warp, other instruction", "block", "cluster", "grid"];
export const SPACES: Space[] = ["global", "shared", "distributed_shared", "local"];
export const SPACE_WORDS: Record<Space, string> = {
  global: "global", shared: "shared", distributed_shared: "distributed shared", local: "local",
};
