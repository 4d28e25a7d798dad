// What tells the processes of one page apart, as the runs of two builds: numbers of launches begin anew in each.

import * as format from "./format";
import type { Index, LaunchView } from "./model";

const ARGUMENTS = 24;

/** The process of a launch by program, arguments and id; nothing where there is one only. */
export function runName(index: Index, launch: LaunchView): string {
  if (index.processes.length < 2) return "";
  const { process } = index.processes[launch.process]!;
  const [program = process.executable, ...rest] = process.arguments;
  return `${format.clip([format.fileName(program), ...rest].join(" "), ARGUMENTS)}, process ${process.pid}`;
}
