// Elements made in code. Text goes in as text and never as markup: names come from outside.

type Child = Node | string | number | null | undefined | false;
type Attribute = string | number | boolean | undefined | null;
interface Options {
  class?: string;
  css?: Record<string, string>;
  on?: Partial<Record<keyof HTMLElementEventMap, (event: never) => void>>;
  [attribute: string]: Attribute | Record<string, string> | Partial<Record<string, (event: never) => void>>;
}

const SVG = "http://www.w3.org/2000/svg";

function fill(element: HTMLElement | SVGElement, options: Options, children: Child[]): void {
  for (const [name, value] of Object.entries(options)) {
    if (name === "css") {
      // Through the object model: a style attribute would be refused by the page's policy.
      for (const [property, text] of Object.entries(value as Record<string, string>)) element.style.setProperty(property, text);
    } else if (name === "on") {
      for (const [event, handler] of Object.entries(value as Record<string, EventListener>)) element.addEventListener(event, handler);
    } else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, options: Options = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, options, children);
  return element;
}

export function svg(tag: string, options: Options = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  fill(element, options, children);
  return element;
}

export function button(text: Child, act: () => void, options: Options = {}): HTMLButtonElement {
  return h("button", { type: "button", ...options, on: { click: act } }, text);
}

const FOCUSABLE = ":is(a[href], button, input, select, summary, [tabindex]):not(:disabled)";

/**
 * Remembers what has the focus. Views make their elements anew, and whoever uses the keyboard must not start from the
 * top of the page after each step.
 *
 * @returns a function that gives the focus to the successor of what had it, or to `instead` when there is none
 */
export function keepFocus(root: HTMLElement, instead: HTMLElement): () => void {
  const old = document.activeElement;
  if (!old || old === document.body || !root.contains(old)) return () => undefined;
  const name = nameOf(old);
  const alike = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((each) => nameOf(each) === name);
  const position = alike().indexOf(old as HTMLElement);
  return () => {
    if (old.isConnected || document.activeElement !== document.body) return;
    const found = alike();
    (found[position] ?? found[0] ?? instead).focus({ preventScroll: true });
  };
}

function nameOf(element: Element): string {
  return [element.tagName, element.getAttribute("aria-label") ?? element.getAttribute("title") ?? "", element.tagName === "SELECT" ? "" : (element.textContent ?? "").replace(/ [▾▴]$/, "")].join(" ");
}

// More rows than these are for searching, not for paper.
const PRINTED = 2000;
const lists = new Set<() => void>();
let printing = false;
for (const [event, now] of [["beforeprint", true], ["afterprint", false]] as const) {
  addEventListener(event, () => {
    printing = now;
    for (const refresh of lists) refresh();
  });
}

/** A list of which only what is in sight exists: rows of one height in a box that scrolls. */
export class VirtualList {
  readonly element: HTMLElement;
  private readonly sizer = h("div", { class: "vl-sizer" });
  private readonly window = h("div", { class: "vl-window", role: "presentation" });
  private count = 0;
  private shown: [number, number] = [-1, -1];
  private first = 0;
  /** Where it was scrolled to, which it forgets while it is not in the page. */
  private scrolled = 0;

  constructor(private readonly rowHeight: number, private readonly row: (position: number) => HTMLElement, options: Options = {}) {
    this.element = h("div", { tabindex: 0, ...options, class: `vl ${options.class ?? ""}` }, this.sizer);
    this.sizer.append(this.window);
    this.element.addEventListener("scroll", () => {
      this.scrolled = this.element.scrollTop;
      this.draw();
    });
    lists.add(() => this.refresh());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  set(count: number): void {
    this.count = count;
    this.sizer.style.setProperty("height", `${count * this.rowHeight}px`);
    if (this.element.isConnected) this.element.scrollTop = this.scrolled;
    this.refresh();
  }

  refresh(): void {
    this.shown = [-1, -1];
    this.draw();
  }

  reveal(position: number): void {
    const top = position * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop || top + this.rowHeight > scrollTop + clientHeight) {
      this.element.scrollTop = Math.max(0, top - clientHeight / 3);
      this.scrolled = this.element.scrollTop;
    }
    this.draw();
  }

  private draw(): void {
    const height = this.element.clientHeight || 600;
    const first = printing ? 0 : Math.max(0, Math.floor(this.element.scrollTop / this.rowHeight) - 6);
    const last = Math.min(this.count, printing ? PRINTED : Math.ceil((this.element.scrollTop + height) / this.rowHeight) + 6);
    if (first === this.shown[0] && last === this.shown[1]) return;
    this.shown = [first, last];
    this.window.style.setProperty("transform", `translateY(${first * this.rowHeight}px)`);
    const focused = [...this.window.children].findIndex((row) => row === document.activeElement);
    const rows: HTMLElement[] = [];
    for (let position = first; position < last; position++) rows.push(this.row(position));
    this.window.replaceChildren(...rows);
    // A row that has the focus keeps it while the list scrolls under it.
    if (focused >= 0) rows[focused + this.first - first]?.focus({ preventScroll: true });
    this.first = first;
  }
}
