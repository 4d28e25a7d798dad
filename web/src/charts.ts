// Small charts: the bar of traffic by scope, histograms.

import { h, svg } from "./dom";
import * as format from "./format";
import type { Histogram } from "./model";
import { LABELS, LABEL_WORDS } from "./model";
import { sum } from "./raw";

/** A bar of traffic by label; `whole` scales it against others. Its text says the same. */
export function trafficBar(weights: number[], whole = sum(weights), options: { small?: boolean } = {}): HTMLElement {
  const total = sum(weights);
  const words = weights.map((weight, label) => [weight, label] as const).filter(([weight]) => weight > 0)
    .map(([weight, label]) => `${LABEL_WORDS[label]} ${format.percent(weight, total)} (${format.bytes(weight)})`).join("\n");
  return h("div", { class: options.small ? "bar small" : "bar", role: "img", "aria-label": `traffic by scope: ${words.replaceAll("\n", ", ")}`, title: words },
    ...weights.map((weight, label) => weight > 0 && h("span", {
      class: `seg l-${LABELS[label]}`, css: { width: `${whole ? (weight / whole) * 100 : 0}%` },
    })));
}

export function swatch(label: number): HTMLElement {
  return h("span", { class: `swatch l-${LABELS[label]}`, "aria-hidden": "true" });
}

interface HistogramOptions {
  title: string;
  histogram: Histogram;
  /** The ideal as a distribution (drawn as outlines) or a mean (drawn as a line). */
  ideal?: Histogram | undefined;
  idealMean?: number | undefined;
  most?: number;
}

const WIDTH = 320, HEIGHT = 74, LEFT = 4, BOTTOM = 15;

/** One distribution of a node, with its ideal. */
export function histogram({ title, histogram: data, ideal, idealMean, most = 32 }: HistogramOptions): HTMLElement {
  const executions = sum(data.map(([, count]) => count));
  const average = executions ? sum(data.map(([value, count]) => value * count)) / executions : 0;
  const high = Math.max(most, ...data.map(([value]) => value), ...(ideal ?? []).map(([value]) => value));
  const inner = WIDTH - 2 * LEFT, step = inner / high, bar = Math.max(1.5, Math.min(12, step - 1));
  const x = (value: number): number => LEFT + (value - 0.5) * step;
  const tallest = Math.max(1, ...data.map(([, count]) => count), ...(ideal ?? []).map(([, count]) => count));
  const y = (count: number): number => (HEIGHT - BOTTOM - 4) * (count / tallest);
  const line = (value: number, name: string): SVGElement => svg("line", { class: name, x1: x(value), x2: x(value), y1: 2, y2: HEIGHT - BOTTOM });
  const told = idealMean ?? (ideal?.length ? sum(ideal.map(([value, count]) => value * count)) / Math.max(1, sum(ideal.map(([, count]) => count))) : undefined);
  const ticks = [1, ...[8, 16, 24, 32, 64, 96, 128].filter((tick) => tick <= high && (high <= 64 || tick % 32 === 0))];
  const picture = svg("svg", { class: "hist", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `${title}: ${data.map(([value, count]) => `${value} in ${format.count(count)} executions`).slice(0, 40).join(", ")}` },
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - LEFT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    ...data.map(([value, count]) => svg("rect", { class: "h-bar", x: x(value) - bar / 2, y: HEIGHT - BOTTOM - Math.max(1.5, y(count)), width: bar, height: Math.max(1.5, y(count)) },
      svg("title", {}, `${value}: ${format.count(count)} executions (${format.percent(count, executions)})`))),
    ...(ideal ?? []).map(([value, count]) => svg("rect", { class: "h-ideal", x: x(value) - bar / 2 - 1, y: HEIGHT - BOTTOM - Math.max(2, y(count)), width: bar + 2, height: Math.max(2, y(count)) },
      svg("title", {}, `ideal ${value}: ${format.count(count)} executions`))),
    idealMean !== undefined && line(idealMean, "h-line"),
    ...ticks.map((tick) => svg("text", { class: "tick", x: Math.min(x(tick), WIDTH - 1), y: HEIGHT - 3, "text-anchor": x(tick) > WIDTH - 10 ? "end" : "middle" }, tick)));
  return h("figure", { class: "histogram" },
    h("figcaption", {}, h("span", {}, title), h("span", { class: "dim" }, `mean ${format.mean(average)}${told === undefined ? "" : ` · ideal ${format.mean(told)}`}`)),
    picture as unknown as HTMLElement);
}
