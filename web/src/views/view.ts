import type { Context } from "../context";

/** One way to look at a run. `show` is called whenever something that is looked at has changed. */
export interface View {
  readonly element: HTMLElement;
  show(context: Context): void | Promise<void>;
}
