// Whether files dropped on the page have what every view takes for granted. What is wrong throws a TypeError, as does
// any use of a field that is not there.

import type { Coverage, GraphView, Index, LaunchView } from "./model";
import type { RawProfile } from "./raw";

/** Looks at an index before it replaces another. */
export function checkIndex(index: Index, parts: unknown[]): void {
  lists(parts, index.labels, index.launches, index.kernels, index.processes, index.findings, index.incomplete);
  records(index.thresholds, ...index.launches, ...index.kernels, ...index.processes, ...index.findings);
  texts(index.title, index.cuvein);
  numbers(...Object.values(index.thresholds));
  for (const kernel of index.kernels) texts(kernel.name, kernel.mangled, kernel.short);
  for (const { process } of index.processes) aboutProcess(process);
  for (const launch of index.launches) {
    texts(launch.id, launch.device.name);
    lists(launch.grid, launch.block, launch.traffic, launch.shared_bytes, launch.device.compute_capability, launch.findings ?? []);
    aboutLaunch(launch);
    records(index.kernels[launch.kernel], index.processes[launch.process], parts[launch.graph]);
    aboutCoverage((parts[launch.graph] as GraphView).coverage);
    for (const finding of launch.findings ?? []) records(index.findings[finding]);
  }
  for (const finding of index.findings) {
    texts(finding.title, finding.data ?? "", ...finding.launched ?? []);
    lists(finding.places, finding.grid, finding.block);
    records(index.kernels[finding.kernel], finding.evidence, finding.removal);
  }
}

/** Looks at a launch profile before it is added to the others. */
export function checkProfile({ id, process, launch, coverage }: RawProfile): void {
  texts(id, launch.kernel.name, launch.kernel.mangled, launch.device.name);
  aboutProcess(process);
  lists(launch.grid, launch.block, launch.shared_bytes, launch.device.compute_capability, launch.functions, launch.allocations);
  aboutLaunch(launch);
  aboutCoverage(coverage);
}

function aboutLaunch(launch: Pick<LaunchView, "sequence" | "grid" | "block" | "shared_bytes" | "device">): void {
  numbers(launch.sequence, ...launch.grid, ...launch.block, ...launch.shared_bytes);
  numbers(launch.device.ordinal, launch.device.multiprocessors, ...launch.device.compute_capability);
}

function aboutCoverage(coverage: Coverage): void {
  lists(coverage.not_analysed);
  records(coverage.accesses);
  numbers(...Object.values(coverage.accesses), coverage.unknown_bytes, coverage.lost_records);
}

function aboutProcess(process: RawProfile["process"]): void {
  texts(process.id, process.executable);
  lists(process.arguments);
  records(process.versions);
}

function lists(...values: unknown[]): void {
  if (!values.every(Array.isArray)) throw new TypeError("not a list");
}

function numbers(...values: unknown[]): void {
  if (!values.every((value) => typeof value === "number")) throw new TypeError("not a number");
}

function records(...values: unknown[]): void {
  if (!values.every((value) => typeof value === "object" && value !== null)) throw new TypeError("not a record");
}

function texts(...values: unknown[]): void {
  if (!values.every((value) => typeof value === "string")) throw new TypeError("not a text");
}
