// Where the views get their data: from the page itself, from files dropped on it, or both.

import type { Code, GraphView, Index, Text } from "./model";
import { LABELS } from "./model";
import type { RawProfile } from "./raw";
import { derive } from "./raw";
import { Misfit, checkProfile, checkView } from "./check";

type Part = () => Promise<unknown>;

const NEWEST = 1;

export class Store {
  private readonly cache = new Map<number, Promise<unknown>>();

  private constructor(public index: Index, private parts: Part[]) {}

  /** What the page carries; an empty store when it carries nothing. */
  static async embedded(): Promise<Store> {
    const element = document.getElementById("cuvein-index");
    if (!element) return new Store(emptyIndex(), []);
    const index = (await inflate(element.textContent ?? "")) as Index;
    const parts: Part[] = [];
    for (let number = 0; ; number++) {
      const part = document.getElementById(`cuvein-part-${number}`);
      if (!part) break;
      parts.push(() => inflate(part.textContent ?? ""));
    }
    return new Store(index, parts);
  }

  graph(part: number): Promise<GraphView> {
    return this.part(part) as Promise<GraphView>;
  }

  code(part: number): Promise<Code> {
    return this.part(part) as Promise<Code>;
  }

  text(part: number): Promise<Text> {
    return this.part(part) as Promise<Text>;
  }

  /**
   * Takes files in: a view replaces what is shown, launch profiles are added to it.
   *
   * @returns one sentence for each file that could not be used, and how many launches came in
   */
  async open(files: Iterable<File>): Promise<{ problems: string[]; opened: number; first: string | null }> {
    const problems: string[] = [];
    let opened = 0;
    let first: string | null = null;
    for (const file of files) {
      try {
        const document = JSON.parse(await file.text()) as { format?: unknown; version?: unknown };
        const format = document?.format;
        if (format === "cuvein process") continue;
        if (format !== "cuvein view" && format !== "cuvein launch profile") {
          problems.push(`${file.name} is neither a launch profile nor a view of cuvein.`);
        } else if (typeof document.version !== "number" || document.version < 1) {
          problems.push(`${file.name} does not say of which version it is.`);
        } else if (document.version > NEWEST) {
          problems.push(`${file.name} is of a later version than this page reads; make the report with that cuvein.`);
        } else if (format === "cuvein view") {
          const view = document as unknown as { index: Index; parts: unknown[] };
          // Before anything is replaced: what is shown must outlive a file that is no good.
          checkView(view.index, view.parts);
          this.replace(view.index, view.parts);
          first ??= view.index.launches[0]?.id ?? null;
          opened += view.index.launches.length;
        } else {
          const id = this.add(document as unknown as RawProfile);
          first ??= id;
          opened++;
        }
      } catch (error) {
        const place = error instanceof Misfit ? ` (${shortened(error.place)})` : "";
        const why = error instanceof SyntaxError ? "is not valid JSON, or was cut off" : error instanceof TypeError ? `does not have the fields that its format asks for${place}` : (error as Error).message;
        problems.push(`${file.name} ${why}.`);
      }
    }
    return { problems, opened, first };
  }

  private part(number: number): Promise<unknown> {
    let found = this.cache.get(number);
    if (!found) {
      const make = this.parts[number];
      found = make ? make() : Promise.reject(new Error("The report lacks a part; make it again."));
      this.cache.set(number, found);
    }
    return found;
  }

  private replace(index: Index, parts: unknown[]): void {
    this.cache.clear();
    this.index = index;
    this.parts = parts.map((part) => () => Promise.resolve(part));
  }

  private add(profile: RawProfile): string {
    checkProfile(profile);
    const { launch, kernel, graph } = derive(profile);
    const index = this.index;
    const old = index.launches.findIndex((each) => each.id === launch.id);
    // A launch that is there already may carry findings and code, so it stays.
    if (old >= 0) return launch.id;
    let process = index.processes.findIndex((each) => each.process.id === profile.process.id);
    if (process < 0) process = index.processes.push({ process: profile.process }) - 1;
    let position = index.kernels.findIndex((each) => each.mangled === kernel.mangled && each.module === kernel.module);
    if (position < 0) position = index.kernels.push({ ...kernel, code: null }) - 1;
    const part = this.parts.push(() => Promise.resolve(graph)) - 1;
    index.launches.push({ ...launch, process, kernel: position, graph: part });
    if (profile.incomplete !== null) index.incomplete.push(profile.incomplete);
    return launch.id;
  }
}

/** What a file brings must not fill the message. */
function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function emptyIndex(): Index {
  return {
    cuvein: "", title: "", labels: LABELS, thresholds: {}, processes: [], kernels: [], launches: [], findings: [], incomplete: [],
  };
}

async function inflate(base64: string): Promise<unknown> {
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
