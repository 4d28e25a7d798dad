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

/** A list of which only what is in sight exists: rows of one height in a box that scrolls. */
export class VirtualList {
  readonly element: HTMLElement;
  private readonly sizer = h("div", { class: "vl-sizer" });
  private readonly window = h("div", { class: "vl-window", role: "presentation" });
  private count = 0;
  private shown: [number, number] = [-1, -1];

  constructor(private readonly rowHeight: number, private readonly row: (position: number) => HTMLElement, options: Options = {}) {
    this.element = h("div", { tabindex: 0, ...options, class: `vl ${options.class ?? ""}` }, this.sizer);
    this.sizer.append(this.window);
    this.element.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  set(count: number): void {
    this.count = count;
    this.sizer.style.setProperty("height", `${count * this.rowHeight}px`);
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
    }
    this.draw();
  }

  private draw(): void {
    const height = this.element.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.rowHeight) - 6);
    const last = Math.min(this.count, Math.ceil((this.element.scrollTop + height) / this.rowHeight) + 6);
    if (first === this.shown[0] && last === this.shown[1]) return;
    this.shown = [first, last];
    this.window.style.setProperty("transform", `translateY(${first * this.rowHeight}px)`);
    const rows: HTMLElement[] = [];
    for (let position = first; position < last; position++) rows.push(this.row(position));
    this.window.replaceChildren(...rows);
  }
}
